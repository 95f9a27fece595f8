"""A flowchart as data: boxes with words, and arrows between them. What Mermaid and Graphviz have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from sopwith.errors import Text
from sopwith.ir.diagnostic import Place

OTHERWISE = Text("otherwise", "否则")
ON_ERROR = Text("on error", "出错时")
"""What an arrow says that no condition is written on."""


class Shape(StrEnum):
    """What a shape says about its box. The forms are those of ISO 5807, where it has one."""

    STEP = "step"
    CHOICE = "choice"
    QUESTION = "question"
    END = "end"
    ESCALATE = "escalate"
    MARK = "mark"


@dataclass(frozen=True, slots=True)
class Box:
    """One box. `key` is its id in the text; `words` are its label without the tool that it names on a line of its own.

    A `MARK` is a small shape without words, such as the dot where a chart begins.
    """

    key: str
    words: str
    shape: Shape = Shape.STEP
    tool: str | None = None
    place: Place = field(default_factory=Place)


@dataclass(frozen=True, slots=True)
class Arrow:
    """One arrow, from box to box by their keys; `words` is its label. `after_error` holds in what is written;
    a reader finds it in the words."""

    tail: str
    head: str
    words: str = ""
    place: Place = field(default_factory=Place)
    after_error: bool = False


@dataclass(slots=True)
class Chart:
    """The boxes by their keys and the arrows, both in the order of the text.

    `id` is the name of the chart in code and `title` its name for people, where it has them.
    """

    id: str = ""
    title: str = ""
    boxes: dict[str, Box] = field(default_factory=dict[str, Box])
    arrows: list[Arrow] = field(default_factory=list[Arrow])
