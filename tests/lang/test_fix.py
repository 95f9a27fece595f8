"""Procedures broken in one way that has one remedy are whole again after it; everything else stays as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lang.check.tools import TOOLS
from tests.lang.strategies import FEW

from sopwith.errors import ProcedureError, Text
from sopwith.ir.diagnostic import Diagnostic, Edit, Place, Severity
from sopwith.ir.value import Json
from sopwith.lang.check import check
from sopwith.lang.comments import Comments
from sopwith.lang.document import Document
from sopwith.lang.edit import edited
from sopwith.lang.fix import fix
from sopwith.lang.layout import lay_out
from sopwith.lang.yaml import format_yaml, read_yaml

WHOLE = """\
schema: sopwith/procedure/1
id: leave
tools: [hr.balance, hr.submit]
inputs:
  user_id: {type: string, from: run.principal.id}
  kind: {enum: [annual, sick, personal]}
output:
  type: object
  required: [status]
  properties:
    status: {type: string}
start: look_up
steps:
  # what is left
  look_up:
    tool: hr.balance  # reads
    with:
      user_id: ${inputs.user_id}
    as: left
    next:
      - to: submit
        when: left.days >= 1.0 && inputs.kind == 'annual'
      - to: human
        when: inputs.kind == 'sick'
      - otherwise: human
  submit:
    tool: hr.submit
    with:
      user_id: ${inputs.user_id}
      days: 1
    verify: submit.status == 'ok'
    on_error: human
    next: done
  done:
    answer: Say that ${left.days} days were left.
    end: complete
    result:
      status: ${submit.status}
  human:
    end: escalate
