"""Budgets and prices at the command line, against a real endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.models.endpoint_server import EndpointServer, says, serve

from sopwith import SqliteLog
from sopwith.cli.exit_code import ExitCode
from sopwith.ir.event import BudgetSettled, Event, Phase

GREETING = """
schema: sopwith/procedure/1
id: greeting
name: Greeting
start: greet
steps:
  greet:
    name: Greet
    answer: one friendly sentence
    end: complete
"""
POLICY = """
budgets:
  run: {money: 0.01}
  principal: {window: 36500d, money: 0.02, model_calls: 10}
"""
PRICES = "m-1: {input: 10, cached: 1, output: 40}\n"
USED = {
    "prompt_tokens": 150,
    "completion_tokens": 25,
    "total_tokens": 175,
    "prompt_tokens_details": {"cached_tokens": 50},
}
ASK = ("run", "procedure.yaml", "--request", "hello", "--principal", "li")


@pytest.fixture
def endpoint() -> Iterator[EndpointServer]:
    with serve([says("Good morning!", usage=USED)]) as server:
        yield server


@pytest.fixture
def greeting(sopwith: Command) -> Command:
    """A procedure that asks a model once, at a price: 100 new, 50 cached and 25 written tokens cost 0.00205."""
    sopwith.write("procedure.yaml", GREETING)
    sopwith.write("prices.yaml", PRICES)
    return sopwith


def test_the_cost_of_a_run_is_told_at_its_end_and_by_trace(
    greeting: Command, endpoint: EndpointServer
) -> None:
    model = f"openai:m-1@{endpoint.url}"
    ran = greeting(*ASK, "--model", model)
    assert ran.code == ExitCode.OK
    assert " · $0.00205 · look: sopwith trace " in ran.err
    assert ", $0.00205\n" in greeting("trace").out
    assert greeting("trace", "--json").document["usage"]["money"] == "0.00205"


def test_a_price_that_is_not_known_is_said_and_refuses_a_limit_of_money(
    greeting: Command, endpoint: EndpointServer
) -> None:
    (greeting.folder / "prices.yaml").unlink()
    model = f"openai:m-1@{endpoint.url}"
    assert greeting(*ASK, "--model", model).code == ExitCode.OK
    assert "at a price that is not known" in greeting("trace").out
    refused = greeting(*ASK, "--model", model, "--budget-money", "1")
    assert refused.code == ExitCode.USAGE
    assert "is not known" in refused.err
    assert len(endpoint.bodies) == 1
    greeting.write("mine.yaml", PRICES)
    assert (
        greeting(*ASK, "--model", model, "--budget-money", "1", "--prices", "mine.yaml").code == ExitCode.OK
    )


def test_money_of_zero_is_none_at_all(greeting: Command, endpoint: EndpointServer) -> None:
    ran = greeting(*ASK, "--model", f"openai:m-1@{endpoint.url}", "--budget-money", "0")
    assert (ran.code, endpoint.bodies) == (ExitCode.EXHAUSTED, [])


def test_a_principal_at_its_limit_is_stopped_and_shown(greeting: Command, endpoint: EndpointServer) -> None:
    greeting.write("policy.yaml", POLICY.replace("0.02", "0.003"))
    model = ("--model", f"openai:m-1@{endpoint.url}")
    assert [greeting(*ASK, *model).code for _ in range(3)] == [ExitCode.OK, ExitCode.OK, ExitCode.EXHAUSTED]
    other = greeting(*ASK[:-1], "han", *model)
    assert other.code == ExitCode.OK
    han, li = greeting("budget", "--json").document
    assert (han["principal"], han["used"]["money"], han["left"]["money"]) == ("han", "0.00205", "0.00095")
    assert (li["principal"], li["used"]["money"], li["left"]) == (
        "li",
        "0.0041",
        {"money": "0", "model_calls": 8},
    )
    assert (li["limits"], li["reserved"]) == ({"money": "0.003", "model_calls": 10}, {})
    table = greeting("budget").out.splitlines()
    assert table[0].split() == ["principal", "limit", "at", "most", "used", "reserved", "left", "until"]
    assert table[3].split()[:6] == ["li", "money", "$0.003", "$0.0041", "$0", "$0"]
    assert len(greeting("runs", "--json").document) == 4


def test_an_account_is_no_run(greeting: Command, endpoint: EndpointServer) -> None:
    greeting.write("policy.yaml", POLICY)
    greeting(*ASK, "--model", f"openai:m-1@{endpoint.url}")
    for verb in ("trace", "resume"):
        ran = greeting(verb, "account:")
        assert ran.code == ExitCode.USAGE
        assert "there is no run 'account:'" in ran.err


def test_without_reservations_budget_says_where_limits_stand(greeting: Command) -> None:
    greeting(*ASK, "--model", "scripted:none.jsonl")
    greeting.write("none.jsonl", '"Hello"\n')
    greeting(*ASK, "--model", "scripted:none.jsonl")
    ran = greeting("budget")
    assert (ran.code, ran.out) == (ExitCode.OK, "")
    assert "budgets.principal" in ran.err


def test_a_policy_with_a_wrong_limit_names_the_place(greeting: Command, endpoint: EndpointServer) -> None:
    greeting.write("policy.yaml", "budgets:\n  run: {money: -1}\n")
    ran = greeting(*ASK, "--model", f"openai:m-1@{endpoint.url}")
    assert ran.code == ExitCode.USAGE
    assert "policy.yaml:2:9 budgets.run.money: must be a number, 0 or more, not -1" in ran.err
    assert endpoint.bodies == []


TWICE = (
    GREETING.replace("end: complete", "next: again")
    + """
  again:
    name: Greet again
    answer: another friendly sentence
    end: complete
