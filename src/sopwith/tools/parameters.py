"""The arguments of a function: read into what it takes, and brought into the one form that is judged and called.

A type may change what it is given (strip a text, fill in a default, drop a key), so arguments are first made
into Python values and written down again. What comes out is what a policy judges and what the function gets.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from sopwith.errors import Text, ValueRefused
from sopwith.ir.pydantic_problem import told
from sopwith.ir.schema import together
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json, storable
from sopwith.tools.refusal import refusal


class Unwritable(Exception):
    """A value that is not the same after it was written as JSON and read again."""

    def __init__(self, said: Text) -> None:
        super().__init__(said.en)
        self.said = said


class Parameters:
    """`adapter` reads JSON into what the function takes; `defaults` are those of its parameters, as JSON."""

    def __init__(self, adapter: TypeAdapter[dict[str, Any]], defaults: dict[str, Json]) -> None:
        self._adapter = adapter
        self._defaults = defaults

    def prepare(self, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        """`arguments` as the function will see them, with its defaults: preparing them again changes nothing."""
        found = self.read(arguments)
        return found if isinstance(found, ErrorData) else found[0]

    def read(self, arguments: dict[str, Json]) -> tuple[dict[str, Json], dict[str, Any]] | ErrorData:
        """`arguments` as `prepare` gives them, and what the function is called with."""
        try:
            given = storable(arguments)
            value = _read(self._adapter, given)
            written = _write(self._adapter, value)
            same = written == given
            if not same:
                _see_that_it_stays(self._adapter, value, written)
        except ValidationError as error:
            return refusal("invalid_arguments", _reason(error))
        except ValueRefused as error:
            return refusal("invalid_arguments", error.message)
        except Unwritable as error:
            return refusal("not_plain", error.said)
        for name, default in self._defaults.items():
            if name not in written:
                written[name] = storable(default)
                same = False
        return written, value if same else _read(self._adapter, written)


def plain_default(hint: Any, default: object) -> Json:
    """`default` as the JSON that a parameter annotated with `hint` reads back as it.

    Raises `Unwritable`, or what pydantic raises where it does not fit.
    """
    adapter: TypeAdapter[Any] = TypeAdapter(hint)
    value = _read(adapter, _write(adapter, default))
    if type(value) is type(default) and value != default:
        raise Unwritable(Text("it reads back as something else", "读回后与原值不同"))
    written = _write(adapter, value)
    _see_that_it_stays(adapter, value, written)
    return written


def _read(adapter: TypeAdapter[Any], value: Json) -> Any:
    return adapter.validator.validate_json(to_json(value), strict=True)


def _write(adapter: TypeAdapter[Any], value: Any) -> Any:
    try:
        return adapter.serializer.to_python(
            value, mode="json", by_alias=True, round_trip=True, warnings=False
        )
    except (PydanticSerializationError, ValueError) as error:
        raise _unwritable(Text(str(error), str(error))) from error


def _see_that_it_stays(adapter: TypeAdapter[Any], value: Any, written: Json) -> None:
    """Raises `Unwritable` unless `written` reads back as `value`, and is written as itself."""
    try:
        again = _read(adapter, storable(written))
        stays = again == value and _write(adapter, again) == written
        why = _CHANGE
    except (ValidationError, ValueRefused) as error:
        stays = False
        why = _reason(error) if isinstance(error, ValidationError) else error.message
    if not stays:
        raise _unwritable(why)


_CHANGE = Text("they change when they are written as JSON and read again", "写成 JSON 再读回后，它们会改变")


def _unwritable(why: Text) -> Unwritable:
    return Unwritable(
        Text(f"$: the arguments cannot be written as JSON: {why.en}", f"$：参数无法写成 JSON：{why.zh}")
    )


def _reason(error: ValidationError) -> Text:
    problems = error.errors(include_url=False)
    found: list[Text] = []
    for problem in problems:
        path = ".".join(str(part) for part in problem["loc"]) or "$"
        found.append(Text(f"{path}: {problem['msg']}", f"{path}：{told(problem).message.zh}"))
    return together(found)
