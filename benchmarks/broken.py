"""For each code of `check`, sound procedures of which exactly that rule is broken.

`BREAKS` holds a function for each code of `sopwith.lang.check.codes`: it takes the data of a procedure that has no
errors and breaks one rule, mostly in a step that is put before the others. Somebody who adds a code adds a function
here, and names in `IMPLIED` the other codes that cannot but be reported with it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

from sopwith.ir.procedure import Procedure
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.lang.refused import GRIPS, KINDS

Data = dict[str, Any]
Break = Callable[[Data, Random], None]

TEXT = {"type": "string"}
_WHO = {
    "type": "object",
    "properties": {"who": TEXT, "kind": {"enum": ["a", "b"]}},
    "required": ["who"],
    "additionalProperties": False,
}
_STATE = {"type": "object", "properties": {"state": TEXT}, "required": ["state"]}
TOOLS = {
    "broken.look": ToolSpec(name="broken.look", input_schema=_WHO, output_schema=_STATE),
    "broken.write": ToolSpec(
        name="broken.write", input_schema=_WHO, output_schema=_STATE, effect=Effect.WRITE
    ),
}
"""What the broken steps call, beside the tools of the procedure."""

IMPLIED: dict[str, frozenset[str]] = {}
"""Codes of errors that stand beside a code wherever it does."""

BREAKS: dict[str, Break] = {}


def broken(code: str, procedure: Procedure, rng: Random) -> Procedure:
    """`procedure` with the rule of `code` broken."""
    data = copy.deepcopy(procedure.to_data())
    BREAKS[code](data, rng)
    return Procedure.from_data(data)


def breaks(code: str) -> Callable[[Break], Break]:
    """Register the function that breaks the rule of `code`."""

    def register(function: Break) -> Break:
        BREAKS[code] = function
        return function

    return register


def first(data: Data, id_: str = "broken", *, end: str | None = None, **step: Any) -> None:
    """Put a step before the others. Without `next` and `end` it leads to what was the first."""
    if "tool" in step and data.get("tools") is not None:
        data["tools"].append(step["tool"])
    if end is None:
        step.setdefault("next", [{"to": data["start"]}])
    else:
        step["end"] = end
    data["steps"][id_] = {"id": id_, **step}
    data["start"] = id_


def also(data: Data, id_: str, **step: Any) -> None:
    """Put a step before the others that sometimes leads to the new step `id_`, and else to what was the first."""
    start = data["start"]
    data["steps"][id_] = {"id": id_, **step}
    first(data, next=[{"to": id_, "when": "run.request == 'x'"}, {"to": start, "otherwise": True}])


def condition(data: Data, when: str) -> None:
    """Put a step before the others whose first edge has the condition `when`."""
    also(data, "over", end="escalate")
    data["steps"]["broken"]["next"][0]["when"] = when


def value(data: Data, **step: Any) -> None:
    """Put a step before the others that lets the model write a text."""
    first(data, **{"returns": TEXT, "do": "say it", **step})


def seen(data: Data, **properties: Any) -> None:
    """Put a step before the others that gives the record `seen`."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    first(data, "seen", returns=schema, do="say it")


def _with_output(data: Data) -> None:
    """Give the procedure an output of its own, and each of its completing ends that."""
    data["output"] = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}
    for step in data["steps"].values():
        if step.get("end") == "complete":
            step["result"] = {"a": 1}


def _named_tools(data: Data) -> list[str]:
    return list(Procedure.from_data(data).step_tools())


# The graph.


@breaks("SW201")
def _unknown_target(data: Data, rng: Random) -> None:
    condition(data, "run.request == 'x'")
    data["steps"]["broken"]["next"].insert(0, {"to": "nowhere", "when": "run.request == 'y'"})


@breaks("SW202")
def _unknown_start(data: Data, rng: Random) -> None:
    data["start"] = "nowhere"


@breaks("SW203")
def _unreachable(data: Data, rng: Random) -> None:
    data["steps"]["lost"] = {"id": "lost", "end": "escalate"}


@breaks("SW204")
def _no_exit(data: Data, rng: Random) -> None:
    also(data, "round_a", next=[{"to": "round_b"}])
    data["steps"]["round_b"] = {"id": "round_b", "next": [{"to": "round_a"}]}


