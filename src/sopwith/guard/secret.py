"""What counts as a secret or as personal data in a text: rules with a kind, a pattern and a check.

A miss leaks, a false hit only costs a placeholder; but order numbers, dates, hashes and UUIDs that turned
into placeholders would make a procedure unreadable to its model, so each rule is as narrow as its secret
allows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import NamedTuple

Check = Callable[[str, int, int], bool]
"""Whether the text between two places is the secret that its pattern took it for."""

_WORD = 64


class Span(NamedTuple):
    """A secret in a text: where it begins and ends, and its kind."""

    start: int
    end: int
    kind: str


class Pattern(NamedTuple):
    """A regular expression that is compiled when it is first needed: most texts hold no mark of most rules."""

    source: str
    flags: re.RegexFlag = re.NOFLAG


@cache
def _compiled(pattern: Pattern) -> re.Pattern[str]:
    return re.compile(*pattern)


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret. The group `secret` of the pattern, or else the whole match, is what is replaced.

    `marks` are texts (in lower case) one of which every match contains: without any of them the pattern is
    not tried. `check(text, start, end)` may refuse a match.
    """

    kind: str
    pattern: re.Pattern[str] | Pattern
    marks: tuple[str, ...] = ()
    check: Check | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, ready to search."""
        return self.pattern if isinstance(self.pattern, re.Pattern) else _compiled(self.pattern)

    def spans(self, text: str) -> Iterable[Span]:
        """Every place in `text`, from left to right."""
        pattern = self.compiled
        group = "secret" if "secret" in pattern.groupindex else 0
        for match in pattern.finditer(text):
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


def _is_old_chinese_id(text: str, start: int, end: int) -> bool:
    """An identity number of 15 digits, which has no check character: the date of birth exists."""
    year, month, day = (int(text[start + at : start + at + 2]) for at in (6, 8, 10))
    try:
        date(1900 + year, month, day)
    except ValueError:
        return False
    return _not_in_a_hash(text, start, end)


def _is_chinese_id(text: str, start: int, end: int) -> bool:
    """An identity number whose check character (GB 11643, ISO 7064 MOD 11-2) is right."""
    number = re.sub(r"[^\dXx]", "", text[start:end]).upper()
    weighted = sum(int(digit) << (17 - place) for place, digit in enumerate(number[:17]))
    return "10X98765432"[weighted % 11] == number[17] and _not_in_a_hash(text, start, end)


_HEX_END = re.compile(r"[0-9a-fA-F-]+\Z")
_HEX_START = re.compile(r"[0-9a-fA-F-]+")
_LETTER = re.compile("[a-fA-F]")
FILLER = "\ue000"
"""What stands in `plain` for the rest of an escape."""
_LONGEST_ESCAPE = 12
"""A character of four bytes in an address takes as many."""
_GAP = r" \t\u00a0\u2000-\u200f\u202f\u205f\u2060\ufeff"  # blank, or not there at all to the eye
_LINE = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_DASH = r"\-\u2010-\u2015.·"
_SEP = rf"(?:{FILLER}*[{_GAP}{_DASH}]){{0,3}}"
_PHONE_SEP = rf"(?:{FILLER}*[{_GAP}{_LINE}{_DASH}_/+]){{0,3}}"
_CARD_RANGES = re.compile(
    r"62\d{14,17}|4\d{12}(?:\d{3})?|4\d{18}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}"
    r"|3(?:0[0-5]|[68]\d)\d{11}|35\d{14}|6(?:011|4[4-9]\d|5\d\d)\d{12}|(?:9558|60|69)\d{14,17}"
)

_ANY_CASE = re.ASCII | re.IGNORECASE
_BEGIN = r"(?<![A-Za-z0-9])"
_KEYS = Pattern(
    rf"{_BEGIN}(?:"
    r"(?:sk|pk|rk)[-_](?:live|test|prod|proj)[-_][\w-]{3,}|sk-(?=[\w-]{0,60}\d)[\w-]{12,}"
    r"|A(?:KIA|SIA)[0-9A-Z]{16}|LTAI[A-Za-z0-9]{12,}|AKID[A-Za-z0-9]{13,}|AIza[\w-]{30,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}"
    r"|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|SG\.[\w-]{16,}\.[\w-]{16,}|ya29\.[\w-]{20,}"
    r"|bce-v3/ALTAK-\w{8,}/\w{8,}|AKLT[A-Za-z0-9_=-]{16,}|GOCSPX-[\w-]{16,}|do[opr]_v1_[0-9a-f]{32,}"
    r"|hv[bsr]\.[\w-]{16,}|gsk_\w{16,}|xai-\w{16,}|r8_\w{16,}|whsec_\w{16,}|shp(?:at|ca|pa|ss)_\w{16,}"
    r")",
    re.ASCII,
)
_WORDS = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|(?:api|access|secret|private|account)[_ -]?key"
    r"|(?:client|app)[_-]?secret|(?:auth|access|refresh|api|session)[_ -]?token|credential"
)
_ASSIGNED = Pattern(
    rf"(?:{_WORDS}|密码|口令|密钥|秘钥)s?\\*[\"'”]?[ \t]*(?:"
    r"[=＝:：][ \t]*\\*(?:\"(?P<q>[^\"\n]{1,256}?)\\*\"|'(?P<r>[^'\n]{1,256}?)\\*'|“(?P<s>[^”\n]{1,256})”)"
    r"|[=＝][ \t]*[\"'“]?(?P<a>[^\s\"'“”,;，；。&]+)"
    r"|[:：][ \t]*[\"'“](?P<b>[^\s\"'“”]+)"
    r"|[:：][ \t]*(?=[^\s\"'，。；]{0,128}[\d!@#$%^&*_+~])(?P<c>[^\s\"'“”,;，；。]{3,})"
    r"|(?:是|为)[ \t]*[\"'“]?(?P<d>[!-~]{4,})"
    r"|is[ \t]+[\"']?(?=[!-~]{0,128}[\d!@#$%^&*_+~])(?P<e>[!-~]{4,}))",
    re.IGNORECASE,
)
_SAID = Pattern(
    r"(?:password|passwd|pwd|密码|口令)[ \t]+(?P<secret>(?=[!-~]{0,64}[A-Za-z])(?=[!-~]{0,64}\d)[!-~]{6,})",
    re.IGNORECASE,
)
_HOOKS = Pattern(
    r"(?:hooks\.slack\.com/services|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook"
    r"|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send)[/?](?:key=)?(?P<secret>[\w/-]{8,})",
    re.ASCII,
)
_LANDLINE = (
    rf"(?<![\w.-])(?:86[{_GAP}\-]{{1,3}}(?:10|2\d)|\(?0(?:10|2\d)\)?){_SEP}[1-9]\d{{3}}{_SEP}\d{{4}}(?![\d-])"
    rf"|(?<![\w.-])\(?0[3-9]\d\d\)?{_SEP}[1-9]\d{{2,3}}{_SEP}\d{{4}}(?![\d-])"
)
_PHONE = rf"(?<!\d)(?:\(?(?:\+|00)?86\)?{_PHONE_SEP}|0)?1[3-9]\d{_PHONE_SEP}\d{{4}}{_PHONE_SEP}\d{{4}}(?!\d)"


_LONGEST_LOCAL = 64
_TLD = r"(?:xn--[A-Za-z0-9-]{1,59}|[A-Za-z]{2,24})(?![A-Za-z0-9])"
_AT_DOMAIN = Pattern(
    rf"@(?:[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}}){{0,6}}\.{_TLD}"
    rf"|(?:{FILLER}{{0,12}}[\w-]){{1,63}}(?:\.(?:{FILLER}{{0,12}}[\w-]){{1,63}}){{0,6}}"
    rf"\.(?:{_TLD}|(?:{FILLER}{{0,12}}[^\W\d_]){{2,24}}))"
)
_UNSPACED = (
    range(0x0E00, 0x0F00),
    range(0x1000, 0x10A0),
    range(0x1780, 0x1800),
    range(0x2E80, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x40000),
)
"""Scripts that put no blanks between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese."""


@dataclass(frozen=True, slots=True)
class _Assigned(SecretRule):
    """`password = …`: only the value is the secret, whichever way it was written."""

    def spans(self, text: str) -> Iterable[Span]:
        for match in self.compiled.finditer(text):
            group = match.lastgroup or 0
            yield Span(match.start(group), match.end(group), self.kind)


@dataclass(frozen=True, slots=True)
class _Email(SecretRule):
    """An address: the pattern finds `@` and the domain, and the local part is read backwards from there.

    In scripts without blanks between words nobody can tell where it begins: then all up to the mark before is taken.
    """

    def spans(self, text: str) -> Iterable[Span]:
        for match in self.compiled.finditer(text):
            start = _local_part(text, match.start())
            if start < match.start():
                yield Span(start, match.end(), self.kind)


def _local_part(text: str, at: int) -> int:
    """Where the local part begins that ends before `at`; `at` where there is none."""
    start, left, unspaced = at, _LONGEST_LOCAL, None
    for place in range(at - 1, -1, -1):
        character = text[place]
        if character == FILLER:
            continue
        if not left or not (character in "._%+-" or character.isalnum() or unicodedata.combining(character)):
            break
        is_unspaced = any(ord(character) in script for script in _UNSPACED)
        if unspaced is None:
            unspaced = is_unspaced
        elif is_unspaced and not unspaced:
            break
        start, left = place, left - 1
    return start


DEFAULT_RULES: tuple[SecretRule, ...] = (
    SecretRule(
        "key",
        Pattern(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)",
            re.DOTALL,
        ),
        ("private key",),
    ),
    SecretRule(
        "token",
        # A word that is no token is taken whole, so that no part of it is tried again.
        Pattern(_BEGIN + r"eyJ[\w-]{8,}+(?:\.[\w-]{4,}(?:\.[\w-]*)?)?", re.ASCII),
        ("eyj",),
        lambda text, start, end: "." in text[start:end],
    ),
    SecretRule(
        "token",
        Pattern(_BEGIN + r"(?:bearer|basic)[ \t]+(?P<secret>(?=\S{0,128}[\d=])[\w.~+/-]{12,}=*)", _ANY_CASE),
        ("bearer", "basic"),
    ),
    SecretRule(
        "key",
        _KEYS,
        ("sk-", "k_", "pk-", "rk-", "akia", "asia", "ltai", "akid", "aiza", "ghp_", "gho_", "ghu_", "ghs_",
         "ghr_", "github_pat_", "glpat-", "xox", "hf_", "npm_", "pypi-", "sg.", "ya29.", "altak-", "aklt",
         "gocspx-", "_v1_", "hvb.", "hvs.", "hvr.", "gsk_", "xai-", "r8_", "whsec_", "shp"),
    ),
    SecretRule(
        "token",
        Pattern(_BEGIN + r"token[\"']?[ \t]*[:=][ \t]*[\"']?(?P<secret>[\w.~+/-]{12,}=*)", _ANY_CASE),
        ("token",),
    ),
    SecretRule("password", Pattern(r"://[^\s/:@]{0,64}:(?P<secret>[^\s/]{1,128})@"), ("://",)),
    SecretRule("password", _SAID, ("pass", "pwd", "密码", "口令")),
    SecretRule("token", _HOOKS, ("hooks.slack", "/open-apis/bot", "qyapi.weixin")),
    SecretRule(
        "token", Pattern(r"\bcookie:[ \t]*(?P<secret>[^\s=]{1,64}=[^\r\n]{8,})", re.IGNORECASE), ("cookie:",)
    ),
    _Assigned(
        "password",
        _ASSIGNED,
        ("pass", "pwd", "secret", "key", "token", "credential", "密码", "口令", "密钥", "秘钥"),
    ),
    _Email("email", _AT_DOMAIN, ("@",)),
)  # fmt: skip
"""Rules for texts that hold one of their marks."""

DIGIT_RULES: tuple[SecretRule, ...] = (
    SecretRule(
        "id",
        Pattern(
            rf"(?<!\d)(?=(?P<secret>[1-9]\d{{5}}{_SEP}(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
            rf"{_SEP}\d{{3}}[\dXx])(?![\dA-Za-z]))",
            re.ASCII,
        ),
        check=_is_chinese_id,
    ),
    SecretRule(
        "id",
        Pattern(
            r"(?<![\dA-Za-z])(?:1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[12])\d{6}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}(?![\dA-Za-z])",
            re.ASCII,
        ),
        check=_is_old_chinese_id,
    ),
    SecretRule("phone", Pattern(_PHONE, re.ASCII), check=_not_in_a_hash),
    SecretRule("phone", Pattern(_LANDLINE, re.ASCII), check=_not_in_a_hash),
    SecretRule("phone", Pattern(rf"(?<![\d-])0\d{{2,3}}[-{_GAP}]\d{{7,8}}(?![\d-])", re.ASCII)),
    SecretRule(
        "phone",
        Pattern(rf"(?<![\w+])\+[1-9](?:(?:{FILLER}*[{_GAP}{_DASH}()]){{0,3}}\d){{7,14}}(?!\d)", re.ASCII),
    ),
    SecretRule(
        "phone",
        Pattern(r"(?<![\w.-])(?:\(\d{3}\)\s?|\d{3}[-.])\d{3}[-.]\d{4}(?![\w-])", re.ASCII),
    ),
    SecretRule(
        "card",
        Pattern(rf"(?<!\d)(?=(?P<secret>\d(?:(?:{FILLER}*[-_+{_GAP}])?\d){{12,18}})(?!\d))", re.ASCII),
        check=_is_card,
    ),
)
"""Rules for texts with digits, full-width ones read as ASCII."""


class _Plain(dict[int, int]):
    """What a character counts as: a digit of any script as the ASCII one, any other as its NFKC form."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        digit = unicodedata.decimal(character, None)
        if digit is not None:
            plain = 0x30 + digit
        else:
            form = unicodedata.normalize("NFKC", character)
            raised = unicodedata.decomposition(character).startswith(("<super>", "<sub>"))
            plain = ord(form) if len(form) == 1 and not raised else code
        self[code] = plain
        return plain


