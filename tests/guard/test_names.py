"""Names and kinds by rule: found however they are written, and not in parts of other words."""

from __future__ import annotations

import json
import re

import pytest

from sopwith.guard.redact import Redactor
from sopwith.guard.redact_rules import RedactRule, RedactRules
from sopwith.guard.secret import masked
from sopwith.guard.vault import MemoryVault

NAMES = RedactRules(
    names=("张三丰", "Zhang Sanfeng", "𠮷田"), rules=(RedactRule(kind="badge", pattern="E\\d{6}"),)
)


@pytest.mark.parametrize(
    "text",
    [
        "张三丰",
        "张 三丰",
        "请通知张三丰先生",
        "Zhang Sanfeng",
        "ZHANG  SANFENG",
        "zhang.sanfeng",
        "Ｚｈａｎｇ　Ｓａｎｆｅｎｇ",
        r"\u5f20\u4e09\u4e30",
        r"line\nZhang Sanfeng",
        "Zhang+Sanfeng",
        "%E5%BC%A0%E4%B8%89%E4%B8%B0",
        "zhang%20sanfeng",
        "𠮷田",
        r"\ud842\udfb7\u7530",
        "%F0%A0%AE%B7%E7%94%B0",
    ],
    ids=ascii,
)
def test_a_name_by_rule_is_found_however_it_is_written(text: str) -> None:
    one = Redactor(MemoryVault(), "r1", NAMES.secret_rules())
    for whole in (text, {"to": [text]}, {text: 1}, f"({text})"):
        redacted = one.redact(whole)
        assert re.search("<name:[0-9]+>", json.dumps(redacted))
        assert not re.search(
            "张|丰|anfeng|田|u5f20|%E5", json.dumps(redacted, ensure_ascii=False), re.IGNORECASE
        )
        assert one.reveal(redacted) == whole


@pytest.mark.parametrize("text", ["张三", "Zhang", "Sanfengs", "Zhang Sanfengs", "E12345", "田"])
def test_a_part_of_a_name_is_none(text: str) -> None:
    assert Redactor(MemoryVault(), "r1", NAMES.secret_rules()).redact(text) is text


def test_a_rule_has_its_own_kind_and_covers_numbers() -> None:
    rules = RedactRules(rules=(RedactRule(kind="badge", pattern=("E\\d{6}", "^\\d{6}$")),)).secret_rules()
    one = Redactor(MemoryVault(), "r1", rules)
    value = {"badge": "e123456", "number": 123456, "count": 1234, "yes": True, "part": 0.5}
    redacted = one.redact(value)
    assert redacted == {"badge": "<badge:1>", "number": "<badge:2>", "count": 1234, "yes": True, "part": 0.5}
    assert one.reveal(redacted) == value


def test_what_was_learned_is_secret_from_then_on() -> None:
    one = Redactor(MemoryVault(), "r1")
    assert one.redact("for u1001") == "for u1001"
    one.learn(["u1001", "x", "<phone:1>"])
    assert one.redact(["for u1001", "u10012", "x", 1001]) == ["for <name:1>", "u10012", "x", 1001]


def test_a_reader_without_a_vault_sees_kinds() -> None:
    assert masked("no answer from 13800138000: sk-live-123") == "no answer from <phone>: <key>"
    assert masked("to 张三丰", NAMES.secret_rules()) == "to <name>"
    assert masked("nothing to see") == "nothing to see"
