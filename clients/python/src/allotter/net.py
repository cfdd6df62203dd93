# SPDX-License-Identifier: Apache-2.0
"""Blocking connections. Ctrl-C ends every wait: a request that is left half-way takes its connection with it."""

from __future__ import annotations

import collections
import select
import socket
import ssl
import threading
import time
from typing import Callable, Deque, Iterable, Iterator, List, Optional, TypeVar

from .errors import Unavailable, unreachable
from .options import Options
from .wire.http import LAST_CHUNK, Answer, AnswerParser, Heads, Request, chunk
from .wire.websocket import FrameReader, check_upgrade, frame, heard, upgrade

T = TypeVar("T")

_READ = 256 * 1024
# A connection that was left alone for so long may have been closed by the server.
_TRUSTED_IDLE = 1.0


def connect(options: Options) -> socket.socket:
    """A connection to the server, with TLS where it has to be."""
    endpoint = options.endpoint
    try:
        plain = socket.create_connection((endpoint.host, endpoint.port), timeout=options.timeout)
    except OSError as error:
        raise unreachable(endpoint.authority, error) from error
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = options.tls_context()
        if context is None:
            return plain
        return context.wrap_socket(plain, server_hostname=endpoint.host)
    except (OSError, ssl.SSLError) as error:
        plain.close()
        raise Unavailable(f"no TLS with the server at {endpoint.authority}: {error}") from error
    except BaseException:
        plain.close()
        raise


def open_websocket(target: str, options: Options) -> tuple[socket.socket, bytes]:
    """A WebSocket's connection, and what already came over it. Raises what the server refuses it with."""
    sock = connect(options)
    try:
        request, accept = upgrade(target, options)
        sock.sendall(request)
        parser = AnswerParser()
        while True:
            answer = parser.feed(_read(sock))
            if answer is not None:
                break
        if answer.status != 101:
            answer.json()
        check_upgrade(answer, accept)
        return sock, parser.rest
    except OSError as error:
        sock.close()
        raise Unavailable(f"the connection was lost: {error}") from error
    except BaseException:
        sock.close()
        raise


def _read(sock: socket.socket) -> bytes:
    data = sock.recv(_READ)
    if not data:
        raise Unavailable("the server closed the connection before it had answered: is it stopping?")
    return data


# A server that is there pings more often.
_SILENCE = 60.0


