# SPDX-License-Identifier: Apache-2.0
"""Squares numbers: a worker and a client in one program."""

from __future__ import annotations

import allotter as al


@al.task("square", give_up=[ValueError])
def square(n: int) -> int:
    return n * n


if __name__ == "__main__":
    with al.Worker(square, processes=2), al.Client() as client:
        print(list(client.map(square, range(10))))  # [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]
