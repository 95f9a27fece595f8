"""Settings: from the command line, `SOPWITH_*`, `sopwith.toml` or `[tool.sopwith]`, and the user's own file.

The first of these that has a setting decides. A relative path in a file is relative to that file.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from sopwith.errors import NO_HINT, Text, UserError
from sopwith.find.selection import LIMITS, Limits
from sopwith.ir.os_reason import os_reason
from sopwith.ir.usage import SHOWN_TOKENS, VALUE_QUOTA, Budget, exact
from sopwith.log.head import is_url
from sopwith.models.profile import Profiles

FILE = "sopwith.toml"
RECORDED = "recorded:"
"""Before the id of a run whose calls stand in the place of tools."""
PREFIX = "SOPWITH_"
SIGNING_KEY = "audit.key"
"""The name of the file of the signing key, beside the user's own settings."""
OTHER_VARIABLES = frozenset(
    {
        "SOPWITH_LANG",
        "SOPWITH_DEBUG",
        "SOPWITH_MODEL_DIR",
        "SOPWITH_KEY",
        "SOPWITH_ALERT_KEY",
        "SOPWITH_AUDIT_KEY",
        "SOPWITH_BASE_URL",
        "SOPWITH_API_KEY",
        "SOPWITH_SERVE_TOKEN",
    }
)
"""Variables of the same prefix that are no settings."""

