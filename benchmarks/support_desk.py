"""Labelled support tickets on a real small model, by the procedure, freely, and with no model at all.

`strict` is the procedure of `examples/support`; `free` is the same model, tools, inputs and output without the
procedure's steps, for at most 10 calls of the model a ticket (the procedure asks at most twice); `no_model` is what
is left when the model is taken away: the same screen, the same rules for what goes to a person, the same search, and
the topic of the most similar article as the category, however little the two have in common. The screen stands before
all three, so that what it refuses is refused alike.

What became of a ticket is what the ticket system says: `completed` is a ticket that was answered, `escalated` one that
`tickets.escalate` gave to a person; a run that ends without writing either is right for no label. `denied` counts
where the screen refused. A ticket that was never classified has no category and counts as wrong; those that are
rightly refused have none to give and are left out, for all three alike. A wrong answer is a ticket that was answered
although it is labelled otherwise, or from an article that is not among the right ones. The path is judged by
`benchmarks.compliance`, which reads the events and the file of the procedure and nothing else, over the runs that
entered a step.

The procedure asks the model for a category only where neither the rules nor the most similar article leave it clear:
`category_decided_by_model_share` says how often, `category_accuracy_by_model` how well, beside the topic of the most
similar article on the same tickets. `second_set` is `tickets_second.jsonl`, with which the procedure was developed;
all else is about the first set, `tickets.jsonl`.

Times and tokens are those of the tickets that a model saw; the first of them reads the prompt's
prefix for the first time, and is timed apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.compliance import judge
from benchmarks.measure import Measure, Options, publish, rate, result
from sopwith import Budget, Engine, Policy, SqliteLog, connect
from sopwith.guard.screen import Screen
from sopwith.ir.event import event_json
from sopwith.models.port import Model
from sopwith.tools.module import load_module

SUPPORT = Path(__file__).parents[1] / "examples" / "support"
PROCEDURE = SUPPORT / "procedure.yaml"
POLICY = SUPPORT / "policy.yaml"
FIRST, SECOND = "tickets.jsonl", "tickets_second.jsonl"
FEW = ("zh-01", "en-02", "zh-25", "en-28", "zh-30", "en-30", "zh-s10", "en-s33")
MODEL_CALLS = 10
"""What a ticket may ask of the model, at either grip; the procedure asks at most twice."""

JUDGED = "intent"
"""The step in which the model says what a ticket is about."""

ARTICLE = "the topic of the most similar article"
NO_MODEL = "the same screen, rules and search with no model"
FREE = "the same tickets at grip free"
LEFT_OPEN = "left open"
"""What became of a ticket that nobody answered, handed on or refused."""

_BECAME = {"answered": "completed", "escalated": "escalated"}


@dataclass(frozen=True, slots=True)
class Handled:
    """What became of one ticket.

    `outcome` is what the ticket system says, `run` how the run ended; `category` and `article` are empty where
    none was written. `steps` are the steps that were entered.
    """

    grip: str
    id: str
    wanted: str
    outcome: str
    wanted_category: str
    category: str
    article: str = ""
    right_article: bool = False
    run: str = ""
    by_model: bool = False
    steps: int = 0
    violations: tuple[str, ...] = ()
    recomputed: int = 0
    unknown: int = 0
    seconds: float = 0.0
    tokens: int = 0
    new_tokens: int = 0

    @property
    def right(self) -> bool:
        """Whether the outcome is that of the label."""
        return self.outcome == self.wanted

    @property
    def wrong_answer(self) -> bool:
        """Whether the customer was told something that is not an answer to the ticket."""
        return self.outcome == "completed" and not (self.right and self.right_article)


def tickets(quick: bool, name: str = FIRST) -> list[dict[str, Any]]:
    """The labelled tickets of one set; a handful of them where it is to be quick."""
    lines = (SUPPORT / name).read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines if line.strip()]
    return [ticket for ticket in found if ticket["id"] in FEW] if quick else found


def desk_tools() -> ModuleType:
    """The module of the example's tools."""
    return sys.modules[load_module(SUPPORT / "tools.py")[0].__module__]


async def handle(model: Model, grip: str, cases: Sequence[dict[str, Any]], folder: Path) -> list[Handled]:
    """All `cases` at one grip, over a new desk and a new log."""
    desk = folder / f"{grip}.sqlite3"
    engine = desk_engine(model, desk)
    handled: list[Handled] = []
    async with engine:
        for ticket in cases:
            handled.append(await handle_one(engine, grip, ticket, desk))
            _tell(handled[-1], ticket)
    return handled


