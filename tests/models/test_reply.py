import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sopwith.ir.schema import validator
from sopwith.models.port import Action, ModelReply, ModelRequest, Prompt
from sopwith.models.reply import Reading, read_reply

SUBMIT = Action(
    "hr__submit_leave",
    "",
    {
        "type": "object",
        "required": ["kind", "days"],
        "properties": {
            "kind": {"enum": ["annual", "sick"]},
            "days": {"type": "integer"},
            "files": {"type": "array", "items": {"type": "object"}},
            "note": {"type": "string"},
        },
        "additionalProperties": False,
    },
)
FINISH = Action("finish", "", {"type": "object", "properties": {}})
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCH = Action("search", "", QUERY)
ACTIONS = (SUBMIT, FINISH, SEARCH)
GOOD = '{"kind": "annual", "days": 2}'
VALUE = {"kind": "annual", "days": 2}
CALL = f'{{"name": "hr__submit_leave", "arguments": {GOOD}}}'


def ask(*legal: str, form: str = "action", labels: tuple[str, ...] = ()) -> ModelRequest:
    return ModelRequest(Prompt("", (), ""), form, actions=ACTIONS, legal=legal, labels=labels)  # type: ignore[arg-type]


def read(text: str, *legal: str, **reply: object) -> Reading:
    return read_reply(ask(*(legal or ("hr__submit_leave",))), ModelReply(text, **reply))  # type: ignore[arg-type]


def test_a_clean_reply_needs_no_repair():
    assert read(GOOD) == Reading(action="hr__submit_leave", value=VALUE)


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (f"```json\n{GOOD}\n```", ("fence",)),
        (f"好的:\n```json\n{GOOD}\n```\n以上", ("prose", "fence")),
        (f"Here it is: {GOOD} Anything else?", ("prose",)),
        (f"Fill {{kind}} like this: {GOOD}", ("prose",)),
        (f"<tool_call>\n{CALL}\n</tool_call>", ("wrapper", "wrapper")),
        (CALL, ("wrapper",)),
        (json.dumps(GOOD), ("stringified $",)),
        ('{"kind": "annual", "days": "2"}', ("stringified $.days",)),
    ],
)
def test_what_is_beyond_doubt_is_repaired_and_the_repair_recorded(text, repairs):
    assert read(text) == Reading(action="hr__submit_leave", value=VALUE, repairs=repairs)


