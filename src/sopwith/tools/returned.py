"""What a tool returned, as JSON that can be stored and is what the tool declares."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from sopwith.errors import Text, ValueRefused
from sopwith.ir.schema import together, validator
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import UNSURE, Json, canonical, plain_copy, storable

_PLAIN = (str, int, float, bool, bytes, bytearray, type(None))
_LONGEST_INT = 14_000  # bits: a little less than the 4,300 digits that Python reads and writes as text


def plain(value: object) -> Json:
    """`value` as JSON: models, dataclasses, dates, decimals, enums and UUIDs as pydantic writes them.

    Sets become sorted lists. `ValueRefused` names the path of what JSON cannot hold.
    """
    copy = plain_copy(value)
    if copy is not UNSURE:
        return copy
    try:
        return storable(_jsonable(value, "$"))
    except RecursionError:
        raise ValueRefused("$", Text("it holds itself or nests too deep", "它包含自身或嵌套过深")) from None


def misfit(spec: ToolSpec, value: Json) -> Text | None:
    """What `value` breaks of the result that `spec` declares, if anything."""
    if spec.output_schema is None:
        return None
    found = validator(spec.output_schema).problems(value)
    if not found:
        return None
    said = together(found)
    return Text(
        f"the result is not what {spec.name} declares: {said.en}",
        f"结果不符合 {spec.name} 的声明：{said.zh}",
    )


def _jsonable(value: object, path: str) -> object:
    if isinstance(value, int) and value.bit_length() > _LONGEST_INT:
        raise ValueRefused(path, Text("the integer has too many digits", "整数位数过多"))
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value)
        return {key: _jsonable(item, f"{path}.{key}") for key, item in items.items()}
    if isinstance(value, list | tuple):
        entries = cast("list[object]", value)
        return [_jsonable(item, f"{path}[{i}]") for i, item in enumerate(entries)]
    if isinstance(value, Set):
        members = [_jsonable(item, f"{path}[]") for item in cast("Set[object]", value)]
        return sorted(members, key=lambda member: canonical(storable(member, f"{path}[]")))
    try:
        return to_jsonable_python(value)
    except (PydanticSerializationError, ValueError) as error:
        kind = type(value).__name__
        raise ValueRefused(
            path, Text(f"a {kind} cannot be stored as JSON", f"{kind} 类型无法存为 JSON")
        ) from error
