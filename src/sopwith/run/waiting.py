"""What waits for a person's leave, read from the log."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sopwith.errors import SopwithError, Text
from sopwith.ir.event import Event, HumanAsked, Principal
from sopwith.ir.value import Json
from sopwith.log.port import Log
from sopwith.run.fold import fold_all


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that waits for leave. Text and `arguments` hold placeholders; times are µs since 1970.

    `given` are those who have agreed so far, of `count`; `principal` is whom the run acts for, and who may not approve
    where `four_eyes` are wanted. Leave may be wanted for several `calls`, the items of a list: then `arguments` holds
    those of each under its name. `task` is the first run of the family. After `until` it has to be asked for anew.
    """

    run: str
    task: str
    procedure: str
    step: str
    tool: str
    arguments: Mapping[str, Json]
    rule: str | None
    roles: tuple[str, ...]
    count: int
    given: tuple[str, ...]
    four_eyes: bool
    principal: Principal
    since: int
    until: int | None
    calls: int = 1


def waiting_of(events: Sequence[Event]) -> Waiting | None:
    """What the run of these events waits for leave to do; None where it waits for nothing of the kind."""
    state = fold_all(events)
    cursor = state.cursor
    if state.outcome is not None or cursor is None or cursor.question != "approval":
        return None
    asked = next(event for event in reversed(events) if isinstance(event.body, HumanAsked))
    body: HumanAsked = asked.body
    covered = () if state.items is None else state.items.those(body.items)
    return Waiting(
        run=state.run,
        task=state.task,
        procedure=state.procedure_id,
        step=cursor.instance,
        tool=cursor.tool or (covered[0].tool if covered else None) or "",
        arguments=cursor.arguments or {one.instance: dict(one.arguments or {}) for one in covered},
        calls=max(1, len(body.items)),
        rule=body.rule,
        roles=body.roles,
        count=body.count,
        given=tuple(vote.by for vote in cursor.votes),
        four_eyes=body.four_eyes,
        principal=state.principal,
        since=asked.at,
        until=body.expires_at,
    )


async def waiting(log: Log) -> tuple[list[Waiting], list[Text]]:
    """All calls of a log that wait for leave, and what of it cannot be read.

    Those of one family stand together; what has waited longest comes first.
    """
    found: list[Waiting] = []
    damage: list[Text] = []
    for row in await log.runs(sys.maxsize):
        if row.status != "suspended":
            continue
        try:
            each = waiting_of(await log.read(row.run))
        except SopwithError as error:
            damage.append(error.message)
            continue
        if each is not None:
            found.append(each)
    first = {each.task: min(one.since for one in found if one.task == each.task) for each in found}
    return sorted(found, key=lambda each: (first[each.task], each.task, each.since)), damage