"""
CANONICAL = format_yaml(WHOLE)


def checked(document: Document) -> list[Diagnostic]:
    return check(document, TOOLS)


BROKEN = {
    "start": ("start: look_up", "start: look_upp"),
    "edge": ("to: submit", "to: sumbit"),
    "short edge": ("next: done", "next: doen"),
    "short failure": ("on_error: human", "on_error: humna"),
    "otherwise": ("otherwise: human", "otherwise: humann"),
    "tool": ("tool: hr.balance", "tool: hr.balanc"),
    "argument": ("      days: 1", "      dayz: 1"),
    "name": ("Say that ${left.days}", "Say that ${lefft.days}"),
    "the step's name": ("Say that ${left.days}", "Say that ${look_up.days}"),
    "an input's name": ("when: inputs.kind == 'sick'", "when: kind == 'sick'"),
    "field": ("left.days >= 1.0", "left.dais >= 1.0"),
    "listed value": ("inputs.kind == 'annual'", "inputs.kind == 'anual'"),
    "result key": ("    result:\n      status:", "    result:\n      statuss:"),
    "fact": ("from: run.principal.id", "from: run.principal.idd"),
    "step key": ("    verify:", "    verfy:"),
    "edge key": ("        when: inputs.kind", "        whem: inputs.kind"),
    "procedure key": ("inputs:\n", "inptus:\n"),
    "word": ("end: complete", "end: complet"),
    "no schema": ("schema: sopwith/procedure/1\n", ""),
    "id in a step": ("    tool: hr.submit", "    id: submit\n    tool: hr.submit"),
    "wrapped": ("when: inputs.kind == 'sick'", "when: ${inputs.kind == 'sick'}"),
    "one equals sign": ("inputs.kind == 'sick'", "inputs.kind = 'sick'"),
    "words for signs": ("1.0 && inputs", "1.0 and inputs"),
    "curved quotes": ("'sick'", "‘sick’"),
    "idle field": ("    answer: Say", "    retry: {times: 2}\n    answer: Say"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_broken_in_one_way_is_whole_again(name: str) -> None:
    right, wrong = BROKEN[name]
    assert WHOLE.count(right) == 1
    fixed = fix(WHOLE.replace(right, wrong), "p.yaml", checked)
    assert fixed.text == WHOLE if not fixed.rewritten else CANONICAL
    assert fixed.rewritten == (name == "idle field")
    assert fixed.left == ()
    assert len(fixed.applied) == 1


def test_several_are_fixed_one_after_the_other_and_then_nothing_is_left_to_do() -> None:
    text = WHOLE
    for name in ("start", "edge", "tool", "argument", "name", "wrapped", "step key", "no schema", "word"):
        text = text.replace(*BROKEN[name])
    fixed = fix(text, "p.yaml", checked)
    assert (format_yaml(fixed.text), fixed.left, len(fixed.applied)) == (CANONICAL, (), 9)
    again = fix(fixed.text, "p.yaml", checked)
    assert (again.text, again.applied) == (fixed.text, ())


@pytest.mark.parametrize(
    ("right", "wrong"), [("hr.submit]", "hr.submt]"), ("    tool: hr.submit", "    tool: hr.submti")]
)
def test_no_fix_permits_a_tool_or_chooses_a_write(right: str, wrong: str) -> None:
    text = WHOLE.replace(right, wrong)
    fixed = fix(text, "p.yaml", checked)
    assert (fixed.text, fixed.applied) == (text, ())
    assert any("hr.submit" in d.hint.en for d in fixed.left)


def test_a_list_of_tools_under_a_misspelled_key_is_left_to_a_person() -> None:
    text = WHOLE.replace("tools: [", "tolls: [")
    assert fix(text, "p.yaml", checked).text == text


def test_what_may_be_one_of_two_is_suggested_as_both_and_not_fixed() -> None:
    text = WHOLE.replace("as: left", "as: left_a").replace("  submit:\n", "  left_b:\n")
    text = text.replace("left.days >= 1.0", "left_a.days >= 1.0").replace("submit.status", "left_b.status")
    text = text.replace("to: submit", "to: left_b").replace("${left.days}", "${left_c.days}")
    fixed = fix(text, "p.yaml", checked)
    assert (fixed.text, fixed.applied) == (text, ())
    hints = [d.hint.en for d in fixed.left if "left_c" in d.message.en]
    assert len(hints) == 1 and "left_a" in hints[0] and "left_b" in hints[0]


def test_only_the_line_that_is_wrong_changes_and_the_change_is_told_in_words() -> None:
    own = WHOLE.replace("    as: left\n", "    as:   'left'   # kept\n").replace("\n", "\r\n")
    wrong = own.replace("to: submit", "to: 'sumbit'")
    fixed = fix(wrong, "p.yaml", checked)
    assert fixed.text == own
    assert fixed.changes == (
        ("'sumbit' → 'submit' in steps.look_up.next[0].to", "steps.look_up.next[0].to：“sumbit”→“submit”"),
    )
    key = fix(WHOLE.replace("    verify:", "    verfy:"), "p.yaml", checked)
    assert key.changes[0].en == "'verfy' → 'verify' in steps.submit"
    missing = fix(WHOLE.replace("schema: sopwith/procedure/1\n", ""), "p.yaml", checked)
    assert missing.changes[0].en == "'schema: sopwith/procedure/1' is added"


def test_what_is_whole_is_not_touched_not_even_its_form() -> None:
    loose = WHOLE.replace("tool: hr.balance  #", "tool:   'hr.balance'   #")
    assert fix(loose, "p.yaml", checked).text == loose


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("otherwise: human", "to: human"),  # which edge is the rest is for the author to say
        ("next: done", "next: somewhere_else"),  # nothing is like it
        ("    verify: submit.status == 'ok'\n", ""),
        ("tools: [hr.balance, hr.submit]", "tools: [hr.balance]"),  # a permission is not given by a machine
        ("to: submit", "to: subm\n        guidance: x\n        whem: y\n        when: z"),
    ],
)
def test_what_has_several_remedies_is_left_alone(right: str, wrong: str) -> None:
    text = WHOLE.replace(right, wrong)
    fixed = fix(text, "p.yaml", checked)
    assert fixed.applied == ()
    assert fixed.text == text
    assert fixed.left


def test_two_names_that_are_as_near_are_no_remedy() -> None:
    text = WHOLE.replace(
        "  human:\n    end: escalate", "  human:\n    end: escalate\n  humans:\n    end: escalate"
    )
    text = text.replace("on_error: human", "on_error: humen").replace("otherwise: human", "otherwise: humans")
    assert fix(text, "p.yaml", checked).applied == ()


def test_a_fix_that_brings_another_error_is_not_applied() -> None:
    text = WHOLE.replace("left.days >= 1.0", "left.unitt >= 1.0")  # 'unit' is a text
    fixed = fix(text, "p.yaml", checked)
    assert (fixed.text, fixed.applied) == (text, ())
    assert [d.code for d in fixed.left] == ["SW305"]


def test_a_fix_after_which_its_problem_is_still_told_is_not_applied() -> None:
    """A rule whose remedy does not help is a mistake of the rule: the text is not changed again and again."""
    told = Diagnostic(
        code="SW201",
        severity=Severity.ERROR,
        place=Place(file="p.yaml", line=1, column=1),
        message=Text("wrong", "错误"),
        fix=(Edit(path=("start",), text="done"),),
    )
    fixed = fix(WHOLE, "p.yaml", lambda document: [told])
    assert (fixed.text, fixed.applied, fixed.left) == (WHOLE, (), (told,))


def test_errors_of_a_step_that_a_fix_makes_reachable_do_not_hold_it_back() -> None:
    text = WHOLE.replace("to: submit", "to: sumbit").replace(
        "verify: submit.status", "verify: nowhere.status"
    )
    before = [(d.code, d.step) for d in checked(read_yaml(text, "p.yaml"))]
    assert ("SW203", "submit") in before and ("SW302", "submit") not in before
    fixed = fix(text, "p.yaml", checked)
    assert [d.code for d in fixed.applied] == ["SW201"]
    assert [(d.code, d.step) for d in fixed.left] == [("SW302", "submit")]


def test_a_fix_whose_writing_would_lose_a_comment_is_not_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    text = WHOLE.replace("    answer: Say", "    retry: {times: 2}\n    answer: Say")
    assert [d.code for d in fix(text, "p.yaml", checked).applied] == ["SW504"]

    def forgetful(value: dict[str, Json], comments: Comments) -> str:
        """A writer at fault: it forgets what stands beside a line."""
        return lay_out(value, replace(comments, beside={}))

    monkeypatch.setattr("sopwith.lang.fix.lay_out", forgetful)
    fixed = fix(text, "p.yaml", checked)
    assert (fixed.text, fixed.applied, [d.code for d in fixed.left]) == (text, (), ["SW504"])


def test_an_edit_of_a_line_that_loses_a_comment_is_made_in_the_whole_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = WHOLE.replace("hr.balance  # reads", "hr.balence  # reads")
    assert not fix(text, "p.yaml", checked).rewritten

    def careless(*given: Any) -> str | None:
        """An editor at fault: it takes a comment along."""
        changed = edited(*given)
        return None if changed is None else changed.replace("  # reads", "")

    monkeypatch.setattr("sopwith.lang.fix.edited", careless)
    fixed = fix(text, "p.yaml", checked)
    assert fixed.rewritten and "tool: hr.balance  # reads" in fixed.text and "# what is left" in fixed.text


def test_comments_of_what_goes_away_stay() -> None:
    text = WHOLE.replace(
        "    answer: Say", "    # tried twice\n    retry: {times: 2}  # or more\n    answer: Say"
    )
    fixed = fix(text, "p.yaml", checked).text
    assert "retry" not in fixed
    assert "# tried twice" in fixed and "# or more" in fixed
    assert read_yaml(fixed).procedure == read_yaml(WHOLE).procedure


def test_the_default_way_goes_to_the_end_with_its_comment() -> None:
    text = WHOLE.replace("      - otherwise: human\n", "").replace(
        "    next:\n      - to: submit",
        "    next:\n      # the rest\n      - otherwise: human\n      - to: submit",
    )
    fixed = fix(text, "p.yaml", checked)
    assert [d.code for d in fixed.applied] == ["SW211"]
    assert "      # the rest\n      - otherwise: human\n  submit:" in fixed.text


def test_separators_in_a_name_become_underscores_everywhere() -> None:
    text = WHOLE.replace("look_up", "look-up")
    fixed = fix(text, "p.yaml", checked)
    assert (fixed.text, fixed.left) == (WHOLE, ())


def test_a_judgement_in_the_words_of_a_condition_becomes_one() -> None:
    text = WHOLE.replace("when: inputs.kind == 'sick'", "judge: inputs.kind is sick")
    text = text.replace("as: left\n", "as: left\n    uses: [inputs.kind]\n")
    fixed = fix(text, "p.yaml", checked)
    assert [d.code for d in fixed.applied] == ["SW224"]
    assert "when: inputs.kind == 'sick'" in fixed.text
    more = text.replace("kind is sick", "kind is sick, and somebody is in a hurry")
    assert fix(more, "p.yaml", checked).applied == ()


@pytest.mark.parametrize("value", ["2026-01-02", "007", "1e999", ".inf"])
def test_what_readers_take_differently_gets_its_quotes(value: str) -> None:
    text = WHOLE.replace("  kind: {enum: [annual", f"  kind: {{enum: [{value}, annual")
    fixed = fix(text, "p.yaml", checked)
    assert [d.code for d in fixed.applied] == ["SW107"]
    assert f'"{value}"' in fixed.text or f"'{value}'" in fixed.text
    assert fixed.left == ()


@pytest.mark.parametrize(
    "text", ["", "- a\n- b\n", "a: [", "x: !t y\n", "a: 1\n---\nb: 2\n", "\ufeff", "schema: x\n"]
)
def test_what_is_no_procedure_is_left_alone(text: str) -> None:
    assert fix(text).text == text


STEPS = st.integers(2, 7)


@st.composite
def broken(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A procedure that passes its checks, and the same with one misspelling."""
    count = draw(STEPS)
    words = st.sampled_from(["prepare", "collect", "explain", "examine"])
    names = [f"{draw(words)}_{'abcdefgh'[i] * 6}" for i in range(count)]
    steps: dict[str, Any] = {}
    for i, name in enumerate(names):
        step: dict[str, Any] = {
            "tool": "hr.balance",
            "with": {"user_id": "u1"},
            "as": f"found_{'stuvwxyz'[i] * 6}",
        }
        steps[name] = step
        if i + 1 < count:
            far = names[draw(st.integers(i + 1, count - 1))]
            step["next"] = [
                {"to": far, "when": f"{step['as']}.days > {i}.5"},
                {"otherwise": names[i + 1]},
            ]
        else:
            step["end"] = "complete"
    whole = {"schema": "sopwith/procedure/1", "id": "p", "start": names[0], "steps": steps}
    at = draw(st.integers(0, count - 1))
    return whole, misspelled(draw, whole, names, at)


