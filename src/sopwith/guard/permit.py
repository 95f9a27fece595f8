"""Which calls are allowed: ordered rules over who calls what with which arguments, and a default.

The first rule that matches decides. Where none does, reads are allowed and writes are not. A rule whose
condition cannot be evaluated denies the call: a policy fails closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sopwith.errors import ExpressionError, PolicyError, Text
from sopwith.guard.policy_file import PolicyFile, open_policy
from sopwith.ir.approval import NO_TERMS, Terms, listed
from sopwith.ir.event import Principal, Verdict
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.ir.value import Json, canonical, digest

if TYPE_CHECKING:
    from sopwith.expr.expression import Expression

NAMES = frozenset({"principal", "tool", "arguments", "step", "run"})
"""The names that a condition may use."""


class Rule(BaseModel):
    """One rule. It matches a call when each of its parts does; a part that is absent matches every call.

    `tool` are names or patterns (`hr.*`), `effect` are effects, `role` are roles of which the principal has
    one; each may be one or a list. `when` is a CEL expression over `principal {id, roles}`, `tool {name,
    effect, idempotent, scopes, sensitivity}`, `arguments`, `step` and `run` (ids). `approval` are the terms
    of a rule that asks.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    id: str = Field(min_length=1)
    verdict: Verdict
    tool: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()
    effect: Annotated[tuple[Effect, ...], BeforeValidator(listed)] = ()
    role: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()
    when: str | None = None
    approval: Terms | None = None


def fits(name: str, pattern: str) -> bool:
    """Whether the name of a tool fits a pattern (`hr.*`). Case counts."""
    return fnmatchcase(name, pattern)


def fits_any(name: str, patterns: Iterable[str]) -> bool:
    """Whether the name of a tool fits one of the patterns."""
    return any(fits(name, pattern) for pattern in patterns)


class Judgement(NamedTuple):
    """What the policy says about a call, and the id of the rule that decided."""

    verdict: Verdict
    rule: str


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call as a policy sees it. `arguments` are true values, exactly those that will run."""

    principal: Principal
    tool: ToolSpec
    arguments: dict[str, Json]
    step: str
    run: str


_Names = Annotated[tuple[str, ...], BeforeValidator(listed)]


class _Others(BaseModel):
    """What a policy file says beside its rules."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    allow_writes: _Names = ()
    people: dict[str, _Names] = {}


_WRITES = (Effect.WRITE, Effect.IRREVERSIBLE)
_DEFAULTS = {
    Effect.READ: Judgement("allow", "default.read"),
    Effect.WRITE: Judgement("deny", "default.write"),
    Effect.IRREVERSIBLE: Judgement("deny", "default.write"),
}

_Refuse = Callable[[int, Text, Text], None]


class Policy:
    """Ordered rules. `allow_writes` are tools whose writes are allowed where no rule says otherwise; `people` are the
    roles of those who may give approvals (where it names none, a rule that names no roles takes anybody's).

    Raises `PolicyError` for a condition that is no expression or uses unknown names, for an id used twice, and for the
    terms of an approval on a rule that does not ask.
    """

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        *,
        allow_writes: Iterable[str] = (),
        people: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        self.rules = tuple(rules)
        self.people = {name: tuple(roles) for name, roles in (people or {}).items()}
        self.allow_writes = (allow_writes,) if isinstance(allow_writes, str) else tuple(allow_writes)
        self.conditions: Mapping[str, Expression] = _compile(self.rules, _refuse)
        """The parsed `when` of each rule that has one, by the rule's id."""
        self._terms = {rule.id: rule.approval for rule in self.rules}
        self._matching: dict[tuple[str, Effect], tuple[tuple[Rule, Expression | None], ...]] = {}

    @classmethod
    def read(cls, source: str | Path) -> Self:
        """The policy in a file (a path, or text that ends in .yaml or .yml) or in the text itself.

        Raises `PolicyError` with file, line and column.
        """
        return cls.of(open_policy(source))

    @classmethod
    def of(cls, file: PolicyFile) -> Self:
        """The policy in a file that was read."""
        rules = [_rule(file, item, ("rules", i)) for i, item in enumerate(_list(file))]
        others = file.read(
            _Others,
            {name: file.sections[name] for name in ("allow_writes", "people") if name in file.sections},
            (),
        )

        def refuse(index: int, message: Text, hint: Text) -> None:
            file.refuse(("rules", index), message, hint)

        _compile(rules, refuse)
        return cls(rules, allow_writes=others.allow_writes, people=others.people)

    def judge(self, facts: CallFacts) -> Judgement:
        """Whether the call may run, must not, or needs a person's leave."""
        tool = facts.tool
        matching = self._matching.get((tool.name, tool.effect))
        if matching is None:
            matching = self._matching[tool.name, tool.effect] = self._matching_rules(tool)
        scope: dict[str, Json] | None = None
        for rule, condition in matching:
            if rule.role and not any(role in rule.role for role in facts.principal.roles):
                continue
            if condition is None:
                return Judgement(rule.verdict, rule.id)
            if scope is None:
                scope = scope_of(facts)
            try:
                holds = condition.evaluate(scope)
            except ExpressionError:
                return Judgement("deny", rule.id)
            if holds is True:
                return Judgement(rule.verdict, rule.id)
            if holds is not False:
                return Judgement("deny", rule.id)
        if tool.effect is not Effect.READ and fits_any(tool.name, self.allow_writes):
            return Judgement("allow", "allow_writes")
        return _DEFAULTS[tool.effect]

    def terms(self, rule: str) -> Terms:
        """What an approval must meet where `rule` asks for one."""
        return self._terms.get(rule) or NO_TERMS

    def to_data(self) -> dict[str, Json]:
        """The policy as plain JSON, in the form of its file."""
        rules: list[Json] = [rule.model_dump(mode="json", exclude_defaults=True) for rule in self.rules]
        data: dict[str, Json] = {"rules": rules, "allow_writes": list(self.allow_writes)}
        if self.people:
            data["people"] = {name: list(roles) for name, roles in self.people.items()}
        return data

    def digest(self) -> str:
        """The content hash that a run is pinned to."""
        return digest(canonical(self.to_data()))

    def _matching_rules(self, tool: ToolSpec) -> tuple[tuple[Rule, Expression | None], ...]:
        return tuple(
            (rule, self.conditions.get(rule.id))
            for rule in self.rules
            if (not rule.tool or fits_any(tool.name, rule.tool))
            and (not rule.effect or tool.effect in rule.effect)
        )