def desk_engine(model: Model, desk: Path, calls: int = MODEL_CALLS) -> Engine:
    """The procedure over a new desk, with its log beside it; a ticket may ask the model so often."""
    return Engine(
        PROCEDURE,
        tools=desk_tools().tools(desk),
        model=model,
        policy=Policy.read(POLICY),
        screen=Screen.read(POLICY),
        log=SqliteLog(desk.with_suffix(".db")),
        budget=Budget(model_calls=calls),
    )


async def handle_one(engine: Engine, grip: str, ticket: Mapping[str, Any], desk: Path) -> Handled:
    """One ticket at one grip, and what became of it on its desk."""
    before, began = last_row(desk), time.perf_counter()
    run = await engine.run(ticket["text"], principal="customer", grip=None if grip == "strict" else grip)
    seconds = time.perf_counter() - began
    events = [json.loads(json.dumps(event_json(e), default=str)) for e in await engine.log.read(run.id)]
    became, category, article = written(desk, before, events)
    judged = judge(PROCEDURE, events) if grip == "strict" else None
    usage = run.state.usage
    return Handled(
        grip, ticket["id"], ticket["outcome"], became, ticket["category"], category, article,
        article in ticket["article"], run.status, bool(category) and JUDGED in run.path, judged.steps if judged else 0,
        judged.violations if judged else (), judged.recomputed if judged else 0, judged.unknown if judged else 0,
        round(seconds, 3), usage.tokens, usage.input + usage.output,
    )  # fmt: skip


def _tell(one: Handled, ticket: Mapping[str, Any]) -> None:
    sys.stderr.write(
        f"{one.grip} {one.id}: {one.outcome} (label {one.wanted}; the run {one.run}), "
        f"{one.category or None} (label {one.wanted_category}), {one.article or None} of {ticket['article']}, "
        f"{one.seconds:.1f} s, {one.tokens} tokens\n"
    )


def last_row(desk: Path) -> int:
    """The number of the latest ticket in the ticket system; 0 where there is none."""
    if not desk.exists():
        return 0
    with closing(sqlite3.connect(desk)) as db:
        return int(db.execute("SELECT coalesce(max(rowid), 0) FROM tickets").fetchone()[0])


def written(desk: Path, before: int, events: Sequence[Mapping[str, Any]]) -> tuple[str, str, str]:
    """What became of the ticket of one run, its category and its article, by the rows that the run added after the row
    `before`: of several the latest that was answered or handed on."""
    screened = next((e["data"].get("verdict") for e in events if e["kind"] == "request.screened"), None)
    if screened == "deny":
        return "denied", "", ""
    rows: list[tuple[str, str, str, str]] = []
    if desk.exists():
        with closing(sqlite3.connect(desk)) as db:
            rows = db.execute(
                "SELECT id, status, category, coalesce(article, '') FROM tickets WHERE rowid > ? "
                "ORDER BY status != 'open' DESC, rowid DESC",
                (before,),
            ).fetchall()
    if not rows:
        return LEFT_OPEN, "", ""
    number, status, category, article = rows[0]
    # The ticket system files what nobody classified under `other`.
    known = number in classified(events)
    return _BECAME.get(status, LEFT_OPEN), category if known else "", article


def classified(events: Sequence[Mapping[str, Any]]) -> set[str]:
    """The numbers of the tickets that `tickets.classify` has written."""
    found: set[str] = set()
    proposed: Mapping[str, Any] = {}
    for event in events:
        data = event["data"]
        if event["kind"] == "call.proposed":
            proposed = data
        failed = data.get("error") or data.get("unknown")
        if event["kind"] == "call.finished" and not failed and proposed.get("tool") == "tickets.classify":
            found.add(str(proposed["arguments"]["ticket_id"]))
    return found


def without_a_model(cases: Sequence[dict[str, Any]], folder: Path) -> list[Handled]:
    """All `cases` by the procedure's own screen, rules and search, over a new desk."""
    module = desk_tools()
    desk, screen = module.Desk(folder / "no_model.sqlite3"), Screen.read(POLICY)
    categories = {topic: category for category, topic in module.TOPICS.items()}
    handled: list[Handled] = []
    for number, ticket in enumerate(cases):
        outcome, category, article = "denied", "", ""
        if screen.request(ticket["text"]).verdict != "deny":
            opened = desk.open_ticket(ticket["text"], "customer", idempotency_key=str(number))
            outcome = "escalated"
            known, likely = opened["topic"], desk.compare(opened["question"])["topic"]
            # Nothing is known or similar: as good a guess as any.
            category = categories.get(likely if known == "unknown" else known, "other")
            if not opened["empty"] and not opened["for_a_person"]:
                hits = desk.search(opened["question"], category=category)["items"]
                outcome, article = ("completed", hits[0]["id"]) if hits else ("escalated", "")
        handled.append(
            Handled(
                "no_model", ticket["id"], ticket["outcome"], outcome, ticket["category"], category, article,
                article in ticket["article"],
            )
        )  # fmt: skip
    return handled


