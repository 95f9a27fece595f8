"""A YAML 1.2 text as plain JSON with the place of each part; whatever could mean something else is refused.

Scalars are resolved by the core schema of YAML 1.2.2 (section 10.3.2), so `no` and `on` are text. Tags,
anchors and aliases, merge keys, duplicate keys, unquoted dates and numbers that would lose digits are
problems, never guesses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from sopwith.errors import Text
from sopwith.ir.diagnostic import Edit, Place
from sopwith.ir.value import Json
from sopwith.lang.document import Path
from sopwith.lang.problem import Problems
from sopwith.lang.syntax import syntax_problem

MAX_CHARACTERS = 200_000
MAX_DEPTH = 60

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")
_PADDED = re.compile(r"[-+]?0[0-9]+")
_LARGEST = 2**63 - 1

_QUOTE = Text("put it in quotes: '{}'", "请加引号：'{}'")


@dataclass(frozen=True, slots=True)
class Row:
    """Where a key or a list item begins: its path, its offset, and whether it is inside brackets."""

    path: Path
    offset: int
    flow: bool


@dataclass(slots=True)
class Tree:
    """The plain value of a text.

    `places` and `keys` tell where each value and each key stands, `rows` the same in the order of the text;
    `scalars` and `brackets` are the spans of scalars and of outermost flow collections. `complete` is False
    where reading broke off. `lost` are the parts that could not be read, of which therefore nothing is known.
    """

    value: Json = None
    places: dict[Path, Place] = field(default_factory=dict[Path, Place])
    keys: dict[Path, Place] = field(default_factory=dict[Path, Place])
    rows: list[Row] = field(default_factory=list[Row])
    scalars: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    brackets: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    complete: bool = True
    lost: set[Path] = field(default_factory=set[Path])


def read_tree(text: str, problems: Problems) -> Tree:
    """The tree of `text`; what is wrong with it goes to `problems`, and that part is left out."""
    if too_long(text, problems):
        return Tree(complete=False)
    builder = _Builder(problems)
    try:
        for event in events(text):
            builder.take(event)
    except _Stop:
        builder.tree.complete = False
    except YAMLError as error:
        builder.tree.complete = False
        syntax_problem(error, text, problems)
    return builder.tree


def too_long(text: str, problems: Problems) -> bool:
    """Whether `text` is longer than any procedure; then that is noted, and the text is not to be looked at."""
    if len(text) <= MAX_CHARACTERS:
        return False
    problems.add(
        "SW102",
        Place(file=problems.file),
        Text(
            f"the text has {len(text)} characters; at most {MAX_CHARACTERS} are read",
            f"文本有 {len(text)} 个字符，最多读取 {MAX_CHARACTERS} 个",
        ),
        Text("split the procedure, or move data into a tool", "请拆分流程，或把数据移到工具里"),
    )
    return True


def events(text: str) -> Iterator[Any]:
    """The parse events of `text`; `YAMLError` where it is not YAML."""
    return cast("Iterator[Any]", YAML(typ="safe", pure=True).parse(text))  # pyright: ignore[reportUnknownMemberType]


class _Stop(Exception):
    """The rest of the text is not read."""


@dataclass(slots=True)
class _Open:
    """A collection that is being read; `kept` is False for one under a key that was refused."""

    value: dict[str, Json] | list[Json]
    path: Path
    kept: bool = True
    flow: bool = False
    start: int = 0
    key: str | None = None
    key_kept: bool = True
    at_key: bool = True


class _Builder:
    """Takes parse events and builds the tree, without recursion."""

    def __init__(self, problems: Problems) -> None:
        self.tree = Tree()
        self._problems = problems
        self._open: list[_Open] = []
        self._documents = 0

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "ScalarEvent":
            self._scalar(event)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._start(event, {} if kind == "MappingStartEvent" else [])
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            closed = self._open.pop()
            if closed.flow and not (self._open and self._open[-1].flow):
                self.tree.brackets.append((closed.start, event.end_mark.index))
        elif kind == "AliasEvent":
            self._refuse_alias(event, "*" + str(event.anchor))
            self._leave_out()
        elif kind == "DocumentStartEvent":
            self._document(event)

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            self._problems.add(
                "SW101",
                self._place(event),
                Text("a second document begins here", "这里开始了第二个文档"),
                Text("keep one procedure in one file", "一个文件只写一个流程"),
            )
            raise _Stop
        if event.version is not None and tuple(event.version) != (1, 2):
            self._problems.add(
                "SW101",
                self._place(event),
                Text("only YAML 1.2 is read", "只读取 YAML 1.2"),
                Text("remove the line that begins with %YAML", "请删除以 %YAML 开头的行"),
            )

    def _scalar(self, event: Any) -> None:
        self.tree.scalars.append((event.start_mark.index, event.end_mark.index))
        holder = self._open[-1] if self._open else None
        if holder is not None and isinstance(holder.value, dict) and holder.at_key:
            self._key(event, holder)
            return
        self._refuse_properties(event)
        if event.tag is None:
            self._put(event, self._resolve(event))
        else:
            self._leave_out()

    def _key(self, event: Any, holder: _Open) -> None:
        key = str(event.value)
        holder.at_key = False
        holder.key, holder.key_kept = key, False
        mapping = cast("dict[str, Json]", holder.value)
        place = self._place(event)
        self._refuse_properties(event)
        if key == "<<" and event.implicit[0]:
            self.tree.lost.add(holder.path)
            self._refuse_alias(event, "<<")
        elif event.implicit[0] and not isinstance(resolve_plain(key), str):
            self.tree.lost.add(holder.path)
            self._problems.add(
                "SW106",
                place,
                Text(f"the key {key or '(empty)'} is not text", f"键 {key or '（空）'} 不是文本"),
                Text(_QUOTE.en.format(key), _QUOTE.zh.format(key)),
            )
        elif key in mapping:
            self.tree.lost.add((*holder.path, key))
            first = self.tree.keys[(*holder.path, key)]
            self._problems.add(
                "SW105",
                place,
                Text(
                    f"the key '{key}' stands twice; the first is on line {first.line}",
                    f"键“{key}”重复，第一次在第 {first.line} 行",
                ),
                Text("keep one of the two", "只保留其中一个"),
            )
        else:
            holder.key_kept = True
            mapping[key] = None
            self._row((*holder.path, key), event)
            self.tree.keys[(*holder.path, key)] = place

    def _start(self, event: Any, value: dict[str, Json] | list[Json]) -> None:
        if len(self._open) >= MAX_DEPTH:
            self._problems.add(
                "SW102",
                self._place(event),
                Text(f"nested deeper than {MAX_DEPTH} levels", f"嵌套超过 {MAX_DEPTH} 层"),
                Text("make the data flatter", "请减少嵌套"),
            )
            raise _Stop
        self._refuse_properties(event)
        holder = self._open[-1] if self._open else None
        if holder is not None and isinstance(holder.value, dict) and holder.at_key:
            self.tree.lost.add(holder.path)
            self._problems.add(
                "SW106",
                self._place(event),
                Text("a list or mapping cannot be a key", "列表或映射不能作为键"),
                Text("write the key as text", "请把键写成文本"),
            )
            holder.at_key, holder.key_kept = False, False
            self._open.append(_Open(value, holder.path, kept=False))
            return
        path, kept = self._put(event, value)
        self._open.append(_Open(value, path, kept, bool(event.flow_style), event.start_mark.index))

    def _leave_out(self) -> None:
        """Forget the key or value that was refused, and what belongs to it."""
        holder = self._open[-1] if self._open else None
        if holder is None:
            return
        if isinstance(holder.value, list) or holder.at_key:
            self.tree.lost.add(holder.path)
        else:
            self.tree.lost.add((*holder.path, holder.key or ""))
        if isinstance(holder.value, list):
            return
        if not holder.at_key and holder.key_kept:
            holder.value.pop(holder.key or "", None)
        holder.at_key, holder.key_kept = not holder.at_key, False

    def _put(self, event: Any, value: Json) -> tuple[Path, bool]:
        """Place a value in the open collection; its path, and whether it is a part of the tree."""
        place = self._place(event)
        if not self._open:
            self.tree.value = value
            self.tree.places[()] = place
            return (), True
        holder = self._open[-1]
        if isinstance(holder.value, list):
            path: Path = (*holder.path, len(holder.value))
            holder.value.append(value)
            kept = holder.kept
            self._row(path, event)
        else:
            path = (*holder.path, holder.key or "")
            kept = holder.kept and holder.key_kept
            if holder.key_kept:
                holder.value[holder.key or ""] = value
            holder.at_key = True
            if isinstance(value, dict | list) or value is None:
                place = self.tree.keys.get(path, place)
        if kept:
            self.tree.places[path] = place
        return path, kept

    def _resolve(self, event: Any) -> Json:
        text = str(event.value)
        if not event.implicit[0]:
            return text
        value = resolve_plain(text)
        if isinstance(value, Text):
            hint = Text(_QUOTE.en.format(text), _QUOTE.zh.format(text))
            fix = (Edit(path=self._next_path(), text=text),)
            self._problems.add("SW107", self._place(event), value, hint, fix=fix)
            return text
        return value

    def _next_path(self) -> Path:
        """The path of the value that comes next."""
        if not self._open:
            return ()
        holder = self._open[-1]
        return (*holder.path, len(holder.value) if isinstance(holder.value, list) else holder.key or "")

    def _refuse_properties(self, event: Any) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._problems.add(
                "SW103",
                self._place(event),
                Text(f"the tag {tag} is not read", f"不支持标签 {tag}"),
                Text(
                    "remove it; a value that begins with '!' needs quotes: '!done'",
                    "请删除；以“!”开头的值要加引号：'!done'",
                ),
            )
        if event.anchor is not None:
            self._refuse_alias(event, "&" + str(event.anchor))

    def _refuse_alias(self, event: Any, what: str) -> None:
        self._problems.add(
            "SW104",
            self._place(event),
            Text(
                f"anchors, aliases and merge keys are not read: {what}", f"不支持锚点、别名和合并键：{what}"
            ),
            Text(
                "write the value out where it is needed; text that begins with '*' or '&' needs quotes",
                "请在需要处写出完整的值；以“*”或“&”开头的文本要加引号",
            ),
        )

    def _row(self, path: Path, event: Any) -> None:
        self.tree.rows.append(Row(path, event.start_mark.index, self._open[-1].flow))

    def _place(self, event: Any) -> Place:
        mark = event.start_mark
        return Place(file=self._problems.file, line=mark.line + 1, column=mark.column + 1)


def resolve_plain(text: str) -> Json:
    """The value of an unquoted scalar; a `Text` says why it is refused."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _DATE.fullmatch(text):
        return Text(
            f"{text} looks like a date, which other readers do not read as text",
            f"{text} 看起来是日期，别的程序不会把它读成文本",
        )
    if _PADDED.fullmatch(text):
        return Text(
            f"{text} is a number with leading zeros, which would be lost",
            f"{text} 是带前导零的数字，零会丢失",
        )
    if _NOT_FINITE.fullmatch(text):
        return Text(f"{text} is not a JSON number", f"{text} 不是 JSON 数字")
    if _INT.fullmatch(text) or _BASED.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else Text(f"{text} is too large", f"{text} 太大")
    return text


def _integer(text: str) -> int | Text:
    if len(text) > 25:
        return Text(f"{text[:20]}… is too large for an integer", f"{text[:20]}… 超出整数范围")
    number = int(text, 0) if _BASED.fullmatch(text) else int(text)
    if abs(number) > _LARGEST:
        return Text(f"{text} is too large for an integer of 64 bits", f"{text} 超出 64 位整数的范围")
    return number
