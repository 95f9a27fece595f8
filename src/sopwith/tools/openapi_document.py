"""An OpenAPI 3.0 or 3.1 document, read: what can be called there, and how."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urljoin, urlsplit

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import YAMLError

from sopwith.errors import Text, ToolSourceError, UserError
from sopwith.ir.coerce import resolve
from sopwith.ir.os_reason import os_reason
from sopwith.ir.tool import LONGEST_ABOUT
from sopwith.ir.value import Json, storable
from sopwith.tools.openapi_schema import SchemaReader

METHODS = ("get", "head", "put", "post", "patch", "delete", "options", "trace")
PLACES = ("path", "query", "header", "cookie")
KEY_HEADER = "idempotency-key"
EFFECT = "x-sopwith-effect"
_NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})
_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
_VERSION = re.compile(r"3\.([01])\.\d+")
_NOT_NAME = re.compile(r"[^\w.-]+")
_DESCRIBE = Text(
    "Give an OpenAPI 3.0 or 3.1 document, YAML or JSON.", "请给出 OpenAPI 3.0 或 3.1 文档（YAML 或 JSON）。"
)

Place = Literal["path", "query", "header", "cookie"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: the `argument` that gives it, and how it is written. `as_json`: as a JSON text."""

    argument: str
    name: str
    place: Place
    schema: Json
    required: bool
    style: str
    explode: bool
    reserved: bool = False
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """The body of a request: the `argument` that gives it, its media type and schema."""

    argument: str
    media_type: str
    schema: Json
    required: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `security` are alternatives, each with the names of the schemes that it takes together.

    `key_header` is the header by which it takes an idempotency key; `server` is set where it has one of its own.
    """

    name: str
    method: str
    path: str
    description: str
    parameters: tuple[Parameter, ...]
    body: Sent | None
    results: tuple[Json, ...] | None
    security: tuple[tuple[str, ...], ...]
    effect: str | None
    key_header: str | None
    server: str | None


def parse_document(text: str, where: str) -> dict[str, Json]:
    """The document in `text`, YAML or JSON. Raises `ToolSourceError` for what is not OpenAPI 3.0 or 3.1."""
    try:
        content = json.loads(text) if text.lstrip()[:1] == "{" else _yaml(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(where, error) from error
    if isinstance(content, dict) and "swagger" in content:
        raise ToolSourceError(
            Text(f"{where} is Swagger {content['swagger']}", f"{where} 是 Swagger {content['swagger']}"),
            Text("Convert it to OpenAPI 3, for example with swagger2openapi.", "请先转换为 OpenAPI 3。"),
        )
    document = cast("dict[str, Json]", content) if isinstance(content, dict) else {}
    if not _VERSION.fullmatch(str(document.get("openapi"))):
        raise ToolSourceError(
            Text(f"{where} is not an OpenAPI 3.0 or 3.1 document", f"{where} 不是 OpenAPI 3.0 或 3.1 文档"),
            _DESCRIBE,
        )
    return cast("dict[str, Json]", storable(document))


def read_document(path: Path) -> dict[str, Json]:
    """The document in the file at `path`. Raises `ToolSourceError`."""
    try:
        return parse_document(path.read_text(encoding="utf-8-sig"), str(path))
    except OSError as error:
        raise ToolSourceError(
            Text(f"{path} cannot be read: {os_reason(error).en}", f"无法读取 {path}：{os_reason(error).zh}"),
            _DESCRIBE,
        ) from error
    except UnicodeDecodeError as error:
        raise ToolSourceError(Text(f"{path} is not UTF-8", f"{path} 不是 UTF-8 编码"), _DESCRIBE) from error


class _Plain(SafeConstructor):
    """Dates stay text, as JSON has them."""


def _as_text(_: Any, node: Any) -> str:
    return node.value


cast("Any", _Plain).add_constructor("tag:yaml.org,2002:timestamp", _as_text)


def _yaml(text: str) -> Any:
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Constructor = _Plain
    try:
        return _texts(yaml.load(text))
    except YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def _texts(value: Any) -> Any:
    """`value` with keys that are text: `200:` is one in JSON."""
    if isinstance(value, dict):
        return {str(key): _texts(item) for key, item in cast("dict[Any, Any]", value).items()}
    return [_texts(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def _unreadable(where: str, error: Exception) -> ToolSourceError:
    return ToolSourceError(
        Text(f"{where} cannot be read: {error}", f"无法读取 {where}：{error}"),
        _DESCRIBE,
    )


class Document:
    """What one document says. `location` is its URL, where it has one: servers may be relative to it."""

    def __init__(self, content: Mapping[str, Json], location: str | None = None) -> None:
        self.content = dict(content)
        self.location = location
        self.schemas = SchemaReader(self.content, old=str(content["openapi"]).startswith("3.0"))

    @property
    def about(self) -> str:
        """Title and description of the API."""
        info = _map(self.content.get("info"))
        said = (str(info[part]).strip() for part in ("title", "description") if info.get(part))
        return "\n".join(said)[:LONGEST_ABOUT]

    def server(self) -> str | None:
        """The base URL of the first server, or None where the document names none that is whole."""
        return self._server(self.content)

    def scheme(self, name: str) -> Mapping[str, Json]:
        """The security scheme `name`, empty where there is none."""
        schemes = _map(_map(self.content.get("components")).get("securitySchemes"))
        return self._found(schemes.get(name))

    def operations(self, problems: list[tuple[str, UserError]]) -> list[Operation]:
        """All operations in the order of the document; those that cannot be called are told in `problems`."""
        entries = list(self._entries(problems))
        ids = [_identifier(operation.get("operationId")) for _, _, _, operation in entries]
        found: list[Operation] = []
        for (path, method, item, operation), own in zip(entries, ids, strict=True):
            name = own if own and ids.count(own) == 1 else _identifier(f"{method}{path}")
            if any(name == other.name for other in found):
                problems.append((name, UserError(Text("listed twice", "重复列出"), code="SW433")))
                continue
            try:
                found.append(self._operation(name, path, method, item, operation))
            except UserError as error:
                problems.append((name, error))
        return found

    def _entries(
        self, problems: list[tuple[str, UserError]]
    ) -> Iterator[tuple[str, str, Mapping[str, Json], Mapping[str, Json]]]:
        for path, value in _map(self.content.get("paths")).items():
            if path.startswith("x-"):
                continue
            try:
                item = self._found(value)
                _hold_to_path(path)
            except UserError as error:
                problems.append((_identifier(path) or path, error))
                continue
            for method in METHODS:
                if isinstance(item.get(method), dict):
                    yield path, method, item, _map(item[method])

    def _operation(
        self, name: str, path: str, method: str, item: Mapping[str, Json], operation: Mapping[str, Json]
    ) -> Operation:
        listed: dict[tuple[str, str], Mapping[str, Json]] = {}
        for each in (*_list(item.get("parameters")), *_list(operation.get("parameters"))):
            parameter = self._found(each)
            listed[str(parameter.get("in")), str(parameter.get("name"))] = parameter
        key = next((n for (place, n) in listed if place == "header" and n.lower() == KEY_HEADER), None)
        parameters = self._parameters(
            [p for (place, n), p in listed.items() if not (place == "header" and n == key)]
        )
        words = [str(operation[part]).strip() for part in ("summary", "description") if operation.get(part)]
        security = operation.get("security", self.content.get("security"))
        return Operation(
            name=name,
            method=method.upper(),
            path=path,
            description="\n".join(dict.fromkeys(words)),
            parameters=parameters,
            body=self._body(operation.get("requestBody"), {p.argument for p in parameters}),
            results=None if method == "head" else self._results(_map(operation.get("responses"))),
            security=tuple(tuple(_map(each)) for each in _list(security)),
            effect=None if EFFECT not in operation else str(operation[EFFECT]),
            key_header=key,
            server=self._server(operation) or self._server(item),
        )

    def _parameters(self, listed: Sequence[Mapping[str, Json]]) -> tuple[Parameter, ...]:
        found: list[Parameter] = []
        taken: set[str] = set()
        for place in PLACES:
            for each in listed:
                if each.get("in") != place:
                    continue
                name = str(each.get("name"))
                if place == "header" and name.lower() in _NOT_PARAMETERS:
                    continue
                argument = name if name not in taken else f"{place}_{name}"
                taken.add(argument)
                found.append(self._parameter(each, argument, name, place))
        return tuple(found)

    def _parameter(self, each: Mapping[str, Json], argument: str, name: str, place: Place) -> Parameter:
        content = _map(each.get("content"))
        schema = _map(next(iter(content.values()), None)).get("schema") if content else each.get("schema")
        told: dict[str, Json] = dict(_map(schema))
        if "description" not in told and each.get("description"):
            told["description"] = each["description"]
        if "example" in each and not {"example", "examples", "$ref"} & told.keys():
            told["examples"] = [each["example"]]
        style = str(each.get("style", _STYLES[place]))
        return Parameter(
            argument=argument,
            name=name,
            place=place,
            schema=told,
            required=place == "path" or each.get("required") is True,
            style=style,
            explode=bool(each.get("explode", style == "form")),
            reserved=each.get("allowReserved") is True,
            as_json=bool(content),
        )

    def _body(self, value: Json, taken: set[str]) -> Sent | None:
        body = self._found(value)
        content = _map(body.get("content"))
        if not content:
            return None
        kinds = {_media_type(kind): kind for kind in content}
        wanted = next((kind for kind in kinds if is_json(kind)), None)
        wanted = wanted or next((k for k in kinds if k in (FORM, "text/plain", "*/*")), None)
        if wanted is None:
            listed = ", ".join(kinds)
            raise UserError(
                Text(f"it sends {listed}, which is not supported", f"它发送 {listed}，不支持该类型"),
                code="SW434",
            )
        media_type = "application/json" if "*" in wanted else wanted
        schema = _map(content[kinds[wanted]]).get("schema", {})
        if body.get("description") and "description" not in _map(schema):
            schema = {**_map(schema), "description": body["description"]}
        argument = "body" if "body" not in taken else "request_body"
        return Sent(argument, media_type, schema, body.get("required") is True)

    def _results(self, responses: Mapping[str, Json]) -> tuple[Json, ...] | None:
        """The schemas of what may come back where all goes well, None where one of them is not told."""
        found: list[Json] = []
        for status, value in responses.items():
            if not status.startswith("2"):
                continue
            content = _map(self._found(value).get("content"))
            kinds = {_media_type(kind): kind for kind in content}
            kind = next((kind for kind in kinds if is_json(kind)), None)
            kind = kind or next((kind for kind in kinds if "*" in kind), None)
            if kind is None and content:
                schema: Json = {"type": "string"}
            elif kind is None:
                schema = {"type": "null"}
            else:
                schema = _map(content[kinds[kind]]).get("schema")
            if schema is None:
                return None
            if schema not in found:
                found.append(schema)
        return tuple(found) or None

    def _server(self, node: Mapping[str, Json]) -> str | None:
        for each in _list(node.get("servers")):
            server = _map(each)
            url = str(server.get("url", ""))
            for name, variable in _map(server.get("variables")).items():
                url = url.replace(f"{{{name}}}", str(_map(variable).get("default", "")))
            whole = urljoin(self.location, url) if self.location else url
            if urlsplit(whole).scheme in ("http", "https"):
                return whole.rstrip("/")
        return None

    def _found(self, value: Json) -> Mapping[str, Json]:
        """An object, or what its `$ref` points to."""
        node = _map(value)
        for _ in range(16):
            ref = node.get("$ref")
            if not isinstance(ref, str):
                return node
            target = resolve(self.content, ref)
            if not isinstance(target, dict):
                raise UserError(Text(f"$ref: there is no {ref} here", f"$ref：这里没有 {ref}"))
            node = {**cast("dict[str, Json]", target), **{k: v for k, v in node.items() if k != "$ref"}}
        raise UserError(Text("$ref goes in a circle", "$ref 形成循环"))


def _hold_to_path(path: str) -> None:
    if not path.startswith("/"):
        raise UserError(
            Text(f"the path {path} does not begin with /", f"路径 {path} 不以 / 开头"),
            Text("It would lead to another server.", "它会指向另一服务器。"),
            "SW434",
        )


FORM = "application/x-www-form-urlencoded"


def is_json(media_type: str) -> bool:
    """Whether a media type, without parameters, is JSON."""
    return media_type == "application/json" or media_type.endswith("+json")


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()


def _identifier(text: Json) -> str:
    return _NOT_NAME.sub("_", str(text).strip()).strip("_.") if isinstance(text, str) else ""


def _map(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return cast("list[Json]", value) if isinstance(value, list) else []