def measures(
    strict: Sequence[Handled], free: Sequence[Handled], no_model: Sequence[Handled]
) -> list[Measure]:
    """The rates of all three with their intervals, and what a ticket costs. `free` may hold fewer of the tickets,
    or none."""
    n = len(strict)
    due = [h for h in strict if h.wanted == "completed"]
    entered = [h for h in strict if h.steps or h.violations]
    # The screen is the same for all three, and so is the denominator.
    refused = {h.id for h in no_model if h.wanted == h.outcome == "denied"}
    ways = [of for of in (strict, free, no_model) if of]
    right = {of[0].grip: sum(h.right for h in of) for of in ways}
    sorted_right = {of[0].grip: _categories(of, refused) for of in ways}
    count = {of[0].grip: len(of) for of in ways}
    open_to = {of[0].grip: max(1, sum(h.id not in refused for h in of)) for of in ways}
    taken_in = open_to["strict"]
    found = [
        Measure("tickets", n, "tickets", n),
        rate(
            "category_accuracy_strict", sorted_right["strict"], taken_in,
            peer=NO_MODEL, peer_value=round(sorted_right["no_model"] / taken_in, 4),
        ),
        rate(
            "outcome_accuracy_strict", right["strict"], n,
            peer=NO_MODEL, peer_value=round(right["no_model"] / n, 4),
        ),
        rate("needless_escalation", sum(_given_away(h) for h in due), max(1, len(due))),
        rate("path_compliance_strict", sum(not h.violations for h in entered), max(1, len(entered))),
    ]  # fmt: skip
    for grip in (of[0].grip for of in ways[1:]):
        found += [
            rate(f"category_accuracy_{grip}", sorted_right[grip], open_to[grip]),
            rate(f"outcome_accuracy_{grip}", right[grip], count[grip]),
        ]
    for of in ways:
        found += _answers(of)
    found += _by_model(strict, no_model, refused)
    found.append(_share("refused_by_the_screen", sum(h.outcome == "denied" for h in no_model), n))
    seen, hidden = sum(h.recomputed for h in strict), sum(h.unknown for h in strict)
    found.append(_share("expressions_computed_again", seen, seen + hidden))
    for of in (strict, free) if free else (strict,):
        found += _costs(of)
    return found


def second_set(strict: Sequence[Handled], no_model: Sequence[Handled]) -> list[Measure]:
    """The same rates over the second set, where there is no run at grip free."""
    n = len(strict)
    refused = {h.id for h in no_model if h.wanted == h.outcome == "denied"}
    taken_in = max(1, n - len(refused))
    found = [
        rate(
            "category_accuracy", _categories(strict, refused), taken_in,
            peer=NO_MODEL, peer_value=round(_categories(no_model, refused) / taken_in, 4),
        ),
        rate(
            "outcome_accuracy", sum(h.right for h in strict), n,
            peer=NO_MODEL, peer_value=round(sum(h.right for h in no_model) / n, 4),
        ),
        *_by_model(strict, no_model, refused),
    ]  # fmt: skip
    return [Measure("tickets_second_set", n, "tickets", n)] + [
        replace(measure, name=f"{measure.name}_second_set") for measure in found
    ]


def _by_model(strict: Sequence[Handled], no_model: Sequence[Handled], refused: set[str]) -> list[Measure]:
    """How often the model chose the category, and how well, beside the most similar article on the same tickets."""
    judged = [h for h in strict if h.by_model and h.id not in refused]
    found = [_share("category_decided_by_model_share", len(judged), len(strict) - len(refused))]
    if judged:
        ids = {h.id for h in judged}
        plain = sum(h.category == h.wanted_category for h in no_model if h.id in ids) / len(judged)
        right = sum(h.category == h.wanted_category for h in judged)
        found.append(
            rate("category_accuracy_by_model", right, len(judged), peer=ARTICLE, peer_value=round(plain, 4))
        )
    return found


def _categories(handled: Sequence[Handled], refused: set[str]) -> int:
    return sum(h.category == h.wanted_category for h in handled if h.id not in refused)


def _given_away(one: Handled) -> bool:
    """Whether a person got the ticket, or would have had to take it: the run gave up."""
    return one.outcome == "escalated" or (one.outcome == LEFT_OPEN and one.run == "escalated")


def _share(name: str, hits: int, n: int) -> Measure:
    """A share that is no sample of anything, and so has no interval."""
    return Measure(name, round(hits / max(1, n), 4), "share", n)


