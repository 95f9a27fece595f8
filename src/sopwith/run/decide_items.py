"""What happens next in a step over a list, and in one of its items. Pure, like `decide`.

An item is decided on by a view of the state in which its own cursor stands in the place of the step's, and its name has
the item as its value: whatever is decided for a step is decided for an item in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from sopwith.errors import ExpressionError, Text
from sopwith.guard.budget import room
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json, digest
from sopwith.lang.machine import CompiledEach, Node
from sopwith.run.book import Book
from sopwith.run.budget import within_budget
from sopwith.run.decide_input import shown_forms
from sopwith.run.decide_step import decide_work
from sopwith.run.decision import (
    AskModel,
    AskPerson,
    BeginItems,
    Decision,
    EndItems,
    EnterPhase,
    FailStep,
    Finish,
    RunItems,
    StartCall,
    Suspend,
)
from sopwith.run.preview import as_text
from sopwith.run.state import Cursor, Items, State, Stored
from sopwith.run.values import Values, scope

SHOWN = 20
"""So many calls are listed in the question that asks for leave for all."""

SHOWN_CHARACTERS = 200
"""So many characters of the arguments of each, and more where there are few calls."""


def decide_each(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision | None:
    """The next decision of a step over a list; None where all its items are through."""
    if cursor.done:
        return None
    each = cast("CompiledEach", node.each)
    items = state.items
    if items is None:
        return _begin(book, node, each, state, values)
    begun, left = _left(each, items)
    broken = None if each.collect or items.broken is None else items.cursors[items.broken]
    if broken is not None:  # what has begun to act is made known, and nothing else begins
        begun = [(i, c) for i, c in begun if c.unknown or c.started or c.child]
        left = [i for i, _ in begun]
    waiting = [i for i, c in begun if _wants_leave(state, c)]
    away = {i for i, c in begun if c.child is not None}
    asking = [i for i, c in begun if _wants_answer(c)]
    held = away.union(waiting, asking)
    ready = [i for i in left if i not in held]
    if each.node.kind == "call":  # so many runs at once as items
        ready = ready[: _places(state, each, len(away))]
    if ready:
        stuck = _stuck(book, state, items, ready, values)
        if (
            stuck
        ):  # an outcome that nobody knows, or a limit of the run: what can be made known is, before that
            ready = [i for i in ready if i not in stuck and i in items.cursors and items.cursors[i].unknown]
        return RunItems(tuple(ready), each.at_once, not each.collect) if ready else next(iter(stuck.values()))
    if away:
        return Suspend("child")
    if asking:
        return _ask_for_input(book, state, items, asking[0], values)
    if broken is not None:
        return FailStep(_of_item(book, node, broken))
    if waiting:
        return _ask_for_leave(book, items, waiting, values)
    return _end(book, node, each, items, values)


def _places(state: State, each: CompiledEach, away: int) -> int:
    """So many more items may call: no more at once than the budget has calls for, as long as some come back."""
    places = max(0, each.at_once - away)
    call = each.node.step.call
    if call is None or call.share is not None:
        return places
    free = room(state.budget, state.usage, [child.sent.budget for child in state.children.values()])
    return places if free is None else min(places, free if away else max(1, free))


def decide_item(book: Book, state: State, item: int, value: Stored, values: Values) -> Decision | None:
    """The next decision for one item, whose (stored) value is `value`; None where it has ended.

    `AskPerson`, `Suspend`: it waits for leave, or for a run that it has called. `EnterPhase`, `Finish`: the whole run
    has to go another way.
    """
    view = item_view(book, state, item, value)
    cursor = cast("Cursor", view.cursor)
    if cursor.failed is not None:
        return None
    node = book.machine.nodes[cursor.step].working
    try:
        decision = decide_work(book, node, view, cursor, values)
    except ExpressionError as error:
        text = Text(f"`{error.source}`: {error.message.en}", f"`{error.source}`：{error.message.zh}")
        return FailStep(ErrorData(code="expression", message=text.in_(book.language), step=cursor.step))
    if not isinstance(decision, AskModel | StartCall):
        return decision
    return within_budget(book, _counted(state, cursor), decision)


def item_view(book: Book, state: State, item: int, value: Stored) -> State:
    """The state as one item sees it."""
    whole = cast("Cursor", state.cursor)
    each = cast("CompiledEach", book.machine.nodes[whole.step].each)
    cursor = state.items.cursors.get(item) if state.items is not None else None
    if cursor is None:
        cursor = Cursor(whole.step, whole.visit, state.at, item=item, waited_before=state.waited)
    own: dict[str, Stored] = {each.name: value}
    if cursor.done and each.node.writes is not None:
        own[each.node.writes] = cursor.value
    if cursor.approved is None and is_covered(whole, cursor):
        cursor = cursor.changed(
            approved=whole.approved, votes=whole.votes, expires_at=whole.expires_at, terms=whole.terms
        )
    return state.changed(
        cursor=cursor,
        values={**state.values, **own},
        step_waited=cursor.waited_before,
        transcript=(),
        tail=None,
    )


def _counted(state: State, cursor: Cursor) -> State:
    """The state that an item is held to the budget in: the step's time and use, and what other items have asked for."""
    whole = cast("Cursor", state.cursor)
    asking = 0 if state.items is None else state.items.asking
    held = whole.changed(unknown=cursor.unknown, failed=cursor.failed)
    return state.changed(cursor=held, replies=state.replies + asking)


