"""Who has made a case what it is: not only in its own run, but in all runs of its task that it is made of."""

from __future__ import annotations

from sopwith.errors import UserError, ValueErased
from sopwith.ir.message import MessageReceived
from sopwith.run.approval import FORGOTTEN, refuse_it
from sopwith.run.driving import Driving
from sopwith.run.stored_run import StoredRun, open_run, read_state


async def makers_of(driving: Driving, stored: StoredRun) -> tuple[str, ...]:
    """The true names of those who have set values in, or sent on, the runs above a run, and the runs whose results have
    come back to any of these. Raises `UserError` where one of the names was erased."""
    left, parent = [stored.state.run], stored.state.parent
    while parent is not None:
        left.append(parent)
        parent = (await read_state(driving.log, parent))[1].parent
    found: list[str] = []
    seen = set(left)
    while left:
        events, state = await read_state(driving.log, left.pop())
        below = [event.body.sender for event in events if isinstance(event.body, MessageReceived)]
        left += [run for run in below if run not in seen]
        seen.update(below)
        if not state.operators:
            continue
        values = (await open_run(driving.log, state.run, driving.driver)).driver.values
        try:
            found += [str(values.true(name)) for name in state.operators]
        except ValueErased as error:
            raise UserError(FORGOTTEN, refuse_it(stored.state.run)) from error
    return tuple(found)