Kind = Literal[
    "text",
    "table",
    "profiles",
    "words",
    "path",
    "place",
    "paths",
    "sources",
    "tables",
    "count",
    "seconds",
    "money",
    "limits",
]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: the kind of its value, and what it is for."""

    kind: Kind
    meaning: Text


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        "model": Setting(
            "text",
            Text(
                "the model: local, openai:NAME, anthropic:NAME …",
                "模型：local、openai:NAME、anthropic:NAME 等",
            ),
        ),
        "models": Setting(
            "table",
            Text(
                'models of roles and names: judge = "openai:NAME"',
                '各角色或名称的模型：judge = "openai:NAME"',
            ),
        ),
        "profiles": Setting(
            "profiles", Text("what is known of models, by their ids", "关于各模型的已知情况，以模型 id 为键")
        ),
        "data": Setting(
            "path", Text("the folder of the event log, vault and key", "事件日志、保险库与密钥所在目录")
        ),
        "tools": Setting(
            "sources",
            Text(
                "Python files with tools, OpenAPI documents, recorded:RUN",
                "含工具的 Python 文件、OpenAPI 文档、recorded:运行编号",
            ),
        ),
        "openapi": Setting(
            "tables", Text("OpenAPI documents by the names of their tools", "OpenAPI 文档，以来源名称为键")
        ),
        "procedures": Setting(
            "paths", Text("files and folders of procedures that may be called", "可被调用的流程文件与目录")
        ),
        "documents": Setting(
            "path", Text("the folder of the documents that are searched", "供检索的文档所在目录")
        ),
        "find": Setting(
            "limits",
            Text(
                "when a request is sure to be for a procedure: meaning = {threshold, margin}",
                "何时可确定请求对应某流程：meaning = {threshold, margin}",
            ),
        ),
        "library": Setting("path", Text("the folder of the procedure library", "流程库所在目录")),
        "library_keys": Setting(
            "paths",
            Text("public keys, one of which has to sign what runs of it", "流程库固定记录须由其一签名的公钥"),
        ),
        "mcp": Setting("path", Text("a file with MCP servers", "MCP 服务器配置文件")),
        "policy": Setting("path", Text("the file with the policy", "策略文件")),
        "heads": Setting("place", Text("a file or URL for signed chain heads", "写入签名链头的文件或 URL")),
        "signing_key": Setting("path", Text("the file of the key that signs them", "签名私钥文件")),
        "alerts": Setting("words", Text("where alerts go: log, URLs", "告警发往何处：log 或网址")),
        "prices": Setting("path", Text("the file with prices of models", "模型价格文件")),
        "principal": Setting("text", Text("who runs are for", "运行所代表的人")),
        "roles": Setting("words", Text("the roles of the principal", "该人的角色")),
        "value_quota": Setting(
            "count", Text("characters of long values that one run may store", "单次运行可存储的长内容字符数")
        ),
        "tools_shown": Setting(
            "count",
            Text("tokens of tools that a transcript begins with", "逐步对话开头最多列出的工具 token 数"),
        ),
        "budget.tokens": Setting("count", Text("tokens of one run", "单次运行的 token 数")),
        "budget.money": Setting("money", Text("US dollars of one run", "单次运行的美元金额")),
        "budget.model_calls": Setting("count", Text("model calls of one run", "单次运行的模型调用次数")),
        "budget.tool_calls": Setting("count", Text("tool calls of one run", "单次运行的工具调用次数")),
        "budget.seconds": Setting("seconds", Text("seconds of one run", "单次运行的秒数")),
    }
)

_WANTED: Mapping[Kind, Text] = {
    "text": Text("text", "文本"),
    "table": Text("names, each with a text", "名称到文本的表"),
    "profiles": Text("tables by the ids of models", "以模型 id 为键的表"),
    "words": Text("a list of texts", "文本列表"),
    "path": Text("a path", "路径"),
    "place": Text("a path or a URL", "路径或 URL"),
    "paths": Text("a list of paths", "路径列表"),
    "sources": Text("a list of paths, URLs or recorded:RUN", "路径、URL 或 recorded:运行编号 的列表"),
    "tables": Text("tables, each with a document", "各含 document 的表"),
    "count": Text("a whole number, 0 or more", "不小于 0 的整数"),
    "seconds": Text("a number, 0 or more", "不小于 0 的数"),
    "money": Text("a number, 0 or more", "不小于 0 的数"),
    "limits": Text(
        "meaning and words, each with threshold and margin from 0 to 1",
        "meaning 与 words，各含 0 到 1 之间的 threshold 与 margin",
    ),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for one command. `found` says for each setting that was set where it comes from."""

    model: str | None
    models: Mapping[str, str]
    profiles: Profiles
    data: Path
    tools: tuple[Path | str, ...] | None
    openapi: Mapping[str, Mapping[str, Any]]
    procedures: tuple[Path, ...]
    documents: Path | None
    find: Mapping[str, Limits]
    library: Path
    library_keys: tuple[Path, ...]
    mcp: Path | None
    policy: Path | None
    heads: Path | str | None
    signing_key: Path
    alerts: tuple[str, ...]
    prices: Path | None
    principal: str
    roles: tuple[str, ...]
    budget: Budget
    value_quota: int
    tools_shown: int
    found: Mapping[str, str]


