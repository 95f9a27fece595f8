"""The `mcpServers` file that MCP clients share, read into sources of tools.

    {"mcpServers": {"files": {
        "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/docs"],
        "env": {"LOG": "${LOG:-info}"}, "cwd": ".",
        "effects": {"read_file": "read"}, "trust": ["annotations"]}}}

`${NAME}` and `${NAME:-otherwise}` are read from the environment. `effects`, `trust`, `start_seconds`, `idempotent`,
`key_argument`, `reconcile` and `value_threshold` are Sopwith's own; keys that it does not know are left alone and
reported in the source's `problems`.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sopwith.errors import NO_HINT, Text, ToolSourceError, UserError
from sopwith.ir.os_reason import os_reason
from sopwith.ir.pydantic_problem import told
from sopwith.ir.tool import Effect
from sopwith.ir.value import Json
from sopwith.tools.mcp import McpSource
from sopwith.tools.mcp_lookup import Lookup, lookup

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_HINT = Text(
    'The file looks like {"mcpServers": {"files": {"command": "npx", "args": ["…"]}}}.',
    '文件形如 {"mcpServers": {"files": {"command": "npx", "args": ["…"]}}}。',
)


class _Lookup(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    tool: str
    happened: str
    value: str = "result"
    given: dict[str, Any] | None = Field(default=None, alias="with")


class _Entry(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)

    command: str = Field(min_length=1)
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    type: str = "stdio"
    disabled: bool = False
    effects: dict[str, str] = Field(default_factory=dict)
    trust: list[Literal["annotations"]] = Field(default_factory=list)
    start_seconds: float = Field(default=30.0, gt=0)
    idempotent: list[str] = Field(default_factory=list)
    key_argument: str | None = None
    reconcile: dict[str, _Lookup] = Field(default_factory=dict)
    value_threshold: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)


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
    if isinstance(value, dict) and "command" not in value and "url" in value:
        raise _refused(
            file,
            name,
            Text("only servers that are run as a command are supported", "目前只支持以命令方式运行的服务器"),
        )
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
    if entry.type != "stdio":
        why = Text(f"the type {entry.type} is not supported", f"不支持 {entry.type} 类型")
        raise _refused(file, name, why)
    return entry


def _source(file: Path, name: str, entry: _Entry) -> McpSource:
    def expand(text: str) -> str:
        return _expand(file, name, text)

    source = McpSource(
        name,
        expand(entry.command),
        [expand(argument) for argument in entry.args],
        {key: expand(value) for key, value in entry.env.items()},
        None if entry.cwd is None else str(file.parent / Path(expand(entry.cwd)).expanduser()),
        effects=entry.effects,
        trust=entry.trust,
        start_seconds=entry.start_seconds,
        idempotent=entry.idempotent,
        key_argument=entry.key_argument,
        reconcile={tool: _lookup(file, name, tool, how) for tool, how in entry.reconcile.items()},
        value_threshold=entry.value_threshold,
    )
    source.notes = tuple(
        Text(f"{file}: {name}: {key} is not used", f"{file}：{name}：{key} 未被使用")
        for key in entry.model_extra or {}
    )
    return source


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
