"""Whether procedures that `check` passes hold in real runs.

A run is **unsound** when it shows what a check without errors rules out:

- an expression fails on anything but an empty list of choices, which only a run can know: an unknown name, a name
  without a value, a field that is missing, operands that do not fit, a condition that is not true or false;
- a step is left with no edge to take (`no_edge`);
- a call whose arguments are bound, or the output, lacks something that its schema requires;
- an edge is taken of which the check has told that it never is (SW218, SW219);
- the run goes round more often than the bounds of its steps allow: each is entered `visits` times, once more to fail,
  and once more to escalate;
- it ends as failed (an exception that is nobody's decision), as exhausted (nothing is limited here), as cancelled
  though nobody gave it up, or the engine raises;
- at some prefix of its log, `decide` raises, or decides nothing though the run waits for nobody.

It is sound to escalate, to be denied, to fail on a tool's error or on a model that never says anything legal: those
are ends that the procedure has.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from benchmarks.chance import Chance
from benchmarks.generated import Generated
from benchmarks.values import instance
from benchmarks.works import BOSS, EVENT
from sopwith import Engine, MemoryLog
from sopwith.ir.diagnostic import Place, Severity
from sopwith.ir.event import CheckRan, EdgeTaken, Event, HumanAsked, RunFinished, StepEntered, StepFailed
from sopwith.ir.outcome import Outcome
from sopwith.ir.procedure import Procedure, Step
from sopwith.lang.check import check
from sopwith.lang.compile import compile_procedure
from sopwith.lang.document import Document, Path
from sopwith.lang.machine import Machine
from sopwith.models.scripted import ScriptedModel
from sopwith.run.asking import EMPTY_ENUM
from sopwith.run.book import Book
from sopwith.run.decide import decide
from sopwith.run.decision import Wait
from sopwith.run.fold import begin, fold
from sopwith.run.run import Run
from sopwith.run.state import State
from sopwith.run.values import Values

FAULTS = (0.0, 0.0, 0.0, 0.05, 0.15, 0.4)
"""The share of calls and replies that go wrong, for the runs of one procedure in turn."""

_MISSING = ("is missing", "缺少")
_NEVER = ("SW218", "SW219")
_EXPRESSION = (EMPTY_ENUM.en, EMPTY_ENUM.zh)


@dataclass(slots=True)
class Tally:
    """What was run, and what was found."""

    count: Counter[str] = field(default_factory=Counter[str])
    unsound: list[str] = field(default_factory=list[str])
    steps: int = 0
    """Steps of the procedures that were run."""
    edges: int = 0

    def fault(self, seed: int, run: int, what: str) -> None:
        """One run that was not sound."""
        self.unsound.append(f"seed {seed} run {run}: {what}")


def document(procedure: Procedure) -> Document:
    """A procedure without a text."""
    return Document(procedure, {}, procedure.id, "")


class _Numbered(dict[Path, Place]):
    """A place for every path that is asked for; its line tells the paths apart."""

    def get(self, path: Any, default: Any = None) -> Any:
        """The place of `path`."""
        return self.setdefault(path, Place(file="p", line=len(self) + 1))


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check says: the codes of its errors, and the edges (step, condition) that it says are never taken."""

    errors: frozenset[str]
    never: frozenset[tuple[str, str]]


async def checked(generated: Generated) -> Checked:
    """Check a procedure, its tools known."""
    source = Chance(Random(0)).functions(generated.tools)
    specs = {spec.name: spec for spec in await source.specs()}
    library = {one.id: one for one in (generated.procedure, *generated.children)}
    places = _Numbered()
    found = check(Document(generated.procedure, places, "p", ""), specs, library)
    paths = {place.line: path for path, place in places.items()}
    never: set[tuple[str, str]] = set()
    for one in found:
        if one.code in _NEVER and "for every value" not in one.message.en:
            _, step, key, i, _ = paths[one.place.line]
            if key == "next":
                never.add((str(step), str(generated.procedure.steps[str(step)].next[int(i)].when)))
    for child in generated.children:
        found += check(document(child), specs, library)
    errors = frozenset(one.code for one in found if one.severity is Severity.ERROR)
    return Checked(errors, frozenset(never))


