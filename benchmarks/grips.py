"""The four grips on one procedure: the same labelled tickets, tools, model and limits, held more or less firmly.

The tickets, the desk and what became of a ticket are those of `benchmarks.support_desk`; nothing of the procedure is
changed but its grip. Ticket by ticket each grip is run on a desk of its own, in the order that is given, so that a slow
hour of the machine meets all of them. `differs_from_GRIP` counts the tickets whose outcome is right at one of the two
only, and `p_GRIP` is the exact two-sided p of that (McNemar 1947): below a few dozen tickets that differ nothing is
shown. `deviations` are actions that are none of the ways on, `fallbacks` advice about the whole graph, both of `guide`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.measure import Measure, Options, publish, rate, result
from benchmarks.support_desk import FIRST, MODEL_CALLS, Handled, desk_engine, handle_one, tickets
from sopwith import Engine, connect
from sopwith.ir.guidance import DeviationNoted, GuidanceGiven
from sopwith.ir.procedure import Grip
from sopwith.models.port import Model

ALL = tuple(str(grip) for grip in reversed(Grip))


@dataclass(frozen=True, slots=True)
class Held:
    """What became of one ticket at one grip, and what of the guidance was not followed or not found."""

    handled: Handled
    deviations: int = 0
    fallbacks: int = 0


async def compare(
    model: Model,
    grips: Sequence[str],
    cases: Sequence[dict[str, Any]],
    folder: Path,
    calls: int = MODEL_CALLS,
) -> dict[str, list[Held]]:
    """Every case at every grip, each grip over a desk and a log of its own; `calls` of the model a ticket at most."""
    engines = {grip: desk_engine(model, folder / f"{grip}.sqlite3", calls) for grip in grips}
    found: dict[str, list[Held]] = {grip: [] for grip in grips}
    try:
        for case in cases:
            for grip, engine in engines.items():
                one = await handle_one(engine, grip, case, folder / f"{grip}.sqlite3")
                found[grip].append(Held(one, *await _guidance(engine)))
                sys.stderr.write(
                    f"{grip} {one.id}: {one.outcome} (label {one.wanted}), {one.tokens} tokens\n"
                )
    finally:
        for engine in engines.values():
            await engine.close()
    return found


async def _guidance(engine: Engine) -> tuple[int, int]:
    """How often the latest run left the ways, and how often its advice was about the whole graph."""
    (latest, *_) = await engine.log.runs()
    events = await engine.log.read(latest.run)
    deviations = sum(isinstance(event.body, DeviationNoted) for event in events)
    return deviations, sum(isinstance(e.body, GuidanceGiven) and e.body.fallback for e in events)


def measures(found: dict[str, list[Held]]) -> list[Measure]:
    """The rates of each grip, what a ticket costs, and how the first grip differs from the others."""
    first, *others = found
    listed: list[Measure] = []
    for grip, held in found.items():
        handled = [one.handled for one in held]
        n = len(handled)
        listed += [
            rate(f"outcome_{grip}", sum(h.right for h in handled), n),
            rate(f"wrong_answers_{grip}", sum(h.wrong_answer for h in handled), n),
            Measure(f"tokens_{grip}", round(sum(h.tokens for h in handled) / n), "tokens", n),
            Measure(f"seconds_{grip}", round(sum(h.seconds for h in handled) / n, 2), "s", n),
        ]
    for grip in others:
        pairs = [(a.handled.right, b.handled.right) for a, b in zip(found[first], found[grip], strict=True)]
        only_first, only_other = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
        listed += [
            Measure(f"differs_from_{grip}", only_first + only_other, "tickets", len(pairs)),
            Measure(f"p_{grip}", round(_mcnemar(only_first, only_other), 4), "p", only_first + only_other),
        ]
    for held in (found.get("guide"),):
        if held:
            listed.append(Measure("deviations", sum(one.deviations for one in held), "actions", len(held)))
            listed.append(Measure("fallbacks", sum(one.fallbacks for one in held), "advices", len(held)))
    return listed


def _mcnemar(one: int, other: int) -> float:
    """The exact two-sided p of `one` against `other` (scipy's binomial test); 1 where nothing differs."""
    from scipy.stats import binomtest

    return float(binomtest(one, one + other).pvalue) if one + other else 1.0


async def _all(
    model: str, grips: Sequence[str], cases: Sequence[dict[str, Any]], calls: int
) -> dict[str, list[Held]]:
    connected = connect(model)
    try:
        with tempfile.TemporaryDirectory() as folder:
            return await compare(connected, grips, cases, Path(folder), calls)
    finally:
        await connected.close()


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="eight tickets, to show that it works")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    parser.add_argument("--model", default="local", help="a model, as in `sopwith run --model`")
    parser.add_argument("--grips", default=",".join(ALL), help=f"which, by comma: {', '.join(ALL)}")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th ticket")
    parser.add_argument("--calls", type=int, default=MODEL_CALLS, help="calls of the model a ticket, at most")
    parser.add_argument("--details", type=Path, help="write what became of every ticket, as JSON lines")
    given = parser.parse_args()
    grips = given.grips.split(",")
    cases = tickets(given.quick, FIRST)[:: given.every]
    found = asyncio.run(_all(given.model, grips, cases, given.calls))
    if given.details is not None:
        lines = (json.dumps(asdict(one), ensure_ascii=False) for held in found.values() for one in held)
        given.details.write_text("\n".join(lines) + "\n", encoding="utf-8")
    outcome = result("grips", measures(found))
    more = f" --grips {given.grips} --every {given.every} --calls {given.calls}"
    publish(replace(outcome, command=outcome.command + more), Options(quick=given.quick, json=given.json))


if __name__ == "__main__":
    main()
