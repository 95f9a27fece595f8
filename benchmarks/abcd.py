"""The guidelines of the ABCD benchmark as drafts: how many of its flows are read into steps without a model.

Each of the 55 flows becomes the Markdown that somebody would have typed: the name, the instructions, the actions as a
numbered list with the button as a tool, their remarks as bullets. It is read by the reader of Markdown drafts. A flow
counts as read where every action has a step, all words are in it (nothing is noted as unread or in doubt), and `check`
finds no error. For every other flow the reasons are told: the codes of what was noted or wrong.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sopwith.errors import ProcedureError
from sopwith.ir.diagnostic import Diagnostic
from sopwith.lang.check import check
from sopwith.lang.check.codes import CODES
from sopwith.lang.document import Document
from sopwith.lang.markdown_text import read_markdown
from sopwith.lang.routine_text import write_routine

DATA = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[2] / "shared" / "bench")
GUIDELINES = DATA / "abcd" / "guidelines.json"
_NO_BUTTON = "N/A"
_UNREAD = re.compile(r"SW7[01]\d")


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow: its name, its draft, the number of its actions, and the reasons why it does not count as read."""

    name: str
    draft: str
    actions: int
    steps: int
    reasons: tuple[str, ...]

    @property
    def read(self) -> bool:
        """Whether it was read into steps, with nothing left over."""
        return not self.reasons


def flows(file: Path = GUIDELINES) -> list[Flow]:
    """All flows of the guidelines, read. Raises `FileNotFoundError` where the data is not there."""
    guidelines = json.loads(file.read_text(encoding="utf-8"))
    return [
        _read(f"{flow}: {name}", subflow)
        for flow, held in guidelines.items()
        for name, subflow in held["subflows"].items()
    ]


def share(found: list[Flow]) -> tuple[int, int]:
    """How many flows were read, of how many."""
    return sum(one.read for one in found), len(found)


def reasons(found: list[Flow]) -> Counter[str]:
    """How many flows have each reason."""
    return Counter(reason for one in found for reason in one.reasons)


def draft_of(name: str, subflow: dict[str, Any]) -> str:
    """A flow as the Markdown that somebody would have typed."""
    lines = [f"# {name}", ""]
    for words in subflow["instructions"]:
        lines += [_plain(words), ""]
    for i, action in enumerate(subflow["actions"], 1):
        lines.append(f"{i}. {_with_tool(_plain(action['text']), action['button'])}")
        for words in action["subtext"]:
            first, *inner = _plain(words).split(" > ")
            lines.append(f"   - {first}")
            lines += [f"     - {one}" for one in inner]
    return "\n".join(lines) + "\n"


def _with_tool(words: str, button: str) -> str:
    if button == _NO_BUTTON:
        return words
    tool = re.sub(r"[^a-z0-9]+", "_", button.lower()).strip("_")
    return f"{words.rstrip('.: ')}, using the {tool} tool"


def _plain(words: str) -> str:
    """The words on one line; a button in square brackets is only its name."""
    return re.sub(r"\[([^\]]*)\]", r"\1", " ".join(words.split())).replace("<", "(").replace(">", ">")


def _read(name: str, subflow: dict[str, Any]) -> Flow:
    draft, actions = draft_of(name, subflow), len(subflow["actions"])
    try:
        document = read_markdown(draft, f"{name}.md")
    except ProcedureError as error:
        codes = tuple(dict.fromkeys(d.code for d in error.diagnostics if isinstance(d, Diagnostic)))
        return Flow(name, draft, actions, 0, codes)
    return Flow(
        name, draft, actions, len(document.procedure.steps), tuple(dict.fromkeys(_reasons(document, actions)))
    )


def _reasons(document: Document, actions: int) -> Iterator[str]:
    if len(document.procedure.steps) < actions:
        yield "fewer steps than actions"
    for one in check(document):
        if one.severity == "error" or _UNREAD.fullmatch(one.code):
            yield f"{one.code} {CODES[one.code].en}" if one.code in CODES else one.code
    try:
        write_routine(document.procedure)
    except ProcedureError:
        yield "not sayable as Routine text"
