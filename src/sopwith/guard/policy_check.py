"""What is odd about a policy that can be read: rules that never decide, patterns that fit no tool, approvals that
nobody can give. Pure; all of it are warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sopwith.errors import Text
from sopwith.guard.approval import holders
from sopwith.guard.permit import Policy, Rule, fits, fits_any
from sopwith.guard.policy_file import PolicyFile
from sopwith.ir.diagnostic import Diagnostic, Severity
from sopwith.ir.tool import Effect, ToolSpec

CODES: dict[str, Text] = {
    "SW601": Text("a rule that never decides", "永远不起作用的规则"),
    "SW602": Text("a pattern that fits no tool", "没有匹配任何工具的名称"),
    "SW603": Text("an approval that nobody can give", "无人能够给出的批准"),
}
"""The codes of these warnings. `docs/diagnostics.md` explains each."""

_Path = tuple[str | int, ...]


def check_policy(
    policy: Policy, file: PolicyFile, tools: Mapping[str, ToolSpec] | None = None
) -> list[Diagnostic]:
    """The warnings about the policy of a file. Without `tools` the patterns are compared with each other only."""
    specs = None if tools is None else tuple(tools.values())
    found: list[Diagnostic] = []

    def warn(code: str, path: _Path, message: Text, hint: Text) -> None:
        found.append(
            Diagnostic(
                code=code, severity=Severity.WARNING, place=file.place(path), message=message, hint=hint
            )
        )

    for index, rule in enumerate(policy.rules):
        path: _Path = ("rules", index)
        unknown = list(_unknown(rule.tool, specs))
        for position, pattern in unknown:
            warn("SW602", (*path, "tool", position), _no_tool(pattern), _KNOWN_TOOLS)
        if specs and rule.effect and not unknown and not any(_is_for(rule, spec) for spec in specs):
            warn("SW602", (*path, "effect"), _no_effect(rule), _EFFECTS)
        covering = [] if unknown else _covering(policy.rules[:index], rule, specs)
        if covering:
            warn("SW601", path, *_never(rule, covering))
        lacking = _lacking(policy, rule)
        if lacking is not None:
            warn("SW603", (*path, "approval"), *lacking)
    for position, pattern in _unknown(policy.allow_writes, specs):
        warn("SW602", ("allow_writes", position), _no_tool(pattern), _KNOWN_TOOLS)
    return found


def _unknown(patterns: Sequence[str], specs: Sequence[ToolSpec] | None) -> Iterator[tuple[int, str]]:
    """The patterns that fit no tool, with their positions; none where the tools are not known."""
    for position, pattern in enumerate(patterns):
        if specs is not None and not any(fits(spec.name, pattern) for spec in specs):
            yield position, pattern


def _covering(earlier: Sequence[Rule], rule: Rule, specs: Sequence[ToolSpec] | None) -> list[str]:
    """The earlier rules that decide every call that `rule` could; none where it may still decide one."""
    able = [other for other in earlier if _takes_the_rest(other, rule)]
    if specs is None:
        return [other.id for other in able if _wider(other, rule)][:1]
    covering: dict[str, None] = {}
    for spec in specs:
        if not _is_for(rule, spec):
            continue
        by = next((other.id for other in able if _is_for(other, spec)), None)
        if by is None:
            return []
        covering[by] = None
    return list(covering)


def _takes_the_rest(other: Rule, rule: Rule) -> bool:
    """Whether `other` takes a call that `rule` takes, as far as roles and condition go."""
    roles = not other.role or (rule.role and set(rule.role) <= set(other.role))
    return bool(roles) and other.when in (None, rule.when)


def _is_for(rule: Rule, spec: ToolSpec) -> bool:
    named = not rule.tool or fits_any(spec.name, rule.tool)
    return named and (not rule.effect or spec.effect in rule.effect)


def _wider(other: Rule, rule: Rule) -> bool:
    """Whether `other` is for every tool that `rule` is for, whichever tools there are."""
    effects = set(other.effect or Effect) >= set(rule.effect or Effect)
    patterns = rule.tool or ("*",)
    return effects and (
        not other.tool or all(any(_contains(wide, narrow) for wide in other.tool) for narrow in patterns)
    )


def _contains(wide: str, narrow: str) -> bool:
    """Whether every name that fits `narrow` fits `wide`. A `*` of `narrow` can only be met by one of `wide`."""
    if wide == narrow:
        return True
    plain = not set("?[") & set(wide + narrow)
    return plain and fits(narrow, wide)


def _never(rule: Rule, covering: Sequence[str]) -> tuple[Text, Text]:
    listed = ", ".join(covering)
    return (
        Text(
            f"'{rule.id}' never decides: {listed} before it takes every call that it could",
            f"“{rule.id}”永远不起作用：它能匹配的调用都已被前面的 {listed} 匹配",
        ),
        Text("move it up, narrow the earlier rule, or remove it", "请把它上移、收窄前面的规则，或删除它"),
    )


def _lacking(policy: Policy, rule: Rule) -> tuple[Text, Text] | None:
    """What an approval lacks, where the policy says who there is."""
    if rule.verdict != "ask" or not policy.people:
        return None
    terms = policy.terms(rule.id)
    able = holders(policy, terms.roles)
    if len(able) >= terms.count:
        return None
    roles = ", ".join(terms.roles)
    wanted = Text(f" with the role {roles}", f"（角色 {roles}）") if roles else Text("", "")
    return (
        Text(
            f"'{rule.id}' wants {terms.count} people{wanted.en}, and there are {len(able)}",
            f"“{rule.id}”需要 {terms.count} 人{wanted.zh}，而只有 {len(able)} 人",
        ),
        Text("name more under `people`, or ask for fewer", "请在 people 中补充人员，或减少人数"),
    )


def _no_tool(pattern: str) -> Text:
    return Text(f"'{pattern}' fits no tool", f"“{pattern}”没有匹配任何工具")


def _no_effect(rule: Rule) -> Text:
    effects = ", ".join(rule.effect)
    return Text(f"no tool that it is for has the effect {effects}", f"所涉工具中没有副作用为 {effects} 的")


_EFFECTS = Text("compare it with the effects of the tools", "请与工具的副作用核对")
_KNOWN_TOOLS = Text(
    "compare it with the names of the tools; case counts, and * stands for any text",
    "请与工具名称核对：区分大小写，* 代表任意文本",
)
