"""What a person does to a run that has escalated: takes it over, sets values, says what is known, hands it back."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence

from sopwith.errors import Text, UserError, ValueErased
from sopwith.ir.event import (
    CallReconciled,
    RunHandedBack,
    RunTakenOver,
    ValueStored,
)
from sopwith.ir.place import step_id
from sopwith.ir.schema import together, validator
from sopwith.ir.spoken import spoken
from sopwith.ir.value import Json, storable
from sopwith.lang.machine import Node
from sopwith.run.actor import Actor
from sopwith.run.state import State

TAKEN_FROM = ("escalated", "failed")
"""The outcomes that a person can take a run over from."""


def only_tells(state: State) -> bool:
    """Whether a run has ended for good, and what its open writes have done can still be recorded."""
    return state.outcome is not None and state.outcome.kind not in TAKEN_FROM and bool(state.open)


def take_over(actor: Actor, by: str, why: str | None) -> None:
    """`by` has the run from here on. Who has it already may go on; nobody else may take it away."""
    state = actor.journal.state
    taken = RunTakenOver(by=_written(actor, by), why=why and actor.redact_mixed(why))
    if state.taken_by is not None:
        holder = _true_name(actor, state.taken_by)
        if holder is None:
            actor.journal.emit(taken)
        elif holder != by:
            raise UserError(
                Text(f"{state.taken_by} has taken the run over", f"该运行已由 {state.taken_by} 接管"),
                Text("ask them to hand it back", "请让其交还运行"),
            )
        return
    if state.outcome is None:
        raise UserError(
            Text("the run has not been handed to a person", "该运行没有转交人工"),
            _go_on_first(state),
        )
    if state.outcome.kind not in TAKEN_FROM or not state.bound:
        raise UserError(
            Text(f"the run has ended: {state.status}", f"该运行已结束：{spoken(state.status).zh}"),
            Text("start a new run", "请开始新的运行"),
        )
    actor.journal.emit(taken)


def _go_on_first(state: State) -> Text:
    """What a run that has not ended needs instead of being taken over."""
    run = state.run
    if state.suspended_at is None:
        return Text(
            f"its process has ended? First go on with it: sopwith resume {run}",
            f"若其进程已结束，请先继续运行：sopwith resume {run}",
        )
    if state.cursor is not None and state.cursor.question == "approval":
        return Text(
            f"it waits for leave: sopwith approve {run}, or sopwith deny {run}",
            f"它在等待批准：sopwith approve {run}，或 sopwith deny {run}",
        )
    if state.cursor is not None and state.cursor.question is not None:
        return Text(
            f"it waits for an answer: sopwith resume {run} --answer …",
            f"它在等待回答：sopwith resume {run} --answer …",
        )
    waits = _WAITS.get(state.waiting_for or "", Text("something", "其他事情"))
    return Text(
        f"it waits for {waits.en}, and goes on when that has come: sopwith resume {run}",
        f"它在等待{waits.zh}，到来之后即可继续：sopwith resume {run}",
    )


_WAITS = {
    "time": Text("its time", "时间"),
    "event": Text("an event", "事件"),
    "child": Text("a run that it has called", "其调用的运行"),
    "stop": Text("the runs that it has called to stop", "其调用的运行停止"),
}


def set_values(actor: Actor, by: str, values: Mapping[str, Json]) -> None:
    """Give names values, as `by`; an item of a list is named as in the log, `step[item]`.

    Raises `UserError` for a name that no step writes, or a value that does not fit.
    """
    nodes = {node.writes: node for node in actor.book.machine.nodes.values() if node.writes is not None}
    items = begun_items(actor.journal.state)
    for name, value in values.items():
        node = _node_of_item(actor, name) if name in items else nodes.get(name)
        if node is None:
            listed = ", ".join([*sorted(filter(None, nodes)), *items])
            raise UserError(
                Text(f"no step gives '{name}' a value", f"没有步骤会给“{name}”赋值"),
                Text(f"names with values: {listed}", f"可赋值的名称：{listed}"),
            )
        schema = _schema_of(node)
        problems = validator(schema).problems(value) if schema is not None else ()
        if problems:
            said = together(problems)
            raise UserError(
                Text(f"the value of '{name}' does not fit: {said.en}", f"“{name}”的值不合要求：{said.zh}")
            )
    for name, value in values.items():
        stored = actor.journal.stored(actor.redact(storable(value)))
        step = name if name in items else nodes[name].step.id
        written = _node_of_item(actor, name).writes or name if name in items else name
        body = ValueStored(name=written, by="human", who=_written(actor, by), **stored)
        actor.journal.emit(body, step=step)


def _node_of_item(actor: Actor, name: str) -> Node:
    return actor.book.machine.nodes[step_id(name)].working


def say_happened(actor: Actor, by: str, happened: bool | Mapping[str, bool]) -> None:
    """`by` has looked: the writes whose outcome was not known have acted, or have not.

    One answer is for one write; of several, `happened` names the steps or items, as in the log. Raises `UserError` for
    one answer to several, and for a write that is not open.
    """
    writes = {write.step: write for write in actor.journal.state.open}
    if not writes:
        raise UserError(
            Text("the run has no write with an unknown outcome", "该运行没有结果未知的写操作"),
            Text("leave the statement out", "请去掉该声明"),
        )
    if isinstance(happened, bool):
        if len(writes) > 1:
            raise UserError(
                Text(f"{len(writes)} writes have an unknown outcome", f"有 {len(writes)} 个写操作结果未知"),
                _say_each(list(writes)),
            )
        happened = dict.fromkeys(writes, happened)
    for step in happened:
        if step not in writes:
            raise UserError(
                Text(f"'{step}' has no write with an unknown outcome", f"“{step}”没有结果未知的写操作"),
                _say_each(list(writes)),
            )
    for step, known in happened.items():
        write = writes[step]
        body = CallReconciled(tool=write.tool, started=write.started, happened=known, by=_written(actor, by))
        actor.journal.emit(body, write.started, write.step)


def _say_each(writes: Sequence[str]) -> Text:
    said = " ".join(f"--happened {shlex.quote(f'{step}=yes')}" for step in writes[:3])
    more = "" if len(writes) <= 3 else " …"
    return Text(f"say it for each, yes or no: {said}{more}", f"请逐一说明（yes 或 no）：{said}{more}")


def hand_back(actor: Actor, by: str, to: str, *, again: bool) -> None:
    """The run goes on at the step `to`: behind it, where its write has acted. With `again` such writes are made anew.

    `to` is the id, the name or the number of a step. Raises `UserError` where it is none, or of several steps, and
    where a write that has acted would be made again, and that was not said.
    """
    state, nodes = actor.journal.state, actor.book.machine.nodes
    to = _step_called(actor, to)
    if state.open:
        listed = ", ".join(write.title for write in state.open)
        raise UserError(
            Text(
                f"it is not known whether these have acted: {listed}", f"尚不清楚以下操作是否已执行：{listed}"
            ),
            Text(
                "look, and say it: --happened yes, or --happened no",
                "请核实后说明：--happened yes 或 --happened no",
            )
            if len(state.open) == 1
            else _say_each([write.step for write in state.open]),
        )
    node = nodes[to]
    goes_on = _goes_on(state, to, again=again)
    done = to in state.written and not again and not goes_on and not node.open
    if done and node.writes not in state.values:
        raise UserError(
            Text(
                f"the write of step '{to}' has acted: it is not made again",
                f"步骤“{to}”的写操作已执行，不会再次执行",
            ),
            Text(
                f"say what it gave, and the run goes on behind it: --set {node.writes}=VALUE; or say --again",
                f"请说明其结果，运行将从该步骤之后继续：--set {node.writes}=值；若要重新执行：--again",
            ),
        )
    own = {to} if goes_on else set[str]()
    repeated = [] if again else sorted((_ahead(nodes, to, behind=done).keys() & state.written) - own)
    if repeated:
        listed = ", ".join(repeated)
        raise UserError(
            Text(
                f"writes that have acted lie ahead of '{to}', and would be made again: {listed}",
                f"“{to}”之后会再次执行已执行过的写操作：{listed}",
            ),
            _instead(nodes, to, state.written),
        )
    missing = [name for name in _names_used(node, goes_on=goes_on) if name not in state.values]
    if missing:
        listed = ", ".join(missing)
        raise UserError(
            Text(
                f"the step '{to}' uses what has no value: {listed}", f"步骤“{to}”用到没有值的名称：{listed}"
            ),
            Text(
                "set it: --set NAME=VALUE, or name an earlier step",
                "请用 --set 名称=值 设置，或指定更早的步骤",
            ),
        )
    actor.journal.emit(RunHandedBack(by=_written(actor, by), to=to, done=done, items=goes_on))


def _step_called(actor: Actor, to: str) -> str:
    """The id of the step that people call `to`. Raises `UserError` where there is none, or more than one."""
    machine = actor.book.machine
    if to in machine.nodes:
        return to
    steps = machine.procedure.steps
    found = [step for step in machine.nodes if to in (steps[step].name, machine.numbers.get(step))]
    if len(found) == 1:
        return found[0]
    listed = [f"{step} ({steps[step].name})" if steps[step].name else step for step in found or machine.nodes]
    if found:
        message = Text(f"several steps are called '{to}'", f"有多个步骤都叫“{to}”")
    else:
        message = Text(f"there is no step '{to}'", f"没有步骤“{to}”")
    raise UserError(message, Text(f"steps: {', '.join(listed)}", f"步骤：{'、'.join(listed)}"))


def begun_items(state: State) -> tuple[str, ...]:
    """The items that have begun in the step over a list where the run stopped, as they are called in the log."""
    items = () if state.items is None else sorted(state.items.cursors.items())
    return tuple(cursor.instance for _, cursor in items)


def _goes_on(state: State, to: str, *, again: bool) -> bool:
    """Whether the step `to` goes on with the items of its list that are not done yet.

    Raises `UserError` where one has acted, and nobody says what it gave.
    """
    items = state.items
    if again or items is None or items.step != to:
        return False
    acted = [c.place for c in items.cursors.values() if not c.done and c.place in state.written]
    if acted:
        listed = ", ".join(acted[:10])
        raise UserError(
            Text(
                f"the writes of these items have acted, and are not made again: {listed}",
                f"以下各项的写操作已执行，不会再次执行：{listed}",
            ),
            Text(
                f"say what each gave: --set {acted[0]}=VALUE; or say --again, which does all items again",
                f"请说明各自的结果：--set {acted[0]}=值；或用 --again 重做全部各项",
            ),
        )
    return True


def _ahead(nodes: Mapping[str, Node], to: str, *, behind: bool) -> dict[str, None]:
    """The steps that a run may come to from `to`, itself included unless it goes on `behind` it; the nearest
    first."""
    seen: dict[str, None] = {}
    left = [edge.edge.to for edge in (*nodes[to].edges, *nodes[to].on_error)] if behind else [to]
    while left:
        step = left.pop(0)
        if step not in seen:
            seen[step] = None
            left += [edge.edge.to for edge in (*nodes[step].edges, *nodes[step].on_error)]
    return seen


def _instead(nodes: Mapping[str, Node], to: str, written: Collection[str]) -> Text:
    """Where a run can be handed back in the place of `to`, so that no write is made again: at a write that has acted
    and has none ahead, else right behind one that a model chose by itself, which it may choose again."""
    acted = [step for step in _ahead(nodes, to, behind=False) if step in written]
    behind = [edge.edge.to for step in acted if nodes[step].open for edge in nodes[step].edges]
    for step in (*acted, *behind):
        done = step in written and not nodes[step].open
        if not any(ahead in written for ahead in _ahead(nodes, step, behind=done)):
            return Text(
                f"hand it back at '{step}'{', and it goes on behind it' if done else ''}; or say --again",
                f"请交还到“{step}”{'，运行将从其后继续' if done else ''}；或用 --again 明确要求重做",
            )
    return Text(
        "every way on comes to one of them: say --again, and they are made again",
        "每条去路都会再次经过这些操作：用 --again 明确要求重做",
    )


def _written(actor: Actor, by: str) -> str:
    """A person's name as it may be written."""
    return str(actor.redact(storable(by)))


def _true_name(actor: Actor, by: str) -> str | None:
    """Who has the run; None where the name was erased: then the run is anybody's to take over."""
    try:
        return str(actor.values.true(by))
    except ValueErased:
        return None


def _schema_of(node: Node) -> Mapping[str, Json] | None:
    """What the step's own value must be like; what is made of run data is not held against it."""
    if node.dynamic_enums:
        return None
    schema = node.tool.output_schema if node.tool is not None else node.returns
    if node.each is None:
        return schema
    return {"type": "array", "items": {} if node.each.collect or schema is None else schema}


def _names_used(node: Node, *, goes_on: bool) -> list[str]:
    """The names of other steps that the step needs a value of before it does anything."""
    paths = [*node.arguments.paths, *(use.path for use in node.uses)]
    paths += [
        path
        for template in (node.do, node.answer, node.ask, node.result)
        if template
        for path in template.paths
    ]
    own = {"inputs", "run", "error", node.writes}
    if node.each is not None:
        own.add(node.each.name)
        paths += () if goes_on else node.each.over.paths
    return [name for name in dict.fromkeys(path[0] for path in paths) if name not in own]