def test_a_stringified_array_is_read_and_genuine_text_is_not():
    reading = read('{"kind": "annual", "days": 2, "files": "[{\\"p\\": \\"a\\"}]", "note": "[1,2]"}')
    assert reading.value == {**VALUE, "files": [{"p": "a"}], "note": "[1,2]"}
    assert reading.repairs == ("stringified $.files",)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "reply_not_json"),
        ("I cannot do that.", "reply_not_json"),
        ('{"kind": "annual", "days": 2', "reply_truncated"),
        ('{"kind": "annual", "files": [{"p": "a"}', "reply_truncated"),
        ('好的 {"outer": {"kind": "annual", "days": 2}', "reply_truncated"),
        (f"{GOOD} or {GOOD}", "reply_ambiguous"),
        (f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```", "reply_ambiguous"),
        ('{"kind": "annual", "kind": "sick", "days": 2}', "reply_not_json"),
        ("{'kind': 'annual', 'days': 2}", "reply_not_json"),
        ("{}", "invalid_arguments"),
        ("[]", "invalid_arguments"),
        ("null", "invalid_arguments"),
        ('{"kind": "holiday", "days": 2}', "invalid_arguments"),
        ('{"kind": "annual", "days": true}', "invalid_arguments"),
        ('{"kind": "annual", "days": NaN}', "reply_not_json"),
        ('{"name": "drop_table", "arguments": {}}', "unknown_action"),
    ],
)
def test_what_is_in_doubt_is_an_error_as_data(text, code):
    reading = read(text)
    assert reading.error is not None and reading.error.code == code
    assert reading.action is None and reading.value is None


def test_the_error_names_the_place_and_what_is_allowed():
    error = read('{"kind": "holiday", "days": 2, "x": 1}').error
    assert error is not None
    assert '$.kind: "holiday" is not one of "annual", "sick"' in error.message
    assert '$: "x" is not allowed here' in error.message


def test_a_reply_that_was_cut_off_is_never_a_value():
    for text in (GOOD, '{"kind"', "12"):
        error = read(text, finish="length").error
        assert error is not None and error.code == "reply_truncated"


def test_several_legal_actions_are_named_in_the_reply():
    legal = ("hr__submit_leave", "search")
    reading = read('{"name": "search", "arguments": {"query": "年假"}}', *legal)
    assert reading == Reading("search", {"query": "年假"})
    error = read(GOOD, *legal).error
    assert error is not None and error.code == "unknown_action"
    assert "hr__submit_leave, search" in error.message
    assert read('{"name": "search"}', *legal).error is not None


def test_an_action_that_is_not_legal_now_is_answered_with_the_legal_ones():
    error = read('{"name": "finish", "arguments": {}}', "hr__submit_leave", "search").error
    assert error is not None and error.code == "unknown_action"
    assert error.message == '"finish" cannot be done now; the legal names are hr__submit_leave, search'


@pytest.mark.parametrize(
    "name", ["hr.submit_leave", "functions.hr__submit_leave", "default_api.hr_submit_leave"]
)
def test_a_known_namespace_is_stripped(name):
    assert read(GOOD, name=name) == Reading("hr__submit_leave", VALUE, repairs=(f"namespace {name}",))


@pytest.mark.parametrize(
    "name", ["submit_leave", "hr__submit", "payroll.search", "hr__submit_le", "", "功能"]
)
def test_names_are_never_guessed_by_likeness(name):
    error = read(GOOD, "hr__submit_leave", "search", name=name).error
    assert error is not None and error.code == "unknown_action"


def test_a_namespace_is_not_stripped_when_another_action_is_meant():
    pay = Action("functions_search", "", {"type": "object"})
    request = ModelRequest(Prompt("", (), ""), "action", actions=(*ACTIONS, pay), legal=("search",))
    error = read_reply(request, ModelReply('{"query": "x"}', name="functions_search")).error
    assert error is not None and error.code == "unknown_action"


def test_of_several_calls_only_the_first_legal_one_is_read():
    other, own = '{"name": "finish", "arguments": {}}', f'{{"name": "hr__submit_leave", "arguments": {GOOD}}}'
    reading = read(f"[{other}, {own}]")
    assert reading.value == VALUE and reading.repairs == ("extra finish", "wrapper")
    reading = read(f"<tool_call>{own}</tool_call><tool_call>{other}</tool_call>")
    assert reading.value == VALUE and "extra finish" in reading.repairs
    assert read(GOOD, name="hr__submit_leave", extra=("finish",)).repairs == ("extra finish",)


def test_a_call_without_arguments_is_empty_only_where_nothing_can_be_said():
    assert read("", "finish", name="finish") == Reading("finish", {}, repairs=("empty",))
    assert read("", name="hr__submit_leave").error is not None
    assert read("", "search", name="search").error is not None


def test_a_tool_whose_arguments_look_like_a_call():
    call = Action(
        "call",
        "",
        {"type": "object", "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}}},
    )
    request = ModelRequest(Prompt("", (), ""), "action", actions=(call,), legal=("call",))
    text = '{"name": "x", "arguments": {}}'
    assert read_reply(request, ModelReply(text)) == Reading("call", json.loads(text))


def test_odd_text_never_breaks_the_log():
    reading = read('{"kind": "annual", "days": 2, "note": "\\ud800"}')
    assert reading.value == {**VALUE, "note": "\N{REPLACEMENT CHARACTER}"}


CHOICE = ask(form="choice", labels=("refund", "shipping", "退款"))


@pytest.mark.parametrize(
    ("text", "label", "repaired"),
    [
        ("B", "shipping", False),
        ("b", "shipping", True),
        ("B.", "shipping", True),
        (" **B** ", "shipping", True),
        ("B. shipping", "shipping", True),
        ("C：退款", "退款", True),
        ("退款", "退款", True),
        ('{"choice": "A"}', "refund", True),
    ],
)
def test_a_label(text, label, repaired):
    reading = read_reply(CHOICE, ModelReply(text, confidence=0.6, probabilities=(0.1, 0.6, 0.3)))
    assert (reading.action, bool(reading.repairs), reading.confidence) == (label, repaired, 0.6)


@pytest.mark.parametrize(
    "text",
    ["", "D", "B or C", "I think B", "ship", "AB", "B. refund", '{"a": "A", "b": "B"}', "{"],
)
def test_what_is_no_label(text):
    error = read_reply(CHOICE, ModelReply(text)).error
    assert error is not None and error.code == "no_choice"
    assert "A, B, C" in error.message


def test_the_confidence_follows_from_the_probabilities():
    assert read_reply(CHOICE, ModelReply("A", probabilities=(0.7, 0.2, 0.1))).confidence == 0.7
    assert read_reply(CHOICE, ModelReply("A")).confidence is None


def test_prose():
    text = ask(form="text")
    assert read_reply(text, ModelReply(" 您好。\n")) == Reading(value="您好。")
    assert read_reply(text, ModelReply("  ")).error is not None
    assert read_reply(text, ModelReply("您", finish="length")).error is not None


PIECES = st.sampled_from(
    ["{", "}", "[", "]", '"', "\\", ":", ",", "```json\n", "```", "<tool_call>", "</tool_call>", '"kind"',
     '"annual"', '"days"', "2", '"2"', "true", "null", "NaN", "1e999", "好的", " ", "\n", "\ud800", "\x00",
     GOOD, json.dumps(GOOD), '{"name": "search", "arguments": {"query": "x"}}', '"name"', "{}", "[" * 500]
)  # fmt: skip
MANGLED = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=40)
NAMED = st.sampled_from(["hr__submit_leave", "search", "finish", "functions.search", "x", ""])
NAMES = st.none() | NAMED | st.text(max_size=5)


@settings(max_examples=2000, deadline=None)
@given(MANGLED, NAMES, st.sampled_from([("hr__submit_leave",), ("hr__submit_leave", "search")]))
def test_no_malformed_reply_crashes_or_becomes_a_value_that_the_schema_refuses(text, name, legal):
    reading = read(text, *legal, name=name)
    if reading.error is not None:
        assert reading.action is None and reading.value is None
        json.dumps(reading.error.model_dump(), ensure_ascii=False).encode()
        return
    schemas = {action.name: action.schema for action in ACTIONS}
    assert reading.action in legal
    assert reading.value != {}
    assert validator(schemas[reading.action]).accepts(reading.value)


@settings(max_examples=500, deadline=None)
@given(MANGLED)
def test_no_malformed_choice_crashes(text):
    reading = read_reply(CHOICE, ModelReply(text))
    assert (reading.action in CHOICE.labels) != (reading.error is not None)


@pytest.mark.parametrize("depth", [90, 110, 500, 900, 940, 960, 980, 1_000, 4_000])
def test_a_value_that_nests_without_end_is_refused_where_anything_goes(depth: int) -> None:
    action = Action("go", "", {"type": "object"})
    request = ModelRequest(Prompt("", (), ""), "action", actions=(action,), legal=("go",))
    found = read_reply(request, ModelReply('{"a":' * depth + "1" + "}" * depth))
    assert (found.error is None) == (depth < 100)
