"""Broken rules of calls between procedures, and of waits, see `broken`."""

from __future__ import annotations

from random import Random

from benchmarks.breaking import TEXT, Data, breaks, first
from sopwith.ir.procedure import Call, Input, Procedure, Step

TOO_DEEP = (
    *(
        Procedure(
            id=f"deep{i}",
            start="down",
            steps={"down": Step(id="down", call=Call(procedure=f"deep{i + 1}"), end="complete")},
        )
        for i in range(1, 9)
    ),
    Procedure(id="deep9", start="down", steps={"down": Step(id="down", end="complete")}),
)
"""Procedures that call each other, one more than a run goes down when another one calls the first."""

LIBRARY = {
    one.id: one
    for one in (
        Procedure(
            id="notify",
            inputs={"who": Input(schema=TEXT), "when": Input(**{"from": "run.date"})},
            start="end",
            steps={"end": Step(id="end", end="complete")},
        ),
        Procedure(
            id="circle",
            start="back",
            steps={"back": Step(id="back", call=Call(procedure="caller"), end="complete")},
        ),
        *TOO_DEEP,
    )
}
"""The procedures that the broken steps call."""

NOW = 1_790_000_000_000_000


def _call(data: Data, procedure: str, **inputs: object) -> None:
    first(data, call={"procedure": procedure, "with": inputs})


@breaks("SW801")
def _unknown_procedure(data: Data, rng: Random) -> None:
    _call(data, rng.choice(("notifi", "nothing")))


@breaks("SW802")
def _unknown_input(data: Data, rng: Random) -> None:
    _call(data, "notify", who="u1", **{rng.choice(("whom", "when")): "u2"})


@breaks("SW803")
def _missing_input(data: Data, rng: Random) -> None:
    _call(data, "notify")


@breaks("SW804")
def _refused_input(data: Data, rng: Random) -> None:
    _call(data, "notify", who=rng.choice((17, ["u1"], "${run.principal.roles}")))


@breaks("SW805")
def _circle(data: Data, rng: Random) -> None:
    data["id"] = "caller"
    _call(data, rng.choice(("circle", "caller")))


@breaks("SW808")
def _too_deep(data: Data, rng: Random) -> None:
    _call(data, "deep1")


@breaks("SW806")
def _no_time(data: Data, rng: Random) -> None:
    first(
        data,
        wait=rng.choice(
            ({"for": "0s"}, {"for": "soon"}, {"until": "2030-12-01"}, {"until": "2030-12-01T09:00:00"})
        ),
    )


@breaks("SW807")
def _past(data: Data, rng: Random) -> None:
    first(data, wait={"until": "2020-12-01T09:00:00Z"})
