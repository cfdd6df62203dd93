# SPDX-License-Identifier: Apache-2.0
"""The same no-op for Celery, beside which bench/run.py --celery measures."""

from __future__ import annotations

import os

import celery  # type: ignore[import]

app = celery.Celery("bench", broker=os.environ["BENCH_REDIS"], backend=os.environ["BENCH_REDIS"])
app.conf.update(task_acks_late=True)


@app.task  # type: ignore[misc]
def noop(n: int) -> int:
    return n
