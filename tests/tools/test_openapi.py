"""OpenAPI documents as sources of tools, against a server whose ledger says what was done."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.tools.ledger_server import DOCUMENTS, TOKEN, LedgerServer

from sopwith.errors import Text, ToolSourceError, UserError
from sopwith.ir.schema import validator
from sopwith.ir.tool import Effect, ErrorData, ToolSpec
from sopwith.models.constraint import constraint
from sopwith.tools import OpenApiSource
from sopwith.tools.openapi_auth import ClientCredentials
from sopwith.tools.refusal import both

AMPLE = 20.0
SECRET = "sesame-123"


@pytest.fixture
def server() -> Iterator[LedgerServer]:
    made = LedgerServer()
    yield made
    made.close()


@pytest.fixture
async def ledger(server: LedgerServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OpenApiSource]:
    monkeypatch.setenv("LEDGER_KEY", SECRET)
    monkeypatch.setenv("LEDGER_LOGIN", "anna:geheim1")
    auth = {"key": "${LEDGER_KEY}", "basic": "${LEDGER_LOGIN}"}
    source = OpenApiSource("ledger", DOCUMENTS / "ledger.yaml", url=f"{server.url}/v1", auth=auth)
    await source.specs()
    yield source
    await source.close()


@pytest.fixture
async def hr(server: LedgerServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OpenApiSource]:
    monkeypatch.setenv("HR_ID", "app")
    monkeypatch.setenv("HR_SECRET", SECRET)
    auth = {"令牌": ClientCredentials("${HR_ID}", "${HR_SECRET}")}
    source = OpenApiSource("人事", DOCUMENTS / "hr.json", url=server.url, auth=auth)
    await source.specs()
    yield source
    await source.close()


async def specs_of(source: OpenApiSource) -> dict[str, ToolSpec]:
    return {spec.name: spec for spec in await source.specs()}


async def test_each_operation_is_a_tool_with_the_effect_of_its_method(ledger: OpenApiSource) -> None:
    specs = await specs_of(ledger)
    assert {name: (spec.effect.value, spec.idempotent) for name, spec in specs.items()} == {
        "ledger.closeAccount": ("irreversible", True),
        "ledger.getAccount": ("read", False),
        "ledger.get_transfers": ("read", False),
        "ledger.note": ("write", False),
        "ledger.search": ("read", False),
        "ledger.setOwner": ("write", True),
        "ledger.transfer": ("write", True),
    }
    assert specs["ledger.getAccount"].description == (
        "Look an account up.\nUse it to see a balance, not to list transfers."
    )


async def test_what_cannot_be_called_is_told_and_the_others_stay(ledger: OpenApiSource) -> None:
    told = {(d.code, d.message.en.partition(":")[0]) for d in ledger.diagnostics}
    assert told == {("SW434", "ledger.upload"), ("SW432", "ledger.loop")}
    assert [p.zh for p in ledger.problems] == [d.message.zh for d in ledger.diagnostics]


async def test_the_dialect_of_30_becomes_json_schema(ledger: OpenApiSource) -> None:
    specs = await specs_of(ledger)
    transfer = specs["ledger.transfer"].input_schema
    assert transfer["properties"]["body"] == {"$ref": "#/$defs/Transfer"}
    assert transfer["$defs"]["Transfer"] == {
        "type": "object",
        "required": ["to", "amount"],
        "properties": {
            "to": {"type": "string"},
            "amount": {"type": "number", "exclusiveMinimum": 0, "examples": [12.5]},
            "day": {"type": "string", "format": "date"},
        },
    }
    assert "Idempotency-Key" not in transfer["properties"]
    output = specs["ledger.getAccount"].output_schema
    assert output is not None and "$ref" in output
    accepts = validator(output).accepts
    nested = {
        "number": "1",
        "owner": "a",
        "limit": None,
        "parent": {"number": "2", "owner": "b", "parent": None},
    }
    assert accepts(nested)
    assert not accepts({**nested, "limit": 0})
    assert not accepts({**nested, "parent": {"owner": "b"}})
    assert not accepts({"owner": "a"})  # readOnly: not sent, and still required in what comes back


async def test_a_read_gives_its_value_and_no_credential(
    ledger: OpenApiSource, server: LedgerServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    result = await ledger.call(
        "ledger.getAccount", {"account": "A-1", "as_of": "2026-01-31"}, key="k", seconds=AMPLE
    )
    assert result.value == {"number": "A-1", "owner": "you sent [credential]", "limit": None, "parent": None}
    assert server.requests[-1][:2] == ("GET", f"/v1/accounts/A-1?as_of=2026-01-31&api_key={SECRET}")
    assert caplog.records and SECRET not in caplog.text
    redirected = await ledger.call("ledger.getAccount", {"account": "moved"}, key="k", seconds=AMPLE)
    assert redirected.error is not None and redirected.error.code == "http_302"
    assert both(redirected.error) == Text("302: redirected to /elsewhere", "302：被重定向到 /elsewhere")


async def test_basic_authentication_is_chosen_where_the_operation_asks_for_it(
    ledger: OpenApiSource, server: LedgerServer
) -> None:
    result = await ledger.call("ledger.closeAccount", {"account": "A/1 ü"}, key="k", seconds=AMPLE)
    assert (result.value, result.error) == (None, None)
    method, target, headers, _ = server.requests[-1]
    assert (method, target) == ("DELETE", "/v1/accounts/A%2F1%20%C3%BC")
    assert headers["Authorization"] == "Basic YW5uYTpnZWhlaW0x"


@pytest.mark.parametrize("account", ["..", ".", ""])
async def test_an_argument_leads_to_no_other_path(ledger: OpenApiSource, account: str) -> None:
    error = ledger.prepare("ledger.closeAccount", {"account": account})
    assert isinstance(error, ErrorData) and error.code == "invalid_arguments"


async def test_lists_and_objects_are_written_as_the_document_says(
    ledger: OpenApiSource, server: LedgerServer
) -> None:
    arguments: dict[str, Any] = {
        "state": ["a,b", "c"],
        "tag": ["x", "甲"],
        "filter": {"min": 5},
        "X-Trace": "追踪",
    }
    result = await ledger.call("ledger.get_transfers", arguments, key="k", seconds=AMPLE)
    assert result.value == []
    _, target, headers, _ = server.requests[-1]
    assert target.startswith("/v1/transfers?state=a%2Cb,c&tag=x&tag=%E7%94%B2&filter%5Bmin%5D=5&api_key=")
    assert headers["X-Trace"].encode("latin-1").decode() == "追踪"
    two_lines = ledger.prepare("ledger.get_transfers", {"X-Trace": "a\r\nX-Admin: 1"})
    assert isinstance(two_lines, ErrorData) and two_lines.code == "invalid_arguments"


async def test_a_form_is_sent_and_text_comes_back(ledger: OpenApiSource, server: LedgerServer) -> None:
    result = await ledger.call("ledger.note", {"body": {"text": "a=1&b 备注"}}, key="k", seconds=AMPLE)
    assert result.value == "a=1&b 备注"
    assert server.requests[-1][3] == "text=a%3D1%26b%20%E5%A4%87%E6%B3%A8"


@pytest.mark.parametrize(
    ("account", "code", "told"),
    [
        ("A-9", "http_404", "404: No such account: there is no A-9"),
        ("A-2", "invalid_result", "$.number: must be string, not integer"),
        ("picture", "unstorable_result", "image/png"),
    ],
)
async def test_failures_of_a_read_are_typed_errors(
    ledger: OpenApiSource, account: str, code: str, told: str
) -> None:
    result = await ledger.call("ledger.getAccount", {"account": account}, key="k", seconds=AMPLE)
    assert result.error is not None and (result.error.code, result.unknown) == (code, False)
    assert told in result.error.message


async def transfer(source: OpenApiSource, to: str, key: str = "k", seconds: float = AMPLE) -> Any:
    return await source.call("ledger.transfer", {"body": {"to": to, "amount": 5}}, key=key, seconds=seconds)


async def test_a_write_carries_its_key_so_that_it_is_done_once(
    ledger: OpenApiSource, server: LedgerServer
) -> None:
    first, again = await transfer(ledger, "bob", "key-1"), await transfer(ledger, "bob", "key-1")
    assert first.value == again.value == {"id": 1, "to": "bob", "amount": 5}
    assert server.transfers() == [("bob", 5.0)]


@pytest.mark.parametrize(("to", "code"), [("cut", "server_lost"), ("broken", "http_500")])
async def test_a_write_that_may_have_acted_is_unknown(
    ledger: OpenApiSource, server: LedgerServer, to: str, code: str
) -> None:
    result = await transfer(ledger, to)
    assert (result.unknown, result.error.code, result.value) == (True, code, None)
    assert server.transfers() == [(to, 5.0)]


async def test_a_write_that_was_refused_has_done_nothing(ledger: OpenApiSource) -> None:
    result = await transfer(ledger, "refused")
    assert (result.unknown, result.error.code) == (False, "http_422")
    assert result.error.message == '422: too much: [{"field": "amount"}]'


async def test_a_write_past_its_time_tells_later_what_it_did(
    ledger: OpenApiSource, server: LedgerServer
) -> None:
    result = await transfer(ledger, "slow", seconds=0.3)
    assert (result.unknown, result.error.code) == (True, "timeout")
    server.released.set()
    assert result.late is not None and (await asyncio.wait_for(result.late, AMPLE)).value["to"] == "slow"


async def test_a_server_that_is_not_there_was_not_called() -> None:
    source = OpenApiSource("ledger", DOCUMENTS / "ledger.yaml", url="http://127.0.0.1:9")
    result = await transfer(source, "bob")
    assert (result.unknown, result.error.code) == (False, "unavailable")
    await source.close()


async def test_a_variable_that_is_not_set_calls_nothing(server: LedgerServer) -> None:
    source = OpenApiSource(
        "ledger", DOCUMENTS / "ledger.yaml", url=f"{server.url}/v1", auth={"key": "${NOT_SET_1}"}
    )
    result = await transfer(source, "bob")
    assert (result.error.code, result.error.message) == ("unavailable", "the environment has no NOT_SET_1")
    assert server.requests == []
    await source.close()


def test_a_secret_does_not_belong_into_a_file() -> None:
    with pytest.raises(UserError, match=r"auth\.key names no variable"):
        OpenApiSource("ledger", DOCUMENTS / "ledger.yaml", auth={"key": SECRET})


async def test_a_chinese_document_of_31(hr: OpenApiSource, server: LedgerServer) -> None:
    specs = await specs_of(hr)
    assert set(specs) == {"人事.查询员工", "人事.提交请假", "人事.get_部门", "人事.更新部门"}
    given = {"工号": "E7", "字段": ["部门", "年假"]}
    assert hr.prepare("人事.查询员工", given) == given
    result = await hr.call("人事.查询员工", given, key="k", seconds=AMPLE)
    assert result.value["部门"]["下级"][0]["名称"] == "平台"
    assert server.requests[-1][2]["Authorization"] == f"Bearer {TOKEN}"
    wrong = hr.prepare("人事.查询员工", {"工号": "7"})
    assert isinstance(wrong, ErrorData) and "$.工号" in wrong.message
    tree = specs["人事.更新部门"].input_schema["properties"]["body"]
    assert tree == {"$ref": "#/$defs/部门", "description": "新的部门树。"}


async def test_a_token_is_asked_for_once(hr: OpenApiSource, server: LedgerServer) -> None:
    for _ in range(2):
        await hr.call("人事.查询员工", {"工号": "E7"}, key="k", seconds=AMPLE)
    assert [target for _, target, _, _ in server.requests].count("/token") == 1


async def test_several_answers_that_are_right_are_alternatives(hr: OpenApiSource) -> None:
    leave: dict[str, Any] = {"工号": "E7", "开始": "2026-03-02", "原因": "体检"}
    booked = await hr.call("人事.提交请假", {"body": leave}, key="k", seconds=AMPLE)
    accepted = await hr.call("人事.提交请假", {"body": {**leave, "原因": None}}, key="k", seconds=AMPLE)
    assert (booked.value, accepted.value, accepted.error) == ({"单号": 7}, None, None)
    wrong = hr.prepare("人事.提交请假", {"body": {**leave, "开始": "2026-02-30"}})
    assert isinstance(wrong, ErrorData) and "$.body.开始" in wrong.message


async def test_settings_say_otherwise_than_the_document(server: LedgerServer) -> None:
    source = OpenApiSource(
        "ledger",
        DOCUMENTS / "ledger.yaml",
        effects={"search": Effect.WRITE, "nothing": Effect.READ},
        idempotent=["note"],
        only=["se*", "no*"],
    )
    specs = await specs_of(source)
    assert set(specs) == {"ledger.search", "ledger.note", "ledger.setOwner"}
    assert specs["ledger.search"].effect is Effect.WRITE and specs["ledger.note"].idempotent
    assert [(d.code, d.message.en) for d in source.diagnostics] == [
        ("SW435", "ledger: effects.nothing: there is no such operation"),
        ("SW435", "ledger: auth: nothing is given for key: 3 operations are called without"),
    ]
    await source.close()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"swagger": "2.0"}', "Swagger 2.0"),
        ("a: [", "cannot be read"),
        ("title: a list", "not an OpenAPI 3.0 or 3.1 document"),
        ('{"openapi": "3.1.0", "paths": {}}', "names no server"),
    ],
)
async def test_what_is_no_usable_document_is_an_error_with_its_file(
    tmp_path: Any, text: str, told: str
) -> None:
    file = tmp_path / "api.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ToolSourceError, match=told) as raised:
        await OpenApiSource("api", file).specs()
    assert str(file) in raised.value.message.en and str(file) in raised.value.message.zh


async def test_a_decoder_is_held_to_what_a_reference_means(hr: OpenApiSource) -> None:
    schema = (await specs_of(hr))["人事.更新部门"].input_schema
    held = constraint(schema, 100)
    assert held["properties"]["body"] == {"$ref": "#/$defs/部门"}
    assert held["$defs"]["部门"]["properties"]["下级"]["items"] == {"$ref": "#/$defs/部门"}
