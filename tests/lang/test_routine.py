"""Routine text, as experts write it in English and Chinese, becomes a procedure; what cannot be read is told."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import cast

import pytest

from sopwith.errors import ProcedureError
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Edge, Input, Procedure
from sopwith.lang.routine import read_routine
from sopwith.lang.routine_text import sayable, unsaid, write_routine
from sopwith.lang.yaml import read_yaml

ROOT = Path(__file__).parents[2]

SALARY = """\
# Salary questions (salary)
Answers questions about a salary.

Step 1. Check permission: verify that they may ask, using the check_permission tool. Input: user_id. Output: allowed.
Step 2. Decide by result.
Branch 2-1 Step 1. Query: if allowed, query the salary, using the query_salary tool.
Branch 2-2 Step 1. Refuse: if not allowed, explain why, using the summarize tool and terminate the workflow.
Step 3. Summarise: report the result, using the summarize tool and terminate the workflow.
"""

EXPENSES = """\
# 报销审核 (expenses)

步骤 1. 读取单据：读取报销单，使用 finance.read 工具。输入：claim_id。输出：claim。
分支 1-1 步骤 1. 核对：如果 `claim.amount <= 500.0`，核对发票，使用 finance.verify 工具。输入：claim。输出：verified。
分支 1-1 1-1. 如果 `verified.ok`，转到步骤 2。
分支 1-1 1-2. 否则，转到步骤 3。
分支 1-2 步骤 1. 复核：如果单据缺页，或者字迹不清，请财务复核，并转人工。
分支 1-3. 否则，转到步骤 3。
步骤 2. 通知：告知结果，使用 mail.send 工具，并结束流程。输入：claim、verified（报销单）。
步骤 3 (human). 转人工：转人工。
"""


def test_english_text_becomes_a_procedure() -> None:
    found = read_routine(SALARY).procedure
    assert (found.id, found.name, found.description) == (
        "salary",
        "Salary questions",
        "Answers questions about a salary.",
    )
    assert found.inputs == {"user_id": Input(schema={"type": "string"})}
    assert list(found.steps) == ["allowed", "step_2", "query_salary", "summarize", "summarize_2"]
    check = found.steps["allowed"]
    assert (check.name, check.do, check.tool, check.as_, check.uses) == (
        "Check permission", "verify that they may ask", "check_permission", "allowed", ("inputs.user_id",),
    )  # fmt: skip
    assert found.start == "allowed" and check.next == (Edge(to="step_2"),)
    assert found.steps["step_2"].next == (
        Edge(to="query_salary", judge="allowed"),
        Edge(to="summarize", judge="not allowed"),
    )
    assert found.steps["query_salary"].next == (Edge(to="summarize_2"),)
    assert found.steps["summarize"].end == found.steps["summarize_2"].end == "complete"


def test_chinese_text_becomes_a_procedure() -> None:
    found = read_routine(EXPENSES).procedure
    assert found.steps["claim"].next == (
        Edge(to="verified", when="claim.amount <= 500.0"),
        Edge(to="step_1_2_1", judge="单据缺页"),
        Edge(to="human", otherwise=True),
    )
    assert found.steps["step_1_2_1"].do == "或者字迹不清，请财务复核"
    assert found.steps["verified"].next == (
        Edge(to="send", when="verified.ok"),
        Edge(to="human", otherwise=True),
    )
    assert found.steps["verified"].returns is None and found.steps["verified"].uses == ("claim",)
    send = found.steps["send"]
    assert (send.uses, send.needs, send.end) == (("claim", "verified"), "报销单", "complete")
    assert found.steps["human"].end == "escalate"


@pytest.mark.parametrize(("text", "language"), [(SALARY, "en"), (EXPENSES, "zh")])
def test_the_form_of_the_paper_is_written_as_it_was_read(text: str, language: str) -> None:
    assert write_routine(read_routine(text).procedure, language) == text


def test_a_value_that_no_tool_gives_is_text_by_a_model() -> None:
    found = read_routine(
        "Step 1. Think: name the city. Output: city.\nStep 2. and terminate the workflow."
    ).procedure
    assert found.steps["city"].returns == {"type": "string"}
    assert found.steps["step_2"].end == "complete" and found.steps["step_2"].do is None


def test_words_in_input_and_output_are_kept_as_words() -> None:
    step = read_routine("步骤 1. 摘出类型。输入：员工的原话。输出：kind（请假类型）。").procedure.steps[
        "kind"
    ]
    assert (step.needs, step.uses, step.as_, step.gives) == ("员工的原话", None, "kind", "请假类型")


VARIANTS = [
    "步骤 1. 查询：查余额，使用 hr.look 工具，并结束流程。输入：a，b。输出：left。",
    "步骤１．查询：查余额，使用hr.look工具，并结束流程。输入：a，b。输出：left。",
    "\ufeff步骤1：查询: 查余额,使用 hr.look 工具,并结束流程。 输入: a, b。 输出: left。\r\n",
    "步骤 1、 查询：查余额；使用 hr.look 工具；结束流程。输入：a、b。输出：left。",
    "- 步骤 1。查询：查余额，\n    使用 hr.look 工具，并结束流程。\n    输入：a，b。输出：left",
    "Step 1: 查询: 查余额, using the hr.look tool and terminate the workflow. Inputs: a, b. Output: left.",
    "STEP  1 . 查询: 查余额, Using the hr.look tool, and end the workflow. Output: left. Input: a, b.",
    "Step 1) 查询： 查余额 using hr.look tool and terminate the workflow. Input: a,b. Output: left",
]


@pytest.mark.parametrize("text", VARIANTS)
def test_punctuation_width_case_and_line_ends_do_not_matter(text: str) -> None:
    assert read_routine(text).procedure == read_routine(VARIANTS[0]).procedure


@pytest.mark.parametrize(
    ("words", "tool"),
    [
        ("使用 人事.查询余额 工具", "人事.查询余额"),
        ("使用`人事.查询余额`工具", "人事.查询余额"),
        ("调用 `a b.c` 工具", "a b.c"),
        ("using the 人事.查询余额 tool", "人事.查询余额"),
        ("using `my server.look up` tool", "my server.look up"),
        ("using the `` a`b `` tool", "a`b"),
        ("using the hr.look tool", "hr.look"),
    ],
)
def test_a_tool_has_a_name_in_any_script(words: str, tool: str) -> None:
    assert read_routine(f"Step 1 (a). look, {words}.").procedure.steps["a"].tool == tool


def test_the_id_of_a_step_whose_tool_has_no_ascii_name_comes_from_its_number() -> None:
    assert list(read_routine("步骤 1. 查询，使用 人事.查询 工具。").procedure.steps) == ["step_1"]


@pytest.mark.parametrize(
    ("condition", "edge"),
    [
        ("if `a, b`, x", Edge(to="h", when="a, b")),
        ("if `` a.`b` ``, x", Edge(to="h", when="a.`b`")),
        ("if “one, two”, x", Edge(to="h", judge="one, two")),
        ('if "one, two", x', Edge(to="h", judge="one, two")),
        ("如果余额够用，x", Edge(to="h", judge="余额够用")),
        ("若余额够用, x", Edge(to="h", judge="余额够用")),
        ("otherwise, x", Edge(to="h", otherwise=True)),
        ("否则，x", Edge(to="h", otherwise=True)),
        ("x", Edge(to="h")),
    ],
)
def test_a_condition_is_an_expression_or_words(condition: str, edge: Edge) -> None:
    found = read_routine(f"Step 1. a\nBranch 1-1 Step 1 (h). {condition}").procedure
    assert found.steps["step_1"].next == (edge,)
    assert found.steps["h"].do == "x"


REFUSED = [
    ("", "SW121", 1), ("hello", "SW121", 1), ("Step 1. a\nand so on", "SW120", 2), ("Step 1. a\nStep 1. b", "SW121", 2),
    ("Step 1. a\nStep 3. b", "SW121", 2), ("Step 2. a", "SW121", 1), ("Step 0. a", "SW121", 1),
    ("Step 1. a\nBranch 4-1 Step 1. b", "SW121", 2), ("Step 1. a\nBranch 1-2 Step 1. b", "SW121", 2),
    ("Step 1. a\nBranch 1-1 Step 2. b", "SW121", 2), ("Step 1. x, using the a tool and the b tool", "SW122", 1),
    ("步骤 1. x，使用 a 和 b 工具。", "SW122", 1),
    ("步骤 1. 使用打印机并调用查询工具。", "SW122", 1),
    ("Step 1. x, using the `a` tool, using the `b` tool", "SW122", 1),
    ("Step 1. x. Input: a. Input: b.", "SW122", 1),
    ("Step 1. x. Output: a, b.", "SW122", 1), ("Step 1. a\nBranch 1-1. if x, do it", "SW122", 2),
    ("Step 1. a and terminate the workflow\nBranch 1-1 Step 1. b", "SW123", 1),
    ("Step 1. a\nBranch 1-1. Go to Step 1.\nBranch 1-1 Step 1. b", "SW123", 2), ("Step 1. go to Step 9", "SW124", 1),
    ("Step 1. a\nBranch 1-1. if x, go to Branch 3-1 Step 1.", "SW124", 2), ("Step 1 (a). x\nStep 2 (a). y", "SW121", 2),
    ("#" * 300_000, "SW102", 1),
    ("Step 1. Decide.\nBranch 1-2 Step 2. Hand over: otherwise, hand the case over to a person.", "SW121", 2),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "line"), REFUSED)
def test_what_cannot_be_read_is_a_problem_with_a_place(text: str, code: str, line: int) -> None:
    with pytest.raises(ProcedureError) as raised:
        read_routine(text, "leave.txt")
    found = raised.value.diagnostics
    assert (code, line) in [(d.code, d.place.line) for d in found]  # pyright: ignore[reportAttributeAccessIssue]


def test_places_point_into_the_lines() -> None:
    document = read_routine(SALARY, "salary.txt")
    lines = SALARY.splitlines()
    for path, words in [
        (("steps", "query_salary"), "Branch 2-1"),
        (("steps", "query_salary", "tool"), "query_salary tool"),
        (("steps", "step_2", "next", 1, "judge"), "not allowed"),
        (("steps", "allowed", "uses"), "user_id"),
    ]:
        place = document.place(*path)
        assert lines[place.line - 1][place.column - 1 :].startswith(words), path


def test_the_id_comes_from_the_title_or_the_file() -> None:
    assert read_routine("Step 1. a").procedure.id == "procedure"
    assert read_routine("Step 1. a", "flows/leave-request.zh.txt").procedure.id == "leave_request"
    found = read_routine("# 请假（草稿）（leave）\nStep 1. a", "x.txt").procedure
    assert (found.id, found.name) == ("leave", "请假（草稿）")


AFTER_ERRORS = {
    "en": """\
