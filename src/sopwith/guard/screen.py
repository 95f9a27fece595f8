"""Which requests are taken, and which answers and outputs leave: lengths, patterns, words, and a classifier."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from sopwith.errors import PolicyError, Text
from sopwith.guard.likeness import likeness
from sopwith.guard.policy_file import PolicyFile, compiled, open_policy
from sopwith.ir.approval import listed

MAX_LENGTH = 100_000
"""How many characters a request may have where a policy does not say."""

CLASSIFIER_SECONDS = 30.0
"""So long a classifier may take."""

Where = Literal["request", "output"]
_Texts = Annotated[tuple[str, ...], BeforeValidator(listed)]


class ScreenRule(BaseModel):
    """Texts in which one of the patterns or words is found are denied, or go to a person.

    `pattern` is a regular expression of Python or a list of them, `words` are texts as they stand; case does not
    matter, and full-width letters and invisible characters count as what they look like.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    id: str = Field(min_length=1)
    verdict: Literal["deny", "escalate"]
    pattern: _Texts = ()
    words: _Texts = ()

    @model_validator(mode="after")
    def _looks_for_something(self) -> Self:
        if not self.pattern and not self.words:
            raise ValueError(
                Text("'pattern' or 'words' is missing", "缺少“pattern”或“words”"),
                Text("say what to look for: words: [text]", "请写明要查找的内容：words: [文本]"),
            )
        return self


class OutputRules(BaseModel):
    """The `output` part of the `screen` section: rules for the final answer and the texts of the output."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    max_length: int | None = Field(default=None, ge=1, strict=True)
    rules: tuple[ScreenRule, ...] = ()


class ScreenRules(BaseModel):
    """The `screen` section of a policy file."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    max_length: int = Field(default=MAX_LENGTH, ge=1, strict=True)
    rules: tuple[ScreenRule, ...] = ()
    output: OutputRules = OutputRules()


class Screened(NamedTuple):
    """What is to become of a text, and the id of the rule that decided; None where it passes."""

    verdict: Literal["pass", "deny", "escalate"]
    rule: str | None


Classifier = Callable[[Where, str], Screened | Awaitable[Screened | None] | None]
"""Judges a text that no rule has met: a function (called in a thread) or a coroutine function. None lets it pass; what
is neither None nor a `Screened` does not."""

_PASSED = Screened("pass", None)
_FAILED = Screened("escalate", "classifier")
_VERDICTS = ("pass", "deny", "escalate")
_RESERVED = ("max_length", "classifier")


class Screen:
    """Ordered rules; the first that matches decides, then the classifier. By default only long requests are denied.

    Raises `PolicyError` for a pattern that is no regular expression, and for an id used twice.
    """

    def __init__(self, rules: ScreenRules | None = None, classifier: Classifier | None = None) -> None:
        self.rules = rules if rules is not None else ScreenRules()
        self._classifier = classifier
        self._patterns = {
            "request": _patterns(self.rules.rules),
            "output": _patterns(self.rules.output.rules),
        }
        self._lengths = {"request": self.rules.max_length, "output": self.rules.output.max_length}
        ids = [rule.id for rule in (*self.rules.rules, *self.rules.output.rules)]
        for name in ids:
            if ids.count(name) > 1 or name in _RESERVED:
                raise PolicyError(
                    Text(f"screen: the id '{name}' is taken", f"screen：编号“{name}”已被使用"),
                    Text("give each rule an id of its own", "请为每条规则取不同的编号"),
                )

    @classmethod
    def read(cls, source: str | Path, classifier: Classifier | None = None) -> Self:
        """The screen in a policy file, or in its text; as `Policy.read`."""
        return cls.of(open_policy(source), classifier)

    @classmethod
    def of(cls, file: PolicyFile, classifier: Classifier | None = None) -> Self:
        """The screen in a policy file that was read."""
        rules = file.read(ScreenRules, file.sections.get("screen", {}), ("screen",))
        for path, listed_rules in ((("screen",), rules.rules), (("screen", "output"), rules.output.rules)):
            for number, rule in enumerate(listed_rules):
                file.check_patterns(rule.pattern, (*path, "rules", number, "pattern"))
        try:
            return cls(rules, classifier)
        except PolicyError as error:
            file.refuse(("screen",), error.message, error.hint)

    @property
    def covers_output(self) -> bool:
        """Whether anything is to be judged in what leaves."""
        return self._classifier is not None or self.rules.output != OutputRules()

    def request(self, text: str) -> Screened:
        """Whether a request passes the rules."""
        return self._judge("request", text)

    def output(self, text: str) -> Screened:
        """Whether an answer, or a text of the output, passes the rules."""
        return self._judge("output", text)

    async def judge(self, where: Where, *texts: str) -> Screened:
        """Whether something passes that is one text or several: the rules for each and for all of them in lines, the
        length and the classifier for all. Where the classifier fails or takes too long, a person decides."""
        found = self._judge(where, *texts)
        if found.verdict != "pass" or self._classifier is None:
            return found
        try:
            async with asyncio.timeout(CLASSIFIER_SECONDS):
                given = await _said(self._classifier, where, "\n".join(texts))
        except Exception:
            return _FAILED
        if given is None:
            return _PASSED
        return given if isinstance(given, Screened) and given.verdict in _VERDICTS else _FAILED

    def _judge(self, where: Where, *texts: str) -> Screened:
        whole = "\n".join(texts)
        longest = self._lengths[where]
        if longest is not None and len(whole) > longest:
            return Screened("deny" if where == "request" else "escalate", "max_length")
        if self._patterns[where]:
            seen = dict.fromkeys(map(likeness, (*texts, whole)))
            for rule, patterns in self._patterns[where]:
                if any(pattern.search(text) for pattern in patterns for text in seen):
                    return Screened(rule.verdict, rule.id)
        return _PASSED


async def _said(classifier: Classifier, where: Where, text: str) -> object:
    """What the classifier says. A plain function has a thread, and is left there where it is too slow."""
    if inspect.iscoroutinefunction(classifier):
        return await classifier(where, text)
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()

    def settle(said: object, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(said)
        else:
            done.set_exception(RuntimeError(f"the classifier failed: {type(error).__name__}"))

    def work() -> None:
        said, error = None, None
        try:
            said = classifier(where, text)
        except BaseException as broken:
            error = broken
        with contextlib.suppress(RuntimeError):  # nobody waits any more, and the loop is closed
            loop.call_soon_threadsafe(settle, said, error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="sopwith-classifier", daemon=True).start()
    said = await done
    return await said if inspect.isawaitable(said) else said


def _patterns(rules: Sequence[ScreenRule]) -> list[tuple[ScreenRule, list[re.Pattern[str]]]]:
    return [
        (rule, [*map(compiled, rule.pattern), *(compiled(re.escape(likeness(word))) for word in rule.words)])
        for rule in rules
    ]
