"""Sections of a document are no steps; each list has numbers of its own."""

from __future__ import annotations

import pytest

from sopwith.errors import ProcedureError
from sopwith.lang.markdown_text import read_markdown
from sopwith.lang.routine_text import write_routine

SOP = (
    "# 牙\n\n## 一、目的\n\n防感染。\n\n## 二、职责\n\n护士长负责。\n\n"
    "## 三、处理步骤\n\n1. 清点，使用 kit.count 工具。\n"
    "2. 如果有过期的，则转到第 3 步，否则结束流程。\n3. 重新消毒，使用 kit.wash 工具，并结束流程。\n\n"
    "## 四、分级表\n\n| 等级 | 温差 |\n|---|---|\n| 甲 | 3 |\n"
)


def test_the_usual_layout_of_a_chinese_procedure() -> None:
    document = read_markdown(SOP, "sop.md")
    assert write_routine(document.procedure, "zh").splitlines() == [
        "# 牙 (sop)",
        "目的：防感染。",
        "职责：护士长负责。",
        "",
        "步骤 1. 清点，使用 kit.count 工具。输入：request。",
        "步骤 2. 判断是否有过期的。输入：count。",
        "分支 2-1 步骤 1. 如果有过期的，重新消毒，使用 kit.wash 工具，并结束流程。输入：count。",
        "分支 2-2 步骤 1 (step_3). 否则，结束流程。",
    ]
    assert [note.code for note in document.notes] == ["SW713"]


def test_a_heading_around_a_numbered_list_is_no_step_and_keeps_its_number() -> None:
    document = read_markdown(
        "## 1. Begin\n\nLook.\n\n## 2. Check\n\n1. Call.\n2. Ask.\n\n## 3. End\n\nGo to step 2.\n"
    )
    steps = list(document.procedure.steps.values())
    assert [s.do for s in steps] == ["Look", "Call", "Ask", None]
    assert steps[3].next[0].to == steps[1].id


def test_a_number_means_the_step_of_the_same_list_and_a_doubt_is_told() -> None:
    document = read_markdown(
        "1. Look.\n   1. Ask.\n   2. If nobody answers, go to step 3.\n   3. Write it down.\n2. Call.\n3. Close.\n"
    )
    steps = document.procedure.steps
    target = next(e.to for s in steps.values() for e in s.next if e.judge)
    assert steps[target].do == "Write it down"
    assert [(note.code, note.place.line) for note in document.notes] == [("SW715", 3)]


def test_a_number_that_several_other_lists_have_is_refused() -> None:
    lists = "".join(
        f"{n}. Part {n}.\n" + "".join(f"   {i}. Do {n}{i}.\n" for i in range(1, 6)) for n in (1, 2)
    )
    with pytest.raises(ProcedureError) as caught:
        read_markdown(f"{lists}3. Look and go to step 5.\n")
    assert "error[SW715]" in caught.value.message.en


def test_input_and_output_below_a_heading_are_read() -> None:
    steps = read_markdown(
        "# T\n\n## 1. 接警\n\n记下电话，使用 a.b 工具。输出：alarm。\n\n"
        "## 2. 归档\n\n存好，使用 a.c 工具。输入：alarm。\n"
    ).procedure.steps
    assert (steps["alarm"].name, steps["alarm"].tool, steps["alarm"].do) == ("接警", "a.b", "记下电话")
    assert steps["c"].uses == ("alarm",)


def test_a_table_in_chinese_gets_chinese_words() -> None:
    table = (
        "| 步骤 | 操作 | 条件 | 下一步 |\n|---|---|---|---|\n"
        "| 1 | 接单 | | |\n| 2 | 上报 | 温度高于 8 度 | 结束 |\n"
    )
    assert any(s.do == "判断是否温度高于 8 度" for s in read_markdown(table).procedure.steps.values())
