"""The kinds of values in a procedure file, each as one function that returns the value as the `ir` wants it.

A kind takes a `Reading`, the path of the value and the value. What is wrong goes to the reading's problems,
and the kind then returns `SKIP`: the field is left out and reading goes on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, cast

from sopwith.errors import NO_HINT, Text
from sopwith.expr.expression import RESERVED, TYPE_NAMES
from sopwith.expr.infer import near, sole
from sopwith.expr.syntax import NAMESPACES
from sopwith.ir.diagnostic import Edit, Place
from sopwith.ir.duration import read_duration
from sopwith.ir.procedure import SCHEMA
from sopwith.ir.value import Json
from sopwith.lang.document import Path, nearest
from sopwith.lang.problem import Problems
from sopwith.lang.tree import Tree

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SKIP: Any = object()
OURS = frozenset({"inputs", "run", "error", "item"})
"""The names that have a meaning in every expression."""

UNUSABLE = RESERVED | TYPE_NAMES | NAMESPACES | OURS
"""Identifiers that cannot be the name of a value."""

Kind = Callable[["Reading", Path, Json], Json]


@dataclass(frozen=True, slots=True)
class Refused:
    """The kind of a field that is read and that the check refuses: `remedy` is what to do instead.

    No hint offers such a field, and what is wrong inside it is not to be corrected but to be done otherwise.
    """

    kind: Kind
    remedy: Text

    def __call__(self, reading: Reading, path: Path, value: Json) -> Json:
        apart = Reading(reading.tree, Problems(reading.problems.file))
        read = self.kind(apart, path, value)
        reading.problems.adopt(apart.problems, self.remedy)
        return read


@dataclass(frozen=True, slots=True)
class Reading:
    """The tree that is read, and where its problems go."""

    tree: Tree
    problems: Problems

    def problem(
        self,
        code: str,
        path: Path,
        message: Text,
        hint: Text = NO_HINT,
        fix: tuple[Edit, ...] = (),
        lost: Collection[Path] | None = None,
    ) -> Any:
        """Note a problem at the place of `path`; returns `SKIP`. `lost` is what is not known for it, else `path`."""
        self.tree.lost.update((path,) if lost is None else lost)
        step = path[1] if len(path) > 1 and path[0] == "steps" else None
        place = self.key(path) if code == "SW110" else nearest(self.tree.places, path, self.problems.file)
        self.problems.add(code, place, message, hint, cast("str | None", step), fix)
        return SKIP

    def wrong(
        self, path: Path, value: Json, wanted: Text, hint: Text = NO_HINT, fix: tuple[Edit, ...] = ()
    ) -> Any:
        """Note that `value` is not what is wanted."""
        name, found = spell(path), describe(value)
        message = Text(
            f"{name} must be {wanted.en}, not {found.en}", f"{name} 应为{wanted.zh}，不是{found.zh}"
        )
        return self.problem("SW112", path, message, hint, fix)

    def key(self, path: Path) -> Place:
        """Where the key of `path` stands."""
        return self.tree.keys.get(path) or nearest(self.tree.places, path, self.problems.file)


def spell(path: Path) -> str:
    """A path as text: `steps.submit.next[0].when`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return f"'{text.lstrip('.')}'" if text else "the file"


def describe(value: Json) -> Text:
    """What a value is, in words."""
    if value is None:
        return Text("empty", "空值")
    if isinstance(value, bool):
        word = "true" if value else "false"
        return Text(word, f" {word}")
    if isinstance(value, int | float):
        return Text(f"the number {value}", f"数字 {value}")
    if isinstance(value, str):
        short = value if len(value) <= 30 else value[:30] + "…"
        return Text(f"the text '{short}'", f"文本“{short}”")
    return Text("a list", "列表") if isinstance(value, list) else Text("a mapping", "映射")


_QUOTE = Text("put it in quotes", "请加引号")
A_TOOL = Text("write the name of a tool, as in hr.find", "请写工具的名称，如 hr.find")
A_NAME = Text("write one name, such as look_up", "请写一个名称，例如 look_up")
_BLOCK = Text("write 'key: value' lines below it", "请在下面写“键: 值”各行")
_LIST = Text("write '- item' lines below it, or [a, b]", "请在下面写“- 项”各行，或 [a, b]")


def text(reading: Reading, path: Path, value: Json) -> Json:
    """Text that is not empty."""
    if isinstance(value, str) and value.strip():
        return value
    hint = (
        _QUOTE
        if isinstance(value, bool | int | float)
        else Text("write the text, or remove the key", "请写上文本，或删除该键")
    )
    return reading.wrong(path, value, Text("text", "文本"), hint)


def name_of(hint: Text) -> Kind:
    """Text that names something. `hint` says what: quotation marks make no name of a number."""

    def read(reading: Reading, path: Path, value: Json) -> Json:
        if isinstance(value, bool | int | float):
            return reading.wrong(path, value, Text("a name", "名称"), hint)
        return text(reading, path, value)

    return read


