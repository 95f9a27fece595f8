"""The support desk on a real small model: every labelled ticket through the procedure, and the same tickets freely.

A ticket that is rightly refused before it is taken in has no category, and does not count in the category's accuracy.
Strict is the procedure of `examples/support`; free is the same tools, inputs and output without its steps. A run's path
is judged by `benchmarks.compliance`, which reads the events and the file of the procedure and nothing else.
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
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.compliance import violations
from benchmarks.measure import Measure, Options, publish, rate, result
from sopwith import Engine, Policy, SqliteLog, connect
from sopwith.guard.screen import Screen
from sopwith.ir.event import event_json
from sopwith.models.port import Model
from sopwith.tools.module import load_module

SUPPORT = Path(__file__).parents[1] / "examples" / "support"
PROCEDURE = SUPPORT / "procedure.yaml"
FEW = ("zh-01", "en-02", "zh-25", "en-28", "zh-30", "en-30")


@dataclass(frozen=True, slots=True)
class Handled:
    """What became of one ticket."""

    id: str
    wanted: str
    outcome: str
    wanted_category: str
    category: str
    article: str
    right_article: bool
    violations: tuple[str, ...]
    seconds: float
    tokens: int
    new_tokens: int


def tickets(quick: bool) -> list[dict[str, Any]]:
    """The labelled tickets; a handful of them where it is to be quick."""
    lines = (SUPPORT / "tickets.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines if line.strip()]
    return [ticket for ticket in found if ticket["id"] in FEW] if quick else found


async def handle(model: Model, grip: str, cases: Sequence[dict[str, Any]], folder: Path) -> list[Handled]:
    """All `cases` at one grip, over a new desk and a new log."""
    desk = folder / f"{grip}.sqlite3"
    namespace = load_module(SUPPORT / "tools.py")
    module = sys.modules[namespace[0].__module__]
    policy = SUPPORT / "policy.yaml"
    engine = Engine(
        PROCEDURE,
        tools=module.tools(desk),
        model=model,
        policy=Policy.read(policy),
        screen=Screen.read(policy),
        log=SqliteLog(folder / f"{grip}.db"),
    )
    handled: list[Handled] = []
    for ticket in cases:
        began = time.perf_counter()
        run = await engine.run(ticket["text"], principal="customer", grip=None if grip == "strict" else grip)
        seconds = time.perf_counter() - began
        events = [json.loads(json.dumps(event_json(e), default=str)) for e in await engine.log.read(run.id)]
        category, article = _written(desk, ticket["text"])
        usage = run.state.usage
        broken = tuple(violations(PROCEDURE, events)) if grip == "strict" else ()
        one = Handled(
            ticket["id"], ticket["outcome"], run.status, ticket["category"], category, article,
            article in ticket["article"], broken, seconds, usage.tokens, usage.input + usage.output,
        )  # fmt: skip
        handled.append(one)
        sys.stderr.write(
            f"{grip} {one.id}: {one.outcome} (label {one.wanted}), {one.category} (label {one.wanted_category}), "
            f"{one.article or None} of {ticket['article']}, {one.seconds:.1f} s, {one.tokens} tokens\n"
        )
    return handled


def _written(desk: Path, text: str) -> tuple[str, str]:
    """The category and article of the latest ticket with this text, as the ticket system has them."""
    if not desk.exists():
        return "other", ""
    with closing(sqlite3.connect(desk)) as db:
        row = db.execute(
            "SELECT category, coalesce(article, '') FROM tickets WHERE text = ? ORDER BY rowid DESC", (text,)
        ).fetchone()
    return row or ("other", "")


def measures(strict: Sequence[Handled], free: Sequence[Handled]) -> list[Measure]:
    """The rates of both grips, with their intervals, and what a ticket costs."""
    n = len(strict)
    due = [h for h in strict if h.wanted == "completed"]
    taken_in = [h for h in strict if (h.outcome, h.wanted) != ("denied", "denied")]
    done = [h for h in strict if h.outcome == "completed"]
    free_right = sum(h.outcome == h.wanted for h in free)
    found = [
        rate("category_accuracy_strict", sum(h.category == h.wanted_category for h in taken_in), len(taken_in)),
        rate(
            "outcome_accuracy_strict", sum(h.outcome == h.wanted for h in strict), n,
            peer="the same tickets at grip free", peer_value=round(free_right / n, 4),
        ),
        rate("needless_escalation", sum(h.outcome == "escalated" for h in due), max(1, len(due))),
        rate("path_compliance_strict", sum(not h.violations for h in strict), n),
        rate("article_accuracy_strict", sum(h.right_article for h in done), max(1, len(done))),
        rate("outcome_accuracy_free", free_right, n),
        rate("category_accuracy_free", sum(h.category == h.wanted_category for h in free), n),
    ]  # fmt: skip
    for name, of in (("strict", strict), ("free", free)):
        found += [
            Measure(f"seconds_per_ticket_{name}", round(statistics.median(h.seconds for h in of), 2), "s", n),
            Measure(f"tokens_per_ticket_{name}", round(statistics.median(h.tokens for h in of)), "tokens", n),
            Measure(
                f"new_tokens_per_ticket_{name}",
                round(statistics.median(h.new_tokens for h in of)),
                "tokens",
                n,
            ),
        ]
    return found


async def both(quick: bool, model: str) -> tuple[list[Handled], list[Handled]]:
    """Both grips, one after the other."""
    connected = connect(model)
    cases = tickets(quick)
    try:
        with tempfile.TemporaryDirectory() as folder:
            strict = await handle(connected, "strict", cases, Path(folder))
            free = await handle(connected, "free", cases, Path(folder))
    finally:
        await connected.close()
    return strict, free


def write_details(handled: Sequence[Handled], path: Path) -> None:
    """What became of every ticket, one JSON object a line."""
    lines = (json.dumps(asdict(one), ensure_ascii=False) for one in handled)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="six tickets, to show that it works")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    parser.add_argument("--model", default="local", help="a model, as in `sopwith run --model`")
    parser.add_argument("--details", type=Path, help="write what became of every ticket, as JSON lines")
    given = parser.parse_args()
    by_procedure, freely = asyncio.run(both(given.quick, given.model))
    if given.details is not None:
        write_details((*by_procedure, *freely), given.details)
    outcome = result("support_desk", measures(by_procedure, freely))
    publish(outcome, Options(quick=given.quick, json=given.json))
