"""Placeholders for secrets, and the way back: what is found, what is left, and that nothing is lost."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopwith.errors import PolicyError
from sopwith.guard.redact import Redactor
from sopwith.guard.secret import SecretRule
from sopwith.guard.vault import MemoryVault, Vault
from sopwith.ir.tool import ErrorData


def redactor(vault: Vault | None = None, run: str = "r1") -> Redactor:
    return Redactor(vault or MemoryVault(), run)


# What is found

SECRETS = [
    ("phone", "13800138000"),
    ("phone", "138 0013 8000"),
    ("phone", "138-0013-8000"),
    ("phone", "+86 138 0013 8000"),
    ("phone", "+8613800138000"),
    ("phone", "0086-138-0013-8000"),
    ("phone", "(+86)13800138000"),
    ("phone", "１３８００１３８０００"),
    ("phone", "１３８-００１３-８０００"),
    ("phone", "138\u00a00013\u00a08000"),
    ("phone", "138‑0013‑8000"),
    ("phone", "138\t0013\t8000"),
    ("phone", "138\n0013\r\n8000"),
    ("phone", "138 - 0013 - 8000"),
    ("phone", "138\u30000013\u20098000"),
    ("phone", "138\u200b0013\u200b8000"),
    ("phone", "+86\t138\t0013\t8000"),
    ("phone", "013800138000"),
    ("phone", "010-12345678"),
    ("phone", "0571-8888888"),
    ("phone", "010\t12345678"),
    ("phone", "+1 (415) 555-2671"),
    ("phone", "+1\t415\t555\t2671"),
    ("phone", "+33 6 12 34 56 78"),
    ("phone", "+442071838750"),
    ("phone", "(415) 555-2671"),
    ("phone", "415-555-2671"),
    ("phone", "138_0013_8000"),
    ("phone", "138/0013/8000"),
    ("phone", "138%200013%208000"),
    ("phone", "138+0013+8000"),
    ("phone", "138\\n0013\\n8000"),
    ("phone", "138\\u00a00013\\u00a08000"),
    ("phone", "①③⑧00138000"),
    ("phone", "١٣٨٠٠١٣٨٠٠٠"),
    ("phone", "𝟏𝟑𝟖𝟎𝟎𝟏𝟑𝟖𝟎𝟎𝟎"),
    ("phone", "(010)12345678"),
    ("phone", "（010）1234 5678"),
    ("phone", "01012345678"),
    ("phone", "021 6234 5678"),
    ("phone", "0571-8888-8888"),
    ("phone", "057188888888"),
    ("phone", "86-10-12345678"),
    ("phone", "86-21-6234-5678"),
    ("email", "li%40example.com"),
    ("email", "ｌｉ＠ｅｘａｍｐｌｅ．ｃｏｍ"),
    ("id", "110105491231002"),
    ("card", "6222_0212_3456_7890_128"),
    ("key", "ｓｋ-ｌｉｖｅ-abc123"),
    ("key", "bce-v3/ALTAK-abcdefghijklmnop1234/abcdef0123456789abcdef"),
    ("key", "AKLTabcdefghij0123456789"),
    ("key", "GOCSPX-abcdefghij_1234567890"),
    ("key", "gsk_abcdefghij0123456789"),
    ("key", "hvs.CAESIJabcdefghijklmnopq123"),
    ("email", "li.lei+hr@mail.example.com.cn"),
    ("email", "LiLei＠example.com"),
    ("id", "11010519491231002X"),
    ("id", "11010519491231002x"),
    ("id", "110105 19491231 002X"),
    ("id", "１１０１０５１９４９１２３１００２X"),
    ("card", "6222021234567890128"),
    ("card", "4111 1111 1111 1111"),
    ("card", "4111-1111-1111-1111"),
    ("card", "4111\t1111\t1111\t1111"),
    ("card", "378282246310005"),
    ("key", "sk-live-123"),
    ("key", "sk_test_4eC39HqLyjWDarjtT1zdp7dc"),
    ("key", "sk-proj-abcDEF123456789012345678"),
    ("key", "sk-ant-api03-abcdefghijklmnop"),
    ("key", "AKIAIOSFODNN7EXAMPLE"),
    ("key", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
    ("key", "github_pat_11ABCDEFG0abcdefghijklmnop"),
    ("key", "glpat-abcdefghij0123456789"),
    ("key", "xoxb-123456789012-abcdefghij"),
    ("key", "AIzaSyA1234567890abcdefghijklmnopqrstu"),
    ("key", "LTAI5tAbCdEfGhIjKlMn"),
    ("key", "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"),
    ("key", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg and cut off here"),
    ("token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"),
]

AROUND = ["{}", "电话{}，请回电。", "call {} now", "({})", '"{}"', "x: {}\n", "工号是{}。"]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("kind", "secret"), SECRETS, ids=lambda v: ascii(v)[:24])
def test_a_secret_is_found_wherever_it_stands(kind: str, secret: str, around: str) -> None:
    one = redactor()
    text = around.format(secret)
    redacted = one.redact(text)
    assert f"<{kind}:1>" in redacted
    assert secret.split("\n")[0].strip("-() ") not in redacted
    assert one.reveal(redacted) == text


ASSIGNED = [
    ("password=hunter2", "hunter2"),
    ("PASSWORD: Tr0ub4dor", "Tr0ub4dor"),
    ('{"password": "correct horse"}', "correct horse"),
    ('{"password": "ab"}', '"ab"'),
    ('{"user_password":"hunter2"}', "hunter2"),
    ('{"userPassword": "x y"}', "x y"),
    (r"{\"password\": \"hunter2\"}", "hunter2"),
    ("密码：“请 进”", "请 进"),
    ("password=ab", "=ab"),
    ("pwd=abc&user=li", "abc"),
    ("db_password = 's3cr3t'", "s3cr3t"),
    ("api_key: 9f8e7d6c5b4a", "9f8e7d6c5b4a"),
    ("client_secret=zzz-yyy", "zzz-yyy"),
    ("密码：abc12345", "abc12345"),
    ("密码是swordfish", "swordfish"),
    ("我的密码为 Hello@2026，谢谢", "Hello@2026"),
    ("my password is hunter2", "hunter2"),
    ("Authorization: Bearer abcDEF123456ghi", "abcDEF123456ghi"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
    ("postgres://app:p4ss:w@db.internal/x", "p4ss"),
    ("https://x.example/?access_token=a1b2c3d4e5", "a1b2c3d4e5"),
    ("token: 0123456789abcdef", "0123456789abcdef"),
    ("postgres://app:p@ss@db.internal/x", "p@ss"),
    ("密码 abc12345", "abc12345"),
    ("Set-Cookie: session=abcdef0123456789", "abcdef0123456789"),
    ("https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=693a91f6-7aoc-4bc4", "693a91f6"),
    ("https://open.feishu.cn/open-apis/bot/v2/hook/550e8400-e29b-41d4-a716-446655440000", "550e8400"),
    ("https://hooks.slack.com/services/T000/B000/XXXXXXXX", "XXXXXXXX"),
    (r"{\"error\": \"line\nsk-live-123456\"}", "sk-live-123456"),
    ("q=%E7%94%B5%E8%AF%9D%3A13800138000%3B", "13800138000"),
    (r"\u7535\u8bdd\uff1a13800138000", "13800138000"),
]


@pytest.mark.parametrize(("text", "secret"), ASSIGNED, ids=lambda v: ascii(v)[:24])
def test_the_value_beside_a_word_for_secrets_is_one(text: str, secret: str) -> None:
    one = redactor()
    redacted = one.redact(text)
    assert secret not in redacted and ":1>" in redacted
    assert one.reveal(redacted) == text


PLAIN = [
    "138\t0013\t800",
    "4500\t0012\t3450\t1111",
    "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15",
    '{"password_hint": "first school", "token_count": 12}',
    '{"password": ""}',
    "订单号 20261130123456789，请查收",
    "991105491231002",
    "110105491331002",
    "SF01012345678",
    "第 0312 页，共 0400 页",
    "x² + 10³ = 5",
    r"C:\new\table\readme.txt",
    "100% of 20%25",
    "order 4500012345 of 2026-11-30",
    "2026-11-30T12:28:38.123456+08:00",
    "2026-11-30 12:28:38 +0800",
    "1790000000000",
    "1790000000000000",
    "550e8400-e29b-41d4-a716-446655440000",
    "13800138-0000-4000-8000-13800138000a",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "a13800138000b13800138000c13800138000d",
    "commit 13800138000abcdef0123456789abcdef01234567",
    "SF1380013800012",
    "110105194912310021",
    "4111 1111 1111 1112",
    "6222021234567890123",
    "192.168.100.200:8080",
    "3.14159265358979",
    "@李雷 看一下",
    "lodash@4.17.21",
    "a@b",
    "https://example.com/docs?page=2#top",
    "请重置我的密码",
    "密码是多少？",
    "The password is required.",
    "How do I reset my password: please help",
    "password is at least 8 characters",
    "the bearer of responsibilities",
    "basic understanding of 3 things",
    "max tokens: 512, tokens=512",
    "sk-learn and task-12 and risk-based-assessment",
    "scikit-learn-extra-package-name",
    "请假 3 天，从 12 月 1 日到 12 月 3 日",
    "<b>bold</b> a < b > c <step> <https://example.com>",
    "9999999999999999999",
    "1+12345678",
    "第 400 条，共 12000000000 元",
]


@pytest.mark.parametrize("text", PLAIN, ids=ascii)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redactor().redact(text) is text


def test_numbers_and_keys_of_objects_are_covered() -> None:
    one = redactor()
    value = {
        "13800138000": {"phone": 13800138000, "days": 3, "at": 1790000000000000, "ratio": 0.5},
        "a@b.cn": None,
    }
    redacted = one.redact(value)
    assert redacted == {
        "<phone:1>": {"phone": "<phone:2>", "days": 3, "at": 1790000000000000, "ratio": 0.5},
        "<email:1>": None,
    }
    assert repr(one.reveal(redacted)) == repr(value)


@pytest.mark.parametrize(
    "key", ["password", "Passwd", "api_key", "apiKey", "client_secret", "access-token", "密码"]
)
@pytest.mark.parametrize("secret", ["letmein", "请进", 123456])
def test_the_value_of_a_key_for_secrets_is_one(key: str, secret: object) -> None:
    one = redactor()
    value = {"user": "li", key: secret}
    assert one.redact(value) == {"user": "li", key: "<password:1>"}
    assert one.reveal(one.redact(value)) == value


@pytest.mark.parametrize(
    "value", [None, True, "", {}, {"a": None, "b": [False, ""]}, []], ids=lambda value: repr(value)
)
def test_a_key_for_secrets_without_one_stays(value: object) -> None:
    whole = {"password": value}
    assert redactor().redact(whole) is whole


SECRET_NAMES = (
    "password Passwd PASSWORD pwd root_pwd user_password userPassword userpassword db-password dbPassword2 "
    "password_2 newPassword confirm_password passwordConfirm password_hash passwords passphrase accessToken "
    "access_token refresh-token api_key apiKey APIKEY x-api-key secret clientSecret secret_key credentials "
    "awsSecretAccessKey privateKey ssh_private_key Authorization Proxy-Authorization 登录密码 支付口令 密钥"
)
OTHER_NAMES = (
    "token_count max_tokens maxTokens password_hint password_policy password_changed_at secretary secret_name "
    "key public_key primary_key sort_key keyboard tokenizer token_type compass passenger passport credential_type "
    "authorization_url key_id 密码提示 密码强度"
)


@pytest.mark.parametrize("secret", ["ab", "hunter2", 7, {"value": "x", "ttl": [3, {"a": "b"}]}, ["a", "b"]])
@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_all_below_a_name_that_ends_with_a_word_for_secrets_is_one(name: str, secret: object) -> None:
    def leaves(value: Any) -> list[Any]:
        if isinstance(value, dict | list):
            return [
                leaf
                for item in (value.values() if isinstance(value, dict) else value)
                for leaf in leaves(item)
            ]
        return [value]

    one = redactor()
    redacted = one.redact([{"user": "li", name: secret}])
    assert all(re.fullmatch("<password:[0-9]+>", leaf) for leaf in leaves(redacted[0][name]))
    assert redacted[0]["user"] == "li"
    assert one.reveal(redacted) == [{"user": "li", name: secret}]


@pytest.mark.parametrize("name", OTHER_NAMES.split())
def test_a_name_that_only_holds_such_a_word_is_none(name: str) -> None:
    whole = {name: "the one of your first school"}
    assert redactor().redact(whole) is whole


def test_an_error_is_covered_in_its_code_and_its_message() -> None:
    one = redactor()
    error = ErrorData(code="sk-live-abc123secret", message="call 13800138000", step="send")
    redacted = one.redact_error(error)
    assert redacted == ErrorData(code="<key:1>", message="call <phone:1>", step="send")
    assert one.redact_error(redacted, mixed=True) is redacted
    assert one.redact_error(redacted) == ErrorData(
        code="<literal:1>", message="call <literal:2>", step="send"
    )
    clean = ErrorData(code="no_such_ticket", message="there is no ticket 7")
    assert one.redact_error(clean) is clean


def test_a_tools_exception_is_covered() -> None:
    text = str(ValueError("sk-live-123 张三 13800138000"))
    assert redactor().redact(text) == "<key:1> 张三 <phone:1>"


# The way back


def test_a_value_without_secrets_is_the_same_object() -> None:
    value = {"name": "李雷", "days": [1, 2.5, None, True], "note": "2026-11-30"}
    one = redactor()
    assert one.redact(value) is value
    assert one.reveal(value) is value


def test_one_secret_has_one_placeholder_in_a_run_and_another_run_counts_anew() -> None:
    vault = MemoryVault()
    one = redactor(vault)
    assert one.redact(["13900139000", "13800138000 和 13900139000"]) == [
        "<phone:1>",
        "<phone:2> 和 <phone:1>",
    ]
    assert redactor(vault).redact("13800138000") == "<phone:2>"
    assert redactor(vault, "r2").redact("13800138000") == "<phone:1>"


def test_a_later_process_reveals_what_an_earlier_one_redacted() -> None:
    vault = MemoryVault()
    redacted = redactor(vault).redact({"to": "li@example.com"})
    assert redactor(vault).reveal(redacted) == {"to": "li@example.com"}


def test_a_placeholder_that_somebody_typed_is_not_somebodys_number() -> None:
    one = redactor()
    assert one.redact("13800138000") == "<phone:1>"
    typed = one.redact("send it to <phone:1>, or <email:7>")
    assert typed == "send it to <literal:1>, or <literal:2>"
    assert one.reveal(typed) == "send it to <phone:1>, or <email:7>"
    assert one.reveal(one.redact("<literal:1>")) == "<literal:1>"


def test_a_model_may_use_the_placeholders_it_was_given_and_no_others() -> None:
    one = redactor()
    one.redact(["13800138000", "hunter2", {"password": "hunter2"}])
    reply = one.redact_reply(
        '{"to": "<phone:1>", "cc": "<phone:2>", "mail": "x@y.cn", "password=<password:1>"}'
    )
    assert reply == '{"to": "<phone:1>", "cc": "<literal:1>", "mail": "<email:1>", "password=<password:1>"}'
    assert '"to": "13800138000", "cc": "<phone:2>", "mail": "x@y.cn"' in one.reveal(reply)


def test_a_placeholder_of_another_vault_is_an_error_and_never_an_argument() -> None:
    redacted = redactor().redact({"to": "13800138000"})
    with pytest.raises(PolicyError, match="<phone:1>") as caught:
        redactor(MemoryVault()).reveal(redacted)
    assert caught.value.hint.zh


def test_secrets_that_touch_or_overlap_go_as_one() -> None:
    one = redactor()
    text = "https://li:13800138000@example.com password=<phone:1>13800138000"
    redacted = one.redact(text)
    assert "13800138000" not in redacted
    assert one.reveal(redacted) == text


def test_rules_of_ones_own_may_look_for_anything() -> None:
    rule = SecretRule("person", re.compile("张三|李四"))
    one = Redactor(MemoryVault(), "r1", [rule])
    assert one.redact("请通知张三和李四 13800138000") == "请通知<person:1>和<person:2> <phone:1>"


def test_numbers_of_any_size_are_taken() -> None:
    value = [10**5000, -(10**30), 1e300, float("inf"), 13800138000.0, -13800138000]
    one = redactor()
    redacted = one.redact(value)
    assert redacted == [*value[:4], "<phone:1>", "<phone:2>"]
    assert one.reveal(redacted) == value


def test_odd_characters_do_no_harm() -> None:
    one = redactor()
    for text in ("\ud800 13800138000", "13800138000\x00", "password=\ud800abc", "\u202e13800138000"):
        assert one.reveal(one.redact(text)) == text


planted = st.sampled_from([secret for _, secret in SECRETS if "\n" not in secret])
words = st.sampled_from(
    [
        "",
        " ",
        "，",
        "电话",
        "a",
        "1",
        "-",
        "password=",
        "密码：",
        "<phone:1>",
        "<literal:1>",
        "<",
        ">",
        "@",
        "\n",
        "+",
        '"',
        "x.",
        "\ud800",
    ]
)
texts = st.lists(planted | words | st.text(max_size=4), max_size=8).map("".join) | st.text()
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts | st.just(13800138000),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(texts | st.just("password"), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values)
def test_what_was_redacted_is_revealed_exactly(value: Any) -> None:
    one = redactor()
    assert repr(one.reveal(one.redact(value))) == repr(value)


@given(values)
def test_redacting_what_was_revealed_gives_the_same_again(value: Any) -> None:
    one = redactor()
    redacted = one.redact(value)
    assert one.redact(one.reveal(redacted)) == redacted


@given(texts)
def test_a_model_that_repeats_what_it_saw_changes_nothing(text: str) -> None:
    one = redactor()
    redacted = one.redact(text)
    assert one.redact_reply(redacted) == redacted


@given(planted, st.sampled_from(AROUND), st.lists(st.text(max_size=5)))
def test_no_planted_secret_survives(secret: str, around: str, value: list[str]) -> None:
    whole = [value, {"deep": [around.format(secret)], around.format(secret): 1}]
    assert secret not in json.dumps(redactor().redact(whole), ensure_ascii=False)