def one_tool(reading: Reading, path: Path, value: Json) -> Json:
    """The name of one tool."""
    if isinstance(value, list):
        hint = Text("write one step for each tool", "每个工具写成一个步骤")
        return reading.wrong(path, value, Text("one tool", "一个工具"), hint)
    return name_of(A_TOOL)(reading, path, value)


def words(reading: Reading, path: Path, value: Json) -> Json:
    """Text that may be empty."""
    return value if isinstance(value, str) else text(reading, path, value)


def anything(reading: Reading, path: Path, value: Json) -> Json:
    """Any JSON."""
    return value


def mapping(reading: Reading, path: Path, value: Json) -> Json:
    """A mapping from text to any JSON."""
    if isinstance(value, dict):
        return cast("Json", value)
    return reading.wrong(path, value, Text("a mapping", "映射"), _BLOCK)


def schema(reading: Reading, path: Path, value: Json) -> Json:
    """A JSON Schema as a mapping."""
    hint = Text("write a JSON Schema, such as {type: string}", "请写 JSON Schema，例如 {type: string}")
    if isinstance(value, dict):
        return cast("Json", value)
    return reading.wrong(path, value, Text("a JSON Schema", " JSON Schema"), hint)


def identifier(reading: Reading, path: Path, value: Json) -> Json:
    """A name that expressions can use."""
    if not isinstance(value, str):
        return reading.wrong(path, value, Text("a name", "名称"), A_NAME)
    if not IDENTIFIER.fullmatch(value):
        return reading.problem("SW111", path, *not_identifier(value), fix=as_identifier(path, value))
    return value


def as_identifier(path: Path, value: str, *, key: bool = False) -> tuple[Edit, ...]:
    """The edit that makes an identifier of a `value` that lacks nothing but other separators: `look-up` → `look_up`."""
    better = re.sub(r"[-./ ]", "_", value)
    if not IDENTIFIER.fullmatch(better) or better in UNUSABLE:
        return ()
    return (Edit(path=path, action="rename" if key else "set", text=better),)


def not_identifier(value: str) -> tuple[Text, Text]:
    """Why `value` cannot be a name in expressions, and what would do instead."""
    better = re.sub(r"[^A-Za-z0-9]+", "_", value).strip("_")
    better = f"_{better}" if better[:1].isdigit() else better
    better = f"{better}_1" if better in UNUSABLE else better
    hint = Text(f"such as {better}; put the words under 'name'", f"例如 {better}；说明文字写在 name 里")
    if not better:
        hint = Text("such as 'lookup_1'; put the words under 'name'", "例如 lookup_1；说明文字写在 name 里")
    return (
        Text(
            f"'{value}' is not an identifier (ASCII letters, digits and _, not beginning with a digit)",
            f"“{value}”不是标识符（只能用英文字母、数字和下划线，且不以数字开头）",
        ),
        hint,
    )


def duration(reading: Reading, path: Path, value: Json) -> Json:
    """Seconds, as a number or with a unit."""
    seconds = read_duration(value)
    if seconds is None:
        hint = Text("write 500ms, 20s, 2m, 1h or 2d", "请写成 500ms、20s、2m、1h 或 2d")
        return reading.wrong(path, value, Text("a positive duration", "正的时长"), hint)
    return seconds


def integer(low: int, high: int | None = None) -> Kind:
    """A whole number of at least `low` and at most `high`."""
    wanted = Text(f"a whole number from {low}", f"不小于 {low} 的整数")
    if high is not None:
        wanted = Text(f"a whole number from {low} to {high}", f" {low} 到 {high} 的整数")

    def read(reading: Reading, path: Path, value: Json) -> Json:
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= low
        if fits and (high is None or value <= high):
            return value
        return reading.wrong(path, value, wanted, Text(f"such as {low + 1}", f"例如 {low + 1}"))

    return read


