"""A flowchart shows every step and every way, and no text can break out of its label."""

from __future__ import annotations

import re

from hypothesis import given
from tests.lang.strategies import SETTINGS, procedures

from sopwith.ir.procedure import Procedure
from sopwith.lang.mermaid import draw

LINE = re.compile(
    r"flowchart TD|  begin_*\(\( \)\)"
    r'|  \w+(?:\[".*"\]|\(\[".*"\]\)|\[\\".*"/\]|\{\{?".*"\}\}?)'
    r'|  \w+ (?:-->|-\.->)(?:\|".*"\|)? \w+'
)


def test_steps_ways_and_handlers_are_drawn() -> None:
    steps = {
        "look": {
            "id": "look", "name": "查询余额", "tool": "hr.balance", "on_error": [{"to": "person"}],
            "next": [{"to": "sure", "when": "left.days > 1"}, {"to": "person", "otherwise": True}],
        },
        "sure": {"id": "sure", "ask": "OK?", "next": [{"to": "end"}]},
        "end": {"id": "end", "end": "complete"},
        "person": {"id": "person", "name": "Hand \"over\" | <b>now</b>", "end": "escalate"},
    }  # fmt: skip
    assert draw(Procedure.from_data({"id": "p", "start": "look", "steps": steps})) == (
        "flowchart TD\n"
        "  begin(( ))\n"
        '  look["1 · 查询余额<br/><small>hr.balance</small>"]\n'
        '  sure{{"1-1 1 · sure"}}\n'
        '  end_(["1-1 2 · end"])\n'
        '  person[\\"1-2 1 · Hand #34;over#34; #124; #60;b#62;now#60;/b#62;"/]\n'
        "  begin --> look\n"
        '  look -->|"left.days #62; 1"| sure\n'
        '  look -->|"otherwise"| person\n'
        '  look -.->|"on error"| person\n'
        "  sure --> end_\n"
    )


@SETTINGS
@given(procedures())
def test_every_line_is_of_the_form(procedure: Procedure) -> None:
    lines = draw(procedure).splitlines()
    assert all(LINE.fullmatch(line) for line in lines)
    assert all(line.count('"') in (0, 2) for line in lines)
    edges = sum(len(step.next) + len(step.on_error) for step in procedure.steps.values())
    assert len(lines) == 3 + len(procedure.steps) + edges