class Listener:
    """A WebSocket on which the server tells what happens, message by message."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._frames = FrameReader()
        self._texts: Deque[bytes] = collections.deque()

    @classmethod
    def open(cls, target: str, options: Options) -> Listener:
        sock, rest = open_websocket(target, options)
        sock.settimeout(_SILENCE)
        made = cls(sock)
        made._frames.feed(rest)
        return made

    def say(self, text: str) -> None:
        self._send(frame(text.encode("utf-8")))

    def hear(self) -> bytes:
        """The next message. Raises Unavailable where none can come."""
        while not self._texts:
            for answer in heard(self._frames, self._texts):
                self._send(answer)
            if self._texts:
                break
            try:
                data = self._sock.recv(_READ)
            except OSError as error:
                raise Unavailable(f"the connection was lost: {error}") from error
            if not data:
                raise Unavailable("the server closed the connection")
            self._frames.feed(data)
        return self._texts.popleft()

    def close(self) -> None:
        self._sock.close()

    def _send(self, data: bytes) -> None:
        try:
            self._sock.sendall(data)
        except OSError as error:
            raise Unavailable(f"the connection was lost: {error}") from error


class Connection:
    """One connection, for one request at a time."""

    def __init__(self, options: Options, heads: Heads) -> None:
        self._options = options
        self._heads = heads
        self._sock: Optional[socket.socket] = None
        self._used_at = 0.0

    def close(self) -> None:
        sock, self._sock = self._sock, None
        if sock is not None:
            sock.close()

    def send(self, request: Request, timeout: Optional[float] = None) -> Answer:
        limit = self._options.timeout if timeout is None else timeout
        for fresh in (False, True):
            reused = self._open(fresh)
            parser = AnswerParser(request.method == "HEAD")
            try:
                return self._exchange(
                    [self._heads.head(request) + request.body], parser, limit + request.wait
                )
            except Unavailable:
                # An idle connection may have ended without a word. Nothing came, so only that is assumed.
                if not reused or parser.begun or not request.again:
                    raise
        raise AssertionError

    def send_pieces(self, request: Request, pieces: Iterable[bytes], length: Optional[int]) -> Answer:
        """A request with a body in pieces; its length may be unknown. An answer before its end is read at once."""
        self._open(True)
        parser = AnswerParser()

        def parts() -> Iterator[bytes]:
            yield self._heads.head(request, chunked=length is None, length=length)
            for piece in pieces:
                yield piece if length is not None else chunk(piece)
            if length is None:
                yield LAST_CHUNK

        return self._exchange(parts(), parser, self._options.timeout + request.wait)

    def _open(self, fresh: bool) -> bool:
        """Whether the connection had been used before."""
        now = time.monotonic()
        if self._sock is not None and (fresh or (now - self._used_at > _TRUSTED_IDLE and _ended(self._sock))):
            self.close()
        if self._sock is not None:
            return True
        self._sock = connect(self._options)
        return False

    def _exchange(self, parts: Iterable[bytes], parser: AnswerParser, timeout: float) -> Answer:
        sock = self._sock
        assert sock is not None
        whole, streams = False, not isinstance(parts, list)
        try:
            sock.settimeout(timeout)
            answer: Optional[Answer] = None
            data: Optional[bytes] = None  # of the answer
            for part in parts:
                try:
                    sock.sendall(part)
                    data = _came(sock) if streams else None
                except (ConnectionResetError, BrokenPipeError):
                    break  # it may have said why
                if data is not None:
                    break  # a refusal: no need to push on
            else:
                whole = True
            if data is not None:
                answer = parser.feed(data) if data else parser.end()
            while answer is None:
                data = sock.recv(_READ)
                answer = parser.feed(data) if data else parser.end()
            if whole and answer.keep_alive and not parser.rest:
                self._used_at = time.monotonic()
            else:
                self.close()
            return answer
        except socket.timeout as error:
            self.close()
            raise Unavailable(f"the server did not answer within {timeout:g} s") from error
        except OSError as error:
            self.close()
            raise Unavailable(f"the connection was lost: {error}") from error
        except BaseException:
            self.close()
            raise


def _came(sock: socket.socket) -> Optional[bytes]:
    """What has come already; None: nothing, `b""`: the end. Over TLS what is readable may be none of ours."""
    if isinstance(sock, ssl.SSLSocket):
        timeout = sock.gettimeout()
        sock.settimeout(0.0)
        try:
            return sock.recv(_READ)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None
        finally:
            sock.settimeout(timeout)
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return sock.recv(_READ) if poller.poll(0) else None


def _ended(sock: socket.socket) -> bool:
    try:
        return _came(sock) is not None
    except OSError:
        return True


class Pool:
    """Connections, each used by one thread at a time. Safe for threads, and for processes that were forked."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._heads = Heads(options)
        self._lock = threading.Lock()
        self._idle: List[Connection] = []
        self._closed = False
        self._generation = _Generation()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> Connection:
        with self._lock:
            if self._generation.changed():
                self._idle = []  # the parent's
            if self._closed:
                raise RuntimeError("the client is closed")
            return self._idle.pop() if self._idle else Connection(self.options, self._heads)

    def use(self, work: Callable[[Connection], T]) -> T:
        connection = self._take()
        try:
            return work(connection)
        finally:
            with self._lock:
                keep = not self._closed
                if keep:
                    self._idle.append(connection)
            if not keep:
                connection.close()

    def send(self, request: Request, timeout: Optional[float] = None) -> Answer:
        return self.use(lambda connection: connection.send(request, timeout))

    def send_pieces(self, request: Request, pieces: Iterable[bytes], length: Optional[int]) -> Answer:
        return self.use(lambda connection: connection.send_pieces(request, pieces, length))


class _Generation:
    """Tells after a fork."""

    def __init__(self) -> None:
        import os

        self._getpid = os.getpid
        self._pid = os.getpid()

    def changed(self) -> bool:
        pid = self._getpid()
        if pid == self._pid:
            return False
        self._pid = pid
        return True


def each(items: Iterable[T]) -> Iterator[T]:
    return iter(items)


def sleep(seconds: float) -> None:
    time.sleep(seconds)
