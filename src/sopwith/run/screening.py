"""What leaves a run, held against the rules for outputs: the answer, and the output as JSON text."""

from __future__ import annotations

import json

from sopwith.guard.screen import Screen, Screened
from sopwith.ir.event import Outcome
from sopwith.run.values import Values


async def screen_output(screen: Screen, outcome: Outcome, values: Values) -> Screened:
    """The first verdict on the true texts that does not let them pass."""
    answer, output = values.true(outcome.answer), values.true(outcome.output)
    texts = [
        text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        for text in (answer, output)
        if text is not None
    ]
    for text in texts:
        screened = await screen.judge("output", text)
        if screened.verdict != "pass":
            return screened
    return Screened("pass", None)
