"""The arguments of a function: read into what it takes, and brought into the one form that is judged and called.

A type may change what it is given (strip a text, fill in a default, drop a key), so arguments are first made
into Python values and written down again. What comes out is what a policy judges and what the function gets.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from sopwith.errors import ValueRefused
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json, storable


class Unwritable(Exception):
    """A value that is not the same after it was written as JSON and read again."""


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
            return ErrorData(code="invalid_arguments", message=_reason(error))
        except ValueRefused as error:
            return ErrorData(code="invalid_arguments", message=error.message.en)
        except Unwritable as error:
            return ErrorData(code="not_plain", message=str(error))
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
        raise Unwritable("it reads back as something else")
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
        raise Unwritable(f"$: the arguments cannot be written as JSON: {error}") from error


def _see_that_it_stays(adapter: TypeAdapter[Any], value: Any, written: Json) -> None:
    """Raises `Unwritable` unless `written` reads back as `value`, and is written as itself."""
    try:
        again = _read(adapter, storable(written))
        stays = again == value and _write(adapter, again) == written
        why = "they change when they are written as JSON and read again"
    except (ValidationError, ValueRefused) as error:
        stays = False
        why = _reason(error) if isinstance(error, ValidationError) else error.message.en
    if not stays:
        raise Unwritable(f"$: the arguments cannot be written as JSON: {why}")


def _reason(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(str(part) for part in p['loc']) or '$'}: {p['msg']}" for p in problems)
