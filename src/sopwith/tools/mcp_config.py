"""The `mcpServers` file that MCP clients share, read into sources of tools.

    {"mcpServers": {
        "files": {
            "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/docs"],
            "env": {"LOG": "${LOG:-info}"}, "cwd": ".",
            "effects": {"read_file": "read"}, "trust": ["annotations"]},
        "crm": {"url": "https://crm.example/mcp", "headers": {"Authorization": "Bearer ${CRM_TOKEN}"}}}}

`${NAME}` and `${NAME:-otherwise}` are read from the environment. `effects`, `trust`, `start_seconds`, `call_seconds`,
`idempotent`, `key_argument`, `reconcile`, `descriptions` and `value_threshold` are Sopwith's own; keys that it does not
know are left alone and reported in the source's `problems`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sopwith.errors import NO_HINT, Text, ToolSourceError, UserError
from sopwith.ir.os_reason import os_reason
from sopwith.ir.pydantic_problem import told
from sopwith.ir.tool import Effect
from sopwith.ir.value import Json
from sopwith.tools.mcp import McpSource
from sopwith.tools.mcp_lookup import Lookup, lookup

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_TYPES = (None, "stdio", "http", "streamable-http", "streamableHttp")
_TELLING = 6
"""A secret of fewer characters stands in too many words to be kept out of a message."""

_HINT = Text(
    'The file looks like {"mcpServers": {"files": {"command": "npx", "args": ["…"]}, "crm": {"url": "https://…"}}}.',
    '文件形如 {"mcpServers": {"files": {"command": "npx", "args": ["…"]}, "crm": {"url": "https://…"}}}。',
)


class _Lookup(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    tool: str
    happened: str
    value: str = "result"
    given: dict[str, Any] | None = Field(default=None, alias="with")


class _Entry(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)

    command: str | None = Field(default=None, min_length=1)
    url: str | None = Field(default=None, min_length=1)
    headers: dict[str, str] = Field(default_factory=dict)
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    type: str | None = None
    disabled: bool = False
    effects: dict[str, str] = Field(default_factory=dict)
    trust: list[Literal["annotations"]] = Field(default_factory=list)
    start_seconds: float = Field(default=30.0, gt=0)
    call_seconds: float | None = Field(default=None, gt=0)
    descriptions: dict[str, str] = Field(default_factory=dict)
    value_threshold: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    idempotent: list[str] = Field(default_factory=list)
    key_argument: str | None = None
    reconcile: dict[str, _Lookup] = Field(default_factory=dict)


def mcp_sources(path: str | Path) -> list[McpSource]:
    """A source for each server in the file at `path`, in its order; a relative `cwd` is relative to the file.

    Raises `ToolSourceError`, with the file and the server, for what cannot be used. No server is started.
    """
    file = Path(path)
    servers = _servers(file)
    found: list[McpSource] = []
    for name, value in servers.items():
        entry = _entry(file, name, value)
        if not entry.disabled:
            found.append(_source(file, name, entry))
    return found


def _servers(file: Path) -> dict[str, Json]:
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ToolSourceError(
            Text(f"{file} cannot be read: {os_reason(error).en}", f"无法读取 {file}：{os_reason(error).zh}"),
            _HINT,
        ) from error
    except json.JSONDecodeError as error:
        where = f"{file}:{error.lineno}:{error.colno}"
        raise ToolSourceError(
            Text(f"{where} is not JSON: {error.msg}", f"{where} 不是 JSON：{error.msg}"), _HINT
        ) from error
    except UnicodeDecodeError as error:
        raise ToolSourceError(Text(f"{file} is not UTF-8", f"{file} 不是 UTF-8 编码"), _HINT) from error
    servers = cast("dict[str, Json]", content).get("mcpServers") if isinstance(content, dict) else None
    if not isinstance(servers, dict):
        raise ToolSourceError(
            Text(f"{file} has no object mcpServers", f"{file} 中没有 mcpServers 对象"), _HINT
        )
    return cast("dict[str, Json]", servers)


def _entry(file: Path, name: str, value: Json) -> _Entry:
    try:
        entry = _Entry.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        if first["type"] == "missing":
            raise _refused(file, name, Text(f"{field} is missing", f"缺少 {field}")) from error
        said, hint = told(first, _Entry)
        at = Text(f"{field}: ", f"{field}：") if field else Text("", "")
        raise _refused(file, name, Text(f"{at.en}{said.en}", f"{at.zh}{said.zh}"), hint) from error
    for tool, effect in entry.effects.items():
        if effect not in tuple(Effect):
            why = Text(f"effects.{tool}: {effect!r} is unknown", f"effects.{tool}：未知的 {effect!r}")
            raise _refused(file, name, why)
    why = _misplaced(entry)
    if why is not None:
        raise _refused(file, name, why)
    return entry


def _misplaced(entry: _Entry) -> Text | None:
    """What contradicts itself in an entry: it is a command or an address, and nothing of the other."""
    if entry.type not in _TYPES:
        return Text(f"the type {entry.type} is not supported", f"不支持 {entry.type} 类型")
    if entry.command is None and entry.url is None:
        return Text("command is missing, or url", "缺少 command 或 url")
    if entry.url is None:
        if entry.type not in (None, "stdio"):
            return Text(f"the type {entry.type} wants a url", f"{entry.type} 类型需要 url")
        return Text("headers: there is no url", "headers：没有 url") if entry.headers else None
    if entry.type == "stdio":
        return Text("the type stdio wants a command", "stdio 类型需要 command")
    for key in ("command", "args", "env", "cwd"):
        if getattr(entry, key):
            why = f"{key}: a server with a url is not run"
            return Text(why, f"{key}：带 url 的服务器不会被运行")
    return None


def _source(file: Path, name: str, entry: _Entry) -> McpSource:
    secrets: set[str] = set()

    def expand(text: str) -> str:
        return _expand(file, name, text)

    def secret(text: str) -> str:
        """An expanded text whose references are to secrets; in an error they do not show."""
        secrets.update(_expand(file, name, one[0]) for one in _REFERENCE.finditer(text))
        return expand(text)

    url = None if entry.url is None else secret(entry.url)
    if url is not None and urlsplit(url).scheme not in ("http", "https"):
        raise _refused(file, name, Text("url: it is not http or https", "url：不是 http 或 https 地址"))
    source = McpSource(
        name,
        expand(entry.command or ""),
        [expand(argument) for argument in entry.args],
        {key: secret(value) for key, value in entry.env.items()},
        None if entry.cwd is None else str(file.parent / Path(expand(entry.cwd)).expanduser()),
        url=url,
        headers={key: secret(value) for key, value in entry.headers.items()},
        effects=entry.effects,
        trust=entry.trust,
        start_seconds=entry.start_seconds,
        call_seconds=entry.call_seconds,
        idempotent=entry.idempotent,
        key_argument=entry.key_argument,
        reconcile={tool: _lookup(file, name, tool, how) for tool, how in entry.reconcile.items()},
        descriptions=entry.descriptions,
        value_threshold=entry.value_threshold,
        secrets=[one for one in secrets if len(one) >= _TELLING],
    )
    source.notes = tuple(Text(f"{file}: {name}: {n.en}", f"{file}：{name}：{n.zh}") for n in _notes(entry))
    return source


def _notes(entry: _Entry) -> Iterator[Text]:
    """What is odd about an entry, and stops nothing."""
    for key in entry.model_extra or {}:
        yield Text(f"{key} is not used", f"{key} 未被使用")
    for key, value in entry.headers.items():
        if _is_secret(key) and not _REFERENCE.search(value):
            why = "a secret is written out: refer to the environment, ${NAME}"
            yield Text(
                f"headers.{key}: {why}", f"headers.{key}：明文写出了密钥，请改为引用环境变量 ${{NAME}}"
            )


def _is_secret(header: str) -> bool:
    return bool(re.search(r"(?i)authorization|cookie|token|secret|key", header))


def _lookup(file: Path, name: str, tool: str, how: _Lookup) -> Lookup:
    try:
        return lookup(how.tool, how.happened, how.value, how.given)
    except UserError as error:
        why = error.message
        raise _refused(
            file, name, Text(f"reconcile.{tool}: {why.en}", f"reconcile.{tool}：{why.zh}")
        ) from error


def _expand(file: Path, name: str, text: str) -> str:
    def value(match: re.Match[str]) -> str:
        otherwise: str | None = match[2]
        found = os.environ.get(match[1], otherwise)
        if found is None:
            raise ToolSourceError(
                Text(
                    f"{file}: {name}: the environment has no {match[1]}",
                    f"{file}：{name}：环境变量 {match[1]} 未设置",
                ),
                Text(
                    f"Set {match[1]}, or write ${{{match[1]}:-otherwise}}.",
                    f"请设置 {match[1]}，或写成 ${{{match[1]}:-默认值}}。",
                ),
            )
        return found

    return _REFERENCE.sub(value, text)


def _refused(file: Path, name: str, why: Text, hint: Text = NO_HINT) -> ToolSourceError:
    said = Text(f"{file}: {name}: {why.en}", f"{file}：{name}：{why.zh}")
    return ToolSourceError(said, hint if hint.en else _HINT)
