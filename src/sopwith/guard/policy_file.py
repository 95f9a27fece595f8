"""The file that holds the rules of the guards, as plain data with the line of each part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from pydantic import BaseModel, ValidationError

from sopwith.errors import NO_HINT, PolicyError, Text
from sopwith.ir.diagnostic import Place
from sopwith.ir.os_reason import os_reason
from sopwith.ir.pydantic_problem import told
from sopwith.ir.value import Json

SECTIONS = ("rules", "allow_writes", "people", "screen", "redact", "budgets")
"""What a policy file may hold."""

_Model = TypeVar("_Model", bound=BaseModel)
_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A file that was read: its content, and where the parts of it stand."""

    file: str
    data: Json

    @property
    def sections(self) -> dict[str, Json]:
        """The content by section; none where it is no mapping."""
        return cast("dict[str, Json]", self.data) if isinstance(self.data, dict) else {}

    def refuse(self, path: _Path, message: Text, hint: Text = NO_HINT) -> NoReturn:
        """Raise the `PolicyError` for what is wrong at `path`, with its line and column."""
        where = self.place(path)
        name = _shown(path)
        raise PolicyError(Text(f"{where} {name}: {message.en}", f"{where} {name}：{message.zh}"), hint)

    def read(self, kind: type[_Model], value: Json, path: _Path) -> _Model:
        """The part at `path` as a `kind`, or the `PolicyError` for the first thing wrong in it."""
        try:
            return kind.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            self.refuse((*path, *_inside(value, first["loc"])), *told(first, kind))

    def refuse_empty(self, part: Json, path: _Path) -> None:
        """Refuse a field of `part` that is written without a value: nobody can tell what was meant."""
        fields = cast("dict[str, Json]", part) if isinstance(part, dict) else {}
        for name, value in fields.items():
            if value is None or value in ("", [], {}):
                self.refuse(
                    (*path, name),
                    Text("has no value", "没有取值"),
                    Text("give it one, or leave the field out", "请填写取值，或删除该字段"),
                )

    def check_patterns(self, patterns: Sequence[str], path: _Path) -> None:
        """Refuse what is no regular expression among the patterns at `path`, one or a list."""
        for number, pattern in enumerate(patterns):
            try:
                compiled(pattern)
            except PolicyError as error:
                inside = (*path, number)
                self.refuse(inside if self._is_there(inside) else path, error.message, error.hint)

    def _is_there(self, path: _Path) -> bool:
        return len(_inside(cast("Json", self.sections), path)) == len(path)

    def place(self, path: _Path) -> Place:
        """Where the part at `path` stands, or the nearest part around it that is there."""
        at: Any = self.data
        line, column = 0, 0
        for part in path:
            marks = getattr(at, "lc", None)
            if marks is None or not _part_of(at, part):
                break
            line, column = marks.key(part) if isinstance(at, dict) else marks.item(part)
            at = cast("Any", at)[part]
        return Place(file=self.file, line=line + 1, column=column + 1)


def open_policy(source: str | Path) -> PolicyFile:
    """Read a file (a `Path`, or text that ends in .yaml or .yml) or the text itself.

    Raises `PolicyError` for what is not a mapping of `SECTIONS`, with the place and the remedy.
    """
    listed = ", ".join(SECTIONS)
    hint = Text(f"a policy file holds: {listed}", f"策略文件可包含：{listed}")
    read = open_mapping(source, hint)
    for name in read.sections:
        if name not in SECTIONS:
            read.refuse((name,), Text("unknown section", "未知的部分"), hint)
    return read


def open_mapping(source: str | Path, hint: Text = NO_HINT) -> PolicyFile:
    """Read a file, or the text itself, that is a mapping with keys of any name. `hint` says what it holds."""
    read = open_data(source)
    if read.data is not None and not isinstance(read.data, dict):
        read.refuse((), Text("this is not a mapping", "这不是映射"), hint)
    return read


def compiled(pattern: str) -> re.Pattern[str]:
    """A regular expression in which case does not matter. Raises `PolicyError` for what is none, or matches nothing."""
    try:
        found = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise PolicyError(
            Text(f"'{pattern}' is no regular expression: {error}", f"“{pattern}”不是正则表达式：{error}"),
            Text("write a regular expression of Python", "请使用 Python 正则表达式"),
        ) from None
    if found.search("") is not None:
        raise PolicyError(
            Text(f"'{pattern}' matches a text of no characters", f"“{pattern}”会匹配空文本"),
            Text("let it match at least one character", "请让它至少匹配一个字符"),
        )
    return found


def open_data(source: str | Path) -> PolicyFile:
    """Read YAML of any shape, as `open_policy` does."""
    text, file = _text(source)
    return PolicyFile(file, cast("Json", _load(text, file)))


def _load(text: str, file: str) -> object:
    from ruamel.yaml import YAML  # most engines are given no file of rules
    from ruamel.yaml.error import YAMLError

    try:
        return cast("Any", YAML(typ="rt")).load(text)
    except YAMLError as error:
        found: Any = error
        mark = getattr(found, "problem_mark", None)
        where = file if mark is None else f"{file}:{mark.line + 1}:{mark.column + 1}"
        why = str(getattr(found, "problem", None) or found).split("\n")[0]
        raise PolicyError(
            Text(f"{where} is not YAML: {why}", f"{where} 不是合法的 YAML：{why}"),
            Text(
                "correct the line; text with special characters goes in quotes",
                "请修正该行；含特殊字符的文本请加引号",
            ),
        ) from None


def _text(source: str | Path) -> tuple[str, str]:
    if isinstance(source, str) and ("\n" in source or not source.endswith((".yaml", ".yml"))):
        return source, "<text>"
    path = Path(source)
    try:
        return path.read_text(encoding="utf-8-sig"), str(source)
    except OSError as error:
        why = os_reason(error)
    except UnicodeDecodeError:
        why = Text("not UTF-8", "不是 UTF-8 编码")
    raise PolicyError(
        Text(f"the file {source}: {why.en}", f"文件 {source}：{why.zh}"),
        Text("name an existing file in UTF-8", "请指定存在的 UTF-8 文件"),
    )


def _shown(path: _Path) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "policy"


def _part_of(value: object, part: object) -> bool:
    """Whether `part` is a key or an index of `value`."""
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(cast("list[Json]", value))


def _inside(value: Json, path: _Path) -> _Path:
    """As much of the path of a pydantic error as is a path in `value`."""
    found: list[str | int] = []
    for part in path:
        if not _part_of(value, part):
            break
        found.append(part)
        value = value[part]
    return tuple(found)
