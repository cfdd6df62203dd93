# SPDX-License-Identifier: Apache-2.0
"""WebSocket (RFC 6455) of a client, without I/O: text messages to frames, bytes to messages."""

from __future__ import annotations

import base64
import hashlib
import os
import struct
from typing import Deque, Iterator, List, Optional, Tuple

from ..errors import Unavailable
from ..options import Options
from .http import Answer

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
MAX_MESSAGE = 16 << 20
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def upgrade(target: str, options: Options) -> Tuple[bytes, str]:
    """The request that opens a WebSocket, and what the server has to answer it with."""
    key = base64.b64encode(os.urandom(16))
    lines = [
        f"GET {target} HTTP/1.1",
        f"Host: {options.endpoint.authority}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key.decode('ascii')}",
        "Sec-WebSocket-Version: 13",
    ]
    if options.token:
        lines.append(f"Authorization: Bearer {options.token}")
    accept = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode("ascii")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii"), accept


def check_upgrade(answer: Answer, accept: str) -> None:
    if answer.status != 101 or answer.fields.get("sec-websocket-accept") != accept:
        raise Unavailable("the answer is not a WebSocket: is that address Allotter's?")


def _masked(data: bytes, mask: bytes) -> bytes:
    size = len(data)
    pad = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "little") ^ int.from_bytes(pad, "little")).to_bytes(size, "little")


def frame(data: bytes, opcode: int = TEXT) -> bytes:
    """One frame, masked as a client's have to be."""
    size = len(data)
    mask = os.urandom(4)
    if size < 126:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", 0x80 | opcode, 0xFE, size)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 0xFF, size)
    return head + mask + _masked(data, mask)


class FrameReader:
    """Takes bytes as they come; `frames` gives (opcode, data) of whole messages and control frames."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._message: Optional[bytearray] = None
        self._opcode = 0

    def feed(self, data: bytes) -> None:
        self._data += data

    def frames(self) -> Iterator[Tuple[int, bytes]]:
        at = 0
        data = self._data
        try:
            while len(data) - at >= 2:
                first, second = data[at], data[at + 1]
                size, start = second & 0x7F, at + 2
                if second & 0x80 or first & 0x70:
                    raise Unavailable("the server sent a frame that no server may send")
                if size == 126:
                    if len(data) - at < 4:
                        return
                    size, start = int.from_bytes(data[at + 2 : at + 4], "big"), at + 4
                elif size == 127:
                    if len(data) - at < 10:
                        return
                    size, start = int.from_bytes(data[at + 2 : at + 10], "big"), at + 10
                if size > MAX_MESSAGE:
                    raise Unavailable("the server sent a message over its bound")
                if len(data) - start < size:
                    return
                body = bytes(data[start : start + size])
                at = start + size
                opcode = first & 0x0F
                if opcode >= 8:
                    yield opcode, body
                    continue
                if opcode:
                    if first & 0x80:
                        yield opcode, body
                        continue
                    self._opcode, self._message = opcode, bytearray(body)
                    continue
                if self._message is None:
                    raise Unavailable("the server went on with a message that it did not begin")
                self._message += body
                if len(self._message) > MAX_MESSAGE:
                    raise Unavailable("the server sent a message over its bound")
                if first & 0x80:
                    whole, self._message = bytes(self._message), None
                    yield self._opcode, whole
        finally:
            del data[:at]


def heard(reader: FrameReader, texts: Deque[bytes]) -> List[bytes]:
    """Takes what has come: messages into `texts`. What is to be answered. Raises Unavailable at the end."""
    answers: List[bytes] = []
    for opcode, body in reader.frames():
        if opcode == TEXT:
            texts.append(body)
        elif opcode == PING:
            answers.append(frame(body, PONG))
        elif opcode == CLOSE:
            why = body[2:].decode("utf-8", "replace")
            if texts:
                break  # first what it had to say
            raise Unavailable(f"the server closed the connection ({close_code(body)} {why})")
    return answers


def close_code(body: bytes) -> int:
    return int.from_bytes(body[:2], "big") if len(body) >= 2 else 1005
