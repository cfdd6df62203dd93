# SPDX-License-Identifier: Apache-2.0
"""Tasks that tests run, importable by child processes."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Sequence

import allotter as al


def mark(name: str, text: str = "") -> None:
    with open(os.path.join(os.environ["MARKS"], name), "a", encoding="utf-8") as file:
        file.write(text + "\n")


@al.task("square", give_up=[ValueError])
def square(n: int) -> int:
    if n < 0:
        raise ValueError("below nothing")
    return n * n


@al.task("double")
def double(n: int) -> int:
    return 2 * n


@al.task("square_async")
async def square_async(n: int) -> int:
    await asyncio.sleep(0)
    return n * n


@al.task("echo")
def echo(value: Any) -> Any:
    return value


@al.task("where")
def where(_: int, ctx: al.Context) -> Dict[str, Any]:
    return {
        "job": ctx.job,
        "index": ctx.index,
        "attempt": ctx.attempt,
        "count": ctx.count,
        "pid": os.getpid(),
    }


@al.task("half_way")
def half_way(what: str, ctx: al.Context) -> str:
    for done in range(3):
        ctx.progress(done, of=4, note="frames")
    while not os.path.exists(os.path.join(os.environ["MARKS"], "open")):
        time.sleep(0.005)
    ctx.progress(float("nan"), of=float("inf"), note="\x00" * 500)  # as much of it as can be said
    return what


@al.task("flaky")
def flaky(n: int, ctx: al.Context) -> int:
    if ctx.attempt == 1:
        raise RuntimeError(f"the first attempt at {n}")
    return n


@al.task("controlled")
def controlled(how: str, ctx: al.Context) -> str:
    mark(f"{how}-{ctx.attempt}")
    if how == "give_up":
        raise al.GiveUp("bad scene")
    if how == "retry" and ctx.attempt == 1:
        raise al.Retry("later", after=0.01)
    if how == "release" and not os.path.exists(os.path.join(os.environ["MARKS"], "released")):
        mark("released")
        raise al.Release()
    return f"{how} at attempt {ctx.attempt}"


@al.task("crash")
def crash(how: str, ctx: al.Context) -> str:
    if how == "segfault" and ctx.attempt == 1:
        ctypes.string_at(0)
    if how == "exit" and ctx.attempt == 1:
        os._exit(3)
    if how == "sys.exit" and ctx.attempt == 1:
        sys.exit(4)
    return how


def _until_cancelled(name: str, step: Any) -> None:
    try:
        mark(f"{name}-begun")
        while True:
            try:
                step()
            except Exception:  # what a careless task would do
                pass
    except BaseException as error:
        mark(f"{name}-{type(error).__name__}")
        raise


class _Slow:
    """Python drops what is raised in here."""

    def __del__(self) -> None:
        for _ in range(100_000):
            pass


@al.task("forever")
def forever(how: str, ctx: al.Context) -> None:
    if how == "loop":
        _until_cancelled(how, lambda: sum(range(100)))
    elif how == "finalizer":
        _until_cancelled(how, lambda: (_Slow(), sum(range(1_000_000))))
    elif how == "sleep":
        _until_cancelled(how, lambda: time.sleep(600))
    elif how == "check":
        _until_cancelled(how, lambda: (time.sleep(0.001), ctx.check()))
    elif how == "deaf":
        mark("deaf-begun")
        while True:
            ctypes.PyDLL(None).usleep(500_000)  # holds the interpreter
    elif how == "swallow":
        mark("swallow-begun")
        while True:
            try:
                time.sleep(600)
            except BaseException:
                mark("swallow-swallowed")
    elif how == "child":
        child = subprocess.Popen(["sleep", "600"])
        mark("child-begun", str(child.pid))
        while True:
            try:
                child.wait()
            except BaseException:
                pass


@al.task("forever_async")
async def forever_async(name: str) -> None:
    try:
        mark(f"{name}-begun")
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        mark(f"{name}-CancelledError")
        raise


@al.task("gated")
def gated(name: str) -> str:
    """Runs until there is a file `open`."""
    mark(f"{name}-begun")
    while not os.path.exists(os.path.join(os.environ["MARKS"], "open")):
        time.sleep(0.005)
    return name


@al.task("once")
def once(n: int) -> int:
    mark("ran", str(n))
    return n


@al.task("hold")
def hold(seconds: float, ctx: al.Context) -> int:
    """Holds the interpreter: nothing else of its process runs."""
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
    return ctx.attempt


@al.batch_task("lengths", max_items=8)
def lengths(texts: Sequence[str]) -> List[int]:
    if "bad" in texts:
        raise RuntimeError("a bad one is among them")
    mark("lengths", str(len(texts)))
    return [len(text) for text in texts]


@al.batch_task("fragile", max_items=8)
def fragile(texts: Sequence[str]) -> List[int]:
    if "kill" in texts:
        os.kill(os.getpid(), signal.SIGKILL)
    return [len(text) for text in texts]


class Reversed:
    """A codec of one's own."""

    def encode(self, value: str) -> Any:
        return {"reversed": value[::-1]}

    def decode(self, value: Any) -> str:
        text: str = value["reversed"]
        return text[::-1]


@al.task("coded", codec=Reversed())
def coded(text: str) -> str:
    return text + "!"
