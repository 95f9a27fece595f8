"""Which requests are taken at all: a length, and patterns that deny one or give it to a person."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sopwith.errors import PolicyError, Text
from sopwith.guard.policy_file import PolicyFile, open_policy

MAX_LENGTH = 100_000
"""How many characters a request may have where a policy does not say."""

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class ScreenRule(BaseModel):
    """Requests in which one of the patterns is found are denied, or go to a person.

    `pattern` is a regular expression of Python or a list of them; case does not matter, and full-width
    letters and invisible characters count as what they look like.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    verdict: Literal["deny", "escalate"]
    pattern: Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1)]


class ScreenRules(BaseModel):
    """The `screen` section of a policy file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_length: int = Field(default=MAX_LENGTH, ge=1, strict=True)
    rules: tuple[ScreenRule, ...] = ()


class Screened(NamedTuple):
    """What is to become of a request, and the id of the rule that decided; None where it passes."""

    verdict: Literal["pass", "deny", "escalate"]
    rule: str | None


_PASSED = Screened("pass", None)


class Screen:
    """Ordered rules for requests; the first that matches decides. By default only the length is limited.

    Raises `PolicyError` for a pattern that is no regular expression, and for an id used twice.
    """

    def __init__(self, rules: ScreenRules | None = None) -> None:
        self.rules = rules if rules is not None else ScreenRules()
        self._patterns = [
            (rule, [_pattern(rule.id, text) for text in rule.pattern]) for rule in self.rules.rules
        ]
        ids = [rule.id for rule in self.rules.rules]
        for name in ids:
            if ids.count(name) > 1 or name == "max_length":
                raise PolicyError(
                    Text(f"screen: the id '{name}' is taken", f"screen：编号“{name}”已被使用"),
                    Text("give each rule an id of its own", "请为每条规则取不同的编号"),
                )

    @classmethod
    def read(cls, source: str | Path) -> Self:
        """The screen in a policy file, or in its text; as `Policy.read`."""
        return cls.of(open_policy(source))

    @classmethod
    def of(cls, file: PolicyFile) -> Self:
        """The screen in a policy file that was read."""
        rules = file.read(ScreenRules, file.sections.get("screen", {}), ("screen",))
        try:
            return cls(rules)
        except PolicyError as error:
            file.refuse(("screen",), error.message, error.hint)

    def request(self, text: str) -> Screened:
        """Whether a request passes."""
        if len(text) > self.rules.max_length:
            return Screened("deny", "max_length")
        if self._patterns:
            plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
            for rule, patterns in self._patterns:
                if any(pattern.search(plain) for pattern in patterns):
                    return Screened(rule.verdict, rule.id)
        return _PASSED


def _pattern(rule: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise PolicyError(
            Text(f"the rule '{rule}': {error}", f"规则“{rule}”：{error}"),
            Text("write a regular expression of Python", "请使用 Python 正则表达式"),
        ) from None
