# SPDX-License-Identifier: Apache-2.0
"""Counts words of many texts, in chunks, as they are done."""

from __future__ import annotations

import collections
from typing import Counter, Dict, Iterator

import allotter as al


@al.task("count_words")
def count_words(text: str) -> Dict[str, int]:
    return dict(collections.Counter(text.split()))


def texts() -> Iterator[str]:
    for n in range(2_000):
        yield f"the text number {n} of the collection"


if __name__ == "__main__":
    total: Counter[str] = collections.Counter()
    with al.Worker(count_words, threads=2), al.Client() as client:
        for counts in client.map(count_words, texts(), chunk=100, ordered=False):
            total.update(counts)
    print(total["the"])  # 4000
