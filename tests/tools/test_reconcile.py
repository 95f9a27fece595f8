"""Whether a call happened: functions that say so themselves, and MCP servers that are asked by a second tool."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.tools.servers import ODD, odd, program_of

from sopwith.errors import ToolSourceError, UserError
from sopwith.ir.tool import ErrorData
from sopwith.tools import (
    Done,
    FunctionSource,
    McpSource,
    NotDone,
    Reconciled,
    Unsure,
    mcp_sources,
    tool,
    tools_of,
)
from sopwith.tools.mcp_connection import META_KEY

AMPLE = 20.0
KEY = "0123456789abcdef0123456789abcdef"


async def ask(reconcile: Callable[..., Any], **arguments: Any) -> Reconciled:
    """What a source says about a call of a booking whose hook is `reconcile`."""

    @tool(name="hr.book", effect="write", reconcile=reconcile)
    def book(room: str, on: date = date(2026, 1, 2)) -> str:
        return room

    source = FunctionSource([book])
    prepared = source.prepare("hr.book", {"room": "A", **arguments})
    assert isinstance(prepared, dict)
    found = await source.reconcile("hr.book", prepared, key=KEY, seconds=AMPLE)
    await source.close()
    return found


async def test_a_hook_gets_the_arguments_as_the_tool_takes_them_and_the_key() -> None:
    seen: list[Any] = []

    def hook(room: str, on: date, *, idempotency_key: str) -> Done:
        seen.extend([room, on, idempotency_key])
        return Done("B-7")

    assert await ask(hook) == Reconciled(happened=True, value="B-7")
    assert seen == ["A", date(2026, 1, 2), KEY]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (NotDone(), Reconciled(happened=False)),
        (Unsure("the ledger is down"), Reconciled(reason="the ledger is down")),
        (True, Reconciled(reason="the hook returned bool: not Done, NotDone or Unsure")),
        (None, Reconciled(reason="the hook returned NoneType: not Done, NotDone or Unsure")),
    ],
)
async def test_an_answer_is_taken_at_its_word(answer: Any, found: Reconciled) -> None:
    def hook(**_: Any) -> Any:
        return answer

    async def async_hook(**_: Any) -> Any:
        return answer

    assert await ask(hook) == await ask(async_hook) == found


@pytest.mark.parametrize("value", [7, float("nan"), {"room": 1}])
async def test_a_value_that_the_tool_could_not_have_given_proves_nothing(value: Any) -> None:
    found = await ask(lambda **_: Done(value))
    assert found.happened is None and found.reason


@pytest.mark.parametrize("error", [ValueError("no ledger"), SystemExit(1), asyncio.CancelledError()])
async def test_a_hook_that_raises_is_unsure(error: BaseException) -> None:
    def hook(**_: Any) -> Done:
        raise error

    found = await ask(hook)
    assert found.happened is None and type(error).__name__ in found.reason


async def test_a_hook_that_does_not_return_is_unsure_in_time() -> None:
    async def hook(**_: Any) -> Done:
        await asyncio.Event().wait()
        return Done()

    @tool(name="hr.book", effect="write", reconcile=hook, timeout=0.1)
    def book() -> None: ...

    source = FunctionSource([book])
    found = await source.reconcile("hr.book", {}, key=KEY, seconds=AMPLE)
    assert found == Reconciled(reason="reconcile of hr.book took longer than 0.1 s")
    await source.close()


class Ledger:
    """Tools that share what their hook looks at."""

    def __init__(self) -> None:
        self.paid: dict[str, int] = {}

    def was_paid(self, amount: int, *, idempotency_key: str) -> Done | NotDone:
        paid = self.paid.get(idempotency_key)
        return NotDone() if paid is None else Done(paid)

    @tool(name="bank.pay", effect="write", reconcile=was_paid)
    def pay(self, amount: int, *, idempotency_key: str) -> int:
        """Pay."""
        self.paid[idempotency_key] = amount
        raise ConnectionError("no answer")


async def test_the_hook_of_a_method_is_a_method_of_the_same_object() -> None:
    source = FunctionSource(tools_of(Ledger()))
    assert (await source.specs())[0].reconcilable
    assert (await source.reconcile("bank.pay", {"amount": 5}, key=KEY, seconds=AMPLE)).happened is False
    assert (await source.call("bank.pay", {"amount": 5}, key=KEY, seconds=AMPLE)).unknown
    found = await source.reconcile("bank.pay", {"amount": 5}, key=KEY, seconds=AMPLE)
    assert found == Reconciled(happened=True, value=5)
    await source.close()


def test_a_hook_that_cannot_be_asked_is_refused_with_its_place() -> None:
    with pytest.raises(UserError, match="belongs to a write"):
        tool(reconcile=lambda **_: Done())
    for hook in (lambda room: Done(), lambda idempotency_key: Done(), "was_paid"):

        @tool(effect="write", reconcile=hook)  # type: ignore[arg-type]
        def book(room: str) -> None: ...

        with pytest.raises(UserError, match=r"test_reconcile\.py:\d+: .*reconcile") as caught:
            FunctionSource([book])
        assert "reconcile" in caught.value.message.zh


HOW = {
    "transfer": {
        "tool": "find_transfer",
        "with": {"reference": "${key}"},
        "happened": "arguments.amount in result.amounts",
        "value": "'transferred ' + string(result.amounts[0])",
    }
}


def configured(folder: Path, **more: Any) -> McpSource:
    """The misbehaving server, from a file that says how to ask it."""
    import sys

    entry: dict[str, Any] = {
        "command": sys.executable,
        "args": ["-I", ODD],
        "effects": {"find_transfer": "read", "meta": "read"},
        "key_argument": "key",
        "idempotent": ["transfer"],
        "reconcile": HOW,
        **more,
    }
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"bank": entry}}), encoding="utf-8")
    return mcp_sources(path)[0]


@pytest.fixture
async def bank(tmp_path: Path) -> AsyncIterator[McpSource]:
    made = configured(tmp_path)
    yield made
    await made.close()


async def test_the_key_reaches_a_server_out_of_the_models_sight(bank: McpSource) -> None:
    spec = next(spec for spec in await bank.specs() if spec.name == "bank.transfer")
    assert set(spec.input_schema["properties"]) == {"amount", "lose"}
    assert spec.input_schema["required"] == ["amount"]
    assert spec.idempotent and spec.reconcilable
    refused = bank.prepare("bank.transfer", {"amount": 5, "key": "mine"})
    assert isinstance(refused, ErrorData) and "$.key" in refused.message
    sent = await bank.call("bank.transfer", {"amount": 5}, key=KEY, seconds=AMPLE)
    assert sent.value == "transferred 5"
    meta = await bank.call("bank.meta", {}, key="other", seconds=AMPLE)
    assert json.loads(str(meta.value))[META_KEY] == "other"
    found = await bank.call("bank.find_transfer", {"reference": KEY}, key="", seconds=AMPLE)
    assert found.value == {"amounts": [5]}


async def test_a_server_is_asked_whether_a_write_happened(bank: McpSource) -> None:
    await bank.specs()
    assert bank.problems == [] or all("schema" in problem.en for problem in bank.problems)
    lost = await bank.call("bank.transfer", {"amount": 5, "lose": True}, key=KEY, seconds=0.3)
    assert lost.unknown
    given: dict[str, Any] = {"amount": 5, "lose": True}
    found = await bank.reconcile("bank.transfer", given, key=KEY, seconds=AMPLE)
    assert found == Reconciled(happened=True, value="transferred 5")
    other = await bank.reconcile("bank.transfer", given, key="another", seconds=AMPLE)
    assert other == Reconciled(happened=False)


@pytest.mark.parametrize(
    ("happened", "reason"),
    [("null", "null is null"), ("1", "1 is neither true nor false"), ("result.nothing == 1", "nothing")],
)
async def test_an_expression_that_cannot_say_is_unsure(tmp_path: Path, happened: str, reason: str) -> None:
    source = configured(tmp_path, reconcile={"transfer": {**HOW["transfer"], "happened": happened}})
    found = await source.reconcile("bank.transfer", {"amount": 5}, key=KEY, seconds=AMPLE)
    assert found.happened is None and reason in found.reason
    await source.close()


async def test_a_server_that_cannot_be_asked_is_unsure(tmp_path: Path) -> None:
    source = configured(tmp_path, reconcile={"transfer": {**HOW["transfer"], "with": {"nonsense": 1}}})
    found = await source.reconcile("bank.transfer", {"amount": 5}, key=KEY, seconds=AMPLE)
    assert found.happened is None and "nonsense" in found.reason
    await source.close()
    gone = McpSource("gone", "no-such-command")
    assert (await gone.reconcile("gone.x", {}, key=KEY, seconds=AMPLE)).happened is None
    await gone.close()


async def test_the_arguments_that_both_tools_list_are_asked_with() -> None:
    from sopwith.tools.mcp_lookup import lookup

    plain = odd()
    how = {"protocol_error": lookup("echo", "result == 'x'"), "transfer": lookup("tree", "true")}
    source = McpSource("odd", sys.executable, program_of(plain).args, effects={"echo": "read"}, reconcile=how)
    spec = next(spec for spec in await source.specs() if spec.name == "odd.echo")
    assert how["transfer"].arguments(spec, {"value": "x", "note": "y"}, KEY) == {"value": "x"}
    told = [problem.en for problem in source.problems if "reconcile" in problem.en]
    assert told == ["odd: reconcile.transfer: odd.tree is not declared as a read"]
    await source.close()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"reconcile": {"transfer": {"tool": "a", "happened": "result."}}}, "reconcile.transfer: "),
        ({"reconcile": {"transfer": {"tool": "a", "happened": "results == 1"}}}, "there is no results"),
        (
            {"reconcile": {"transfer": {"tool": "a", "happened": "true", "with": {"a": "${result}"}}}},
            "result",
        ),
        ({"reconcile": {"transfer": {"tool": "a"}}}, "reconcile.transfer.happened"),
    ],
)
def test_a_lookup_that_cannot_be_read_is_refused_with_its_place(
    tmp_path: Path, change: dict[str, Any], place: str
) -> None:
    with pytest.raises(ToolSourceError, match=r"mcp\.json: bank: ") as caught:
        configured(tmp_path, **change)
    assert place in caught.value.message.en


async def test_what_does_not_fit_the_server_is_told(tmp_path: Path) -> None:
    source = configured(tmp_path, key_argument="no_such", idempotent=["nonsense"], reconcile={})
    await source.specs()
    told = [problem.en for problem in source.problems]
    assert "bank: nonsense: idempotent names it, but there is no such tool" in told
    assert "bank: key_argument: no tool has no_such" in told
    await source.close()
    source = configured(tmp_path, key_argument="amount", reconcile={})
    assert "bank.transfer" not in {spec.name for spec in await source.specs()}
    assert any("amount cannot take the key" in problem.en for problem in source.problems)
    await source.close()
