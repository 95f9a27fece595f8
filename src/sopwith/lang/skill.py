"""An Agent Skill, a folder with `SKILL.md`, read and written. Source of the form: https://agentskills.io/specification.

The body is Routine text, or a draft. What Routine text cannot say stands in `references/procedure.yaml`; it counts as
long as neither it nor the words of `SKILL.md` have been changed since both were written. Else the words count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from sopwith.errors import ProcedureError, Text, UserError
from sopwith.ir.diagnostic import Diagnostic, Place
from sopwith.ir.procedure import Procedure
from sopwith.ir.value import Json, digest
from sopwith.lang.deed import with_deeds
from sopwith.lang.document import Document
from sopwith.lang.form import CALLED, SKILL
from sopwith.lang.identifier import identifier
from sopwith.lang.layout import lay_out
from sopwith.lang.markdown_text import read_markdown
from sopwith.lang.problem import Problems
from sopwith.lang.routine_text import differences, write_routine
from sopwith.lang.text_file import read_text_file
from sopwith.lang.tree import Tree, read_tree
from sopwith.lang.yaml import read_yaml, write_yaml

REFERENCE = "references/procedure.yaml"
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FRONT = re.compile(r"---[ \t]*\n(?P<yaml>.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_KEYS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_TOOL = re.compile(r"[^\s,(]+(?:\([^)]*\))?")
_ID, _TITLE, _TAGS, _TEXT, _PROCEDURE, _TOOLS = (
    f"sopwith-{key}" for key in ("id", "name", "tags", "text", "procedure", "tools")
)
_OF_STEPS = "steps"
"""What is said of `allowed-tools` that are those of the steps, and no list of the procedure's own."""


@dataclass(frozen=True, slots=True)
class _Head:
    """What the head of a `SKILL.md` says; a part that is missing or wrong is empty, and has been noted."""

    name: str = ""
    description: str = ""
    tools: tuple[str, ...] | None = None
    metadata: dict[str, str] | None = None


def read_skill(path: Path, shown: str = "") -> Document:
    """The procedure of a skill; `path` is its `SKILL.md`. Raises `ProcedureError` where its body holds no procedure."""
    file = shown or str(path)
    text = read_text_file(path, file)
    problems = Problems(file)
    head, body = _parts(text, problems, path.resolve().parent.name)
    document = _document(head, body, text, file, problems.diagnostics())
    scripts = path.parent / "scripts"
    if scripts.is_dir() and any(scripts.iterdir()):
        problems.warn(
            "SW720",
            Place(file=file),
            Text("the scripts of the skill are not part of the procedure", "技能中的脚本不属于流程"),
            Text("make tools of them: tools.py beside SKILL.md", "请做成工具：与 SKILL.md 同目录的 tools.py"),
        )
        document = replace(document, notes=problems.diagnostics())
    return _with_reference(document, head, body, path.parent / REFERENCE)


