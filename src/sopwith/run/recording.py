"""The calls of a stored run, to be given again."""

from __future__ import annotations

import json

from sopwith.guard.redact import Redactor
from sopwith.guard.vault import Vault
from sopwith.ir.event import CallFinished, CallProposed
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json
from sopwith.log.port import Log
from sopwith.run.redaction import revealed
from sopwith.run.stored_run import read_state
from sopwith.run.value_path import replaced, walk
from sopwith.tools.port import ToolResult
from sopwith.tools.recorded import RecordedCall, Recording


async def recording_of(log: Log, run: str, vault: Vault) -> Recording:
    """What the run `run` has called, with true values as far as the vault holds them.

    A call that a dry run has made up, and one whose end is not written, is none. Raises `UserError` where there is no
    such run.
    """
    events, _ = await read_state(log, run)
    redactor = Redactor(vault, run)
    specs = [ToolSpec.model_validate(item) for item in json.loads(await log.blob(events[0].body.tools))]
    proposed: dict[str | None, CallProposed] = {}
    calls: list[RecordedCall] = []
    for event in events:
        match event.body:
            case CallProposed() as body:
                proposed[event.step] = body
            case CallFinished(stubbed=False) as body if event.step in proposed:
                asked = proposed[event.step]
                value = body.value if body.blob is None else json.loads(await log.blob(body.blob))
                result = ToolResult(revealed(redactor, value), body.error, body.unknown)
                arguments = revealed(redactor, await _whole(log, asked))
                calls.append(RecordedCall(asked.tool, arguments, result, frozenset(asked.defaults)))
            case _:
                pass
    return Recording(specs, calls)


async def _whole(log: Log, asked: CallProposed) -> Json:
    """The arguments with every value that was passed by reference, placeholders kept."""
    arguments: Json = asked.arguments
    for passed in asked.passed:
        value = walk(json.loads(await log.blob(passed.blob)), passed.path)
        arguments = replaced(arguments, passed.at, value)
    return arguments
