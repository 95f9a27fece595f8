"""The settings of an OpenAPI document, `[openapi.NAME]` of `sopwith.toml`, as a source of tools.

[openapi.crm]
document = "crm.yaml"                     # or its URL
url = "https://crm.example.com/v2"        # where the document's own server is another
auth = { api_key = "${CRM_KEY}" }         # by the document's security schemes
effects = { searchCustomers = "read" }
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sopwith.errors import Text, UserError
from sopwith.ir.pydantic_problem import told
from sopwith.ir.tool import Effect
from sopwith.tools.openapi import OpenApiSource
from sopwith.tools.openapi_auth import ClientCredentials


class _Client(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    client_id: str
    client_secret: str
    scope: str = ""
    token_url: str | None = None


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    document: str | Path
    url: str | None = Field(default=None, pattern="^https?://")
    auth: dict[str, str | _Client] = Field(default_factory=dict)
    effects: dict[str, Effect] = Field(default_factory=dict)
    idempotent: list[str] = Field(default_factory=list)
    only: list[str] = Field(default_factory=lambda: ["*"])
    timeout: float = Field(default=60.0, gt=0)


def openapi_source(name: str, settings: Mapping[str, Any], place: str) -> OpenApiSource:
    """The source `name` of its settings; messages call them `place`. Nothing is read yet.

    Raises `UserError` for a setting that is not what it must be.
    """
    try:
        entry = _Entry.model_validate(dict(settings))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"] if part not in ("str", "_Client"))
        said, hint = told(first, _Entry)
        raise UserError(Text(f"{place}: {field}: {said.en}", f"{place}：{field}：{said.zh}"), hint) from error
    auth = {
        scheme: given if isinstance(given, str) else ClientCredentials(**given.model_dump())
        for scheme, given in entry.auth.items()
    }
    document = entry.document if is_url(str(entry.document)) else Path(entry.document)
    try:
        return OpenApiSource(
            name,
            document,
            url=entry.url,
            auth=auth,
            effects=entry.effects,
            idempotent=entry.idempotent,
            only=entry.only,
            timeout=entry.timeout,
        )
    except UserError as error:
        said = error.message
        raise UserError(Text(f"{place}: {said.en}", f"{place}：{said.zh}"), error.hint) from error


def is_url(text: str) -> bool:
    """Whether a document is named by its URL."""
    return text.startswith(("http://", "https://"))
