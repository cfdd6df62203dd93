# SPDX-License-Identifier: Apache-2.0
"""Client and AsyncClient against a real server."""

from __future__ import annotations

import asyncio
import datetime
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, AsyncIterator, Callable, Iterator, List

import pytest

import allotter as al
import functions as f
from allotter.testing import Server
from allotter.wire.http import send_json

Wait = Callable[[Callable[[], object]], None]


def tag(request: pytest.FixtureRequest) -> str:
    return request.node.name.replace("[", ".").replace("]", "")[:100]


@pytest.fixture
def fresh(request: pytest.FixtureRequest) -> str:
    """A tag that no other test uses."""
    return tag(request)


def test_what_is_submitted_is_what_was_asked_for(client: al.Client, fresh: str) -> None:
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    job: al.Job[Any] = client.submit(
        fresh,
        ["a", {"b": 1}],
        tags=["more"],
        meta={"company_id": 7, "name": "é"},
        priority=5,
        requirements=(al.target.memory >= 4096) & (al.target.arch == "x86_64"),
        rank=al.target.memory,
        at=at,
        max_attempts=3,
        lease=datetime.timedelta(seconds=90),
        timeout=60,
        max_failed_tasks="5%",
        retention=3600,
        interactive=True,
        backoff={"first": 0.5, "factor": 3, "max": 60, "jitter": 0},
    )
    raw = job.info().raw
    assert sorted(raw["tags"]) == sorted([fresh, "more"]) and raw["count"] == 2 and raw["async"] is False
    assert raw["requirements"] == 'TARGET.memory >= 4096 && TARGET.arch == "x86_64"'
    assert (raw["meta"], raw["priority"]) == ({"company_id": 7, "name": "é"}, 5)
    assert (raw["lease_ms"], raw["timeout_ms"], raw["retention_ms"]) == (90_000, 60_000, 3_600_000)
    assert abs(raw["scheduled_at_ms"] - at.timestamp() * 1000) < 2
    assert raw["backoff"] == {"first_ms": 500, "factor": 3.0, "max_ms": 60_000, "jitter": 0.0}
    assert raw["idempotency_key"] and raw["state"] == "scheduled"
    assert job.task(1).raw["payload"] == {"b": 1}
    assert [task.state for task in job.tasks()] == ["queued", "queued"]


def test_items_that_raise_half_way_leave_no_job(client: al.Client, fresh: str) -> None:
    for length in (3, 300_000):  # before anything is sent, and in the middle

        def items() -> Iterator[int]:
            yield from range(length)
            raise KeyError("half-way")

        with pytest.raises(KeyError, match="half-way"):
            client.submit(fresh, items())
        with pytest.raises(TypeError, match="not JSON"):
            client.submit(fresh, [*range(length), object()])
    assert list(client.jobs(tag=fresh)) == []


def test_an_empty_iterator_is_a_job_that_is_done(client: al.Client, fresh: str) -> None:
    job: al.Job[Any] = client.submit(fresh, iter(()))
    assert job.wait(30).state == "done" and list(job.results()) == []


def test_the_same_key_is_the_same_job_and_other_content_is_refused(client: al.Client, fresh: str) -> None:
    first: al.Job[Any] = client.submit(fresh, range(10), key=fresh)
    second: al.Job[Any] = client.submit(fresh, range(10), key=fresh)
    assert (second.id, second.existing) == (first.id, True)
    with pytest.raises(al.IdempotencyConflict):
        client.submit(fresh, range(11), key=fresh)


