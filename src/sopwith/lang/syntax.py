"""What the YAML parser says, told as a problem with a place, a sentence and a remedy."""

from __future__ import annotations

from typing import Any, cast

from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from sopwith.errors import Text
from sopwith.ir.diagnostic import Place
from sopwith.lang.problem import Problems

LOOK_BEFORE = Text(
    "look at the indentation, the quotes and the brackets just before this place",
    "请检查此处之前的缩进、引号和括号",
)


def syntax_problem(error: YAMLError, text: str, problems: Problems) -> None:
    """Add what stopped the parser to `problems`."""
    file = problems.file
    if isinstance(error, ReaderError):
        failure = cast("Any", error)
        before, character = text[: failure.position], _code_point(failure.character)
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        problems.add(
            "SW101",
            Place(file=file, line=line, column=column),
            Text(
                f"the character {character} is not allowed in YAML",
                f"YAML 不允许字符 {character}",
            ),
            Text("remove it", "请删除它"),
        )
        return
    failure = cast("Any", error)
    mark = failure.problem_mark or failure.context_mark if isinstance(error, MarkedYAMLError) else None
    place = Place(file=file) if mark is None else Place(file=file, line=mark.line + 1, column=mark.column + 1)
    said = str(getattr(failure, "problem", None) or failure).split("\n")[0]
    message, hint = _explain(said, _line(text, place.line))
    problems.add("SW101", place, message, hint)


def _code_point(character: object) -> str:
    return f"U+{ord(character):04X}" if isinstance(character, str) else f"U+{cast('int', character):04X}"


def _line(text: str, number: int) -> str:
    found = text.splitlines()[number - 1 : number]
    return found[0] if found else ""


def _explain(said: str, line: str) -> tuple[Text, Text]:
    """A sentence and a remedy for what the parser said."""
    if "\\t" in said or "\t" in line[: len(line) - len(line.lstrip())]:
        return (
            Text("a tab cannot indent YAML", "YAML 不能用制表符缩进"),
            Text("indent with two spaces", "请用两个空格缩进"),
        )
    if "mapping values are not allowed" in said:
        return (
            Text("a second ': ' on one line, or a wrong indentation", "同一行有第二个“: ”，或缩进有误"),
            Text("put a text that contains ': ' in quotes", "含“: ”的文本请加引号"),
        )
    if "cannot start any token" in said:
        return (
            Text(f"a value cannot begin like this: {line.strip()}", f"值不能这样开头：{line.strip()}"),
            Text("put the text in quotes", "请给文本加引号"),
        )
    if "unexpected end of stream" in said or "<stream end>" in said:
        return (
            Text("the text ends inside a quotation or a bracket", "文本在引号或括号内就结束了"),
            Text("close the quotation mark or bracket", "请补上引号或括号"),
        )
    if "undefined alias" in said:
        return (
            Text("aliases are not read", "不支持别名"),
            Text("a text that begins with '*' needs quotes", "以“*”开头的文本要加引号"),
        )
    return Text(f"not YAML: {said}", f"不是有效的 YAML：{said}"), LOOK_BEFORE
