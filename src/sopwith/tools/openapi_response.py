"""What an API answered, as the result of a call."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote, quote_plus

from sopwith.errors import Text, ValueRefused
from sopwith.ir.coerce import parse_json
from sopwith.ir.cut import cut
from sopwith.ir.tool import Effect, ToolSpec
from sopwith.ir.value import Json, storable
from sopwith.tools.openapi_document import is_json
from sopwith.tools.port import ToolResult, failed
from sopwith.tools.returned import misfit

_LONGEST = 2_000
_SHORTEST_SECRET = 4
_REFUSED = range(400, 500)
_NOT_REFUSED = frozenset({408, 499})
_SENT_ON = frozenset({307, 308})


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the status, the type of the body in lower case, its charset, and where it points to."""

    status: int
    media_type: str
    charset: str | None
    body: bytes
    location: str = ""


def result_of(spec: ToolSpec, answer: Answer, secrets: Iterable[str]) -> ToolResult:
    """The result of a call that was answered. A credential that the answer repeats is taken out of it.

    An error `http_404` says that nothing was done. A write is unknown after a status that does not prove that.
    """
    writes = spec.effect is not Effect.READ
    status, media_type, body = answer.status, answer.media_type, answer.body
    text = _text(body, answer.charset, secrets)
    if status >= 300:
        done = status not in _SENT_ON and (status not in _REFUSED or status in _NOT_REFUSED)
        if status < 400:
            where = masked(answer.location, secrets).partition("?")[0]
            said = Text(f"{status}: redirected to {where}", f"{status}：被重定向到 {where}")
            return failed(f"http_{status}", said, unknown=writes and done)
        told = _problem(text, media_type)
        return failed(f"http_{status}", f"{status}: {told}" if told else f"{status}", unknown=writes and done)
    if text is None:
        kind = media_type or "no type"
        what = Text(
            f"the result is {len(body)} bytes of {kind}: not text",
            f"结果是 {len(body)} 字节的 {media_type or '未知类型'}：不是文本",
        )
        return failed("unstorable_result", what, unknown=writes)
    try:
        value = _value(text, media_type)
    except (ValueError, ValueRefused) as error:
        why = error.message if isinstance(error, ValueRefused) else Text(str(error), str(error))
        what = Text(
            f"the result is not the JSON that it claims: {why.en}", f"结果并非其声称的 JSON：{why.zh}"
        )
        return failed("invalid_result", what, unknown=writes)
    wrong = misfit(spec, value)
    return failed("invalid_result", wrong, unknown=writes) if wrong else ToolResult(value=value)


def _value(text: str, media_type: str) -> Json:
    if not text:
        return None
    return storable(parse_json(text) if is_json(media_type) else text)


def _problem(text: str | None, media_type: str) -> str:
    """What a failed call says: title and detail of RFC 9457, `message` or `error`, else the text itself."""
    if not text:
        return ""
    if is_json(media_type):
        try:
            body: Any = json.loads(text)
        except (ValueError, RecursionError):
            return cut(text, _LONGEST)
        if isinstance(body, dict):
            known = cast("dict[str, Any]", body)
            words = [known[key] for key in ("title", "detail", "message", "error") if known.get(key)]
            told = ": ".join(dict.fromkeys(word for word in words if isinstance(word, str)))
            more = known.get("errors") or known.get("invalid-params")
            if more:
                told += (": " if told else "") + json.dumps(more, ensure_ascii=False)
            if told:
                return cut(told, _LONGEST)
    if media_type.startswith("text/html"):
        return ""
    return cut(storable(text), _LONGEST)


def _text(body: bytes, charset: str | None, secrets: Iterable[str]) -> str | None:
    """The text of an answer, None where it is none."""
    try:
        return masked(body.decode(charset or "utf-8"), secrets).removeprefix("\ufeff")
    except (UnicodeError, LookupError):
        return None


def masked(text: str, secrets: Iterable[str]) -> str:
    """Without credentials, in whatever way they are written."""
    spelled = {form for secret in secrets if len(secret) >= _SHORTEST_SECRET for form in _forms(secret)}
    for form in sorted(spelled, key=len, reverse=True):
        text = text.replace(form, "[credential]")
    return text


def _forms(secret: str) -> Iterator[str]:
    """A credential as it is, in a URL, in JSON, and in base64."""
    yield secret
    for encode in (quote, quote_plus):
        yield encode(secret)
        yield encode(secret, safe="")
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    for encoded in (b64encode(secret.encode()), urlsafe_b64encode(secret.encode())):
        yield encoded.decode()
        yield encoded.decode().rstrip("=")
