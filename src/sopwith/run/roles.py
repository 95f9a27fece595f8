"""The roles of models that a procedure needs, and whether each has a model, before anything runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sopwith.ir.procedure import Grip
from sopwith.lang.machine import Machine, Node
from sopwith.run.asking import judges_of, purpose_of
from sopwith.run.connected import ConnectedModels, Where, role_of


def roles_of(node: Node) -> Iterator[str]:
    """The roles that a model is asked in at a step: for its work, and for the way on."""
    working = node.working
    purpose = purpose_of(working)
    if purpose is not None:
        choice = purpose == "returns" and bool(working.choices or _made_choice(working))
        yield role_of(purpose, choice=choice)
    if judges_of(node):
        picks = node.grip is Grip.BOUNDED and len(node.edges) > 1
        yield role_of("next", choice=False) if picks else role_of("judge", choice=True)


def asks_for_inputs(machine: Machine, given: Collection[str]) -> bool:
    """Whether a model has to find inputs, those that are `given` aside."""
    inputs = machine.procedure.inputs
    return any(item.from_ is None and name not in given for name, item in inputs.items())


def hold_to_roles(
    models: ConnectedModels, machine: Machine, given: Collection[str], where: Where | None = None
) -> None:
    """Refuse to run a machine that asks a model in a role which nobody has. Raises `UserError` that names the step, its
    role and the settings, and the step's place `where` that is known."""
    if models.default is not None:
        return
    if asks_for_inputs(machine, given):
        models.hold_role(machine.procedure.model, role_of("inputs", choice=False), "inputs: ")
    for step, node in machine.nodes.items():
        for role in roles_of(node):
            head = "" if where is None or step not in machine.procedure.steps else f"{where(step)}: "
            models.hold_role(node.step.model, role, f"{head}steps.{step}: ")


def _made_choice(node: Node) -> bool:
    return any(not dynamic.path for dynamic in node.dynamic_enums)
