"""A procedure from a file or a text, in whichever form it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sopwith.lang.document import Document
from sopwith.lang.form import SKILL, WORD, form_of, names_a_file, procedure_file
from sopwith.lang.source import HALF
from sopwith.lang.text_file import read_text_file
from sopwith.lang.yaml import read_yaml


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
    if names_a_file(path_or_text):
        return read(Path(path_or_text), file or path_or_text)
    return _parse(path_or_text, file or "<text>", Path(file or "").suffix.lower())


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
