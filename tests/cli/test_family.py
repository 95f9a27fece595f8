"""Runs that call and wait, at the command line: what is found, what is shown, and how they go on."""

from __future__ import annotations

import time

import pytest
from tests.arch.pages import read_page
from tests.arch.sources import ROOT
from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode

START = ("run", "order.yaml", "--inputs", "number=A-7", "--inputs", "amount=5")
PEOPLE = "people:\n  li: [shipper]\n  bo: [clerk]\n"

OUTER = """
schema: sopwith/procedure/1
id: outer
start: first
steps:
  first: {call: {procedure: inner}, on_error: note, end: complete}
  note: {tool: desk.note, with: {text: gone}, end: complete}
"""
INNER = """
schema: sopwith/procedure/1
id: inner
start: sure
steps:
  sure: {ask: Sure?, returns: {type: boolean}, end: complete}
"""
NOTE = """
from sopwith import tool

@tool(name="desk.note", effect="read")
def note(text: str) -> str:
    \"\"\"Note a text.\"\"\"
    return text
"""


@pytest.fixture
def shop(sopwith: Command) -> Command:
    """The example of the page about steps, in a folder."""
    for block in read_page(ROOT / "docs" / "steps.md").blocks:
        if block.mark == "file" and block.said in ("order.yaml", "shipping.yaml"):
            sopwith.write(block.said, block.text)
    sopwith.write("policy.yaml", PEOPLE)
    return sopwith


def latest(shop: Command, procedure: str) -> str:
    """The latest run of a procedure."""
    rows = shop("runs", "--json").document
    return next(row["run"] for row in rows if row["procedure_id"] == procedure)


def test_an_order_waits_is_paid_approved_shipped_and_done(
    shop: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = shop(*START, "--json")
    assert ran.code == ExitCode.SUSPENDED
    assert ran.document["waits"]["event"] == "payment"
    order = ran.document["run"]
    assert "sopwith signal" in shop("resume", order).err
    assert shop("signal", order, "paymnt").code == ExitCode.USAGE
    assert shop("signal", order, "payment", "--payload", "{").code == ExitCode.USAGE
    paid = shop("signal", order, "payment", "--payload", '{"receipt": "R-1"}', "--by", "bank")
    assert (paid.code, "who may: shipper" in paid.err) == (ExitCode.SUSPENDED, True)
    assert shop("approve", order, "--by", "bo").code == ExitCode.USAGE
    approved = shop("approve", order, "--by", "li")
    assert approved.code == ExitCode.SUSPENDED
    shipping = latest(shop, "shipping")
    assert f"run {order} waits for run {shipping} (shipping)" in approved.err
    assert "sopwith wake" in approved.err
    assert "no run is due" in shop("wake").err
    later = time.time_ns() + 13 * 3_600 * 10**9
    monkeypatch.setattr("time.time_ns", lambda: later)
    woken = shop("wake", "--json")
    assert [one["run"] for one in woken.document] == [shipping]
    done = shop("resume", order, "--answer", "P-100", "--json")
    assert (done.code, done.document["run"]) == (ExitCode.OK, order)
    assert done.document["outcome"]["output"] == {"parcel": "P-100"}
    assert shipping in shop("trace", order).out


def test_a_callee_that_is_missing_is_named_with_its_file(shop: Command) -> None:
    (shop.folder / "shipping.yaml").rename(shop.folder / "other.txt")
    found = shop("check", "order.yaml")
    assert found.code == ExitCode.INVALID
    assert "SW801" in found.out and "put shipping.yaml beside this one" in found.out
    assert shop(*START).code == ExitCode.INVALID


def test_a_callee_is_found_where_the_setting_says(shop: Command) -> None:
    (shop.folder / "library").mkdir()
    (shop.folder / "shipping.yaml").rename(shop.folder / "library" / "s.yaml")
    shop.write("sopwith.toml", 'procedures = ["library"]\n')
    assert shop("check", "order.yaml").code == ExitCode.OK
    assert shop(*START).code == ExitCode.SUSPENDED


def test_two_files_of_one_id_are_refused(shop: Command) -> None:
    shop.write("twin.yaml", (shop.folder / "shipping.yaml").read_text(encoding="utf-8"))
    ran = shop(*START)
    assert ran.code == ExitCode.USAGE
    assert "twin.yaml" in ran.err and "shipping.yaml" in ran.err


@pytest.mark.parametrize("verb", [("cancel",), ("takeover",)])
def test_a_reason_is_not_empty(shop: Command, verb: tuple[str, ...]) -> None:
    order = shop(*START, "--json").document["run"]
    ran = shop(*verb, order, "--why", "")
    assert (ran.code, "--why is empty" in ran.err) == (ExitCode.USAGE, True)


def test_cancelling_an_order_ends_its_shipping(shop: Command) -> None:
    order = shop(*START, "--json").document["run"]
    shop("signal", order, "payment", "--payload", '{"receipt": "R-1"}')
    shop("approve", order, "--by", "li")
    assert shop("cancel", order).code == ExitCode.OK
    assert {row["status"] for row in shop("runs", "--json").document} == {"cancelled"}


def test_cancelling_the_shipping_lets_the_order_go_on(shop: Command) -> None:
    order = shop(*START, "--json").document["run"]
    shop("signal", order, "payment", "--payload", '{"receipt": "R-1"}')
    shop("approve", order, "--by", "li")
    shipping = latest(shop, "shipping")
    done = shop("cancel", shipping, "--by", "li", "--json")
    assert (done.code, done.document["status"]) == (ExitCode.OK, "cancelled")
    assert done.document["called_by"] == {"run": order, "status": "escalated", "waits": None}
    assert "cancelled" in shop("trace", order).out
    assert "no run is due" in shop("wake").err


def test_a_caller_that_cannot_go_on_is_named_and_the_called_run_is_cancelled(sopwith: Command) -> None:
    for name, text in {"outer.yaml": OUTER, "inner.yaml": INNER, "tools.py": NOTE}.items():
        sopwith.write(name, text)
    outer = sopwith("run", "outer.yaml", "--json").document["run"]
    inner = latest(sopwith, "inner")
    (sopwith.folder / "tools.py").unlink()
    done = sopwith("cancel", inner, "--by", "li")
    assert done.code == ExitCode.OK
    assert f"run {inner} is cancelled" in done.out
    assert f"run {outer} is due and cannot go on" in done.err
    sopwith.write("tools.py", NOTE)
    assert [one["status"] for one in sopwith("wake", "--json").document] == ["completed"]
