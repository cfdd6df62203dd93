# SPDX-License-Identifier: Apache-2.0
"""What operators do: queues, workers, limits, how the server stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, List, Mapping, Optional, Union

from ..expressions import Expr, text_of
from ..objects import Limit, QueueInfo, WorkerInfo, dig
from ..spec import Seconds, milliseconds
from ..strategies import Strategy, wire_strategy
from ..wire.http import Request, get, query, send_json

if TYPE_CHECKING:
    from .client import AsyncClient

_QUEUES = "/v1/queues"


class AsyncAdmin:
    """The looks at a server and a queue, as the protocol shows them."""

    def _path(self, *parts: str) -> str:
        raise NotImplementedError

    async def request(
        self, request: Request, *, patience: Optional[float] = None, timeout: Optional[float] = None
    ) -> Any:
        raise NotImplementedError

    async def _look(self, *parts: str, **values: Any) -> Dict[str, Any]:
        raw: Dict[str, Any] = await self.request(get(query(self._path(*parts), **values)))
        return raw

    async def server(self) -> Dict[str, Any]:
        """Which server it is, and who asks."""
        raw: Dict[str, Any] = await self.request(get("/v1/server"))
        return raw

    async def overview(self) -> Dict[str, Any]:
        """How the queue stands: rates, what waits and why, what somebody should look at."""
        return await self._look("overview")

    async def history(self, step: str = "second") -> Dict[str, Any]:
        """The same over time: by `second` or `minute`."""
        return await self._look("history", step=step)

    async def users(self) -> AsyncIterator[Dict[str, Any]]:
        """Users with jobs that have not ended, in order of name."""
        after: Optional[str] = None
        while True:
            page = await self._look("users", after=after)
            for user in page["users"]:
                yield user
            after = page.get("next")
            if after is None:
                return

    async def demand(self, *, user: Optional[str] = None, tag: Optional[str] = None) -> Dict[str, Any]:
        """What could start if workers were there."""
        return await self._look("demand", user=user, tag=tag)

    async def receipts(self, limit: int = 100) -> List[Dict[str, Any]]:
        """How the last starts were decided, the newest first."""
        receipts: List[Dict[str, Any]] = dig(await self._look("receipts", limit=limit), "receipts")
        return receipts

    async def receipt(self, job: str, index: int) -> Dict[str, Any]:
        """How the last start of a task was decided."""
        return await self._look("jobs", job, "tasks", str(index), "receipt")

    async def try_strategy(
        self,
        strategy: Union[Strategy, str, None],
        *,
        policy: Union[Strategy, str, None] = None,
        worker: Union[str, Mapping[str, Any], None] = None,
        count: int = 20,
    ) -> Dict[str, Any]:
        """Which tasks a worker with that strategy would get now, and why. Nothing is taken."""
        fields: Dict[str, Any] = {"strategy": wire_strategy(strategy), "count": count}
        if policy is not None:
            fields["policy"] = wire_strategy(policy)
        if worker is not None:
            fields["worker"] = worker
        target = self._path("strategy", "try")
        raw: Dict[str, Any] = await self.request(send_json("POST", target, fields, again=True))
        return raw

    async def check_strategy(self, strategy: Union[Strategy, str]) -> Dict[str, Any]:
        """Its canonical text and JSON, and what it does in words."""
        return await self._check({"strategy": wire_strategy(strategy)})

    async def check_policy(self, policy: Union[Strategy, str]) -> Dict[str, Any]:
        """The same of a queue's policy."""
        return await self._check({"policy": wire_strategy(policy)})

    async def _check(self, fields: Dict[str, Any]) -> Dict[str, Any]:
        raw: Dict[str, Any] = await self.request(
            send_json("POST", "/v1/strategies/check", fields, again=True)
        )
        return raw


def _settings(given: Mapping[str, Any]) -> Dict[str, Any]:
    """Settings as the protocol names them; a strategy object as `policy` will do."""
    return {name: wire_strategy(value) if name == "policy" else value for name, value in given.items()}


class AsyncQueue:
    """One queue of the server."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self._client = client
        self.name = name

    def _path(self, *parts: str) -> str:
        from ..options import segment

        return "/".join((_QUEUES, segment(self.name), *parts))

    async def info(self) -> QueueInfo:
        return QueueInfo.of(await self._client.request(get(self._path())))

    async def pause(self) -> QueueInfo:
        """Nothing is handed out; submits and reports go on."""
        return await self._act("pause")

    async def resume(self) -> QueueInfo:
        return await self._act("resume")

    async def set(self, **settings: Any) -> QueueInfo:
        """Changes settings, named as in the protocol: policy, weights, dispatch, property_keys, worker_grace_ms, …"""
        fields = {"settings": _settings(settings)}
        return QueueInfo.of(await self._client.request(send_json("PATCH", self._path(), fields, again=True)))

    async def delete(self, *, force: bool = False) -> None:
        """Deletes it; with `force` with jobs that have not ended."""
        await self._client.request(send_json("DELETE", query(self._path(), force=force or None)))

    async def _act(self, action: str) -> QueueInfo:
        return QueueInfo.of(await self._client.request(send_json("POST", self._path(action), again=True)))


class AsyncQueues:
    """The server's queues: `client.queues["q"]`."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def __getitem__(self, name: str) -> AsyncQueue:
        return AsyncQueue(self._client, name)

    async def list(self) -> List[QueueInfo]:
        page = await self._client.request(get(_QUEUES))
        return [QueueInfo.of(raw) for raw in dig(page, "queues")]

    async def create(self, name: str, **settings: Any) -> QueueInfo:
        fields = {"name": name, "settings": _settings(settings)}
        return QueueInfo.of(await self._client.request(send_json("POST", _QUEUES, fields)))


