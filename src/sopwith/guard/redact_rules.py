"""What else counts as secret, by the policy: names, the values of inputs, and patterns with a kind of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sopwith.guard.policy_file import PolicyFile, compiled, open_policy
from sopwith.guard.secret import SecretRule, name_rule
from sopwith.ir.approval import listed
from sopwith.ir.procedure import Input
from sopwith.ir.value import Json

Texts = Annotated[tuple[Annotated[str, Field(min_length=2)], ...], BeforeValidator(listed)]


class RedactRule(BaseModel):
    """Texts that match one of the patterns are secret; placeholders show the kind: `<employee_no:1>`.

    `pattern` is a regular expression of Python or a list of them; case does not matter. The group `secret`, where
    there is one, is what is replaced.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    kind: str = Field(pattern=r"^[a-z][a-z_]{0,19}$")
    pattern: Annotated[tuple[str, ...], BeforeValidator(listed), Field(min_length=1)]


class RedactRules(BaseModel):
    """The `redact` section of a policy file. What is always covered needs no rule.

    `names` are people (or anything else) by their names; `inputs` are inputs whose values are such names, where they
    are passed or are facts of the run; `principal` says that the id of whom a run is for is one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    names: Texts = ()
    inputs: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()
    principal: bool = Field(default=False, strict=True)
    rules: tuple[RedactRule, ...] = ()

    @classmethod
    def read(cls, source: str | Path) -> Self:
        """The rules in a policy file, or in its text; as `Policy.read`."""
        return cls.of(open_policy(source))

    @classmethod
    def of(cls, file: PolicyFile) -> Self:
        """The rules in a policy file that was read."""
        rules = file.read(cls, file.sections.get("redact", {}), ("redact",))
        for number, rule in enumerate(rules.rules):
            file.check_patterns(rule.pattern, ("redact", "rules", number, "pattern"))
        return rules

    def secret_rules(self) -> tuple[SecretRule, ...]:
        """The rules as a `Redactor` takes them. Raises `PolicyError` for a pattern that is no regular expression."""
        named = name_rule(self.names)
        found = [SecretRule(rule.kind, compiled(text)) for rule in self.rules for text in rule.pattern]
        return tuple(found) if named is None else (named, *found)

    def names_in(self, inputs: Mapping[str, Input], principal: str, given: Mapping[str, Json]) -> list[str]:
        """The names that one run brings with it: those of `principal` and of the `given` inputs, as true values."""
        found = [principal] if self.principal else []
        for name in self.inputs:
            item = inputs.get(name)
            if item is not None and item.from_ == "run.principal.id":
                found.append(principal)
            elif item is not None and name in given:
                found += _texts(given[name])
        return found


def _texts(value: Json) -> list[str]:
    """Every text and number in a value, as text."""
    if isinstance(value, dict):
        return [text for item in cast("dict[str, Json]", value).values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in cast("list[Json]", value) for text in _texts(item)]
    return [] if value is None or isinstance(value, bool) else [re.sub(r"\.0\Z", "", str(value))]
