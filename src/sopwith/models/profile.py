"""What is known of a model: how it is best shown a procedure, how it chooses, and what its endpoint enforces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sopwith.errors import Text, UserError
from sopwith.ir.pydantic_problem import told

Mode = Literal["auto", "tools", "json_schema", "text"]
Optional = Literal["parallel_tool_calls", "temperature", "top_logprobs", "logprobs"]

_EDGE = 1e-6
"""A probability is never nearer to 0 or 1 than this."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a model is shown a procedure: whether with the `needs` and `gives` of its steps, whether without the lines
    between branches, and whether it chooses by letter or by the words of a label."""

    io_words: bool = True
    flat: bool = False
    choice: Literal["letter", "word"] = "letter"

    @property
    def mark(self) -> str:
        """A text that two shapes share only where they show the same."""
        return f"io_words={self.io_words} flat={self.flat} choice={self.choice}"


PLAIN = Shape()
"""How a model is shown a procedure where nothing is known of it."""


class Calibration(BaseModel):
    """How sure a model is, as its own probability of the label it chose, made into how often it is right:
    `logit(right) = slope * logit(own) + offset`. It never changes an order, since `slope` is not negative. `labels` is
    how many labelled choices it was fitted to."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    slope: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    offset: Annotated[float, Field(allow_inf_nan=False)]
    labels: int = 0

    def of(self, own: float) -> float:
        """The probability of being right for a model's own probability, both 0..1."""
        kept = min(max(own, _EDGE), 1 - _EDGE)
        score = self.slope * math.log(kept / (1 - kept)) + self.offset
        return 1 / (1 + math.exp(-score)) if score > -700 else 0.0


class Profile(BaseModel):
    """One model's profile. `context` is the longest prompt and reply together, in tokens; `mode` and `without` say how
    an endpoint is asked for an action, and which parameters it does not take; `about` is for people."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    io_words: bool = True
    flat: bool = False
    choice: Literal["letter", "word"] = "letter"
    calibration: Calibration | None = None
    context: Annotated[int, Field(gt=0)] | None = None
    mode: Mode = "auto"
    without: tuple[Optional, ...] = ()
    about: str = ""

    @property
    def shape(self) -> Shape:
        """What of it changes the bytes of prompts."""
        return Shape(self.io_words, self.flat, self.choice)

    def sure(self, own: float | None) -> float | None:
        """The calibrated confidence of a choice; as it is where there is no calibration."""
        return own if own is None or self.calibration is None else self.calibration.of(own)


class Profiles:
    """Profiles by a model's id, or a pattern of it (`local:qwen*`). What is given stands over what ships with Sopwith,
    field by field; of several patterns that fit the first counts."""

    def __init__(self, own: Mapping[str, Mapping[str, Any]] | None = None, where: str = "profiles") -> None:
        """Raises `UserError` with the name of the profile and the field that is wrong; `where` begins it."""
        self._own = {name: dict(fields) for name, fields in (own or {}).items()}
        self._found: dict[str, Profile] = {}
        for name, fields in self._own.items():
            _profile(fields, f"{where}.{name}")

    def of(self, model: str) -> Profile:
        """The profile of the model with this id."""
        if model not in self._found:
            fields = {**_fitting(_shipped(), model), **_fitting(self._own, model)}
            self._found[model] = _profile(fields, f"profiles.{model}")
        return self._found[model]


def _fitting(profiles: Mapping[str, dict[str, Any]], model: str) -> dict[str, Any]:
    if model in profiles:
        return profiles[model]
    return next((profiles[name] for name in profiles if fnmatchcase(model, name)), dict[str, Any]())


def _profile(fields: Mapping[str, Any], where: str) -> Profile:
    try:
        return Profile.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join((where, *map(str, first["loc"])))
        said = told(first, Profile)
        raise UserError(
            Text(f"{place}: {said.message.en}", f"{place}：{said.message.zh}"), said.hint
        ) from error


@cache
def _shipped() -> Mapping[str, dict[str, Any]]:
    import tomllib  # its patterns take long to compile, and are needed once a model is known

    file = resources.files("sopwith.models").joinpath("profiles.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))