_PLAIN_CHARACTERS = _Plain()
_DIGITS = re.compile(rf"\+[0-9]|(?:[0-9](?:{FILLER}*[{_GAP}{_LINE}{_DASH}()_/+]){{0,3}}){{10}}")
_MARKS = frozenset("0123456789@%<:=密口秘+_-!#$^&*~")


_ESCAPES = re.compile(
    r"(?<!\\)\\++(?:u(?P<high>d[89ab][0-9a-f]{2})\\++u(?P<low>d[c-f][0-9a-f]{2})|u(?P<unit>[0-9a-f]{4})|(?P<short>[bfnrt]))"
    r"|(?P<bytes>(?:%[0-9a-f]{2})++)",
    re.IGNORECASE,
)
_SHORT_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def plain(text: str) -> str:
    """`text` as rules read it: without escapes of JSON and of addresses, in plain characters.

    It is as long as `text`, filled with characters that are not there to the eye, so that places in it are places in
    `text`.
    """
    if "\\" in text or "%" in text:
        text = _ESCAPES.sub(_unescaped, text)
    return text if text.isascii() else text.translate(_PLAIN_CHARACTERS)


def _unescaped(match: re.Match[str]) -> str:
    if match["bytes"]:
        decoded = bytes.fromhex(match["bytes"].replace("%", "")).decode("utf-8", "surrogateescape")
        return "".join(_filled(c, 3 * len(c.encode("utf-8", "surrogateescape"))) for c in decoded)
    if match["short"]:
        character = _SHORT_ESCAPES[match["short"].lower()]
    elif match["unit"]:
        character = chr(int(match["unit"], 16))
    else:
        units = bytes.fromhex(match["high"] + match["low"])
        character = units.decode("utf-16-be")
    return _filled(character, len(match[0]))


