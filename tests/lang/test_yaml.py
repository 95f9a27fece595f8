"""A procedure file is read as written; what could mean something else is refused where it stands, all at
once."""

from __future__ import annotations

import pytest

from sopwith.errors import ProcedureError
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Edge, Input, Retry
from sopwith.lang.yaml import read_yaml

HEAD = "schema: sopwith/procedure/1\nid: leave\nstart: a\n"


def problems(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(ProcedureError) as raised:
        read_yaml(text, "leave.yaml")
    found = raised.value.diagnostics
    assert all(isinstance(d, Diagnostic) and d.message.zh and d.hint.en and d.hint.zh for d in found)
    return found  # pyright: ignore[reportReturnType]


def in_step(lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    return f"{HEAD}steps:\n  a:\n{body}"


def test_what_is_missing_is_offered_with_a_value() -> None:
    hints = [d.hint.en for d in problems("name: x\nsteps:\n  look: {end: complete}\n") if d.code == "SW109"]
    assert hints == ["add 'schema: sopwith/procedure/1'", "add it, such as 'id: refund'", "add 'start: look'"]
    (retry,) = problems(in_step("tool: a.b\nretry: {errors: [busy]}\nend: complete"))
    assert retry.hint.zh == "请补上，例如“times: 2”"


def test_every_spelling_of_ways_on_is_read() -> None:
    text = in_step(
        "next:\n  - {to: b, when: x > 1, guidance: slowly, pitfalls: [twice]}\n  - to: c\n    judge: 除请假外\n"
        "  - otherwise: d\non_error: d"
    )
    step = read_yaml(text).procedure.steps["a"]
    assert step.next == (
        Edge(to="b", when="x > 1", guidance="slowly", pitfalls=("twice",)),
        Edge(to="c", judge="除请假外"),
        Edge(to="d", otherwise=True),
    )
    assert step.on_error == (Edge(to="d"),)
    assert step.id == "a"


def test_an_input_is_its_schema_and_its_source() -> None:
    text = HEAD + (
        "inputs:\n  user_id: {type: string, from: run.principal.id}\n"
        "  days: {type: integer, minimum: 1, description: how many}\nsteps: {a: {end: complete}}\n"
    )
    assert read_yaml(text).procedure.inputs == {
        "user_id": Input.model_validate({"schema": {"type": "string"}, "from": "run.principal.id"}),
        "days": Input(schema={"type": "integer", "minimum": 1, "description": "how many"}),
    }


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("500ms", 0.5),
        ("20s", 20.0),
        ("2m", 120.0),
        ("1h", 3600.0),
        ("2d", 172800.0),
        ("1.5h", 5400.0),
        ("20", 20.0),
    ],
)
def test_durations_are_seconds(written: str, seconds: float) -> None:
    assert read_yaml(in_step(f"timeout: {written}\nend: complete")).procedure.steps["a"].timeout == seconds


def test_words_that_yaml_1_1_takes_for_truth_values_are_text() -> None:
    step = read_yaml(in_step("name: no\ndo: on\nwith: {yes: off, n: 1_000}\nend: complete")).procedure.steps[
        "a"
    ]
    assert (step.name, step.do, step.with_) == ("no", "on", {"yes": "off", "n": "1_000"})


def test_values_of_arguments_keep_their_types() -> None:
    step = read_yaml(
        in_step("with: {i: 1, f: 1.5, e: 1e3, t: true, n: null, empty: , x: 0x10, q: '1'}")
    ).procedure.steps["a"]
    assert step.with_ == {
        "i": 1,
        "f": 1.5,
        "e": 1000.0,
        "t": True,
        "n": None,
        "empty": None,
        "x": 16,
        "q": "1",
    }
    assert type(step.with_["i"]) is int and type(step.with_["e"]) is float


def test_a_retry_and_worked_examples_are_read() -> None:
    text = in_step(
        "retry: {times: 2, errors: [busy]}\nexamples:\n  - given: {request: x}\n    answer: null\nend: complete"
    )
    step = read_yaml(text).procedure.steps["a"]
    assert step.retry == Retry(times=2, errors=("busy",))
    assert step.examples[0].given == {"request": "x"}
    assert step.examples[0].answer is None


