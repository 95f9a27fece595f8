"""`sopwith policy test`: what the rules of a policy make of a call, or of a set of cases. Nothing is called."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from sopwith.cli.columns import cut, table
from sopwith.cli.connection import read_policy
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.json_text import read_json_object
from sopwith.cli.options import AsJson, Lang, Mcp, PolicyArgument, PrincipalId, Roles, Tools, new_verb
from sopwith.cli.project import Options, find_project
from sopwith.cli.terminal import Terminal, terminal
from sopwith.cli.toolbox import open_tools
from sopwith.errors import Text, UserError
from sopwith.guard.explain import Explanation, explain
from sopwith.guard.permit import CallFacts, Policy
from sopwith.guard.policy_case import PolicyCase, read_cases
from sopwith.guard.policy_check import check_policy
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.event import Principal, Verdict
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.run.preview import as_text
from sopwith.tools.catalogue import Catalogue
from sopwith.tools.refusal import both

verb = new_verb()

CODES: Mapping[Verdict, ExitCode] = {
    "allow": ExitCode.OK,
    "deny": ExitCode.DENIED,
    "ask": ExitCode.SUSPENDED,
}
_DECIDED = Text("decides", "决定")
_PASSED_BY = Text("no", "不匹配")
_DEFAULT = Text("no rule matches", "没有规则匹配")
_HEADS = (
    Text("", ""),
    Text("call", "调用"),
    Text("for", "主体"),
    Text("is", "裁决"),
    Text("expected", "预期"),
)
_SUM = Text("cases: {}, mismatches: {}, warnings: {}", "用例 {} 个，不符 {} 个，警告 {} 个")
_RULES = Text("rules: {}, warnings: {}", "规则 {} 条，警告 {} 个")


@verb.callback()
def policy() -> None:
    """Try the rules of a policy, without running anything.

    试一试策略规则，不执行任何操作。
    """


@verb.command("test")
def test(
    context: typer.Context,
    file: PolicyArgument,
    tool: Annotated[str | None, typer.Option("--tool", metavar="NAME", help="The tool. 工具")] = None,
    arguments: Annotated[
        str, typer.Option("--arguments", metavar="JSON", help="Its arguments, a JSON object. 参数")
    ] = "{}",
    principal: PrincipalId = None,
    role: Roles = None,
    step: Annotated[str, typer.Option("--step", metavar="ID", help="The step. 步骤")] = "",
    effect: Annotated[
        Effect | None, typer.Option("--effect", help="The effect of a tool that is not connected. 副作用")
    ] = None,
    cases: Annotated[
        Path | None, typer.Option("--cases", metavar="FILE", help="Cases with what is expected. 用例文件")
    ] = None,
    tools: Tools = None,
    mcp: Mcp = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Say what becomes of a call, by which rule and why; or hold the policy against cases.

    说明一个调用会得到什么裁决、由哪条规则决定及原因；或用一组用例检验策略。
    """
    shown = terminal(context)
    if tool is not None and cases is not None:
        raise UserError(Text("give --tool or --cases, not both", "--tool 与 --cases 只能给一个"))
    project = find_project(
        file, Options(tools=tools or None, mcp=mcp, principal=principal, roles=role or None)
    )
    rules, read = read_policy(file)

    async def tried() -> ExitCode:
        async with open_tools(project) as catalogue:
            specs = await catalogue.specs()
            connected = project.connects
            bench = Bench(
                shown, rules, specs, catalogue, check_policy(rules, read, specs if connected else None)
            )
            if cases is not None:
                return bench.hold_against(cases)
            if tool is None:
                return bench.look()
            who = Principal(id=project.settings.principal, roles=project.settings.roles)
            return bench.judge(tool, effect, _object(arguments), who, step)

    return asyncio.run(tried())


