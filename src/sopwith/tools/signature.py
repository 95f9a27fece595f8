"""A function's signature as JSON Schemas: its parameters as an object, its return annotation as a value."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NotRequired, Required, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import PydanticSerializationError
from typing_extensions import TypedDict

from sopwith.errors import Text, UserError
from sopwith.ir.schema import validator
from sopwith.ir.value import Json
from sopwith.tools.docstring import read_docstring
from sopwith.tools.parameters import Parameters, Unwritable, plain_default

KEY = "idempotency_key"
"""The keyword-only parameter that the engine fills with the idempotency key of the call."""

_DURATION = r"^[+-]?P(\d+[YMWD])*(T(\d+(\.\d+)?[HMS])+)?$"
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function says about itself; `takes_key`: it has an `idempotency_key`."""

    description: str
    input_schema: dict[str, Json]
    output_schema: dict[str, Json] | None
    parameters: Parameters
    takes_key: bool


class _Untitled(GenerateJsonSchema):
    """JSON Schemas without the titles that pydantic makes from the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def timedelta_schema(self, schema: Any) -> dict[str, Any]:
        # The format `duration` allows neither a fraction nor a sign, both of which pydantic writes.
        return {"type": "string", "pattern": _DURATION}


def place(function: Callable[..., Any]) -> str:
    """`file:line` of a function."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)


def read_signature(function: Callable[..., Any]) -> Signature:
    """The schemas of `function`, or `UserError` with the file and line of a signature that has none."""
    hints = _hints(function)
    listed = inspect.signature(function).parameters
    takes_key = KEY in listed and listed[KEY].kind is inspect.Parameter.KEYWORD_ONLY
    taken = {name: p for name, p in listed.items() if not (takes_key and name == KEY)}
    fields: dict[str, Any] = {}
    defaults: dict[str, Json] = {}
    for name, parameter in taken.items():
        _refuse_unusable(function, parameter, hints)
        fields[name] = (Required if parameter.default is parameter.empty else NotRequired)[hints[name]]
        if parameter.default is not parameter.empty:
            defaults[name] = _default(function, parameter, hints[name])
    adapter = _adapter(function, fields)
    input_schema = _schema(function, adapter, "validation")
    words = read_docstring(function)
    for name in taken:
        described: dict[str, Json] = input_schema["properties"][name]
        if name in words.parameters:
            described.setdefault("description", words.parameters[name])
        if name in defaults:
            described["default"] = defaults[name]
    output_schema = _output_schema(function, hints)
    parameters = Parameters(adapter, defaults)
    return Signature(words.description, input_schema, output_schema, parameters, takes_key)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise _unusable(
            function,
            Text(f"an annotation cannot be read: {error}", f"有一个注解无法读取：{error}"),
            Text("Define the type at the top level of the module.", "请把这个类型定义在模块的顶层。"),
        ) from error


def _refuse_unusable(
    function: Callable[..., Any], parameter: inspect.Parameter, hints: dict[str, Any]
) -> None:
    name = parameter.name
    if parameter.kind not in _NAMED:
        why = Text(f"the parameter {name} cannot be passed by name", f"参数 {name} 不能按名称传递")
        hint = Text("Give the tool named parameters only.", "工具只能有按名称传递的参数。")
    elif name not in hints:
        why = Text(f"the parameter {name} has no annotation", f"参数 {name} 没有类型注解")
        hint = Text(f"Write its type: {name}: str", f"请写出类型：{name}: str")
    elif isinstance(parameter.default, FieldInfo):
        why = Text(f"the default of {name} is a Field", f"参数 {name} 的默认值是 Field")
        hint = Text(f"Write {name}: Annotated[…, Field(…)]", f"请写成 {name}: Annotated[…, Field(…)]")
    else:
        return
    raise _unusable(function, why, hint)


def _adapter(function: Callable[..., Any], fields: dict[str, Any]) -> TypeAdapter[dict[str, Any]]:
    # A TypedDict allows any parameter name (a model refuses `schema`) and leaves out what is not given.
    arguments = cast("Any", TypedDict)(function.__name__, fields)
    arguments.__pydantic_config__ = ConfigDict(extra="forbid")
    try:
        return TypeAdapter(arguments)
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError) as error:
        raise _no_schema(function, error) from error


def _schema(function: Callable[..., Any], adapter: TypeAdapter[Any], mode: JsonSchemaMode) -> dict[str, Json]:
    try:
        schema = adapter.json_schema(mode=mode, schema_generator=_Untitled)
    except PydanticUserError as error:
        raise _no_schema(function, error) from error
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
    return schema


def _output_schema(function: Callable[..., Any], hints: dict[str, Any]) -> dict[str, Json] | None:
    returned = hints.get("return", Any)
    if returned is Any or returned is object:
        return None
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(returned)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise _no_schema(function, error) from error
    schema = _schema(function, adapter, "serialization")
    try:
        validator(schema)
    except UserError as error:
        raise _unusable(function, error.message, error.hint) from error
    return schema


def _default(function: Callable[..., Any], parameter: inspect.Parameter, hint: Any) -> Json:
    """A default as JSON: a policy sees the arguments with it, so one that JSON cannot say is refused."""
    name = parameter.name
    try:
        return plain_default(hint, parameter.default)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise _no_schema(function, error) from error
    except (ValidationError, PydanticSerializationError, Unwritable) as error:
        raise _unusable(
            function,
            Text(
                f"the default of {name} is not JSON that its annotation reads back as the same",
                f"参数 {name} 的默认值无法写成 JSON 并按其注解原样读回",
            ),
            Text(
                f"Let the annotation allow it, or write {name}: … | None = None.",
                f"请让注解允许这个值，或写成 {name}: … | None = None。",
            ),
        ) from error


def _no_schema(function: Callable[..., Any], error: Exception) -> UserError:
    first = str(error).splitlines()[0]
    return _unusable(
        function,
        Text(f"an annotation has no JSON Schema: {first}", f"有一个注解没有 JSON Schema：{first}"),
        Text(
            "Use JSON types, Literal, enums, dates, dataclasses, models or typing_extensions.TypedDict.",
            "请使用 JSON 类型、Literal、枚举、日期、dataclass、pydantic 模型或 typing_extensions.TypedDict。",
        ),
    )


def _unusable(function: Callable[..., Any], why: Text, hint: Text) -> UserError:
    where = f"{place(function)} {function.__name__}"
    return UserError(Text(f"{where}: {why.en}", f"{where}：{why.zh}"), hint)
