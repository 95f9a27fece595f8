"""What the expressions of a procedure file come to over the values in a log: by the CEL library, and nothing of the
engine.

A log holds placeholders in the place of secrets, and previews of long values. What would read those cannot be
computed again, and is `Unknown`: a placeholder may still be handed on by a plain path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_math, ext_strings

PLACEHOLDER = re.compile(r"<[a-z][a-z_]{0,19}:[0-9]{1,12}>")
_PLAIN_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])*")


class Unknown(Exception):
    """The log alone does not say what the value is."""


class Broken(Exception):
    """The expression fails on the values in the log."""


class Names:
    """The names that expressions read, as the log has them so far."""

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        self._sources = {name: said.get("from") for name, said in inputs.items()}
        self._values: dict[str, Any] = {}
        self._owners: dict[str, str] = {}
        self._long: set[str] = set()

    def start(self, run: str, data: Mapping[str, Any]) -> None:
        """The facts of the run, and the inputs that come from them."""
        principal = {"roles": [], **data["principal"]}
        facts = {"id": run, "date": data["date"], "request": data["request"], "principal": principal}
        self._values["run"] = facts
        self._values["inputs"] = {n: _fact(facts, source) for n, source in self._sources.items() if source}

    def pass_inputs(self, values: Mapping[str, Any]) -> None:
        """Inputs that were passed, or read from the request."""
        passed = {name: value for name, value in values.items() if not self._sources.get(name)}
        self._values["inputs"] = {**self._values.get("inputs", {}), **passed}

    def bind(self, step: str, data: Mapping[str, Any]) -> None:
        """What a step wrote, as `call.finished` or `value.stored` has it."""
        name = data["name"]
        self._values[name], self._owners[name] = data.get("value"), step
        self._long.discard(name)
        if data.get("blob"):
            self._long.add(name)

    def forget(self, step: str) -> None:
        """Unset what `step` wrote: it is entered again, or has failed."""
        for name in [name for name, owner in self._owners.items() if owner == step]:
            del self._values[name], self._owners[name]
            self._long.discard(name)

    def fail(self, error: Mapping[str, Any]) -> None:
        """The error that `on_error` branches on."""
        self._values["error"] = {"step": None, **error}

    def value(self, source: str) -> Any:
        """The value of one expression. Raises `Unknown` and `Broken`."""
        read = {name for name in self._values if re.search(rf"(?<![\w.]){name}\b", source)}
        if read & self._long:
            raise Unknown(source)
        if not _PLAIN_PATH.fullmatch(source.strip()) and any(map(hides, self._read(read, source))):
            raise Unknown(source)
        return _evaluate(source, {name: self._values[name] for name in read})

    def _read(self, names: Iterable[str], source: str) -> Iterator[Any]:
        """The values at the paths in `source` that begin with one of `names`."""
        for name in names:
            for found in re.finditer(rf"(?<![\w.]){name}((?:\.[A-Za-z_]\w*)*)", source):
                value = self._values[name]
                for part in found.group(1).split(".")[1:]:
                    if not isinstance(value, Mapping) or part not in value:
                        break  # a method, such as `size()`
                    value = value[part]
                yield value

    def render(self, template: Any) -> Any:
        """A value with `${…}` in its texts. Raises `Unknown` and `Broken`."""
        if isinstance(template, list):
            return [self.render(item) for item in template]
        if isinstance(template, Mapping):
            return {key: self.render(item) for key, item in template.items()}
        if not isinstance(template, str) or "${" not in template:
            return template
        parts = _split(template)
        if len(parts) == 1 and parts[0][1]:
            return self.value(parts[0][0])
        return "".join(_printed(self.value(text)) if computed else text for text, computed in parts)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def hides(value: Any) -> bool:
    """Whether a placeholder is in `value`."""
    return PLACEHOLDER.search(_text(value)) is not None


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _fact(facts: Mapping[str, Any], source: str) -> Any:
    value: Any = {"run": facts}
    for part in source.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


@lru_cache(1024)
def _program(source: str) -> Any:
    environment = cel.NewEnv(extensions=[ext_strings.ExtStrings(), ext_math.ExtMath()])
    return environment.compile(source, disable_check=True)


def _evaluate(source: str, data: Mapping[str, Any]) -> Any:
    try:
        found = _program(source).eval(data=dict(data))
    except Exception as error:
        raise Broken(f"{source}: {error}") from None
    if found.type() == cel.Type.ERROR:
        raise Broken(f"{source}: {found.plain_value()}")
    try:
        return json.loads(json.dumps(found.plain_value()))
    except (TypeError, ValueError):
        raise Unknown(source) from None


def _split(template: str) -> list[tuple[str, bool]]:
    """The pieces of a text: literal ones, and expressions (marked true)."""
    parts: list[tuple[str, bool]] = []
    rest = template
    while (at := rest.find("${")) >= 0:
        if at and rest[at - 1] == "$":
            raise Unknown(template)  # `$${` stands for itself; no benchmark needs it
        end = _closing(rest, at + 2)
        if at:
            parts.append((rest[:at], False))
        parts.append((rest[at + 2 : end], True))
        rest = rest[end + 1 :]
    return [*parts, (rest, False)] if rest else parts


def _closing(text: str, at: int) -> int:
    depth, quote = 0, ""
    while at < len(text):
        char = text[at]
        if quote:
            at += char == "\\"
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "}" and depth == 0:
            return at
        else:
            depth += (char == "{") - (char == "}")
        at += 1
    raise Unknown(text)


def _printed(value: Any) -> str:
    """How a value reads inside other text; of numbers only whole ones."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise Unknown(repr(value))
