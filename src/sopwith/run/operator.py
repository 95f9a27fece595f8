"""What a person does to a run that has escalated: takes it over, sets values, says what is known, hands it back."""

from __future__ import annotations

from collections.abc import Mapping

from sopwith.errors import Text, UserError, ValueErased
from sopwith.ir.event import (
    CallReconciled,
    RunHandedBack,
    RunTakenOver,
    ValueStored,
)
from sopwith.ir.schema import together, validator
from sopwith.ir.value import Json, storable
from sopwith.lang.machine import Node
from sopwith.run.actor import Actor

TAKEN_FROM = ("escalated", "failed")
"""The outcomes that a person can take a run over from."""


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
            Text(
                "only a run that has escalated or failed can be taken over", "只能接管已转交人工或失败的运行"
            ),
        )
    if state.outcome.kind not in TAKEN_FROM or not state.bound:
        raise UserError(
            Text(f"the run has ended: {state.status}", f"该运行已结束：{state.status}"),
            Text("start a new run", "请开始新的运行"),
        )
    actor.journal.emit(taken)


def set_values(actor: Actor, by: str, values: Mapping[str, Json]) -> None:
    """Give names values, as `by`. Raises `UserError` for a name that no step writes, or a value that does not fit."""
    nodes = {node.writes: node for node in actor.book.machine.nodes.values() if node.writes is not None}
    for name, value in values.items():
        node = nodes.get(name)
        if node is None:
            listed = ", ".join(sorted(filter(None, nodes)))
            raise UserError(
                Text(f"no step gives '{name}' a value", f"没有步骤会给“{name}”赋值"),
                Text(f"names with values: {listed}", f"可赋值的名称：{listed}"),
            )
        schema = _schema_of(node)
        problems = validator(schema).problem_texts(value) if schema is not None else ()
        if problems:
            said = together(problems)
            raise UserError(
                Text(f"the value of '{name}' does not fit: {said.en}", f"“{name}”的值不合要求：{said.zh}")
            )
    for name, value in values.items():
        stored = actor.journal.stored(actor.redact(storable(value)))
        step = nodes[name].step.id
        actor.journal.emit(ValueStored(name=name, by="human", who=_written(actor, by), **stored), step=step)


def say_happened(actor: Actor, by: str, happened: bool) -> None:
    """`by` has looked: the writes whose outcome was not known have acted, or have not."""
    writes = actor.journal.state.open
    if not writes:
        raise UserError(
            Text("the run has no write with an unknown outcome", "该运行没有结果未知的写操作"),
            Text("leave the statement out", "请去掉该声明"),
        )
    for write in writes:
        body = CallReconciled(
            tool=write.tool, started=write.started, happened=happened, by=_written(actor, by)
        )
        actor.journal.emit(body, write.started, write.step)


def hand_back(actor: Actor, by: str, to: str, *, again: bool) -> None:
    """The run goes on at the step `to`: behind it, where its write has acted. With `again` such writes are made anew.

    Raises `UserError` where a write that has acted would be made again, and that was not said.
    """
    state, nodes = actor.journal.state, actor.book.machine.nodes
    if to not in nodes:
        listed = ", ".join(nodes)
        raise UserError(
            Text(f"there is no step '{to}'", f"没有步骤“{to}”"), Text(f"steps: {listed}", f"步骤：{listed}")
        )
    if state.open:
        listed = ", ".join(write.tool for write in state.open)
        raise UserError(
            Text(
                f"it is not known whether these have acted: {listed}", f"尚不清楚以下操作是否已执行：{listed}"
            ),
            Text(
                "look, and say it: --happened yes, or --happened no",
                "请核实后说明：--happened yes 或 --happened no",
            ),
        )
    node = nodes[to]
    done = to in state.written and not again and node.kind != "free"
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
    repeated = [] if again else sorted(_ahead(nodes, to, behind=done) & state.written)
    if repeated:
        listed = ", ".join(repeated)
        raise UserError(
            Text(
                f"writes that have acted lie ahead of '{to}', and would be made again: {listed}",
                f"“{to}”之后会再次执行已执行过的写操作：{listed}",
            ),
            Text(
                f"hand it back at '{repeated[0]}', and it goes on behind it; or say --again",
                f"请交还到“{repeated[0]}”，运行将从其后继续；或用 --again 明确要求重做",
            ),
        )
    missing = [name for name in _names_used(node) if name not in state.values]
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
    actor.journal.emit(RunHandedBack(by=_written(actor, by), to=to, done=done))


def _ahead(nodes: Mapping[str, Node], to: str, *, behind: bool) -> set[str]:
    """The steps that a run may come to from `to`, itself included unless it goes on `behind` it."""
    seen: set[str] = set()
    left = [edge.edge.to for edge in (*nodes[to].edges, *nodes[to].on_error)] if behind else [to]
    while left:
        step = left.pop()
        if step not in seen:
            seen.add(step)
            left += [edge.edge.to for edge in (*nodes[step].edges, *nodes[step].on_error)]
    return seen


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
    return node.tool.output_schema if node.tool is not None else node.returns


def _names_used(node: Node) -> list[str]:
    """The names of other steps that the step needs a value of before it does anything."""
    paths = [*node.arguments.paths, *(use.path for use in node.uses)]
    paths += [
        path
        for template in (node.do, node.answer, node.ask, node.result)
        if template
        for path in template.paths
    ]
    own = {"inputs", "run", "error", node.writes}
    return [name for name in dict.fromkeys(path[0] for path in paths) if name not in own]
