"""What a run may write: values and texts with placeholders in the place of secrets and personal data.

What comes from outside (requests, results, answers) is redacted as it is. What a model wrote may hold placeholders
that it was shown: those stay. Its JSON is parsed first and redacted value by value, so that it stays JSON, and so that
no spelling of a secret (`\\u0030`, `1.38e10`) is missed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from sopwith.errors import PolicyError, ValueRefused
from sopwith.guard.redact import Redactor, may_hold_placeholders
from sopwith.guard.redact_rules import RedactRules
from sopwith.guard.vault import Vault
from sopwith.ir.event import RunStarted
from sopwith.ir.procedure import Input
from sopwith.ir.value import Json, canonical


class Redaction:
    """What is secret in the runs of one engine: by `rules`, and kept in `vault`."""

    def __init__(self, vault: Vault, rules: RedactRules | None = None) -> None:
        self.rules = rules if rules is not None else RedactRules()
        self._vault = vault
        self._secret_rules = self.rules.secret_rules()

    def to_data(self) -> dict[str, Json]:
        """What a log may hold of the rules. They may name people: a keyed hash tells only whether they changed."""
        told = self.rules.model_dump(mode="json", exclude_defaults=True)
        return {"redact": self._vault.keyed_hash(canonical(told))} if told else {}

    def of(
        self, run: str, inputs: Mapping[str, Input] | None = None, started: RunStarted | None = None
    ) -> Redactor:
        """The redactor of a run; one that was `started` before knows the names that it brought, and what it learnt."""
        redactor = Redactor(self._vault, run, self._secret_rules)
        if started is not None:
            given = {name: revealed(redactor, value) for name, value in started.inputs.items()}
            principal = str(revealed(redactor, started.principal.id))
            redactor.learn(self.rules.names_in(inputs or {}, principal, given))
            if started.parent is not None:
                redactor.learn_secrets(redactor.hidden(started.inputs))
            redactor.recall()
        return redactor

    def inputs(self, redactor: Redactor, given: Mapping[str, Json]) -> dict[str, Json]:
        """Inputs as they may be written: of those that are named as secret, nothing is left."""
        hidden = {name: redactor.hide(value) for name, value in given.items() if name in self.rules.inputs}
        rest = {name: value for name, value in given.items() if name not in hidden}
        return {**cast("dict[str, Json]", redactor.redact(rest)), **hidden}


def revealed(redactor: Redactor, told: Json) -> Json:
    """True values for the caller; placeholders where the vault does not hold them any more."""
    try:
        return redactor.reveal(told)
    except PolicyError:
        return told


def written_text(redactor: Redactor, text: str) -> str:
    """A model's reply as it may be written; the same text where nothing in it is secret."""
    try:
        value = json.loads(text)
        # Without a "<" it holds no placeholder, and is redacted like anything from outside.
        safe = written(redactor, value) if "<" in text else redactor.redact(value)
    except (ValueError, RecursionError, ValueRefused):
        # No JSON, or nested so deep that it is none for anybody.
        return redactor.redact_reply(text)
    return text if safe is value else json.dumps(safe, ensure_ascii=False)


def written(redactor: Redactor, value: Json) -> Json:
    """A value that a model wrote, as it may be written; the same object where nothing in it is secret."""
    if isinstance(value, str):
        safe = redactor.redact_reply(value)
        return value if safe == value else safe
    if isinstance(value, list):
        items = cast("list[Json]", value)
        kept = [written(redactor, item) for item in items]
        return items if all(a is b for a, b in zip(items, kept, strict=True)) else kept
    if isinstance(value, dict):
        return _written_object(redactor, cast("dict[str, Json]", value))
    return redactor.redact(value)


def _written_object(redactor: Redactor, value: dict[str, Json]) -> dict[str, Json]:
    kept: dict[str, Json] = {}
    same = True
    for key, item in value.items():
        name = redactor.redact_reply(key)
        safe = written(redactor, item)
        if safe is item and not may_hold_placeholders(item):
            # The key may tell that it is a secret: `password`.
            alone = redactor.redact({key: item})
            safe = item if alone.get(key) is item else next(iter(alone.values()))
        same = same and name == key and safe is item
        kept[name] = safe
    return value if same else kept
