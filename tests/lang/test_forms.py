"""Whatever is written in any form is read, or refused with a code, a place and a remedy in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lang.strategies import ANY_TEXT

from sopwith.errors import ProcedureError, UserError
from sopwith.ir.diagnostic import Diagnostic
from sopwith.lang.check import check
from sopwith.lang.form import form_of
from sopwith.lang.read import read
from sopwith.lang.write import SUFFIXES, left_out, write

ROOT = Path(__file__).parents[2]
SUFFIX = {"mermaid": ".mmd", "dot": ".dot", "markdown": ".md", "routine": ".txt", "yaml": ".yaml"}
HEADS = {
    "mermaid": "flowchart TD\n",
    "dot": "digraph {\n",
    "markdown": "# T\n",
    "routine": "",
    "yaml": "id: p\n",
}
PIECES = st.sampled_from(
    [
        "a", "b1", "节点", "-->", "->", "--", "-- x -->", "|yes|", "|", "[", "]", "{", "}", "((",
        "))", "([x])", "{{x}}", '"', "`", "`a.b`", "<b>", "<![x", "</", "<br/>", "#34;", "#x;",
        "#99999999;", "&", ";", ":", ":::", "@{", "%%", "=", "subgraph ", "end", "graph", "node",
        "label=", "digraph", "strict", "/*", "//", "\\", "\\n", "+", ",", "\n", "\n\n", "  ", "\t",
        "1. ", "2) ", "- ", "   - ", "# ", "## ", "```", "```mermaid\nflowchart TD\n",
        "| a | b |\n|---|---|\n", "| 条件 | 操作 |\n|---|---|\n| x | y |\n", "if x, y",
        "如果 x，则 y，否则转到第 1 步", "otherwise, ", "go to step 1", "转到步骤 2", "第十步",
        "（一）", "一、", "Step 1. ", "Branch 1-1 Step 1. ", "![x](y)", "---\n", "\x00", "\ud800",
        "\ufeff", "\u2028", "\r", "🙂", "Input: ", "using the x tool", "99999999999999999999", "~~~",
        "<", ">", "(", ")",
    ]
)  # fmt: skip
MIXED = st.lists(st.one_of(PIECES, PIECES, ANY_TEXT), max_size=40).map("".join)


def assert_read_or_refused(text: str, file: str) -> None:
    try:
        document = read(text, file)
    except (ProcedureError, UserError) as error:
        found = error.diagnostics if isinstance(error, ProcedureError) else ()
        assert found, error
        for one in found:
            assert isinstance(one, Diagnostic)
            assert re.fullmatch(r"SW\d{3}", one.code)
            assert one.place.file == file and one.place.line >= 1 and one.place.column >= 1
            assert one.message.en and one.message.zh
        return
    lines = text.count("\n") + text.count("\r") + 1
    assert all(place.line <= lines for place in document.places.values())
    for one in check(document):
        assert one.message.en and one.message.zh
    for form in ("mermaid", "dot", "yaml"):
        left_out(document.procedure, form, write(document.procedure, form))


@pytest.mark.parametrize("form", sorted(SUFFIX))
@settings(deadline=None, max_examples=120)
@given(text=MIXED)
def test_any_text_is_read_or_refused_with_a_place(form: str, text: str) -> None:
    assert_read_or_refused(HEADS[form] + text, f"x{SUFFIX[form]}")


@settings(deadline=None, max_examples=120)
@given(text=MIXED)
def test_any_text_without_a_suffix(text: str) -> None:
    assert_read_or_refused(text, "<text>")


@pytest.mark.parametrize("form", sorted(SUFFIX))
def test_bad_bytes_empty_and_long_files(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{SUFFIX[form]}"
    path.write_bytes(b"\xff\xfe\x80")
    with pytest.raises(UserError, match="not UTF-8"):
        read(path)
    path.write_bytes("流程图".encode("gb18030"))
    with pytest.raises(UserError) as wrong:
        read(path)
    assert "iconv" in wrong.value.hint.en
    for text in ("", HEADS[form] + "a --> b\n1. x\n" * 1_000_000):
        path.write_text(text, "utf-8")
        with pytest.raises(ProcedureError) as raised:
            read(path)
        (found,) = raised.value.diagnostics
        assert isinstance(found, Diagnostic)
        assert (found.place.file, found.place.line) == (str(path), 1)
        assert (found.code == "SW102") == bool(text)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("flowchart TD\n a --> b", "mermaid"), ("graph LR; a-->b", "mermaid"),
        ("---\ntitle: x\n---\ngraph TB\n a", "mermaid"),
        ("%% words\nflowchart LR\n a", "mermaid"), ("digraph { a }", "dot"), ("// c\nstrict graph x {", "dot"),
        ("graph { a -- b }", "dot"), ("Step 1. x", "routine"), ("步骤 1. x", "routine"),
        ("# T\n\n1. Ask\n", "markdown"),
        ("| 步骤 | 操作 |\n", "markdown"), ("id: x\nsteps: {}", "yaml"), ("words", "yaml"), ("", "yaml"),
    ],
)  # fmt: skip
def test_the_content_tells_the_form(text: str, form: str) -> None:
    assert form_of(text) == form
    assert form_of("\ufeff" + text) == form


def test_what_a_form_leaves_out_is_named() -> None:
    document = read(ROOT / "examples" / "leave" / "procedure.yaml")
    text = {form: write(document.procedure, form, "zh") for form in SUFFIXES}
    assert left_out(document.procedure, "yaml", text["yaml"]) == ()
    assert "steps.submit.with" in left_out(document.procedure, "routine", text["routine"])
    assert {"output", "steps.submit.with"} <= set(left_out(document.procedure, "dot", text["dot"]))


def shown() -> list[tuple[str, str, str]]:
    """The drawings and drafts of the page about diagnostics: code, form, text."""
    page = (ROOT / "docs" / "diagnostics.md").read_text("utf-8")
    return re.findall(r"^## (SW7\d\d) [^\n]+\n\n```(mermaid|dot|markdown)\n(.*?)```", page, re.M | re.S)


@pytest.mark.parametrize(("code", "form", "text"), shown())
def test_what_the_page_shows_has_exactly_that_problem(code: str, form: str, text: str) -> None:
    try:
        found = [*read(text, f"x{SUFFIX[form]}").notes]
    except ProcedureError as error:
        found = [one for one in error.diagnostics if isinstance(one, Diagnostic)]
    assert {one.code for one in found} == {code}
