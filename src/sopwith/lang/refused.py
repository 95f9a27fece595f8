"""What the form of a procedure can say and this version does not carry out, each with what to do instead.

The check refuses it (SW501 to SW503); hints of the readers offer none of it.
"""

from __future__ import annotations

from sopwith.errors import Text
from sopwith.ir.procedure import Grip

KINDS: dict[str, Text] = {
    "call": Text("Write the other procedure's steps here.", "请把另一流程的步骤写在这里。"),
    "wait": Text(
        "Use 'ask', which waits for a person, or end and start again.",
        "请用 ask（等待人工），或结束后再启动。",
    ),
    "script": Text("Put the script into a tool.", "请把脚本做成工具。"),
    "code": Text("Use a tool, or several steps.", "请用工具，或拆成多个步骤。"),
}
APPROVAL = Text(
    "Remove it, and write an 'ask' rule for the tool in the policy.",
    "请删除，并在策略中为该工具写一条 ask 规则。",
)
STEP_KEYS: dict[str, Text] = {**KINDS, "approval": APPROVAL}
"""The keys of a step that are refused."""

GRIPS: dict[Grip, Text] = {
    Grip.GUIDE: Text("Use 'strict' or 'free'.", "请用 strict 或 free。"),
    Grip.BOUNDED: Text("Use 'strict' or 'free'.", "请用 strict 或 free。"),
}
