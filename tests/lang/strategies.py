"""Random well-formed procedures: every step is reached, every step goes on or ends, branches join, cycles
have exits."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from sopwith.ir.procedure import Procedure
from sopwith.lang.routine_text import sayable

# Whole files are read again and again, on machines of any speed.
SETTINGS = settings(deadline=None, max_examples=60)
FEW = settings(deadline=None, max_examples=25)

# What YAML can hold when escaped: everything but surrogates.
ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=30).filter(str.strip)
PHRASES = st.sampled_from(
    [
        "查询余额", "verify that the user may ask", "3.5 days, at most", "（内部）流程", "a/b: not c", "Why? Because",
        "摘出请假类型，以及日期的词", "e.g. #42", "it's \"quoted\"", "no", "on", "null", "007", "2026-01-01", "- dash",
        "wait… then go", "多行\n文本", "with `code` in it", "*star*", "& more", "${wish.kind}", "{not: flow}",
        "@me", "%",
    ]
)  # fmt: skip
WORDS = st.one_of(PHRASES, ANY_TEXT)
EXPRESSIONS = st.sampled_from(
    [
        "a.b == 'c'",
        "x > 1.5 && y in ['p', 'q']",
        "employee.type == '正式'",
        'hits.size() == 0 || a["天数"] >= 2',
        "ok",
    ]
)
# What an MCP server may call a tool: the plain form, any script, and what is no word at all.
TOOLS = st.one_of(
    st.sampled_from(["hr.get_employee", "time.resolve", "submit", "a-b.c_d"]),
    st.sampled_from(
        [
            "人事.查询余额",
            "データ.検索",
            "مخزن.بحث",
            "हिंदी.खोज",
            "a/b.c",
            "my server.look up",
            "x.工具",
            "-",
            "`",
            "a``b",
        ]
    ),
    st.text(
        st.characters(categories=("L", "N", "M")) | st.sampled_from("._-/` "), min_size=1, max_size=64
    ).filter(lambda name: name == " ".join(name.split())),
)
NAMES = st.sampled_from(["wish", "left", "filed", "answer_2", "Employee"])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
SCHEMAS = st.sampled_from(
    [
        {"type": "boolean"},
        {"enum": ["annual", "sick", "无"]},
        {"type": "object", "required": ["k"], "properties": {"k": {"enum": ["a", "b"]}, "n": {"type": "integer"}}},
        {"oneOf": [{"const": "a", "description": "the first"}, {"const": "b", "description": "第二个"}]},
    ]
)  # fmt: skip


@st.composite
def edge_conditions(draw: st.DrawFn, count: int, judges: st.SearchStrategy[str]) -> list[dict[str, Any]]:
    """Conditions of `count` edges: one alone has none, of several the last is `otherwise`."""
    if count == 1:
        return [{}]
    some = st.one_of(EXPRESSIONS.map(lambda e: {"when": e}), judges.map(lambda w: {"judge": w}))
    return [*draw(st.lists(some, min_size=count - 1, max_size=count - 1)), {"otherwise": True}]


@st.composite
def graphs(draw: st.DrawFn, judges: st.SearchStrategy[str] = WORDS, largest: int = 9) -> dict[str, Any]:
    """`next` or `end` for each of some steps, as data. Forward edges reach every step; back edges make
    cycles."""
    count = draw(st.integers(1, largest))
    targets: list[list[int]] = [[] for _ in range(count)]
    for step in range(1, count):
        targets[draw(st.integers(0, step - 1))].append(step)
    for step in range(count - 1):
        targets[step] += draw(st.lists(st.integers(0, count - 1), max_size=2))
    names = [f"s{i}" for i in draw(st.permutations(range(count)))]
    steps: dict[str, Any] = {}
    for step in draw(st.permutations(range(count))) if draw(st.booleans()) else range(count):
        onward = targets[step]
        if onward:
            conditions = draw(edge_conditions(len(onward), judges))
            steps[names[step]] = {
                "next": [{"to": names[t], **c} for t, c in zip(onward, conditions, strict=True)]
            }
        else:
            steps[names[step]] = {"end": draw(st.sampled_from(["complete", "escalate"]))}
    return {"start": names[0], "steps": steps}


def optional(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping with some of `fields`."""
    return st.fixed_dictionaries({}, optional=fields)


