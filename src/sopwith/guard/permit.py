"""Which calls are allowed: ordered rules over who calls what with which arguments, and a default.

The first rule that matches decides. Where none does, reads are allowed and writes are not. A rule whose
condition cannot be evaluated denies the call: a policy fails closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, NamedTuple, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sopwith.errors import ExpressionError, PolicyError, Text
from sopwith.expr.expression import Expression, parse
from sopwith.guard.policy_file import PolicyFile, open_policy
from sopwith.ir.event import Principal, Verdict
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.ir.value import Json, canonical, digest

NAMES = frozenset({"principal", "tool", "arguments", "step", "run"})
"""The names that a condition may use."""


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Rule(BaseModel):
    """One rule. It matches a call when each of its parts does; a part that is absent matches every call.

    `tool` are names or patterns (`hr.*`), `effect` are effects, `role` are roles of which the principal has
    one; each may be one or a list. `when` is a CEL expression over `principal {id, roles}`, `tool {name,
    effect, idempotent, scopes, sensitivity}`, `arguments`, `step` and `run` (ids).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    verdict: Verdict
    tool: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    effect: Annotated[tuple[Effect, ...], BeforeValidator(_listed)] = ()
    role: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    when: str | None = None


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


class _Writes(BaseModel):
    model_config = ConfigDict(extra="forbid")

    allow_writes: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()


_WRITES = (Effect.WRITE, Effect.IRREVERSIBLE)
_DEFAULTS = {
    Effect.READ: Judgement("allow", "default.read"),
    Effect.WRITE: Judgement("deny", "default.write"),
    Effect.IRREVERSIBLE: Judgement("deny", "default.write"),
}

_Refuse = Callable[[int, Text, Text], None]


class Policy:
    """Ordered rules. `allow_writes` are tools whose writes are allowed where no rule says otherwise.

    Raises `PolicyError` for a condition that is no expression or uses unknown names, and for an id used
    twice.
    """

    def __init__(self, rules: Iterable[Rule] = (), *, allow_writes: Iterable[str] = ()) -> None:
        self.rules = tuple(rules)
        self.allow_writes = (allow_writes,) if isinstance(allow_writes, str) else tuple(allow_writes)
        self._conditions = _compile(self.rules, _refuse)
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
        given = file.sections.get("rules", [])
        if not isinstance(given, list):
            file.refuse(("rules",), Text("must be a list of rules", "应为规则列表"))
        rules = [file.read(Rule, item, ("rules", i)) for i, item in enumerate(cast("list[Json]", given))]
        writes = {name: value for name, value in file.sections.items() if name == "allow_writes"}
        allowed = file.read(_Writes, writes, ())

        def refuse(index: int, message: Text, hint: Text) -> None:
            file.refuse(("rules", index), message, hint)

        _compile(rules, refuse)
        return cls(rules, allow_writes=allowed.allow_writes)

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
                scope = _scope(facts)
            try:
                holds = condition.evaluate(scope)
            except ExpressionError:
                return Judgement("deny", rule.id)
            if holds is True:
                return Judgement(rule.verdict, rule.id)
            if holds is not False:
                return Judgement("deny", rule.id)
        if tool.effect is not Effect.READ and any(fnmatchcase(tool.name, name) for name in self.allow_writes):
            return Judgement("allow", "allow_writes")
        return _DEFAULTS[tool.effect]

    def to_data(self) -> dict[str, Json]:
        """The policy as plain JSON, in the form of its file."""
        rules = [rule.model_dump(mode="json", exclude_defaults=True) for rule in self.rules]
        return {"rules": rules, "allow_writes": list(self.allow_writes)}

    def digest(self) -> str:
        """The content hash that a run is pinned to."""
        return digest(canonical(self.to_data()))

    def _matching_rules(self, tool: ToolSpec) -> tuple[tuple[Rule, Expression | None], ...]:
        return tuple(
            (rule, self._conditions.get(rule.id))
            for rule in self.rules
            if (not rule.tool or any(fnmatchcase(tool.name, name) for name in rule.tool))
            and (not rule.effect or tool.effect in rule.effect)
        )


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
        if rule.when is None:
            continue
        try:
            condition = conditions[rule.id] = parse(rule.when)
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


def _refuse(index: int, message: Text, hint: Text) -> None:
    raise PolicyError(Text(f"rules[{index}]: {message.en}", f"rules[{index}]：{message.zh}"), hint)


def _scope(facts: CallFacts) -> dict[str, Json]:
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
