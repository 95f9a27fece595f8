"""What to do about a problem, said for the form in which the procedure is written: a chart has arrows and no `next`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sopwith.errors import NO_HINT, Text
from sopwith.ir.diagnostic import Diagnostic
from sopwith.lang.document import Form

_CHART: Mapping[str, Text] = {
    "SW203": Text("Draw an arrow to it, or remove it.", "请画一条指向它的箭头，或将其删除。"),
    "SW204": Text(
        "Draw an arrow that leads out of it, with its condition.", "请画一条通往外面的箭头，并标注条件。"
    ),
    "SW205": Text("Draw an arrow from it, or round its corners.", "请从它画出箭头，或把它画成圆角。"),
    "SW207": Text(
        "Draw an arrow that leads out of it and does not say 'on error'.",
        "请画一条通往外面、且不标“出错时”的箭头。",
    ),
    "SW208": Text("Keep one; write conditions on the other arrows.", "请保留一条，其余箭头请标注条件。"),
    "SW209": Text("Draw one more arrow that says 'otherwise'.", "请再画一条标注“否则”的箭头。"),
    "SW210": Text("Correct the words on the arrow, or remove it.", "请改正箭头上的文字，或删除该箭头。"),
    "SW212": Text(
        "Write a condition on each arrow, and 'otherwise' on one.",
        "请在每条箭头上写明条件，并有一条写“否则”。",
    ),
    "SW304": Text(
        "Draw an arrow 'on error' to a box of its own.", "请画一条标注“出错时”的箭头，指向单独的节点。"
    ),
    "SW221": Text(
        "Draw an arrow back to a box that both arms share.", "请画一条箭头，回到两个分支共有的节点。"
    ),
    "SW224": Text(
        "Write the condition on the arrow as an expression in backticks.",
        "请把箭头上的条件写成反引号中的表达式。",
    ),
    "SW225": Text("Write 'Input: request' into the box.", "请在节点中写上“输入：request”。"),
}
_ROUTINE: Mapping[str, Text] = {
    "SW203": Text(
        "Lead a branch or 'go to Step …' to it, or remove it.", "请用分支或“转到步骤 …”通向它，或将其删除。"
    ),
    "SW204": Text("Add a branch that leads out of it.", "请加一个通往外面的分支。"),
    "SW205": Text(
        "End it with 'and terminate the workflow' or 'and hand over to a person'.",
        "请以“并结束流程”或“并转人工”结尾。",
    ),
    "SW207": Text("Add a branch that leads out of it.", "请加一个通往外面的分支。"),
    "SW208": Text(
        "Keep one; begin the other branches with 'If …'.", "请保留一个，其余分支请以“如果……”开头。"
    ),
    "SW209": Text("Add a branch that begins with 'Otherwise,'.", "请加一个以“否则，”开头的分支。"),
    "SW212": Text("Begin each branch with 'If …' or 'Otherwise,'.", "每个分支请以“如果……”或“否则，”开头。"),
    "SW224": Text(
        "Write it as 'If `…`', with an expression in the backticks.", "请写成“如果 `…`”，反引号中写表达式。"
    ),
    "SW225": Text("Write 'Input: request.' at its end.", "请在末尾写上“输入：request。”"),
}
_DRAFT: Mapping[str, Text] = {
    **_ROUTINE,
    "SW203": Text(
        "Say before it under which condition the process ends, or 'go to step …'; or remove it.",
        "请在它之前写明流程在什么条件下结束，或写“转到第 … 步”；也可将其删除。",
    ),
    "SW204": Text(
        "Say under which condition it leads out: 'If …, go to step …'.",
        "请写明在什么条件下离开：“如果……，转到第 … 步”。",
    ),
    "SW224": Text(
        "Say what can be compared, or convert it to YAML.", "请写明可以比较的内容，或转换为 YAML。"
    ),
}
_BY_FORM: Mapping[Form, Mapping[str, Text]] = {"chart": _CHART, "routine": _ROUTINE, "draft": _DRAFT}

_OUTPUT_NAME = Text("Write another name after 'Output:'.", "请在“输出：”之后换一个名称。")
_NAMES: Mapping[str, Text] = {
    "SW320": _OUTPUT_NAME,
    "SW321": _OUTPUT_NAME,
    "SW322": Text(
        "Only steps that exclude each other may share a name: write another one after 'Output:' of one of them.",
        "只有互斥的步骤可以共用名称：请把其中一个“输出：”换成别的名称。",
    ),
    "SW323": Text(
        "Write it after 'Input:' of a later step, or remove 'Output:'.",
        "请写在后面步骤的“输入：”之后，或删除“输出：”。",
    ),
    "SW334": Text("Write a name after 'Input:', such as request.", "请在“输入：”之后写名称，例如 request。"),
}
"""What every form but YAML says with `Input:` and `Output:`."""

YAML_ONLY = frozenset(
    {"SW206", "SW211", "SW214", "SW215", "SW216", "SW304", "SW311", "SW324", "SW330", "SW331", "SW332",
     "SW333", "SW335", "SW402", "SW403", "SW404", "SW405", "SW406", "SW407", "SW408", "SW409", "SW410",
     "SW421", "SW422", "SW423", "SW501", "SW502", "SW503", "SW504", "SW802", "SW803", "SW804", "SW805"}
)  # fmt: skip
"""Problems whose remedy no other form can say: arguments, checks, schemas, permissions."""


def in_form(found: Iterable[Diagnostic], form: Form) -> list[Diagnostic]:
    """`found` in a procedure that is written in `form`, each with a hint that can be followed there."""
    return [one.model_copy(update={"hint": _hint(one, form)}) for one in found]


def _hint(one: Diagnostic, form: Form) -> Text:
    said = _BY_FORM[form].get(one.code) or _NAMES.get(one.code)
    if said is not None:
        return said
    if one.code in YAML_ONLY and one.hint != NO_HINT:
        return Text(
            f"Write it as YAML (`sopwith convert {one.place.file} --to yaml`), and there: {one.hint.en}",
            f"请转换为 YAML（`sopwith convert {one.place.file} --to yaml`），并在其中：{one.hint.zh}",
        )
    return one.hint
