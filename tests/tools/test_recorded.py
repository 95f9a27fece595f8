"""The calls of a run, given again."""

from __future__ import annotations

from typing import Any

from sopwith.errors import Text
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.tools import RecordedSource, ToolResult
from sopwith.tools.recorded import RecordedCall, Recording
from sopwith.tools.refusal import both

SPEC = ToolSpec(
    name="mail.send",
    effect=Effect.WRITE,
    input_schema={"type": "object", "properties": {"to": {"type": "string"}, "copies": {"type": "integer"}}},
)
FULL: dict[str, Any] = {"to": "anna", "copies": 1}
LOST = ToolResult(error=ErrorData(code="timeout", message="too long"), unknown=True)


def source() -> RecordedSource:
    default = frozenset({"copies"})
    calls = [
        RecordedCall("mail.send", FULL, LOST, default),
        RecordedCall("mail.send", FULL, ToolResult(7), default),
    ]

    async def load() -> Recording:
        return Recording([SPEC], calls)

    return RecordedSource("recorded:a", load)


async def test_the_same_arguments_give_the_same_results_in_their_order() -> None:
    made = source()
    assert list(await made.specs()) == [SPEC]
    given = [await made.call("mail.send", FULL, key="k", seconds=1) for _ in range(3)]
    assert given[:2] == [LOST, ToolResult(7)]
    error = given[2].error
    assert error is not None and error.code == "not_recorded"
    assert both(error) == Text(
        "calls of mail.send with these arguments in recorded:a: 2, and no more",
        "recorded:a 中以这些参数调用 mail.send 的记录只有 2 次",
    )


async def test_defaults_of_the_tool_are_those_that_it_had() -> None:
    made = source()
    await made.specs()
    assert made.prepare("mail.send", {"to": "anna"}) == FULL
    assert made.prepare("mail.send", FULL) == FULL
    assert made.prepare("mail.send", {"to": "bob"}) == {"to": "bob"}


async def test_true_is_not_one() -> None:
    spec = ToolSpec(name="t.a", input_schema={"type": "object", "properties": {"v": {}, "n": {}}})
    call = RecordedCall("t.a", {"v": 1, "n": 2}, ToolResult("one"), frozenset({"n"}))

    async def load() -> Recording:
        return Recording([spec], [call])

    made = RecordedSource("recorded:a", load)
    await made.specs()
    assert made.prepare("t.a", {"v": True}) == {"v": True}
    assert made.prepare("t.a", {"v": 1}) == {"v": 1, "n": 2}


async def test_a_call_that_was_not_recorded_is_a_typed_error() -> None:
    made = source()
    result = await made.call("mail.send", {"to": "bob"}, key="k", seconds=1)
    assert result.error is not None and (result.error.code, result.unknown) == ("not_recorded", False)
    refused = await made.call("mail.send", {"to": 5}, key="k", seconds=1)
    assert refused.error is not None and refused.error.code == "invalid_arguments"
