"""Placeholders in the place of secrets and personal data, and the way back.

`redact` is for all that comes from outside: requests, arguments, results, answers, errors. Text in it that
only looks like a placeholder is replaced itself (`<literal:1>`), so that nobody who writes `<phone:1>` gets
a number. `redact_reply` is for what a model wrote: it has seen placeholders, and those issued in this run
are kept.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TypeGuard, cast

from sopwith.errors import PolicyError, Text, ValueErased
from sopwith.guard.secret import (
    DEFAULT_RULES,
    DIGIT_RULES,
    SecretRule,
    Span,
    find,
    is_telling,
    may_hold_secrets,
    merge,
    name_rule,
    text_rule,
)
from sopwith.guard.vault import Secret, Vault
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json

_PLACEHOLDER = re.compile(r"<[a-z][a-z_]{0,19}:[0-9]{1,12}>")
_BY_LOOKS = frozenset({"literal", "phone", "id", "card", "email"})
"""Kinds that are found wherever they stand, by what they look like: nobody has to learn them."""
_SHORT = 64
_MOST = 4096
_ROUNDS = 8
_SMALLEST = 10**10
_LARGEST = 10**19
_SECRET_NAME = re.compile(
    r"(?:pass(?:word|wd|phrase|code)s?|pwd|secrets?|token|credentials?|authorization|密码|口令|密钥|秘钥"
    r"|(?:api|access|account|private|secret|signing|encryption)[_\-. ]?keys?)"
    r"(?:[_\-. ]?(?:confirm(?:ation)?|again|repeat|hash|value))?[_\-. ]?[0-9]{0,3}\Z",
    re.IGNORECASE,
)
"""What a name ends with whose value is a secret: `password`, `userPassword`, `db-password-2`, `api_key`."""

_Found = dict[Secret, str]


class Redactor:
    """Replaces secrets in the values of one run, and puts them back. The same secret has the same
    placeholder.

    `rules` find more than what is always covered: `DEFAULT_RULES`, phone, identity and card numbers, and all that
    stands under a key such as `password` or `userPassword`. What was found to be a password once is one from then on,
    wherever it stands, where it is long enough to tell.
    """

    def __init__(self, vault: Vault, run: str, rules: Sequence[SecretRule] = ()) -> None:
        self._vault = vault
        self._run = run
        self._more = tuple(rules)
        self._rules = (*self._more, *DEFAULT_RULES)
        self._numbers: dict[float, str] = {}
        self._learnt: set[str] = set()
        self._known: _Found = {}
        self._values: dict[str, Json] = {}
        self._clean: set[str] = set()

    def learn(self, names: Iterable[str]) -> None:
        """From now on these texts are secrets too, of the kind `name`; placeholders among them are left out."""
        names = [name for name in names if not _PLACEHOLDER.search(name)]
        rule = name_rule(names)
        self._numbers |= {abs(number): "name" for name in names if (number := _number_in(name)) is not None}
        if rule is not None:
            self._take_rules([rule])

    def learn_secrets(self, secrets: Iterable[Secret]) -> None:
        """From now on the texts and numbers of these secrets are secret wherever they stand, under their kind."""
        rules: list[SecretRule] = []
        names: list[str] = []
        for kind, text in ((secret.kind, _text_of(secret)) for secret in secrets):
            if text is None or kind in _BY_LOOKS or text in self._learnt:
                continue
            self._learnt.add(text)
            if kind == "name":
                names.append(text)
            elif (rule := text_rule(text, kind)) is not None:
                rules.append(rule)
                if (number := _number_in(text)) is not None:
                    self._numbers[abs(number)] = kind
        if names:
            self.learn(names)
        if rules:
            self._take_rules(rules)

    def recall(self) -> None:
        """Learn again what this run has learnt before, from the vault."""
        known = self._vault.known(self._run)
        self.learn_secrets(one for one in known if one.kind == "name" or _is_telling(one))

    def _take_rules(self, rules: Sequence[SecretRule]) -> None:
        self._more = (*rules, *self._more)
        self._rules = (*rules, *self._rules)
        self._clean.clear()

    def redact(self, value: Json) -> Json:
        """`value` with placeholders; the same object where it holds no secret. Keys of objects are
        covered.
        """
        known = -1
        while known < len(self._learnt):  # what is learnt here may stand elsewhere in the same value
            known = len(self._learnt)
            found: list[Secret] = []
            self._search(value, found)
            if not found:
                return value
            self._keep(found)
        return self._replace(value)

    def hide(self, value: Json) -> Json:
        """`value` with a placeholder for every text, number and truth value in it, whatever it looks like."""
        if isinstance(value, dict):
            items = cast("dict[str, Json]", value).items()
            return {str(self.redact(key)): self.hide(item) for key, item in items}
        if isinstance(value, list | tuple):
            return [self.hide(item) for item in cast("list[Json]", value)]
        if value is None or value == "":
            return value
        secret = Secret("name", json.dumps(value))
        self._keep([secret])
        return self._known[secret]

    def redact_reply(self, text: str) -> str:
        """What a model wrote, with placeholders; those that this run has issued stay as they are."""
        if "<" not in text:
            return self.redact(text)
        parts: list[str] = []
        last = 0
        for match in _PLACEHOLDER.finditer(text):
            if self._is_issued(match[0]):
                parts += (self.redact(text[last : match.start()]), match[0])
                last = match.end()
        return "".join((*parts, self.redact(text[last:]))) if parts else self.redact(text)

    def redact_error(self, error: ErrorData, mixed: bool = False) -> ErrorData:
        """An error with placeholders in its code and its message; the same object where it holds no secret.

        `mixed`: it may hold placeholders of this run already, which stay.
        """
        redact = self.redact_reply if mixed else self.redact
        code, message = str(redact(error.code)), str(redact(error.message))
        if code == error.code and message == error.message:
            return error
        return error.model_copy(update={"code": code, "message": message})

    def reveal(self, value: Json) -> Json:
        """`value` with what its placeholders stand for; the same object where it has none.

        Raises `PolicyError` for a placeholder that the vault does not hold, `ValueErased` for one whose value was
        erased: a tool is never given one as a value.
        """
        return self._revealed(value) if may_hold_placeholders(value) else value

    def hidden(self, value: Json) -> list[Secret]:
        """What those placeholders in `value` stand for that is not secret by its looks, for another run to learn.
        What was erased is left out.
        """
        found: list[Secret] = []
        self._collect(value, found)
        return found

    def _collect(self, value: Json, found: list[Secret]) -> None:
        if isinstance(value, str):
            for match in _PLACEHOLDER.finditer(value) if "<" in value else ():
                kind = match[0][1:].partition(":")[0]
                if kind not in _BY_LOOKS:
                    with suppress(ValueErased):
                        true = self._look_up(match[0])
                        if true is not None:
                            found.append(Secret(kind, json.dumps(true)))
        elif isinstance(value, dict):
            for key, item in cast("dict[str, Json]", value).items():
                self._collect(key, found)
                self._collect(item, found)
        elif isinstance(value, list | tuple):
            for item in cast("list[Json]", value):
                self._collect(item, found)

    def keyed_hash(self, data: bytes) -> str:
        """As `Vault.keyed_hash`."""
        return self._vault.keyed_hash(data)

    def _keep(self, found: list[Secret]) -> None:
        """See that each secret has a placeholder."""
        new = [secret for secret in dict.fromkeys(found) if secret not in self._known]
        if new:
            self._known.update(zip(new, self._vault.keep(self._run, new), strict=True))
            self.learn_secrets([one for one in new if one.kind == "password" and _is_telling(one)])

    def _search(self, value: Json, found: list[Secret]) -> None:
        if isinstance(value, str):
            spans = self._spans(value)
            if spans:
                found.extend(Secret(kind, json.dumps(value[start:end])) for start, end, kind in spans)
        elif isinstance(value, dict):
            for key, item in cast("dict[str, Json]", value).items():
                if key not in self._clean:
                    self._search(key, found)
                if is_secret_name(key):
                    self._search_named(item, found)
                elif item is not None:
                    self._search(item, found)
        elif isinstance(value, list | tuple):
            for item in cast("list[Json]", value):
                self._search(item, found)
        elif self._may_be_secret(value):
            numbered = self._number(value)
            if numbered is not None:
                found.append(numbered)

    def _search_named(self, value: Json, found: list[Secret]) -> None:
        """Everything below a key such as `password`, whatever it looks like."""
        named = _named_secret(value)
        if named is not None:
            found.append(named)
        elif isinstance(value, dict):
            for key, item in cast("dict[str, Json]", value).items():
                self._search(key, found)
                self._search_named(item, found)
        elif isinstance(value, list | tuple):
            for item in cast("list[Json]", value):
                self._search_named(item, found)

    def _spans(self, text: str) -> list[Span]:
        spans = self._found(text)
        return self._with_gaps(text, spans) if spans else spans

    def _found(self, text: str) -> list[Span]:
        if text in self._clean:
            return []
        spans = self._scan(text) if self._more or may_hold_secrets(text) else []
        if not spans:
            self._remember(text)
        return spans

    def _remember(self, text: str) -> None:
        """That nothing is found in `text`."""
        if len(text) <= _SHORT and len(self._clean) < _MOST:
            self._clean.add(text)

    def _scan(self, text: str) -> list[Span]:
        spans = find(text, self._rules, DIGIT_RULES)
        if "<" in text:
            spans = merge([*spans, *(Span(*m.span(), "literal") for m in _PLACEHOLDER.finditer(text))])
        return spans

    def _with_gaps(self, text: str, spans: list[Span]) -> list[Span]:
        """`spans` and what is found between them, now that what stood beside it is gone.

        Where that does not come to an end in a few rounds, all of what is left between them counts as secret.
        """
        found = list(spans)
        gaps = _between(0, len(text), spans)
        for last in (False,) * (_ROUNDS - 1) + (True,):
            left: list[tuple[int, int]] = []
            for start, end in gaps:
                inner = [Span(start + s, start + e, kind) for s, e, kind in self._found(text[start:end])]
                if inner and last:
                    inner = [Span(start, end, inner[0].kind)]
                found += inner
                left += _between(start, end, inner) if inner else ()
            gaps = left
        return sorted(found)

    def _may_be_secret(self, value: Json) -> TypeGuard[float]:
        """Whether this is a number that is long enough; rules of one's own may look for any."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        return abs(value) > _SMALLEST or bool(self._more)

    def _number(self, value: float) -> Secret | None:
        """A number that was learned, or is a secret when written down, such as a phone number."""
        if abs(value) in self._numbers:
            return Secret(self._numbers[abs(value)], json.dumps(value))
        if abs(value) > _LARGEST or value != int(value):
            return None
        spans = self._spans(str(abs(int(value))))
        return Secret(spans[0].kind, json.dumps(value)) if spans else None

    def _replace(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._replace_text(value)
        if isinstance(value, dict):
            return {
                self._replace_text(key): self._replace_item(key, item)
                for key, item in cast("dict[str, Json]", value).items()
            }
        if isinstance(value, list | tuple):
            return [self._replace(item) for item in cast("list[Json]", value)]
        if self._may_be_secret(value):
            numbered = self._number(value)
            return value if numbered is None else self._known[numbered]
        return value

    def _replace_item(self, key: str, item: Json) -> Json:
        return self._replace_named(item) if is_secret_name(key) else self._replace(item)

    def _replace_named(self, value: Json) -> Json:
        named = _named_secret(value)
        if named is not None:
            return self._known[named]
        if isinstance(value, dict):
            items = cast("dict[str, Json]", value).items()
            return {self._replace_text(key): self._replace_named(item) for key, item in items}
        if isinstance(value, list | tuple):
            return [self._replace_named(item) for item in cast("list[Json]", value)]
        return value

    def _replace_text(self, text: str) -> str:
        spans = self._spans(text)
        if not spans:
            return text
        parts: list[str] = []
        last = 0
        for start, end, kind in spans:
            parts += (text[last:start], self._known[Secret(kind, json.dumps(text[start:end]))])
            last = end
        return "".join((*parts, text[last:]))

    def _revealed(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._reveal_text(value)
        if isinstance(value, dict):
            items = cast("dict[str, Json]", value).items()
            return {str(self._reveal_text(key)): self._revealed(item) for key, item in items}
        if isinstance(value, list | tuple):
            return [self._revealed(item) for item in cast("list[Json]", value)]
        return value

    def _reveal_text(self, text: str) -> Json:
        whole = _PLACEHOLDER.fullmatch(text)
        if whole is not None:
            return self._true(text)
        return _PLACEHOLDER.sub(lambda match: str(self._true(match[0])), text)

    def _true(self, placeholder: str) -> Json:
        value = self._look_up(placeholder)
        if value is None:
            run = self._run
            raise PolicyError(
                Text(
                    f"the vault does not hold {placeholder} of run {run}",
                    f"保险库中没有运行 {run} 的 {placeholder}",
                ),
                Text(
                    "open the vault that the run was started with",
                    "请打开启动该运行时所用的保险库",
                ),
            )
        return value

    def _is_issued(self, placeholder: str) -> bool:
        """Whether this run knows the placeholder, also where its value was erased."""
        try:
            return self._look_up(placeholder) is not None
        except ValueErased:
            return True

    def _look_up(self, placeholder: str) -> Json | None:
        value = self._values.get(placeholder)
        if value is None:
            stored = self._vault.look_up(self._run, placeholder)
            if stored is not None:
                value = self._values[placeholder] = json.loads(stored)
        return value


def _text_of(secret: Secret) -> str | None:
    """The text or number of a secret, as text; None for a truth value, and for what looks like a placeholder."""
    value: Json = json.loads(secret.value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value).removesuffix(".0")
    return None if _PLACEHOLDER.search(text) else text


def _is_telling(secret: Secret) -> bool:
    text = _text_of(secret)
    return text is not None and is_telling(text)


def _number_in(name: str) -> float | None:
    """The number that a name of two characters or more spells."""
    try:
        number = int(name) if name.strip("-").isdecimal() else float(name)
    except ValueError:
        return None
    return number if len(name) > 1 and math.isfinite(number) else None


def _between(start: int, end: int, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """The places from `start` to `end` that no span covers."""
    starts = (start, *(span.end for span in spans))
    ends = (*(span.start for span in spans), end)
    return [(a, b) for a, b in zip(starts, ends, strict=True) if a < b]


def _named_secret(value: Json) -> Secret | None:
    """A text or a number under a key such as `password`: a secret whatever it looks like."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        return None
    return Secret("password", json.dumps(value))


@lru_cache(4096)
def is_secret_name(key: str) -> bool:
    """Whether what stands under such a name is a secret: `password`, `api_key`, `口令`."""
    return _SECRET_NAME.search(key) is not None


def may_hold_placeholders(value: Json) -> bool:
    """Whether a placeholder may stand anywhere in `value`, its keys included."""
    if isinstance(value, str):
        return "<" in value
    if isinstance(value, dict):
        for key, item in cast("dict[str, Json]", value).items():
            if "<" in key or may_hold_placeholders(item):
                return True
    elif isinstance(value, list | tuple):
        for item in cast("list[Json]", value):
            if may_hold_placeholders(item):
                return True
    return False
