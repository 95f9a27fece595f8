"""A model from one line of text, as it stands in settings and on the command line."""

from __future__ import annotations

import os
import re

from sopwith.errors import Text, UserError
from sopwith.models.anthropic import URL, AnthropicModel
from sopwith.models.catalogue import DEFAULT, KNOWN, find
from sopwith.models.endpoint import endpoint_id
from sopwith.models.local import LocalModel, local_id
from sopwith.models.openai_compatible import OpenAIModel
from sopwith.models.port import Model
from sopwith.models.profile import Profiles

_AT_URL = re.compile(r"(.+?)@(https?://.+)")  # a model's own name may hold an @
_URLS = {"openai": ("SOPWITH_BASE_URL", "OPENAI_BASE_URL"), "anthropic": (URL,)}
FORMS = (
    "local, local:NAME, local:PATH.gguf, openai:MODEL, openai:MODEL@URL, anthropic:MODEL, anthropic:MODEL@URL"
)


def connect(spec: str, profiles: Profiles | None = None) -> Model:
    """The model that `spec` names.

    - `local`, `local:NAME`, `local:PATH`: a GGUF file on this machine, by its known name or its path;
    - `openai:MODEL`: an OpenAI-compatible endpoint; its URL is `SOPWITH_BASE_URL`, else `OPENAI_BASE_URL`,
      else OpenAI's own; its key is `SOPWITH_API_KEY`, else `OPENAI_API_KEY`;
    - `openai:MODEL@URL`: the same at `URL`;
    - `anthropic:MODEL`, `anthropic:MODEL@URL`: Anthropic's Messages API, at Anthropic or at `URL` (without `/v1`); its
      key is `ANTHROPIC_API_KEY`.

    `profiles` say with which context a file is loaded, and how an endpoint is asked.
    Raises `UserError` for anything else, `ModelFileError` when a local file is not there.
    """
    known = Profiles() if profiles is None else profiles
    kind, name, url = _parts(spec)
    if kind == "local":
        model = LocalModel(find(name))
        context = known.of(model.id).context
        return model if context is None else LocalModel(model.path, context=context)
    if kind == "anthropic":
        return AnthropicModel(name, base_url=url)
    profile = known.of(endpoint_id(kind, name, url))
    return OpenAIModel(name, base_url=url, mode=profile.mode, without=profile.without)


def id_of(spec: str) -> str:
    """The id of the model that `spec` names, which is not connected: no key is needed, and of a local model that is
    known by name no file. Raises as `connect` does."""
    kind, name, url = _parts(spec)
    if kind != "local":
        return endpoint_id(kind, name, url)
    return local_id(find(name)) if name not in KNOWN else KNOWN[name].id


def _parts(spec: str) -> tuple[str, str, str | None]:
    """The kind, the name and the URL that `spec` and the environment give. Raises `UserError` for what is no model."""
    kind, _, rest = spec.strip().partition(":")
    rest = rest.strip()
    if kind == "local":
        return kind, rest or DEFAULT, None
    if kind not in _URLS or not rest:
        raise UserError(
            Text(f"{spec!r} does not name a model", f"{spec!r} 不是有效的模型写法"),
            Text(f"the forms are {FORMS}", f"可用写法：{FORMS}"),
        )
    there = _AT_URL.fullmatch(rest)
    return (kind, rest, _environment(*_URLS[kind])) if there is None else (kind, there[1], there[2])


def _environment(*names: str) -> str | None:
    return next((value for name in names if (value := os.environ.get(name))), None)
