"""The identity of a procedure."""

from __future__ import annotations

from sopwith.ir.procedure import Procedure


def procedure(order: list[str], properties: list[str]) -> Procedure:
    steps = {
        "a": {
            "id": "a",
            "returns": {"type": "object", "properties": {n: {"type": "string"} for n in properties}},
        },
        "b": {"id": "b", "end": "escalate"},
    }
    return Procedure.from_data({"id": "p", "start": "a", "steps": {name: steps[name] for name in order}})


def test_equal_procedures_have_one_identity() -> None:
    one, two = procedure(["a", "b"], ["x", "y"]), procedure(["a", "b"], ["x", "y"])
    assert one.digest() == two.digest()
    assert Procedure.from_data(one.to_data()).digest() == one.digest()


def test_the_order_of_steps_and_of_properties_belongs_to_the_identity() -> None:
    digests = {
        procedure(["a", "b"], ["x", "y"]).digest(),
        procedure(["b", "a"], ["x", "y"]).digest(),
        procedure(["a", "b"], ["y", "x"]).digest(),
    }
    assert len(digests) == 3
