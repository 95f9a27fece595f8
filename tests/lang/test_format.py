"""Formatting brings a file into its one canonical form and loses no comment."""

from __future__ import annotations

from pathlib import Path

import pytest

from sopwith.errors import ProcedureError
from sopwith.lang.yaml import format_yaml, read_yaml, write_yaml

ROOT = Path(__file__).parents[2]

UNTIDY = """\
# yaml-language-server: $schema=x.json
name: 请假   # the name
schema: sopwith/procedure/1

# about the id
id: leave
start: a
timeout: 90 # seconds
inputs: {user: {from: run.principal.id, type: string}}
tags: [ hr,
   leave ]
steps:
  b: {end: complete}   # the end
    # deep

  a: # the start
    next:   # ways
    # before
    - when: x > 1   # w
      # about to
      to: b
      # foot of the item
    # foot of next
    - otherwise: b
    do: |  # literal
      one # not a comment
      two
    # after do
    name: no
    on_error: [{to: b}]
  # the last
# tail
"""

TIDY = """\
# yaml-language-server: $schema=x.json
schema: sopwith/procedure/1

# about the id
id: leave
name: 请假  # the name
tags: [hr, leave]
inputs:
  user: {type: string, from: run.principal.id}
timeout: 90s  # seconds
start: a
steps:
  b:  # the end
    end: complete

  # deep
  a:  # the start
    # after do
    name: "no"
    do: |  # literal
      one # not a comment
      two
    on_error: b
    next:  # ways
      # before
      # about to
      - to: b
        when: x > 1  # w
        # foot of the item
      # foot of next
      - otherwise: b
  # the last
# tail
"""


def test_an_untidy_file_becomes_tidy_and_keeps_its_comments() -> None:
    assert format_yaml(UNTIDY) == TIDY
    assert format_yaml(TIDY) == TIDY
    assert read_yaml(TIDY).procedure == read_yaml(UNTIDY).procedure


def test_a_comment_inside_brackets_opens_them() -> None:
    text = write_yaml(read_yaml(UNTIDY).procedure).replace(
        "tags: [hr, leave]", "tags: [hr, # first\n  leave]"
    )
    assert "tags:\n  - hr  # first\n  - leave\n" in format_yaml(text)


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("'12'", '"12"'), ("'yes'", '"yes"'), ("'2026-01-01'", '"2026-01-01"'), ("'a: b'", '"a: b"'), ("'#x'", '"#x"'),
        ("'say \"hi\": now'", "'say \"hi\": now'"), ('"plain"', "plain"), ('"tab\\there"', '"tab\\there"'),
        ("'${x}'", '"${x}"'),
        ("'a ${x}'", "a ${x}"), ("''", '""'), ("'1_000'", '"1_000"'), ("'12:30:45'", '"12:30:45"'),
        ('"two\\nlines"', "|-\n        two\n        lines"), ('" led"', '" led"'), ("it's", "it's"), ("1.50", "1.5"),
    ],
)  # fmt: skip
def test_scalars_are_plain_where_every_reader_agrees(written: str, spelled: str) -> None:
    head = "schema: sopwith/procedure/1\nid: x\nstart: a\nsteps:\n  a:\n    with:\n      v: "
    assert format_yaml(head + written + "\n") == f"{head}{spelled}\n"


def test_schemas_of_objects_are_spread_and_small_ones_stay_on_a_line() -> None:
    data = (
        "{type: object, required: [k], properties: {k: {enum: [a, b]}, more: {type: object, properties: {}}}}"
    )
    text = f"schema: sopwith/procedure/1\nid: x\nstart: a\nsteps:\n  a:\n    returns: {data}\n    end: complete\n"
    assert format_yaml(text).partition("    returns:\n")[2] == (
        "      type: object\n      required: [k]\n      properties:\n        k: {enum: [a, b]}\n"
        "        more:\n          type: object\n          properties: {}\n    end: complete\n"
    )


def test_lists_that_do_not_fit_a_line_are_spread() -> None:
    tags = [f"a-rather-long-tag-{i}" for i in range(8)]
    text = f"schema: sopwith/procedure/1\nid: x\ntags: [{', '.join(tags)}]\nstart: a\nsteps: {{a: {{end: complete}}}}\n"
    assert "tags:\n" + "".join(f"  - {tag}\n" for tag in tags) in format_yaml(text)


def test_a_file_with_problems_is_not_formatted() -> None:
    with pytest.raises(ProcedureError):
        format_yaml(UNTIDY.replace("schema:", "shema:"))


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*/procedure.yaml")), ids=lambda p: p.parent.name)
def test_the_examples_are_in_canonical_form(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_yaml(text, path.name) == text


def test_a_comment_after_a_text_that_holds_a_number_sign_is_kept() -> None:
    head = "schema: sopwith/procedure/1\nid: p\nstart: a\n\nsteps:\n  a:\n"
    text = head + '    needs: "e.g. #42"  # why\n    end: complete\n'
    assert format_yaml(text) == text