def _filled(character: str, length: int) -> str:
    return FILLER * (length - 1) + character


def may_hold_secrets(text: str) -> bool:
    """Whether a default rule could find anything: False for most words."""
    return not _MARKS.isdisjoint(plain(text))


def find(
    text: str, rules: Sequence[SecretRule] = DEFAULT_RULES, digits: Sequence[SecretRule] = DIGIT_RULES
) -> list[Span]:
    """The secrets in `text`, from left to right, without overlaps."""
    text = plain(text)
    found: list[Span] = []
    lower = text.lower()
    for rule in rules:
        if not rule.marks or any(mark in lower for mark in rule.marks):
            found.extend(rule.spans(text))
    if _DIGITS.search(text):
        for rule in digits:
            found.extend(rule.spans(text))
    if FILLER in text:
        found = [Span(_whole(text, span.start), span.end, span.kind) for span in found]
    return merge(found) if len(found) > 1 else found


def _whole(plain_text: str, start: int) -> int:
    """Where the escape begins whose character is at `start`."""
    while start and plain_text[start - 1] == FILLER:
        start -= 1
    return start


def masked(text: str, rules: Sequence[SecretRule] = ()) -> str:
    """`text` for a reader where there is no vault, such as an error on a console: `<phone>` for what is secret."""
    parts: list[str] = []
    last = 0
    for start, end, kind in find(text, (*rules, *DEFAULT_RULES)):
        parts += (text[last:start], f"<{kind}>")
        last = end
    return "".join((*parts, text[last:]))


