"""A project of an office with procedures that need no model, and clients of MCP that answer for its people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types

LEAVE = """
schema: sopwith/procedure/1
id: leave
name: Ask for leave
description: Files a request for leave; does not cancel one
examples: [I need two days off]
tags: [hr]
inputs:
  user: {type: string, from: run.principal.id}
  days: {type: integer, minimum: 1, maximum: 30}
output:
  type: object
  required: [number]
  properties:
    number: {type: string}
start: confirm
steps:
  confirm:
    ask: Shall ${inputs.days} days of leave be filed?
    returns: {type: boolean}
    as: agreed
    next:
      - {to: file, when: agreed}
      - {otherwise: person}
  file:
    name: File the request
    tool: hr.file
    with: {user: "${inputs.user}", days: "${inputs.days}"}
    as: filed
    verify: filed.number != ''
    next: done
  done:
    end: complete
    result: {number: "${filed.number}"}
  person:
    end: escalate
"""

BADGE = """
schema: sopwith/procedure/1
id: badge
name: Give a badge
description: Gives somebody a badge
inputs:
  to: {type: string}
output:
  type: object
  required: [number]
  properties:
    number: {type: string}
start: give
steps:
  give:
    tool: hr.badge
    with: {to: "${inputs.to}"}
    as: badge
    verify: badge.number != ''
    next: done
  done:
    end: complete
    result: {number: "${badge.number}"}
"""

LOOK = """
schema: sopwith/procedure/1
id: look
name: Look somebody up
description: Says in which room somebody sits
inputs:
  who: {type: string}
output: {$ref: "#/$defs/room", $defs: {room: {type: object, properties: {room: {type: string}}}}}
start: find
steps:
  find:
    tool: hr.room
    with: {who: "${inputs.who}"}
    as: found
    on_error: [{otherwise: person}]
    next: done
  done:
    end: complete
    result: {room: "${found.room}"}
  person:
    end: escalate
"""

SLOW = """
schema: sopwith/procedure/1
id: slow
name: Wait for the archive
description: Waits until the archive answers
start: first
steps:
  first:
    name: Ask the archive
    tool: hr.archive
    as: answer
    next: done
  done:
    end: complete
"""

BROKEN = """
schema: sopwith/procedure/1
id: broken
name: Broken
start: first
steps:
  first:
    tool: hr.nowhere
    next: done
  done:
    end: complete
"""

TOOLS = '''
import time
from pathlib import Path

from typing_extensions import TypedDict

from sopwith.tools import ToolError, tool

HERE = Path(__file__).parent


class Numbered(TypedDict):
    number: str


class Room(TypedDict):
    room: str


def note(line):
    with (HERE / "acts.txt").open("a", encoding="utf-8") as file:
        file.write(line + "\\n")


@tool(name="hr.file", effect="write")
def file(user: str, days: int) -> Numbered:
    """File a request for leave."""
    note(f"leave {user} {days}")
    print("a tool that prints does not disturb the protocol")
    return {"number": "L-1"}


@tool(name="hr.badge", effect="write")
def badge(to: str) -> Numbered:
    """Give a badge."""
    note(f"badge {to}")
    return {"number": "B-1"}


@tool(name="hr.room")
def room(who: str) -> Room:
    """Find a room."""
    if who == "nobody":
        raise ToolError("not_found", "nobody of this name works here")
    return {"room": "R 13800138000" if who == "phone" else "R 101"}


@tool(name="hr.archive")
def archive() -> str:
    """Ask the archive."""
    note("archive asked")
    while not (HERE / "answer.txt").exists():
        time.sleep(0.01)
    return "here"
'''

POLICY = """
rules:
  - {id: leave, verdict: allow, tool: hr.file}
  - {id: badge, verdict: ask, tool: hr.badge, approval: {roles: [boss]}}
people:
  bea: [boss]
"""

SETTINGS = """
principal = "ann"
"""


def lay_out(folder: Path) -> Path:
    """The project in `folder`."""
    texts = {
        "leave.yaml": LEAVE,
        "badge.yaml": BADGE,
        "look.yaml": LOOK,
        "slow.yaml": SLOW,
        "tools.py": TOOLS,
        "policy.yaml": POLICY,
        "sopwith.toml": SETTINGS,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def acts(folder: Path) -> list[str]:
    """What the tools have done."""
    file = folder / "acts.txt"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


class Person:
    """Who sits at a client: gives the answers in turn, and remembers what was asked."""

    def __init__(self, *answers: dict[str, Any] | str) -> None:
        self.answers = list(answers)
        self.asked: list[types.ElicitRequestFormParams] = []

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        """An answer to a question: the content of the form, or `decline` or `cancel`."""
        self.asked.append(params)
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            return types.ElicitResult(action=answer)
        return types.ElicitResult(action="accept", content=answer)


def text_of(result: Any) -> str:
    """What a result says in words."""
    return "\n".join(part.text for part in result.content)


Answering = Callable[..., Any]
