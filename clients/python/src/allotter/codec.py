# SPDX-License-Identifier: Apache-2.0
"""Values to JSON and back: JSON as it is, and bytes as `{"$base64": …}`.

A codec of one's own has `encode(value)`, which gives what JSON can say, and `decode(value)`, its reverse.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Callable, Dict, List, Optional, Protocol, Sequence

_BYTES = "$base64"
_CHUNK = "$chunk"


class Codec(Protocol):
    def encode(self, value: Any) -> Any:
        """What JSON can say (bytes included) for a value."""

    def decode(self, value: Any) -> Any:
        """The value that `encode` was given."""


def _default(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {_BYTES: base64.b64encode(value).decode("ascii")}
    raise TypeError(
        f"a value of type {type(value).__name__} is not JSON: pass what JSON has, or a codec of your own"
    )


def _hook(found: Dict[str, Any]) -> Any:
    if len(found) == 1:
        text = found.get(_BYTES)
        if isinstance(text, str):
            try:
                return base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                return found
    return found


# A text as JSON, in ASCII.
quote: Callable[[str], str] = vars(json.encoder)["encode_basestring_ascii"]

_encoder = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_default)


def dumps(value: Any) -> str:
    """Compact JSON. ValueError for what is not finite, TypeError for what JSON does not have."""
    kind = type(value)
    if kind is int:
        return int.__repr__(value)
    return _encoder.encode(value)


def loads(text: Any) -> Any:
    """The value of a JSON text; what stands for bytes is bytes."""
    return json.loads(text, object_hook=_hook) if _has_bytes(text) else json.loads(text)


def _has_bytes(text: Any) -> bool:
    return (b'"$base64"' if isinstance(text, (bytes, bytearray)) else '"$base64"') in text


def encode_item(value: Any, codec: Optional[Codec]) -> str:
    return dumps(value if codec is None else codec.encode(value))


def encode_chunk(values: Sequence[Any], codec: Optional[Codec]) -> str:
    """The payload, or result, of a task of several items. It describes itself: `{"$chunk": [item, …]}`."""
    items = values if codec is None else [codec.encode(value) for value in values]
    return _encoder.encode({_CHUNK: items})


def chunk_of(value: Any) -> Optional[List[Any]]:
    """The items of a chunk, not yet decoded; None: the value is one item."""
    if type(value) is dict and len(value) == 1:
        items = value.get(_CHUNK)
        if type(items) is list:
            return items
    return None


def decode_items(items: List[Any], codec: Optional[Codec]) -> List[Any]:
    return items if codec is None else [codec.decode(item) for item in items]


def decode_item(value: Any, codec: Optional[Codec]) -> Any:
    return value if codec is None else codec.decode(value)


_MOST_PROGRESS = 1e15
_NOTE_BYTES = 128


def plain_progress(progress: Dict[str, Any]) -> Dict[str, Any]:
    """How far a task is, as the server takes it: one bad number must not cost the message that it is in."""
    plain: Dict[str, Any] = {}
    for name in ("done", "of"):
        number = progress.get(name)
        if isinstance(number, (int, float)):
            plain[name] = min(max(0, number), _MOST_PROGRESS) if number == number else 0
    plain.setdefault("done", 0)
    note = "".join(c if c.isprintable() else " " for c in str(progress.get("note", "")))
    cut = note.encode("utf-8", "ignore")[:_NOTE_BYTES].decode("utf-8", "ignore")
    if cut:
        plain["note"] = cut
    return plain
