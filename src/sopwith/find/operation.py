"""What a request wants done to a thing that there is already: to cancel it, to change it, to know how it stands.

Two requests about one thing are close in words and in meaning, whatever they want done to it. Who asks for the one must
not get the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sopwith.errors import Text
from sopwith.find.words import words


@dataclass(frozen=True, slots=True)
class Operation:
    """One of them: its name, and how people say it."""

    name: Text
    english: frozenset[str]
    """Stems, and phrases of stems with spaces."""
    chinese: re.Pattern[str]


def _operation(name: Text, english: str, chinese: str) -> Operation:
    said = frozenset(" ".join(words(each)) for each in english.split(", "))
    return Operation(name, said, re.compile(chinese))


OPERATIONS: dict[str, Operation] = {
    "cancel": _operation(
        Text("cancel", "取消"),
        "cancel, cancellation, withdraw, withdrawn, revoke, undo, retract, rescind, abort, void, annul, call off",
        "取消|撤销|撤回|撤单|作废|退订|解除|收回|不要了|不需要了|红冲|冲红",
    ),
    "end": _operation(
        Text("delete or end", "删除或终止"),
        "delete, deletion, remove, removal, erase, deactivate, terminate, close, shut down, unsubscribe",
        "删除|删掉|注销|移除|清除|停用|抹除|终止|关闭|关掉",
    ),
    "status": _operation(
        Text("know how it stands", "查询状态"),
        "status, progress, how many, how much, how long, how far, when will, where is, has my, is my, remaining",
        "进度|到哪|哪一步|什么时候|多久|还剩|剩余|几天|多少|状态|批了吗|好了吗|到账了吗",
    ),
    "change": _operation(
        Text("change", "更改"),
        "change, modify, modification, reschedule, postpone, amend, correct, correction, edit, rename, rebook, "
        "move it, moved to, swap",
        "修改|更改|变更|改成|改到|改为|更正|改期|推迟|延期|写错|填错|改一下",
    ),
    "extend": _operation(
        Text("extend", "延长"), "extend, extension, renew, renewal, prolong", "延长|续签|续期|续约|续费|展期"
    ),
    "revert": _operation(
        Text("go back", "回退"), "roll back, rollback, revert, downgrade, restore", "回滚|回退|恢复|还原"
    ),
    "judge": _operation(
        Text("rate", "评价"), "rate, rating, feedback, evaluate, evaluation", "评价|打分|评分|反馈"
    ),
    "block": _operation(
        Text("block", "禁止"), "block, blacklist, ban, suspend, freeze", "拉黑|黑名单|封禁|冻结|暂停"
    ),
    "object": _operation(
        Text("object", "提出异议"), "appeal, dispute, object to, objection", "申诉|异议|争议"
    ),
    "repeat": _operation(
        Text("have again", "补办"), "resend, reprint, duplicate, copy of", "补发|重发|补办|重新发|副本"
    ),
}


def operations(text: str) -> frozenset[str]:
    """The keys of `OPERATIONS` that a text names."""
    spoken = f" {' '.join(words(text))} "
    return frozenset(
        key
        for key, operation in OPERATIONS.items()
        if operation.chinese.search(text) or any(f" {each} " in spoken for each in operation.english)
    )
