# SPDX-License-Identifier: Apache-2.0
"""`python -m allotter worker module:task …`: runs a worker from the command line."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import Any, Dict, List, Sequence, Tuple, Union

from .errors import (
    AtBound,
    BadValue,
    Conflict,
    Error,
    Forbidden,
    NotFound,
    ServerFailed,
    Unauthorized,
    Unavailable,
)
from .functions import Task, find_task, tasks_in
from .work.worker import Worker

# As `allot` has them: docs/reference/cli.md.
_EXIT: Sequence[Tuple[type, int]] = (
    (Unavailable, 3),
    (NotFound, 4),
    (Unauthorized, 5),
    (Forbidden, 5),
    (Conflict, 6),
    (AtBound, 6),
    (ServerFailed, 7),
    (BadValue, 2),
    (ValueError, 2),
)


def _value(text: str) -> Union[str, int, float, bool]:
    """`true`, `false`, an integer, a real, or text; quotes make text."""
    if text in ("true", "false"):
        return text == "true"
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _pair(text: str) -> Tuple[str, str]:
    key, mark, value = text.partition("=")
    if not mark or not key:
        raise argparse.ArgumentTypeError(f"`{text}` is no KEY=VALUE")
    return key, value


def _functions(names: Sequence[str]) -> List[Task[Any, Any]]:
    found: List[Task[Any, Any]] = []
    for name in names:
        module_name, _, path = name.partition(":")
        module = importlib.import_module(module_name)
        more = [find_task(module, path)] if path else tasks_in(module)
        if not more:
            raise Error(f"the module {module_name} has no tasks: decorate functions with @allotter.task(…)")
        found += [one for one in more if one not in found]
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m allotter", description="Allotter's client in Python.")
    commands = parser.add_subparsers(dest="command", required=True)
    worker = commands.add_parser(
        "worker",
        help="run tasks",
        description="Runs tasks of the functions named, or of all in a module. SIGTERM drains it.",
    )
    worker.add_argument("functions", nargs="+", metavar="MODULE[:TASK]")
    mode = worker.add_mutually_exclusive_group()
    mode.add_argument(
        "-j", "--processes", type=int, metavar="N", help="child processes (one for each processor)"
    )
    mode.add_argument("--threads", type=int, metavar="N", help="threads instead")
    mode.add_argument(
        "--concurrency", type=int, metavar="N", help="of async functions: so many at a time (100)"
    )
    worker.add_argument("--tag", action="append", default=[], dest="tags", help="a further tag that it has")
    worker.add_argument("--property", action="append", default=[], type=_pair, metavar="KEY=VALUE")
    worker.add_argument("--attribute", action="append", default=[], type=_pair, metavar="KEY=VALUE")
    worker.add_argument("--requirements", metavar="EXPR", help="only jobs for which it is true")
    worker.add_argument("--rank", metavar="EXPR", help="jobs first for which it is highest")
    worker.add_argument("--strategy", metavar="TEXT", help="which tasks first")
    worker.add_argument("--name", help="what the worker is called (host and process)")
    worker.add_argument(
        "--prefetch", type=int, metavar="N", help="tasks held beyond those that run (by itself)"
    )
    worker.add_argument("--grace", type=float, default=5.0, metavar="SECONDS", help="from cancel to kill (5)")
    worker.add_argument("--idle-exit", type=float, metavar="SECONDS", help="end after so long without a task")
    worker.add_argument("--start-method", choices=("spawn", "forkserver"), default="spawn")
    worker.add_argument("--quiet", action="store_true")
    worker.add_argument("--server", metavar="URL", help="ALLOT_SERVER; http://127.0.0.1:7420")
    worker.add_argument("-q", "--queue", metavar="NAME", help="ALLOT_QUEUE; default")
    worker.add_argument("--token-file", metavar="FILE", help="ALLOT_TOKEN_FILE; or the token in ALLOT_TOKEN")
    worker.add_argument("--ca-file", metavar="FILE", help="ALLOT_CA_FILE")
    return parser


def main(arguments: Union[Sequence[str], None] = None) -> int:
    given: Dict[str, Any] = vars(_parser().parse_args(arguments))
    given.pop("command")
    sys.path.insert(0, os.getcwd())
    try:
        functions = _functions(given.pop("functions"))
        given["properties"] = dict(given.pop("property"))
        given["attributes"] = {key: _value(value) for key, value in given.pop("attribute")}
        Worker(*functions, **given).run()
        return 0
    except KeyboardInterrupt:
        return 130
    except (ImportError, AttributeError, Error, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return next((code for kind, code in _EXIT if isinstance(error, kind)), 1)


if __name__ == "__main__":
    sys.exit(main())
