"""An independent judge of whether a run kept to its procedure.

It reads only the events of the run and the file of the procedure, with a YAML library, the CEL library and nothing of
the engine: no compiler, no state, no decision. Bound arguments, the conditions of edges, checks and results are
computed again from the values in the log, where the log has them whole. A run that is cut off has not kept to its
procedure. What is not judged is whether the model chose the right branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from benchmarks.expressions import Broken, Names, Unknown, hides, same

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a log does that its procedure does not allow, how many steps it entered, and how many expressions could and
    could not be computed again."""

    violations: tuple[str, ...]
    steps: int
    recomputed: int
    unknown: int


def read_procedure(path: Path) -> dict[str, Any]:
    """The procedure in `path`, as plain data."""
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def judge(path: Path, events: Sequence[Data]) -> Judgement:
    """`events` (the JSON form of a log) beside the procedure in `path`."""
    return _Judge(read_procedure(path)).judge(events)


def violations(path: Path, events: Sequence[Data]) -> list[str]:
    """Everything in `events` that the procedure in `path` does not allow."""
    return list(judge(path, events).violations)


class _Way(NamedTuple):
    """One edge: where it leads, what decides (`always`, `when`, `judge`, `otherwise`), and its words."""

    to: str
    kind: str
    words: str | None


def _ways(edges: Any) -> list[_Way]:
    if edges is None:
        return []
    if isinstance(edges, str):
        return [_Way(edges, "always", None)]
    return [_way(edge) for edge in edges]


def _way(edge: Data) -> _Way:
    if "otherwise" in edge:
        named = edge["otherwise"]
        return _Way(named if isinstance(named, str) else edge["to"], "otherwise", None)
    kind = next((kind for kind in ("when", "judge") if kind in edge), "always")
    return _Way(edge["to"], kind, edge.get(kind))


