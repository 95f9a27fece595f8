"""Transcripts, of free steps and of regions of guide steps: what was sent stays as it is, and new text follows it."""

from __future__ import annotations

import json

from sopwith.errors import Text
from sopwith.ir.finding import EntryDescribed, SearchMade
from sopwith.ir.procedure import Grip
from sopwith.ir.value import Json
from sopwith.lang.machine import Node, Use
from sopwith.models.port import ModelRequest, Prompt, Turn
from sopwith.run.advice import Advice
from sopwith.run.book import Book, harmless, step_words
from sopwith.run.disclosure import call_schema, describe_schema, known_tools, told
from sopwith.run.form import MAX_TOKENS, Form
from sopwith.run.position import result_name
from sopwith.run.preview import as_text
from sopwith.run.reading import shown_slice
from sopwith.run.reference_schema import readable_values, widened
from sopwith.run.state import Reference, State
from sopwith.run.value_path import is_name
from sopwith.run.values import Values, long_parts, shown
from sopwith.tools.names import alias

_DONE = Text("done", "已完成")
_NOTES = {
    "no_step": Text("{} is no step of the procedure; this is noted.", "{} 不属于流程中的任何步骤，已记录。"),
    "no_edge": Text(
        "no way of the procedure led to {}; this is noted.", "流程中没有通往 {} 的路径，已记录。"
    ),
    "closed": Text(
        "the condition of the way to {} does not hold; this is noted.", "通往 {} 的条件不成立，已记录。"
    ),
    "left": Text(
        "{} comes before the procedure is at its end; this is noted.", "流程尚未走完就执行 {}，已记录。"
    ),
    "skipped": Text("a step before {} was left out; this is noted.", "跳过了 {} 之前的步骤，已记录。"),
    "visits": Text(
        "{} is repeated more often than planned; this is noted.", "{} 的重复次数超出计划，已记录。"
    ),
}
_NOT_VERIFIED = Text("This should hold now, and does not: {}", "以下条件此时应成立，但不成立：{}")


def open_form(book: Book, node: Node) -> Form:
    """The form of a reply in a transcript: any permitted tool, in a region also what its steps give, and `finish`."""
    block = book.block
    tools = block.open_tools(node)
    names = {alias(name) for name in tools if name not in block.found_later}
    found = {name: book.machine.tools[name] for name in tools} if block.finds(node) else {}
    if found:
        names.update((block.search_name, block.describe_name, block.call_name))
    names.add(book.block.finish_name(node))
    names.add(book.block.read_name)
    region = book.machine.regions.get(node.step.id)
    if region is not None:
        steps = (book.machine.nodes[step] for step in region.steps)
        names.update(book.block.name(s) for s in steps if s.kind in ("returns", "answer", "ask"))
    reading = tuple(action for action in book.block.actions if action.name in names)
    purpose = "guide" if node.grip is Grip.GUIDE else "free"
    return Form(purpose, tuple(action.name for action in reading), None, reading, callable=found)


def open_request(
    book: Book, node: Node, form: Form, state: State, values: Values, words: str | None, advice: Advice | None
) -> ModelRequest:
    """The whole request: the transcript so far, and what is new. `words` are the step's own, with their values."""
    turns = tuple(Turn(exchange.tail, exchange.reply) for exchange in state.transcript)
    tail = _tail(book, node, state, values, words)
    if advice is not None:
        tail = f"{tail}\n{book.file('advice').fill(advice=advice.text)}"
    prompt = Prompt(book.open_prefix, turns, tail, book.block.text)
    known = _known(book, node, state, values)
    constraints = _constraints(book, node, form, known) if known else {}
    legal = form.legal
    if form.callable:
        constraints |= _found_constraints(book, form, state, known)
        without = {book.block.describe_name, book.block.call_name} - constraints.keys()
        legal = tuple(name for name in legal if name not in without)
    return ModelRequest(
        prompt, "action", book.block.actions, legal, constraints=constraints, max_tokens=MAX_TOKENS
    )


