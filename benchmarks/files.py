"""Procedure files: written and read again, and damaged in the ways in which files are.

A round trip loses something where the procedure that is read has another content hash than the one that was written
(of a flowchart: other steps, or other ways between them), or where it is written as another text. A file is a crash
where reading, checking or formatting it raises anything but a refusal of ours, or a refusal does not say where.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from random import Random

from sopwith.errors import ProcedureError, SopwithError, UserError
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Procedure
from sopwith.lang import mermaid
from sopwith.lang.check import check
from sopwith.lang.dot import write_dot
from sopwith.lang.read import read
from sopwith.lang.routine_text import sayable, write_routine
from sopwith.lang.skill import SKILL, read_skill, write_skill
from sopwith.lang.yaml import format_yaml, write_yaml

Same = Callable[[Procedure, Procedure], bool]


def same_hash(one: Procedure, two: Procedure) -> bool:
    """Whether two procedures are the same in every respect."""
    return one.digest() == two.digest()


def same_graph(one: Procedure, two: Procedure) -> bool:
    """Whether two procedures have the same steps and the same ways between them."""
    return one.start == two.start and _ways(one) == _ways(two)


def _ways(procedure: Procedure) -> Counter[tuple[str, ...]]:
    steps = procedure.steps.values()
    found = Counter((step.id, edge.to) for step in steps for edge in (*step.next, *step.on_error))
    return found + Counter((step.id,) for step in steps)


@dataclass(frozen=True, slots=True)
class Form:
    """A way to write a procedure into a file called `file`: `say` is the part of a procedure that it can say, and
    `same` tells whether what was read is that. A form with `kept` False is only read."""

    name: str
    file: str
    write: Callable[[Procedure], str]
    say: Callable[[Procedure], Procedure] = lambda procedure: procedure
    same: Same = same_hash
    kept: bool = True


def draft(procedure: Procedure) -> str:
    """`procedure` as somebody might have written it in Markdown: headings, a numbered list, and a table."""
    lines = [f"# {procedure.name}", "", procedure.description, "", "## Steps / 步骤", ""]
    for i, step in enumerate(procedure.steps.values(), 1):
        words = step.do or step.answer or step.ask or step.name or step.id
        tool = f", using the `{step.tool}` tool" if step.tool else ""
        lines.append(f"{i}. **{step.title}** {' '.join(words.split())}{tool}")
        lines += [f"   - if {edge.judge or edge.when}: go to {edge.to}" for edge in step.next[:-1]]
    rows = [f"| {step.title} | {step.tool or ''} | {step.gives or ''} |" for step in procedure.steps.values()]
    return "\n".join([*lines, "", "| step | tool | output |", "|---|---|---|", *rows]) + "\n"


FORMS = (
    Form("yaml", "p.yaml", write_yaml),
    Form("routine en", "p.txt", write_routine, sayable),
    Form("routine zh", "p.txt", lambda procedure: write_routine(procedure, "zh"), sayable),
    Form("mermaid", "p.mmd", lambda procedure: mermaid.draw(procedure, full=True), same=same_graph),
    Form("dot", "p.dot", lambda procedure: write_dot(procedure, full=True), same=same_graph),
    Form("markdown", "p.md", draft, kept=False),
    Form("skill", SKILL, lambda procedure: write_skill(procedure)[SKILL], kept=False),
    Form("word", "p.docx", draft, kept=False),
)

_TOKENS = (
    ":", "- ", "  ", "\t", "\n", "#", "{", "}", "[", "]", "'", '"', "|", ">", "&a", "*a", "!!x",
    "<<: ", "---\n", "...\n", "%YAML 1.1\n", "null", "~", "1e999", "0x1F", "2026-01-01", "\x00",
    "\ufeff", "\u2028", "\ud7ff", "🙂", "步骤 1.", "分支 1-1", "Step 1.", "Branch 1-1 Step 1.", "if",
    "otherwise", "如果", "否则", "go to step 1", "转到步骤 9", "using the x tool", "${", "}", "$${", "a" * 300,
    "subgraph", "-->", "->", "|yes|", "digraph", "<b>", "# ", "```", "| a | b |", "click a", "style a fill:#f",
    "{a|<p> b}", "label=<<b>x</b>>", "end\n", "/*", "//", "\\", "%%", "<!--", "![x](y.png)", "1) ", "</w:p>", "<w:p>",
)  # fmt: skip


def losses(procedure: Procedure, form: Form) -> str | None:
    """What a round trip in `form` loses, in words; None where it loses nothing.

    `ProcedureError` says that the form cannot say it.
    """
    said = form.say(procedure)
    text = form.write(said)
    again = read(text, form.file).procedure
    if not form.same(again, said):
        return f"{form.name}: another procedure is read"
    if form.same is same_hash and form.write(again) != text:
        return f"{form.name}: another text is written"
    if form.name == "yaml" and format_yaml(text) != text:
        return "yaml: the canonical text is formatted"
    return None


def skill_losses(procedure: Procedure, folder: Path) -> str | None:
    """What a procedure loses as a skill in `folder`; `ProcedureError` where it cannot be written."""
    files = write_skill(procedure, name=folder.name)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    again = read_skill(folder / SKILL).procedure
    return None if same_hash(again, procedure) else "skill: another procedure is read"


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
                text = (
                    text[:at]
                    + rng.choice(("[", "{a: ", "- ", "<b>", "(")) * rng.choice((3, 70, 400))
                    + text[at:]
                )
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


def damaged_file(rng: Random, form: Form, text: str) -> bytes:
    """The bytes of a damaged file; of one in ten the bytes themselves are damaged as well."""
    held = (
        word_file(rng, text) if form.name == "word" else damaged(rng, text).encode("utf-8", "surrogatepass")
    )
    if rng.random() < 0.1 and held:
        at = rng.randrange(len(held))
        held = held[:at] + rng.randbytes(rng.randint(0, 4)) + held[at + rng.randint(0, 4) :]
    return held


def word_file(rng: Random, text: str) -> bytes:
    """A Word document that says `text`, its XML damaged."""
    import docx

    document = docx.Document()
    for line in text.splitlines():
        style = "Heading 1" if line.startswith("#") else "List Number" if line[:1].isdigit() else None
        plain = "".join(character for character in line if character.isprintable())
        if line.startswith("|"):
            table = document.add_table(rows=1, cols=line.count("|") - 1)
            for cell, words in zip(table.rows[0].cells, plain.strip("|").split("|"), strict=False):
                cell.text = words
        else:
            document.add_paragraph(plain, style=style)
    whole, held = BytesIO(), BytesIO()
    document.save(whole)
    with zipfile.ZipFile(whole) as given, zipfile.ZipFile(held, "w") as taken:
        for name in given.namelist():
            content = given.read(name)
            if name in ("word/document.xml", "word/numbering.xml") and rng.random() < 0.7:
                content = damaged(rng, content.decode()).encode("utf-8", "surrogatepass")
            if rng.random() > 0.01:
                taken.writestr(name, content)
    return held.getvalue()


def crash(held: bytes, form: Form, folder: Path) -> str | None:
    """What breaks where a file is read, and where it can be, checked and written; None where nothing does."""
    path = folder / form.file
    path.write_bytes(held)
    try:
        document = read(path)
        check(document, {})
        if form.name == "yaml":
            format_yaml(document.text)
        form.write(form.say(document.procedure))
        write_yaml(document.procedure)
        return _unplaced(document.notes, document.text)
    except ProcedureError as error:
        return _wordless(error) or _unplaced(error.diagnostics, held.decode("utf-8", "replace"))  # type: ignore[arg-type]
    except UserError as error:
        return _wordless(error)
    except SopwithError:
        return None  # a text that cannot be formatted without a loss is said to be left as it is
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _wordless(error: UserError) -> str | None:
    return None if error.message.en.strip() and error.message.zh.strip() else "the refusal has no words"


def _unplaced(diagnostics: tuple[Diagnostic, ...], text: str) -> str | None:
    """A diagnostic that does not say, in both languages, what is wrong in which line of the text."""
    lines = len(text.splitlines()) + 1
    for one in diagnostics:
        if not (1 <= one.place.line <= lines and one.place.column >= 1 and one.place.file):
            return f"{one.code} is placed at {one.place.line}:{one.place.column} of {lines} lines"
        if not (one.message.en and one.message.zh):
            return f"{one.code} has no words"
    return None
