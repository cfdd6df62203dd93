# SPDX-License-Identifier: Apache-2.0
"""Where the server is, and as whom to speak to it: arguments first, then the environment, as `allot` does."""

from __future__ import annotations

import functools
import os
import re
import ssl
from dataclasses import dataclass, field
from typing import Optional
from urllib.parse import quote

from .errors import Error

DEFAULT_SERVER = "http://127.0.0.1:7420"

_HOST = re.compile(r"[A-Za-z0-9._:%-]{1,255}\Z")
_TOKEN = re.compile(r"[\x21-\x7e]{1,1024}\Z")


@dataclass(frozen=True)
class Endpoint:
    host: str
    port: int
    tls: bool
    authority: str  # for `Host`: as it was written


def parse_server(url: str) -> Endpoint:
    """`http://host:port`, `https://host`, `host:port`; nothing after it but a slash. ValueError otherwise."""

    def bad(why: str) -> ValueError:
        return ValueError(
            f"the server's address `{url}` {why}: it looks like http://127.0.0.1:7420 or https://queue.example.org"
        )

    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "http", url
    if scheme not in ("http", "https"):
        raise bad("is neither http:// nor https://")
    rest = rest[:-1] if rest.endswith("/") else rest
    authority = rest
    if rest.startswith("["):
        host, close, port = rest[1:].partition("]")
        if not close or (port and not port.startswith(":")):
            raise bad("has no valid host")
        port = port[1:]
    else:
        host, _, port = rest.partition(":")
    if not _HOST.match(host):
        raise bad("has no valid host")
    if not port:
        number = 443 if scheme == "https" else 80
    elif port.isdigit() and 0 < int(port) < 65536:
        number = int(port)
    else:
        raise bad("has no valid port")
    return Endpoint(host, number, scheme == "https", authority)


def _token_in(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            words = file.read(4096).split()
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"cannot read a token from `{path}`: {error}") from error
    if not words:
        raise Error(f"there is no token in `{path}`: it holds the text of `allot token create`")
    return words[0]


@dataclass(frozen=True)
class Options:
    """All that a connection needs. Make it with `connection_options`."""

    endpoint: Endpoint
    queue: str = "default"
    token: str = field(default="", repr=False)
    ca_file: str = ""
    timeout: float = 30.0  # to connect, and for each answer beyond what the request itself waits
    patience: float = 60.0  # for how long what may be repeated is

    def tls_context(self) -> Optional[ssl.SSLContext]:
        return _trusting(self.ca_file) if self.endpoint.tls else None

    def path(self, *parts: str) -> str:
        return "/v1/queues/" + "/".join(segment(part) for part in (self.queue, *parts))


@functools.lru_cache(maxsize=8)
def _trusting(ca_file: str) -> ssl.SSLContext:
    """Reading the system's authorities takes longer than a handshake: once is enough."""
    return ssl.create_default_context(cafile=ca_file or None)


def segment(text: str) -> str:
    """A part of a path, percent-encoded. A path of `.` or `..` would be taken for a folder."""
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe="~")


def connection_options(
    server: Optional[str] = None,
    queue: Optional[str] = None,
    token: Optional[str] = None,
    token_file: Optional[str] = None,
    ca_file: Optional[str] = None,
    timeout: float = 30.0,
    patience: float = 60.0,
) -> Options:
    env = os.environ.get
    if not token:
        # A file that is named goes before the environment's token.
        if not token_file and not env("ALLOT_TOKEN"):
            token_file = env("ALLOT_TOKEN_FILE")
        token = _token_in(token_file) if token_file else env("ALLOT_TOKEN", "")
    if token and not _TOKEN.match(token):
        raise ValueError(
            "the token holds characters that no token has: take the text of `allot token create`"
        )
    queue = queue or env("ALLOT_QUEUE") or "default"
    if len(queue.encode()) > 128:
        raise ValueError("the queue's name is too long")
    return Options(
        endpoint=parse_server(server or env("ALLOT_SERVER") or DEFAULT_SERVER),
        queue=queue,
        token=token,
        ca_file=ca_file or env("ALLOT_CA_FILE") or "",
        timeout=timeout,
        patience=patience,
    )
