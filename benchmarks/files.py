"""Procedure files: written and read again, and damaged in the ways in which files are.

A round trip loses something where the procedure that is read has another content hash than the one that was written;
a file is a crash where reading, checking or formatting it raises anything but a refusal of ours, or a refusal does not
say where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from sopwith.errors import ProcedureError, SopwithError, UserError
from sopwith.ir.procedure import Procedure
from sopwith.lang.check import check
from sopwith.lang.document import Document
from sopwith.lang.routine import read_routine
from sopwith.lang.routine_text import sayable, write_routine
from sopwith.lang.yaml import format_yaml, read_yaml, write_yaml


@dataclass(frozen=True, slots=True)
class Form:
    """A way to write a procedure: `say` is the part of a procedure that it can say."""

    name: str
    write: Callable[[Procedure], str]
    read: Callable[[str], Document]
    say: Callable[[Procedure], Procedure] = lambda procedure: procedure


FORMS = (
    Form("yaml", write_yaml, lambda text: read_yaml(text, "p.yaml")),
    Form("routine en", write_routine, lambda text: read_routine(text, "p.txt"), sayable),
    Form("routine zh", lambda p: write_routine(p, "zh"), lambda text: read_routine(text, "p.txt"), sayable),
)

_TOKENS = (
    ":", "- ", "  ", "\t", "\n", "#", "{", "}", "[", "]", "'", '"', "|", ">", "&a", "*a", "!!x",
    "<<: ", "---\n", "...\n", "%YAML 1.1\n", "null", "~", "1e999", "0x1F", "2026-01-01", "\x00",
    "\ufeff", "\u2028", "\ud7ff", "🙂", "步骤 1.", "分支 1-1", "Step 1.", "Branch 1-1 Step 1.", "if",
    "otherwise", "如果", "否则", "go to step 1", "转到步骤 9", "using the x tool", "${", "}", "$${", "a" * 300,
    "subgraph", "-->", "->", "|yes|", "digraph", "<b>", "# ", "```", "| a | b |",
)  # fmt: skip


def losses(procedure: Procedure, form: Form) -> str | None:
    """What a round trip in `form` loses, in words; None where it loses nothing, or the form cannot say it.

    `ProcedureError` says that it cannot.
    """
    said = form.say(procedure)
    text = form.write(said)
    again = form.read(text).procedure
    if again.digest() != said.digest():
        return f"{form.name}: another procedure is read"
    if form.write(again) != text:
        return f"{form.name}: another text is written"
    if form.name == "yaml" and format_yaml(text) != text:
        return "yaml: the canonical text is formatted"
    return None


def damaged(rng: Random, text: str) -> str:
    """`text` after one to six accidents."""
    for _ in range(rng.randint(1, 6)):
        at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        match rng.randrange(8):
            case 0:
                text = text[:at] + rng.choice(_TOKENS) + text[at:]
            case 1:
                text = text[:at] + text[min(to, at + rng.randint(1, 12)) :]
            case 2:
                text = text[:at]
            case 3:
                text = _lines(rng, text)
            case 4:
                text = (
                    text[:at]
                    + chr(rng.choice((rng.randrange(32), rng.randrange(32, 0xD800))))
                    + text[at + 1 :]
                )
            case 5:
                text = text[:to] + text[at : min(to, at + 80)] + text[to:]
            case 6:
                text = text.replace(
                    rng.choice(("  ", ": ", ". ", "\n", "-", "if ", "1")), rng.choice(_TOKENS), 1
                )
            case _:
                text = text[:at] + rng.choice(("[", "{a: ", "- ")) * rng.choice((3, 70, 400)) + text[at:]
    return text


def _lines(rng: Random, text: str) -> str:
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            lines.pop(i)
        case 1:
            lines[i], lines[j] = lines[j], lines[i]
        case 2:
            lines.insert(j, lines[i])
        case _:
            lines[i] = " " * rng.randint(0, 9) + lines[i].lstrip()
    return "\n".join(lines)


def crash(text: str, form: Form) -> str | None:
    """What breaks where `text` is read, and where it can be, checked and written; None where nothing does."""
    try:
        document = form.read(text)
        check(document, {})
        if form.name == "yaml":
            format_yaml(text)
        form.write(form.say(document.procedure))
    except (ProcedureError, UserError) as error:
        return _unplaced(error, text)
    except SopwithError:
        return None  # a text that cannot be formatted without a loss is said to be left as it is
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _unplaced(error: ProcedureError | UserError, text: str) -> str | None:
    """What a refusal does not say: where, in both languages."""
    if not (error.message.en.strip() and error.message.zh.strip()):
        return "the refusal has no words"
    if not isinstance(error, ProcedureError):
        return None
    lines = text.count("\n") + text.count("\r") + 1
    for one in _diagnostics(error):
        if not (1 <= one.place.line <= lines and one.place.column >= 1 and one.place.file):
            return f"{one.code} is placed at {one.place.line}:{one.place.column} of {lines} lines"
        if not (one.message.en and one.message.zh):
            return f"{one.code} has no words"
    return None


def _diagnostics(error: ProcedureError) -> Iterable:  # type: ignore[type-arg]
    return error.diagnostics


def sample(rng: Random, texts: list[str]) -> str:
    """A damaged one of `texts`; now and then two of them are one file."""
    text = rng.choice(texts)
    return damaged(rng, text + rng.choice(texts) if rng.random() < 0.02 else text)
