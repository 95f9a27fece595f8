"""Where a guided model is: which step its action belongs to, and which ways lead on from a step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sopwith.errors import ExpressionError
from sopwith.ir.guidance import Deviation
from sopwith.ir.tool import ErrorData
from sopwith.lang.machine import CompiledEdge, Node
from sopwith.run.book import Book
from sopwith.run.condition import is_true
from sopwith.run.state import Cursor, State
from sopwith.run.values import Values
from sopwith.tools.names import alias


@dataclass(frozen=True, slots=True)
class Way:
    """One way on from a step: its edge, and whether it is open; None where nobody can tell yet."""

    edge: CompiledEdge
    open: bool | None


@dataclass(frozen=True, slots=True)
class Found:
    """The step that an action belongs to (None: no step has it), and the first edge of the way there.

    `here`: the run is at that step, and its work is to be done. `why` says what the action is besides the ways on.
    """

    step: str | None = None
    edge: CompiledEdge | None = None
    here: bool = False
    why: Deviation | None = None


def is_done(node: Node, state: State) -> bool:
    """Whether the work of a guide step has been done since it was entered: its name has a value of its own."""
    if node.kind == "route" or node.writes is None:
        return True
    return node.writes in state.values and state.owners.get(node.writes) == node.step.id


def ways_on(book: Book, node: Node, state: State, values: Values) -> tuple[Way, ...]:
    """The ways on from `node`, after an error of its call those of `on_error`."""
    error = own_error(node, state)
    if error is not None:
        return open_ways(book, node.on_error, state.changed(error=error), values)
    return open_ways(book, node.edges, state, values)


def own_error(node: Node, state: State) -> ErrorData | None:
    """The error of the call of the step's own tool, where that was the last action."""
    cursor = state.cursor
    if cursor is None or cursor.step != node.step.id or node.tool is None or cursor.tool != node.tool.name:
        return None
    return cursor.error


def open_ways(book: Book, edges: tuple[CompiledEdge, ...], state: State, values: Values) -> tuple[Way, ...]:
    """`edges` in their order, each with whether it is open. Nothing here fails: what cannot be told is None."""
    found: list[Way] = []
    taken: bool | None = False  # whether one of the edges before is taken
    for edge in edges:
        if edge.kind == "when" and edge.condition is not None:
            try:
                holds = is_true(edge.condition, book, state, values)
            except ExpressionError:
                holds = None
            found.append(Way(edge, holds))
        elif edge.kind == "judge":
            holds = None
            found.append(Way(edge, None))
        else:
            holds = True
            found.append(Way(edge, True if edge.kind == "always" else _not(taken)))
        taken = _either(taken, holds)
    return tuple(found)


def _either(one: bool | None, other: bool | None) -> bool | None:
    if one or other:
        return True
    return None if one is None or other is None else False


def _not(known: bool | None) -> bool | None:
    return None if known is None else not known


def find(book: Book, node: Node, action: str, state: State, values: Values) -> Found:
    """The step that `action` (a name of the tool block) belongs to, seen from `node`.

    First the step at hand and those behind it, then any step of the region; only then by a tool that is called alike.
    """
    region = book.machine.regions[node.step.id]
    nodes = book.machine.nodes
    undone = not is_done(node, state)
    if undone and book.block.name(node) == action:
        return Found(node.step.id, here=True)
    reached = list(_ahead(book, node, state, values))
    fitting = [(open_, to, first) for open_, to, first in reached if book.block.name(nodes[to]) == action]
    if fitting:
        open_, to, first = next((one for one in fitting if one[0] is not False), fitting[0])
        left_out = undone and own_error(node, state) is None
        return Found(to, first, why="skipped" if left_out else _why(nodes[to], open_, state))
    named = [
        step
        for step in region.steps
        if book.block.name(nodes[step]) == action and nodes[step].kind != "route"
    ]
    if named:
        fresh = next((step for step in named if step not in state.visits), named[0])
        return Found(fresh, why="no_edge")
    alike = next((step for step in region.steps if called_alike(nodes[step], action)), None)
    if alike is not None:
        here = alike == node.step.id and undone
        return Found(alike, here=here, why=None if here else "no_edge")
    return Found(why="no_step")


def _ahead(
    book: Book, node: Node, state: State, values: Values
) -> Iterator[tuple[bool | None, str, CompiledEdge]]:
    """The guide steps that the ways on from `node` lead to, steps without any work passed through, the nearest first:
    whether the way is open, the step, and the first edge."""
    region = book.machine.regions[node.step.id]
    nodes = book.machine.nodes
    todo = [(way.open, way.edge.edge.to, way.edge) for way in ways_on(book, node, state, values)]
    seen = {
        (node.step.id, open_) for open_ in (True, None, False)
    }  # also a closed way may lead where an open one does
    while todo:
        open_, to, first = todo.pop(0)
        if to not in region.steps:
            continue
        yield open_, to, first
        if nodes[to].kind == "route" and nodes[to].step.end is None and (to, open_) not in seen:
            seen.add((to, open_))
            for way in ways_on(book, nodes[to], state, values):
                both = False if False in (open_, way.open) else (None if None in (open_, way.open) else True)
                todo.append((both, way.edge.edge.to, first))


def left_out(
    book: Book, node: Node, state: State, values: Values
) -> tuple[Deviation, tuple[str, ...]] | None:
    """Why `finish` at `node` is none of the ways on, and the steps that it leaves out; None where a way ends there."""
    region = book.machine.regions[node.step.id]
    nodes = book.machine.nodes
    if not is_done(node, state):
        return "skipped", (node.step.id,)
    if node.step.end == "complete":
        return None
    ahead = list(_ahead(book, node, state, values))
    outside = [
        way.open for way in open_ways(book, node.edges, state, values) if way.edge.edge.to not in region.steps
    ]
    ends = outside or [
        open_ for open_, to, _ in ahead if nodes[to].kind == "route" and nodes[to].step.end == "complete"
    ]
    if any(open_ is not False for open_ in ends):
        return None
    steps = [to for open_, to, _ in ahead if open_ is not False and nodes[to].kind != "route"]
    return "closed" if ends else "left", tuple(dict.fromkeys(steps))


def _why(node: Node, open_: bool | None, state: State) -> Deviation | None:
    """What is to be noted where `node` is entered by a way."""
    if open_ is False:
        return "closed"
    step = node.step.id
    return "visits" if state.visits.get(step, 0) >= node.visits + state.forgiven.get(step, 0) else None


def called_alike(node: Node, action: str) -> bool:
    """Whether the tool of a step and an action differ in nothing but the source and how they are spelled."""
    return node.tool is not None and _bare(alias(node.tool.name)) == _bare(action)


def _bare(name: str) -> str:
    return name.rpartition("__")[2].replace("-", "").replace("_", "").lower()


def result_name(book: Book, node: Node, state: State, cursor: Cursor) -> str:
    """The name that the result of the call at hand gets: the step's where it is the call of its tool."""
    if node.tool is not None and node.tool.name == cursor.tool and node.kind != "free":
        return node.writes or node.step.id
    return book.call_name(state.calls)