async def exercise(
    tally: Tally,
    generated: Generated,
    seed: int,
    never: frozenset[tuple[str, str]] = frozenset(),
    faults: Sequence[float] = FAULTS,
    *,
    prefixes: bool = False,
) -> None:
    """Run one procedure once for each share of faults; with `prefixes`, decide at every prefix of each log.

    `never` are the edges that the check says are never taken.
    """
    seen: set[str] = set()
    gone: set[tuple[str, str]] = set()
    for number, share in enumerate(faults):
        chance = Chance(Random(f"{seed} {number}"))
        chance.faults = share
        trial = _Trial(generated, chance)
        try:
            run, machine = await trial.run()
        except _Endless:
            tally.fault(seed, number, "it goes round without end")
            continue
        except Exception as error:
            tally.fault(seed, number, f"{type(error).__name__}: {error}")
            continue
        found = [
            *faults_of(run.events, run.outcome, never, given_up=trial.given_up),
            *trial.faults_of_children(run.id),
        ]
        for what in [*found, *(trial.undecided(run, machine) if prefixes else ())]:
            tally.fault(seed, number, what)
        _count(tally, run, machine, seen, gone)
    procedure = generated.procedure
    tally.count["procedures"] += 1
    tally.steps += len(procedure.steps)
    tally.edges += sum(len({e.to for e in (*s.next, *s.on_error)}) for s in procedure.steps.values())
    tally.count["steps exercised"] += len(seen)
    tally.count["edges exercised"] += len(gone)


class _Endless(Exception):
    """The run goes round more often than its bounds allow."""


class _Trial:
    """One run of a procedure among tools, a model and people that answer by chance, on a clock of its own."""

    def __init__(self, generated: Generated, chance: Chance) -> None:
        self.generated = generated
        self.chance = chance
        self.endless = False
        self.given_up = False
        self.now = 1_790_000_000_000_000
        self.blobs: dict[str, bytes] = {}
        self.events: dict[str, list[Event]] = {}

    def _clock(self) -> int:
        self.now += 1000
        return self.now

    async def run(self) -> tuple[Run, Machine]:
        """The run, ended, and the machine that it ran on."""
        procedure, chance = self.generated.procedure, self.chance
        source = chance.functions(self.generated.tools)
        specs = {spec.name: spec for spec in await source.specs()}
        machine = compile_procedure(procedure, specs)
        given = {n: instance(chance.rng, i.schema_) for n, i in procedure.inputs.items() if i.from_ is None}
        documents = [document(one) for one in (procedure, *self.generated.children)]
        policy = chance.policy(self.generated.tools)
        async with Engine(
            documents,
            tools=[source],
            model=ScriptedModel(chance.reply),
            policy=policy,
            log=MemoryLog(),
            clock=self._clock,
        ) as engine:
            task: asyncio.Task[Any] | None = asyncio.current_task()
            engine.subscribe(self._watch(sum(node.visits + 2 for node in machine.nodes.values()), task))
            try:
                run = await engine.run(
                    "两天年假, please", inputs=given, principal="u1", procedure=procedure.id
                )
                while run.outcome is None:
                    run = await self._go_on(engine, run)
            except asyncio.CancelledError:
                if not self.endless or task is None:
                    raise
                task.uncancel()
                raise _Endless from None
            await self._keep(engine, run.events)
        return run, machine

    def _watch(self, most: int, task: asyncio.Task[Any] | None) -> Callable[[Event, State], None]:
        """What keeps all events, and stops a run that enters more than `most` steps."""

        def watch(event: Event, state: State) -> None:
            mine = self.events.setdefault(event.run, [])
            mine.append(event)
            entered = isinstance(event.body, StepEntered) and event.run == event.task
            if entered and not self.endless and task is not None:
                # Inside a region the exchanges are bounded, not the visits.
                entries = [one.body for one in mine if isinstance(one.body, StepEntered)]
                self.endless = sum(not body.goes_on for body in entries) > most
                if self.endless:
                    task.cancel()

        return watch

    async def _go_on(self, engine: Engine, run: Run) -> Run:
        """Do what a run waits for, or what the run that it has called does: the run, further on."""
        waiting = run
        while waiting.waits_for is not None:
            waiting = waiting.waits_for
        went = None if waiting.outcome is not None else await self._happen(engine, waiting)
        if went is None:
            # Nothing will come: an event that never happens, or a called run that waits for whoever takes it over.
            self.given_up = True
            return await engine.cancel(run.id, by="u1")
        while went.id != run.id and went.called_by is not None:
            went = went.called_by
        return went if went.id == run.id else await engine.resume(run.id)

    async def _happen(self, engine: Engine, run: Run) -> Run | None:
        """Let happen what a run waits for; None where nothing does."""
        rng, waits_for = self.chance.rng, run.state.waiting_for
        if waits_for == "time":
            self.now += 10**14
            return await engine.resume(run.id)
        if waits_for == "event":
            step = self._step(run)
            if rng.random() < 0.7:
                payload = None if step.returns is None else instance(rng, step.returns)
                return await engine.signal(run.id, EVENT, payload=payload)
            self.now += 4_000_000_000
            return None if step.timeout is None else await engine.resume(run.id)
        return None if waits_for == "child" else await self._answer(engine, run)

    def _step(self, run: Run) -> Step:
        """The step that a run is at."""
        whole = {one.id: one for one in (self.generated.procedure, *self.generated.children)}
        return whole[run.state.procedure_id].steps[run.state.path[-1].step]

    async def _answer(self, engine: Engine, run: Run) -> Run:
        asked = next(e.body for e in reversed(run.events) if isinstance(e.body, HumanAsked))
        if asked.what == "approval":
            said = self.chance.rng.random() < 0.7
            return await (engine.approve if said else engine.deny)(run.id, by=BOSS)
        answer = self.chance.answer(asked.answer_schema or {"type": "string"})
        return await engine.resume(run.id, answer=answer, answered=True, by="u1")

    def faults_of_children(self, root: str) -> Iterator[str]:
        """What of the runs that were called is unsound."""
        for run, events in self.events.items():
            if run != root:
                ended = [one.body.outcome for one in events if isinstance(one.body, RunFinished)]
                yield from faults_of(events, ended[-1] if ended else None, given_up=True)

    async def _keep(self, engine: Engine, events: Iterable[Event]) -> None:
        for event in events:
            name = getattr(event.body, "blob", None)
            if name:
                self.blobs[name] = await engine.log.blob(name)

    def undecided(self, run: Run, machine: Machine) -> Iterable[str]:
        """The prefixes of the log at which `decide` raises, or waits for nobody."""
        book, state = Book(machine), begin(run.events[0])
        values = Values(self.blobs.__getitem__, lambda value: value)
        for event in run.events[1:]:
            try:
                decision = decide(book, state, values)
            except Exception as error:
                yield f"decide raises before event {event.seq}: {type(error).__name__}: {error}"
                return
            if isinstance(decision, Wait) and state.suspended_at is None:
                yield f"nothing is decided before event {event.seq}"
            state = fold(state, event)


