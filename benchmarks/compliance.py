"""An independent judge of whether a run kept to its procedure.

It reads only the events of the run and the file of the procedure, with a YAML library and nothing of the engine: no
compiler, no state, no decision. What it does not judge is whether a branch was the right one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML


def read_steps(path: Path) -> tuple[str, dict[str, dict[str, Any]]]:
    """The start and the steps of the procedure in `path`, as plain data."""
    data = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    return data["start"], data["steps"]


def violations(path: Path, events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Everything in `events` (the JSON form of a log) that the procedure in `path` does not allow."""
    start, steps = read_steps(path)
    return _Judge(start, steps).judge(events)


def _targets(edges: Any) -> list[str]:
    """The steps that `next` or `on_error` may lead to."""
    if edges is None:
        return []
    if isinstance(edges, str):
        return [edges]
    return [edge.get("to", edge.get("otherwise")) for edge in edges]


class _Judge:
    """Walks a log once; `at` is the step that the run is at."""

    def __init__(self, start: str, steps: dict[str, dict[str, Any]]) -> None:
        self.start = start
        self.steps = steps
        self.at: str | None = None
        self.towards: str | None = start
        self.failed = False
        self.proposed = self.allowed = self.open = False
        self.calls = 0
        self.verified: bool | None = None
        self.ended = False
        self.found: list[str] = []

    def judge(self, events: Sequence[Mapping[str, Any]]) -> list[str]:
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
        return self.found

    def say(self, event: Mapping[str, Any], what: str) -> None:
        self.found.append(f"{event['seq']} {event['kind']} at {self.at}: {what}")

    def on_step_entered(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        step = event["step"].partition("#")[0]
        if step != self.towards:
            self.say(event, f"entered {step}, but the way led to {self.towards}")
        self.at, self.towards = step, None
        self.failed = self.proposed = self.allowed = self.open = False
        self.calls, self.verified = 0, None

    def on_call_proposed(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        bound = self.steps.get(self.at or "", {}).get("tool")
        if data["tool"] != bound:
            self.say(event, f"{data['tool']} is not the tool of the step ({bound})")
        self.proposed = True

    def on_call_judged(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        if not self.proposed:
            self.say(event, "judged before it was proposed")
        self.allowed = data["verdict"] == "allow"

    def on_call_started(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        if not self.allowed:
            self.say(event, "started without leave")
        if self.open or (self.calls and data.get("attempt", 1) == 1):
            self.say(event, "started twice")
        self.open = True

    def on_call_finished(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        if not self.open:
            self.say(event, "finished without a start")
        self.open = False
        self.calls += 0 if data.get("error") else 1

    def on_model_requested(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        step = self.steps.get(self.at or "", {})
        asked = {"arguments": "tool", "returns": "returns", "answer": "answer"}.get(data["purpose"])
        judges = any(isinstance(edge, dict) and "judge" in edge for edge in step.get("next") or [])
        if (asked is not None and asked not in step) or (data["purpose"] == "judge" and not judges):
            self.say(event, f"a model was asked for {data['purpose']}, which the step does not want")

    def on_check_ran(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        if data.get("scope", "step") == "step":
            self.verified = data["ok"]

    def on_step_failed(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.failed = True

    def on_edge_taken(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        step = self.steps.get(self.at or "", {})
        legal = _targets(step.get("on_error") if self.failed else step.get("next"))
        if data["to"] not in legal:
            self.say(event, f"went to {data['to']}, not to one of {legal}")
        if not self.failed:
            self._work_is_done(event, step)
        self.towards = data["to"]

    def _work_is_done(self, event: Mapping[str, Any], step: Mapping[str, Any]) -> None:
        if "tool" in step and self.calls != 1:
            self.say(event, f"left after {self.calls} calls that succeeded")
        if "verify" in step and self.verified is not True:
            self.say(event, "left without its check")

    def on_run_finished(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.ended = True
        step = self.steps.get(self.at or "", {})
        kind = data["outcome"]["kind"]
        if kind == "completed":
            if step.get("end") != "complete":
                self.say(event, "completed at a step that is not such an end")
            self._work_is_done(event, step)
        if kind == "escalated" and self.at is not None and step.get("end") != "escalate" and not self.failed:
            self.say(event, "escalated at a step that neither ends so nor failed")
