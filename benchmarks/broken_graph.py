"""Rules of the graph and of edges, each broken: SW2xx."""

from __future__ import annotations

from random import Random

from benchmarks.breaking import (
    Data,
    also,
    breaks,
    condition,
    first,
    seen,
    strictly,
    with_output,
)


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
    with_output(data)
    also(data, "over", end="complete")


@breaks("SW215")
def _wrong_result(data: Data, rng: Random) -> None:
    with_output(data)
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
    strictly(data)
    condition(data, rng.choice(("seen.n > 5", "seen.n < 5")))
    seen(data, n={"type": "integer", "maximum": 3})


def _two_conditions_of(data: Data, one: str, two: str) -> None:
    after = data["start"]
    condition(data, one)
    data["steps"]["broken"]["next"].insert(1, {"to": "other", "when": two})
    data["steps"]["other"] = {"id": "other", "end": "escalate"}
    data["steps"]["over"] = {"id": "over", "answer": "say it", "next": [{"to": after}]}
    seen(data, n={"type": "integer"}, kind={"enum": ["a", "b"]})


@breaks("SW219")
def _covered(data: Data, rng: Random) -> None:
    strictly(data)
    _two_conditions_of(data, "seen.n > 3", "seen.n > 10")


@breaks("SW220")
def _hold_together(data: Data, rng: Random) -> None:
    strictly(data)
    _two_conditions_of(data, "seen.n > 3", "seen.kind == 'a'")


@breaks("SW221")
def _apart(data: Data, rng: Random) -> None:
    with_output(data)
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


@breaks("SW225")
def _blind(data: Data, rng: Random) -> None:
    strictly(data)
    condition(data, "run.request == 'x'")
    data["steps"]["broken"]["next"][0] = {"to": "over", "judge": "more than 30 days have passed"}


@breaks("SW224")
def _decidable(data: Data, rng: Random) -> None:
    schema = {"type": "object", "required": ["topic"], "properties": {"topic": {"enum": ["leave", "pay"]}}}
    also(data, "over", end="escalate")
    data["steps"]["broken"] |= {"returns": schema, "do": "say it"}
    data["steps"]["broken"]["next"][0] = {"to": "over", "judge": "the topic is pay"}
