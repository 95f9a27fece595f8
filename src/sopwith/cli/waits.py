"""What a run waits for, in words and as data, and how to go on with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sopwith.cli.runs import local_time
from sopwith.errors import Text
from sopwith.expr.witness import witness
from sopwith.ir.schema_words import in_words
from sopwith.ir.spoken import spoken
from sopwith.ir.value import Json
from sopwith.lang.machine import Machine
from sopwith.lang.moment import write_time
from sopwith.run.operator import TAKEN_FROM
from sopwith.run.pausing import payload_schema
from sopwith.run.run import Run

_TIME = Text(
    "the run waits until {}; then: sopwith resume {}{}, or sopwith wake{}",
    "运行等待至 {}；届时：sopwith resume {}{} 或 sopwith wake{}",
)
_EVENT = Text(
    "the run waits for the event '{0}': sopwith signal {1} {0} --payload {3}{2}",
    "运行在等待事件“{0}”：sopwith signal {1} {0} --payload {3}{2}",
)
_BRINGS = Text("it brings {}", "它带来的数据：{}")
_UNTIL = Text("until {} at the latest", "最迟到 {}")
_CHILD = Text("run {} waits for run {} ({})", "运行 {} 在等待运行 {}（{}）")
_ENDED = Text(
    "it has ended as {}; a person can go on with it: sopwith takeover {} --to STEP{}",
    "它已结束（{}）；可由人接管后继续：sopwith takeover {} --to 步骤{}",
)
_DRIVEN = Text("the run waits for runs that it has called: {}", "运行在等待其调用的运行：{}")


def chain(run: Run) -> Iterator[Text]:
    """One line for each run that waits for another."""
    while (child := run.waits_for) is not None:
        name = child.state.procedure_id
        yield Text(_CHILD.en.format(run.id, child.id, name), _CHILD.zh.format(run.id, child.id, name))
        run = child


def how_to_go_on(run: Run, data: str, machines: Sequence[Machine] = ()) -> Iterator[Text]:
    """What a run waits for that is no person, and what to do then; `data` is the option of the data folder. What an
    event must bring is known where the run's machine is among the `machines`."""
    state = run.state
    if state.outcome is not None and state.outcome.kind in TAKEN_FROM:
        status = spoken(state.status)
        yield Text(_ENDED.en.format(status.en, run.id, data), _ENDED.zh.format(status.zh, run.id, data))
    elif state.children and run.waits_for is None:
        yield Text(_DRIVEN.en.format(", ".join(state.children)), _DRIVEN.zh.format("、".join(state.children)))
    for cursor in state.cursors:
        paused = cursor.paused
        if paused is None:
            continue
        if paused.until is not None:
            yield _said(_TIME, local_time(paused.until), run.id, data, data)
        if paused.event is not None:
            schema = _payload(machines, state.procedure_id, cursor.step)
            like = "…" if schema is None else f"'{json.dumps(witness(schema), ensure_ascii=False)}'"
            yield _said(_EVENT, paused.event, run.id, data, like)
            if schema is not None:
                wanted = in_words(schema)
                yield Text(_BRINGS.en.format(wanted.en), _BRINGS.zh.format(wanted.zh))
        if paused.deadline is not None:
            yield _said(_UNTIL, local_time(paused.deadline))


def waits_json(run: Run) -> dict[str, Json] | None:
    """What a suspended run waits for, as data; None for one that does not wait."""
    state = run.state
    if state.suspended_at is None or state.outcome is not None:
        return None
    cursor = state.cursor
    paused = None if cursor is None else cursor.paused
    found: dict[str, Json] = {"what": state.waiting_for or "human"}
    if paused is not None:
        at = paused.until if paused.event is None else paused.deadline
        found |= {"event": paused.event, "until": None if at is None else write_time(at)}
    if state.children:
        child = run.waits_for
        found |= {"runs": list(state.children), "for": None if child is None else waits_json(child)}
    return found


def _payload(machines: Sequence[Machine], procedure: str, step: str) -> dict[str, Json] | None:
    """The schema of what the event of a step brings; None where nothing is said about it."""
    machine = next((one for one in machines if one.procedure.id == procedure), None)
    node = None if machine is None else machine.nodes.get(step)
    return None if node is None or node.returns is None else payload_schema(node)


def _said(text: Text, *what: str) -> Text:
    return Text(text.en.format(*what), text.zh.format(*what))
