"""The packet of a run that did not complete: what a person needs to take over."""

from __future__ import annotations

from sopwith.errors import Text
from sopwith.guard.budget import shown
from sopwith.ir.outcome import Packet
from sopwith.ir.spoken import spoken
from sopwith.ir.tool import ErrorData
from sopwith.run.book import Book
from sopwith.run.state import Cursor, Reference, State

HANDED_OVER = Text("the procedure hands over to a person at “{}”", "流程在“{}”转交人工")
FAILED = Text("“{}” failed: {}", "“{}”失败：{}")
UNKNOWN = Text("it is not known whether {} has acted", "无法确定 {} 是否已经执行")
SCREENED = Text("the request met the rule “{}” for requests", "请求触发了请求规则“{}”")
SCREENED_OUTPUT = Text("the output met the rule “{}” for outputs", "输出触发了输出规则“{}”")
LATE = Text("the {} took longer than {:g} s", "{} 超过了 {:g} 秒")
LIMIT = Text("the run's limit of {0} ({1}) is reached", "已达到该运行的 {0} 上限（{1}）")
CUT = Text(
    "the principal's limit of {0} is reached: this run could have {1} of it; sopwith budget shows it",
    "已达到该主体的 {0} 上限：本次运行只剩 {1} 可用；用 sopwith budget 查看",
)
CHECKED = Text("the output did not pass its check", "输出没有通过检查")
INPUTS = Text("the inputs", "输入")
NO_INPUTS = Text(
    "inputs are missing, and the request is empty: there is nothing to find them in; give them: {}",
    "缺少输入，且请求为空，无从提取；请直接给出：{}",
)
CANCELLED = Text("cancelled by {}", "由 {} 取消")
STOPPED = Text("stopped", "已停止")


def packet(book: Book, state: State, limit: str | None = None) -> Packet:
    """Why the run stops, where, the way it came, its values (long ones as previews), and what is open."""
    cursor = _unknown_item(state) or state.cursor
    return Packet(
        reason=_reason(book, state, cursor, limit),
        step=cursor.step or None if cursor else None,
        path=tuple(visited.step for visited in state.path),
        values={
            name: value.preview if isinstance(value, Reference) else value
            for name, value in state.values.items()
        },
        open=tuple(write.title for write in (*state.open, *state.all_acting)),
        error=_error(state, cursor),
    )


def _unknown_item(state: State) -> Cursor | None:
    """The first item of a list with a write that may have acted."""
    items = () if state.items is None else state.items.cursors.values()
    return next((cursor for cursor in items if cursor.unknown), None)


def _reason(book: Book, state: State, cursor: Cursor | None, limit: str | None) -> str:
    language = book.language
    if state.cancelled_by is not None:
        by, why = state.cancelled_by
        said = CANCELLED.in_(language).format(by)
        return said if why is None else f"{said}: {why}"
    if limit is not None:
        said = CUT if limit in state.cut else LIMIT
        return said.in_(language).format(spoken(limit).in_(language), shown(getattr(state.budget, limit)))
    if state.timed_out is not None:
        scope, seconds = state.timed_out
        return LATE.in_(language).format(spoken(scope).in_(language), seconds)
    if state.screened in ("deny", "escalate"):
        return SCREENED.in_(language).format(state.screen_rule)
    if state.output_screened in ("deny", "escalate"):
        return SCREENED_OUTPUT.in_(language).format(state.screen_rule)
    if state.verified is False:
        return CHECKED.in_(language)
    if cursor is None:
        return STOPPED.in_(language) if state.bound else _no_inputs(book, state)
    node = book.machine.nodes.get(cursor.step)
    title = node.step.title if node else INPUTS.in_(language)
    why = _error(state, cursor)
    if cursor.unknown:
        what = f"{cursor.tool} {cursor.instance}" if cursor.item is not None else cursor.tool
        reason = UNKNOWN.in_(language).format(what)
        return reason if why is None else f"{reason} ({why.message})"
    if cursor.failed is not None:
        return FAILED.in_(language).format(title, cursor.failed.message)
    reason = HANDED_OVER.in_(language).format(title)
    return reason if why is None else f"{reason} ({why.step}: {why.message})"


def _no_inputs(book: Book, state: State) -> str:
    """Which inputs nobody gave, as options of a command."""
    items = book.procedure.inputs.items()
    missing = (name for name, item in items if item.from_ is None and name not in state.given)
    return NO_INPUTS.in_(book.language).format(" ".join(f"--inputs {name}=…" for name in missing))


def _error(state: State, cursor: Cursor | None) -> ErrorData | None:
    """The error that the run ends with, or that led it here."""
    if cursor is None:
        return state.error
    return cursor.failed or (cursor.error if cursor.unknown else state.error)
