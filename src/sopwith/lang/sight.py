"""What a model is shown at the steps of a drawing or a draft, whose author says what is done and not what is seen."""

from __future__ import annotations

from sopwith.ir.procedure import Input, Procedure, Step
from sopwith.lang.check.flow import ERROR, flow
from sopwith.lang.graph import graph
from sopwith.lang.request import REQUEST

_SHOWN = "inputs.request"


def with_sight(procedure: Procedure) -> Procedure:
    """`procedure`, where each step that asks a model and says no `uses` shows it what surely has a value there.

    That is what the steps before it gave, or the request of the run where none gave anything.
    """
    blind = [name for name, step in procedure.steps.items() if _is_blind(step)]
    if not blind:
        return procedure
    found = flow(procedure, graph(procedure))
    steps = dict(procedure.steps)
    for name in blind:
        known = found.before.get(name)
        names = () if known is None else tuple(n for n in found.names_at(known) if n != ERROR)
        steps[name] = steps[name].model_copy(update={"uses": names or (_SHOWN,)})
    inputs = dict(procedure.inputs)
    if any(_SHOWN in (step.uses or ()) for step in steps.values()):
        inputs["request"] = Input.model_validate({"schema": {"type": "string"}, "from": REQUEST})
    return procedure.model_copy(update={"steps": steps, "inputs": inputs})


def _is_blind(step: Step) -> bool:
    if step.uses is not None or step.with_ or "${" in (step.do or ""):
        return False
    decides = any(edge.judge is not None for edge in (*step.next, *step.on_error))
    return step.work in ("tool", "returns") or (decides and step.writes is None)
