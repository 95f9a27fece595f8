"""A draft in Markdown is read into steps that Routine text can say, and whatever is not read is named with its line."""

from __future__ import annotations

import pytest

from sopwith.errors import ProcedureError
from sopwith.ir.diagnostic import Severity
from sopwith.lang.check import check
from sopwith.lang.document import Document
from sopwith.lang.markdown_text import read_markdown
from sopwith.lang.routine import read_routine
from sopwith.lang.routine_text import write_routine

SHOES = """\
# Returns of shoes

Handles the return of one pair.

## Steps

1. **Find the order** – look it up using the shop.get_order tool. Input: order_id. Output: order.
2. If the order is older than 30 days, then refuse politely and end the process; otherwise go to step 3.
3. Check the shoes:
   - are they clean
   - If worn, offer a voucher
   - Otherwise, go to step 5
4. Send the voucher with `shop.voucher`.
5. Refund the price, using the shop.refund tool.
   1. Write an email
   2. Close the case
6. Hand over to the shop team
"""


def routine(document: Document, language: str = "en") -> list[str]:
    """The draft as Routine text; what is written is what is read again."""
    text = write_routine(document.procedure, language)
    assert read_routine(text).procedure.steps == document.procedure.steps
    return [line for line in text.splitlines()[1:] if line and line not in document.procedure.description]


def notes(document: Document) -> list[tuple[str, int]]:
    return [(note.code, note.place.line) for note in document.notes]


def test_a_draft_becomes_routine_text() -> None:
    document = read_markdown(SHOES, "shoes.md")
    assert document.procedure.name == "Returns of shoes"
    assert document.procedure.description == "Handles the return of one pair."
    assert routine(document) == [
        "Step 1. Find the order: look it up, using the shop.get_order tool. Input: order_id. Output: order.",
        "Step 2. Decide whether the order is older than 30 days. Input: order.",
        "Branch 2-1 Step 1 (step_3). If the order is older than 30 days, refuse politely and terminate the workflow.",
        "Branch 2-2 Step 1 (step_4). Check the shoes: otherwise, are they clean. Input: order.",
        "Branch 2-2 1-1. If worn, go to Branch 2-2 Step 2.",
        "Branch 2-2 1-2. Otherwise, go to Step 3.",
        "Branch 2-2 Step 2 (step_5). offer a voucher.",
        "Branch 2-2 Step 3. Send the voucher with `shop.voucher`, using the shop.voucher tool. Input: order.",
        "Step 3. Refund the price, using the shop.refund tool. Input: order.",
        "Step 4 (step_8). Write an email.",
        "Step 5 (step_9). Close the case.",
        "Step 6 (step_10). Hand over to the shop team and hand over to a person.",
    ]
    assert notes(document) == []
    assert [d for d in check(document) if d.severity is Severity.ERROR] == []
    assert document.place("steps", "voucher").line == 13


def test_a_chinese_draft_numbered_by_hand() -> None:
    document = read_markdown(
        "# 报销\n\n一、受理\n1、核对身份，使用 check_id 工具；\n2、判断金额\n（1）如果金额超过 500 元，则由经理审批；\n"
        "（2）否则转到第 4 步。\n3、经理签字\n4、登记，并结束流程\n"
    )
    assert routine(document, "zh") == [
        "步骤 1. 受理。",
        "步骤 2. 核对身份，使用 check_id 工具。输入：request。",
        "步骤 3. 判断金额。",
        "步骤 4. 判断是否金额超过 500 元。输入：check_id。",
        "分支 4-1. 如果金额超过 500 元，转到步骤 5。",
        "分支 4-2. 否则，转到步骤 7。",
        "步骤 5. 由经理审批。",
        "步骤 6. 经理签字。",
        "步骤 7. 登记，并结束流程。",
    ]


