"""The pages about the file explain every key and every code of reading, and what they show is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sopwith.errors import ProcedureError
from sopwith.lang.check import check
from sopwith.lang.fields import EDGE, PROCEDURE, STEP
from sopwith.lang.read import read

DOCS = Path(__file__).parents[2] / "docs"
HEAD = "schema: sopwith/procedure/1\nid: p\nstart: a\n"
SECTIONS = {
    language: re.findall(
        r"^## (SW1\d\d) .+?\n\n```text\n(.*?)```", (DOCS / name).read_text("utf-8"), re.M | re.S
    )
    for language, name in (("en", "diagnostics.md"), ("zh", "diagnostics.zh.md"))
}


@pytest.mark.parametrize("name", ["procedure.md", "procedure.zh.md"])
def test_every_key_is_explained(name: str) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    assert {key for key in (*PROCEDURE, *STEP, *EDGE) if f"`{key}`" not in text} == set()


def test_both_languages_show_the_same_codes_and_lines() -> None:
    assert SECTIONS["en"] == SECTIONS["zh"]
    assert len(SECTIONS["en"]) == 18


def whole(code: str, lines: str) -> str:
    """The shown lines as a whole text; the ellipsis of a long one is filled in."""
    if code >= "SW120":
        return lines
    if lines.startswith("schema:"):
        return lines
    if lines.startswith("steps:"):
        return HEAD + lines
    return (
        HEAD
        + "steps:\n  a:\n"
        + "".join(f"    {line}\n" for line in lines.replace(" … ", "[" * 60).splitlines())
    )


@pytest.mark.parametrize(("code", "lines"), SECTIONS["en"])
def test_the_lines_shown_have_that_problem(code: str, lines: str) -> None:
    with pytest.raises(ProcedureError) as raised:
        read(whole(code, lines))
    assert {d.code for d in raised.value.diagnostics} == {code}  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("name", ["procedure.md", "procedure.zh.md"])
def test_the_first_procedure_of_the_page_passes_its_checks(name: str) -> None:
    block = re.search(r"```yaml\n(.*?)```", (DOCS / name).read_text("utf-8"), re.S)
    assert block is not None
    assert [d.render() for d in check(read(block[1]), None) if d.severity == "error"] == []
