"""The calls of a stored run, to be given again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from sopwith.guard.redact import Redactor
from sopwith.guard.vault import Vault
from sopwith.ir.event import CallFinished, CallProposed, CallReconciled, Event
from sopwith.ir.message import MessageSent
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json
from sopwith.log.port import Log
from sopwith.run.redaction import revealed
from sopwith.run.stored_run import read_state
from sopwith.run.value_path import replaced, walk
from sopwith.tools.port import Reconciled, ToolResult
from sopwith.tools.recorded import RecordedAnswer, RecordedCall, Recording


async def recording_of(log: Log, run: str, vault: Vault) -> Recording:
    """What the run `run`, and those that it has called, have called, with true values as far as the vault holds them.

    A call that a dry run has made up, and one of which nothing is known, is none. Raises `UserError` where there is no
    such run.
    """
    events, _ = await read_state(log, run)
    family, specs = [events], dict[str, ToolSpec]()
    found = _Found()
    for events in family:
        for item in json.loads(await log.blob(events[0].body.tools)):
            spec = ToolSpec.model_validate(item)
            specs.setdefault(spec.name, spec)
        await _read(log, events, vault, found)
        called = [await log.read(e.body.receiver) for e in events if isinstance(e.body, MessageSent)]
        family += [child for child in called if child]  # one that was stopped before it began has no events
    found.calls.sort(key=lambda each: each[0])
    return Recording(list(specs.values()), [call for _, call in found.calls], found.answers)


@dataclass(slots=True)
class _Found:
    """Calls with the time of their end (µs since 1970), and what tools said of calls."""

    calls: list[tuple[int, RecordedCall]] = field(default_factory=list[tuple[int, RecordedCall]])
    answers: list[RecordedAnswer] = field(default_factory=list[RecordedAnswer])


async def _read(log: Log, events: Sequence[Event], vault: Vault, found: _Found) -> None:
    """Add the calls of one run."""
    redactor = Redactor(vault, events[0].run)
    proposed: dict[str | None, CallProposed] = {}
    ended: set[int | None] = set()
    asked: dict[int, tuple[str, Json]] = {}

    async def value_of(body: CallFinished) -> Json:
        return revealed(redactor, body.value if body.blob is None else json.loads(await log.blob(body.blob)))

    async def add(at: int, call: CallProposed, result: ToolResult) -> None:
        arguments = revealed(redactor, await _whole(log, call))
        found.calls.append((at, RecordedCall(call.tool, arguments, result, frozenset(call.defaults))))

    for event in events:
        body, call = event.body, proposed.get(event.step)
        if isinstance(body, CallProposed):
            proposed[event.step] = body
        elif call is None:
            continue
        elif isinstance(body, CallReconciled) and body.by is None:
            if body.started not in ended:  # cut off together with its driver
                await add(event.at, call, ToolResult(unknown=True))
            asked[event.seq] = call.tool, revealed(redactor, await _whole(log, call))
            if not body.happened:
                found.answers.append(RecordedAnswer(*asked[event.seq], Reconciled(body.happened)))
        elif isinstance(body, CallFinished) and event.cause in asked:
            answer = Reconciled(happened=True, value=await value_of(body))
            found.answers.append(RecordedAnswer(*asked[event.cause], answer))
        elif isinstance(body, CallFinished) and not body.stubbed:
            ended.add(event.cause)
            await add(event.at, call, ToolResult(await value_of(body), body.error, body.unknown))


async def _whole(log: Log, asked: CallProposed) -> Json:
    """The arguments with every value that was passed by reference, placeholders kept."""
    arguments: Json = asked.arguments
    for passed in asked.passed:
        value = walk(json.loads(await log.blob(passed.blob)), passed.path)
        arguments = replaced(arguments, passed.at, value)
    return arguments
