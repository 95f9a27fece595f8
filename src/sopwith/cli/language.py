"""The language of messages: English or Chinese."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sopwith.errors import LANGUAGES

VARIABLE = "SOPWITH_LANG"
WITH_WORDS = frozenset({"--answer", "--by", "--given", "--inputs", "--request", "--set", "--value", "--why"})
"""The options that take what people say: anything, also what looks like an option."""


def language(given: str | None, environment: Mapping[str, str]) -> str:
    """`given`, else `SOPWITH_LANG`, else Chinese where the locale is Chinese, else English."""
    for chosen in (given, environment.get(VARIABLE)):
        if chosen in LANGUAGES:
            return chosen
    # As POSIX orders them: the first that is set decides.
    locale = next(
        (value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := environment.get(name))), ""
    )
    return "zh" if locale.startswith("zh") else "en"


def options_of(arguments: Sequence[str]) -> list[str]:
    """A command line that may not be parsable, without the words that people wrote: `--answer --json` is an answer."""
    return [argument for i, argument in enumerate(arguments) if i == 0 or arguments[i - 1] not in WITH_WORDS]


def from_arguments(arguments: Sequence[str]) -> str | None:
    """The value of `--lang` among the options of a command line that may not be parsable."""
    for i, argument in enumerate(arguments):
        if argument == "--lang" and i + 1 < len(arguments):
            return arguments[i + 1]
        if argument.startswith("--lang="):
            return argument.removeprefix("--lang=")
    return None