def _found_constraints(
    book: Book, form: Form, state: State, known: dict[str, Json]
) -> dict[str, dict[str, Json]]:
    """The arguments of `describe` and `call`, held to what was found; none of an action that has nothing to name."""
    if not state.found:
        return {}
    found = {book.block.describe_name: describe_schema(state.found)}
    tools = known_tools(state.found, form.callable)
    if tools:
        arguments = {tool.name: widened(tool.input_schema, known) for tool in tools}
        found[book.block.call_name] = call_schema(tools, arguments)
    return found


def _known(book: Book, node: Node, state: State, values: Values) -> dict[str, Json]:
    """The long values that the transcript has shown, as a model sees them: these may be referred to."""
    used = (use.path for use in _uses(book, node))
    found = long_parts(used, state, book.procedure.inputs, values)
    stored = {name: each for name, each in state.values.items() if isinstance(each, Reference)}
    return {**found, **{name: values.whole(each) for name, each in stored.items() if is_name(name)}}


def _constraints(book: Book, node: Node, form: Form, known: dict[str, Json]) -> dict[str, dict[str, Json]]:
    """The arguments of those actions that may refer to `known` values, or look at them."""
    found: dict[str, dict[str, Json]] = {}
    for action in form.reading:
        if action.name == book.block.read_name:
            found[action.name] = readable_values(action.schema, known)
        elif action.name in book.block.takers:
            wide = widened(action.schema, known)
            if wide != action.schema:
                found[action.name] = wide
    return found


def _tail(book: Book, node: Node, state: State, values: Values, words: str | None) -> str:
    cursor = state.cursor
    if cursor is not None and cursor.rejections:
        said = book.file("rejected").fill(tail="", error=harmless(cursor.rejections[-1].message)).lstrip("\n")
        return "\n".join([*_note(book, state), said])
    if not state.transcript:
        pairs = (
            (use.name, shown(use.path, state, book.procedure.inputs, values)) for use in _uses(book, node)
        )
        lines = "\n".join(f"{name}: {harmless(as_text(value))}" for name, value in pairs)
        whole = book.machine.grip is Grip.FREE or node.grip is Grip.GUIDE
        said = "" if whole else step_words(node, "free", words)
        return book.file("task").fill(variables=lines, step=said)
    lines = [_result(book, node, state, values)]
    lines += _note(book, state)
    if cursor is not None and cursor.checked is False and cursor.read is None and node.verify is not None:
        lines.append(_NOT_VERIFIED.in_(book.language).format(node.verify.source))
    return "\n".join(lines)


def _note(book: Book, state: State) -> list[str]:
    """What is said of an action that is none of the ways on."""
    if state.noted is None:
        return []
    why, action = state.noted
    return [_NOTES[why].in_(book.language).format(action)]


def _result(book: Book, node: Node, state: State, values: Values) -> str:
    """What came of the last action."""
    cursor = state.cursor
    result: Json
    looked = None if cursor is None else cursor.read
    if isinstance(looked, SearchMade | EntryDescribed):
        result = told(looked, book.machine.tools, book.language)
        searched = isinstance(looked, SearchMade)
        tool = book.block.search_name if searched else book.block.describe_name
    elif looked is not None:
        result = shown_slice(looked, state, book.procedure.inputs, values, book.language)
        tool = book.block.read_name
    elif (
        cursor is None or cursor.tool is None
    ):  # a value that the model has just written itself, or a person's answer
        own = node.writes or node.step.id
        answered = node.kind == "ask"
        result = shown((own,), state, book.procedure.inputs, values) if answered else _DONE.in_(book.language)
        tool = book.block.name(node)
    else:
        tool = cursor.tool
        if cursor.error is not None:
            result = {"error": {"code": cursor.error.code, "message": cursor.error.message}}
        else:
            name = result_name(book, node, state, cursor)
            result = shown((name,), state, book.procedure.inputs, values)
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return book.file("result").fill(tool=tool, result=harmless(text))


def _uses(book: Book, node: Node) -> tuple[Use, ...]:
    """What a transcript begins with: what the step uses, in a region what its steps use and do not write."""
    region = book.machine.regions.get(node.step.id)
    return node.uses if region is None else book.region_uses(region)
