"""Prompts as files: each has a name, a language and a hash."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

from sopwith.ir.value import digest
from sopwith.models.profile import PLAIN, Shape

NAMES = (
    "strict", "free", "guide", "advice", "next", "action", "choice", "answer", "inputs", "rejected", "task", "result",
    "finding",
)  # fmt: skip
"""Every prompt file that any model may be shown; each exists as `NAME.en.md` and `NAME.zh.md`."""

WORD = "word"
"""The prompt file of a choice for a model that writes the words of a label."""


@dataclass(frozen=True, slots=True)
class PromptFile:
    """One prompt text. `fill` puts values in the place of its `{names}`; values are not read again."""

    name: str
    language: str
    text: str
    hash: str

    def fill(self, **values: str) -> str:
        """The text with its names replaced."""
        return self.text.format_map(values)

    def around(self, hole: str, **values: str) -> tuple[str, str]:
        """The text before and after `{hole}`, with the other names replaced: for a text that differs in one place."""
        before, _, after = self.text.partition(f"{{{hole}}}")
        return before.format_map(values), after.format_map(values)


@cache
def prompt_file(name: str, language: str) -> PromptFile:
    """The prompt file `name` in `language` ("en" or "zh")."""
    folder = resources.files("sopwith.run").joinpath("prompts")
    text = folder.joinpath(f"{name}.{language}.md").read_text(encoding="utf-8").rstrip("\n")
    return PromptFile(name, language, text, digest(text.encode()))


@cache
def prompts_digest(language: str, shapes: frozenset[Shape] = frozenset()) -> str:
    """One hash over all prompt files of a language, and the shapes of the models that are connected: what a run is
    pinned to."""
    plain = digest("".join(prompt_file(name, language).hash for name in NAMES).encode())
    marks = sorted(shape.mark for shape in shapes - {PLAIN})
    if not marks:
        return plain
    return digest("\n".join((plain, prompt_file(WORD, language).hash, *marks)).encode())