def name_rule(names: Iterable[str], kind: str = "name") -> SecretRule | None:
    """A rule for these texts, in any case and with other blanks.

    Latin names match whole words only. None for no names; those shorter than two characters are left out.
    """
    known = {text for name in names if len(text := plain(name).strip()) > 1}
    if not known:
        return None
    longest_first = sorted(known, key=lambda name: (-len(name), name))
    pattern = "|".join(_name_pattern(name) for name in longest_first)
    return SecretRule(kind, re.compile(pattern, re.IGNORECASE))


def is_telling(text: str) -> bool:
    """Whether `text` is long enough to be known again: six characters, or eight where they are but a word."""
    return len(text) >= (8 if text.isascii() and text.isalpha() else 6)


def text_rule(text: str, kind: str) -> SecretRule | None:
    """A rule for exactly this text. One of letters and digits alone that is short, or a word, matches as a whole word;
    None for less than two characters.
    """
    known = plain(text)
    if len(text.strip()) < 2:
        return None
    pattern = re.escape(known)
    if text.isascii() and text.isalnum() and (text.isalpha() or text.isdigit() or not is_telling(text)):
        pattern = rf"{_BEGIN}{pattern}(?![A-Za-z0-9])"
    return SecretRule(kind, re.compile(pattern), (known.lower(),))


def _name_pattern(name: str) -> str:
    words = [_word_pattern(word) for word in name.split()]
    begin = _BEGIN if _ALNUM.match(name[0]) else ""
    end = r"(?![A-Za-z0-9])" if _ALNUM.match(name[-1]) else ""
    between = rf"(?:{FILLER}*[+_{_GAP}{_LINE}{_DASH}]){{1,3}}"
    return f"{begin}{between.join(words)}{end}"


def _word_pattern(word: str) -> str:
    pattern = ""
    for before, character in zip(" " + word, word, strict=False):
        if pattern and not (before.isascii() and character.isascii()):
            pattern += f"[{FILLER}{_GAP}]{{0,{_LONGEST_ESCAPE}}}"
        pattern += re.escape(character)
    return pattern


_ALNUM = re.compile("[A-Za-z0-9]")


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
