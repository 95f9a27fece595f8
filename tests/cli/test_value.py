"""`sopwith value`: what a run has, and any part of it, with placeholders."""

from __future__ import annotations

import json

import pytest
from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode

PROCEDURE = """
schema: sopwith/procedure/1
id: look
name: Look
start: list
steps:
  list: {tool: shop.orders, as: orders, next: text}
  text: {tool: shop.letter, as: letter, next: done}
  done: {end: complete}
"""
TOOLS = """
from sopwith import tool

@tool(name="shop.orders")
def orders() -> list[dict[str, str]]:
    '''List orders.'''
    return [{"id": f"N{i}", "phone": "13812345678", "客户": "张"} for i in range(300)]

@tool(name="shop.letter")
def letter() -> dict[str, str]:
    '''A letter.'''
    return {"text": "\\n".join(f"line {i}" for i in range(500))}
"""


@pytest.fixture
def shop(sopwith: Command) -> Command:
    sopwith.write("procedure.yaml", PROCEDURE)
    sopwith.write("tools.py", TOOLS)
    assert sopwith("run", "procedure.yaml").code == ExitCode.OK
    return sopwith


def run_of(shop: Command) -> str:
    return shop("runs", "--json").document[0]["run"]


def test_without_a_run_the_values_are_those_of_the_latest(shop: Command) -> None:
    assert shop("value", "list").out == shop("value", "list", run_of(shop)).out != ""


def test_values_are_listed_with_their_shapes(shop: Command) -> None:
    run = run_of(shop)
    listed = shop("value", "list", run[:8], "--json").document
    assert listed["run"] == run
    assert [(v["name"], v["step"], v["stored"]) for v in listed["values"]] == [
        ("orders", "list", True),
        ("letter", "text", True),
    ]
    assert listed["values"][0]["shape"] == "[300 × {id: string, phone: string, 客户: string}]"
    assert "orders" in shop("value", "list", run).out
    assert "来自" in shop("value", "list", run, "--lang", "zh").out


def test_any_part_is_shown_and_no_secret(shop: Command) -> None:
    run = run_of(shop)
    part = shop("value", "show", run, "orders", "--range", "10:12", "--json").document
    assert part["part"] == [{"id": f"N{i}", "phone": "<phone:1>", "客户": "张"} for i in (10, 11)]
    assert (part["from"], part["to"], part["total"], part["unit"]) == (10, 12, 300, "items")
    for name, path in (("orders", "[299].id"), ("orders[299]", "id"), ("orders[299].id", "")):
        assert shop("value", "show", run, name, "--path", path).out == "N299\n"
    text = shop("value", "show", run, "letter", "--path", "text", "--range", "498:", "--lines")
    assert text.out == "line 498\nline 499\n"
    assert "498" in text.err and "500" in text.err
    assert shop("value", "show", run, "letter", "--path", "text", "--range", ":4").out == "line\n"
    assert json.loads(shop("value", "show", run, "letter").out)["text"].endswith("line 499")
    assert "13812345678" not in shop("value", "show", run, "orders").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing",), "orders, letter"),
        (("orders", "--path", "[300]"), "[300]"),
        (("orders", "--path", "id"), "300 ×"),
        (("orders", "--range", "x"), "10:20"),
        (("orders[",), "orders[3].id"),
        (("orders", "--path", "[0"), "orders[3].id"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(shop: Command, arguments: tuple[str, ...], said: str) -> None:
    ran = shop("value", "show", run_of(shop), *arguments)
    assert ran.code == ExitCode.USAGE
    assert said in ran.err and "Traceback" not in ran.err