def write_skill(
    procedure: Procedure,
    language: str = "en",
    name: str | None = None,
    called: Mapping[str, Procedure] | None = None,
) -> dict[str, str]:
    """The files of the skill, by their paths in its folder: `SKILL.md`, and `references/procedure.yaml` where needed.

    `called` are the procedures that it calls, and those that these call, by id: each is a file in `references/called`.
    `name` is the name of the skill and of its folder; by default `skill_name` makes one of the procedure's id. Raises
    `UserError` for a name that is not allowed, and `ProcedureError` where Routine text would be read as something else.
    """
    legal = skill_name(procedure.id)
    name = legal if name is None else name
    if _name_problem(name) is not None:
        raise UserError(
            Text(
                f"'{name}' cannot be the name of a skill: {_NAME_RULE.en}",
                f"“{name}”不能作为技能名称：{_NAME_RULE.zh}",
            ),
            Text(
                f"such as {skill_name(name) if _ascii(name) else legal}",
                f"例如 {skill_name(name) if _ascii(name) else legal}",
            ),
        )
    files = {f"{CALLED}/{one}.yaml": write_yaml(found) for one, found in sorted((called or {}).items())}
    body = _body(procedure, language, {one: f"{CALLED}/{one}.yaml" for one in called or {}})
    words = " ".join((procedure.description or procedure.name or procedure.id).split())
    description = words if len(words) <= LONGEST_DESCRIPTION else words[: LONGEST_DESCRIPTION - 1] + "…"
    metadata = {_ID: procedure.id}
    metadata |= {_TITLE: procedure.name} if procedure.name else {}
    metadata |= {_TAGS: ", ".join(procedure.tags)} if procedure.tags else {}
    tools = _listed(procedure)
    metadata |= {_TOOLS: _OF_STEPS} if procedure.tools is None and tools else {}
    plain = _skill_text(name, description, tools, metadata, body)
    head, said = _parts(plain, Problems(SKILL), name)
    if _document(head, said, plain, SKILL, ()).procedure.digest() == procedure.digest():
        return {SKILL: plain, **files}
    metadata |= {_TEXT: _words_hash(description, body), _PROCEDURE: procedure.digest()}
    return {
        SKILL: _skill_text(name, description, tools, metadata, body),
        REFERENCE: write_yaml(procedure),
        **files,
    }


def _body(procedure: Procedure, language: str, files: Mapping[str, str]) -> str:
    """The words of the procedure, with what only words can say of its waits, calls, lists and approvals: as far as they
    are read as the words that they are."""
    try:
        return write_routine(with_deeds(procedure, language, files), language)
    except ProcedureError:
        return write_routine(procedure, language)


def _listed(procedure: Procedure) -> tuple[str, ...]:
    """What `allowed-tools` says of a procedure."""
    return procedure.tools if procedure.tools is not None else _tools_named(procedure)


def _tools_named(procedure: Procedure) -> tuple[str, ...]:
    """The tools of the steps: what a procedure permits that lists none."""
    return tuple(dict.fromkeys(step.tool for step in procedure.steps.values() if step.tool))


def skill_name(words: str) -> str:
    """A legal name of a skill, made of `words`: `Leave_request` gives `leave-request`."""
    return (_ascii(words) or "procedure")[:LONGEST_NAME].strip("-")


