# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 without I/O: requests to bytes, bytes to answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional
from urllib.parse import quote

from ..errors import Unavailable, error_of
from ..options import Options

JSON = "application/json"
NDJSON = "application/x-ndjson"

MAX_HEAD = 64 * 1024
# A server never answers with more at once: a page of results is cut by bytes long before.
MAX_BODY = 1 << 30


@dataclass
class Request:
    method: str
    target: str
    body: bytes = b""
    kind: str = ""  # of the body; none: there is none
    wait: float = 0.0  # how long the server may take before it begins to answer
    # It may be sent again although it may have been worked off: it asks, or says again what it said.
    again: bool = False


def query(target: str, **values: Any) -> str:
    """The target with `?key=value&…` behind it, without what is None."""
    parts = []
    for key, value in values.items():
        if value is None:
            continue
        text = ("true" if value else "false") if isinstance(value, bool) else str(value)
        parts.append(f"{key}={quote(text, safe='~')}")
    return f"{target}?{'&'.join(parts)}" if parts else target


def get(target: str, wait: float = 0.0) -> Request:
    return Request("GET", target, wait=wait, again=True)


def send_json(method: str, target: str, value: Any = None, again: bool = False, wait: float = 0.0) -> Request:
    """A request with a JSON body; None: without one."""
    if value is None:
        return Request(method, target, again=again, wait=wait)
    body = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        return Request(method, target, body.encode("utf-8"), JSON, wait, again)
    except UnicodeEncodeError as error:
        raise ValueError(f"a text holds what is no character: {error}") from error


class Heads:
    """Makes the heads of requests; what stands in all of them is made once."""

    def __init__(self, options: Options) -> None:
        self._fixed = f"Host: {options.endpoint.authority}\r\n"
        if options.token:
            self._fixed += f"Authorization: Bearer {options.token}\r\n"

    def head(self, request: Request, chunked: bool = False, length: Optional[int] = None) -> bytes:
        lines = f"{request.method} {request.target} HTTP/1.1\r\n{self._fixed}"
        if request.kind:
            lines += f"Content-Type: {request.kind}\r\n"
        if chunked:
            lines += "Transfer-Encoding: chunked\r\n"
        elif request.kind or request.method != "GET":
            lines += f"Content-Length: {len(request.body) if length is None else length}\r\n"
        return (lines + "\r\n").encode("ascii")


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


LAST_CHUNK = b"0\r\n\r\n"


class Answer:
    """A status, header fields in lower case, and the body."""

    __slots__ = ("status", "fields", "body", "keep_alive")

    def __init__(self, status: int, fields: Mapping[str, str], body: bytes, keep_alive: bool) -> None:
        self.status = status
        self.fields = fields
        self.body = body
        self.keep_alive = keep_alive

    def json(self) -> Any:
        """The body's value. Raises what the server's error stands for."""
        try:
            value = json.loads(self.body) if self.body else None
        except ValueError:
            value = None
            if self.status < 400:
                raise Unavailable("the answer is not JSON: is that address Allotter's?") from None
        if self.status >= 400:
            raise error_of(self.status, value)
        return value


class AnswerParser:
    """Takes bytes as they come, and gives the answer once it is whole."""

    def __init__(self, head_only: bool = False) -> None:
        self._data = bytearray()
        self._head_only = head_only
        self._status = 0
        self._fields: Dict[str, str] = {}
        self._length: Optional[int] = None  # None: until the connection ends
        self._chunked = False
        self._keep_alive = True
        self._body = bytearray()
        self._in_body = False
        self._skip_tail = False
        self.begun = False

    def feed(self, data: bytes) -> Optional[Answer]:
        if data:
            self.begun = True
        self._data += data
        while not self._in_body:
            end = self._data.find(b"\r\n\r\n")
            if end < 0:
                if len(self._data) > MAX_HEAD:
                    raise _garbled("a head without an end")
                return None
            self._read_head(bytes(self._data[:end]))
            del self._data[: end + 4]
            if self._status == 100:
                continue
            self._in_body = True
        if self._head_only or self._status in (101, 204, 304):
            return self._whole(b"")
        if self._chunked:
            return self._whole(bytes(self._body)) if self._read_chunks() else None
        if self._length is None:
            return None
        if len(self._data) < self._length:
            return None
        body = bytes(self._data[: self._length])
        del self._data[: self._length]
        return self._whole(body)

    def end(self) -> Answer:
        """The connection ended."""
        if self._in_body and not self._chunked and self._length is None:
            self._keep_alive = False
            return self._whole(bytes(self._data))
        raise Unavailable("the server closed the connection before it had answered: is it stopping?")

    @property
    def rest(self) -> bytes:
        """What came behind the answer."""
        return bytes(self._data)

    def _whole(self, body: bytes) -> Answer:
        return Answer(self._status, self._fields, body, self._keep_alive)

    def _read_head(self, head: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        parts = lines[0].split(" ", 2)
        if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not parts[1].isdigit():
            raise _garbled("no status line")
        self._status = int(parts[1])
        self._fields = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise _garbled("a field without a colon")
            self._fields[name.lower()] = value.strip()
        self._keep_alive = self._fields.get("connection", "").lower() != "close" and parts[0] != "HTTP/1.0"
        self._chunked = self._fields.get("transfer-encoding", "").lower() == "chunked"
        length = self._fields.get("content-length")
        if length is not None:
            if not length.isdigit() or int(length) > MAX_BODY:
                raise _garbled("a length that is none")
            self._length = int(length)

    def _read_chunks(self) -> bool:
        while True:
            end = self._data.find(b"\r\n")
            if end < 0:
                return False
            if self._skip_tail:
                del self._data[: end + 2]
                if end == 0:
                    return True
                continue
            try:
                size = int(self._data[:end].split(b";")[0], 16)
            except ValueError:
                raise _garbled("a chunk without a size") from None
            if size == 0:
                self._skip_tail = True
                del self._data[: end + 2]
                continue
            if len(self._data) < end + 2 + size + 2:
                return False
            self._body += self._data[end + 2 : end + 2 + size]
            if len(self._body) > MAX_BODY:
                raise _garbled("a body without an end")
            del self._data[: end + 2 + size + 2]


def _garbled(why: str) -> Unavailable:
    return Unavailable(f"the answer is not HTTP as the server speaks it, {why}: is that address Allotter's?")
