"""JSON values: what may be stored, their canonical bytes and their hashes."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from sopwith.errors import Text, ValueRefused

_SURROGATE = re.compile("[\ud800-\udfff]")

_CANONICAL = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
).encode

Json = Any
"""None, bool, int, float, str, list of Json, or dict from str to Json."""


def canonical(value: Json) -> bytes:
    """The canonical bytes of `value`: sorted keys, no spaces, UTF-8. For hashes and keys, never for prompts."""
    return _CANONICAL(value).encode()


def digest(data: bytes) -> str:
    """SHA-256 of `data`, 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


DEPTH = 100
"""How deep lists and objects may nest. Readers of JSON stop at about 200."""


def storable(value: object, path: str = "$", depth: int = 0) -> Json:
    """`value` as plain JSON that survives a round trip, or `ValueRefused` with the path of the offender.

    Tuples become lists and mappings become dicts; lone surrogates in text become U+FFFD. NaN, infinite numbers,
    keys that are not text, bytes, other objects, and nesting beyond `DEPTH` are refused.
    """
    copy = plain_copy(value, depth)
    return _storable(value, path, depth) if copy is UNSURE else copy


UNSURE = object()
"""What `plain_copy` gives for all that is not plain JSON at a glance."""

_WIDEST = 1 << 64
_type_of: Callable[[object], Any] = type


def plain_copy(value: Any, depth: int = 0) -> Any:
    """A copy of `value` where it is plain JSON already, as almost everything is; else `UNSURE`."""
    kind = _type_of(value)
    if kind is str:
        return value if value.isascii() or _SURROGATE.search(value) is None else UNSURE
    if kind is bool or value is None:
        return value
    if kind is int:
        return value if -_WIDEST < value < _WIDEST else UNSURE
    if kind is float:
        return value if math.isfinite(value) else UNSURE
    if depth > DEPTH:
        return UNSURE
    if kind is dict:
        pairs: dict[str, Any] = {}
        for key, item in value.items():
            copy = plain_copy(item, depth + 1)
            if copy is UNSURE or type(key) is not str or not (key.isascii() or plain_copy(key) is key):
                return UNSURE
            pairs[key] = copy
        return pairs
    if kind is list:
        items: list[Any] = []
        for item in value:
            copy = plain_copy(item, depth + 1)
            if copy is UNSURE:
                return UNSURE
            items.append(copy)
        return items
    return UNSURE


def _storable(value: object, path: str, depth: int) -> Json:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise ValueRefused(path, Text(f"{value} is not a JSON number", f"{value} 不是 JSON 数字"))
    if depth > DEPTH:
        raise ValueRefused(path, Text(f"nested deeper than {DEPTH}", f"嵌套超过 {DEPTH} 层"))
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value)
        result: dict[str, Json] = {}
        for key, item in items.items():
            if not isinstance(key, str):
                raise ValueRefused(path, Text(f"the key {key!r} is not text", f"键 {key!r} 不是文本"))
            result[cast("str", _storable(key, path, depth))] = _storable(item, f"{path}.{key}", depth + 1)
        return result
    if isinstance(value, list | tuple):
        items = cast("list[object]", value)
        return [_storable(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(items)]
    kind = type(value).__name__
    raise ValueRefused(path, Text(f"a {kind} cannot be stored as JSON", f"{kind} 类型无法存为 JSON"))
