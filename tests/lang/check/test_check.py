"""A check as its user sees it: places, sentences, remedies; and what it does not complain about."""

from __future__ import annotations

import gc
import random
import time
from pathlib import Path
from typing import Any

import pytest
from tests.lang.check.tools import TOOLS

from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Procedure
from sopwith.lang.check import check
from sopwith.lang.document import Document
from sopwith.lang.yaml import read_yaml

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*/procedure.yaml"))

TEXT = """\
schema: sopwith/procedure/1
id: leave
start: look
inputs:
  kind: {enum: [annual, sick]}
steps:
  look:
    tool: hr.balance
    with: {user_id: u1, kind: "${inputs.kind}"}
    as: left
    next:
      - to: tell
        when: left.days >= 1.0 && left.unti == 'day'
      - otherwise: humna
  tell:
    answer: "还剩 ${lfet.days} 天"
    end: complete
  human:
    end: escalate
"""


def found(text: str, known: bool = True) -> list[Diagnostic]:
    return check(read_yaml(text, "leave.yaml"), TOOLS if known else None)


def test_every_problem_has_its_place_sentence_and_remedy() -> None:
    assert [d.render() for d in found(TEXT)] == [
        "error[SW305] leave.yaml:13:40 there is no field 'unti'\nhelp: Did you mean unit?",
        "error[SW201] leave.yaml:14:20 there is no step 'humna'\nhelp: Did you mean human?",
        "error[SW302] leave.yaml:16:19 there is no name 'lfet'\nhelp: Did you mean left?",
        "error[SW203] leave.yaml:18:3 no path leads to step 'human'\nhelp: Lead an edge to it, or remove it.",
    ]
    assert [d.render("zh") for d in found(TEXT)][1:3] == [
        "错误[SW201] leave.yaml:14:20 没有步骤“humna”\n建议: 是否想写 human？",
        "错误[SW302] leave.yaml:16:19 没有名称“lfet”\n建议: 是否想写 left？",
    ]
    assert [d.step for d in found(TEXT)] == ["look", "look", "tell", "human"]


def test_a_check_gives_the_same_answer_every_time() -> None:
    assert found(TEXT) == found(TEXT)


def test_nothing_is_said_about_tools_that_are_not_known() -> None:
    text = TEXT.replace("humna", "human").replace("lfet", "left")
    assert [d.code for d in found(text)] == ["SW305"]
    assert found(text, known=False) == []


def test_the_path_on_which_a_name_is_missing_is_shown() -> None:
    text = TEXT.replace("      - to: tell\n        when: left.days >= 1.0 && left.unti == 'day'\n", "")
    text = (
        text.replace("humna", "tell")
        .replace("lfet", "left")
        .replace("    as: left\n", "    as: left\n    on_error: tell\n")
    )
    (missing,) = (d for d in found(text) if d.code == "SW303")
    assert missing.message.en == "'left' (written by 'look') has no value here on every path"
    assert missing.hint.en == "It is missing on the path look → tell."


def test_the_result_of_a_step_is_known_by_its_name() -> None:
    text = TEXT.replace("lfet", "look").replace("unti", "unit").replace("humna", "human")
    (unknown,) = found(text)
    assert (unknown.code, unknown.hint.en) == ("SW302", "The result of step 'look' is called 'left'.")


@pytest.mark.parametrize(
    ("shown", "column"),
    [
        ("when: left.unti == 'x'", 20),
        ('when: "left.unti == 1"', 21),
        ("when: 'left.unti == 1'", 21),
        ("when: >-\n          left.unti == 'x'", 15),
    ],
)
def test_columns_point_into_the_expression_where_it_is_written_plainly(shown: str, column: int) -> None:
    text = TEXT.replace("when: left.days >= 1.0 && left.unti == 'day'", shown)
    (problem,) = (d for d in found(text) if d.code in ("SW305", "SW308") and d.place.line == 13)
    assert problem.place.column == column


def test_arguments_are_judged_by_the_tools_schema() -> None:
    def argument(value: str) -> list[tuple[str, str]]:
        text = f"""\
schema: sopwith/procedure/1
id: p
start: s
inputs: {{whole: {{type: integer}}, part: {{type: number}}, text: {{type: string}}}}
steps:
  s:
    tool: hr.submit
    with: {{user_id: u, days: {value}}}
    verify: s.status == 'ok'
    end: complete
"""
        return [(d.code, d.message.en) for d in found(text) if d.severity == "error"]

    assert argument('"${inputs.whole}"') == []
    assert argument('"${inputs.part}"') == []  # it may be whole: judged when it is known
    assert argument("2") == []
    wrong = "'days' of 'hr.submit' must be integer, not "
    assert argument('"${inputs.text}"') == [("SW405", wrong + "string")]
    assert argument('"${inputs.whole} days"') == [("SW405", wrong + "string")]
    assert argument("two") == [("SW405", wrong + "string")]
    assert argument('["${inputs.whole}"]') == [("SW405", wrong + "array")]


def test_an_enum_need_only_overlap() -> None:
    def kinds(*values: str) -> list[str]:
        return [
            d.message.en
            for d in found(TEXT.replace("[annual, sick]", f"[{', '.join(values)}]"))
            if d.code == "SW405"
        ]

    assert kinds("sick", "other") == []
    assert kinds("one", "two") == [
        "'kind' of 'hr.balance' can only be one, two, which is none of annual, sick"
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_the_examples_have_no_problems(path: Path) -> None:
    assert [d.render() for d in check(read_yaml(path.read_text("utf-8"), str(path)), None)] == []


def large(size: int) -> Document:
    """A procedure of many steps with branches, joins and cycles."""
    pick = random.Random(7)
    fields = {"a": {"type": "number"}, "k": {"enum": ["x", "y", "z"]}}
    returns = {"type": "object", "required": ["a", "k"], "properties": fields}
    steps: dict[str, Any] = {}
    for i in range(size):
        name = f"s{i}"
        steps[name] = {"id": name, "do": "pick for ${inputs.q}", "returns": returns}
        if i == size - 1:
            steps[name]["end"] = "complete"
            continue
        far, near = min(i + pick.randint(2, 5), size - 1), i + 1
        ways = [{"to": f"s{far}", "when": f"{name}.k == 'x' && {name}.a > {i}.0"}]
        if i > 4 and i % 10 == 0:
            ways.append({"to": f"s{i - 3}", "when": f"{name}.k == 'y' && double({name}.a) + {i}.0 > 1.0"})
        steps[name]["next"] = [*ways, {"to": f"s{near}", "otherwise": True}]
    data = {"id": "large", "start": "s0", "inputs": {"q": {"schema": {"type": "string"}}}, "steps": steps}
    return Document(Procedure.from_data(data), {}, "large", "")


def test_a_large_procedure_is_checked_in_linear_time() -> None:
    gc.disable()  # what other tests have left behind is not its cost
    times = {250: float("inf"), 1000: float("inf")}
    for steps in (250, 1000) * 3:
        document = large(steps)
        began = time.process_time()
        assert [d.code for d in check(document)] == ["SW222"]
        times[steps] = min(times[steps], time.process_time() - began)
    gc.enable()
    assert times[1000] < 8 * times[250] + 0.2
