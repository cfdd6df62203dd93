#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU of worker and producer against a real server: `ALLOT_BIN=build/allot bench/run.py [--items N] [--celery]`.

Times of processes, not of walls: they hold on a busy machine. A command, not a test.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Tuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import allotter as al  # noqa: E402
from allotter.testing import Server  # noqa: E402


@al.task("noop")
def noop(n: int) -> int:
    return n


@al.task("noop_async")
async def noop_async(n: int) -> int:
    return n


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def worker_cpu(
    server: Server, name: str, options: List[str], items: int, chunk: int = 1
) -> Tuple[float, float]:
    """Seconds of CPU, of the worker with its children, and tasks a second."""
    functions: Dict[str, al.Task[Any, int]] = {"noop": noop, "noop_async": noop_async}
    function = functions[name]
    with al.Client(server.url) as client:
        warm = client.submit(function, range(10))
        worker = server.worker_process(f"run:{name}", options=[*options, "--quiet"])
        warm.wait()
        before = _used(worker.pid)
        began = time.monotonic()
        client.submit(function, range(items), chunk=chunk).wait()
        seconds = time.monotonic() - began
        used = _used(worker.pid) - before
        worker.terminate()
        worker.wait()
        return used, items / seconds


def _used(pid: int) -> float:
    """CPU of a process and its children."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0.0
    pids = [str(pid)]
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        pids += file.read().split()
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/children", encoding="ascii") as file:
                pids += file.read().split()
        except FileNotFoundError:
            pass
    for one in set(pids):
        with open(f"/proc/{one}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) / ticks
    return total


def celery(items: int) -> Tuple[float, float]:
    """Seconds of CPU of Celery's prefork worker of one child on a volatile Redis, and of the producer."""
    folder = tempfile.mkdtemp()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    redis = ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", folder]
    env = {
        **os.environ,
        "BENCH_REDIS": f"redis://127.0.0.1:{port}/0",
        "PYTHONPATH": str(HERE),
    }
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    broker = subprocess.Popen(redis, **quiet)
    python = "/usr/bin/python3"  # Debian's packages are its own
    command = [
        python,
        "-m",
        "celery",
        "-A",
        "celery_app",
        "worker",
        "-c",
        "1",
        "-P",
        "prefork",
        "-l",
        "error",
    ]
    worker = subprocess.Popen(command, cwd=folder, env=env, **quiet)
    try:
        producer = (
            "import resource, sys, celery_app as a\n"
            "from celery.result import ResultSet\n"
            "def cpu():\n"
            "    used = resource.getrusage(resource.RUSAGE_SELF); return used.ru_utime + used.ru_stime\n"
            "a.noop.apply_async((1,)).get()\n"
            "print('warm', flush=True); sys.stdin.readline()\n"
            "before = cpu()\n"
            f"sent = [a.noop.apply_async((n,)) for n in range({items})]\n"
            "print(cpu() - before, flush=True)\n"
            "for one in sent: one.get()\n"
            "print('done', flush=True)\n"
        )
        with subprocess.Popen(
            [python, "-c", producer], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as client:
            assert client.stdin is not None and client.stdout is not None
            client.stdout.readline()
            before = _used(worker.pid)
            client.stdin.write("\n")
            client.stdin.flush()
            produced = float(client.stdout.readline())
            client.stdout.readline()
            return _used(worker.pid) - before, produced
    finally:
        worker.terminate()
        worker.wait()
        broker.terminate()
        broker.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument(
        "--celery", action="store_true", help="beside Celery, if it and redis-server are installed"
    )
    given = parser.parse_args()
    items: int = given.items
    print(f"Python {sys.version.split()[0]}, {items:,} items")
    print(f"{'worker, no-op':44} {'CPU µs a task':>14} {'tasks/s':>10}")
    for title, name, options, part in (
        ("threads=1, prefetch 256", "noop", ["--threads=1", "--prefetch=256"], 1),
        ("threads=1, prefetch 0", "noop", ["--threads=1", "--prefetch=0"], 20),
        ("processes=1, prefetch 256", "noop", ["--processes=1", "--prefetch=256"], 1),
        ("processes=1, prefetch 0", "noop", ["--processes=1", "--prefetch=0"], 20),
        ("processes=2, prefetch by itself", "noop", ["--processes=2"], 1),
        ("concurrency=50, prefetch 256", "noop_async", ["--concurrency=50", "--prefetch=256"], 1),
    ):
        with Server() as server:
            used, rate = worker_cpu(server, name, options, items // part)
        print(f"{title:44} {used / (items // part) * 1e6:14.1f} {rate:10,.0f}")

    print(f"\n{'producer':44} {'CPU µs an item':>14} {'items/s':>10}")
    with Server() as server, al.Client(server.url) as client:
        found: Any = None
        for title, chunk in (("chunk=1", 1), ("chunk=1000", 1000)):
            used, began = cpu(), time.monotonic()
            found = client.submit(noop, range(items), chunk=chunk)
            seconds = time.monotonic() - began
            print(f"{title:44} {(cpu() - used) / items * 1e6:14.2f} {items / seconds:10,.0f}")
            found.cancel()

    if given.celery:
        print(f"\n{'Celery, prefork, volatile Redis':44} {'CPU µs a task':>14} {'apply_async':>12}")
        used, produced = celery(2_000)
        print(f"{'':44} {used / 2_000 * 1e6:14.0f} {produced / 2_000 * 1e6:12.0f}")

    print(f"\n{'there and back':44} {'seconds':>14} {'items/s':>10}")
    for title, chunk in (("chunk=1", 1), ("chunk=1000", 1000)):
        with Server() as server, al.Client(server.url) as client:
            server.worker_process("run:noop", options=["--processes=1", "--quiet"])
            client.submit(noop, range(10)).wait()
            began = time.monotonic()
            job = client.submit(noop, range(items), chunk=chunk)
            count = sum(1 for _ in job.results())
            seconds = time.monotonic() - began
            print(f"{title:44} {seconds:14.2f} {count / seconds:10,.0f}")
            used, began = cpu(), time.monotonic()
            count = sum(1 for _ in job.outcomes())
            seconds = time.monotonic() - began
            print(f"{'  results read again':44} {seconds:14.2f} {count / seconds:10,.0f}")
    with Server() as server, server.worker(noop, threads=1), al.Client(server.url) as client:
        list(client.map(noop, [1]))
        times = []
        for n in range(200):
            began = time.monotonic()
            list(client.map(noop, [n]))
            times.append(time.monotonic() - began)
        print(f"\nidle submit to result, p50: {sorted(times)[100] * 1000:.1f} ms")


if __name__ == "__main__":
    main()
