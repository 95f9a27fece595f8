"""Sopwith: make any language model execute an enterprise's procedures exactly."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sopwith.errors import ProcedureError, SopwithError, UserError
    from sopwith.guard.permit import Policy, Rule
    from sopwith.ir.diagnostic import Diagnostic
    from sopwith.ir.event import Event, Outcome, Principal
    from sopwith.ir.procedure import Edge, Grip, Procedure, Step
    from sopwith.ir.tool import Effect, ToolSpec
    from sopwith.ir.usage import Budget
    from sopwith.lang.check import check
    from sopwith.lang.read import read
    from sopwith.log.memory import MemoryLog
    from sopwith.log.sqlite import SqliteLog
    from sopwith.models.connect import connect
    from sopwith.run.engine import Engine
    from sopwith.tools.declaration import ToolError, tool

__version__ = "0.1.0"

_HOMES = {
    "Budget": "sopwith.ir.usage",
    "Diagnostic": "sopwith.ir.diagnostic",
    "Edge": "sopwith.ir.procedure",
    "Effect": "sopwith.ir.tool",
    "Engine": "sopwith.run.engine",
    "Event": "sopwith.ir.event",
    "Grip": "sopwith.ir.procedure",
    "MemoryLog": "sopwith.log.memory",
    "Outcome": "sopwith.ir.event",
    "Policy": "sopwith.guard.permit",
    "Principal": "sopwith.ir.event",
    "Procedure": "sopwith.ir.procedure",
    "ProcedureError": "sopwith.errors",
    "Rule": "sopwith.guard.permit",
    "SopwithError": "sopwith.errors",
    "SqliteLog": "sopwith.log.sqlite",
    "Step": "sopwith.ir.procedure",
    "ToolError": "sopwith.tools.declaration",
    "ToolSpec": "sopwith.ir.tool",
    "UserError": "sopwith.errors",
    "check": "sopwith.lang.check",
    "connect": "sopwith.models.connect",
    "read": "sopwith.lang.read",
    "tool": "sopwith.tools.declaration",
}

__all__ = [
    "Budget",
    "Diagnostic",
    "Edge",
    "Effect",
    "Engine",
    "Event",
    "Grip",
    "MemoryLog",
    "Outcome",
    "Policy",
    "Principal",
    "Procedure",
    "ProcedureError",
    "Rule",
    "SopwithError",
    "SqliteLog",
    "Step",
    "ToolError",
    "ToolSpec",
    "UserError",
    "check",
    "connect",
    "read",
    "tool",
]


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for, so that `import sopwith` costs next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sopwith' has no attribute '{name}'")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
