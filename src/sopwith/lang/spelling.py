"""A procedure as the YAML form spells it: plain data with the keys in canonical order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from sopwith.ir.duration import read_duration, write_duration
from sopwith.ir.procedure import Input, Procedure
from sopwith.ir.value import Json
from sopwith.lang.comments import Comments
from sopwith.lang.document import Path
from sopwith.lang.fields import APPROVAL, CALL, EACH, EDGE, PROCEDURE, STEP, WAIT

_Mapping = dict[str, Json]


def spell(procedure: Procedure) -> _Mapping:
    """The YAML form of `procedure`, without what equals its default."""
    data: _Mapping = {"schema": procedure.schema_, **procedure.to_data()}
    if "inputs" in data:
        data["inputs"] = {name: _input(one) for name, one in procedure.inputs.items()}
    steps = cast("dict[str, _Mapping]", data["steps"])
    data["steps"] = {
        name: {key: _edges(key, value) for key, value in step.items() if key != "id"}
        for name, step in steps.items()
    }
    return canonical(data)


def _input(one: Input) -> _Mapping:
    return {**one.schema_, **({} if one.from_ is None else {"from": one.from_})}


def _edges(key: str, value: Json) -> Json:
    if key not in ("next", "on_error"):
        return value
    return [_edge(edge) for edge in cast("list[_Mapping]", value)]


def _edge(edge: _Mapping) -> _Mapping:
    if "otherwise" not in edge:
        return edge
    return {"otherwise": edge["to"], **{k: v for k, v in edge.items() if k not in ("to", "otherwise")}}


def canonical(data: _Mapping, comments: Comments | None = None) -> _Mapping:
    """The YAML form `data` in canonical order and spelling. A part with a comment keeps its long form."""
    held = comments or Comments()
    result = _ordered(data, PROCEDURE)
    _shorten_timeout(result)
    steps = cast("dict[str, _Mapping]", result.get("steps", {}))
    result["steps"] = {name: _step(step, ("steps", name), held) for name, step in steps.items()}
    if "inputs" in result:
        inputs = cast("dict[str, _Mapping]", result["inputs"])
        result["inputs"] = {name: _from_last(one) for name, one in inputs.items()}
    return result


def _step(data: _Mapping, path: Path, comments: Comments) -> _Mapping:
    result = _ordered(data, STEP)
    _shorten_timeout(result)
    for key in ("next", "on_error"):
        found = result.get(key)
        if isinstance(found, list):
            edges = [_ordered(edge, EDGE) for edge in cast("list[_Mapping]", found)]
            alone = len(edges) == 1 and edges[0].keys() == {"to"} and not comments.inside((*path, key))
            result[key] = edges[0]["to"] if alone else edges
    for key, order in (
        ("retry", ("times", "errors")), ("wait", WAIT), ("call", CALL), ("each", EACH),
    ):  # fmt: skip
        if key in result:
            result[key] = _ordered(result[key], order)
    if "approval" in result:
        result["approval"] = _approval(result["approval"], bool(comments.inside((*path, "approval"))))
    if "examples" in result:
        result["examples"] = [_ordered(one, ("given", "answer")) for one in result["examples"]]
    return result


def _approval(value: Json, whole: bool) -> Json:
    """Terms that are nothing but roles are written as these, and one role as itself, unless a comment stands inside."""
    if not isinstance(value, dict):
        return value
    terms = _ordered(cast("_Mapping", value), APPROVAL)
    seconds = read_duration(terms.get("expires"))
    if seconds is not None:
        terms["expires"] = write_duration(seconds)
    roles = terms.get("roles")
    if isinstance(roles, list) and len(cast("list[Json]", roles)) == 1 and not whole:
        terms["roles"] = cast("list[Json]", roles)[0]
    return terms["roles"] if terms.keys() == {"roles"} and not whole else terms


def _ordered(data: _Mapping, order: Iterable[str]) -> _Mapping:
    return {key: data[key] for key in order if key in data}


def _from_last(one: _Mapping) -> _Mapping:
    return {
        **{k: v for k, v in one.items() if k != "from"},
        **({"from": one["from"]} if "from" in one else {}),
    }


def _shorten_timeout(data: _Mapping) -> None:
    seconds = read_duration(data.get("timeout"))
    if seconds is not None:
        data["timeout"] = write_duration(seconds)
