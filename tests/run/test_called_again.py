"""A write that is called again after an attempt of which nobody knows: what the second says of itself proves nothing
about the first."""

from __future__ import annotations

import pytest

from sopwith import Engine, Policy, ToolError, tool
from sopwith.tools import Done, NotDone

DROP = """
schema: sopwith/procedure/1
id: drop
output: {type: object}
start: go
steps:
  go: {tool: t.drop, RETRY as: r, next: done, on_error: [{to: never, when: 'error.code == "gone"'}]}
  done: {end: complete, result: {said: dropped}}
  never: {end: complete, result: {said: it was never there}}
"""


class Shelf:
    """Loses its first answer, after it has acted where `acts`; says `gone` from then on."""

    def __init__(self, *, acts: bool = True) -> None:
        self.acts = acts
        self.calls = 0
        self.dropped = False

    @tool(name="t.drop", effect="write", idempotent=True)
    def drop(self) -> str:
        """Drop it."""
        self.calls += 1
        if self.calls == 1:
            self.dropped = self.acts
            raise ConnectionError("lost")
        raise ToolError("gone", "there is no such thing")

    def was(self, *, idempotency_key: str) -> Done | NotDone:
        return Done("by the first") if self.dropped else NotDone()

    @tool(name="t.drop", effect="write", idempotent=True, reconcile=was)
    def drop_known(self) -> str:
        """Drop it."""
        return self.drop()


@pytest.mark.parametrize("retry", ["", "retry: {times: 2},"])
async def test_an_error_of_the_second_attempt_leaves_the_first_unknown(retry: str) -> None:
    shelf = Shelf()
    text = DROP.replace("RETRY", retry)
    run = await Engine(text, tools=[shelf.drop], policy=Policy(allow_writes=["t.*"])).run("go")
    assert (run.status, shelf.dropped) == ("escalated", True)
    assert shelf.calls == (3 if retry else 2)
    assert [write.tool for write in run.state.open] == ["t.drop"]
    assert run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ("t.drop",)


@pytest.mark.parametrize(("acts", "said"), [(True, "dropped"), (False, "it was never there")])
async def test_then_the_tool_is_asked_what_has_happened(acts: bool, said: str) -> None:
    shelf = Shelf(acts=acts)
    text = DROP.replace("RETRY", "")
    run = await Engine(text, tools=[shelf.drop_known], policy=Policy(allow_writes=["t.*"])).run("go")
    assert run.output == {"said": said}
    assert run.state.open == () and bool(run.state.written) == acts


async def test_the_second_attempt_of_each_item_proves_nothing_either() -> None:
    shelf = Shelf()
    each = "each: {in: \"${['a']}\", as: one}, on_error: never,"
    text = DROP.replace("RETRY", each).replace(
        ", on_error: [{to: never, when: 'error.code == \"gone\"'}]", ""
    )
    run = await Engine(text, tools=[shelf.drop], policy=Policy(allow_writes=["t.*"])).run("go")
    assert run.status == "escalated" and [write.step for write in run.state.open] == ["go[0]"]
