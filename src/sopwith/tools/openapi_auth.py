"""Who calls an API: credentials that the environment holds, put into a request where the document says.

What is configured is a reference, `${NAME}`. It is read for each call, and stands in no spec, error or log.
"""

from __future__ import annotations

import json
import os
import re
import time
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urljoin, urlsplit

from sopwith.errors import Text, ToolSourceError, UserError
from sopwith.ir.value import Json
from sopwith.tools.openapi_document import Document, Operation
from sopwith.tools.openapi_request import Request

if TYPE_CHECKING:
    from sopwith.tools.openapi_client import Client

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_EARLY = 30.0
"""Seconds before its end by which a token is not used any more."""


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """An OAuth 2 client: references to its id and secret. `token_url` where the document does not say it."""

    client_id: str
    client_secret: str
    scope: str = ""
    token_url: str | None = None


Reference = str | ClientCredentials


class Credentials:
    """The credentials of one API, by the names of its security schemes."""

    def __init__(self, references: Mapping[str, Reference]) -> None:
        """Raises `UserError` for a value that refers to nothing: a secret does not belong into a file."""
        self._references = dict(references)
        self._tokens: dict[str, tuple[str, float]] = {}
        for scheme, given in self._references.items():
            texts = (given,) if isinstance(given, str) else (given.client_id, given.client_secret)
            if not all(_REFERENCE.search(text) for text in texts):
                raise UserError(
                    Text(f"auth.{scheme} names no variable", f"auth.{scheme} 没有引用环境变量"),
                    Text(
                        "Write ${NAME}, and put the secret into the environment.",
                        "请写 ${NAME}，并把密钥放入环境变量。",
                    ),
                )

    def problems(self, document: Document, operations: Sequence[Operation]) -> list[Text]:
        """Schemes that are configured and not there, and such that nobody has configured."""
        asked = dict.fromkeys(name for o in operations for names in o.security for name in names)
        found = [
            Text(f"auth.{name}: the document has no such scheme", f"auth.{name}：文档中没有该安全方案")
            for name in self._references
            if not document.scheme(name)
        ]
        bare = [o for o in operations if o.security and () not in o.security and self._chosen(o) is None]
        if bare:
            listed = ", ".join(asked)
            found.append(
                Text(
                    f"auth: nothing is given for {listed}: {len(bare)} operations are called without",
                    f"auth：未提供 {listed} 的凭据：有 {len(bare)} 个操作将不带凭据调用",
                )
            )
        return found

    async def add(
        self, request: Request, document: Document, operation: Operation, client: Client, base: str
    ) -> tuple[str, ...]:
        """Put what `operation` asks for into `request`; the secrets that are in it now.

        Raises `ToolSourceError` where the environment lacks one, or no token is given.
        """
        secrets: list[str] = []
        for name in self._chosen(operation) or ():
            scheme, given = document.scheme(name), self._references[name]
            kind, how = scheme.get("type"), str(scheme.get("scheme", "")).lower()
            if isinstance(given, ClientCredentials):
                secret = await self._token(name, given, scheme, client, base)
            else:
                secret = _expand(given)
            if kind == "apiKey":
                _place(request, str(scheme.get("in")), str(scheme.get("name")), secret)
            elif kind == "http" and how == "basic":
                secrets += (secret, secret.partition(":")[2])
                secret = b64encode(secret.encode()).decode()
                request.headers["Authorization"] = f"Basic {secret}"
            else:
                request.headers["Authorization"] = f"Bearer {secret}"
            secrets.append(secret)
        return tuple(secrets)

    def forget_tokens(self) -> None:
        """Ask for tokens anew: one was refused."""
        self._tokens.clear()

    def _chosen(self, operation: Operation) -> tuple[str, ...] | None:
        """The first alternative for which everything is configured."""
        return next(
            (names for names in operation.security if names and set(names) <= self._references.keys()), None
        )

    async def _token(
        self,
        name: str,
        given: ClientCredentials,
        scheme: Mapping[str, Json],
        client: Client,
        base: str,
    ) -> str:
        """An access token by client credentials (RFC 6749, section 4.4), kept until it ends."""
        known = self._tokens.get(name)
        if known is not None and time.monotonic() < known[1]:
            return known[0]
        flows = cast("Mapping[str, Any]", scheme.get("flows") or {})
        flow = cast("Mapping[str, Any]", flows.get("clientCredentials") or {})
        url = given.token_url or flow.get("tokenUrl")
        if not isinstance(url, str):
            raise ToolSourceError(Text(f"{name} has no token URL", f"{name} 没有令牌地址"))
        url = urljoin(base + "/", url)
        if given.token_url is None and _origin(url) != _origin(base):
            raise ToolSourceError(
                Text(
                    f"{name}: the document names another server for tokens, {_origin(url)}",
                    f"{name}：文档为令牌指定了另一服务器 {_origin(url)}",
                ),
                Text(
                    "Where the secret may go there, write `token_url` in the settings of this document.",
                    "若确可将密钥发往该处，请在该文档的设置中写明 token_url。",
                ),
            )
        form = {"grant_type": "client_credentials", **({"scope": given.scope} if given.scope else {})}
        pair = f"{quote(_expand(given.client_id))}:{quote(_expand(given.client_secret))}"
        headers = {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        answer = await client.post_form(url, form, headers)
        body: Mapping[str, Json] = _object(answer.body) if answer.status == 200 else {}
        token = body.get("access_token")
        if not isinstance(token, str) or _CONTROL.search(token):
            raise ToolSourceError(
                Text(
                    f"{name}: no token was given (status {answer.status})",
                    f"{name}：未取得令牌（状态码 {answer.status}）",
                )
            )
        lasts = body.get("expires_in")
        seconds = float(lasts) if isinstance(lasts, int | float) else 60.0
        self._tokens[name] = (token, time.monotonic() + seconds - _EARLY)
        return token


def _origin(url: str) -> str:
    """Scheme, host and port of a URL."""
    found = urlsplit(url)
    return f"{found.scheme}://{found.netloc.rpartition('@')[2]}".lower()


def _object(body: bytes) -> Mapping[str, Json]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, Json]", found if isinstance(found, dict) else {})


def _place(request: Request, place: str, name: str, secret: str) -> None:
    match place:
        case "query":
            pair = f"{quote(name, safe='')}={quote(secret, safe='')}"
            request.secret_query += ("&" if request.secret_query else "") + pair
        case "cookie":
            request.cookies[name] = secret
        case _:
            request.headers[name] = secret


def _expand(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if not found:
            raise ToolSourceError(
                Text(f"the environment has no {match[1]}", f"环境变量 {match[1]} 未设置"),
                Text(f"Set {match[1]}.", f"请设置 {match[1]}。"),
            )
        if _CONTROL.search(found):
            raise ToolSourceError(
                Text(
                    f"{match[1]} of the environment holds a line end or another control character",
                    f"环境变量 {match[1]} 含有换行或其他控制字符",
                ),
                Text(f"Set {match[1]} anew, without it.", f"请重新设置 {match[1]}，去掉该字符。"),
            )
        return found

    return _REFERENCE.sub(value, text)