@breaks("SW205")
def _stuck(data: Data, rng: Random) -> None:
    also(data, "stuck", name="no way on")


@breaks("SW206")
def _end_goes_on(data: Data, rng: Random) -> None:
    first(data, end="escalate", next=[{"to": data["start"]}])


@breaks("SW207")
def _only_failure(data: Data, rng: Random) -> None:
    failing = {"tool": "broken.look", "with": {"who": "u1"}}
    also(data, "round_a", **failing, next=[{"to": "round_b"}], on_error=[{"to": "over"}])
    data["steps"]["round_b"] = {"id": "round_b", "next": [{"to": "round_a"}]}
    data["steps"]["over"] = {"id": "over", "end": "escalate"}
    if data.get("tools") is not None:
        data["tools"].append("broken.look")


@breaks("SW208")
def _two_otherwise(data: Data, rng: Random) -> None:
    condition(data, "run.request == 'x'")
    data["steps"]["broken"]["next"].append({"to": "over", "otherwise": True})


@breaks("SW209")
def _no_otherwise(data: Data, rng: Random) -> None:
    condition(data, "run.request == 'x'")
    edge = data["steps"]["broken"]["next"][1]
    del edge["otherwise"]
    edge |= {"judge": "the user names a date"} if rng.random() < 0.5 else {"when": "run.request == 'y'"}


@breaks("SW210")
def _never_taken(data: Data, rng: Random) -> None:
    if rng.random() < 0.5:
        condition(data, rng.choice(("1 > 2", "2 > 1", "false")))
        return
    condition(data, "run.request == 'x'")
    data["steps"]["broken"]["next"].insert(1, {"to": "over", "when": "run.request  ==  'x'"})


@breaks("SW211")
def _otherwise_first(data: Data, rng: Random) -> None:
    condition(data, "run.request == 'x'")
    data["steps"]["broken"]["next"].reverse()


@breaks("SW212")
def _unconditional(data: Data, rng: Random) -> None:
    condition(data, "run.request == 'x'")
    del data["steps"]["broken"]["next"][0]["when"]


@breaks("SW213")
def _two_conditions(data: Data, rng: Random) -> None:
    condition(data, "run.request == 'x'")
    data["steps"]["broken"]["next"][0]["judge"] = "the user names a date"


@breaks("SW214")
def _no_result(data: Data, rng: Random) -> None:
    _with_output(data)
    also(data, "over", end="complete")


@breaks("SW215")
def _wrong_result(data: Data, rng: Random) -> None:
    _with_output(data)
    wrong = rng.choice(({"a": "text"}, {}, {"a": 1, "b": 2}, {"a": "${run.request}"}))
    also(data, "over", end="complete", result=wrong)


@breaks("SW216")
def _result_for_nobody(data: Data, rng: Random) -> None:
    also(data, "over", end="escalate", result={"a": 1})


@breaks("SW217")
def _too_many_choices(data: Data, rng: Random) -> None:
    start = data["start"]
    judges = [{"to": start, "judge": f"the user names the number {i}"} for i in range(26)]
    first(data, next=[*judges, {"to": start, "otherwise": True}])


@breaks("SW218")
def _always_or_never(data: Data, rng: Random) -> None:
    condition(data, rng.choice(("seen.n > 5", "seen.n < 5")))
    seen(data, n={"type": "integer", "maximum": 3})


def _two_conditions_of(data: Data, one: str, two: str) -> None:
    condition(data, one)
    data["steps"]["broken"]["next"].insert(1, {"to": "other", "when": two})
    data["steps"]["other"] = {"id": "other", "end": "escalate"}
    seen(data, n={"type": "integer"}, kind={"enum": ["a", "b"]})


@breaks("SW219")
def _covered(data: Data, rng: Random) -> None:
    _two_conditions_of(data, "seen.n > 3", "seen.n > 10")


@breaks("SW220")
def _hold_together(data: Data, rng: Random) -> None:
    _two_conditions_of(data, "seen.n > 3", "seen.kind == 'a'")


