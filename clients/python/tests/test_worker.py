# SPDX-License-Identifier: Apache-2.0
"""Workers in each way of running tasks, against a real server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

import allotter as al
import functions as f
from allotter.testing import Server

WAYS: Dict[str, Dict[str, Any]] = {"threads": {"threads": 2}, "processes": {"processes": 2}}
Wait = Callable[[Callable[[], object]], None]


@pytest.fixture(params=list(WAYS))
def way(request: pytest.FixtureRequest) -> Dict[str, Any]:
    return dict(WAYS[request.param])


def test_results_come_back_in_order(allot_server: Server, way: Dict[str, Any]) -> None:
    with allot_server.worker(f.square, **way), allot_server.client() as client:
        assert list(client.map(f.square, range(500))) == [n * n for n in range(500)]
        assert list(client.map(f.square, range(1003), chunk=100)) == [n * n for n in range(1003)]
        assert list(client.map(f.square, [])) == []


def test_coroutines_run_on_a_loop_of_their_own(allot_server: Server) -> None:
    with allot_server.worker(f.square_async, concurrency=10), allot_server.client() as client:
        assert list(client.map(f.square_async, range(100))) == [n * n for n in range(100)]
        assert list(client.map(f.square_async, range(100), chunk=7)) == [n * n for n in range(100)]


def test_coroutines_run_in_threads_and_processes_too(allot_server: Server, way: Dict[str, Any]) -> None:
    with allot_server.worker(f.square_async, **way), allot_server.client() as client:
        assert list(client.map(f.square_async, range(20))) == [n * n for n in range(20)]


def test_a_worker_of_several_functions_tells_their_jobs_apart(
    allot_server: Server, way: Dict[str, Any]
) -> None:
    with allot_server.worker(f.square, f.double, f.lengths, **way), allot_server.client() as client:
        assert list(client.map(f.double, range(50))) == [2 * n for n in range(50)]
        assert list(client.map(f.square, range(50))) == [n * n for n in range(50)]


def test_values_come_back_as_they_were(allot_server: Server, way: Dict[str, Any]) -> None:
    values = [None, True, 0, -1, 2**63, 1.5, "é\n\u2028", b"\x00\xff", [1, [b"x"]], {"a": {"b": b""}}, {}]
    with allot_server.worker(f.echo, **way), allot_server.client() as client:
        for chunk in (1, 4):
            assert list(client.map(f.echo, values, chunk=chunk)) == values


def test_a_codec_of_ones_own_is_used_on_both_sides(allot_server: Server, way: Dict[str, Any]) -> None:
    with allot_server.worker(f.coded, **way), allot_server.client() as client:
        assert list(client.map(f.coded, ["ab", "c"])) == ["ab!", "c!"]
        assert list(client.map(f.coded, ["ab", "c"], chunk=2)) == ["ab!", "c!"]
        job = client.submit(f.coded, ["ab"])
        job.wait()
        assert job.task(0).raw["payload"] == {"reversed": "ba"}


def test_the_context_says_which_task_it_is(allot_server: Server, way: Dict[str, Any]) -> None:
    with allot_server.worker(f.where, **way), allot_server.client() as client:
        job = client.submit(f.where, [0, 0])
        seen = list(job.results())
    assert [one["index"] for one in seen] == [0, 1]
    assert {one["job"] for one in seen} == {job.id} and {one["count"] for one in seen} == {2}
    own = os.getpid()
    assert all((one["pid"] == own) == ("threads" in way) for one in seen)


def test_a_failure_is_text_with_the_traceback_and_is_tried_again(
    allot_server: Server, way: Dict[str, Any]
) -> None:
    with allot_server.worker(f.flaky, **way), allot_server.client() as client:
        again = {"first": 0.001, "max": 0.001}
        assert list(client.map(f.flaky, [7], backoff=again)) == [7]
        with pytest.raises(al.JobFailed) as failed:
            list(client.map(f.flaky, [7], max_attempts=1))
        text = failed.value.first_error or ""
        assert text.startswith("RuntimeError: the first attempt at 7\n")
        assert "functions.py" in text and "in flaky" in text


def test_kinds_to_give_up_on_are_one_attempt(allot_server: Server, way: Dict[str, Any]) -> None:
    with allot_server.worker(f.square, **way), allot_server.client() as client:
        job = client.submit(f.square, [1, -1], max_failed_tasks=1)
        first, second = job.outcomes()
        assert (first.value(), first.ok) == (1, True)
        assert second.state == "failed" and second.error.startswith("ValueError: below nothing")
        with pytest.raises(al.TaskFailed):
            second.value()


def test_give_up_retry_and_release(allot_server: Server, way: Dict[str, Any], marks: Path) -> None:
    with allot_server.worker(f.controlled, **way), allot_server.client() as client:
        again = {"first": 0.001, "max": 0.001}
        job = client.submit(f.controlled, ["give_up", "retry", "release"], max_failed_tasks=3, backoff=again)
        outcomes = list(job.outcomes())
    assert [outcome.state for outcome in outcomes] == ["failed", "done", "done"]
    assert outcomes[0].error == "bad scene"
    assert outcomes[1].value() == "retry at attempt 2"
    assert outcomes[2].value() == "release at attempt 1"  # it counted no attempt
    assert not (marks / "give_up-2").exists()


def test_a_batch_function_gets_several_items_and_one_bad_item_fails_alone(
    allot_server: Server, way: Dict[str, Any], marks: Path
) -> None:
    way = {name: 1 for name in way}
    texts = ["x" * n for n in range(64)]
    with allot_server.client() as client:
        job = client.submit(f.lengths, texts)
        bad = client.submit(f.lengths, ["a", "bad", "ccc"], max_attempts=1, max_failed_tasks=1)
        chunks = client.submit(f.lengths, texts, chunk=20)
        with allot_server.worker(f.lengths, **way):
            assert list(job.results()) == list(range(64))
            assert [outcome.state for outcome in bad.outcomes()] == ["done", "failed", "done"]
            assert list(chunks.results()) == list(range(64))
    sizes = [int(line) for line in (marks / "lengths").read_text().split()]
    assert max(sizes) == 8 and len(sizes) < 40


@pytest.mark.parametrize("how", ["segfault", "exit", "sys.exit"])
def test_a_child_that_dies_fails_its_task_alone(allot_server: Server, how: str) -> None:
    again = {"first": 0.001, "max": 0.001}
    tasks = ["fine"] * 20 + [how] + ["fine"] * 20
    with allot_server.worker(f.crash, processes=2), allot_server.client() as client:
        job = client.submit(f.crash, tasks, max_attempts=1, max_failed_tasks=41)
        states = [outcome.state for outcome in job.outcomes()]
        assert states == ["done"] * 20 + ["failed"] + ["done"] * 20
        error = job.task(20).error
        assert {"segfault": "SIGSEGV", "exit": "status 3", "sys.exit": "SystemExit: 4"}[how] in error
        # A new child is there, and the next attempt is like any other.
        assert list(client.map(f.crash, tasks, backoff=again)) == tasks


def test_of_a_batch_in_a_child_that_dies_only_the_guilty_item_fails(allot_server: Server) -> None:
    with allot_server.client() as client:
        job = client.submit(f.fragile, ["a", "kill", "bb", "ccc"], max_attempts=1, max_failed_tasks=1)
        with allot_server.worker(f.fragile, processes=1):
            assert [outcome.state for outcome in job.outcomes()] == ["done", "failed", "done", "done"]


def _cancelled_while_running(
    server: Server, marks: Path, wait_for: Wait, function: Any, name: str, drained: bool, **way: Any
) -> None:
    client = server.client()
    worker = server.worker(function, **way)
    job = client.submit(function, [name])
    wait_for((marks / f"{name}-begun").exists)
    if drained:
        worker.drain()
        wait_for(lambda: all(one.credit == 0 for one in _credits(client)))
    job.cancel()
    if drained:
        assert worker.join(60)
    else:
        wait_for(lambda: all(one.running == 0 for one in client.workers.list()))


class _Credit:
    def __init__(self, credit: int) -> None:
        self.credit = credit


def _credits(client: al.Client) -> List[_Credit]:
    return [_Credit(one.raw.get("credit", 0)) for one in client.workers.list()]


@pytest.mark.parametrize("drained", [False, True])
@pytest.mark.parametrize("how", ["loop", "sleep", "finalizer"])
def test_cancel_reaches_code_that_runs_in_a_child(
    allot_server: Server, marks: Path, wait_for: Wait, how: str, drained: bool
) -> None:
    _cancelled_while_running(allot_server, marks, wait_for, f.forever, how, drained, processes=1)
    assert (marks / f"{how}-Cancelled").exists()


@pytest.mark.parametrize("how", ["deaf", "swallow", "child"])
def test_what_does_not_listen_is_killed_after_the_grace_time(
    allot_server: Server, marks: Path, wait_for: Wait, how: str
) -> None:
    _cancelled_while_running(allot_server, marks, wait_for, f.forever, how, False, processes=1, grace=0.2)
    if how == "child":  # with all that it started
        pid = int((marks / "child-begun").read_text())
        wait_for(lambda: not _alive(pid))


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("drained", [False, True])
def test_cancel_sets_the_flag_of_a_thread(
    allot_server: Server, marks: Path, wait_for: Wait, drained: bool
) -> None:
    _cancelled_while_running(allot_server, marks, wait_for, f.forever, "check", drained, threads=1)
    assert (marks / "check-Cancelled").exists()


@pytest.mark.parametrize("way", [{"concurrency": 5}, {"threads": 1}, {"processes": 1}], ids=str)
def test_cancel_cancels_a_coroutine(
    allot_server: Server, marks: Path, wait_for: Wait, way: Dict[str, Any]
) -> None:
    _cancelled_while_running(allot_server, marks, wait_for, f.forever_async, "async", False, **way)
    assert (marks / "async-CancelledError").exists()


def test_sigterm_finishes_what_runs_and_gives_back_the_rest(
    allot_server: Server, marks: Path, wait_for: Wait, way: Dict[str, Any]
) -> None:
    client = allot_server.client()
    job = client.submit(f.gated, [f"t{n}" for n in range(20)])
    mode = "--threads=1" if "threads" in way else "--processes=1"
    worker = allot_server.worker_process(
        "functions:gated", options=[mode, "--prefetch=10"], env={"MARKS": str(marks)}
    )
    wait_for((marks / "t0-begun").exists)
    wait_for(lambda: job.info().running == 11)
    worker.send_signal(signal.SIGTERM)
    wait_for(lambda: job.info().running == 1)
    (marks / "open").write_text("")
    assert worker.wait(60) == 0
    info = job.info()
    assert (info.done, info.queued) == (1, 19)
    assert all(task.attempts == 0 for task in job.tasks("queued"))


def test_a_second_signal_stops_what_runs(allot_server: Server, marks: Path, wait_for: Wait) -> None:
    client = allot_server.client()
    job = client.submit(f.forever, ["sleep"])
    worker = allot_server.worker_process(
        "functions:forever", options=["--processes=1"], env={"MARKS": str(marks)}
    )
    wait_for((marks / "sleep-begun").exists)
    worker.send_signal(signal.SIGINT)
    wait_for(lambda: client.workers.list()[0].raw["credit"] == 0)
    worker.send_signal(signal.SIGINT)
    assert worker.wait(60) == 130
    assert job.info().queued == 1


def test_a_child_ends_with_its_parent(allot_server: Server, marks: Path, wait_for: Wait) -> None:
    client = allot_server.client()
    client.submit(f.where, [1])
    parent = allot_server.worker_process(
        "functions:where", "functions:forever", options=["-j1"], env={"MARKS": str(marks)}
    )
    child = next(iter(client.job("last", f.where).results()))["pid"]
    client.submit(f.forever, ["loop"])
    wait_for((marks / "loop-begun").exists)
    parent.kill()
    parent.wait()
    wait_for(lambda: not _alive(child))


def test_tasks_inherit_no_socket_of_the_worker(allot_server: Server) -> None:
    code = "import os; print([os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}')])"

    for way in ({"threads": 1}, {"processes": 1}):
        with allot_server.worker(run_code, **way), allot_server.client() as client:
            (seen,) = client.map(run_code, [code])
            assert "socket" not in seen, way


@al.task("run_code")
def run_code(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout


def test_a_call_that_holds_the_interpreter_loses_no_lease_in_a_child(allot_server: Server) -> None:
    with allot_server.worker(f.hold, processes=1), allot_server.client() as client:
        (attempt,) = client.map(f.hold, [4.0], lease=1, max_attempts=2)  # four times the lease
    assert attempt == 1


def test_a_worker_outlives_its_server(
    allot_server: Server, marks: Path, wait_for: Wait, way: Dict[str, Any]
) -> None:
    client = allot_server.client(patience=120)
    with allot_server.worker(f.gated, **way):
        job = client.submit(f.gated, ["a", "b", "c"])
        wait_for(lambda: job.info().running == 2)
        allot_server.restart()
        (marks / "open").write_text("")
        assert sorted(job.results(ordered=False)) == ["a", "b", "c"]
        # They went on, and were not begun anew.
        assert (marks / "a-begun").read_text() == "\n"


def test_server_and_children_are_killed_and_each_result_comes_once(
    allot_server: Server, way: Dict[str, Any]
) -> None:
    client = allot_server.client(patience=120)
    count = 4000
    job = client.submit(f.echo, range(count), backoff={"first": 0.001, "max": 0.001}, max_attempts=100)
    stop = threading.Event()

    def trouble() -> None:
        for _ in range(3):
            if stop.wait(0.3):
                return
            allot_server.restart()

    with allot_server.worker(f.echo, prefetch=64, **way):
        thread = threading.Thread(target=trouble)
        thread.start()
        try:
            assert [outcome.value() for outcome in job.outcomes()] == list(range(count))
            seen = [outcome.index for outcome in job.outcomes(ordered=False)]
        finally:
            stop.set()
            thread.join()
    assert sorted(seen) == list(range(count))


def test_a_wrong_queue_or_token_ends_a_worker_at_once(allot_server: Server) -> None:
    worker = allot_server.worker(f.square, threads=1, queue="nowhere")
    with pytest.raises(al.UnknownQueue):
        worker.join(60)


def test_without_the_scope_read_a_worker_of_two_functions_needs_a_server_that_tells_them_apart(
    allot_server: Server, features: bool
) -> None:
    token = allot_server.command(
        "token", "create", "w", "--scope", "work", "--data", allot_server.data
    ).strip()
    admin = allot_server.command(
        "token", "create", "a", "--scope", "admin", "--data", allot_server.data
    ).strip()
    allot_server.restart()
    client = allot_server.client(token=admin)
    job = client.submit(f.square, [3])
    with allot_server.worker(f.square, threads=1, token=token):
        assert list(job.results()) == [9]
    jobs = [client.submit(f.square, [3]), client.submit(f.double, [3])]
    worker = allot_server.worker(f.square, f.double, threads=1, token=token)
    if features:
        assert [list(one.results()) for one in jobs] == [[9], [6]]
    else:
        with pytest.raises(al.Forbidden, match="scope read"):
            worker.join(60)


def test_retry_after_goes_before_the_backoff(allot_server: Server, way: Dict[str, Any], marks: Path) -> None:
    with allot_server.worker(f.controlled, **way), allot_server.client() as client:
        job = client.submit(f.controlled, ["retry"], backoff={"first": 3600, "max": 3600})
        assert list(job.results()) == ["retry at attempt 2"]


def test_progress_is_seen_while_a_task_runs(
    allot_server: Server, way: Dict[str, Any], marks: Path, wait_for: Callable[..., None]
) -> None:
    with allot_server.worker(f.half_way, **way), allot_server.client() as client:
        job = client.submit(f.half_way, ["x"])
        wait_for(lambda: job.task(0).progress == {"done": 2.0, "of": 4.0, "note": "frames"})
        assert job.info().progress == 0.5
        (marks / "open").write_text("")
        assert list(job.results()) == ["x"]
        assert job.task(0).progress is None and job.info().progress == 0


def test_a_result_that_the_server_refuses_fails_its_task_alone(
    allot_server: Server, way: Dict[str, Any]
) -> None:
    with allot_server.worker(f.echo, prefetch=8, **way), allot_server.client() as client:
        job = client.submit(f.echo, ["a", "x" * 200_000, "b"], max_failed_tasks=1)
        outcomes = list(job.outcomes())
    assert [outcome.state for outcome in outcomes] == ["done", "failed", "done"]
    assert "result" in outcomes[1].error


def test_an_operator_drains_a_worker(allot_server: Server, wait_for: Wait) -> None:
    with allot_server.client() as client:
        worker = allot_server.worker(f.square, threads=1)
        wait_for(client.workers.list)
        client.workers.drain(client.workers.list()[0].id)
        assert worker.join(60)


def test_a_worker_ends_when_idle(allot_server: Server, way: Dict[str, Any]) -> None:
    client = allot_server.client()
    job = client.submit(f.square, [2])
    worker = allot_server.worker(f.square, idle_exit=0.1, **way)
    assert worker.join(60)
    assert list(job.results()) == [4]


def test_tasks_run_on_the_loop_of_the_program(allot_server: Server) -> None:
    loops = []

    @al.task("which_loop")
    async def which_loop(n: int) -> int:
        loops.append(asyncio.get_running_loop())
        return n

    async def program() -> None:
        worker = al.Worker(which_loop, server=allot_server.url, quiet=True)
        running = asyncio.ensure_future(worker.run_async())
        async with allot_server.async_client() as client:
            assert [n async for n in client.map(which_loop, range(5))] == list(range(5))
        assert set(loops) == {asyncio.get_running_loop()}
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(program())


def test_a_function_that_no_child_can_find_is_refused(allot_server: Server) -> None:
    @al.task("local")
    def local(n: int) -> int:
        return n

    with pytest.raises(al.Error, match="at the top of a module"):
        allot_server.worker(local, processes=1)


def test_a_broken_module_is_told(allot_server: Server, tmp_path: Path) -> None:
    (tmp_path / "broken_tasks.py").write_text(
        "import allotter as al, multiprocessing\n"
        "assert multiprocessing.current_process().name == 'MainProcess', 'not in a child'\n"
        "@al.task('t')\ndef t(n): return n\n"
    )
    worker = allot_server.worker_process(
        "broken_tasks", options=["-j1"], cwd=str(tmp_path), stderr=subprocess.PIPE, text=True
    )
    _, errors = worker.communicate(timeout=60)
    assert worker.returncode == 1 and "not in a child" in errors


def test_a_program_without_a_guard_is_told(allot_server: Server, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import allotter as al\n@al.task('t')\ndef t(n): return n\nal.Worker(t, processes=1).run()\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "ALLOT_SERVER": allot_server.url}
    ran = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True, timeout=60
    )
    assert ran.returncode != 0 and "__name__ == '__main__'" in ran.stderr


def test_functions_of_the_main_program_run_in_children(allot_server: Server, tmp_path: Path) -> None:
    for method in ("spawn", "forkserver"):
        (tmp_path / "program.py").write_text(
            "import allotter as al\n@al.task('t')\ndef t(n): return n + 1\n"
            "if __name__ == '__main__':\n"
            f"    with al.Worker(t, processes=2, start_method='{method}'), al.Client() as c:\n"
            "        print(list(c.map(t, range(10))))\n"
        )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "ALLOT_SERVER": allot_server.url}
        ran = subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            env=env,
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
        )
        assert ran.stdout.strip() == str(list(range(1, 11)))