class Cutter:
    """A way to the server that breaks after so many bytes of a connection, in one direction, so many times."""

    def __init__(self, port: int, cuts: List[int], answers: bool) -> None:
        self._port = port
        self._cuts = cuts
        self._answers = answers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                inner, _ = self._listener.accept()
            except OSError:
                return
            outer = socket.create_connection(("127.0.0.1", self._port))
            cut = self._cuts.pop(0) if self._cuts else -1
            pair = (inner, outer)
            for source, sink, limit in (
                (inner, outer, -1 if self._answers else cut),
                (outer, inner, cut if self._answers else -1),
            ):
                threading.Thread(target=self._copy, args=(source, sink, limit, pair), daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket, limit: int, pair: Any) -> None:
        passed = 0
        try:
            while True:
                data = source.recv(65536)
                if limit >= 0 and passed + len(data) > limit:
                    sink.sendall(data[: limit - passed])
                    break
                passed += len(data)
                if not data:
                    break
                sink.sendall(data)
        except OSError:
            pass
        for one in pair:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


@pytest.mark.parametrize("answers", [False, True])
def test_a_submit_cut_anywhere_is_one_job(allot_session_server: Server, fresh: str, answers: bool) -> None:
    whole = 1500
    for number, cut in enumerate([0, 1, 17, 100, 200, 400, 600, whole]):
        name = f"{fresh}.{number}"
        way = Cutter(allot_session_server.port, [cut, cut // 2], answers)
        with al.Client(way.url, patience=60) as cut_off:
            job: al.Job[Any] = cut_off.submit(name, range(100))
        way.close()
        with al.Client(allot_session_server.url) as client:
            assert [one.id for one in client.jobs(tag=name)] == [job.id]
            assert client.job(job.id).last_info.count == 100


def test_a_long_stream_cut_half_way_is_one_job(allot_session_server: Server, fresh: str) -> None:
    way = Cutter(allot_session_server.port, [1_000_000, 2_500_000], False)
    with al.Client(way.url, patience=60) as cut_off:
        job: al.Job[Any] = cut_off.submit(fresh, (n for n in range(400_000)))
    way.close()
    with al.Client(allot_session_server.url) as client:
        assert [one.id for one in client.jobs(tag=fresh)] == [job.id]
        assert job.last_info.count == 400_000
        assert client.job(job.id).task(399_999).raw["payload"] == 399_999


def test_items_that_come_slowly_are_one_job(allot_server: Server, tmp_path: Path) -> None:
    with Server("--request-timeout", "1s") as server, server.client() as client:

        def items() -> Iterator[str]:
            yield from ("x" * 1000 for _ in range(600))
            time.sleep(2.5)  # longer than the server waits for a line
            yield from ("y" * 1000 for _ in range(600))

        job: al.Job[Any] = client.submit("slow", items())
        assert job.last_info.count == 1200 and len(list(client.jobs())) == 1


def test_outcomes_come_as_they_end_without_gaps_or_twins(
    allot_server: Server, marks: Path, wait_for: Wait
) -> None:
    with allot_server.worker(f.gated, threads=2), allot_server.client() as client:
        (marks / "open").write_text("")
        client.submit(f.gated, ["x"]).wait(60)
        (marks / "open").unlink()
        job = client.submit(f.gated, ["first"])
        others = client.submit(f.gated, ["x"] * 5)
        assert job and others
        (marks / "open").write_text("")
        assert sorted(one.index for one in others.outcomes(ordered=False)) == list(range(5))


def test_what_ended_first_comes_first_when_not_in_order(
    allot_server: Server, marks: Path, features: bool
) -> None:
    with allot_server.worker(first_waits, threads=2), allot_server.client() as client:
        job = client.submit(first_waits, range(2500))
        seen = []
        for outcome in job.outcomes(ordered=False):
            seen.append(outcome.index)
            if len(seen) == 2499:
                (marks / "open").write_text("")  # only now may the first one end
    assert seen[-1] == 0 and sorted(seen) == list(range(2500))


def test_results_as_they_end_survive_the_death_of_the_server(allot_server: Server, features: bool) -> None:
    client = allot_server.client(patience=120)
    job = client.submit(f.square, range(3000), max_attempts=100)
    seen: list[int] = []
    with allot_server.worker(f.square, threads=2, prefetch=16):
        for outcome in job.outcomes(ordered=False):
            assert outcome.value() == outcome.index**2
            seen.append(outcome.index)
            if len(seen) in (200, 1500):
                allot_server.restart()
    assert sorted(seen) == list(range(3000))


def test_results_of_a_job_that_is_not_there(allot_server: Server, features: bool) -> None:
    with allot_server.client() as client, pytest.raises(al.UnknownJob):
        missing = client.submit("t", [1], retention=0)
        missing.cancel()
        list(missing.outcomes(ordered=False))


def test_a_job_shows_what_all_its_tasks_were_given(allot_server: Server) -> None:
    with allot_server.client() as client:
        raw = client.request(
            send_json(
                "POST", "/v1/queues/default/jobs", {"tag": "t", "count": 2, "payload": {"scene": b"\x00".hex()}}
            )
        )
        assert client.job(raw["job"]["id"]).payload() == {"scene": "00"}
        assert client.submit("t", [1]).payload() is None


def test_meta_keys_may_be_numbers(allot_server: Server) -> None:
    with allot_server.client() as client:
        few = client.submit(f.square, [1], meta={"6": 1})
        many = client.submit(f.square, [2], meta={"6": 9}, requirements=al.target["07"] >= al.my["6"])
        assert many.info().meta == {"6": 9}
        with allot_server.worker(
            f.square,
            threads=1,
            attributes={"07": 9},
            requirements=al.target["6"] > 1,
            strategy=al.PreferDistinct("6", then=al.Oldest()),
        ):
            assert many.wait(60).state == "done"
        assert few.info().state == "active"


@al.task("first_waits")
def first_waits(n: int) -> int:
    return n if n or f.gated("first") else n


def test_a_failed_chunk_is_a_failure_of_each_of_its_items(allot_server: Server) -> None:
    with allot_server.worker(f.square, threads=1), allot_server.client() as client:
        job = client.submit(f.square, [0, 1, 2, -1, 4], chunk=2, max_failed_tasks=1)
        outcomes = list(job.outcomes())
        assert [one.state for one in outcomes] == ["done", "done", "failed", "failed", "done"]
        assert [one.index for one in outcomes] == list(range(5))
        found = client.job(job.id, f.square, chunk=2)
        assert [one.index for one in found.outcomes(ordered=False) if one.ok] == [0, 1, 4]


def test_a_cancelled_job_says_so(client: al.Client, fresh: str) -> None:
    job: al.Job[Any] = client.submit(fresh, [1])
    assert job.cancel().state == "cancelled"
    with pytest.raises(al.JobCancelled):
        list(job.results())
    assert [one.state for one in job.outcomes()] == ["skipped"]
    with pytest.raises(al.JobEnded):
        job.change(priority=1)


def test_who_leaves_a_map_half_way_takes_its_job_along(allot_server: Server) -> None:
    with allot_server.worker(f.square, threads=1), allot_server.client() as client:
        results = client.map(f.square, range(100_000), max_attempts=1)
        assert next(results) == 0
        results.close()
        assert client.job("last").last_info.state == "cancelled"


def test_a_job_can_be_changed_paused_and_retried(allot_server: Server) -> None:
    with allot_server.client() as client:
        job: al.Job[Any] = client.submit("t", range(3), priority=1)
        assert (
            job.change(priority=None, meta={"a": 1}, requirements=al.target.memory > 1).raw["priority"]
            is None
        )
        assert job.info().meta == {"a": 1}
        assert job.change(requirements=None).raw["requirements"] is None
        assert job.pause().paused and not job.resume().paused
        job.cancel()
        assert job.retry() == 3
        with pytest.raises(TypeError):
            job.change(count=4)


def test_a_job_explains_itself(client: al.Client, fresh: str) -> None:
    job: al.Job[Any] = client.submit(fresh, [1])
    explanation = job.explain()
    assert (explanation.kind, explanation.code) == ("operator", "no_workers")
    assert explanation.matching_workers == 0 and explanation.message in str(explanation)
    codes = {one["code"] for one in client.explain(fresh, requirements="false").raw["reasons"]}
    assert "requirements_never_true" in codes


def test_waiting_ends_after_its_time(client: al.Client, fresh: str) -> None:
    job: al.Job[Any] = client.submit(fresh, [1])
    with pytest.raises(TimeoutError):
        job.wait(0.05)


def test_operators_look_after_queues_workers_and_limits(allot_server: Server, wait_for: Wait) -> None:
    with allot_server.client() as client, allot_server.worker(f.square, threads=3, attributes={"memory": 8}):
        client.queues.create("video", property_keys=["gpu"])
        video = client.queues["video"]
        assert video.pause().paused and not video.resume().paused
        policy = al.MaxSimultaneous("customer", 20, al.Fair("user", al.WorkerStrategy()))
        assert video.set(policy=policy, weights={"user.acme": 3}).settings["policy"] == str(policy)
        assert {queue.name for queue in client.queues.list()} == {"default", "video"}
        video.delete()
        with pytest.raises(al.UnknownQueue):
            video.info()

        wait_for(client.workers.list)
        (worker,) = client.workers.list()
        assert (worker.slots, worker.tags, worker.attributes) == (3, ["square"], {"memory": 8})
        changed = client.workers.set(worker.id, strategy=al.PreferDistinct("company_id", then=al.Random()))
        assert changed.strategy == "prefer_distinct(company_id, 1, random)"
        assert client.workers.next(worker.id)["verdict"]["code"] == "empty"

        limit = client.limits.put(
            "ann-slowly", tag="agent", expr=al.my.User == "ann", count=10, window=60, expires=60
        )
        assert limit.uuid == "ann-slowly" and limit.expires_in == 60
        assert client.limits.get("ann-slowly").expr == 'MY.User == "ann"'
        assert [one.uuid for one in client.limits.list(tag="agent")] == ["ann-slowly"]
        assert client.limits.renew("ann-slowly", 120).expires_in == 120
        assert client.limits.try_(al.my.User == "ann")["jobs"] == 0
        client.limits.delete("ann-slowly")
        with pytest.raises(al.UnknownLimit):
            client.limits.get("ann-slowly")

        list(client.map(f.square, range(3)))
        assert client.overview()["workers"]["registered"] == 1
        assert client.history()["step_ms"] == 1000
        assert client.demand()["totals"]["queued"] == 0
        assert len(client.receipts()) == 3
        assert list(client.users()) == []
        assert client.server()["name"] == "allotter"
        assert client.try_strategy(al.Oldest())["picks"] == []
        client.submit("nobody", [1])
        assert client.change_jobs("cancel", tag="nobody")["changed"] == 1


def test_errors_are_exceptions_of_their_code(client: al.Client, fresh: str) -> None:
    with pytest.raises(al.UnknownJob) as unknown:
        client.job("123")
    assert (unknown.value.code, unknown.value.status) == ("unknown_job", 404)
    with pytest.raises(al.BadValue, match="expected an expression"):
        client.submit(fresh, [1], requirements="TARGET.a >= ")
    with pytest.raises(al.UnknownQueue):
        al.Client(client._options.endpoint.authority, queue="nowhere").submit(fresh, [1])


def test_where_no_server_is_that_is_said_soon() -> None:
    began = time.monotonic()
    with al.Client("http://127.0.0.1:1", patience=0.2) as client, pytest.raises(
        al.Unavailable, match="cannot reach"
    ):
        client.submit("t", [1])
    assert time.monotonic() - began < 60


def test_a_client_outlives_its_server(allot_server: Server) -> None:
    with allot_server.client(patience=120) as client:
        job: al.Job[Any] = client.submit("t", range(10))
        allot_server.kill9()
        thread = threading.Timer(0.5, allot_server.start)
        thread.start()
        assert job.info().count == 10
        thread.join()
        allot_server.kill9()
        thread = threading.Timer(0.5, allot_server.start)
        thread.start()
        second: al.Job[Any] = client.submit("t", range(20))
        thread.join()
        assert [one.id for one in client.jobs()] == [second.id, job.id]


def test_one_client_serves_many_threads(client: al.Client, fresh: str) -> None:
    errors: List[BaseException] = []

    def work(number: int) -> None:
        try:
            for n in range(20):
                job: al.Job[Any] = client.submit(fresh, range(n), meta={"thread": number})
                assert job.info().count == n
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(list(client.jobs(tag=fresh))) == 160


@pytest.mark.parametrize(
    "call",
    [
        "c.submit('t', [1]).wait()",
        "list(c.submit('t', [1]).results())",
        "list(c.submit('t', [1]).outcomes(ordered=False))",
        "list(c.map('t', [1]))",
        "c.submit('t', forever())",
        "c.submit('t', forever(0.01))",
    ],
)
def test_ctrl_c_ends_every_wait(allot_session_server: Server, call: str) -> None:
    program = (
        "import allotter as al, itertools, time, sys\n"
        "def forever(pause=0):\n"
        "    for n in itertools.count():\n"
        "        time.sleep(pause); yield n\n"
        f"c = al.Client({allot_session_server.url!r})\n"
        "c.server(); print('ready', flush=True)\n"
        f"{call}\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(
        [sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(0.3)  # so that it is likely in the middle; anywhere else it has to end as well
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors


def test_progress_is_told(allot_server: Server) -> None:
    told: List[Any] = []
    with allot_server.worker(f.square, threads=1), allot_server.client() as client:
        list(client.map(f.square, range(10), chunk=3, progress=lambda done, of: told.append((done, of))))
    assert told[-1] == (10, 10) and told == sorted(told)


def test_the_asynchronous_client_does_the_same(allot_server: Server) -> None:
    async def program() -> None:
        async with allot_server.async_client() as client:

            async def items() -> AsyncIterator[int]:
                for n in range(1000):
                    yield n

            job = await client.submit(f.square, items(), chunk=10)
            assert [n async for n in job.results()] == [n * n for n in range(1000)]
            assert sorted([o.index async for o in job.outcomes(ordered=False)]) == list(range(1000))
            many = await asyncio.gather(*(client.submit(f.square, range(n)) for n in range(20)))
            assert [info.state for info in await client.wait(*many, timeout=60)] == ["done"] * 20
            assert [n async for n in client.map(f.square, range(5))] == [0, 1, 4, 9, 16]
            assert len([one async for one in client.jobs()]) == 22
            with pytest.raises(al.UnknownJob):
                await client.job("1")
            await client.queues["default"].pause()
            waiting = await client.submit(f.square, [1])
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(waiting.wait(), 0.1)
            assert (await waiting.cancel()).state == "cancelled"

            async def broken() -> AsyncIterator[int]:
                yield 1
                raise KeyError("half-way")

            with pytest.raises(KeyError):
                await client.submit("nothing", broken())
            assert [one async for one in client.jobs(tag="nothing")] == []

    with allot_server.worker(f.square, threads=1):
        asyncio.run(program())


def test_ten_million_items_take_little_memory(allot_session_server: Server, fresh: str) -> None:
    """A tenth of that; memory that grew with items would show."""
    program = (
        "import resource, sys, allotter as al\n"
        f"c = al.Client({allot_session_server.url!r})\n"
        f"c.submit({fresh!r}, range(1000), chunk=10)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"c.submit({fresh!r}, range(1_000_000), chunk=100)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, text=True, check=True
    )
    assert int(ran.stdout) < 30_000


def test_a_connection_that_lay_idle_is_used_again_or_replaced(allot_server: Server) -> None:
    with allot_server.client() as client:
        client.server()
        (connection,) = client._pool._idle
        first = connection._sock
        connection._used_at -= 60  # as if it had been left alone
        client.server()
        assert connection._sock is first
        allot_server.restart()
        connection._used_at -= 60
        assert client.submit("t", [1]).last_info.count == 1
        assert connection._sock is not first