@breaks("SW221")
def _apart(data: Data, rng: Random) -> None:
    _with_output(data)
    condition(data, "run.request == 'x'")
    edges = data["steps"]["broken"]["next"]
    edges[0]["to"], edges[1:1] = "a_0", [{"to": "b_0", "judge": "the user names a date"}]
    for arm in "ab":
        for i in range(5):
            step = {"id": f"{arm}_{i}", "answer": f"say {arm} {i}"}
            onward = (
                {"next": [{"to": f"{arm}_{i + 1}"}]} if i < 4 else {"end": "complete", "result": {"a": 1}}
            )
            data["steps"][step["id"]] = step | onward
    del data["steps"]["over"]


@breaks("SW222")
def _too_many_steps(data: Data, rng: Random) -> None:
    for i in range(13):
        first(data, f"more_{i}", answer=f"say {i}")


@breaks("SW223")
def _vague(data: Data, rng: Random) -> None:
    condition(data, "run.request == 'x'")
    words = rng.choice(("a person should look at it if necessary", "视情况需要人工处理"))
    data["steps"]["broken"]["next"][0] = {"to": "over", "judge": words}


@breaks("SW224")
def _decidable(data: Data, rng: Random) -> None:
    schema = {"type": "object", "required": ["topic"], "properties": {"topic": {"enum": ["leave", "pay"]}}}
    also(data, "over", end="escalate")
    data["steps"]["broken"] |= {"returns": schema, "do": "say it"}
    data["steps"]["broken"]["next"][0] = {"to": "over", "judge": "the topic is pay"}


# Names and types.


@breaks("SW301")
def _unreadable(data: Data, rng: Random) -> None:
    if rng.random() < 0.5:
        condition(data, rng.choice(("run.request ==", "run.request = 'x'", "a and b")))
    else:
        value(data, do=rng.choice(("${1 +}", "${run.request", "${天数}")))


@breaks("SW302")
def _unknown_name(data: Data, rng: Random) -> None:
    if rng.random() < 0.5:
        value(data, do="${unheard_of}")
    else:
        condition(data, "unheard_of == 1")


@breaks("SW303")
def _not_on_every_path(data: Data, rng: Random) -> None:
    value(data, id_="reader", do="${sometimes}")
    also(data, "writer", returns=TEXT, do="say it", **{"as": "sometimes"}, next=[{"to": "reader"}])


@breaks("SW304")
def _no_error(data: Data, rng: Random) -> None:
    value(data, do="${error.code}")


@breaks("SW305")
def _unknown_field(data: Data, rng: Random) -> None:
    value(data, do=rng.choice(("${run.principal.age}", "${run.requests}")))


@breaks("SW306")
def _unknown_function(data: Data, rng: Random) -> None:
    condition(data, rng.choice(("frobnicate(run.request)", "run.request.frob('x')")))


@breaks("SW307")
def _operands(data: Data, rng: Random) -> None:
    condition(data, rng.choice(("run.request > 3", "run.request + 1 == 'x'", "!run.request")))


@breaks("SW308")
def _never_equal(data: Data, rng: Random) -> None:
    condition(data, rng.choice(("run.request == 3", "run.principal == 'u1'")))


@breaks("SW309")
def _fails_for_some(data: Data, rng: Random) -> None:
    schema, when = rng.choice((
        ({"n": {"type": "number"}}, "seen.n * 2 > 3"),
        ({"n": {"type": ["integer", "null"]}}, "seen.n > 3"),
    ))  # fmt: skip
    needed = list(schema) if rng.random() < 0.5 else []
    condition(data, when if needed else f"!has(seen.n) || {when}")
    first(data, "seen", returns={"type": "object", "properties": schema, "required": needed}, do="say it")


@breaks("SW310")
def _no_truth(data: Data, rng: Random) -> None:
    condition(data, rng.choice(("run.request", "run.request.size()", "run.principal.roles")))


@breaks("SW311")
def _no_list(data: Data, rng: Random) -> None:
    value(data, returns={"enum": "${run.request}"})


@breaks("SW320")
def _reserved(data: Data, rng: Random) -> None:
    value(data, **{"as": rng.choice(("for", "int", "run", "error", "inputs"))})


@breaks("SW321")
def _no_identifier(data: Data, rng: Random) -> None:
    value(data, **{"as": rng.choice(("名称", "a-b", "1st"))})


@breaks("SW322")
def _same_name(data: Data, rng: Random) -> None:
    value(data, id_="second", **{"as": "twice"})
    value(data, id_="first", **{"as": "twice"})


