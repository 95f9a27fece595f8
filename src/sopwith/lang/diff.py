"""What differs between two procedures, by step. Pure; the words for it are in `change_words`.

Steps are matched by their ids, the rest by what they do (`likeness`). What only follows from a new id (an expression
that names it, a way that leads to it) is no change of its own.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from sopwith.ir.procedure import Procedure, Step
from sopwith.ir.value import Json
from sopwith.lang.likeness import renamed
from sopwith.lang.numbering import numbers
from sopwith.lang.ways_diff import ways_differ

Topic = Literal["permission", "write", "step", "flow", "data", "limit", "words"]
TOPICS: tuple[Topic, ...] = ("permission", "write", "step", "flow", "data", "limit", "words")
"""What a change is about, in the order in which whoever signs wants to know."""

Act = Literal["added", "removed", "changed", "renamed", "moved", "reordered"]
Part = Literal["tool", "step", "way", "argument", "field", "input", "procedure"]

_TOPICS: Mapping[Topic, frozenset[str]] = {
    "permission": frozenset({"approval", "tools", "grip"}),
    "flow": frozenset({"start", "end", "each", "call", "wait"}),
    "limit": frozenset({"timeout", "retry", "visits", "min_confidence", "model"}),
    "words": frozenset(
        {"id", "name", "description", "do", "needs", "gives", "examples", "pitfalls", "tags", "schema"}
    ),
}
"""What the keys of a step and of a procedure are about; the others hold data."""
_OF_A_WRITE = frozenset({"tool", "verify", "retry", "timeout", "on_error"})


@dataclass(frozen=True, slots=True)
class At:
    """A step of one of the two procedures."""

    step: str
    number: str
    title: str


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. `name` says what of its part: a key, an argument, an input, a tool, `next` or `on_error`.

    `was` and `now` are the step in either procedure, where the change is one of a step; `before` and `after` the
    values, null where there was or is none. `writes`: it is about a tool that writes. `alike` (0 to 1) says how sure it
    is that a renamed step is the same.
    """

    topic: Topic
    act: Act
    part: Part
    name: str = ""
    was: At | None = None
    now: At | None = None
    before: Json = None
    after: Json = None
    writes: bool = False
    alike: float | None = None


@dataclass(slots=True)
class _Pair:
    """Two procedures, and which of their steps are the same."""

    before: Procedure
    after: Procedure
    writes: Collection[str]
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """The steps of `before` by id, with their ids in `after`."""
    likely: dict[str, float] = field(default_factory=dict[str, float])
    words: re.Pattern[str] | None = None
    new_words: dict[str, str] = field(default_factory=dict[str, str])
    number: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})

    def at(self, step: str, *, now: bool) -> At:
        """A step of `after` (`now`) or `before`."""
        procedure = self.after if now else self.before
        return At(step, self.number[now][step], procedure.steps[step].title)

    def follow(self, value: Json) -> Json:
        """A value of `before` as it would be with the new ids."""
        if self.words is None:
            return value
        if isinstance(value, str):
            return self.words.sub(lambda match: self.new_words[match[0]], value)
        if isinstance(value, list):
            return [self.follow(item) for item in cast("list[Json]", value)]
        if isinstance(value, dict):
            return {key: self.follow(item) for key, item in cast("dict[str, Json]", value).items()}
        return value

    def same(self, before: Json, after: Json) -> bool:
        """Whether a value has stayed, apart from ids; the order of its members counts."""
        return _spelled(before) == _spelled(after) or _spelled(self.follow(before)) == _spelled(after)


def diff(before: Procedure, after: Procedure, writes: Collection[str] = ()) -> tuple[Change, ...]:
    """Every difference from `before` to `after`: none only where both have the same content hash. `writes` are the
    tools that are known to write. What a signer must see first comes first."""
    pair = _paired(before, after, writes)
    found = [*_allowed(pair), *_steps(pair), *_moved(pair)]
    for old, new in pair.ids.items():
        found += _within(pair, old, new)
    found += [*_inputs(pair), *_heads(pair)]
    if not found and before.digest() != after.digest():
        found.append(Change("words", "reordered", "procedure"))
    return tuple(sorted(found, key=lambda change: TOPICS.index(change.topic)))


def _paired(before: Procedure, after: Procedure, writes: Collection[str]) -> _Pair:
    pair = _Pair(before, after, writes, number=(numbers(before), numbers(after)))
    pair.ids = {name: name for name in before.steps if name in after.steps}
    lost = [name for name in before.steps if name not in after.steps]
    new = [name for name in after.steps if name not in before.steps]
    for old, name, score in renamed(before, after, lost, new):
        pair.ids[old] = name
        pair.likely[old] = score
        pair.new_words[old] = name
    if pair.new_words:
        listed = "|".join(map(re.escape, pair.new_words))
        pair.words = re.compile(rf"\b(?:{listed})\b")
    return pair