class _Judge:
    """Walks a log once; `at` is the step that the run is at."""

    def __init__(self, procedure: dict[str, Any]) -> None:
        self.steps: dict[str, dict[str, Any]] = procedure["steps"]
        self.names = Names(procedure.get("inputs") or {})
        self.at: str | None = None
        self.towards: str | None = procedure["start"]
        self.screened = self.kept_back = "pass"
        self.unfit = self.timed_out = self.ended = False
        self.found: list[str] = []
        self.entered = self.recomputed = self.unknown = 0
        self._begin_step()

    def _begin_step(self) -> None:
        self.error: Data | None = None
        self.proposed = self.allowed = self.open = self.refused = self.lost = False
        self.calls = 0
        self.verified: bool | None = None
        self.confidence: float | None = None

    @property
    def step(self) -> Data:
        return self.steps.get(self.at or "", {})

    def judge(self, events: Sequence[Data]) -> Judgement:
        for number, event in enumerate(events, 1):
            if event["seq"] != number:
                self.say(event, f"seq {event['seq']} where {number} comes next")
            if self.ended:
                self.say(event, "something happened after the end")
            handler = getattr(self, "on_" + event["kind"].replace(".", "_"), None)
            if handler is not None:
                handler(event, event["data"])
        if not self.ended:
            self.found.append("the run has no end")
        return Judgement(tuple(self.found), self.entered, self.recomputed, self.unknown)

    def say(self, event: Data, what: str) -> None:
        self.found.append(f"{event['seq']} {event['kind']} at {self.at}: {what}")

    def on_run_started(self, event: Data, data: Data) -> None:
        self.names.start(event["run"], data)

    def on_request_screened(self, event: Data, data: Data) -> None:
        if data.get("where") == "output":
            self.kept_back = data.get("verdict", "pass")
        else:
            self.screened = data.get("verdict", "pass")

    def on_inputs_bound(self, event: Data, data: Data) -> None:
        self.names.pass_inputs(data.get("values", {}))

    def on_step_entered(self, event: Data, data: Data) -> None:
        step = event["step"].partition("#")[0]
        if step != self.towards:
            self.say(event, f"entered {step}, but the way led to {self.towards}")
        if self.screened != "pass":
            self.say(event, f"entered {step}, although the screen said {self.screened}")
        self.at, self.towards = step, None
        self.entered += 1
        self._begin_step()
        self.names.forget(step)

    def on_call_proposed(self, event: Data, data: Data) -> None:
        step = self.step
        if data["tool"] != step.get("tool"):
            self.say(event, f"{data['tool']} is not the tool of the step ({step.get('tool')})")
        self.proposed = True
        bound, given = step.get("with") or {}, data.get("arguments", {})
        written = given.keys() - set(data.get("defaults", ()))
        if data.get("by", "bound") == "bound" and written != bound.keys():
            self.say(event, f"arguments {sorted(given)}, but the file binds {sorted(bound)}")
        for name, template in bound.items():
            self._same(event, f"argument {name}", given.get(name), template)

    def _same(self, event: Data, what: str, given: Any, template: Any) -> None:
        """Hold `given` to what `template` comes to, where the log tells."""
        try:
            wanted = self.names.render(template)
        except Unknown:
            self.unknown += 1
            return
        except Broken as error:
            self.say(event, f"{what} cannot be computed: {error}")
            return
        self.recomputed += 1
        if same(given, wanted):
            return
        if hides(given) and not hides(wanted):  # a key such as `password` hides any value
            self.unknown += 1
            return
        self.say(event, f"{what} is {given!r}, the file makes it {wanted!r}")

    def _truth(self, event: Data, source: str) -> bool | None:
        """Whether an expression is true; None where the log does not tell."""
        try:
            value = self.names.value(str(source))
        except Unknown:
            self.unknown += 1
            return None
        except Broken as error:
            self.say(event, f"cannot be computed: {error}")
            return None
        self.recomputed += 1
        return value is True

    def on_call_judged(self, event: Data, data: Data) -> None:
        if not self.proposed:
            self.say(event, "judged before it was proposed")
        self.allowed = data["verdict"] == "allow"
        self.refused = data["verdict"] == "deny"

    def on_human_answered(self, event: Data, data: Data) -> None:
        if self.proposed:  # the answer is about leave to call
            self.allowed = data.get("answer") is True
            self.refused = not self.allowed

    def on_call_started(self, event: Data, data: Data) -> None:
        if not self.allowed:
            self.say(event, "started without leave")
        if self.open or (self.calls and data.get("attempt", 1) == 1):
            self.say(event, "started twice")
        self.open = True

    def on_call_finished(self, event: Data, data: Data) -> None:
        if not self.open:
            self.say(event, "finished without a start")
        self.open = False
        self.lost = bool(data.get("unknown"))
        if not self.lost and not data.get("error"):
            self.calls += 1
            self._store(event, data)

    def on_value_stored(self, event: Data, data: Data) -> None:
        self._store(event, data)

    def _store(self, event: Data, data: Data) -> None:
        wanted = self.step.get("as", self.at)
        if data.get("name") != wanted:
            self.say(event, f"stored as {data.get('name')}, not as {wanted}")
        self.names.bind(self.at or "", {"name": wanted, **data})

    def on_model_requested(self, event: Data, data: Data) -> None:
        step = self.step
        asked = {"arguments": "tool", "returns": "returns", "answer": "answer"}.get(data["purpose"])
        judges = any(way.kind == "judge" for way in _ways(step.get("next")))
        if (asked is not None and asked not in step) or (data["purpose"] == "judge" and not judges):
            self.say(event, f"a model was asked for {data['purpose']}, which the step does not want")

    def on_model_replied(self, event: Data, data: Data) -> None:
        self.confidence = data.get("confidence")

    def on_reply_rejected(self, event: Data, data: Data) -> None:
        if data.get("final"):
            self._fail(data["error"])

    def on_step_failed(self, event: Data, data: Data) -> None:
        self._fail(data["error"])

    def _fail(self, error: Data) -> None:
        self.error = error
        self.names.fail(error)
        self.names.forget(self.at or "")

    def on_timeout_passed(self, event: Data, data: Data) -> None:
        self.timed_out = self.timed_out or data["scope"] == "phase"

    def on_check_ran(self, event: Data, data: Data) -> None:
        if data.get("scope", "step") != "step":
            self.unfit = self.unfit or not data["ok"]
            return
        self.verified = data["ok"]
        true = self._truth(event, self.step.get("verify", "false"))
        if true is not None and true != data["ok"]:
            self.say(event, f"the check gave {data['ok']}, but is {true}")

    def on_edge_taken(self, event: Data, data: Data) -> None:
        step, failed = self.step, self.error is not None
        ways = _ways(step.get("on_error" if failed else "next"))
        if data["to"] not in [way.to for way in ways]:
            self.say(event, f"went to {data['to']}, not to one of {[way.to for way in ways]}")
        elif (data.get("by") == "error") != failed:
            self.say(event, f"went on by {data.get('by', 'always')}, failed: {failed}")
        else:
            self._right_way(event, data, ways)
        if not failed:
            self._work_is_done(event)
        self.towards = data["to"]

    def _right_way(self, event: Data, data: Data, ways: Sequence[_Way]) -> None:
        """The first way that is open is the one to take; a judged one only where a model chose it."""
        by, least = data.get("by", "always"), self.step.get("min_confidence")
        if by == "otherwise" and "returns" in self.step and (self.confidence or 0) < (least or 0):
            return  # a choice that is too doubtful goes there past every condition
        if by == "judge" and (data.get("confidence") or 0) < (least or 0):
            self.say(event, f"judged with a confidence of {data.get('confidence')}, below {least}")
        for way in ways:
            taken = way.to == data["to"] and (
                by == "error" or (way.kind == by and way.words == data.get("label"))
            )
            true = self._truth(event, way.words or "") if way.kind == "when" else None
            if taken and true is False:
                self.say(event, f"went to {way.to}, but `{way.words}` is not true")
            elif true is True and not taken:
                self.say(event, f"went to {data['to']}, but `{way.words}` leads to {way.to}")
            elif way.kind in ("always", "otherwise") and not taken:
                self.say(event, f"went to {data['to']} past the way to {way.to}")
            if taken or true is True or way.kind in ("always", "otherwise"):
                return
        self.say(event, f"went to {data['to']} by {by}, which the file does not have")

    def _work_is_done(self, event: Data) -> None:
        if "tool" in self.step and self.calls != 1:
            self.say(event, f"left after {self.calls} calls that succeeded")
        if "verify" in self.step and self.verified is not True:
            self.say(event, "left without its check")

    def on_run_finished(self, event: Data, data: Data) -> None:
        self.ended = True
        outcome = data["outcome"]
        ends = {"completed": self._completed, "escalated": self._escalated, "denied": self._denied}
        end = ends.get(outcome["kind"])
        if end is None:
            self.say(event, f"cut off: {outcome['kind']} is no end of a procedure")
        else:
            end(event, outcome)

    def _completed(self, event: Data, outcome: Data) -> None:
        if self.step.get("end") != "complete" or self.error is not None or self.unfit:
            self.say(event, "completed at a step that is not such an end")
        self._work_is_done(event)
        if self.step.get("result"):
            self._same(event, "the output", outcome.get("output"), self.step["result"])

    def _escalated(self, event: Data, outcome: Data) -> None:
        if self.timed_out or self.unfit or self.lost or self.kept_back == "escalate":
            return
        if self.at is None:
            if self.screened != "escalate" and self.error is None:
                self.say(event, "escalated before the first step without a reason")
        elif self.error is not None:
            if self.error.get("code") != "visits" and self._has_way(event):
                self.say(event, "escalated, although the step has a way on for its error")
        elif self.step.get("end") == "escalate":
            self._work_is_done(event)
        else:
            self.say(event, "escalated at a step that neither ends so nor failed")

    def _denied(self, event: Data, outcome: Data) -> None:
        if self.kept_back == "deny":
            return
        if not (self.screened == "deny" if self.at is None else self.refused):
            self.say(event, "denied, although nothing was refused")
        elif self.at is not None and self._has_way(event):
            self.say(event, "denied, although the step has a way on for its error")

    def _has_way(self, event: Data) -> bool:
        """Whether `on_error` certainly leads on."""
        ways = _ways(self.step.get("on_error"))
        return any(way.kind != "when" or self._truth(event, way.words or "") is True for way in ways)