def faults_of(
    events: Sequence[Event],
    outcome: Outcome | None,
    never: frozenset[tuple[str, str]] = frozenset(),
    *,
    given_up: bool = False,
) -> Iterator[str]:
    """What of an ended run is unsound; `never` are the edges that are said to be never taken.

    A run that was `given_up` may be cancelled, or left where it was.
    """
    kind = "none" if outcome is None else outcome.kind
    if kind in ("failed", "exhausted") or (kind in ("none", "cancelled") and not given_up):
        why = outcome.packet.reason if outcome and outcome.packet else ""
        yield f"it ends as {kind}: {why}"
    by_model = False
    for event in events:
        body = event.body
        if body.kind in ("model.replied", "step.entered"):
            by_model = body.kind == "model.replied"
        if isinstance(body, StepFailed) and _is_unsound(body, by_model):
            yield f"{event.step}: {body.error.code}: {body.error.message}"
        if isinstance(body, EdgeTaken) and body.by == "when" and (_step(event), body.label) in never:
            yield f"{event.step}: an edge is taken that was said to be never taken: {body.label}"
        if isinstance(body, CheckRan) and not body.ok and _lacks(body):
            yield f"{body.scope}: {body.why}"


def _step(event: Event) -> str:
    return (event.step or "").partition("#")[0]


def _lacks(body: CheckRan) -> bool:
    why = body.why or ""
    return (body.scope == "procedure" and why != "") or any(word in why for word in _MISSING)


def _is_unsound(body: StepFailed, by_model: bool) -> bool:
    error = body.error
    if error.code == "expression":
        return not error.message.endswith(_EXPRESSION)
    if error.code == "invalid_arguments" and not by_model:
        return any(word in error.message for word in _MISSING)
    return error.code == "no_edge"


def _count(tally: Tally, run: Run, machine: Machine, seen: set[str], gone: set[tuple[str, str]]) -> None:
    tally.count["runs"] += 1
    tally.count["events"] += len(run.events)
    tally.count[f"outcome {run.outcome.kind if run.outcome else 'none'}"] += 1
    for event in run.events:
        body, at = event.body, _step(event)
        if isinstance(body, StepEntered) and at in machine.nodes:
            seen.add(at)
            tally.count["steps"] += 1
            tally.count[f"step {machine.nodes[at].kind}"] += 1
        elif isinstance(body, EdgeTaken):
            gone.add((at, body.to))
            tally.count["edges"] += 1
            tally.count[f"edge {body.by}"] += 1
        elif isinstance(body, StepFailed):
            tally.count[f"failure {body.error.code}"] += 1
        else:
            tally.count[f"event {body.kind}"] += 1