APPROVALS = st.fixed_dictionaries(
    {"roles": st.lists(WORDS, min_size=1, max_size=2)},
    optional={
        "count": st.integers(1, 3),
        "four_eyes": st.booleans(),
        "expires": st.integers(1, 10**6).map(float),
    },
)
_MORE = optional(
    {
        "name": WORDS, "do": WORDS, "needs": WORDS, "gives": WORDS, "as": NAMES, "uses": st.just(["inputs.a", "wish"]),
        "verify": EXPRESSIONS, "retry": st.just({"times": 2, "errors": ["busy"]}), "timeout": st.floats(0.001, 1e6),
        "visits": st.integers(1, 9), "min_confidence": st.floats(0, 1), "approval": APPROVALS, "model": WORDS,
        "pitfalls": st.lists(WORDS, min_size=1, max_size=2),
        "result": st.dictionaries(ANY_TEXT, JSON, min_size=1, max_size=2),
        "each": st.fixed_dictionaries(
            {"in": WORDS},
            optional={
                "as": NAMES, "at_once": st.integers(1, 64), "on_item_error": st.sampled_from(["stop", "collect"]),
                "limit": st.integers(1, 10_000),
            },
        ),
        "examples": st.lists(
            st.fixed_dictionaries({"answer": JSON}, optional={"given": st.just({"a": "1"})}), max_size=2
        ),
    }
)  # fmt: skip
_KINDS = st.one_of(
    st.fixed_dictionaries(
        {"tool": TOOLS}, optional={"with": st.dictionaries(ANY_TEXT, JSON, min_size=1, max_size=3)}
    ),
    st.fixed_dictionaries({"answer": WORDS}),
    st.fixed_dictionaries({"ask": WORDS, "returns": SCHEMAS}),
    st.fixed_dictionaries({"returns": SCHEMAS}),
    st.fixed_dictionaries(
        {"wait": st.sampled_from([{"for": "2d"}, {"until": "${a.when}"}, {"event": "paid"}])}
    ),
    st.fixed_dictionaries(
        {
            "call": st.fixed_dictionaries(
                {"procedure": NAMES},
                optional={
                    "with": st.dictionaries(ANY_TEXT, JSON, min_size=1, max_size=3),
                    "share": st.floats(0, 1),
                },
            )
        }
    ),
    st.just({}),
)
_HEAD = optional(
    {
        "name": WORDS, "description": WORDS, "examples": st.lists(WORDS, min_size=1, max_size=2),
        "tags": st.lists(WORDS, min_size=1, max_size=2), "tools": st.lists(TOOLS, max_size=2), "output": SCHEMAS,
        "grip": st.sampled_from(["free", "guide", "bounded"]), "timeout": st.integers(1, 10**6).map(float),
        "inputs": st.dictionaries(
            NAMES,
            st.fixed_dictionaries({"schema": SCHEMAS}, optional={"from": st.just("run.request")}),
            min_size=1,
            max_size=2,
        ),
    }
)  # fmt: skip


@st.composite
def procedures(draw: st.DrawFn) -> Procedure:
    """Any well-formed procedure, with every field that the YAML form has."""
    data = draw(graphs())
    for id_, step in data["steps"].items():
        step |= {"id": id_, **draw(_MORE), **draw(_KINDS)}
    return Procedure.from_data({"id": draw(NAMES), **draw(_HEAD), **data})


PLAIN_WORDS = st.lists(
    st.sampled_from(
        ["查询余额", "verify that the user may ask", "3.5 days", "（内部）", "a/b", "摘出类型", "why", "第1步", "it's",
         "`x > 1`", "50%", "The end", "and", "并", "#4", "100.", "ok?"]
    ),
    min_size=1,
    max_size=4,
)  # fmt: skip
SENTENCES = st.tuples(PLAIN_WORDS, st.sampled_from([" ", ", ", "，", " - "])).map(lambda p: p[1].join(p[0]))
_CONDITIONS = st.one_of(
    SENTENCES, st.sampled_from(["allowed", "余额够用", "not, as it were, allowed", "“a”，b"])
)
_SAID = optional(
    {
        "name": SENTENCES, "do": SENTENCES, "needs": st.sampled_from(["员工的原话", "the words", "a"]),
        "gives": SENTENCES, "uses": st.sampled_from([["inputs.a"], ["inputs.user_id", "run.date", "inputs.a"]]),
    }
)  # fmt: skip
_DOES = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"returns": st.just({"type": "string"}), "as": NAMES}),
    st.fixed_dictionaries({"tool": TOOLS}, optional={"as": NAMES}),
)


@st.composite
def sayable_procedures(draw: st.DrawFn) -> Procedure:
    """Procedures that Routine text can say as a whole."""
    data = draw(graphs(_CONDITIONS))
    names = list(data["steps"])
    for id_, step in data["steps"].items():
        step |= {"id": id_, **draw(_SAID), **draw(_DOES)}
        to = draw(st.lists(st.sampled_from(names), max_size=3))
        if to:
            conditions = draw(edge_conditions(len(to), _CONDITIONS))
            step["on_error"] = [{"to": t, **c} for t, c in zip(to, conditions, strict=True)]
    head = draw(
        optional(
            {"name": SENTENCES, "description": st.lists(SENTENCES, min_size=1, max_size=2).map("\n".join)}
        )
    )
    return sayable(Procedure.from_data({"id": draw(NAMES), **head, **data}))
