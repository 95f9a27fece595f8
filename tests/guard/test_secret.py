"""Which texts hold a secret at all, and that no text takes long to look through."""

from __future__ import annotations

import time

import pytest

from sopwith.guard.redact import Redactor
from sopwith.guard.redact_rules import RedactRules
from sopwith.guard.vault import MemoryVault

UNITS = [
    "\\", "\\u", "\\n", '\\"', "\\u674e", "\\ud83d\\", "%", "%2", "%20", "%e4%bd%a0", '"', "1", "1 ", "0-", "1\ue000",
    "\ue000", "138 ", "+442071838750", "(010)", "110105 ", "6222 ", "a", " ", "a.", "a@", "a@b.co.", "李@例.", "a_",
    "::::", "://a:", "https://a:b@", "-eyJaaaaaaaa", "SG.aaaaaaaaaaaaaaaaa", "sk-", "bearer ", "cookie: a=", "password",
    "password ", 'password="\\\\', "密码是", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "<a", "<phone:1>", "zhang ",
    "张三 ", '{"a":"1\\"',
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_no_text_takes_long(unit: str) -> None:
    """Far above what it takes (tenths of a second), and far below what it takes where time grows with the square."""
    rules = RedactRules(names=("张三", "zhang san")).secret_rules()
    began = time.process_time()
    Redactor(MemoryVault(), "r1", rules).redact((unit * 100_000)[:100_000])
    assert time.process_time() - began < 20


@pytest.mark.parametrize("apart", ["", "."])
def test_what_hides_the_next_is_found_to_the_end(apart: str) -> None:
    text = f"+442071838750{apart}" * 2000
    vault = MemoryVault()
    safe = Redactor(vault, "r1").redact(text)
    assert "442071838750" not in str(safe)
    assert Redactor(vault, "r1").reveal(safe) == text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("李雷@example.com", "<email:1>"),
        ("li@例子.com", "<email:1>"),
        ("发给 李雷@例子.中国。", "发给 <email:1>。"),
        ("jürgen@müller.de", "<email:1>"),
        ("иван@пример.рф", "<email:1>"),
        ("li@xn--fsq.xn--fiqs8s", "<email:1>"),
        ("请发到li@example.com谢谢", "请发到<email:1>谢谢"),
        ("\\u674e\\u96f7@example.com", "<email:1>"),
        ("%E6%9D%8E@%E4%BE%8B%E5%AD%90.com", "<email:1>"),
        ("@app.route, 价格@3.5元, a @b.co", "@app.route, 价格@3.5元, a @b.co"),
    ],
)
def test_addresses_of_any_script_are_found(text: str, safe: str) -> None:
    assert Redactor(MemoryVault(), "r1").redact(text) == safe
