"""What is mentioned in words: tools, in backticks, as a call, or as “using the X tool”; and names of values."""

from __future__ import annotations

import re

from sopwith.errors import Text
from sopwith.ir.diagnostic import Place
from sopwith.lang.problem import Problems

_NAME = r"[A-Za-z_][A-Za-z0-9_\-]*(?:\.[A-Za-z_][A-Za-z0-9_\-]*)*"
_MENTION = re.compile(
    rf"`(?P<ticked>{_NAME})(?:\([^()`]*\))?`"
    rf"|\b(?:using|use|uses|call|calls|with)\s+(?:the\s+)?(?P<en>{_NAME})\s+tool\b"
    rf"|(?:使用|调用|用)\s*(?P<zh>{_NAME})\s*工具"
    rf"|(?<![\w.`\-])(?P<called>{_NAME})\([^()]*\)",
    re.IGNORECASE,
)


def tools_mentioned(words: str) -> tuple[str, ...]:
    """The names of the tools that `words` mention, each once, in their order.

    A name before brackets counts only where it looks like one of a tool: with `_` or `.` in it (`service(s)` does not).
    """
    found: dict[str, None] = {}
    for mention in _MENTION.finditer(words):
        called = mention["called"]
        name = mention["ticked"] or mention["en"] or mention["zh"] or called
        if name != called or re.search(r"[_.]", name):
            found[name] = None
    return tuple(found)


def note_names(needs: str | None, gives: str | None, place: Place, problems: Problems) -> None:
    """Note (SW717) a name in another script after `Input:` or `Output:`, which can only be kept as words."""
    for words, key in ((needs, Text("Input", "输入")), (gives, Text("Output", "输出"))):
        if words is None or words.isascii() or len(words) > _LONGEST or not _ONE_NAME.fullmatch(words):
            continue
        example = Text("order" if key.en == "Input" else "result", "order" if key.en == "Input" else "result")
        problems.warn(
            "SW717",
            place,
            Text(
                f"'{words}' is no name that another step can use: it is kept as words",
                f"“{words}”不能作为供其他步骤使用的名称，仅作文字保留",
            ),
            Text(
                f"give it an ASCII name, and the words in brackets: {key.en}: {example.en} ({words})",
                f"请用英文字母、数字和下划线命名，原文放入括号：{key.zh}：{example.zh}（{words}）",
            ),
        )


_LONGEST = 12
_ONE_NAME = re.compile(r"\w+")
