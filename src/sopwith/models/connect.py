"""A model from one line of text, as it stands in settings and on the command line."""

from __future__ import annotations

import os
import re

from sopwith.errors import Text, UserError
from sopwith.models.anthropic import AnthropicModel
from sopwith.models.catalogue import DEFAULT, find
from sopwith.models.local import LocalModel
from sopwith.models.openai_compatible import OpenAIModel
from sopwith.models.port import Model
from sopwith.models.profile import Profiles

_AT_URL = re.compile(r"(.+?)@(https?://.+)")  # a model's own name may hold an @
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
    kind, _, rest = spec.strip().partition(":")
    if kind == "local":
        model = LocalModel(find(rest.strip() or DEFAULT))
        context = known.of(model.id).context
        return model if context is None else LocalModel(model.path, context=context)
    if kind in ("openai", "anthropic") and rest.strip():
        there = _AT_URL.fullmatch(rest.strip())
        name, url = (rest.strip(), None) if there is None else (there[1], there[2])
        if kind == "anthropic":
            return AnthropicModel(name, base_url=url)
        url = url or _environment("SOPWITH_BASE_URL", "OPENAI_BASE_URL")
        profile = known.of(OpenAIModel(name, base_url=url).id)
        return OpenAIModel(name, base_url=url, mode=profile.mode, without=profile.without)
    raise UserError(
        Text(f"{spec!r} does not name a model", f"{spec!r} 不是有效的模型写法"),
        Text(f"the forms are {FORMS}", f"可用写法：{FORMS}"),
    )


def _environment(*names: str) -> str | None:
    return next((value for name in names if (value := os.environ.get(name))), None)