def test_places_point_at_the_text() -> None:
    text = in_step("tool: hr.get\nnext:\n  - to: b\n    when: x\n  - otherwise: c")
    document = read_yaml(text, "leave.yaml")
    lines = text.splitlines()
    for path, words in [
        (("steps", "a", "tool"), "hr.get"),
        (("steps", "a", "next", 0, "when"), "x"),
        (("steps", "a", "next", 1, "to"), "c"),
        (("steps", "a"), "a:"),
        (("id",), "leave"),
    ]:
        place = document.place(*path)
        assert lines[place.line - 1][place.column - 1 :].startswith(words), path
        assert place.file == "leave.yaml"
    assert document.place("steps", "a", "retry", "times") == document.place("steps", "a")


REFUSED = [
    ("SW103", "do: !x y", 6, 9),
    ("SW103", "with: {a: !!int 3}", 6, 15),
    ("SW104", "with: &x {a: 1}", 6, 11),
    ("SW104", "with: {a: *x}", 6, 15),
    ("SW104", "with: {<<: {a: 1}}", 6, 12),
    ("SW105", "do: x\ndo: y", 7, 5),
    ("SW106", "with: {1: x}", 6, 12),
    ("SW106", "with: {2026-01-01: x}", 6, 12),
    ("SW106", "with: {[a]: x}", 6, 12),
    ("SW106", "with: {null: x}", 6, 12),
    ("SW107", "with: {d: 2026-01-01}", 6, 15),
    ("SW107", "with: {d: 2026-01-01T10:00:00Z}", 6, 15),
    ("SW107", "with: {d: 007}", 6, 15),
    ("SW107", "with: {d: .inf}", 6, 15),
    ("SW107", "with: {d: 1e999}", 6, 15),
    ("SW107", "with: {d: 99999999999999999999}", 6, 15),
    ("SW107", f"with: {{d: {'9' * 5000}}}", 6, 15),
    ("SW109", "examples:\n  - given: {}", 7, 9),
    ("SW110", "toll: x", 6, 5),
    ("SW110", "id: a", 6, 5),
    ("SW111", "as: 结果", 6, 9),
    ("SW111", "next: step-2", 6, 11),
    ("SW112", "name: 3", 6, 11),
    ("SW112", "name:", 6, 5),
    ("SW112", "tool: [a, b]", 6, 5),
    ("SW112", "timeout: 20 parsecs", 6, 14),
    ("SW112", "timeout: -1", 6, 14),
    ("SW112", "timeout: true", 6, 14),
    ("SW112", "visits: 0", 6, 13),
    ("SW112", "min_confidence: 1.1", 6, 21),
    ("SW112", "retry: {times: 11}", 6, 20),
    ("SW112", "grip: firm", 6, 11),
    ("SW112", "end: done", 6, 10),
    ("SW112", "returns: string", 6, 14),
    ("SW112", "next: {to: b}", 6, 5),
    ("SW112", "next: [b, c]", 6, 12),
    ("SW113", "next: [{to: b, when: x, judge: y}]", 6, 12),
    ("SW113", "next: [{when: x}]", 6, 12),
    ("SW113", "next: [{to: b, otherwise: c}]", 6, 12),
]


@pytest.mark.parametrize(("code", "lines", "line", "column"), REFUSED)
def test_what_cannot_be_read_is_refused_where_it_stands(
    code: str, lines: str, line: int, column: int
) -> None:
    found = problems(in_step(lines))
    assert (found[0].code, found[0].place.line, found[0].place.column) == (code, line, column)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 'x", 1), ("a: [1, 2", 1), ("a:\n\t- b", 2), ("a: b: c", 1), ("a: @x", 1), ("a: \x00", 1), ("- a\nb: c", 2),
        ("%YAML 1.1\n---\na: no", 2), (f"{HEAD}steps: {{a: {{end: complete}}}}\n---\nx: 1", 5),
        ('a: "\\q"', 1), ("a: *", 1),
    ],
)  # fmt: skip
def test_what_is_not_yaml_is_one_problem_with_a_place(text: str, line: int) -> None:
    found = problems(text)
    assert "SW101" in {d.code for d in found}
    assert [d.place.line for d in found if d.code == "SW101"] == [line]


