# SPDX-License-Identifier: Apache-2.0
"""Two steps: results of the first are the items of the second, and stream from one to the other."""

from __future__ import annotations

import asyncio

import allotter as al


@al.task("download")
async def download(n: int) -> str:
    await asyncio.sleep(0.01)
    return "x" * n


@al.task("measure")
async def measure(page: str) -> int:
    return len(page)


async def main() -> None:
    async with al.AsyncClient() as client:
        workers = asyncio.ensure_future(al.Worker(download, measure, concurrency=20).run_async())
        pages = client.map(download, range(100))
        print(sum([size async for size in client.map(measure, pages)]))  # 4950
        workers.cancel()
        try:
            await workers
        except asyncio.CancelledError:
            pass


if __name__ == "__main__":
    asyncio.run(main())
