"""What an MCP server lists, made into the specs of its tools; what cannot be used is left out, and told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from sopwith.errors import NO_HINT, Text, UserError
from sopwith.ir.diagnostic import Diagnostic, Place, Severity
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.ir.value import Json, storable
from sopwith.tools.arguments import without_key
from sopwith.tools.mcp_lookup import Lookup
from sopwith.tools.schema import UNUSABLE, hold_to_usable

if TYPE_CHECKING:
    from mcp_types import Tool

_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the owner of a server says about its tools, by the server's own names for them."""

    effects: Mapping[str, Effect] = field(default_factory=dict[str, Effect])
    trusted: bool = False
    """The annotations of the server are believed."""
    idempotent: frozenset[str] = frozenset()
    key_argument: str | None = None
    lookups: Mapping[str, Lookup] = field(default_factory=dict[str, Lookup])
    descriptions: Mapping[str, str] = field(default_factory=dict[str, str])
    value_threshold: Mapping[str, int] = field(default_factory=dict[str, int])
    call_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server by their full names; those in `keyed` get the key as an argument."""

    specs: Mapping[str, ToolSpec]
    keyed: frozenset[str]
    left_out: tuple[Diagnostic, ...]


def listing(
    server: str,
    settings: Settings,
    tools: Iterable[Tool],
    unread: Iterable[tuple[str, Text]],
    about: str = "",
) -> Listing:
    """The listing of `tools`; `unread` is what could not even be read, with its code; `about` is what the server says
    of itself."""
    specs: dict[str, ToolSpec] = {}
    keyed: set[str] = set()
    found = [_problem(server, code, said) for code, said in unread]
    for tool in tools:
        name = f"{server}.{tool.name}"
        shown = _shown(tool.name)
        if name in specs:
            found.append(_problem(server, "SW433", Text(f"{shown}: listed twice", f"{shown}：重复列出")))
            continue
        try:
            specs[name] = _spec(server, settings, tool, keyed, about)
        except UserError as error:
            said = Text(f"{shown}: {error.message.en}", f"{shown}：{error.message.zh}")
            code = error.code if error.code.startswith("SW4") else UNUSABLE
            found.append(_problem(server, code, said, error.hint))
    found += [_problem(server, "SW435", said) for said in _misnamed(server, settings, specs, keyed)]
    for tool, how in settings.lookups.items():
        problem = _unaskable(specs.get(f"{server}.{tool}"), specs.get(f"{server}.{how.tool}"))
        if problem is None:
            spec = specs[f"{server}.{tool}"]
            specs[spec.name] = spec.model_copy(update={"reconcilable": True})
        else:
            said = Text(f"reconcile.{tool}: {problem.en}", f"reconcile.{tool}：{problem.zh}")
            found.append(_problem(server, "SW435", said))
    return Listing(specs, frozenset(keyed), tuple(found))


def _problem(server: str, code: str, said: Text, hint: Text = NO_HINT) -> Diagnostic:
    place = Place(file=server)
    message = Text(f"{server}: {said.en}", f"{server}：{said.zh}")
    return Diagnostic(code=code, severity=Severity.WARNING, place=place, message=message, hint=hint)


def _spec(server: str, settings: Settings, tool: Tool, keyed: set[str], about: str) -> ToolSpec:
    if not _NAME.fullmatch(tool.name):
        raise UserError(
            Text(
                "its name is not 1 to 128 of A-Z a-z 0-9 _ . - /",
                "名称须由 1 至 128 个 A-Z a-z 0-9 _ . - / 字符组成",
            ),
            code="SW437",
        )
    given = settings.descriptions.get(tool.name) or tool.description or tool.title or ""
    description = cast("str", storable(given)).strip()
    if not description:
        raise UserError(
            Text(
                "it has no description: nobody could tell when to use it",
                "没有描述，无法判断何时使用",
            ),
            Text("Write one in descriptions.", "请在 descriptions 中补上。"),
            "SW440",
        )
    input_schema = _usable(tool.input_schema)
    output_schema = None if tool.output_schema is None else _usable(tool.output_schema)
    if settings.key_argument is not None and settings.key_argument in input_schema.get("properties", {}):
        input_schema = without_key(input_schema, settings.key_argument)
        keyed.add(f"{server}.{tool.name}")
    hints = tool.annotations if settings.trusted else None
    read_only = Effect.READ if hints and hints.read_only_hint else Effect.WRITE
    return ToolSpec(
        name=f"{server}.{tool.name}",
        description=description,
        input_schema=input_schema,
        output_schema=output_schema,
        effect=settings.effects.get(tool.name, read_only),
        idempotent=tool.name in settings.idempotent or bool(hints and hints.idempotent_hint),
        timeout=settings.call_seconds,
        value_threshold=settings.value_threshold.get(tool.name),
        about=cast("str", storable(about)).strip(),
    )


def _usable(schema: Mapping[str, object]) -> dict[str, Json]:
    """A schema of a tool, if it is one that values can be held against. Raises `UserError`."""
    found = cast("dict[str, Json]", storable(dict(schema)))
    hold_to_usable(found)
    return found


def _misnamed(
    server: str, settings: Settings, specs: Mapping[str, ToolSpec], keyed: Iterable[str]
) -> list[Text]:
    named = [("effects", name) for name in settings.effects]
    named += [("idempotent", name) for name in sorted(settings.idempotent)]
    named += [("descriptions", name) for name in settings.descriptions]
    named += [("value_threshold", name) for name in settings.value_threshold]
    found = [
        Text(f"{name}: {key} names it, but there is no such tool", f"{name}：{key} 中有它，但没有这个工具")
        for key, name in named
        if f"{server}.{name}" not in specs
    ]
    if settings.key_argument is not None and not list(keyed):
        why = f"key_argument: no tool has {settings.key_argument}"
        found.append(Text(why, f"key_argument：没有工具有参数 {settings.key_argument}"))
    return found


def _unaskable(write: ToolSpec | None, asked: ToolSpec | None) -> Text | None:
    """Why a write cannot be asked about, if it cannot."""
    if write is None:
        return Text("there is no such tool", "没有这个工具")
    if write.effect is Effect.READ:
        return Text("it only reads", "它只读取")
    if asked is None:
        return Text("there is no such tool to ask", "要询问的工具不存在")
    if asked.effect is not Effect.READ:
        return Text(f"{asked.name} is not declared as a read", f"{asked.name} 未声明为 read")
    return None


def _shown(name: str) -> str:
    """A name as a message can hold it: what a server writes may be anything."""
    readable = name if name.isprintable() else ascii(name)
    return readable if len(readable) <= 80 else f"{readable[:79]}…"
