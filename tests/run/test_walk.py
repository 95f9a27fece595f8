"""The path of a run over its procedure: every visit in order, and the ways that were really taken."""

from __future__ import annotations

from tests.lang.test_drawing import EVERY_LOOK

from sopwith.run.state import Visited
from sopwith.run.walk import walk_of


def test_visits_are_counted_and_ways_told_apart_by_what_decided() -> None:
    path = [
        Visited("look", 1),
        Visited("judge", 1, "when", "look.total > 5"),
        Visited("ask", 1, "always"),
        Visited("look", 2, "when", "!ask"),
        Visited("person", 1, "error"),
    ]
    walk = walk_of(EVERY_LOOK, path)
    assert walk.visits == {"look": (1, 4), "judge": (2,), "ask": (3,), "person": (5,)}
    assert walk.taken == {
        ("look", False, 0): (1,),
        ("judge", False, 0): (2,),
        ("ask", False, 1): (3,),
        ("look", True, 0): (4,),
    }


def test_of_two_ways_to_one_step_the_one_that_decided_is_taken() -> None:
    judged = walk_of(EVERY_LOOK, [Visited("look", 1), Visited("person", 1, "judge", "they are angry")])
    assert judged.taken == {("look", False, 1): (1,)}


def test_where_a_person_sent_the_run_no_way_is_taken() -> None:
    sent = walk_of(EVERY_LOOK, [Visited("look", 1), Visited("pay", 1, "person", "alice")])
    assert (sent.visits, sent.taken) == ({"look": (1,), "pay": (2,)}, {})


def test_what_the_procedure_does_not_have_is_left_out() -> None:
    assert walk_of(EVERY_LOOK, [Visited("work", 1)]).visits == {}
