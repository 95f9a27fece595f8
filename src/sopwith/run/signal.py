"""Events from outside on their way to a run: checked, and kept in its inbox until a step takes them."""

from __future__ import annotations

import json

from sopwith.errors import Text, UserError
from sopwith.expr.witness import witness
from sopwith.ir.event import Principal
from sopwith.ir.pause import SignalSent
from sopwith.ir.schema import together
from sopwith.ir.schema_words import in_words
from sopwith.ir.value import Json, storable
from sopwith.log.port import Log
from sopwith.run.inbox import send
from sopwith.run.pausing import fits, payload_schema
from sopwith.run.stored_run import StoredRun


async def send_signal(
    log: Log, stored: StoredRun, event: str, payload: Json, by: Principal | str, at: int
) -> None:
    """Put `event` into the inbox of a run. Raises `UserError` where no step of its procedure would take it."""
    driver, run = stored.driver, stored.state.run
    nodes = driver.book.machine.nodes.values()
    waits = [node for node in nodes if node.step.wait is not None and node.step.wait.event is not None]
    takers = [node for node in waits if node.step.wait is not None and node.step.wait.event == event]
    if not takers:
        events = dict.fromkeys(node.step.wait.event or "" for node in waits if node.step.wait is not None)
        raise UserError(
            Text(
                f"the procedure of run {run} waits nowhere for '{event}'",
                f"运行 {run} 的流程没有等待“{event}”的步骤",
            ),
            Text(
                f"it waits for: {', '.join(events) or 'no event'}",
                f"它等待的事件：{'、'.join(events) or '无'}",
            ),
        )
    given = storable(payload)
    problems = [fits(node, given) for node in takers]
    if all(problems):
        said, schema = together(problems[0]), payload_schema(takers[0])
        wanted, like = in_words(schema), json.dumps(witness(schema), ensure_ascii=False)
        raise UserError(
            Text(f"the payload of '{event}' does not fit: {said.en}", f"“{event}”的数据不合要求：{said.zh}"),
            Text(
                f"it is {wanted.en}; give it as JSON, for example: --payload '{like}'",
                f"应为{wanted.zh}；请以 JSON 给出，例如：--payload '{like}'",
            ),
        )
    who = by.id if isinstance(by, Principal) else by
    body = SignalSent(event=event, payload=driver.redact(given), by=str(driver.redact(storable(who))))
    await send(log, run, stored.state.task, body, max(at, stored.state.at))