class AsyncWorkers:
    """The workers of the client's queue."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def _path(self, *parts: str) -> str:
        return self._client._path("workers", *parts)

    async def list(self) -> List[WorkerInfo]:
        after: Optional[str] = None
        found: List[WorkerInfo] = []
        while True:
            page = await self._client.request(get(query(self._path(), after=after)))
            found += [WorkerInfo.of(raw) for raw in dig(page, "workers")]
            after = page.get("next")
            if after is None:
                return found

    async def get(self, id: str) -> WorkerInfo:
        return WorkerInfo.of(await self._client.request(get(self._path(id))))

    async def next(self, id: str, count: int = 10) -> Dict[str, Any]:
        """What it would get next, and why not the others."""
        raw: Dict[str, Any] = await self._client.request(get(query(self._path(id, "next"), count=count)))
        return raw

    async def drain(self, id: str) -> WorkerInfo:
        """Lets it finish what it holds, and go."""
        return WorkerInfo.of(
            await self._client.request(send_json("POST", self._path(id, "drain"), again=True))
        )

    async def set(self, id: str, **fields: Any) -> WorkerInfo:
        """Changes what it is: tags, properties, attributes, requirements, rank, strategy. None empties."""
        if "strategy" in fields:
            fields["strategy"] = wire_strategy(fields["strategy"])
        for name in ("requirements", "rank"):
            if name in fields:
                fields[name] = text_of(fields[name])
        return WorkerInfo.of(
            await self._client.request(send_json("PATCH", self._path(id), fields, again=True))
        )


class AsyncLimits:
    """Limits on starts in the client's queue. Each ends by itself unless it is renewed."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def _path(self, *parts: str) -> str:
        return self._client._path("limits", *parts)

    async def put(
        self,
        uuid: str,
        *,
        tag: str,
        expr: Union[Expr, str],
        count: float,
        window: Seconds,
        expires: Seconds,
        name: str = "",
        cost: Union[Expr, str, float, None] = None,
        burst: float = 0,
        max_burst_cost: float = 0,
        monitor: bool = False,
    ) -> Limit:
        """Sets a limit under an id of one's own: `count` starts in `window` seconds. To be repeated at will."""
        fields = {
            "tag": tag,
            "name": name,
            "expr": text_of(expr),
            "cost": text_of(cost),
            "count": count,
            "window_ms": milliseconds(window),
            "burst": burst,
            "max_burst_cost": max_burst_cost,
            "monitor": monitor,
            "expires_in_ms": milliseconds(expires),
        }
        return Limit.of(await self._client.request(send_json("PUT", self._path(uuid), fields, again=True)))

    async def renew(self, uuid: str, expires: Optional[Seconds] = None) -> Limit:
        """Lets it live on; without a time for as long as the last one."""
        fields = None if expires is None else {"expires_in_ms": milliseconds(expires)}
        return Limit.of(
            await self._client.request(send_json("POST", self._path(uuid, "renew"), fields, again=True))
        )

    async def delete(self, uuid: str) -> None:
        await self._client.request(send_json("DELETE", self._path(uuid)))

    async def get(self, uuid: str) -> Limit:
        return Limit.of(await self._client.request(get(self._path(uuid))))

    async def list(self, *, tag: Optional[str] = None) -> List[Limit]:
        page = await self._client.request(get(query(self._path(), tag=tag)))
        return [Limit.of(raw) for raw in dig(page, "limits")]

    async def history(self, uuid: str) -> Dict[str, Any]:
        """Its level, and what waited for it, over the last ten minutes."""
        raw: Dict[str, Any] = await self._client.request(get(self._path(uuid, "history")))
        return raw

    async def try_(
        self, expr: Union[Expr, str], cost: Union[Expr, str, float, None] = None
    ) -> Dict[str, Any]:
        """What such a limit would apply to. Nothing is changed."""
        fields = {"expr": text_of(expr), "cost": text_of(cost)}
        raw: Dict[str, Any] = await self._client.request(
            send_json("POST", self._path("try"), fields, again=True)
        )
        return raw
