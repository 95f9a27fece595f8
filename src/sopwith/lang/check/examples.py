"""Worked examples of a step: what they show as the right answer is one."""

from __future__ import annotations

from collections.abc import Iterator

from sopwith.errors import Text, UserError
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Step
from sopwith.ir.schema import validator
from sopwith.ir.value import Json
from sopwith.lang.check.subject import Subject, close
from sopwith.lang.compile import parameters
from sopwith.lang.dynamic_enum import without_dynamic


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW332, SW333."""
    for name, step in subject.steps.items():
        for i, example in enumerate(step.examples):
            path = ("steps", name, "examples", i)
            for problem in _answer_problems(subject, step, example.answer):
                message = Text(f"this answer is not legal: {problem.en}", f"该答案不合法：{problem.zh}")
                yield subject.error("SW332", (*path, "answer"), message, _HINT)
            if step.uses is None:
                continue
            seen = {form for use in step.uses for form in (use, use.rpartition(".")[2])} | {step.writes}
            for given in example.given:
                if given not in seen:
                    message = Text(f"the step does not use '{given}'", f"该步骤不使用“{given}”")
                    yield subject.warning("SW333", (*path, "given", given), message, close(given, step.uses))


_HINT = Text(
    "An example shows what the step may answer: correct it, or the schema.",
    "示例应是该步骤可以给出的答案：请改正示例或 schema。",
)


def _answer_problems(subject: Subject, step: Step, answer: Json) -> tuple[Text, ...]:
    """What is wrong with the answer of an example, as far as it can be told."""
    if step.work in ("returns", "free", "ask") and step.returns is not None:
        return _problems(without_dynamic(step.returns), answer)
    if step.work == "tool":
        spec = subject.tool(step)
        return () if spec is None else _problems(_unbound(step, spec.input_schema), answer)
    targets = [edge.to for edge in step.next if edge.judge is not None or edge.otherwise]
    if step.work == "route" and any(edge.judge is not None for edge in step.next) and answer not in targets:
        en, zh = ", ".join(targets), "、".join(targets)
        return (Text(f"'{answer}' is not one of {en}", f"“{answer}”不在可选值之内：{zh}"),)
    return ()


def _unbound(step: Step, schema: dict[str, Json]) -> Json:
    """The schema of the arguments that are left to the model."""
    properties, required = parameters(schema)
    return {
        **{key: value for key, value in schema.items() if key in ("$schema", "$defs", "definitions")},
        "type": "object",
        "properties": {name: one for name, one in properties.items() if name not in step.with_},
        "required": [name for name in properties if name in required and name not in step.with_],
        "additionalProperties": False,
    }


def _problems(schema: Json, answer: Json) -> tuple[Text, ...]:
    try:
        return validator(schema).problems(answer)
    except UserError:
        return ()  # the schema is reported by itself