def test_a_table_of_steps() -> None:
    document = read_markdown(
        "| 步骤 | 操作 | 工具 | 输入 | 输出 | 条件 | 下一步 | 负责人 |\n|---|---|---|---|---|---|---|---|\n"
        "| 1 | 查询员工 | hr.get | user_id | employee | | 2 | 张三 |\n| 2 | 核对发票 | | | | | | |\n"
        "| 3 | 经理审批 | | | | 金额超过 500 元 | 5 | |\n"
        "| 4 | 登记 | fin.book | | | | 结束 | |\n| 5 | 转人工 | | | | | | |\n"
    )
    steps = document.procedure.steps
    assert (steps["employee"].tool, steps["employee"].uses) == ("hr.get", ("inputs.user_id",))
    assert [s.end for s in steps.values()].count("complete") == 1
    assert list(steps.values())[-1].end == "escalate"
    assert notes(document) == [("SW713", 1)]
    assert "负责人" in document.notes[0].message.zh


def test_a_table_of_cases_belongs_to_the_step_above() -> None:
    document = read_markdown(
        "1. Ask for the size.\n\n| If | Then |\n|---|---|\n| small | send a letter |\n| other | transfer to a human |\n"
        "| large | go to step 3 |\n\n2. Thank them\n3. Call them\n"
    )
    ways = [(e.judge, e.to, e.otherwise) for e in document.procedure.steps["step_1"].next]
    assert ways == [
        ("small", "step_2", False), ("other", "step_3", False), ("large", "step_5", False), (None, "step_4", True),
    ]  # fmt: skip


def test_numbered_headings_are_steps() -> None:
    document = read_markdown(
        "# Access\n\nFor new people.\n\n## Step 1: Verify\n\n"
        "Ask for the badge.\n\n## Step 2: Grant\n\nUse the `iam.grant` tool.\n"
    )
    found = [(s.name, s.do, s.tool) for s in document.procedure.steps.values()]
    assert found == [
        ("Verify", "Ask for the badge", None),
        ("Grant", "Use the `iam.grant` tool", "iam.grant"),
    ]


def test_everything_that_is_not_read_is_named_with_its_line() -> None:
    document = read_markdown(
        "# T\n\n1. Do it if possible. ![shot](a.png)\n2. Do `a.b` and `c.d`\n\n## Notes\n\n"
        "Be kind.\n\n```sh\nrm x\n```\n\n"
        "<div>x</div>\n\n| Who | Phone |\n|---|---|\n| Mei | 1 |\n"
    )
    assert notes(document) == [
        ("SW712", 3), ("SW714", 3), ("SW706", 4), ("SW711", 6), ("SW711", 8), ("SW711", 10), ("SW711", 14),
        ("SW713", 16),
    ]  # fmt: skip
    assert "shot" in document.notes[0].message.en


def test_a_way_to_a_step_that_is_not_there() -> None:
    with pytest.raises(ProcedureError) as raised:
        read_markdown("1. Ask\n2. If so, go to step 7\n3. Thank\n")
    (found,) = raised.value.diagnostics
    assert (found.code, found.place.line) == ("SW124", 2)  # pyright: ignore


@pytest.mark.parametrize("text", ["", "# Title\n\nWords.\n", "---\na: b\n---\n", "<!-- x -->"])
def test_a_draft_without_steps(text: str) -> None:
    with pytest.raises(ProcedureError) as raised:
        read_markdown(text)
    assert [d.code for d in raised.value.diagnostics] == ["SW710"]  # pyright: ignore


def test_a_document_around_one_flowchart_is_that_flowchart() -> None:
    document = read_markdown("# Chart\n\n```mermaid\nflowchart TD\n  a[\n```\n".replace("a[", "a --> done"))
    assert list(document.procedure.steps) == ["a", "done"]
    assert document.place("steps", "a").line == 5


def test_routine_text_in_markdown_is_routine_text() -> None:
    text = "# Name (id)\n\nStep 1. Ask.\nStep 2. Tell and terminate the workflow.\n"
    assert read_markdown(text).procedure == read_routine(text).procedure


def test_a_thousand_steps_and_ten_megabytes() -> None:
    rows = "".join(f"{i}. 处理第 {i} 件\n" for i in range(1, 1001))
    assert len(read_markdown(rows).procedure.steps) == 1000
    with pytest.raises(ProcedureError) as raised:
        read_markdown("1. x\n" * 2_000_000)
    assert [d.code for d in raised.value.diagnostics] == ["SW102"]  # pyright: ignore


