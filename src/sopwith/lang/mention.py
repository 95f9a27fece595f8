"""Tools that are mentioned in words: in backticks, as a call, or as “using the X tool”."""

from __future__ import annotations

import re

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