"""
)


@pytest.mark.parametrize(
    "policy",
    [
        "budgets: {run: {tokens: 10}}\n",
        "budgets: {steps: {again: {tokens: 0}}}\n",
        "budgets: {principal: {window: 36500d, tokens: 10}}\n",
    ],
)
def test_tokens_that_an_endpoint_does_not_report_are_used_up(greeting: Command, policy: str) -> None:
    greeting.write("procedure.yaml", TWICE)
    greeting.write("policy.yaml", policy)
    with serve([says("Good morning!")]) as server:
        greeting(*ASK, "--model", f"openai:m-1@{server.url}")
        assert len(server.bodies) == 1
        if "principal" in policy:
            assert greeting(*ASK, "--model", f"openai:m-1@{server.url}").code == ExitCode.EXHAUSTED
            assert len(server.bodies) == 1
            (li,) = greeting("budget", "--json").document
            assert li["used"]["input"] >= 10
            assert li["left"] == {"tokens": 0}


def test_without_a_limit_of_tokens_an_endpoint_need_not_report_them(greeting: Command) -> None:
    greeting.write("procedure.yaml", TWICE)
    with serve([says("Good morning!")]) as server:
        assert greeting(*ASK, "--model", f"openai:m-1@{server.url}").code == ExitCode.OK
        assert len(server.bodies) == 2


def test_an_account_that_has_lost_its_beginning_is_passed_over(
    greeting: Command, endpoint: EndpointServer
) -> None:
    greeting.write("policy.yaml", POLICY)
    assert greeting(*ASK, "--model", f"openai:m-1@{endpoint.url}").code == ExitCode.OK
    asyncio.run(_settle_nothing(greeting.folder / ".sopwith" / "runs.db"))
    assert greeting("vault", "erase", "--principal", "li").code == ExitCode.OK
    assert [each["principal"] for each in greeting("budget", "--json").document] == ["li"]


async def _settle_nothing(store: Path) -> None:
    log = SqliteLog(store)
    name = "account:lost"
    await log.append(name, [Event(name, name, 1, 1, Phase.RECEIVE, None, None, BudgetSettled(of="r"))])
    await log.close()


def test_a_run_keeps_its_place_in_its_account_when_old_runs_are_removed(
    greeting: Command, endpoint: EndpointServer
) -> None:
    greeting.write("policy.yaml", POLICY)
    assert greeting(*ASK, "--model", f"openai:m-1@{endpoint.url}").code == ExitCode.OK
    before = greeting("budget", "--json").document
    removed = greeting("gc", "--older-than", "1ms", "--yes", "--json").document["removed"]
    assert removed["runs"] == 1
    assert greeting("budget", "--json").document == before
