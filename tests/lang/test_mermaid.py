"""A flowchart shows every step and every way, and no text can break out of its label."""

from __future__ import annotations

import re

from hypothesis import given
from tests.lang.strategies import SETTINGS, procedures

from sopwith.ir.procedure import Procedure
from sopwith.lang.mermaid import draw

LINE = re.compile(
    r'flowchart TD|  begin\(\( \)\) --> s\d+|  s\d+(?:\[".*"\]|\(\[".*"\]\)|\{\{".*"\}\})'
    r'|  s\d+ (?:-->|-\.->)(?:\|".*"\|)? s\d+'
)


def test_steps_ways_and_handlers_are_drawn() -> None:
    steps = {
        "look": {
            "id": "look", "name": "查询余额", "tool": "hr.balance", "on_error": [{"to": "person"}],
            "next": [{"to": "sure", "when": "left.days > 1"}, {"to": "person", "otherwise": True}],
        },
        "sure": {"id": "sure", "ask": "OK?", "next": [{"to": "done"}]},
        "done": {"id": "done", "end": "complete"},
        "person": {"id": "person", "name": "Hand \"over\" | <b>now</b>", "end": "escalate"},
    }  # fmt: skip
    assert draw(Procedure.from_data({"id": "p", "start": "look", "steps": steps})) == (
        "flowchart TD\n"
        "  begin(( )) --> s1\n"
        '  s1["1 · 查询余额<br/><small>hr.balance</small>"]\n'
        '  s2{{"1-1 1 · sure"}}\n'
        '  s3(["1-1 2 · done"])\n'
        '  s4(["1-2 1 · Hand #34;over#34; #124; #60;b#62;now#60;/b#62;"])\n'
        '  s1 -->|"left.days #62; 1"| s2\n'
        '  s1 -->|"otherwise"| s4\n'
        "  s1 -.-> s4\n"
        "  s2 --> s3\n"
    )


@SETTINGS
@given(procedures())
def test_every_line_is_of_the_form(procedure: Procedure) -> None:
    lines = draw(procedure).splitlines()
    assert all(LINE.fullmatch(line) for line in lines)
    assert all(line.count('"') in (0, 2) for line in lines)
    edges = sum(len(step.next) + len(step.on_error) for step in procedure.steps.values())
    assert len(lines) == 2 + len(procedure.steps) + edges