def fraction(reading: Reading, path: Path, value: Json) -> Json:
    """A number from 0 to 1."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return value
    hint = Text("such as 0.8", "例如 0.8")
    return reading.wrong(path, value, Text("a number from 0 to 1", " 0 到 1 的数"), hint)


def one_of(*choices: str, refused: Collection[str] = ()) -> Kind:
    """One of a few words. Those that the check refuses are read, and not offered."""
    offered = tuple(choice for choice in choices if choice not in refused)
    listed = ", ".join(offered)

    def read(reading: Reading, path: Path, value: Json) -> Json:
        if value in choices:
            return value
        meant = sole(str(value), offered)
        fix = () if meant is None or not isinstance(value, str) else (Edit(path=path, text=meant),)
        hint = suggestion(str(value), offered) or Text("choose one of them", "请选择其中之一")
        return reading.wrong(path, value, Text(f"one of {listed}", f"其中之一：{listed}"), hint, fix)

    return read


def many(kind: Kind) -> Kind:
    """A list of one kind."""

    def read(reading: Reading, path: Path, value: Json) -> Json:
        if not isinstance(value, list):
            return reading.wrong(path, value, Text("a list", "列表"), _LIST)
        items = [kind(reading, (*path, i), item) for i, item in enumerate(cast("list[Json]", value))]
        return [item for item in items if item is not SKIP]

    return read


def one_or_many(kind: Kind) -> Kind:
    """One of a kind, or a list of them: always read as a list."""

    def read(reading: Reading, path: Path, value: Json) -> Json:
        if isinstance(value, list):
            return many(kind)(reading, path, cast("Json", value))
        item = kind(reading, path, value)
        return item if item is SKIP else [item]

    return read


def truth(reading: Reading, path: Path, value: Json) -> Json:
    """`true` or `false`."""
    if isinstance(value, bool):
        return value
    return reading.wrong(
        path, value, Text("true or false", " true 或 false"), Text("such as true", "例如 true")
    )


def record(table: Mapping[str, Kind], *required: str, known_as: Mapping[str, str] | None = None) -> Kind:
    """A mapping with the keys of `table`; `known_as` maps likely mistakes to the right key."""

    def read(reading: Reading, path: Path, value: Json) -> Json:
        return fields(reading, path, value, table, required, known_as or {})

    return read


def fields(
    reading: Reading,
    path: Path,
    value: Json,
    table: Mapping[str, Kind],
    required: tuple[str, ...],
    known_as: Mapping[str, str],
) -> Json:
    """The fields of a mapping, each by its kind; unknown and missing ones are problems."""
    if not isinstance(value, dict):
        return reading.wrong(path, value, Text("a mapping", "映射"), _BLOCK)
    result: dict[str, Json] = {}
    for key, item in cast("dict[str, Json]", value).items():
        kind = table.get(key)
        if kind is None:
            unknown_field(reading, (*path, key), table, known_as, cast("dict[str, Json]", value))
            continue
        read = kind(reading, (*path, key), item)
        if read is not SKIP:
            result[key] = read
    for key in required:
        if key not in value:
            where = spell(path) if path else Text("the procedure", "流程")
            where = where if isinstance(where, Text) else Text(where, where)
            reading.problem(
                "SW109",
                path,
                Text(f"{where.en} has no '{key}'", f"{where.zh} 缺少“{key}”"),
                _to_add(key, cast("dict[str, Json]", value)),
                (Edit(path=("schema",), text=SCHEMA),) if (*path, key) == ("schema",) else (),
                lost=[(*path, key)],
            )
    return result


def _to_add(key: str, beside: Mapping[str, Json]) -> Text:
    """How a missing field may look; `beside` are the fields that are there."""
    steps = beside.get("steps")
    first = next(iter(cast("dict[str, Json]", steps)), None) if isinstance(steps, dict) else None
    examples: dict[str, str | None] = {
        "schema": SCHEMA, "id": "refund", "start": first, "steps": "{done: {end: complete}}", "times": "2",
    }  # fmt: skip
    line = f"{key}: {examples.get(key) or '…'}"
    if key in ("schema", "start") and examples[key]:
        return Text(f"add '{line}'", f"请补上“{line}”")
    return Text(f"add it, such as '{line}'", f"请补上，例如“{line}”")


def unknown_field(
    reading: Reading,
    path: Path,
    table: Mapping[str, Kind],
    known_as: Mapping[str, str],
    beside: Collection[str],
) -> None:
    """Note a key that nothing reads, with the key that was probably meant; `beside` are all keys of its mapping."""
    key = str(path[-1])
    where = spell(path[:-1]) if len(path) > 1 else ""
    message = Text(
        f"unknown field '{key}'" + (f" in {where}" if where else ""),
        (f"{where} 中" if where else "") + f"未知的字段“{key}”",
    )
    found = near(key.lower(), table)
    said = known_as.get(key) or known_as.get(key.lower())
    meant = said or (found[0] if found else None)
    kind = table.get(meant) if meant else None
    close = suggestion(key, tuple(name for name, one in table.items() if not isinstance(one, Refused)))
    if isinstance(kind, Refused):
        hint = kind.remedy
    elif said:
        hint = Text(f"did you mean '{said}'?", f"是否想写“{said}”？")
    elif close is not None:
        hint = close
    else:
        listed = ", ".join(name for name, one in table.items() if not isinstance(one, Refused))
        hint = Text(f"the fields are {listed}", f"可用的字段：{listed}")
    only = sole(key.lower(), [name for name, one in table.items() if not isinstance(one, Refused)])
    certain = only is not None and only == meant and only not in beside and only != "tools"
    fix = (Edit(path=path, action="rename", text=only),) if certain and only is not None else ()
    open_ = [meant] if meant is not None else [name for name in table if name not in beside]
    reading.problem("SW110", path, message, hint, fix, lost=[(*path[:-1], name) for name in open_])


def suggestion(word: str, known: tuple[str, ...]) -> Text | None:
    """What was probably meant by `word`."""
    found = near(word.lower(), known)
    if not found:
        return None
    en, zh = " or ".join(f"'{one}'" for one in found), " 或 ".join(f"“{one}”" for one in found)
    return Text(f"did you mean {en}?", f"是否想写{zh}？")
