"""What the form of a procedure can say and this version does not carry out, each with what to do instead.

The check refuses it (SW501, SW502); hints of the readers offer none of it.
"""

from __future__ import annotations

from sopwith.errors import Text
from sopwith.ir.procedure import Guidance

KINDS: dict[str, Text] = {
    "script": Text("Put the script into a tool.", "请把脚本做成工具。"),
    "code": Text("Use a tool, or several steps.", "请用工具，或拆成多个步骤。"),
}
_STATIC = Text("Use 'static': the words of the edges.", "请用 static（边上写明的文字）。")
GUIDANCE: dict[Guidance, Text] = {Guidance.MODEL: _STATIC, Guidance.AUTO: _STATIC}
