"""本项目的工具：任何带有 `@tool` 的函数。参数模式取自类型注解与文档字符串。"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from sopwith.tools import ToolError, tool

REMINDERS = Path(__file__).with_name("reminders.jsonl")


@dataclass(frozen=True)
class Order:
    """商店里的一个订单。"""

    order_id: str
    status: str
    expected: str


@dataclass(frozen=True)
class Reminder:
    """提醒的结果。"""

    ok: bool


ORDERS = {
    "A-1001": Order("A-1001", "shipped", "2026-12-03"),
    "A-1002": Order("A-1002", "late", "2026-11-20"),
}


@tool(name="orders.find")
def find(text: str) -> Order:
    """按文本中的订单号查找订单。

    Args:
        text: 客户的原话。
    """
    number = re.search(r"A-\d{4}", text)
    if number is None or number[0] not in ORDERS:
        raise ToolError("not_found", "文本中没有有效的订单号")
    return ORDERS[number[0]]


# 写操作：策略未放行则拒绝；执行之前先落盘留痕。
@tool(name="orders.remind", effect="write", idempotent=True)
def remind(order_id: str, *, idempotency_key: str) -> Reminder:
    """就一个订单提醒仓库。

    Args:
        order_id: 订单号。
    """
    line = json.dumps({"order_id": order_id, "key": idempotency_key})
    known = REMINDERS.read_text(encoding="utf-8").splitlines() if REMINDERS.exists() else []
    if line not in known:
        REMINDERS.write_text("\n".join([*known, line, ""]), encoding="utf-8")
    return Reminder(ok=True)