@dataclass(frozen=True, slots=True)
class Bench:
    """A policy, the tools that are known, and what is odd about the policy with them."""

    shown: Terminal
    policy: Policy
    specs: Mapping[str, ToolSpec]
    catalogue: Catalogue
    warnings: Sequence[Diagnostic]

    def look(self) -> ExitCode:
        """Only the warnings."""
        self._warn()
        if self.shown.json:
            self.shown.document({"rules": len(self.policy.rules), "warnings": self._warnings_json()})
        self.shown.say(self.shown.text(_RULES).format(len(self.policy.rules), len(self.warnings)))
        return ExitCode.OK

    def judge(
        self, tool: str, effect: Effect | None, arguments: dict[str, Json], who: Principal, step: str
    ) -> ExitCode:
        """One call: verdict, rule, and what became of each rule that was tried."""
        spec = self._spec(tool, effect)
        if isinstance(spec, Text):
            raise UserError(spec, _EFFECT_HINT)
        prepared = self._prepared(tool, arguments)
        if isinstance(prepared, Text):
            raise UserError(prepared)
        found = explain(self.policy, CallFacts(who, spec, prepared, step, ""))
        verdict, rule = found.judgement
        self._warn()
        if self.shown.json:
            self.shown.document(self._json(found))
        else:
            self.shown.out(f"{verdict}: {rule}")
            for line in self._reasons(found):
                self.shown.out(line)
        return CODES[verdict]

    def hold_against(self, file: Path) -> ExitCode:
        """A table of cases; INVALID where one comes out otherwise than expected."""
        source, cases = read_cases(file)

        def refuse(index: int, said: Text, hint: Text) -> NoReturn:
            source.refuse((index, "tool"), said, hint)

        done: list[tuple[PolicyCase, Explanation, bool]] = []
        for index, case in enumerate(cases):
            spec = self._spec(case.tool, case.effect)
            if isinstance(spec, Text):
                refuse(index, spec, _EFFECT_HINT)
            arguments = self._prepared(case.tool, dict(case.arguments))
            if isinstance(arguments, Text):
                refuse(index, arguments, Text("correct the arguments", "请修正参数"))
            who = Principal(id=case.principal, roles=case.roles)
            found = explain(self.policy, CallFacts(who, spec, arguments, case.step, ""))
            fits = found.judgement.verdict == case.expect and case.rule in (None, found.judgement.rule)
            done.append((case, found, fits))
        wrong = sum(not fits for _, _, fits in done)
        self._warn()
        if self.shown.json:
            self.shown.document(
                {
                    "ok": not wrong,
                    "cases": [
                        {
                            **case.model_dump(mode="json"),
                            **self._json(found),
                            "expected_rule": case.rule,
                            "ok": fits,
                        }
                        for case, found, fits in done
                    ],
                    "warnings": self._warnings_json(),
                }
            )
        elif done:
            for line in table([[self.shown.text(head) for head in _HEADS], *map(self._row, done)]):
                self.shown.out(line)
        self.shown.say(self.shown.text(_SUM).format(len(done), wrong, len(self.warnings)))
        return ExitCode.INVALID if wrong else ExitCode.OK

    def _row(self, done: tuple[PolicyCase, Explanation, bool]) -> list[str]:
        case, found, fits = done
        roles = f" ({', '.join(case.roles)})" if case.roles else ""
        expected = case.expect if case.rule is None else f"{case.expect}: {case.rule}"
        call = cut(f"{case.tool} {as_text(dict(case.arguments))}", 60)
        verdict, rule = found.judgement
        return ["✓" if fits else "✗", call, f"{case.principal}{roles}", f"{verdict}: {rule}", expected]

    def _spec(self, tool: str, effect: Effect | None) -> ToolSpec | Text:
        """The tool; one that is not connected has at least an effect."""
        known = self.specs.get(tool)
        if known is not None:
            return known if effect is None else known.model_copy(update={"effect": effect})
        if effect is not None:
            return ToolSpec(name=tool, effect=effect)
        return Text(f"the effect of '{tool}' is not known", f"不知道“{tool}”的副作用")

    def _prepared(self, tool: str, arguments: dict[str, Json]) -> dict[str, Json] | Text:
        """The arguments as they would be judged, where the tool is known."""
        if tool not in self.specs:
            return arguments
        prepared = self.catalogue.prepare(tool, arguments)
        if isinstance(prepared, ErrorData):
            said = both(prepared)
            return Text(f"{tool}: {said.en}", f"{tool}：{said.zh}")
        return prepared

    def _reasons(self, found: Explanation) -> list[str]:
        rows = [
            [
                tried.rule,
                self.shown.text(_DECIDED if tried.decided else _PASSED_BY),
                self.shown.text(tried.why),
            ]
            for tried in found.tried
        ]
        if not any(tried.decided for tried in found.tried):
            rows.append([found.judgement.rule, self.shown.text(_DECIDED), self.shown.text(_DEFAULT)])
        return table(rows, indent=2)

    def _json(self, found: Explanation) -> dict[str, Any]:
        verdict, rule = found.judgement
        terms = self.policy.terms(rule).model_dump(mode="json") if verdict == "ask" else None
        tried = [
            {"rule": each.rule, "decided": each.decided, "why": self.shown.text(each.why)}
            for each in found.tried
        ]
        return {"verdict": verdict, "rule": rule, "approval": terms, "tried": tried}

    def _warn(self) -> None:
        for warning in self.warnings:
            self.shown.say(warning.render(self.shown.language))

    def _warnings_json(self) -> list[dict[str, Json]]:
        return [warning.to_json(self.shown.language) for warning in self.warnings]


def _object(text: str) -> dict[str, Json]:
    hint = Text("for example: --arguments '{\"amount\": 5}'", "例如：--arguments '{\"amount\": 5}'")
    return read_json_object(text, "--arguments", hint)


_EFFECT_HINT = Text(
    "give its effect (--effect, or `effect` in a case), or its tools with --tools",
    "请给出副作用（--effect，或用例中的 effect），或用 --tools 给出工具",
)
