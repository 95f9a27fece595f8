"""What is drawn of a procedure: a box a step with its look, an arrow a way with its words."""

from __future__ import annotations

from hypothesis import given
from tests.lang.strategies import SETTINGS, procedures

from sopwith.ir.procedure import Procedure
from sopwith.lang.drawing import DrawnStep, drawing

EVERY_LOOK = Procedure.from_data(
    {
        "id": "refund", "name": "退款", "start": "look",
        "steps": {
            "look": {
                "id": "look", "tool": "shop.order", "on_error": [{"to": "person"}],
                "next": [
                    {"to": "judge", "when": "look.total > 5"},
                    {"to": "person", "judge": "they are angry"},
                    {"to": "wait", "otherwise": True},
                ],
            },
            "judge": {"id": "judge", "returns": {"type": "boolean"}, "next": [{"to": "ask"}]},
            "ask": {"id": "ask", "ask": "Pay?", "next": [{"to": "pay"}, {"to": "look", "when": "!ask"}]},
            "pay": {"id": "pay", "name": "Pay", "tool": "bank.pay", "approval": "pay it?", "next": [{"to": "all"}]},
            "all": {
                "id": "all", "tool": "bank.pay", "each": {"in": "${look.items}", "as": "item"},
                "next": [{"to": "other"}],
            },
            "wait": {"id": "wait", "wait": {"for": "2h"}, "next": [{"to": "other"}]},
            "other": {"id": "other", "call": {"procedure": "notify"}, "next": [{"to": "fork"}]},
            "fork": {"id": "fork", "next": [{"to": "done", "when": "ok"}, {"to": "person", "otherwise": True}]},
            "done": {"id": "done", "answer": "say so", "end": "complete"},
            "person": {"id": "person", "end": "escalate"},
        },
    }
)  # fmt: skip


def box(step: str, language: str = "en") -> DrawnStep:
    found = drawing(EVERY_LOOK, {"bank.pay"}, language)
    return next(box for box in found.boxes if box.step == step)


def test_each_kind_of_step_has_its_look_and_its_words() -> None:
    assert {b.step: (b.look, b.detail) for b in drawing(EVERY_LOOK, {"bank.pay"}).boxes} == {
        "look": ("read", "shop.order"),
        "judge": ("model", "the model gives a value"),
        "ask": ("ask", "asks a person"),
        "pay": ("write", "bank.pay · writes · needs approval"),
        "all": ("each", "for each item in ${look.items} · bank.pay · writes"),
        "wait": ("wait", "waits 2h"),
        "other": ("call", "runs notify"),
        "fork": ("route", ""),
        "done": ("model", "answer · completes"),
        "person": ("escalate", "hands over to a person"),
    }
    assert box("pay", "zh").detail == "bank.pay · 写操作 · 需批准"
    assert [box(step).end for step in ("done", "person", "pay")] == ["complete", "escalate", None]


def test_ways_say_what_decides_and_those_after_an_error_say_so() -> None:
    found = drawing(EVERY_LOOK, language="zh")
    assert [(a.end, a.kind, a.label, a.back) for a in found.arrows if a.start in ("look", "ask")] == [
        ("judge", "when", "look.total > 5", False),
        ("person", "judge", "they are angry", False),
        ("wait", "otherwise", "否则", False),
        ("person", "error", "出错时", False),
        ("pay", "always", "", False),
        ("look", "when", "!ask", True),
    ]


@SETTINGS
@given(procedures())
def test_every_step_and_every_way_is_drawn_once(procedure: Procedure) -> None:
    found = drawing(procedure)
    assert sorted(b.step for b in found.boxes) == sorted(procedure.steps)
    ways = [
        (name, failed, i)
        for name, step in procedure.steps.items()
        for failed, edges in ((False, step.next), (True, step.on_error))
        for i in range(len(edges))
    ]
    assert sorted(a.key for a in found.arrows) == sorted(ways)