def _begin(book: Book, node: Node, each: CompiledEach, state: State, values: Values) -> Decision:
    names = {path[0] for path in each.over.paths}
    found = each.over.render(scope(state, book.procedure.inputs, names, values.true))
    if not isinstance(found, list):
        message = NO_LIST.in_(book.language).format(_source(node))
        return FailStep(ErrorData(code="no_list", message=message, step=node.step.id))
    items = cast("list[Json]", found)
    if len(items) > each.limit:
        message = TOO_MANY.in_(book.language).format(_source(node), f"{len(items):,}", f"{each.limit:,}")
        return FailStep(ErrorData(code="too_many_items", message=message, step=node.step.id))
    return BeginItems(items)


def _source(node: Node) -> str:
    return "" if node.step.each is None else node.step.each.in_


def _left(each: CompiledEach, items: Items) -> tuple[list[tuple[int, Cursor]], list[int]]:
    """The items that have begun and not ended, and all that are left; of those that call and have not begun, no more
    than can begin at once."""
    first = items.through if each.node.verify is None else items.checked
    fresh = each.at_once if each.node.kind == "call" else items.count
    unseen = len(items.cursors) - first
    begun: list[tuple[int, Cursor]] = []
    left: list[int] = []
    for i in range(first, items.count):
        cursor = items.cursors.get(i)
        if cursor is None:
            fresh -= 1
            left.append(i)
        else:
            unseen -= 1
            if not _ended(each, cursor):
                begun.append((i, cursor))
                left.append(i)
        if fresh <= 0 and not unseen:
            break
    return begun, left


def _ended(each: CompiledEach, cursor: Cursor) -> bool:
    """Whether nothing is left to do for an item."""
    checked = each.node.verify is None or cursor.checked is True or cursor.stubbed
    return cursor.failed is not None or (cursor.done and checked)


def _stuck(book: Book, state: State, items: Items, ready: list[int], values: Values) -> dict[int, Decision]:
    """The items, of those that have begun and the next one, that only the whole run has an answer to."""
    listed = cast("list[Json]", values.whole(items.over))
    found: dict[int, Decision] = {}
    for i in (i for i in ready if i in items.cursors or i == ready[0]):
        decision = decide_item(book, state, i, listed[i], values)
        if isinstance(decision, EnterPhase | Finish):
            found[i] = decision
    return found


def _wants_leave(state: State, cursor: Cursor) -> bool:
    """Whether an item can only go on when somebody has given leave for its call."""
    whole = state.cursor
    if whole is None or cursor.verdict != "ask" or state.dry_run:
        return False
    return not cursor.done and cursor.approved is None and not is_covered(whole, cursor)


