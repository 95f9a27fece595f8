"""Routine text says what it can say without a loss, in both languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lang.strategies import SETTINGS, procedures, sayable_procedures

from sopwith.errors import ProcedureError
from sopwith.ir.procedure import Procedure
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
