"""The chain shows every change, as a property."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.ir.event import Event, Phase, StepEntered, StepFailed, ValueStored, body_bytes
from sopwith.ir.tool import ErrorData
from sopwith.log.chain import GENESIS, link, links, verify

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
bodies = st.one_of(
    st.builds(StepEntered, visit=st.integers(1, 9)),
    st.builds(ValueStored, name=names, value=st.none() | names | st.integers()),
    st.builds(StepFailed, error=st.builds(ErrorData, code=names, message=names)),
)
envelopes = st.builds(
    Event,
    task=names,
    run=names,
    seq=st.integers(1, 99),
    at=st.integers(0, 2**60),
    phase=st.sampled_from(Phase),
    step=st.none() | names,
    cause=st.none() | st.integers(1, 99),
    body=bodies,
    hash=st.just(""),
)


def chained(count: int = 5) -> list[Event]:
    events = [
        Event("t", "r", seq, seq, Phase.EXECUTE, "s", None, ValueStored(name="x", value=seq))
        for seq in range(1, count + 1)
    ]
    hashes = links(GENESIS, events, [body_bytes(e.body) for e in events])
    return [e._replace(hash=h.hex()) for e, h in zip(events, hashes, strict=True)]


@given(envelopes, envelopes)
def test_two_events_have_one_hash_only_if_they_are_the_same(one: Event, other: Event) -> None:
    a = link(GENESIS, one, body_bytes(one.body))
    b = link(GENESIS, other, body_bytes(other.body))
    assert (a == b) == (one == other)


@given(envelopes)
def test_the_hash_depends_on_the_one_before(event: Event) -> None:
    body = body_bytes(event.body)
    assert link(GENESIS, event, body) != link(bytes(31) + b"\1", event, body)


def test_text_cannot_move_from_one_field_to_the_next() -> None:
    event = chained(1)[0]
    pairs = [("a", 'b","c'), ('a","b', "c"), ("", "a,b"), ("a,b", "")]
    hashes = {link(GENESIS, event._replace(task=task, run=run), b"{}") for task, run in pairs}
    assert len(hashes) == len(pairs)


def test_a_whole_chain_is_whole() -> None:
    assert verify(chained()) is None
    assert verify([]) is None


def test_the_rest_of_a_chain_is_verified_from_the_hash_before_it() -> None:
    events = chained()
    assert verify(events[2:], previous=events[1].hash) is None
    assert verify(events[2:]) == 3
    assert verify(events[2:], previous=events[0].hash) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"task": "u"}, {"run": "q"}, {"at": 4}, {"phase": Phase.VERIFY}, {"step": None}, {"cause": 1},
        {"body": ValueStored(name="x", value=4)}, {"body": StepEntered()}, {"hash": "0" * 64}, {"seq": 9},
    ],
    ids=str,
)  # fmt: skip
def test_the_first_changed_event_is_named(change: dict[str, object]) -> None:
    events = chained()
    events[2] = events[2]._replace(**change)
    assert verify(events) == change.get("seq", 3)


def test_lost_doubled_and_swapped_events_are_found() -> None:
    one, two, three, *_ = chained()
    assert verify([one, three]) == 3
    assert verify([one, one, two]) == 1
    assert verify([one, three, two]) == 3
    assert verify([two, three]) == 2


def test_all_letters_of_a_step_count() -> None:
    event = chained(1)[0]
    assert len({link(GENESIS, event._replace(step=c), b"{}") for c in string.printable}) == len(
        string.printable
    )
