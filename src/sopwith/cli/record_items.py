"""What the items of a list did, in one line: how many are through, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

from sopwith.errors import Text
from sopwith.ir.event import (
    Body,
    CallFinished,
    CallProposed,
    CallReconciled,
    CallStarted,
    Event,
    ModelReplied,
    StepFailed,
)
from sopwith.ir.tool import Effect
from sopwith.ir.usage import Usage

LISTED = 5
"""So many items with an unknown outcome are named."""

_ITEMS = Text("{} items", "{} 项")
_FAILED = Text("{} failed", "{} 项失败")
_UNKNOWN = Text("outcome unknown: {}", "结果未知：{}")


@dataclass(slots=True)
class ItemsRecord:
    """The items of one visit of a step. `open` are the writes that were started and not answered, by item."""

    count: int
    tool: str = ""
    usage: Usage = field(default_factory=Usage)
    failed: dict[int, str] = field(default_factory=dict[int, str])
    open: dict[int, CallStarted] = field(default_factory=dict[int, CallStarted])

    def take(self, event: Event, item: int) -> None:
        """One more event of an item."""
        body: Body = event.body
        if isinstance(body, CallProposed):
            self.tool = body.tool
        elif isinstance(body, ModelReplied):
            self.usage += body.usage + Usage(model_calls=1)
        elif isinstance(body, StepFailed):
            self.failed[item] = body.error.code
        elif isinstance(body, CallStarted):
            self.open[item] = body
        elif isinstance(body, CallFinished):
            self.usage += Usage(tool_calls=1)
            if not body.unknown:
                self.open.pop(item, None)
        elif isinstance(body, CallReconciled) and body.happened is not None:
            self.open.pop(item, None)

    def said(self, language: str) -> str:
        """The items in a line."""
        parts = [_ITEMS.in_(language).format(f"{self.count:,}")]
        if self.tool:
            parts[0] = f"{self.tool} × {parts[0]}"
        if self.failed:
            codes = ", ".join(dict.fromkeys(self.failed.values()))
            parts.append(f"{_FAILED.in_(language).format(len(self.failed))} ({codes})")
        unknown = [item for item, call in self.open.items() if call.effect is not Effect.READ]
        if unknown:
            named = ", ".join(f"[{item}]" for item in unknown[:LISTED])
            parts.append(_UNKNOWN.in_(language).format(named + (" …" if len(unknown) > LISTED else "")))
        return ", ".join(parts)
