"""The tools of a procedure: they exist, are permitted, and take what they are given."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sopwith.errors import Text
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Step, matching
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.lang.check.bindings import misfits
from sopwith.lang.check.subject import Subject, close, meant
from sopwith.lang.compile import parameters
from sopwith.lang.document import Path

_NO_TOOLS = Text(
    "no tools are connected: name the tools.py or .mcp.json that has it, with --tools or --mcp",
    "没有连接任何工具：请用 --tools 或 --mcp 指定含有它的 tools.py 或 .mcp.json",
)
_KINDS = ("tool", "answer", "ask", "wait", "call", "script", "code")


def problems(subject: Subject) -> Iterator[Diagnostic]:
    """SW401 to SW409."""
    yield from _allowed(subject)
    for name, step in subject.steps.items():
        path = ("steps", name)
        several = [key for key in _KINDS if getattr(step, key) is not None]
        if len(several) > 1:
            listed = ", ".join(f"'{key}'" for key in several)
            message = Text(f"step '{name}' has {listed} at once", f"步骤“{name}”同时有 {listed}")
            hint = Text("A step does one thing: split it.", "一个步骤只做一件事：请拆分。")
            yield subject.error("SW404", (*path, several[1]), message, hint)
        if step.with_ and step.tool is None:
            message = Text("there is no tool that takes these arguments", "没有工具接收这些参数")
            hint = Text("Name the tool, or remove 'with'.", "请写明 tool，或删除 with。")
            if step.call is not None:
                hint = Text(
                    "Put it into 'call', beside 'procedure'.", "请移到 call 之内，与 procedure 并列。"
                )
            yield subject.error("SW409", (*path, "with"), message, hint)
        spec = subject.tool(step)
        if spec is not None:
            yield from _arguments(subject, path, step, spec)
            yield from _unchecked_write(subject, path, step, spec)


def _allowed(subject: Subject) -> Iterator[Diagnostic]:
    """The lists of permitted tools, and the tools that steps name."""
    procedure = subject.procedure
    for i, tool in enumerate(procedure.tools or ()):
        yield from _exists(subject, "SW403", ("tools", i), tool)
    for name, step in procedure.steps.items():
        path = ("steps", name)
        named = [((*path, "tool"), step.tool)] if step.tool is not None else []
        named += [((*path, "tools", i), tool) for i, tool in enumerate(step.tools or ())]
        for where, tool in named:
            unknown = list(_exists(subject, "SW401", where, tool))
            yield from unknown
            if procedure.tools is not None and not unknown and not _permits(subject, procedure.tools, tool):
                message = Text(
                    f"the tool '{tool}' is not in the procedure's list of tools",
                    f"工具“{tool}”不在流程的 tools 列表中",
                )
                hint = Text(f"Add it to 'tools': - {tool}", f"请加入 tools：- {tool}")
                yield subject.error("SW402", where, message, hint)


def _permits(subject: Subject, permitted: Collection[str], tool: str) -> bool:
    """Whether a list permits what a step names. Of `crm.*` that is not known without the tools, unless it is listed."""
    if subject.tools is None and "*" in tool:
        return True
    return set(matching(permitted, subject.tools or (tool,))) >= set(matching((tool,), subject.tools or ()))


def _exists(subject: Subject, code: str, path: Path, tool: str) -> Iterator[Diagnostic]:
    """A tool that is not there. The name of one that reads is remedied; what permits or writes is left to people."""
    if subject.tools is None:
        return
    found = matching((tool,), subject.tools)
    if not found:
        message = Text(f"no tool fits '{tool}'", f"没有符合“{tool}”的工具")
        yield subject.error(
            code, path, message, close(tool, sorted(subject.tools)) if subject.tools else _NO_TOOLS
        )
    elif "*" not in tool and tool not in subject.tools:
        message = Text(f"there is no tool '{tool}'", f"没有工具“{tool}”")
        permitted = subject.procedure.tools if code == "SW401" else None
        listed = subject.tools if permitted is None else matching(permitted, subject.tools)
        offered = [name for name in sorted(subject.tools) if name in listed]
        known = offered or sorted(subject.tools)
        fix = meant(path, tool, known) if path[-1] == "tool" else ()
        reads = fix and subject.tools[fix[0].text].effect is Effect.READ
        hint = close(tool, known) if known else _NO_TOOLS
        yield subject.error(code, path, message, hint, fix=fix if reads else ())


def _arguments(subject: Subject, path: Path, step: Step, spec: ToolSpec) -> Iterator[Diagnostic]:
    properties, required = parameters(spec.input_schema)
    other = spec.input_schema.get("additionalProperties")
    open_ = other is True or isinstance(other, dict) or "patternProperties" in spec.input_schema
    for key, value in step.with_.items():
        where = (*path, "with", key)
        if key not in properties:
            if not open_:
                message = Text(f"'{spec.name}' takes no '{key}'", f"“{spec.name}”没有参数“{key}”")
                fix = meant(where, key, [name for name in properties if name not in step.with_], "rename")
                yield subject.error("SW406", where, message, close(key, properties), fix=fix)
            continue
        for at, problem in misfits(value, properties[key], spec.input_schema, where, subject.gives):
            message = Text(
                f"'{key}' of '{spec.name}' {problem.en}",
                f"“{spec.name}”的参数“{key}”不合要求：{problem.zh}",
            )
            yield subject.error("SW405", at, message)
    if step.do is not None:
        return
    for key in properties:
        if key in required and key not in step.with_:
            message = Text(
                f"'{spec.name}' requires '{key}', and nobody gives it",
                f"“{spec.name}”需要参数“{key}”，但无人提供",
            )
            hint = Text(
                "Bind it under 'with', or say in 'do' what a model should fill in.",
                "请在 with 中绑定，或在 do 中说明由模型填写什么。",
            )
            yield subject.error("SW407", (*path, "tool"), message, hint)


def _unchecked_write(subject: Subject, path: Path, step: Step, spec: ToolSpec) -> Iterator[Diagnostic]:
    if spec.effect is Effect.READ or spec.idempotent or step.verify is not None:
        return
    message = Text(f"nothing checks what '{spec.name}' has written", f"没有核验“{spec.name}”写入的结果")
    hint = Text(
        "Add 'verify:' with a condition on its result, or make the tool idempotent.",
        "请加上 verify（关于其结果的条件），或让该工具具备幂等性。",
    )
    yield subject.warning("SW408", (*path, "tool"), message, hint)
