import pytest

from sopwith.models.slots import Slots


def take(slots: Slots, *messages: str) -> int:
    with slots.take(messages) as number:
        return number


def test_a_step_comes_back_to_its_slot_whatever_the_tail():
    slots = Slots(3)
    first, other = take(slots, "system", "q", "a", "tail 1"), take(slots, "system", "p", "b", "tail 1")
    assert first != other
    for tail in ("tail 2", "a long tail " * 100):
        assert take(slots, "system", "q", "a", tail) == first
        assert take(slots, "system", "p", "b", tail) == other


def test_steps_that_begin_alike_do_not_share_a_slot():
    slots = Slots(3)
    plain = take(slots, "system", "tail")
    assert take(slots, "system", "q", "a", "tail") != plain
    assert take(slots, "system", "another tail") == plain


def test_a_transcript_that_grows_stays_where_it_is():
    slots = Slots(2)
    number = take(slots, "system", "task")
    assert take(slots, "system", "task", "call", "result") == number
    assert take(slots, "system", "task", "call", "result", "call 2", "result 2") == number


def test_the_slot_not_used_for_longest_is_given_up():
    slots = Slots(2)
    a, b = take(slots, "a", "1"), take(slots, "b", "1")
    take(slots, "a", "2")
    assert take(slots, "c", "1") == b
    assert take(slots, "a", "3") == a


def test_calls_side_by_side_have_slots_of_their_own():
    slots = Slots(2)
    with slots.take(("a", "1")) as one, slots.take(("a", "2")) as two:
        assert one != two
    with pytest.raises(ValueError), slots.take(("x",)), slots.take(("y",)), slots.take(("z",)):
        pass
    assert take(slots, "a") in (0, 1)
