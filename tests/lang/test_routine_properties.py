"""Routine text says what it can say without a loss, in both languages."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lang.strategies import SETTINGS, TOOLS, procedures, sayable_procedures

from sopwith.errors import ProcedureError
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Procedure, Step
from sopwith.lang.numbering import numbers
from sopwith.lang.routine import read_routine
from sopwith.lang.routine_text import sayable, unsaid, write_routine


@pytest.mark.parametrize("language", ["en", "zh"])
@SETTINGS
@given(procedure=sayable_procedures())
def test_what_is_written_is_read_as_the_same_procedure(procedure: Procedure, language: str) -> None:
    text = write_routine(procedure, language)
    read = read_routine(text).procedure
    assert read == procedure
    assert unsaid(procedure) == ()
    assert write_routine(read, language) == write_routine(
        read_routine(write_routine(read, language)).procedure, language
    )


@pytest.mark.parametrize("language", ["en", "zh"])
@SETTINGS
@given(tool=TOOLS)
def test_a_tool_of_any_script_is_named_without_a_loss(tool: str, language: str) -> None:
    first = {"id": "a", "tool": tool, "do": "look it up, 查一下", "next": [{"to": "b"}]}
    second = {"id": "b", "name": "Again", "tool": tool, "as": "found", "end": "complete"}
    procedure = Procedure(
        id="p", start="a", steps={"a": Step.model_validate(first), "b": Step.model_validate(second)}
    )
    text = write_routine(procedure, language)
    assert tool in text
    assert read_routine(text).procedure == procedure


@SETTINGS
@given(procedure=sayable_procedures())
def test_both_languages_say_the_same(procedure: Procedure) -> None:
    assert (
        read_routine(write_routine(procedure, "en")).procedure
        == read_routine(write_routine(procedure, "zh")).procedure
    )


@SETTINGS
@given(procedure=procedures(), language=st.sampled_from(["en", "zh"]))
def test_any_procedure_is_written_truly_or_refused(procedure: Procedure, language: str) -> None:
    try:
        text = write_routine(procedure, language)
    except ProcedureError as error:
        assert error.hint.zh
        return
    assert read_routine(text).procedure == sayable(procedure)


@st.composite
def disarranged(draw: st.DrawFn) -> str:
    """A right text whose lines were moved, left out, doubled, joined, or numbered otherwise."""
    lines = write_routine(draw(sayable_procedures()), draw(st.sampled_from(["en", "zh"]))).splitlines()
    for _ in range(draw(st.integers(1, 4))):
        i, j = (draw(st.integers(0, len(lines) - 1)) for _ in "ij")
        match draw(st.sampled_from(["leave out", "swap", "double", "join", "number"])):
            case "leave out" if len(lines) > 1:
                lines.pop(i)
            case "swap":
                lines[i], lines[j] = lines[j], lines[i]
            case "double":
                lines.insert(j, lines[i])
            case "join":
                lines[i] += " " + lines[j]
            case _:
                digit = draw(st.sampled_from("123456-"))
                lines[i] = lines[i].replace(digit, draw(st.sampled_from(["1", "2", "", "-", " "])), 1)
    return "\n".join(lines)


@SETTINGS
@given(disarranged())
def test_a_disarranged_text_is_read_or_refused_with_places(text: str) -> None:
    try:
        document = read_routine(text, "r.txt")
    except ProcedureError as error:
        places = [cast("Diagnostic", d).place for d in error.diagnostics]
        assert places
        assert all(place.file == "r.txt" and 1 <= place.line <= text.count("\n") + 1 for place in places)
        return
    assert set(numbers(document.procedure)) == set(document.procedure.steps)


@SETTINGS
@given(
    st.text(
        st.sampled_from(
            "Step 步骤分支Branch1-2.:：，。`if如果 otherwise\n,using the x tool并结束流程go to转到(a)"
        ),
        max_size=120,
    )
)
def test_any_text_is_read_or_refused_with_places(text: str) -> None:
    try:
        document = read_routine(text)
    except ProcedureError as error:
        assert error.diagnostics
        return
    assert set(numbers(document.procedure)) == set(document.procedure.steps)
