"""Properties of every log: the fold of what is stored is the live state, and every prefix decides something legal."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.desk import HAPPY, Shop, desk, sure

from sopwith import Engine, MemoryLog, Policy, Rule, ToolError
from sopwith.ir.event import Event, RunResumed
from sopwith.ir.tool import Effect
from sopwith.lang.compile import compile_procedure
from sopwith.log.chain import verify
from sopwith.models.port import ModelReply
from sopwith.run.book import Book
from sopwith.run.decide import decide
from sopwith.run.decision import AskPerson, Finish, PerformCall, StartCall, Wait
from sopwith.run.fold import begin, fold, fold_all
from sopwith.run.state import State
from sopwith.run.values import Values

REPLY = st.one_of(
    st.sampled_from(
        [
            *HAPPY,
            "A",
            "B",
            "C",
            "nonsense",
            "{}",
            '{"note": "x"}',
            '{"order": "A-1", "wish": "none_of_these"}',
        ]
    ),
    st.sampled_from([sure("A", 0.9), sure("B", 0.9), sure("A", 0.1), ModelReply("Z")]),
)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Shop, list[object], Policy]:
    """A shop, replies and a policy that lead a run down any of its ways."""
    shop = Shop()
    shop.amount = draw(st.sampled_from([25.0, 900.0]))
    shop.status = draw(st.sampled_from(["ok", "odd"]))
    shop.failures = [
        ToolError(code, "x") for code in draw(st.lists(st.sampled_from(["busy", "not_found"]), max_size=3))
    ]
    first = draw(st.sampled_from([HAPPY[0], "nonsense"]))
    replies = [first, *draw(st.lists(REPLY, max_size=6)), *([HAPPY[0], sure("A", 0.9), *HAPPY[2:]])]
    verdict = draw(st.sampled_from(["allow", "deny", "ask"]))
    return shop, replies, Policy([Rule(id="r", verdict=verdict, tool="shop.refund")])


async def logged(case: tuple[Shop, list[object], Policy]) -> tuple[list[Event], State, Engine]:
    """All events of one run, with questions answered, and its live state."""
    shop, replies, policy = case
    live: list[State] = []
    engine = desk(shop, replies, policy=policy, log=MemoryLog())  # type: ignore[arg-type]
    engine.subscribe(lambda event, state: live.append(state))
    run = await engine.run("A-7 came broken", run_id="r1", principal="u1")
    while run.outcome is None:
        asked = next(e.body for e in reversed(run.events) if e.body.kind == "human.asked")
        run = await engine.resume("r1", answer=True if asked.what == "approval" else "A-9")
    return list(await engine.log.read("r1")), live[-1], engine


@settings(max_examples=60, deadline=None)
@given(case=runs())
async def test_the_fold_of_the_stored_events_is_the_live_state(
    case: tuple[Shop, list[object], Policy],
) -> None:
    events, live, _ = await logged(case)
    assert fold_all(events) == live
    assert verify(events) is None
    assert [e.seq for e in events] == list(range(1, len(events) + 1))


@settings(max_examples=60, deadline=None)
@given(case=runs())
async def test_every_prefix_decides_something_legal(case: tuple[Shop, list[object], Policy]) -> None:
    events, _, engine = await logged(case)
    procedure = next(iter((await engine.procedures()).values()))
    specs = engine._library.specs or {}  # pyright: ignore
    book = Book(compile_procedure(procedure, specs))
    blobs = {}
    for event in events:
        name = getattr(event.body, "blob", None)
        if name:
            blobs[name] = await engine.log.blob(name)
    values = Values(blobs.__getitem__, lambda value: value)
    state = begin(events[0])
    for event in events[1:]:
        decision = decide(book, state, values)
        if isinstance(decision, StartCall | PerformCall):
            assert state.cursor is not None
            assert decision.tool.name == book.machine.nodes[state.cursor.step].step.tool
        if isinstance(decision, PerformCall):
            assert state.cursor is not None and state.cursor.started is not None
        if isinstance(decision, Wait):
            assert event.body.kind in ("human.answered", "run.resumed")
        assert not isinstance(decision, Finish) or event.body.kind in ("alert.raised", "run.finished")
        state = fold(state, event)
    assert isinstance(decide(book, state, values), Finish)


@settings(max_examples=60, deadline=None)
@given(case=runs(), cut=st.floats(0, 1))
async def test_after_a_restart_no_prefix_decides_a_blind_second_write(
    case: tuple[Shop, list[object], Policy], cut: float
) -> None:
    events, _, engine = await logged(case)
    procedure = next(iter((await engine.procedures()).values()))
    book = Book(compile_procedure(procedure, engine._library.specs or {}))  # pyright: ignore
    prefix = events[: max(1, int(cut * len(events)))]
    state = fold_all(prefix)
    if state.outcome is not None:
        return
    again = Event(state.task, state.run, state.seq + 1, state.at, state.phase, None, None, RunResumed())
    decision = decide(book, fold(state, again), Values(lambda name: b"null", lambda value: value))
    cursor = state.cursor
    open_write = cursor is not None and cursor.started is not None and cursor.effect is not Effect.READ
    assert not isinstance(decision, PerformCall)
    if open_write:
        assert not isinstance(decision, StartCall | AskPerson)