def load_settings(
    folder: Path, given: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """The settings for a procedure in `folder`; `given` are those of the command line (None: not given).

    Raises `UserError` for an unknown setting or a value that is not what it must be.
    """
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    found: dict[str, str] = {}
    for layer, source in _layers(folder, given or {}, environment):
        for name, value in layer.items():
            adds_up = SETTINGS[name].kind in ("table", "tables", "profiles", "limits")
            values[name] = {**values.get(name, {}), **value} if adds_up else value
            found[name] = source
    budget = {name.partition(".")[2]: value for name, value in values.items() if name.startswith("budget.")}
    return Settings(
        model=values.get("model"),
        models=MappingProxyType(values.get("models", {})),
        profiles=Profiles(values.get("profiles"), found.get("profiles", "") + ": profiles"),
        data=values.get("data", Path(".sopwith")),
        tools=values.get("tools"),
        openapi=MappingProxyType(values.get("openapi", {})),
        procedures=values.get("procedures", ()),
        documents=values.get("documents"),
        find=MappingProxyType(values.get("find", {})),
        library=values.get("library", Path("library")),
        library_keys=values.get("library_keys", ()),
        mcp=values.get("mcp"),
        policy=values.get("policy"),
        heads=values.get("heads"),
        signing_key=values.get("signing_key", user_file(environment).with_name(SIGNING_KEY)),
        alerts=values.get("alerts", ()),
        prices=values.get("prices"),
        principal=values.get("principal", "anonymous"),
        roles=values.get("roles", ()),
        budget=Budget(**budget),
        value_quota=values.get("value_quota", VALUE_QUOTA),
        tools_shown=values.get("tools_shown", SHOWN_TOKENS),
        found=MappingProxyType(found),
    )


def _layers(
    folder: Path, given: Mapping[str, Any], environment: Mapping[str, str]
) -> Iterator[tuple[dict[str, Any], str]]:
    """The values of each source, read and judged, weakest first."""
    user = user_file(environment)
    if user.is_file():
        yield _of_file(user, _toml(user)), str(user)
    file = project_file(folder) or project_file(Path.cwd())
    if file is not None:
        yield _of_file(file, _table(file) or {}), str(file)
    yield _of_environment(environment), "environment"
    set_ = {name: value for name, value in given.items() if value not in (None, (), [], {})}
    yield {name: _value(name, value, Path(), "--" + name) for name, value in set_.items()}, "command line"


def user_file(environment: Mapping[str, str]) -> Path:
    """The user's own settings file, whether it is there or not."""
    home = environment.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "sopwith" / "config.toml"


def project_file(folder: Path) -> Path | None:
    """The nearest `sopwith.toml`, or `pyproject.toml` with `[tool.sopwith]`, in `folder` or above it."""
    for place in (folder.resolve(), *folder.resolve().parents):
        if (place / FILE).is_file():
            return place / FILE
        if (place / "pyproject.toml").is_file() and _table(place / "pyproject.toml") is not None:
            return place / "pyproject.toml"
    return None


def _table(file: Path) -> dict[str, Any] | None:
    """The settings in a project's file, None where a `pyproject.toml` has none."""
    content = _toml(file)
    if file.name == FILE:
        return content
    return cast("dict[str, Any] | None", content.get("tool", {}).get("sopwith"))


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        why = os_reason(error)
        raise UserError(Text(f"{file} cannot be read: {why.en}", f"无法读取 {file}：{why.zh}")) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(Text(f"{file} is not TOML: {error}", f"{file} 不是 TOML：{error}")) from error


def _of_file(file: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in content.items():
        if name == "budget" and isinstance(value, dict):
            inner = cast("dict[str, Any]", value)
            flat.update({f"budget.{key}": item for key, item in inner.items()})
        else:
            flat[name] = value
    return {
        name: _value(_known(name, str(file)), value, file.parent, f"{file}: {name}")
        for name, value in flat.items()
    }


def _of_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    names = {variable(name): name for name in SETTINGS}
    found: dict[str, Any] = {}
    for key, text in environment.items():
        if not key.startswith(PREFIX) or key in OTHER_VARIABLES:
            continue
        if key not in names:
            raise _unknown(key, "environment", (*names, *OTHER_VARIABLES))
        if text:
            found[names[key]] = _value(names[key], _parsed(SETTINGS[names[key]].kind, text), Path(), key)
    return found


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper().replace(".", "_")


def _parsed(kind: Kind, text: str) -> Any:
    """The text of a variable as a value; what is not a number stays text, and is refused as such."""
    if kind == "paths":
        return text.split(os.pathsep)
    if kind == "sources":
        return re.split(rf"(?<!recorded)(?<!https)(?<!http){re.escape(os.pathsep)}", text)
    if kind == "words":
        return [word.strip() for word in text.split(",")]
    if kind == "table":
        pairs = (word.partition("=") for word in text.split(","))
        return {name.strip(): value.strip() for name, _, value in pairs}
    if kind in ("count", "seconds", "money"):
        with suppress(ValueError):
            return int(text) if kind == "count" else float(text)
    return text


def _known(name: str, source: str) -> str:
    if name not in SETTINGS:
        raise _unknown(name, source, tuple(SETTINGS))
    return name


def _unknown(name: str, source: str, known: tuple[str, ...]) -> UserError:
    near = get_close_matches(name, known, 1)
    hint = Text(f"did you mean '{near[0]}'?", f"是否想写“{near[0]}”？") if near else NO_HINT
    listed = ", ".join(sorted(known))
    return UserError(
        Text(f"{source}: unknown setting '{name}'", f"{source}：未知的设置“{name}”"),
        hint if near else Text(f"known: {listed}", f"可用：{listed}"),
    )


def _has_document(table: Any) -> bool:
    return isinstance(table, dict) and isinstance(table.get("document"), str)  # pyright: ignore[reportUnknownMemberType]


def _source(item: str | Path, folder: Path) -> Path | str:
    """Where tools come from: a path, or as it is a URL or `recorded:RUN`."""
    text = str(item)
    return text if is_url(text) or text.startswith(RECORDED) else folder / Path(item).expanduser()


def _is_limits(item: tuple[str, Any]) -> bool:
    by, value = item
    if by not in LIMITS or not isinstance(value, dict):
        return False
    table = cast("dict[str, Any]", value)
    shares = [each for each in table.values() if isinstance(each, int | float) and 0 <= each <= 1]
    return table.keys() == {"threshold", "margin"} and len(shares) == 2


def _is_table(value: dict[Any, Any]) -> bool:
    return all(isinstance(item, str) and item for item in value.values())


def _value(name: str, value: Any, folder: Path, place: str) -> Any:
    """The value of a setting, as it is used. Raises `UserError` where it is not of its kind."""
    kind = SETTINGS[name].kind
    match kind, value:
        case "text", str() if value:
            return value
        case "table", dict() if _is_table(table := cast("dict[Any, Any]", value)):
            return table
        case "profiles", dict() if all(
            isinstance(each, dict) for each in cast("dict[Any, Any]", value).values()
        ):
            return cast("dict[str, dict[str, Any]]", value)
        case "tables", dict() if all(map(_has_document, cast("dict[Any, Any]", value).values())):
            tables = cast("dict[str, dict[str, Any]]", value)
            return {
                key: {**each, "document": _source(each["document"], folder)} for key, each in tables.items()
            }
        case "sources", (list() | tuple()) if all(
            isinstance(item, str | Path) and str(item) for item in cast("list[Any]", value)
        ):
            return tuple(_source(item, folder) for item in cast("list[str | Path]", value))
        case "limits", dict() if all(map(_is_limits, cast("dict[str, Any]", value).items())):
            return {by: Limits(**each) for by, each in cast("dict[str, dict[str, float]]", value).items()}
        case "place", str() if is_url(value):
            return value
        case (("path" | "place"), (str() | Path())) if str(value):
            return folder / Path(value).expanduser()
        case (("words" | "paths"), (list() | tuple())) if all(
            isinstance(item, str | Path) for item in cast("list[Any]", value)
        ):
            items = cast("list[str | Path]", value)
            if kind == "words":
                return tuple(str(item) for item in items)
            return tuple(folder / Path(item).expanduser() for item in items)
        case "count", int() if not isinstance(value, bool) and value >= 0:
            return value
        case "money", (int() | float() | Decimal()) if not isinstance(value, bool) and 0 <= value < float(
            "inf"
        ):
            return exact(value)
        case "seconds", (int() | float()) if not isinstance(value, bool) and 0 <= value < float("inf"):
            return float(value)
        case _:
            wanted = _WANTED[kind]
            raise UserError(
                Text(
                    f"{place} must be {wanted.en}, not {value!r}",
                    f"{place} 必须是{wanted.zh}，而不是 {value!r}",
                )
            )
