"""Rules of tools, of kinds of steps, and of what does nothing, each broken: SW4xx and SW5xx."""

from __future__ import annotations

from random import Random
from typing import Any

from benchmarks.breaking import (
    Data,
    breaks,
    first,
    named_tools,
    strictly,
    value,
)
from sopwith.lang.refused import GUIDANCE, KINDS


@breaks("SW401")
def _unknown_tool(data: Data, rng: Random) -> None:
    data.pop("tools", None)
    first(data, tool="broken.lok", **{"with": {"who": "u1"}})


@breaks("SW402")
def _not_permitted(data: Data, rng: Random) -> None:
    permitted = named_tools(data)
    first(data, tool="broken.look", **{"with": {"who": "u1"}})
    data["tools"] = permitted


@breaks("SW403")
def _unknown_permitted(data: Data, rng: Random) -> None:
    data["tools"] = [*named_tools(data), "broken.nothing"]


@breaks("SW404")
def _several_things(data: Data, rng: Random) -> None:
    first(data, tool="broken.look", answer="say it", **{"with": {"who": "u1"}})


@breaks("SW405")
def _refused_value(data: Data, rng: Random) -> None:
    given = rng.choice(({"who": 3}, {"who": "u1", "kind": "c"}, {"who": "${run.principal}"}))
    first(data, tool="broken.look", **{"with": given})


@breaks("SW406")
def _unknown_argument(data: Data, rng: Random) -> None:
    first(data, tool="broken.look", **{"with": {"who": "u1", "whom": "u2"}})


@breaks("SW407")
def _nobody_gives(data: Data, rng: Random) -> None:
    first(data, tool="broken.look")


@breaks("SW408")
def _unchecked(data: Data, rng: Random) -> None:
    first(data, tool="broken.write", **{"with": {"who": "u1"}})


@breaks("SW409")
def _no_tool(data: Data, rng: Random) -> None:
    first(data, **{"with": {"who": "u1"}})


@breaks("SW410")
def _unused_tool(data: Data, rng: Random) -> None:
    strictly(data)
    data["tools"] = [*named_tools(data), "broken.look"]


_ROLES = "${run.principal.roles}"


@breaks("SW421")
def _not_for_each(data: Data, rng: Random) -> None:
    first(data, each={"in": _ROLES}, **rng.choice(({"ask": "is it?"}, {"name": "nothing"})))


@breaks("SW422")
def _no_list_to_go_over(data: Data, rng: Random) -> None:
    first(data, each={"in": rng.choice(("${run.request}", "roles", "the ${run.request}"))}, answer="say it")


@breaks("SW423")
def _item_of_another_name(data: Data, rng: Random) -> None:
    first(data, each={"in": _ROLES, "as": rng.choice(("run", "int", "broken"))}, answer="say it")


_REFUSED: dict[str, Any] = {
    "script": "print(1)", "code": "say it",
}  # fmt: skip


@breaks("SW501")
def _not_run(data: Data, rng: Random) -> None:
    kind = rng.choice(sorted(KINDS))
    first(data, **{kind: _REFUSED[kind]})


@breaks("SW502")
def _no_such_guidance(data: Data, rng: Random) -> None:
    value(data, guidance=rng.choice(sorted(GUIDANCE)))


@breaks("SW503")
def _not_carried_out(data: Data, rng: Random) -> None:
    value(data, approval="boss")


@breaks("SW504")
def _idle(data: Data, rng: Random) -> None:
    key, idle = rng.choice((("retry", {"times": 1}), ("tools", ["broken.look"]), ("min_confidence", 0.5)))
    value(data, **{key: idle})
    if key == "tools" and data.get("tools") is not None:
        data["tools"].append("broken.look")
