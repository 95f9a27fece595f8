"""The comparison of grips runs the same tickets at each of them, and counts what differs."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.grips import ALL, Held, compare, measures
from benchmarks.support_desk import Handled, tickets

from sopwith.models.port import ModelRequest
from sopwith.models.scripted import ScriptedModel

pytest.importorskip("scipy", reason="needs the bench extra")


def held(grip: str, right: list[bool], deviations: int = 0) -> list[Held]:
    outcomes = [("completed" if one else "escalated") for one in right]
    return [
        Held(
            Handled(grip, f"t{i}", "completed", outcome, "usage", "usage", right_article=True, tokens=10),
            deviations,
        )
        for i, outcome in enumerate(outcomes)
    ]


def test_grips_are_compared_ticket_by_ticket() -> None:
    found = {
        "strict": held("strict", [True] * 7 + [False]),
        "guide": held("guide", [False] * 6 + [True, True], deviations=2),
    }
    values = {measure.name: measure.value for measure in measures(found)}
    assert values["outcome_strict"] == 0.875
    assert values["outcome_guide"] == 0.25
    assert values["differs_from_guide"] == 7
    assert values["p_guide"] == 0.125  # 6 against 1: 2 * (1 + 7) / 2**7
    assert (values["deviations"], values["fallbacks"]) == (16, 0)


def reply(request: ModelRequest) -> str:
    """The first letter, the first option, or the case handed over where everything is allowed."""
    if request.form == "choice":
        return "A"
    if "finish" in request.legal:
        return '{"name": "finish", "arguments": {"outcome": "escalate", "reason": "not mine"}}'
    return f'{{"name": "{request.legal[0]}", "arguments": {{}}}}' if request.form == "action" else "A text."


async def test_every_grip_gets_every_ticket(tmp_path: Path) -> None:
    few = tickets(quick=True)[:3]
    found = await compare(ScriptedModel(reply), ALL, few, tmp_path)
    assert {grip: [one.handled.id for one in of] for grip, of in found.items()} == {
        grip: [case["id"] for case in few] for grip in ("strict", "bounded", "guide", "free")
    }
    assert {one.handled.grip for of in found.values() for one in of} == set(ALL)
