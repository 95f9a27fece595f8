"""Rules of names and types, each broken: SW3xx."""

from __future__ import annotations

import json
from random import Random

from benchmarks.breaking import (
    TEXT,
    Data,
    also,
    breaks,
    condition,
    first,
    strictly,
    value,
)


@breaks("SW301")
def _unreadable(data: Data, rng: Random) -> None:
    if rng.random() < 0.5:
        condition(data, rng.choice(("run.request ==", "run.request = 'x'", "a and b")))
    else:
        value(data, do=rng.choice(("${1 +}", "${run.request", "${天数}")))


@breaks("SW302")
def _unknown_name(data: Data, rng: Random) -> None:
    if rng.random() < 0.5:
        value(data, do="${unheard_of}")
    else:
        condition(data, "unheard_of == 1")


@breaks("SW303")
def _not_on_every_path(data: Data, rng: Random) -> None:
    value(data, id_="reader", do="${sometimes}")
    also(data, "writer", returns=TEXT, do="say it", **{"as": "sometimes"}, next=[{"to": "reader"}])


@breaks("SW304")
def _no_error(data: Data, rng: Random) -> None:
    value(data, do="${error.code}")


@breaks("SW305")
def _unknown_field(data: Data, rng: Random) -> None:
    value(data, do=rng.choice(("${run.principal.age}", "${run.requests}")))


@breaks("SW306")
def _unknown_function(data: Data, rng: Random) -> None:
    condition(data, rng.choice(("frobnicate(run.request)", "run.request.frob('x')")))


@breaks("SW307")
def _operands(data: Data, rng: Random) -> None:
    condition(data, rng.choice(("run.request > 3", "run.request + 1 == 'x'", "!run.request")))


@breaks("SW308")
def _never_equal(data: Data, rng: Random) -> None:
    condition(data, rng.choice(("run.request == 3", "run.principal == 'u1'")))


@breaks("SW309")
def _fails_for_some(data: Data, rng: Random) -> None:
    schema, when = rng.choice((
        ({"n": {"type": "number"}}, "seen.n * 2 > 3"),
        ({"n": {"type": ["integer", "null"]}}, "seen.n > 3"),
    ))  # fmt: skip
    needed = list(schema) if rng.random() < 0.5 else []
    condition(data, when if needed else f"!has(seen.n) || {when}")
    first(data, "seen", returns={"type": "object", "properties": schema, "required": needed}, do="say it")


@breaks("SW310")
def _no_truth(data: Data, rng: Random) -> None:
    condition(data, rng.choice(("run.request", "run.request.size()", "run.principal.roles")))


@breaks("SW311")
def _no_list(data: Data, rng: Random) -> None:
    value(data, returns={"enum": "${run.request}"})


@breaks("SW320")
def _reserved(data: Data, rng: Random) -> None:
    value(data, **{"as": rng.choice(("for", "int", "run", "error", "inputs"))})


@breaks("SW321")
def _no_identifier(data: Data, rng: Random) -> None:
    value(data, **{"as": rng.choice(("名称", "a-b", "1st"))})


@breaks("SW322")
def _same_name(data: Data, rng: Random) -> None:
    value(data, id_="second", **{"as": "twice"})
    value(data, id_="first", **{"as": "twice"})


@breaks("SW323")
def _unread_value(data: Data, rng: Random) -> None:
    strictly(data)
    value(data, **{"as": "unread"})


@breaks("SW324")
def _unread_input(data: Data, rng: Random) -> None:
    strictly(data)
    # Whoever reads all inputs at once reads this one as well.
    data |= json.loads(json.dumps(data).replace("${inputs}", "${run.request}"))
    data.setdefault("inputs", {})["unread"] = {"schema": TEXT, "from": "run.request"}


@breaks("SW330")
def _unknown_fact(data: Data, rng: Random) -> None:
    data.setdefault("inputs", {})["who_else"] = {"schema": TEXT, "from": rng.choice(("run.nobody", "today"))}


@breaks("SW331")
def _no_schema(data: Data, rng: Random) -> None:
    value(data, returns=rng.choice(({"type": "texts"}, {"minLength": -1}, {"enum": 3})))


@breaks("SW332")
def _wrong_example(data: Data, rng: Random) -> None:
    value(data, examples=[{"answer": 3}])


@breaks("SW333")
def _unseen_example(data: Data, rng: Random) -> None:
    value(data, uses=["run.request"], examples=[{"given": {"other": 1}, "answer": "x"}])


@breaks("SW334")
def _use_of_no_name(data: Data, rng: Random) -> None:
    value(data, uses=["1 + 1"])


@breaks("SW335")
def _cut_schema(data: Data, rng: Random) -> None:
    value(data, returns={"type": "string", "description": "the day", "if there is one": None})
