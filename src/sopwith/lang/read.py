"""A procedure from a file or a text, in whichever form it is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from sopwith.lang.document import Document
from sopwith.lang.source import HALF
from sopwith.lang.text_file import read_text_file
from sopwith.lang.yaml import read_yaml

SKILL = "SKILL.md"
WORD = ".docx"
_FORMS = {
    ".yaml": "yaml", ".yml": "yaml", ".json": "yaml", ".txt": "routine", ".routine": "routine", ".md": "markdown",
    ".markdown": "markdown", ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot",
}  # fmt: skip
"""The form that a suffix stands for."""
SUFFIXES = frozenset({*_FORMS, WORD})
YAML_SUFFIXES = frozenset(suffix for suffix, form in _FORMS.items() if form == "yaml")
_ROUTINE = re.compile(r"(?im)^[ \t　\-*•]*(?:(?:step|步骤)\s*[0-9０-９]|(?:branch|分支)\s*[0-9０-９])")
_YAML = re.compile(r"(?m)^(?:schema|id|steps|start)\s*:")
_FRONT = r"\s*(?:---[ \t]*\n(?:(?!---[ \t]*\n)[^\n]*\n){0,50}---[ \t]*\n)?"
_MERMAID = re.compile(_FRONT + r"(?:\s|%%[^\n]*)*(?:flowchart|graph)\s+(?:TB|TD|BT|RL|LR)\b")
_DOT = re.compile(
    r"(?:\s|//[^\n]*|/\*.*?\*/|#[^\n]*)*(?:strict\s+)?(?:di)?graph\b[^{\n]{0,200}\{",
    re.DOTALL | re.IGNORECASE,
)
_MARKDOWN = re.compile(r"(?m)^ {0,3}(?:#{1,6} \S|[0-9]{1,6}[.)] \S|\|.+\|)|^\s*(?:```|~~~)\s*mermaid")
_BEGINNING = 20_000


def read(path_or_text: Path | str, file: str | None = None) -> Document:
    """The procedure in a file or folder (a `Path`, or a text of one line that names one) or in a text.

    The form is told by the suffix, else by the content: YAML, Routine text, a Mermaid or Graphviz flowchart, a draft in
    Markdown or Word, or a skill (`SKILL.md` or its folder). `file` is the name for places; what was read with a doubt
    is in `Document.notes`. Raises `ProcedureError` for what cannot be read as a procedure and `UserError` for a file
    that cannot be opened.
    """
    if isinstance(path_or_text, Path):
        shown = file or str(path_or_text)
        path = procedure_file(path_or_text)
        if path.name == SKILL:
            from sopwith.lang.skill import read_skill

            return read_skill(path, shown if path == path_or_text else str(Path(shown, SKILL)))
        if path.suffix.lower() == WORD:
            from sopwith.lang.word import read_word

            return read_word(path, shown)
        return _parse(read_text_file(path, shown), shown, path.suffix.lower())
    if _names_a_file(path_or_text):
        return read(Path(path_or_text), file or path_or_text)
    return _parse(path_or_text, file or "<text>", Path(file or "").suffix.lower())


def procedure_file(path: Path) -> Path:
    """`path`, or the `SKILL.md` in it where it is the folder of a skill."""
    inside = path / SKILL
    return inside if path.is_dir() and inside.is_file() else path


def _names_a_file(text: str) -> bool:
    known = "\n" not in text and len(text) < 1000 and Path(text).suffix.lower() in SUFFIXES
    return known and _ROUTINE.match(text) is None


def form_of(text: str, suffix: str = "") -> str:
    """The form of a text: what its suffix stands for, else what its content looks like."""
    if suffix in _FORMS:
        return _FORMS[suffix]
    beginning = text.removeprefix("\ufeff")[:_BEGINNING]
    for form, pattern in (("mermaid", _MERMAID), ("dot", _DOT)):
        if pattern.match(beginning) is not None:
            return form
    for form, pattern in (("yaml", _YAML), ("routine", _ROUTINE), ("markdown", _MARKDOWN)):
        if pattern.search(beginning) is not None:
            return form
    return "yaml"


def _parse(text: str, file: str, suffix: str) -> Document:
    return _reader(form_of(text, suffix))(HALF.sub("\N{REPLACEMENT CHARACTER}", text), file)


def _reader(form: str) -> Callable[[str, str], Document]:
    """The reader of a form, imported when it is needed: some take long to import."""
    if form == "routine":
        from sopwith.lang.routine import read_routine

        return read_routine
    if form == "markdown":
        from sopwith.lang.markdown_text import read_markdown

        return read_markdown
    if form == "mermaid":
        from sopwith.lang.mermaid_text import read_mermaid

        return read_mermaid
    if form == "dot":
        from sopwith.lang.dot_text import read_dot

        return read_dot
    return read_yaml
