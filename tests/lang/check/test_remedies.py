"""What to do is said in the words of the form that somebody wrote, and doing it helps."""

from __future__ import annotations

import re

import pytest
from tests.lang.check.test_codes import SHOWN, procedure
from tests.lang.check.tools import LIBRARY, NOW, TOOLS

from sopwith.ir.diagnostic import Diagnostic
from sopwith.lang.check import check
from sopwith.lang.check.remedies import in_form
from sopwith.lang.document import Form
from sopwith.lang.read import read
from sopwith.lang.yaml import read_yaml

KEYS = re.compile(
    r"'(?:next|on_error|when|judge|as|uses|with|verify|result|output|returns|tools)\b|\bend:|- otherwise"
)
"""Words of the YAML form that no other form has."""
OTHERS: tuple[Form, ...] = ("chart", "routine", "draft")


@pytest.mark.parametrize(("code", "fragment"), SHOWN)
def test_no_hint_for_another_form_speaks_of_keys(code: str, fragment: str) -> None:
    found = check(read_yaml(procedure(fragment), "example.yaml"), TOOLS, LIBRARY, NOW)
    for form in OTHERS:
        for one in in_form(found, form):
            in_yaml = "sopwith convert" in one.hint.en
            assert in_yaml == ("sopwith convert" in one.hint.zh)
            assert in_yaml or KEYS.search(one.hint.en) is None, (form, one.hint.en)


def hints(text: str, file: str) -> dict[str, str]:
    return {one.code: one.hint.en for one in errors(text, file)}


def errors(text: str, file: str) -> list[Diagnostic]:
    return [one for one in check(read(text, file)) if one.severity == "error"]


@pytest.mark.parametrize(
    ("file", "wrong", "hint", "right"),
    [
        (
            "a.mmd",
            "flowchart TD\n a -->|gold| b([done])\n a -->|silver| c([done])\n",
            {"SW209": "Draw one more arrow that says 'otherwise'."},
            "flowchart TD\n a -->|gold| b([done])\n a -->|silver| c([done])\n a -->|otherwise| c\n",
        ),
        (
            "a.dot",
            "digraph { start -> b; c -> b; b [shape=oval] }",
            {"SW203": "Draw an arrow to it, or remove it."},
            "digraph { start -> c; c -> b; start -> b [label=early]; b [shape=oval] }",
        ),
        (
            "a.routine",
            "Step 1. Ask.\nBranch 1-1 Step 1. If gold, greet and terminate the workflow.\n"
            "Branch 1-2 Step 1. If silver, wave and terminate the workflow.\n",
            {"SW209": "Add a branch that begins with 'Otherwise,'."},
            "Step 1. Ask.\nBranch 1-1 Step 1. If gold, greet and terminate the workflow.\n"
            "Branch 1-2 Step 1. If silver, wave and terminate the workflow.\n"
            "Branch 1-3 Step 1. Otherwise, terminate the workflow.\n",
        ),
        (
            "a.routine",
            "Step 1. Ask.\n",
            {"SW205": "End it with 'and terminate the workflow' or 'and hand over to a person'."},
            "Step 1. Ask and terminate the workflow.\n",
        ),
        (
            "a.md",
            "1. Ask\n2. File it and end the process\n3. Refund\n",
            {"SW203": "Say before it under which condition the process ends, or 'go to step …'; or remove it."},
            "1. Ask\n2. If it is old, file it and end the process\n3. Refund\n",
        ),
    ],
)  # fmt: skip
def test_a_hint_is_followed_in_the_form_it_is_given_for(
    file: str, wrong: str, hint: dict[str, str], right: str
) -> None:
    assert hints(wrong, file) == hint
    assert errors(right, file) == []