def _ascii(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


_NAME_RULE = Text(
    f"1 to {LONGEST_NAME} lowercase letters, digits and single hyphens",
    f"1 到 {LONGEST_NAME} 个小写字母、数字和单个连字符",
)


def _name_problem(name: str) -> Text | None:
    return None if len(name) <= LONGEST_NAME and _NAME.fullmatch(name) else _NAME_RULE


def _skill_text(
    name: str, description: str, tools: tuple[str, ...] | None, metadata: dict[str, str], body: str
) -> str:
    head: dict[str, Json] = {"name": name, "description": description}
    if tools and _can_be_listed(tools):
        head["allowed-tools"] = " ".join(tools)
    head["metadata"] = cast("Json", metadata)
    return f"---\n{lay_out(head)}---\n\n{body}"


def _words_hash(description: str, body: str) -> str:
    """The hash of what people read and edit."""
    return digest(f"{description}\n{body.strip()}".encode())


# reading


def _parts(text: str, problems: Problems, folder: str) -> tuple[_Head, str]:
    """The head, and the body with blank lines in its place, so that lines keep their numbers."""
    text = text.removeprefix("\ufeff")
    front = _FRONT.match(text)
    if front is None:
        problems.warn(
            "SW720",
            Place(file=problems.file),
            Text("there is no head between '---' lines", "缺少“---”之间的头部"),
            Text("write 'name' and 'description' there", "请在其中写明 name 和 description"),
        )
        return _Head(), text
    inner = Problems(problems.file)
    tree = read_tree("\n" + front["yaml"], inner)
    for one in inner.diagnostics():
        problems.warn("SW720", one.place, one.message, one.hint)
    body = "\n" * front.group().count("\n") + text[front.end() :]
    return _head(tree, problems, folder), body


def _head(tree: Tree, problems: Problems, folder: str) -> _Head:
    value = cast("dict[str, Json]", tree.value) if isinstance(tree.value, dict) else {}

    def place(*path: str) -> Place:
        return tree.places.get(path) or Place(file=problems.file)

    def wrong(key: str, message: Text, hint: Text) -> None:
        problems.warn("SW720", place(key), message, hint)

    name, description = value.get("name"), value.get("description")
    if not isinstance(name, str) or _name_problem(name) is not None or name != folder:
        message = Text(
            f"the name '{name}' is not {_NAME_RULE.en}, equal to the folder '{folder}'",
            f"名称“{name}”应为{_NAME_RULE.zh}，并与文件夹“{folder}”相同",
        )
        legal = skill_name(folder)
        wrong("name", message, Text(f"call both '{legal}'", f"请都命名为“{legal}”"))
    if not isinstance(description, str) or not 0 < len(description.strip()) <= LONGEST_DESCRIPTION:
        message = Text(
            f"the description is not a text of 1 to {LONGEST_DESCRIPTION} characters",
            f"description 应为 1 到 {LONGEST_DESCRIPTION} 个字符的文本",
        )
        wrong("description", message, Text("say what it is for, and when", "请写明用途和使用时机"))
    for key in sorted(value.keys() - _KEYS):
        message = Text(f"a skill has no '{key}'", f"技能没有“{key}”")
        wrong(key, message, Text("move it under 'metadata'", "请移到 metadata 之下"))
    metadata = value.get("metadata")
    return _Head(
        name if isinstance(name, str) else "",
        description.strip() if isinstance(description, str) else "",
        _tools(value.get("allowed-tools")),
        {k: str(v) for k, v in cast("dict[str, Json]", metadata).items()}
        if isinstance(metadata, dict)
        else {},
    )


def _tools(value: Json) -> tuple[str, ...] | None:
    """The tools of `allowed-tools`: names between spaces, or a list of them."""
    if isinstance(value, str):
        return tuple(dict.fromkeys(_TOOL.findall(value))) or None
    if isinstance(value, list):
        return tuple(dict.fromkeys(str(one) for one in cast("list[Json]", value))) or None
    return None


def _document(head: _Head, body: str, text: str, file: str, notes: tuple[Diagnostic, ...]) -> Document:
    """What the words of a skill say, with what its head says about the whole."""
    document = read_markdown(body, file)
    found = document.procedure
    metadata = head.metadata or {}
    tags = tuple(tag for tag in re.split(r"\s*,\s*", metadata.get(_TAGS, "").strip()) if tag)
    of_steps = metadata.get(_TOOLS) == _OF_STEPS and set(head.tools or ()) == set(_tools_named(found))
    procedure = found.model_copy(
        update={
            "id": identifier(metadata.get(_ID) or head.name, found.id),
            "name": metadata.get(_TITLE) or found.name,
            "description": found.description or head.description,
            "tags": tags,
            "tools": None if of_steps else head.tools,
        }
    )
    return Document(procedure, document.places, file, text, (*notes, *document.notes), document.form)


def _with_reference(document: Document, head: _Head, body: str, path: Path) -> Document:
    """The procedure of `references/procedure.yaml`, where it and the words are as they were written; else the words."""
    metadata = head.metadata or {}
    if _PROCEDURE not in metadata:
        return document
    problems = Problems(document.file)
    place = Place(file=document.file)
    try:
        _must_be_inside(path)
        reference = read_yaml(read_text_file(path), str(path))
    except (ProcedureError, UserError) as error:
        said = error.message
        problems.warn(
            "SW722",
            place,
            Text(f"{REFERENCE} cannot be used: {said.en}", f"无法使用 {REFERENCE}：{said.zh}"),
            _CONVERT,
        )
        return replace(document, notes=(*document.notes, *problems.diagnostics()))
    same_words = metadata.get(_TEXT) == _words_hash(head.description, body)
    if same_words and reference.procedure.digest() == metadata[_PROCEDURE]:
        _compare_tools(reference.procedure, head, problems, _place_of_tools(document))
        return replace(reference, notes=(*document.notes, *problems.diagnostics()))
    paths = differences(reference.procedure, document.procedure)
    held = any(_holds_back(reference.procedure, path) for path in paths)
    lost = ", ".join(paths) or "-"
    what = Text(SKILL, SKILL) if not same_words else Text(REFERENCE, REFERENCE)
    note = problems.add if held else problems.warn
    note(
        "SW721",
        place,
        Text(
            f"{what.en} was edited since the skill was written: the words count, and {REFERENCE} does not ({lost})",
            f"技能写成之后 {what.zh} 被改动：以正文为准，不采用 {REFERENCE}（{lost}）",
        ),
        _DECIDE if held else _CONVERT,
    )
    return replace(document, notes=(*document.notes, *problems.diagnostics()))


def _compare_tools(procedure: Procedure, head: _Head, problems: Problems, place: Place) -> None:
    """Note where `allowed-tools` names other tools than `procedure`, which counts. One that this permits is an
    error: whoever took it out of the list means it not to be called."""
    permitted = _listed(procedure)
    if head.tools is None and not _can_be_listed(permitted):
        return
    listed = head.tools or ()
    taken = [tool for tool in permitted if tool not in listed]
    added = [tool for tool in listed if tool not in permitted]
    if not taken and not added:
        return
    lost = ", ".join((*(f"-{tool}" for tool in taken), *(f"+{tool}" for tool in added)))
    note = problems.add if taken else problems.warn
    said = Text(
        f"allowed-tools was edited since the skill was written: {REFERENCE} counts, and names other tools ({lost})",
        f"技能写成之后 allowed-tools 被改动：以 {REFERENCE} 为准，其中的工具不同（{lost}）",
    )
    note("SW721", place, said, _CONVERT)


def _place_of_tools(document: Document) -> Place:
    lines = enumerate(document.text.splitlines(), 1)
    at = next((i for i, line in lines if line.startswith("allowed-tools")), 1)
    return Place(file=document.file, line=at)


def _can_be_listed(tools: tuple[str, ...]) -> bool:
    """Whether `tools` can be written between spaces, each read as itself."""
    return bool(tools) and not any(re.search(r"[\s,()]", tool) for tool in tools)


def _holds_back(procedure: Procedure, path: str) -> bool:
    """Whether what stands at `path` is a control; of a step that is lost as a whole, whether it had one."""
    parts = path.split(".")
    step = procedure.steps.get(parts[1]) if parts[0] == "steps" and len(parts) == 2 else None
    return parts[-1] in _HOLDS if step is None else bool(step.model_fields_set & _HOLDS)


def _must_be_inside(path: Path) -> None:
    """Raise `UserError` where the file lies outside of the folder of its skill, over a link."""
    folder = path.parent.parent.resolve()
    if not path.resolve().is_relative_to(folder):
        raise UserError(
            Text("it is a link that leads out of the skill's folder", "它是指向技能文件夹之外的链接"),
            _CONVERT,
        )


_CONVERT = Text(
    "make the same change in the YAML, and write the skill again: sopwith convert FILE.yaml --to skill -o FOLDER",
    "请在 YAML 中作同样的改动，并重新写出技能：sopwith convert FILE.yaml --to skill -o 文件夹",
)
_HOLDS = frozenset(
    {"approval", "call", "each", "min_confidence", "on_error", "timeout", "tools", "verify", "visits", "wait"}
)
"""What holds a run back: words that leave it out silently would do more than was written."""
_DECIDE = Text(
    f"edit {REFERENCE} instead, and write the skill again; delete it if the words alone are meant",
    f"请改 {REFERENCE} 并重新写出技能；若确实只以正文为准，请删除该文件",
)