def _answers(handled: Sequence[Handled]) -> list[Measure]:
    grip, answered = handled[0].grip, [h for h in handled if h.outcome == "completed"]
    found = [rate(f"wrong_answers_{grip}", sum(h.wrong_answer for h in handled), len(handled))]
    if answered:
        found.append(rate(f"article_accuracy_{grip}", sum(h.right_article for h in answered), len(answered)))
    return found


def _costs(handled: Sequence[Handled]) -> list[Measure]:
    """Time and tokens of one grip, as medians over the tickets that a model saw; the first of them is cold."""
    grip = handled[0].grip
    seen = [h for h in handled if h.tokens] or list(handled)
    warm = seen[1:] or seen

    def median(values: Iterable[float], digits: int) -> float:
        return round(statistics.median(values), digits)

    tokens, new = median((h.tokens for h in seen), 0), median((h.new_tokens for h in seen), 0)
    return [
        Measure(f"seconds_first_ticket_{grip}", round(seen[0].seconds, 2), "s", 1),
        Measure(f"seconds_per_ticket_{grip}", median((h.seconds for h in warm), 2), "s", len(warm)),
        Measure(f"tokens_per_ticket_{grip}", tokens, "tokens", len(seen)),
        Measure(f"new_tokens_per_ticket_{grip}", new, "tokens", len(seen)),
    ]


@dataclass(frozen=True, slots=True)
class Handlings:
    """What became of the tickets: of the first set in three ways, of the second in two."""

    strict: list[Handled]
    free: list[Handled]
    no_model: list[Handled]
    strict_second: list[Handled]
    no_model_second: list[Handled]

    def all(self) -> tuple[Handled, ...]:
        """Every handling, one way after the other."""
        return (*self.strict, *self.free, *self.no_model, *self.strict_second, *self.no_model_second)


async def every_way(quick: bool, model: str, free_every: int = 1) -> Handlings:
    """Both sets by the procedure and with no model, the first also free on every `free_every`-th ticket if not 0."""
    connected = connect(model)
    first, second = tickets(quick), tickets(quick, SECOND)
    try:
        with tempfile.TemporaryDirectory() as name:
            folders = [Path(name) / "first", Path(name) / "second"]
            for folder in folders:
                folder.mkdir()
            return Handlings(
                strict=await handle(connected, "strict", first, folders[0]),
                strict_second=_named_second(await handle(connected, "strict", second, folders[1])),
                free=await handle(connected, "free", first[::free_every], folders[0]) if free_every else [],
                no_model=without_a_model(first, folders[0]),
                no_model_second=_named_second(without_a_model(second, folders[1])),
            )
    finally:
        await connected.close()


def _named_second(handled: Sequence[Handled]) -> list[Handled]:
    return [replace(one, grip=f"{one.grip}_second_set") for one in handled]


def confusion(handled: Sequence[Handled]) -> dict[str, dict[str, int]]:
    """How often which label became which outcome: `{label: {outcome: tickets}}`."""
    labels = sorted({h.wanted for h in handled})
    return {label: dict(Counter(h.outcome for h in handled if h.wanted == label)) for label in labels}


def details(handled: Sequence[Handled]) -> list[dict[str, Any]]:
    """What became of every ticket, and then the confusion of outcomes of each grip."""
    grips = dict.fromkeys(h.grip for h in handled)
    confusions = [
        {"grip": grip, "confusion": confusion([h for h in handled if h.grip == grip])} for grip in grips
    ]
    return [*map(asdict, handled), *confusions]


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="eight tickets, to show that it works")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    parser.add_argument("--model", default="local", help="a model, as in `sopwith run --model`")
    parser.add_argument("--details", type=Path, help="write what became of every ticket, as JSON lines")
    every = "run free on every N-th ticket, 0 for none: it is slow"
    parser.add_argument("--free-every", type=int, default=1, metavar="N", help=every)
    given = parser.parse_args()
    ways = asyncio.run(every_way(given.quick, given.model, given.free_every))
    found = details(ways.all())
    if given.details is not None:
        lines = (json.dumps(one, ensure_ascii=False) for one in found)
        given.details.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for one in (one for one in found if "confusion" in one):
        sys.stderr.write(f"{one['grip']}: label and what became of it: {one['confusion']}\n")
    measured = measures(ways.strict, ways.free, ways.no_model)
    outcome = result("support_desk", measured + second_set(ways.strict_second, ways.no_model_second))
    if given.free_every != 1:
        outcome = replace(outcome, command=f"{outcome.command} --free-every {given.free_every}")
    publish(outcome, Options(quick=given.quick, json=given.json))


if __name__ == "__main__":
    main()
