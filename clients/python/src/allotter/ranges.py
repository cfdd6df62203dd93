# SPDX-License-Identifier: Apache-2.0
"""Indices as ranges that do not touch: what mostly comes in order takes few of them."""

from __future__ import annotations

import bisect
from typing import Dict, List


class Ranges:
    def __init__(self) -> None:
        self._begins: List[int] = []
        self._ends: List[int] = []  # the first behind each

    def add(self, index: int) -> bool:
        """False: it was there before."""
        begins, ends = self._begins, self._ends
        at = bisect.bisect_right(begins, index)  # the first that begins behind it
        if at and index < ends[at - 1]:
            return False
        joins_before = at > 0 and ends[at - 1] == index
        joins_after = at < len(begins) and begins[at] == index + 1
        if joins_before and joins_after:
            ends[at - 1] = ends[at]
            del begins[at], ends[at]
        elif joins_before:
            ends[at - 1] = index + 1
        elif joins_after:
            begins[at] = index
        else:
            begins.insert(at, index)
            ends.insert(at, index + 1)
        return True

    def first(self, most: int) -> List[Dict[str, int]]:
        """At most so many of them, the lowest, as the protocol has them."""
        pairs = zip(self._begins[:most], self._ends[:most])
        return [{"from": begin, "to": end} for begin, end in pairs]
