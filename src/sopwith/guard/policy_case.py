"""Cases that a policy is held against: a call, and what is to become of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sopwith.errors import Text
from sopwith.guard.policy_file import PolicyFile, open_data
from sopwith.ir.approval import listed
from sopwith.ir.event import Verdict
from sopwith.ir.tool import Effect
from sopwith.ir.value import Json


class PolicyCase(BaseModel):
    """One call, the verdict that is expected, and the rule that is to decide (None: any).

    `effect` is needed for a tool that is not connected.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    tool: str = Field(min_length=1)
    arguments: dict[str, Json] = Field(default_factory=dict)
    principal: str = "anonymous"
    roles: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()
    step: str = ""
    effect: Effect | None = None
    expect: Verdict
    rule: str | None = None


def read_cases(source: str | Path) -> tuple[PolicyFile, list[PolicyCase]]:
    """The cases in a YAML file, which is a list of them, and the file for what is to be said about one.

    Raises `PolicyError` with file, line and column.
    """
    file = open_data(source)
    if not isinstance(file.data, list):
        hint = Text(
            "write a list of cases: - {tool: …, arguments: {…}, principal: …, expect: allow}",
            "请写用例列表：- {tool: …, arguments: {…}, principal: …, expect: allow}",
        )
        file.refuse((), Text("this is not a list", "这不是列表"), hint)
    items = cast("list[Json]", file.data)
    return file, [file.read(PolicyCase, item, (index,)) for index, item in enumerate(items)]
