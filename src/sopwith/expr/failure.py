"""What can go wrong in an expression, told from the library's own words, in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sopwith.errors import NO_HINT, ExpressionError, Text

FailureKind = Literal["name", "types", "key", "field", "value", "budget", "syntax"]


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure: its kind, a sentence, a remedy, and the column it was found at (1 where not known)."""

    kind: FailureKind
    message: Text
    hint: Text = NO_HINT
    column: int = 1

    def error(self, source: str) -> ExpressionError:
        """The same as an exception about `source`."""
        return ExpressionError(source, self.message, self.hint, self.column)


_STATUS = re.compile(r"^[A-Z_]+: ")
_PLACE = re.compile(r"ERROR: <input>:(\d+):(\d+): (?:Syntax error: )?(.*)")
_NAME = re.compile(r'No value with name "(.*)" found')
_OVERLOAD = re.compile(r"No matching overloads found : (.*)$", re.DOTALL)
_KEY = re.compile(r'Key not found in map : "?(.*?)"?$', re.DOTALL)
_SIGNATURE = re.compile(r"^(?:\((\w+)\)\.)?(.+?)(?:\((.*)\))?$", re.DOTALL)
_NUMBERS = frozenset({"int64", "uint64", "double"})
_CONDITIONS = frozenset({"<jump_condition>", "_&&_", "_||_", "!_", "<loop_condition>"})
_WORDS = {"int64": "int", "uint64": "uint", "null_type": "null"}


def run_failure(raw: str) -> Failure:
    """The failure of an evaluation, from the library's text."""
    if found := _NAME.search(raw):
        name = found[1]
        return Failure("name", Text(f"the name '{name}' has no value here", f"此处名称“{name}”没有值"))
    if found := _OVERLOAD.search(raw):
        return _types_failure(found[1])
    if found := _KEY.search(raw):
        key = found[1]
        return Failure(
            "key",
            Text(f"there is no field '{key}'", f"没有字段“{key}”"),
            Text("Guard a field that may be missing with has(…).", "对可能缺失的字段，先用 has(…) 判断。"),
        )
    if "Applying SELECT" in raw or "Invalid container type" in raw:
        return Failure(
            "field", Text("a field is read from a value that is not an object", "在不是对象的值上读取字段")
        )
    if "Iteration budget" in raw:
        return Failure(
            "budget",
            Text("the expression takes more than 10,000 iterations", "表达式的循环超过 10,000 次"),
            Text("Loop over shorter lists, or do it in a tool.", "请缩短列表，或改用工具完成。"),
        )
    for words, text in _VALUES:
        if words in raw:
            return Failure("value", text)
    words = _STATUS.sub("", raw).split("\n")[0].removesuffix("]").strip()
    return Failure("value", Text(words, f"求值失败：{words}"))


_VALUES = (
    ("divide by zero", Text("a division by zero", "除数为零")),
    ("modulus by zero", Text("a remainder by zero", "对零取余")),
    ("overflow", Text("the result is outside the whole numbers of 64 bits", "结果超出 64 位整数的范围")),
    ("out of range for", Text("a whole number has more than 64 bits", "整数超过 64 位")),
    ("Index error", Text("the list has no item at this index", "列表中没有该下标的元素")),
    ("construction from null", Text("a text is not valid Unicode", "文本不是合法的 Unicode")),
)


def _types_failure(signature: str) -> Failure:
    if signature in _CONDITIONS:
        return Failure(
            "types",
            Text("a condition is not true or false", "条件的值不是 true 或 false"),
            Text("Compare the value with something: x == …, x > …", "请写成比较：x == …、x > …"),
        )
    found = _SIGNATURE.match(signature)
    target, function, args = (found[1], found[2], found[3]) if found else (None, signature, None)
    kinds = [_WORDS.get(k, k) for k in (*([target] if target else []), *(args or "").split(", ")) if k]
    symbol = function.strip("_@") if function.startswith(("_", "-_", "@")) else f"{function}()"
    symbol = "-" if function == "-_" else symbol
    listed = ", ".join(kinds) or "?"
    message = Text(f"'{symbol}' does not take {listed}", f"“{symbol}”不能用于 {listed}")
    raw_kinds = set((args or "").split(", "))
    if function.startswith("_") and len(raw_kinds) == 2 and raw_kinds <= _NUMBERS:
        return Failure("types", message, MIXED)
    if "null" in kinds:
        return Failure("types", message, NULLED)
    return Failure("types", message)


MIXED = Text(
    "Whole numbers and fractions do not mix: wrap each side in double(…).",
    "整数与小数不能混算：请把两边都写成 double(…)。",
)
NULLED = Text("Guard it first: x != null && …", "请先判断：x != null && …")


def parse_failure(raw: str) -> Failure:
    """The failure of a parse, from the library's text: the first problem it reports."""
    if "recursion" in raw:
        return Failure(
            "syntax",
            Text("the expression is nested more than 32 levels deep", "表达式的嵌套超过 32 层"),
            Text("Split it over several steps, or use a tool.", "请拆成多个步骤，或改用工具。"),
        )
    found = _PLACE.search(raw)
    if found is None:
        words = _STATUS.sub("", raw).split("\n")[0]
        return Failure("syntax", Text(f"not an expression: {words}", f"不是表达式：{words}"))
    column, words = int(found[2]), found[3]
    return Failure("syntax", *_syntax_words(words), column)


def _syntax_words(words: str) -> tuple[Text, Text]:
    words = words.split(" expecting ")[0]
    if "<EOF>" in words:
        return Text("the expression ends too early", "表达式不完整"), NO_HINT
    if words.startswith("reserved identifier: "):
        name = words.removeprefix("reserved identifier: ")
        return Text(f"'{name}' is a reserved word", f"“{name}”是保留字"), NO_HINT
    if "has()" in words:
        return Text("has(…) takes a field, as in has(a.b)", "has(…) 的参数须为字段，如 has(a.b)"), NO_HINT
    if words.startswith("token recognition error at: "):
        token = words.removeprefix("token recognition error at: ").strip("'")
        return Text(f"'{token}' cannot stand here", f"此处不能出现“{token}”"), _token_hint(token)
    if " input " not in words:
        words = words.removesuffix(" [INVALID_ARGUMENT]")
        return Text(f"not an expression: {words}", f"不是表达式：{words}"), NO_HINT
    token = words.rpartition(" input ")[2].strip("'")
    return Text(f"'{token}' is unexpected here", f"此处不应出现“{token}”"), _token_hint(token)


def _token_hint(token: str) -> Text:
    if not token.isascii():
        return Text(
            "Names are ASCII; write a Chinese key as a['天数'] and text in quotes.",
            "名称只能用 ASCII 字母；中文键写成 a['天数']，文本须加引号。",
        )
    if token.startswith("="):
        return Text("Equality is '=='.", "相等写作“==”。")
    if token in ("and", "or", "not"):
        return Text("Write &&, || and !.", "请写 &&、|| 和 !。")
    return NO_HINT
