"""A procedure from a file or a text, in whichever form it is written."""

from __future__ import annotations

import re
from pathlib import Path

from sopwith.lang.document import Document
from sopwith.lang.text_file import read_text_file
from sopwith.lang.yaml import read_yaml

_ROUTINE = re.compile(r"(?im)^[ \t　\-*•]*(?:(?:step|步骤)\s*[0-9０-９]|(?:branch|分支)\s*[0-9０-９])")
_YAML = re.compile(r"(?m)^(?:schema|id|steps|start)\s*:")
_YAML_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_TEXT_SUFFIXES = frozenset({".txt", ".md", ".routine"})


def read(path_or_text: Path | str, file: str | None = None) -> Document:
    """The procedure in a file (a `Path`, or a text of one line that names one) or in a text.

    The form is told by the suffix, else by the content: YAML, or Routine text. `file` is the name for places.
    Raises `ProcedureError` for what cannot be read as a procedure and `UserError` for a file that cannot be
    opened.
    """
    if isinstance(path_or_text, Path):
        shown = file or str(path_or_text)
        return _parse(read_text_file(path_or_text, shown), shown, path_or_text.suffix)
    if _names_a_file(path_or_text):
        return read(Path(path_or_text), file or path_or_text)
    return _parse(path_or_text, file or "<text>", Path(file or "").suffix)


def _names_a_file(text: str) -> bool:
    known = "\n" not in text and len(text) < 1000 and Path(text).suffix in _YAML_SUFFIXES | _TEXT_SUFFIXES
    return known and _ROUTINE.match(text) is None


def _parse(text: str, file: str, suffix: str) -> Document:
    routine = suffix in _TEXT_SUFFIXES or (
        suffix not in _YAML_SUFFIXES and _YAML.search(text) is None and _ROUTINE.search(text) is not None
    )
    if not routine:
        return read_yaml(text, file)
    from sopwith.lang.routine import read_routine  # its patterns take long to compile

    return read_routine(text, file)
