# SPDX-License-Identifier: Apache-2.0
"""The connections of `net`, for asyncio: the same names, to be awaited."""

from __future__ import annotations

import asyncio
import collections
import ssl
import time
from typing import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Deque,
    Iterable,
    List,
    Optional,
    Tuple,
    TypeVar,
    Union,
)

from .errors import Unavailable, unreachable
from .options import Options
from .wire.http import LAST_CHUNK, Answer, AnswerParser, Heads, Request, chunk
from .wire.websocket import FrameReader, check_upgrade, frame, heard, upgrade

T = TypeVar("T")

_READ = 256 * 1024
_TRUSTED_IDLE = 1.0


# A server that is there pings more often.
_SILENCE = 60.0


class Listener:
    """A WebSocket on which the server tells what happens, message by message."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._frames = FrameReader()
        self._texts: Deque[bytes] = collections.deque()

    @classmethod
    async def open(cls, target: str, options: Options) -> Listener:
        reader, writer = await _streams(options)
        made = cls(reader, writer)
        try:
            request, accept = upgrade(target, options)
            writer.write(request)
            parser = AnswerParser()
            answer: Optional[Answer] = None
            while answer is None:
                data = await asyncio.wait_for(reader.read(_READ), options.timeout)
                answer = parser.feed(data) if data else parser.end()
            if answer.status != 101:
                answer.json()
            check_upgrade(answer, accept)
            made._frames.feed(parser.rest)
            return made
        except (OSError, asyncio.TimeoutError) as error:
            writer.close()
            raise Unavailable(f"the connection was lost: {error}") from error
        except BaseException:
            writer.close()
            raise

    async def say(self, text: str) -> None:
        await self._send(frame(text.encode("utf-8")))

    async def hear(self) -> bytes:
        """The next message. Raises Unavailable where none can come."""
        while not self._texts:
            for answer in heard(self._frames, self._texts):
                await self._send(answer)
            if self._texts:
                break
            try:
                data = await asyncio.wait_for(self._reader.read(_READ), _SILENCE)
            except (OSError, asyncio.TimeoutError) as error:
                raise Unavailable(f"the connection was lost: {error}") from error
            if not data:
                raise Unavailable("the server closed the connection")
            self._frames.feed(data)
        return self._texts.popleft()

    def close(self) -> None:
        self._writer.close()

    async def _send(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise Unavailable(f"the connection was lost: {error}") from error


async def _streams(options: Options) -> Tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    endpoint = options.endpoint
    context: Optional[ssl.SSLContext] = options.tls_context()
    try:
        return await asyncio.wait_for(
            asyncio.open_connection(endpoint.host, endpoint.port, ssl=context, limit=_READ),
            options.timeout,
        )
    except (OSError, asyncio.TimeoutError) as error:
        raise unreachable(endpoint.authority, error) from error


class Connection:
    """One connection, for one request at a time."""

    def __init__(self, options: Options, heads: Heads) -> None:
        self._options = options
        self._heads = heads
        self._reader: Optional[asyncio.StreamReader] = None
        self._writer: Optional[asyncio.StreamWriter] = None
        self._used_at = 0.0

    def close(self) -> None:
        writer, self._writer, self._reader = self._writer, None, None
        if writer is not None:
            writer.close()

    async def send(self, request: Request, timeout: Optional[float] = None) -> Answer:
        limit = self._options.timeout if timeout is None else timeout
        for fresh in (False, True):
            reused = await self._open(fresh)
            parser = AnswerParser(request.method == "HEAD")
            try:
                parts = _one(self._heads.head(request) + request.body)
                return await self._exchange(parts, parser, limit + request.wait)
            except Unavailable:
                # An idle connection may have ended without a word. Nothing came, so only that is assumed.
                if not reused or parser.begun or not request.again:
                    raise
        raise AssertionError

    async def send_pieces(
        self, request: Request, pieces: AsyncIterator[bytes], length: Optional[int]
    ) -> Answer:
        """A request with a body in pieces; its length may be unknown. An answer before its end is read at once."""
        await self._open(True)
        parser = AnswerParser()

        async def parts() -> AsyncIterator[bytes]:
            yield self._heads.head(request, chunked=length is None, length=length)
            async for piece in pieces:
                yield piece if length is not None else chunk(piece)
            if length is None:
                yield LAST_CHUNK

        return await self._exchange(parts(), parser, self._options.timeout + request.wait)

    async def _open(self, fresh: bool) -> bool:
        """Whether the connection had been used before."""
        stale = (
            time.monotonic() - self._used_at > _TRUSTED_IDLE
            and self._reader is not None
            and self._reader.at_eof()
        )
        if self._writer is not None and (fresh or stale or self._writer.is_closing()):
            self.close()
        if self._writer is not None:
            return True
        self._reader, self._writer = await _streams(self._options)
        return False

    async def _exchange(self, parts: AsyncIterator[bytes], parser: AnswerParser, timeout: float) -> Answer:
        reader, writer = self._reader, self._writer
        assert reader is not None and writer is not None
        whole = False
        reading: Optional[asyncio.Future[bytes]] = None
        try:
            answer: Optional[Answer] = None
            async for part in parts:
                if reading is None and not whole:
                    reading = asyncio.ensure_future(reader.read(_READ))
                writer.write(part)
                try:
                    await asyncio.wait_for(writer.drain(), timeout)
                except (ConnectionResetError, BrokenPipeError):
                    break  # it may have said why
                if reading is not None and reading.done():
                    break  # a refusal: no need to push on
            else:
                whole = True
            while answer is None:
                data = await asyncio.wait_for(reading if reading is not None else reader.read(_READ), timeout)
                reading = None
                answer = parser.feed(data) if data else parser.end()
            if whole and answer.keep_alive and not parser.rest:
                self._used_at = time.monotonic()
            else:
                self.close()
            return answer
        except asyncio.TimeoutError as error:
            self.close()
            raise Unavailable(f"the server did not answer within {timeout:g} s") from error
        except OSError as error:
            self.close()
            raise Unavailable(f"the connection was lost: {error}") from error
        except BaseException:
            self.close()
            raise
        finally:
            if reading is not None:
                reading.cancel()


async def _one(data: bytes) -> AsyncIterator[bytes]:
    yield data


class Pool:
    """Connections, each used by one task at a time."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._heads = Heads(options)
        self._idle: List[Connection] = []
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    async def use(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        if self._closed:
            raise RuntimeError("the client is closed")
        connection = self._idle.pop() if self._idle else Connection(self.options, self._heads)
        try:
            return await work(connection)
        finally:
            if self._closed:
                connection.close()
            else:
                self._idle.append(connection)

    async def send(self, request: Request, timeout: Optional[float] = None) -> Answer:
        return await self.use(lambda connection: connection.send(request, timeout))

    async def send_pieces(
        self, request: Request, pieces: AsyncIterator[bytes], length: Optional[int]
    ) -> Answer:
        return await self.use(lambda connection: connection.send_pieces(request, pieces, length))


async def _plain(items: Iterable[T]) -> AsyncIterator[T]:
    for count, item in enumerate(items):
        if count % 256 == 255:
            await asyncio.sleep(0)  # others have their turn
        yield item


def each(items: Union[Iterable[T], AsyncIterable[T]]) -> AsyncIterator[T]:
    if hasattr(items, "__aiter__"):
        return items.__aiter__()
    return _plain(items)


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)