def misspelled(draw: st.DrawFn, whole: dict[str, Any], names: list[str], at: int) -> dict[str, Any]:
    steps = {name: dict(step) for name, step in whole["steps"].items()}
    changed = {**whole, "steps": steps}
    step = steps[names[at]]
    what = draw(st.sampled_from(["start", "tool", "argument", "key", "edge", "name"]))
    if what == "start":
        changed["start"] = whole["start"][:-1]
    elif what == "tool":
        step["tool"] = draw(st.sampled_from(["hr.balence", "hr.balnce", "hr.ballance"]))
    elif what == "argument":
        step["with"] = {draw(st.sampled_from(["user_idd", "usr_id"])): "u1"}
    elif "next" in step and what == "edge":
        step["next"] = [step["next"][0], {"otherwise": step["next"][1]["otherwise"] + "x"}]
    elif "next" in step and what == "name":
        first = step["next"][0]
        right, wrong = draw(st.sampled_from([(step["as"], step["as"] + "s"), (".days", ".dayz")]))
        wrong = first["when"].replace(right, wrong)
        step["next"] = [{**first, "when": wrong}, step["next"][1]]
    else:
        step["tol"] = step.pop("tool")
    return changed


@FEW
@given(broken())
def test_a_generated_procedure_with_one_misspelling_is_whole_again(
    both: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    whole, wrong = (canonical(data) for data in both)
    fixed = fix(wrong, "p.yaml", checked)
    assert format_yaml(fixed.text) == whole
    assert [d for d in fixed.left if d.severity == "error"] == []
    assert fix(fixed.text, "p.yaml", checked).applied == ()


def canonical(data: dict[str, Any]) -> str:
    """The canonical text of a procedure, or just a text of what cannot be read as one."""
    text = lay_out(data)
    try:
        return format_yaml(text)
    except ProcedureError:
        return text