def _wants_answer(cursor: Cursor) -> bool:
    """Whether an item can only go on when somebody has answered what its call asks."""
    return cursor.wanted is not None and cursor.answer is None and bool(shown_forms(cursor.wanted))


def _ask_for_input(book: Book, state: State, items: Items, item: int, values: Values) -> Decision:
    listed = cast("list[Json]", values.whole(items.over))
    asked = cast("AskPerson", decide_item(book, state, item, listed[item], values))
    question = f"{items.cursors[item].instance}: {asked.question}"
    return replace(asked, question=question, items=(item,))


def is_covered(whole: Cursor, cursor: Cursor) -> bool:
    """Whether the step's approval, given or refused, is for the call of this item."""
    covered = whole.covers.get(-1 if cursor.item is None else cursor.item)
    return whole.approved is not None and covered is not None and covered == cursor.judged


def _ask_for_leave(book: Book, items: Items, waiting: list[int], values: Values) -> Decision:
    """One question for all calls that the same rule asks for under the same terms."""
    first = items.cursors[waiting[0]]
    alike = [i for i in waiting if (c := items.cursors[i]).rule == first.rule and c.terms == first.terms]
    hashes = tuple(items.cursors[i].judged or "" for i in alike)
    shown = [items.cursors[i] for i in alike[:SHOWN]]
    room = SHOWN * SHOWN_CHARACTERS // len(shown)
    lines = [f"{c.instance}: {_shortened(values.told_arguments(c), room)}" for c in shown]
    if len(alike) > SHOWN:
        lines.append(MORE.in_(book.language).format(f"{len(alike) - SHOWN:,}"))
    question = APPROVE_ALL.in_(book.language).format(f"{len(alike):,}", first.tool) + "\n" + "\n".join(lines)
    return AskPerson(
        question,
        "approval",
        {"type": "boolean"},
        digest("\n".join(hashes).encode()),
        first.rule,
        first.terms,
        tuple(alike),
        hashes,
    )


def _shortened(arguments: dict[str, Json], room: int) -> str:
    """Arguments in about `room` characters. Each has its share, so that a long one does not hide the others."""
    text = as_text(arguments)
    if len(text) <= room:
        return text
    share = room // len(arguments)
    told = (as_text({name: value})[1:-1] for name, value in arguments.items())
    return "{" + ", ".join(each if len(each) <= share else each[: share - 1] + "…" for each in told) + "}"


def _end(book: Book, node: Node, each: CompiledEach, items: Items, values: Values) -> Decision:
    cursors = [items.cursors[i] for i in range(items.count)]
    failed = sum(cursor.failed is not None for cursor in cursors)
    value = list(_collected(cursors, values) if each.collect else (values.whole(c.value) for c in cursors))
    return EndItems(node.writes or node.step.id, value, failed)


def _collected(cursors: list[Cursor], values: Values) -> Iterator[Json]:
    for cursor in cursors:
        if cursor.failed is None:
            yield {"ok": True, "value": values.whole(cursor.value)}
        else:
            error = cursor.failed.model_dump(mode="json", include={"code", "message"})
            yield {"ok": False, "error": error}


def _of_item(book: Book, node: Node, cursor: Cursor) -> ErrorData:
    """The error of the step, from that of the item that broke it."""
    error = cast("ErrorData", cursor.failed)
    message = OF_ITEM.in_(book.language).format(cursor.item, error.message)
    return ErrorData(code=error.code, message=message, step=node.step.id, item=cursor.item)


NO_LIST = Text("{} gives no list", "{} 给出的不是列表")
TOO_MANY = Text(
    "{} has {} items, and the step takes {} at most: each.limit",
    "{} 有 {} 项，该步骤最多处理 {} 项：见 each.limit",
)
OF_ITEM = Text("item {}: {}", "第 {} 项（从 0 数起）：{}")
APPROVE_ALL = Text("May these {} calls of {} be made?", "允许对 {1} 进行以下 {0} 次调用吗？")
MORE = Text("… and {} more", "……另有 {} 次")