@pytest.mark.parametrize("text", ["", "# only a comment", "just words", "- a", "3"])
def test_a_text_that_is_no_mapping_is_told_how_to_begin(text: str) -> None:
    (one,) = problems(text)
    assert one.code == "SW112"
    assert "schema: sopwith/procedure/1" in one.hint.en


def test_all_problems_are_reported_at_once_in_file_order() -> None:
    text = f"{HEAD}nme: x\nsteps:\n  a:\n    toll: x\n    timeout: soon\n  b:\n    next: [{{when: x}}]\n"
    assert [(d.code, d.place.line) for d in problems(text)] == [
        ("SW110", 4), ("SW110", 7), ("SW112", 8), ("SW113", 10),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "meant"),
    [
        ("answr: x", "answer"), ("if: x", None), ("prompt: x", "do"), ("arguments: {}", "with"),
        ("retries: {}", "retry"),
        ("next:\n  - goto: b", "to"), ("next:\n  - to: b\n    if: x", "when"), ("next:\n  - else: b", "otherwise"),
        ("名称: x", "name"),
    ],
)  # fmt: skip
def test_an_unknown_field_is_told_what_was_probably_meant(lines: str, meant: str | None) -> None:
    hints = [d.hint.en for d in problems(in_step(lines)) if d.code in ("SW110", "SW113")]
    if meant is not None and "goto" not in lines and "else" not in lines:
        assert hints == [f"did you mean '{meant}'?"]
    assert hints


def test_missing_parts_are_named() -> None:
    assert [d.message.en for d in problems("name: x\n")] == [
        f"the procedure has no '{key}'" for key in ("schema", "id", "start", "steps")
    ]
    assert [d.code for d in problems(f"{HEAD}steps: {{}}\n")] == ["SW109"]


def test_a_file_for_another_version_is_not_looked_into() -> None:
    (one,) = problems("schema: sopwith/procedure/2\nid: x\nflow: {}\n")
    assert (one.code, one.place.line, one.place.column) == ("SW108", 1, 9)
    assert "sopwith/procedure/1" in one.message.en and "sopwith/procedure/2" in one.message.zh


def test_step_ids_and_input_names_are_identifiers() -> None:
    found = problems(f"{HEAD}inputs: {{user-id: {{}}}}\nsteps:\n  步骤一: {{}}\n  2nd: {{}}\n")
    assert [(d.code, d.place.line, d.place.column) for d in found] == [
        ("SW111", 4, 10),
        ("SW111", 6, 3),
        ("SW111", 7, 3),
    ]
    assert "user_id" in found[0].hint.en and "_2nd" in found[2].hint.en


def test_deep_and_long_files_are_refused_before_they_cost_anything() -> None:
    assert problems(in_step("with: " + "[" * 500))[0].code == "SW102"
    assert problems(HEAD + "#" * 1_000_000)[0].code == "SW102"
    bomb = in_step("with:\n  a: &a [x, x]\n  b: &b [*a, *a]\n  c: &c [*b, *b]\n  d: [*c, *c, *c]")
    assert {d.code for d in problems(bomb)} == {"SW104"}


def test_at_most_fifty_problems_are_listed() -> None:
    assert len(problems(HEAD + "".join(f"x{i}: 1\n" for i in range(300)))) == 50


def test_the_error_shows_every_problem_in_both_languages() -> None:
    with pytest.raises(ProcedureError) as raised:
        read_yaml(in_step("toll: x\nname: 3"), "leave.yaml")
    assert str(raised.value).splitlines() == [
        "leave.yaml cannot be read: 2 problems",
        "error[SW110] leave.yaml:6:5 unknown field 'toll' in 'steps.a'",
        "help: did you mean 'tool' or 'tools'?",
        "error[SW112] leave.yaml:7:11 'steps.a.name' must be text, not the number 3",
        "help: put it in quotes",
    ]
    assert "错误[SW110] leave.yaml:6:5 'steps.a' 中未知的字段“toll”" in raised.value.render("zh")