@breaks("SW323")
def _unread_value(data: Data, rng: Random) -> None:
    value(data, **{"as": "unread"})


@breaks("SW324")
def _unread_input(data: Data, rng: Random) -> None:
    # Whoever reads all inputs at once reads this one as well.
    data |= json.loads(json.dumps(data).replace("${inputs}", "${run.request}"))
    data.setdefault("inputs", {})["unread"] = {"schema": TEXT, "from": "run.request"}


@breaks("SW330")
def _unknown_fact(data: Data, rng: Random) -> None:
    data.setdefault("inputs", {})["who_else"] = {"schema": TEXT, "from": rng.choice(("run.nobody", "today"))}


@breaks("SW331")
def _no_schema(data: Data, rng: Random) -> None:
    value(data, returns=rng.choice(({"type": "texts"}, {"minLength": -1}, {"enum": 3})))


@breaks("SW332")
def _wrong_example(data: Data, rng: Random) -> None:
    value(data, examples=[{"answer": 3}])


@breaks("SW333")
def _unseen_example(data: Data, rng: Random) -> None:
    value(data, uses=["run.request"], examples=[{"given": {"other": 1}, "answer": "x"}])


@breaks("SW334")
def _use_of_no_name(data: Data, rng: Random) -> None:
    value(data, uses=["1 + 1"])


@breaks("SW335")
def _cut_schema(data: Data, rng: Random) -> None:
    value(data, returns={"type": "string", "description": "the day", "if there is one": None})


# Tools, and what does nothing.


@breaks("SW401")
def _unknown_tool(data: Data, rng: Random) -> None:
    data.pop("tools", None)
    first(data, tool="broken.lok", **{"with": {"who": "u1"}})


@breaks("SW402")
def _not_permitted(data: Data, rng: Random) -> None:
    permitted = _named_tools(data)
    first(data, tool="broken.look", **{"with": {"who": "u1"}})
    data["tools"] = permitted


@breaks("SW403")
def _unknown_permitted(data: Data, rng: Random) -> None:
    data["tools"] = [*_named_tools(data), "broken.nothing"]


@breaks("SW404")
def _several_things(data: Data, rng: Random) -> None:
    first(data, tool="broken.look", answer="say it", **{"with": {"who": "u1"}})


@breaks("SW405")
def _refused_value(data: Data, rng: Random) -> None:
    given = rng.choice(({"who": 3}, {"who": "u1", "kind": "c"}, {"who": "${run.principal}"}))
    first(data, tool="broken.look", **{"with": given})


@breaks("SW406")
def _unknown_argument(data: Data, rng: Random) -> None:
    first(data, tool="broken.look", **{"with": {"who": "u1", "whom": "u2"}})


@breaks("SW407")
def _nobody_gives(data: Data, rng: Random) -> None:
    first(data, tool="broken.look")


@breaks("SW408")
def _unchecked(data: Data, rng: Random) -> None:
    first(data, tool="broken.write", **{"with": {"who": "u1"}})


@breaks("SW409")
def _no_tool(data: Data, rng: Random) -> None:
    first(data, **{"with": {"who": "u1"}})


@breaks("SW410")
def _unused_tool(data: Data, rng: Random) -> None:
    data["tools"] = [*_named_tools(data), "broken.look"]


_REFUSED: dict[str, Any] = {
    "each": {"in": "${run.principal.roles}", "as": "role"}, "call": {"procedure": "other"}, "wait": {"for": "2d"},
    "script": "print(1)", "code": "say it",
}  # fmt: skip


@breaks("SW501")
def _not_run(data: Data, rng: Random) -> None:
    kind = rng.choice(sorted(KINDS))
    first(data, **{kind: _REFUSED[kind]})


@breaks("SW502")
def _no_such_grip(data: Data, rng: Random) -> None:
    value(data, grip=rng.choice(sorted(GRIPS)))


@breaks("SW503")
def _not_carried_out(data: Data, rng: Random) -> None:
    value(data, approval="boss")


@breaks("SW504")
def _idle(data: Data, rng: Random) -> None:
    key, idle = rng.choice((("retry", {"times": 1}), ("tools", ["broken.look"]), ("min_confidence", 0.5)))
    value(data, **{key: idle})
    if key == "tools" and data.get("tools") is not None:
        data["tools"].append("broken.look")
