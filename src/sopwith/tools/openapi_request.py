"""The request that a call of an OpenAPI operation is: arguments written as the document says they are.

Styles of parameters: OpenAPI 3.1, section 4.8.12.4; percent-encoding: RFC 3986.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import quote

from sopwith.errors import Text
from sopwith.ir.value import Json
from sopwith.tools.openapi_document import FORM, Operation, Parameter, is_json

_RESERVED = ":/?#[]@!$&'()*+,;="
_READS = ("GET", "HEAD", "OPTIONS", "TRACE")
_CONTROL = re.compile(r"\\[nrbf]|\\u00[01]|\x7f")
"""A control character in a JSON text; a tab may stand in a header."""
_BETWEEN = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


@dataclass(slots=True)
class Request:
    """What is sent. `url` has the path and the query of the operation after the base URL; `secret_query` is added to
    the query where nobody writes it down."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    cookies: dict[str, str] = field(default_factory=dict[str, str])
    content: bytes | None = None
    secret_query: str = ""


def misplaced(operation: Operation, arguments: dict[str, Json]) -> Text | None:
    """What cannot be written into a request, although its schema allows it, if anything."""
    for parameter in operation.parameters:
        value = arguments.get(parameter.argument)
        where = f"$.{parameter.argument}"
        if parameter.place == "path" and value in (None, "", [], {}):
            return Text(
                f"{where}: it stands in a path and cannot be empty", f"{where}：它是路径的一部分，不能为空"
            )
        if parameter.place == "query" and operation.method not in _READS and value in ([], {}):
            return Text(
                f"{where}: it is empty, and would be missing from the request",
                f"{where}：内容为空，请求中将没有这一项",
            )
        written = json.dumps(value, ensure_ascii=False)
        if parameter.place in ("header", "cookie") and _CONTROL.search(written):
            return Text(f"{where}: a header holds one line", f"{where}：请求头只能有一行")
    if any(part in (".", "..") for part in _path(operation, arguments).split("/")):
        return Text("$: . and .. would lead to another path", "$：. 和 .. 会指向别的路径")
    return None


def request_of(operation: Operation, base: str, arguments: dict[str, Json], key: str) -> Request:
    """The request for `arguments`, which fit the operation; `key` is the idempotency key."""
    query: list[str] = []
    made = Request(operation.method, "")
    for parameter in operation.parameters:
        value = arguments.get(parameter.argument)
        if value is None:
            continue
        match parameter.place:
            case "path":
                pass
            case "query":
                query += _in_query(parameter, value)
            case "header":
                made.headers[parameter.name] = _joined(parameter, value, str)
            case "cookie":
                made.cookies[parameter.name] = _joined(parameter, value, _quoted)
    if operation.key_header is not None:
        made.headers[operation.key_header] = key
    body = operation.body
    if body is not None and body.argument in arguments:
        made.headers["Content-Type"] = body.media_type
        made.content = _written(body.media_type, arguments[body.argument])
    made.url = base + _path(operation, arguments) + ("?" + "&".join(query) if query else "")
    return made


def _written(media_type: str, value: Json) -> bytes:
    if is_json(media_type):
        return json.dumps(value, ensure_ascii=False).encode()
    if media_type == FORM and isinstance(value, dict):
        fields = cast("dict[str, Json]", value)
        pairs = (
            f"{_quoted(name)}={_quoted(_plain(each))}"
            for name, item in fields.items()
            for each in (cast("list[Json]", item) if isinstance(item, list) else [item])
            if each is not None
        )
        return "&".join(pairs).encode()
    return _plain(value).encode()


def _path(operation: Operation, arguments: dict[str, Json]) -> str:
    path = operation.path
    for parameter in operation.parameters:
        if parameter.place == "path":
            written = _in_path(parameter, arguments[parameter.argument])
            path = path.replace(f"{{{parameter.name}}}", written)
    return path


def _in_path(parameter: Parameter, value: Json) -> str:
    match parameter.style:
        case "label":
            between = "." if parameter.explode else ","
            return "." + _joined(parameter, value, _quoted, between)
        case "matrix" if parameter.explode and isinstance(value, list | dict):
            return "".join(
                f";{pair}" for pair in _pairs(parameter.name, cast("dict[str, Json]", value), _quoted)
            )
        case "matrix":
            return f";{_quoted(parameter.name)}={_joined(parameter, value, _quoted)}"
        case _:
            return _joined(parameter, value, _quoted)


def _in_query(parameter: Parameter, value: Json) -> Iterator[str]:
    def encode(text: str) -> str:
        return quote(text, safe=_RESERVED.translate(_SPLITS)) if parameter.reserved else _quoted(text)

    name = _quoted(parameter.name)
    if parameter.as_json or not isinstance(value, list | dict):
        yield f"{name}={encode(_text(parameter, value))}"
    elif parameter.style == "deepObject" and isinstance(value, dict):
        for key, item in cast("dict[str, Json]", value).items():
            yield f"{name}%5B{_quoted(key)}%5D={encode(_plain(item))}"
    elif parameter.explode:
        yield from _pairs(parameter.name, cast("dict[str, Json]", value), encode)
    else:
        yield f"{name}={_joined(parameter, value, encode, _BETWEEN.get(parameter.style, ','))}"


def _pairs(name: str, value: list[Json] | dict[str, Json], encode: Callable[[str], str]) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{_quoted(key)}={encode(_plain(item))}" for key, item in value.items())
    else:
        yield from (f"{_quoted(name)}={encode(_plain(item))}" for item in value)


def _joined(parameter: Parameter, value: Json, encode: Callable[[str], str], between: str = ",") -> str:
    """A value in one piece: items with commas, an object as `k,v` or, exploded, `k=v`."""
    if parameter.as_json or not isinstance(value, list | dict):
        return encode(_text(parameter, value))
    if isinstance(value, list):
        return between.join(encode(_plain(item)) for item in cast("list[Json]", value))
    members = cast("dict[str, Json]", value).items()
    sign = "=" if parameter.explode else between
    return between.join(f"{encode(key)}{sign}{encode(_plain(item))}" for key, item in members)


def _text(parameter: Parameter, value: Json) -> str:
    return json.dumps(value, ensure_ascii=False) if parameter.as_json else _plain(value)


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _quoted(text: str) -> str:
    return quote(text, safe="")


_SPLITS = str.maketrans("", "", "&=#+")
"""Characters that would end a value in a query, also where reserved ones may stay."""
