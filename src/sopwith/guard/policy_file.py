"""The file that holds rules for calls and for requests, as plain data with the line of each part."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from sopwith.errors import NO_HINT, PolicyError, Text
from sopwith.ir.value import Json

SECTIONS = ("rules", "allow_writes", "screen")
"""What a policy file may hold."""

_Model = TypeVar("_Model", bound=BaseModel)
_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A file that was read: its sections, and where its parts stand."""

    file: str
    sections: CommentedMap

    def refuse(self, path: _Path, message: Text, hint: Text = NO_HINT) -> NoReturn:
        """Raise the `PolicyError` for what is wrong at `path`, with its line and column."""
        line, column = self._place(path)
        where = f"{self.file}:{line}:{column}"
        name = _shown(path)
        raise PolicyError(Text(f"{where} {name}: {message.en}", f"{where} {name}：{message.zh}"), hint)

    def read(self, kind: type[_Model], value: Json, path: _Path) -> _Model:
        """The part at `path` as a `kind`, or the `PolicyError` for the first thing wrong in it."""
        try:
            return kind.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            inner = tuple(part for part in first["loc"] if _part_of(value, part))
            self.refuse((*path, *inner), *_said(kind, first))

    def _place(self, path: _Path) -> tuple[int, int]:
        at: Any = self.sections
        line, column = 0, 0
        for part in path:
            if isinstance(at, CommentedMap) and part in at:
                line, column = at.lc.key(part)
            elif isinstance(at, CommentedSeq) and isinstance(part, int) and part < len(at):
                line, column = at.lc.item(part)
            else:
                break
            at = at[part]
        return line + 1, column + 1


def open_policy(source: str | Path) -> PolicyFile:
    """Read a file (a `Path`, or text that ends in .yaml or .yml) or the text itself.

    Raises `PolicyError` for what is not a mapping of `SECTIONS`, with the place and the remedy.
    """
    text, file = _text(source)
    try:
        data: Any = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        where = file if mark is None else f"{file}:{mark.line + 1}:{mark.column + 1}"
        why = (error.problem or "").split("\n")[0]
        raise PolicyError(
            Text(f"{where} not YAML: {why}", f"{where} 不是合法的 YAML：{why}"),
            Text(
                "correct the line; a text with special characters goes in quotes",
                "请修正该行；含特殊字符的文本请加引号",
            ),
        ) from None
    except YAMLError as error:
        raise PolicyError(Text(f"{file} is not YAML: {error}", f"{file} 不是合法的 YAML：{error}")) from None
    read = PolicyFile(file, data if isinstance(data, CommentedMap) else CommentedMap())
    listed = ", ".join(SECTIONS)
    hint = Text(f"a policy file holds: {listed}", f"策略文件可包含：{listed}")
    if data is not None and not isinstance(data, CommentedMap):
        read.refuse((), Text("this is not a mapping", "这不是映射"), hint)
    for name in read.sections:
        if name not in SECTIONS:
            read.refuse((name,), Text("unknown section", "未知的部分"), hint)
    return read


def _text(source: str | Path) -> tuple[str, str]:
    if isinstance(source, str) and ("\n" in source or not source.endswith((".yaml", ".yml"))):
        return source, "<text>"
    path = Path(source)
    try:
        return path.read_text(encoding="utf-8-sig"), str(source)
    except OSError as error:
        why = error.strerror or str(error)
    except UnicodeDecodeError:
        why = "not UTF-8"
    raise PolicyError(
        Text(f"the policy file {source}: {why}", f"策略文件 {source}：{why}"),
        Text("name an existing file in UTF-8", "请指定存在的 UTF-8 文件"),
    )


def _shown(path: _Path) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "policy"


def _part_of(value: Json, part: object) -> bool:
    """Whether `part` of the place of a pydantic error is a part of the value, and not the name of a variant."""
    return isinstance(part, int) or (isinstance(value, dict) and part in value)


def _said(kind: type[BaseModel], error: ErrorDetails) -> tuple[Text, Text]:
    """What pydantic found, in both languages, with the remedy."""
    fields = ", ".join(kind.model_fields)
    known = Text(f"known fields: {fields}", f"可用字段：{fields}")
    match error["type"]:
        case "extra_forbidden":
            return Text("unknown field", "未知字段"), known
        case "missing":
            name = error["loc"][-1]
            return Text(f"'{name}' is missing", f"缺少“{name}”"), known
        case "literal_error" | "enum":
            choices = str(cast("dict[str, object]", error.get("ctx", {})).get("expected", ""))
            return Text(f"must be {choices}", f"只能是 {re.sub(' or |, ', '、', choices)}"), NO_HINT
        case _:
            return Text(error["msg"], f"取值不正确（{error['msg']}）"), known
