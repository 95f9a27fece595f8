"""Every code is explained in both languages, and the procedure shown for it has exactly that problem."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.lang.check.tools import LIBRARY, NOW, TOOLS

from sopwith.find.codes import FIND_CODES
from sopwith.lang.check import check
from sopwith.lang.check.codes import CODES, LIBRARY_CODES
from sopwith.lang.yaml import read_yaml
from sopwith.tools.codes import TOOL_CODES

ROOT = Path(__file__).parents[3]
PAGES = {"en": ROOT / "docs" / "diagnostics.md", "zh": ROOT / "docs" / "diagnostics.zh.md"}
SECTION = re.compile(r"^## (SW\d{3}) (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


def sections(language: str) -> dict[str, tuple[str, str]]:
    text = PAGES[language].read_text(encoding="utf-8")
    return {code: (title, body) for code, title, body in SECTION.findall(text)}


def procedure(fragment: str) -> str:
    """The whole text of a procedure whose head is left out in the page."""
    start = "" if re.search(r"^start:", fragment, re.MULTILINE) else f"start: {first_step(fragment)}\n"
    return f"schema: sopwith/procedure/1\nid: example\n{start}{fragment}"


def first_step(fragment: str) -> str:
    found = re.search(r"^steps:\n  (\w+):", fragment, re.MULTILINE)
    assert found is not None
    return found[1]


SHOWN = [
    pytest.param(code, block[1], id=code)
    for code, (_, body) in sections("en").items()
    if code in CODES and (block := BLOCK.search(body))
]


@pytest.mark.parametrize(("code", "fragment"), SHOWN)
def test_the_procedure_shown_has_exactly_that_problem(code: str, fragment: str) -> None:
    document = read_yaml(procedure(fragment), "example.yaml")
    found = check(document, TOOLS, LIBRARY, NOW)
    assert {d.code for d in found} == {code}, [d.render() for d in found]
    for diagnostic in found:
        assert diagnostic.message.en and diagnostic.message.zh
        assert diagnostic.place.file == "example.yaml" and diagnostic.place.line > 2


def test_every_code_that_the_sources_report_is_registered() -> None:
    folder = ROOT / "src" / "sopwith" / "lang" / "check"
    used = {
        code for file in folder.glob("*.py") for code in re.findall(r'"(SW\d{3})"', file.read_text("utf-8"))
    }
    assert used == {*CODES, *LIBRARY_CODES}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_code_in_the_sources_has_a_section(language: str) -> None:
    folder = ROOT / "src" / "sopwith" / "lang"
    used = {
        code for file in folder.rglob("*.py") for code in re.findall(r'"(SW\d{3})"', file.read_text("utf-8"))
    }
    assert used - set(sections(language)) == set()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_sections_are_sorted_and_carry_their_titles(language: str) -> None:
    found = sections(language)
    assert list(found) == sorted(found)
    titles = {**CODES, **LIBRARY_CODES, **TOOL_CODES, **FIND_CODES}
    assert {code: found[code][0] for code in titles} == {c: t.in_(language) for c, t in titles.items()}


def test_both_pages_show_the_same_procedures() -> None:
    shown = {language: [BLOCK.findall(body) for _, body in sections(language).values()] for language in PAGES}
    assert shown["en"] == shown["zh"]
