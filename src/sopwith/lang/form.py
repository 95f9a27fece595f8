"""The forms in which a procedure is written, told by the suffix of a file or by what a text looks like."""

from __future__ import annotations

import re
from pathlib import Path

SKILL = "SKILL.md"
CALLED = "references/called"
"""The folder in a skill that holds the procedures that it calls."""
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
_SCHEMA = re.compile(r"^[\s{]*[\"']?schema[\"']?\s*:\s*[\"']?sopwith/procedure/", re.MULTILINE)
_FIRST_STEP = re.compile(r"(?im)^(?:[-*•] )?(?:step|步骤)\s*[1１]\s*(?:[(（]\w+[)）])?\s*[.:：。、]")
_FENCED = re.compile(r"^(?P<fence>```+|~~~+)[^\n]*\n.*?(?:^(?P=fence)|\Z)", re.MULTILINE | re.DOTALL)
_OURS = re.compile(r"(?m)^\s+sopwith-(?:id|procedure):")
_DIRECTED = re.compile(r"(?:strict\s+)?digraph\b", re.IGNORECASE)


def procedure_file(path: Path) -> Path:
    """`path`, or the `SKILL.md` in it where it is the folder of a skill."""
    inside = path / SKILL
    return inside if path.is_dir() and inside.is_file() else path


def is_skill(folder: Path) -> bool:
    """Whether a folder is that of a skill."""
    return (folder / SKILL).is_file()


def names_a_file(text: str) -> bool:
    """Whether a text of one line is the name of a file rather than a procedure."""
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


def holds_procedure(text: str, suffix: str) -> bool:
    """Whether the beginning of a file among others says that it is a procedure: so that a README, a policy or a picture
    of something else is none. A draft is only a document until somebody names it."""
    beginning = text.removeprefix("\ufeff")[:_BEGINNING]
    form = form_of(beginning, suffix)
    if form == "yaml":
        return _SCHEMA.search(beginning) is not None
    if form == "mermaid":
        return _MERMAID.match(beginning) is not None
    if form == "dot":
        return _DOT.match(beginning) is not None and _DIRECTED.search(beginning) is not None
    said = _FENCED.sub("", beginning)
    return _FIRST_STEP.search(said) is not None or (suffix == ".md" and _OURS.search(said) is not None)
