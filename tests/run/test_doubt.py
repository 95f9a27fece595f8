"""A choice of which the model is not sure enough is not taken."""

from __future__ import annotations

import pytest

from sopwith import Engine
from sopwith.models.port import ModelReply
from sopwith.models.scripted import ScriptedModel

SORT = """
schema: sopwith/procedure/1
id: sort
inputs: {topics: {type: array, items: {type: string}}}
start: topic
steps:
  topic:
    do: What is it about?
    returns: {enum: OPTIONS}
    min_confidence: 0.8
    next:
      - {to: known, when: topic == 'invoice'}
OTHERWISE
  known: {end: complete}
  person: {end: escalate}
"""
OTHERWISE = "      - otherwise: person"


@pytest.mark.parametrize("options", ["[invoice, delivery]", '"${inputs.topics}"'], ids=["fixed", "made"])
@pytest.mark.parametrize(
    ("confidence", "path"),
    [(0.8, ("topic", "known")), (0.79, ("topic", "person")), (None, ("topic", "person"))],
)
async def test_a_choice_is_held_to_min_confidence_however_its_options_are_made(
    options: str, confidence: float | None, path: tuple[str, ...]
) -> None:
    text = SORT.replace("OPTIONS", options).replace("OTHERWISE", OTHERWISE)
    engine = Engine(text, model=ScriptedModel([ModelReply("A", confidence=confidence)]))
    run = await engine.run("", inputs={"topics": ["invoice", "delivery"]})
    assert run.path == path
    assert run.state.values["topic"] == "invoice"


@pytest.mark.parametrize("options", ["[invoice, delivery]", '"${inputs.topics}"'], ids=["fixed", "made"])
async def test_without_an_otherwise_a_doubtful_choice_goes_to_a_person(options: str) -> None:
    ways = SORT[SORT.index("    next:") : SORT.index("  known:")]
    text = (
        SORT.replace(ways, "    next: known\n")
        .replace("OPTIONS", options)
        .replace("  person: {end: escalate}\n", "")
    )
    engine = Engine(text, model=ScriptedModel([ModelReply("A", confidence=0.3)]))
    run = await engine.run("", inputs={"topics": ["invoice", "delivery"]})
    assert run.status == "escalated"
    assert run.outcome is not None and run.outcome.packet is not None
    assert "0.30" in run.outcome.packet.reason


async def test_a_value_that_was_written_out_has_no_confidence_to_be_sure_by() -> None:
    text = SORT.replace("OPTIONS", '"${inputs.topics}"').replace("OTHERWISE", OTHERWISE)
    engine = Engine(text, model=ScriptedModel(['"invoice"']))
    run = await engine.run("", inputs={"topics": ["invoice", *(f"t{n}" for n in range(30))]})
    assert run.path == ("topic", "person")
