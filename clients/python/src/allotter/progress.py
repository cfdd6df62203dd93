# SPDX-License-Identifier: Apache-2.0
"""Progress bars: tqdm's where it is installed, in a terminal and in Jupyter; or a function of one's own."""

from __future__ import annotations

import sys
from typing import Any, Callable, Optional, Union

# True: a bar; a function: called with how many are done, and of how many.
Progress = Union[bool, Callable[[int, Optional[int]], None]]


class Bar:
    def __init__(self, progress: Progress, total: Optional[int]) -> None:
        self._call = progress if callable(progress) else None
        self._total = total
        self._done = 0
        self._bar: Any = None
        if progress is True:
            try:
                from tqdm.auto import tqdm  # type: ignore[import]
            except ImportError:
                print("no progress bar: tqdm is not installed", file=sys.stderr)
            else:
                self._bar = tqdm(total=total)

    def add(self, count: int) -> None:
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
        if self._call is not None:
            self._call(self._done, self._total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
