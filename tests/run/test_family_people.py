"""People and a family of runs: who has changed a case may not approve it further down, and who acts is told all."""

from __future__ import annotations

import pytest
from tests.run.family import Family

from sopwith import Engine, Policy, Rule, UserError, tool
from sopwith.ir.approval import Terms

FOUR = Policy([Rule(id="pay", verdict="ask", effect="write", approval=Terms(four_eyes=True))])
ASK = Policy([Rule(id="ask", verdict="ask", effect="write")])

CHANGED = """
schema: sopwith/procedure/1
id: parent
output: {type: object, required: [receipt], properties: {receipt: {type: string}}}
start: begin
steps:
  begin: {tool: bank.note, with: {text: begin}, as: sum, verify: sum == '1', next: pay}
  pay: {call: {procedure: payment, with: {amount: "${double(sum)}"}}, next: done}
  done: {end: complete, result: {receipt: "${pay.receipt}"}}
"""

TOP = """
schema: sopwith/procedure/1
id: top
output: {type: object, required: [receipt], properties: {receipt: {type: string}}}
start: go
steps:
  go: {call: {procedure: parent, with: {}}, next: done}
  done: {end: complete, result: {receipt: "${go.receipt}"}}
"""


@pytest.mark.parametrize("top", ["parent", "top"])
async def test_who_has_changed_a_case_may_not_approve_what_it_calls(top: str) -> None:
    family = Family(policy=FOUR)
    family.procedures = [TOP.strip(), CHANGED.strip(), family.procedures[1]]
    await family.engine().run("go", procedure=top, run_id="root", principal="ann")
    changed = "root" if top == "parent" else (await family.children())[0]
    await family.engine().take_over(changed, by="op", to="pay", values={"sum": "1000"})
    child = (await family.children())[-1]
    for maker in ("op", "ann"):
        with pytest.raises(UserError):
            await family.engine().approve(child, by=maker)
    assert family.till.paid == []
    done = await family.engine().approve(child, by="li")
    assert (done.status, family.till.paid) == ("completed", [1000.0])


def changed(family: Family) -> Engine:
    """An engine whose `bank.note`, which only the parent uses, takes more now."""

    @tool(name="bank.note", effect="read")
    def note(text: str, more: int = 1) -> str:
        """Note."""
        return text

    tools = [family.till.tools()[0], note]
    return Engine(family.procedures, tools, log=family.log, clock=family.clock, **family.options)


async def test_nothing_is_approved_while_the_run_above_cannot_go_on() -> None:
    family = Family(policy=ASK)
    await family.run()
    (child,) = await family.children()
    with pytest.raises(UserError, match="the run root, which waits for this one, cannot go on: these tools"):
        await changed(family).approve(child, by="li")
    assert family.till.paid == []
    assert (await family.engine().approve(child, by="li")).called_by is not None
    assert family.till.paid == [5.0]


async def test_a_run_that_has_ended_says_so_where_the_run_above_cannot_go_on() -> None:
    family = Family(steps="  a: {ask: 'one?', returns: {type: string}, timeout: 1h, next: pay}\n", start="a")
    await family.run()
    (child,) = await family.children()
    family.clock.pass_(7200)
    with pytest.raises(UserError, match=f"the run {child} has ended .*the run root, which") as raised:
        await changed(family).resume(child)
    assert raised.value.hint is not None and "sopwith resume root" in raised.value.hint.en