def _spelled(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _allowed(pair: _Pair) -> Iterator[Change]:
    """The allow-list: what the procedure may call."""
    was, now = pair.before.permitted_tools(), pair.after.permitted_tools()
    for tool in now:
        if tool not in was:
            yield Change("permission", "added", "tool", tool, after=tool, writes=tool in pair.writes)
    for tool in was:
        if tool not in now:
            yield Change("permission", "removed", "tool", tool, before=tool, writes=tool in pair.writes)


def _steps(pair: _Pair) -> Iterator[Change]:
    """Steps that are new, gone, or have another id."""
    kept = set(pair.ids.values())
    for name in pair.number[1]:
        if name not in kept:
            step = pair.after.steps[name]
            said = _told(step)
            yield Change(
                _of_step(step, pair),
                "added",
                "step",
                now=pair.at(name, now=True),
                after=said,
                writes=_writes(step, pair),
            )
    for name in pair.number[0]:
        step = pair.before.steps[name]
        if name not in pair.ids:
            said = _told(step)
            yield Change(
                _of_step(step, pair),
                "removed",
                "step",
                was=pair.at(name, now=False),
                before=said,
                writes=_writes(step, pair),
            )
        elif name in pair.likely:
            was, now = pair.at(name, now=False), pair.at(pair.ids[name], now=True)
            yield Change(
                "step",
                "renamed",
                "step",
                was=was,
                now=now,
                before=name,
                after=now.step,
                alike=round(pair.likely[name], 2),
            )


def _of_step(step: Step, pair: _Pair) -> Topic:
    if step.approval is not None or step.tools:
        return "permission"
    return "write" if _writes(step, pair) else "step"


def _writes(step: Step, pair: _Pair) -> bool:
    return step.tool is not None and step.tool in pair.writes


def _told(step: Step) -> Json:
    """A step as data, without its id."""
    data = step.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    data.pop("id", None)
    return data


def _moved(pair: _Pair) -> Iterator[Change]:
    """Steps that come earlier or later among those that both procedures have: all but a longest run that stayed in
    order."""
    place = {name: i for i, name in enumerate(pair.number[1])}
    order = [name for name in pair.number[0] if name in pair.ids]
    stayed = _longest_rising([place[pair.ids[name]] for name in order])
    for i, name in enumerate(order):
        if i in stayed:
            continue
        was, now = pair.at(name, now=False), pair.at(pair.ids[name], now=True)
        yield Change("flow", "moved", "step", was=was, now=now, before=was.number, after=now.number)


def _longest_rising(values: Sequence[int]) -> set[int]:
    """The places of a longest rising subsequence (Fredman 1975)."""
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for i, value in enumerate(values):
        at = bisect_left(tails, value)
        previous.append(ends[at - 1] if at else -1)
        tails[at : at + 1] = [value]
        ends[at : at + 1] = [i]
    found: set[int] = set()
    at = ends[-1] if ends else -1
    while at >= 0:
        found.add(at)
        at = previous[at]
    return found


def _within(pair: _Pair, old: str, new: str) -> Iterator[Change]:
    """What has changed in one step."""
    one, other = pair.before.steps[old], pair.after.steps[new]
    writes = _writes(one, pair) or _writes(other, pair)
    here = Change(
        "words", "changed", "field", was=pair.at(old, now=False), now=pair.at(new, now=True), writes=writes
    )
    was, now = _as_data(one), _as_data(other)
    for key in dict.fromkeys((*was, *now)):
        before, after = was.get(key), now.get(key)
        if key in ("next", "on_error"):
            yield from _ways(pair, here, key, before or [], after or [])
        elif key == "with":
            yield from _members(pair, here, before or {}, after or {})
        elif not pair.same(before, after):
            topic = "write" if writes and key in _OF_A_WRITE else _topic(key)
            yield replace(here, topic=topic, act=_act(before, after), name=key, before=before, after=after)


def _as_data(step: Step) -> dict[str, Any]:
    return cast("dict[str, Any]", _told(step))


def _act(before: Json, after: Json) -> Act:
    return "added" if before is None else "removed" if after is None else "changed"


def _topic(key: str) -> Topic:
    found: list[Topic] = [topic for topic, keys in _TOPICS.items() if key in keys]
    return found[0] if found else "data"


def _members(pair: _Pair, here: Change, was: Mapping[str, Json], now: Mapping[str, Json]) -> Iterator[Change]:
    """The bound arguments of a step."""
    topic: Topic = "write" if here.writes else "data"
    for name in dict.fromkeys((*was, *now)):
        act: Act = "added" if name not in was else "removed" if name not in now else "changed"
        before, after = was.get(name), now.get(name)
        if act != "changed" or not pair.same(before, after):
            yield replace(here, topic=topic, act=act, part="argument", name=name, before=before, after=after)
    common = [name for name in was if name in now]
    if common != [name for name in now if name in was]:
        yield replace(here, topic="words", act="reordered", part="argument", before=[*was], after=[*now])


def _ways(pair: _Pair, here: Change, key: str, was: list[Json], now: list[Json]) -> Iterator[Change]:
    topic: Topic = "write" if here.writes and key in _OF_A_WRITE else "flow"
    followed = [pair.follow(way) for way in was]
    for act, before, after in ways_differ(was, followed, now):
        yield replace(here, topic=topic, act=act, part="way", name=key, before=before, after=after)


def _inputs(pair: _Pair) -> Iterator[Change]:
    was = {
        name: item.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        for name, item in pair.before.inputs.items()
    }
    now = {
        name: item.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        for name, item in pair.after.inputs.items()
    }
    for name in dict.fromkeys((*was, *now)):
        before, after = was.get(name), now.get(name)
        if not pair.same(before, after):
            yield Change("data", _act(before, after), "input", name, before=before, after=after)
    common = [name for name in was if name in now]
    if common != [name for name in now if name in was]:
        yield Change("words", "reordered", "input", before=[*was], after=[*now])


def _heads(pair: _Pair) -> Iterator[Change]:
    """Everything of a procedure but its steps and inputs."""
    was, now = pair.before.to_data(), pair.after.to_data()
    listed = set(pair.before.permitted_tools()) != set(pair.after.permitted_tools())
    for key in dict.fromkeys((*was, *now)):
        before, after = was.get(key), now.get(key)
        if key in ("steps", "inputs") or (key == "tools" and listed) or pair.same(before, after):
            continue
        yield Change(_topic(key), _act(before, after), "procedure", key, before=before, after=after)
