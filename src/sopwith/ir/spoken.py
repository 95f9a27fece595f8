"""Names that stand in events and settings, as people say them: in English as they are, in Chinese in words."""

from __future__ import annotations

from sopwith.errors import Text

_CHINESE = {
    "running": "运行中",
    "suspended": "等待中",
    "completed": "已完成",
    "escalated": "已转交人工",
    "denied": "被拒绝",
    "exhausted": "超出预算或时间",
    "cancelled": "已取消",
    "failed": "失败",
    "tokens": "token 数",
    "money": "金额",
    "model_calls": "模型调用次数",
    "tool_calls": "工具调用次数",
    "seconds": "时间（秒）",
    "step": "步骤",
    "phase": "阶段",
    "run": "运行",
}


def spoken(name: str) -> Text:
    """A status, an outcome, a limit or a scope as people say it; any other name as it is."""
    return Text(name, _CHINESE.get(name, name))
