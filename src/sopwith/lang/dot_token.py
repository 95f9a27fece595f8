"""The tokens of the DOT language. Source: https://graphviz.org/doc/info/lang.html."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sopwith.errors import Text
from sopwith.lang.problem import Problems
from sopwith.lang.source import Source

Kind = Literal["id", "html", "mark", "end"]

_SKIP = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|(?<![^\n])#[^\n]*)+", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*")
_NUMBER = re.compile(r"-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)")
_QUOTED = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"', re.DOTALL)
_MARK = re.compile(r"->|--|[{}\[\];,=:+]")
_ANGLE = re.compile(r"[<>]")


@dataclass(frozen=True, slots=True)
class Token:
    """One token. An `id` is a name, a number or a quoted text (`quoted`), an `html` one a label in angle brackets."""

    kind: Kind
    text: str
    at: int
    quoted: bool = False

    def is_(self, *words: str) -> bool:
        """Whether it is one of these marks, or of these key words, whose case does not matter."""
        return not self.quoted and self.kind in ("mark", "id") and self.text.lower() in words


def tokens(source: Source, problems: Problems) -> Iterator[Token]:
    """The tokens of a text, the last of them an `end`. At what is no token they end, with a problem (SW701)."""
    text, at = source.text, 0
    while True:
        skipped = _SKIP.match(text, at)
        at = skipped.end() if skipped is not None else at
        if at >= len(text):
            break
        token = _token(text, at)
        if token is None:
            said = text[at : at + 20].split("\n")[0]
            problems.add(
                "SW701",
                source.place(at),
                Text(f"this cannot be read: {said}", f"无法读取：{said}"),
                Text("close what is open: quotes, <…> and comments", "请补全引号、<…> 或注释的结尾"),
            )
            break
        found, at = token
        yield found
    yield Token("end", "", at)


def _token(text: str, at: int) -> tuple[Token, int] | None:
    """The token at an offset, and where it ends."""
    quoted = _QUOTED.match(text, at)
    if quoted is not None:
        # Only these are escapes of the language; all others belong to labels.
        inside = quoted["text"].replace("\\\n", "").replace('\\"', '"')
        return Token("id", inside, at, quoted=True), quoted.end()
    if text[at] == "<":
        end = _closing_angle(text, at)
        return None if end is None else (Token("html", text[at + 1 : end], at), end + 1)
    name = _NAME.match(text, at) or _NUMBER.match(text, at)
    if name is not None:
        return Token("id", name.group(), at), name.end()
    mark = _MARK.match(text, at)
    return None if mark is None else (Token("mark", mark.group(), at), mark.end())


def _closing_angle(text: str, at: int) -> int | None:
    """The bracket that closes the one at `at`."""
    depth = 0
    for angle in _ANGLE.finditer(text, at):
        depth += 1 if angle.group() == "<" else -1
        if depth == 0:
            return angle.start()
    return None