def test_many_open_fences_are_looked_at_once() -> None:
    with pytest.raises(ProcedureError):
        read_markdown("```mermaid\n" * 18_000)
    with pytest.raises(ProcedureError, match="at most 200000"):
        read_markdown("```mermaid\n" * 20_000)


def ways(document: Document) -> dict[str, list[tuple[str, str]]]:
    """Where each step leads, by the words of the steps: under which condition, and to what."""
    steps = document.procedure.steps
    assert [found.code for found in check(document) if found.code == "SW203"] == []

    def words(step: str) -> str:
        return steps[step].name or steps[step].do or str(steps[step].end)

    return {
        words(name): [(e.judge or ("otherwise" if e.otherwise else ""), words(e.to)) for e in step.next]
        or [("", str(step.end))]
        for name, step in steps.items()
    }


def test_a_list_in_which_one_branch_ends_goes_on_for_the_rest() -> None:
    document = read_markdown(
        "# 报销\n\n1. 财务核对发票\n2. 发票不合格的，退回员工，结束流程\n3. 金额超过 5000 元的，转到第 5 步\n"
        "4. 财务付款，结束流程\n5. 总经理审批\n6. 审批通过，转到第 4 步\n7. 审批不通过，通知员工，结束流程\n"
    )
    found = ways(document)
    assert found["退回员工"] == [("", "complete")]
    assert ("发票不合格", "退回员工") in found["财务核对发票"] or any(
        ("发票不合格", "退回员工") in one for one in found.values()
    )
    assert [("审批通过", "财务付款"), ("otherwise", "审批不通过，通知员工")] in found.values()
    assert [("金额超过 5000 元", "总经理审批"), ("otherwise", "财务付款")] in found.values()
    assert document.notes == ()


def test_items_up_to_an_ending_belong_to_the_branch_where_nothing_else_leads_on() -> None:
    document = read_markdown("1. 如果超过 30 天，告知顾客\n2. 记录原因\n3. 结束流程\n4. 退款\n")
    found = ways(document)
    assert found["告知顾客"] == [("", "记录原因")]
    assert [("超过 30 天", "告知顾客"), ("otherwise", "退款")] in found.values()
    assert notes(document) == [("SW718", 2)]


def test_what_a_condition_with_a_colon_is_about_stands_below_it() -> None:
    found = ways(read_markdown("1. 收件\n2. 如果超过 30 天：\n   1. 告知顾客\n   2. 结束流程\n3. 退款\n"))
    assert [("超过 30 天", "告知顾客"), ("otherwise", "退款")] in found.values()


def test_an_action_before_an_ending_is_no_condition() -> None:
    document = read_markdown("1. 收件\n2. 归档，结束流程\n3. 退款\n")
    assert [found.code for found in check(document)] == ["SW203"]
    assert document.procedure.steps["step_2"].do == "归档"


def test_a_branch_that_ends_in_a_row_of_a_table_leaves_the_rows_after_it() -> None:
    document = read_markdown(
        "| 序号 | 步骤 | 处理 | 工具 | 下一步 |\n|---|---|---|---|---|\n"
        "| 1 | 受理 | 查询订单 | shop.get_order | 2 |\n"
        "| 2 | 审核 | 如果超过 30 天，告知顾客，结束流程 | | 4 |\n"
        "| 3 | 补发 | 补发 | | 5 |\n"
        "| 4 | 选择 | 如果顾客要换货，转到第 3 步；否则退款 | shop.refund | 结束 |\n"
        "| 5 | 归档 | 归档 | | |\n"
    )
    found = ways(document)
    assert found["受理"] == [("", "审核")]
    assert found["审核"] == [("超过 30 天", "告知顾客"), ("otherwise", "选择")]
    assert found["选择"] == [("顾客要换货", "补发"), ("otherwise", "退款")]
    assert found["退款"] == [("", "complete")]
    assert [s.tool for s in document.procedure.steps.values() if s.do == "退款"] == ["shop.refund"]
    assert document.procedure.steps["get_order"].name == "受理"
    assert notes(document) == []
