"""Values made from schemas that say little."""

from __future__ import annotations

from sopwith.expr.witness import variants


def test_a_mapping_that_declares_no_field_has_the_ones_that_are_read() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    assert variants(schema, {"receipt": {}}, limit=4) == [{"receipt": "text"}]