# Returns (returns)

Step 1. Find the order, using the shop.find tool. Output: order. On error: go to Step 3.
Step 2. Pay, using the shop.pay tool and terminate the workflow. On error: if `error.code == 'busy; no'`, go to \
Step 2; if "the shop, or the buyer, is closed", go to Step 1; otherwise, go to Step 3.
Step 3. Look into it and hand over to a person.
""",
    "zh": """\
# 退货（returns）

步骤 1. 查找订单，使用 shop.find 工具。输出：order。出错时：转到步骤 3。
步骤 2. 退款，使用 shop.pay 工具，并结束流程。出错后：如果 `error.code == 'busy; no'`，转到步骤 2；\
如果“店铺，或买家，停业”，转到步骤 1；否则，转到步骤 3。
步骤 3. 查明原因，并转人工。
""",
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_line_says_where_a_failure_leads(language: str) -> None:
    document = read_routine(AFTER_ERRORS[language], "r.txt")
    find, pay, _ = document.procedure.steps.values()
    assert find.on_error == (Edge(to="step_3"),)
    assert [(edge.to, edge.when, edge.otherwise) for edge in pay.on_error] == [
        ("pay", "error.code == 'busy; no'", False), ("order", None, False), ("step_3", None, True),
    ]  # fmt: skip
    judge = pay.on_error[1].judge or ""
    assert ("buyer" in judge or "买家" in judge) and not judge.startswith(("“", '"'))
    assert document.place("steps", "pay", "on_error", 0, "when").line == 4
    for written in ("en", "zh"):
        assert read_routine(write_routine(document.procedure, written)).procedure == document.procedure
    assert unsaid(document.procedure) == ()


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("On error: hand over to a person.", "SW122"),
        ("On error: go to Step 9.", "SW124"),
        ("出错时：转到步骤 1；然后再说。", "SW122"),
        ("On error: go to Step 1. On error: go to Step 1.", "SW122"),
    ],
)
def test_what_is_said_after_on_error_is_a_way_or_a_problem(said: str, code: str) -> None:
    with pytest.raises(ProcedureError) as caught:
        read_routine(f"Step 1. Look, and terminate the workflow. {said}")
    assert [cast("Diagnostic", one).code for one in caught.value.diagnostics] == [code]


def test_what_the_form_cannot_say_is_named() -> None:
    text = (ROOT / "examples" / "leave" / "procedure.yaml").read_text(encoding="utf-8")
    procedure = read_yaml(text).procedure
    left_out = unsaid(procedure)
    assert {"output", "inputs.user_id.from", "steps.submit.with", "steps.submit.verify"} <= set(left_out)
    assert not {"steps.submit.tool", "steps.submit.do", "steps.submit.name"} & set(left_out)
    for language in ("en", "zh"):
        assert read_routine(write_routine(procedure, language)).procedure == sayable(procedure)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "a: b"}, {"do": "x, using the y tool"},
        {"do": "done and terminate the workflow", "end": None, "tool": None},
        {"do": "say. Input: nothing"}, {"end": None, "next": [{"to": "a", "when": "x == 'a  b'"}]},
        {"uses": ["unknown_name"]},
    ],
)  # fmt: skip
def test_words_that_would_be_read_as_something_else_are_not_written(fields: dict[str, object]) -> None:
    step = {"id": "a", "end": "complete", "tool": "t", **fields}
    procedure = Procedure.from_data({"id": "p", "start": "a", "steps": {"a": step}})
    with pytest.raises(ProcedureError, match="cannot be written as Routine text"):
        write_routine(procedure)


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("examples/*/routine.*.txt")), ids=lambda p: f"{p.parent.name} {p.stem}"
)
def test_the_examples_keep_their_numbers(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    written = write_routine(read_routine(text, path.name).procedure, path.suffixes[0][1:])
    numbered = [
        [
            line.split(". ")[0]
            for line in t.splitlines()
            if line.startswith(("Step", "Branch", "步骤", "分支"))
        ]
        for t in (text, written)
    ]
    assert numbered[0] == numbered[1]


@pytest.mark.parametrize("part", [" ", "using ", "`", ", ", " and", "“", "1-1 ", "：", "Input: a. "])
def test_long_lines_of_one_kind_take_no_long_time(part: str) -> None:
    line = part * (3900 // len(part))
    text = "Step 1. a\n" + "".join(f"Branch 1-{i} Step 1. if {line}x\n" for i in range(1, 50))
    started = time.perf_counter()
    with contextlib.suppress(ProcedureError):
        read_routine(text)
    assert time.perf_counter() - started < 15
