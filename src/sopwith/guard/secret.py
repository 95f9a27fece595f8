"""What counts as a secret or as personal data in a text: rules with a kind, a pattern and a check.

A miss leaks, a false hit only costs a placeholder; but order numbers, dates, hashes and UUIDs that turned
into placeholders would make a procedure unreadable to its model, so each rule is as narrow as its secret
allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Check = Callable[[str, int, int], bool]
"""Whether the text between two places is the secret that its pattern took it for."""

_WORD = 64


class Span(NamedTuple):
    """A secret in a text: where it begins and ends, and its kind."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret. The group `secret` of the pattern, or else the whole match, is what is replaced.

    `marks` are texts (in lower case) one of which every match contains: without any of them the pattern is
    not tried. `check(text, start, end)` may refuse a match.
    """

    kind: str
    pattern: re.Pattern[str]
    marks: tuple[str, ...] = ()
    check: Check | None = None

    def spans(self, text: str) -> Iterable[Span]:
        """Every place in `text`, from left to right."""
        group = "secret" if "secret" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            start, end = match.span(group)
            if self.check is None or self.check(text, start, end):
                yield Span(start, end, self.kind)


def _not_in_a_hash(text: str, start: int, end: int) -> bool:
    """Whether this is not a part of a long hexadecimal word, such as a UUID or a digest."""
    before = _HEX_END.search(text, max(0, start - _WORD), start)
    after = _HEX_START.match(text, end, end + _WORD)
    word = (before[0] if before else "") + text[start:end] + (after[0] if after else "")
    return len(word) < 24 or not _LETTER.search(word)


def _is_card(text: str, start: int, end: int) -> bool:
    """A number of a card network whose check digit (Luhn, ISO/IEC 7812) is right."""
    number = re.sub(r"\D", "", text[start:end])
    if not _CARD_RANGES.fullmatch(number):
        return False
    total = 0
    for place, digit in enumerate(map(int, reversed(number))):
        total += digit if place % 2 == 0 else digit * 2 - 9 * (digit > 4)
    return total % 10 == 0 and _not_in_a_hash(text, start, end)


def _is_chinese_id(text: str, start: int, end: int) -> bool:
    """An identity number whose check character (GB 11643, ISO 7064 MOD 11-2) is right."""
    number = re.sub(r"[^\dXx]", "", text[start:end]).upper()
    weighted = sum(int(digit) << (17 - place) for place, digit in enumerate(number[:17]))
    return "10X98765432"[weighted % 11] == number[17] and _not_in_a_hash(text, start, end)


_HEX_END = re.compile(r"[0-9a-fA-F-]+\Z")
_HEX_START = re.compile(r"[0-9a-fA-F-]+")
_LETTER = re.compile("[a-fA-F]")
_GAP = r" \t\u00a0\u2000-\u200f\u202f\u205f\u2060\ufeff"  # blank, or not there at all to the eye
_LINE = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_DASH = r"\-\u2010-\u2015.·"
_SEP = rf"[{_GAP}{_DASH}]{{0,3}}"
_PHONE_SEP = rf"[{_GAP}{_LINE}{_DASH}]{{0,3}}"
_CARD_RANGES = re.compile(
    r"62\d{14,17}|4\d{12}(?:\d{3})?|4\d{18}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}"
    r"|3(?:0[0-5]|[68]\d)\d{11}|35\d{14}|6(?:011|4[4-9]\d|5\d\d)\d{12}|(?:9558|60|69)\d{14,17}"
)

_PLAIN = re.ASCII | re.IGNORECASE
_KEYS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk)[-_](?:live|test|prod|proj)[-_][\w-]{3,}|sk-(?=[\w-]{0,60}\d)[\w-]{12,}"
    r"|A(?:KIA|SIA)[0-9A-Z]{16}|LTAI[A-Za-z0-9]{12,}|AKID[A-Za-z0-9]{13,}|AIza[\w-]{30,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}"
    r"|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|SG\.[\w-]{16,}\.[\w-]{16,}|ya29\.[\w-]{20,}"
    r")",
    re.ASCII,
)
_WORDS = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|(?:api|access|secret|private|account)[_ -]?key"
    r"|(?:client|app)[_-]?secret|(?:auth|access|refresh|api|session)[_ -]?token|credential"
)
_ASSIGNED = re.compile(
    rf"(?:{_WORDS}|密码|口令|密钥|秘钥)s?\\*[\"'”]?[ \t]*(?:"
    r"[=＝:：][ \t]*\\*(?:\"(?P<q>[^\"\n]{1,256}?)\\*\"|'(?P<r>[^'\n]{1,256}?)\\*'|“(?P<s>[^”\n]{1,256})”)"
    r"|[=＝][ \t]*[\"'“]?(?P<a>[^\s\"'“”,;，；。&]+)"
    r"|[:：][ \t]*[\"'“](?P<b>[^\s\"'“”]+)"
    r"|[:：][ \t]*(?=[^\s\"'，。；]{0,128}[\d!@#$%^&*_+~])(?P<c>[^\s\"'“”,;，；。]{3,})"
    r"|(?:是|为)[ \t]*[\"'“]?(?P<d>[!-~]{4,})"
    r"|is[ \t]+[\"']?(?=[!-~]{0,128}[\d!@#$%^&*_+~])(?P<e>[!-~]{4,}))",
    re.IGNORECASE,
)
_PHONE = rf"(?<!\d)(?:\(?(?:\+|00)?86\)?{_PHONE_SEP}|0)?1[3-9]\d{_PHONE_SEP}\d{{4}}{_PHONE_SEP}\d{{4}}(?!\d)"


@dataclass(frozen=True, slots=True)
class _Assigned(SecretRule):
    """`password = …`: only the value is the secret, whichever way it was written."""

    def spans(self, text: str) -> Iterable[Span]:
        for match in self.pattern.finditer(text):
            group = match.lastgroup or 0
            yield Span(match.start(group), match.end(group), self.kind)


DEFAULT_RULES: tuple[SecretRule, ...] = (
    SecretRule(
        "key",
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)",
            re.DOTALL,
        ),
        ("private key",),
    ),
    SecretRule("token", re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?", re.ASCII), ("eyj",)),
    SecretRule(
        "token",
        re.compile(r"\b(?:bearer|basic)[ \t]+(?P<secret>(?=\S{0,128}[\d=])[\w.~+/-]{12,}=*)", _PLAIN),
        ("bearer", "basic"),
    ),
    SecretRule(
        "key",
        _KEYS,
        ("sk-", "k_", "pk-", "rk-", "akia", "asia", "ltai", "akid", "aiza", "ghp_", "gho_", "ghu_", "ghs_",
         "ghr_", "github_pat_", "glpat-", "xox", "hf_", "npm_", "pypi-", "sg.", "ya29."),
    ),
    SecretRule(
        "token",
        re.compile(r"\btoken[\"']?[ \t]*[:=][ \t]*[\"']?(?P<secret>[\w.~+/-]{12,}=*)", _PLAIN),
        ("token",),
    ),
    SecretRule("password", re.compile(r"://[^\s/:@]{0,64}:(?P<secret>[^\s/@]{1,128})@"), ("://",)),
    _Assigned(
        "password",
        _ASSIGNED,
        ("pass", "pwd", "secret", "key", "token", "credential", "密码", "口令", "密钥", "秘钥"),
    ),
    SecretRule(
        "email",
        re.compile(
            r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}[@＠][A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,6}\.[A-Za-z]{2,24}"
            r"(?![A-Za-z0-9])"
        ),
        ("@", "＠"),
    ),
)  # fmt: skip
"""Rules for texts that hold one of their marks."""

DIGIT_RULES: tuple[SecretRule, ...] = (
    SecretRule(
        "id",
        re.compile(
            rf"(?<!\d)(?=(?P<secret>[1-9]\d{{5}}{_SEP}(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
            rf"{_SEP}\d{{3}}[\dXx])(?![\dA-Za-z]))",
            re.ASCII,
        ),
        check=_is_chinese_id,
    ),
    SecretRule("phone", re.compile(_PHONE, re.ASCII), check=_not_in_a_hash),
    SecretRule("phone", re.compile(rf"(?<![\d-])0\d{{2,3}}[-{_GAP}]\d{{7,8}}(?![\d-])", re.ASCII)),
    SecretRule(
        "phone",
        re.compile(rf"(?<![\w+])\+[1-9](?:[{_GAP}{_DASH}()]{{0,3}}\d){{7,14}}(?!\d)", re.ASCII),
    ),
    SecretRule(
        "phone",
        re.compile(r"(?<![\w.-])(?:\(\d{3}\)\s?|\d{3}[-.])\d{3}[-.]\d{4}(?![\w-])", re.ASCII),
    ),
    SecretRule(
        "card",
        re.compile(rf"(?<!\d)(?=(?P<secret>\d(?:[-{_GAP}]?\d){{12,18}})(?!\d))", re.ASCII),
        check=_is_card,
    ),
)
"""Rules for texts with digits, full-width ones read as ASCII."""

_WIDE = {0xFF10 + i: 0x30 + i for i in range(10)} | {0xFF0B: 0x2B, 0xFF0D: 0x2D, 0x3000: 0x20}
_DIGITS = re.compile(rf"\+[0-9]|(?:[0-9][{_GAP}{_LINE}{_DASH}()]{{0,3}}){{10}}")

MARKS = frozenset("0123456789０１２３４５６７８９@＠<:=：＝密口秘+_-!#$%^&*~")
"""A text without any of these characters holds nothing that a default rule could find."""


def find(
    text: str, rules: Sequence[SecretRule] = DEFAULT_RULES, digits: Sequence[SecretRule] = DIGIT_RULES
) -> list[Span]:
    """The secrets in `text`, from left to right, without overlaps."""
    if not text.isascii():
        text = text.translate(_WIDE)
    found: list[Span] = []
    lower = text.lower()
    for rule in rules:
        if not rule.marks or any(mark in lower for mark in rule.marks):
            found.extend(rule.spans(text))
    if _DIGITS.search(text):
        for rule in digits:
            found.extend(rule.spans(text))
    return merge(found) if len(found) > 1 else found


def merge(spans: Iterable[Span]) -> list[Span]:
    """Spans in order; those that overlap become one, of the kind that came first in `spans`."""
    merged: list[tuple[Span, int]] = []
    for rank, span in sorted(enumerate(spans), key=lambda item: (item[1].start, item[0])):
        if merged and span.start < merged[-1][0].end:
            last, before = merged[-1]
            kind = last.kind if before <= rank else span.kind
            merged[-1] = (Span(last.start, max(last.end, span.end), kind), min(before, rank))
        else:
            merged.append((span, rank))
    return [span for span, _ in merged]
