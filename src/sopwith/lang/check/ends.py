"""What a procedure gives back: every completing end binds the output, completely and rightly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from sopwith.errors import Text
from sopwith.expr.shape import Schema, flatten, properties_of
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Step
from sopwith.ir.value import Json
from sopwith.lang.check.bindings import misfits
from sopwith.lang.check.subject import Subject, close, meant


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW214 to SW216."""
    output = subject.procedure.output
    for name, step in subject.steps.items():
        path = ("steps", name)
        if step.result is not None and (step.end != "complete" or output is None):
            yield subject.error("SW216", (*path, "result"), *_nobody(step))
        elif step.end == "complete" and output is not None:
            if step.result is None:
                message = Text(
                    f"the end '{name}' gives no result, but the procedure has an output",
                    f"流程声明了 output，但结束步骤“{name}”没有给出 result",
                )
                hint = Text(
                    "Add 'result:' with the keys of the output.", "请加上 result，写出 output 的各键。"
                )
                yield subject.error("SW214", (*path, "end"), message, hint)
            else:
                yield from _result(subject, name, step.result, output)


def _nobody(step: Step) -> tuple[Text, Text]:
    if step.end != "complete":
        return (
            Text("'result' belongs to a completing end", "result 只属于完成的结束步骤"),
            Text("Remove it, or write 'end: complete'.", "请删除，或写 end: complete。"),
        )
    return (
        Text("the procedure has no output that this result could be", "流程没有声明 output，结果无处可放"),
        Text("Add 'output:' with a JSON Schema to the procedure.", "请在流程中加上 output（JSON Schema）。"),
    )


def _result(
    subject: Subject, name: str, result: dict[str, Json], output: dict[str, Json]
) -> Iterator[Diagnostic]:
    node, root = flatten(output, output)
    properties = properties_of(node)
    path = ("steps", name, "result")
    for key in cast("list[str]", node.get("required") or ()):
        if key not in result:
            message = Text(f"the result lacks '{key}'", f"结果缺少“{key}”")
            hint = Text("The output requires it.", "output 要求此键。")
            yield subject.error("SW215", path, message, hint)
    for key, value in result.items():
        schema = properties.get(key)
        if schema is None:
            if _closed(node):
                message = Text(f"the output has no '{key}'", f"output 中没有“{key}”")
                where = (*path, key)
                fix = meant(where, key, [name for name in properties if name not in result], "rename")
                yield subject.error("SW215", where, message, close(key, properties), fix=fix)
            continue
        for where, problem in misfits(value, schema, root, (*path, key), subject.gives):
            message = Text(f"'{key}' {problem.en}", f"“{key}”不符合 output：{problem.zh}")
            yield subject.error("SW215", where, message)


def _closed(node: Schema) -> bool:
    """Whether a key that is not among the properties is a mistake."""
    other = node.get("additionalProperties")
    return other is False or (other is None and bool(properties_of(node)))