def _list(file: PolicyFile) -> list[Json]:
    given = file.sections.get("rules", [])
    if not isinstance(given, list):
        file.refuse(("rules",), Text("must be a list of rules", "应为规则列表"))
    return cast("list[Json]", given)


def _rule(file: PolicyFile, item: Json, path: tuple[str | int, ...]) -> Rule:
    """One rule of a file. A field without a value is refused: it would match every call, or let anybody approve."""
    file.refuse_empty(item, path)
    if isinstance(item, dict) and "approval" in item:
        approval = cast("dict[str, Json]", item)["approval"]
        file.refuse_empty(approval, (*path, "approval"))
        file.read(Terms, approval, (*path, "approval"))
    return file.read(Rule, item, path)


def _compile(rules: Iterable[Rule], refuse: _Refuse) -> dict[str, Expression]:
    conditions: dict[str, Expression] = {}
    seen: set[str] = set()
    for index, rule in enumerate(rules):
        if rule.id in seen or rule.id in ("default.read", "default.write", "allow_writes"):
            refuse(
                index,
                Text(f"the id '{rule.id}' is taken", f"编号“{rule.id}”已被使用"),
                Text("give each rule an id of its own", "请为每条规则取不同的编号"),
            )
        seen.add(rule.id)
        if rule.approval is not None and rule.verdict != "ask":
            refuse(
                index,
                Text("approval: the rule does not ask", "approval：该规则并不询问"),
                Text("write `verdict: ask`, or remove the approval", "请写 verdict: ask，或删除 approval"),
            )
        if rule.when is None:
            continue
        try:
            condition = conditions[rule.id] = _parse(rule.when)
        except ExpressionError as error:
            refuse(index, Text(f"when: {error.message.en}", f"when：{error.message.zh}"), error.hint)
            continue
        unknown = sorted({path[0] for path in condition.paths} - NAMES)
        if unknown:
            known = ", ".join(sorted(NAMES))
            refuse(
                index,
                Text(f"when: there is no '{unknown[0]}'", f"when：没有“{unknown[0]}”"),
                Text(f"a condition may use: {known}", f"条件中可用：{known}"),
            )
    return conditions


def _parse(condition: str) -> Expression:
    from sopwith.expr.expression import parse  # most policies have no conditions, and need no CEL

    return parse(condition)


def _refuse(index: int, message: Text, hint: Text) -> None:
    raise PolicyError(Text(f"rules[{index}]: {message.en}", f"rules[{index}]：{message.zh}"), hint)


def scope_of(facts: CallFacts) -> dict[str, Json]:
    """What a condition sees of a call."""
    tool, principal = facts.tool, facts.principal
    return {
        "principal": {"id": principal.id, "roles": list(principal.roles)},
        "tool": {
            "name": tool.name,
            "effect": str(tool.effect),
            "idempotent": tool.idempotent,
            "scopes": list(tool.scopes),
            "sensitivity": tool.sensitivity,
        },
        "arguments": facts.arguments,
        "step": facts.step,
        "run": facts.run,
    }
