"""The schema for editors is the one in the repository, knows every key, and accepts what is accepted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest

from sopwith.ir.procedure import Grip, Guidance, Procedure, Step
from sopwith.lang import refused
from sopwith.lang.fields import EDGE, PROCEDURE, STEP
from sopwith.lang.problem import Problems
from sopwith.lang.schema import procedure_schema, schema_text
from sopwith.lang.tree import read_tree

ROOT = Path(__file__).parents[2]
EDITOR = jsonschema_rs.validator_for(procedure_schema())
EXAMPLES = sorted(ROOT.glob("examples/*/procedure.yaml"))


def value_of(text: str) -> object:
    return read_tree(text, Problems("")).value


def test_the_published_schema_is_current() -> None:
    assert (ROOT / "schema" / "procedure.schema.json").read_text(encoding="utf-8") == schema_text()


def test_every_key_of_the_form_is_in_the_schema_and_in_the_types() -> None:
    schema = procedure_schema()
    assert list(schema["properties"]) == list(PROCEDURE)
    assert list(schema["definitions"]["step"]["properties"]) == [k for k in STEP if k not in refused.KINDS]
    assert list(schema["definitions"]["edge"]["properties"]) == list(EDGE)
    assert {f.alias or name for name, f in Step.model_fields.items()} == {"id", *STEP}
    assert {f.alias or name for name, f in Procedure.model_fields.items()} == set(PROCEDURE)


def test_it_uses_only_what_editors_read() -> None:
    text = schema_text()
    assert json.loads(text)["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert not {"$defs", "unevaluatedProperties", "prefixItems", "dependentRequired"} & set(text.split('"'))


def test_it_offers_nothing_that_the_check_refuses() -> None:
    schema = procedure_schema()
    step = schema["definitions"]["step"]["properties"]
    assert not refused.KINDS.keys() & step.keys()
    for one in (schema["properties"], step):
        assert set(one["grip"]["enum"]) == set(Grip)
        assert set(one["guidance"]["enum"]) == set(Guidance) - refused.GUIDANCE.keys()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.parent.name)
def test_the_examples_validate(path: Path) -> None:
    assert [e.message for e in EDITOR.iter_errors(value_of(path.read_text(encoding="utf-8")))] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.parent.name)
def test_the_examples_point_to_it(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    target = first.removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / target).resolve() == ROOT / "schema" / "procedure.schema.json"


@pytest.mark.parametrize(
    "step",
    [
        "toll: x", "timeout: soon", "next: [b]", "next: [{when: x}]", "next: [{to: b, when: x, judge: y}]", "end: done",
        "as: 结果", "visits: 0", "retry: {}", "next: [{to: b, otherwise: c}]",
    ],
)  # fmt: skip
def test_it_underlines_what_is_refused(step: str) -> None:
    text = f"schema: sopwith/procedure/1\nid: p\nstart: a\nsteps:\n  a:\n    {step}\n"
    assert not EDITOR.is_valid(value_of(text))


@pytest.mark.parametrize(
    "page", [*sorted((ROOT / "docs").glob("[!d]*.md")), ROOT / "README.md"], ids=lambda page: page.name
)
def test_no_page_shows_what_the_engine_refuses(page: Path) -> None:
    """Only the page of problems may: it says what to do instead."""
    shown = re.findall(r"```yaml\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    keys = "|".join(refused.KINDS)
    values = "|".join(refused.GUIDANCE)
    for block in shown:
        assert re.search(rf"^\s+(?:{keys}):|\bguidance: (?:{values})\b", block, re.MULTILINE) is None, block
