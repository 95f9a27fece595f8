"""The book of a machine: everything a model may be shown that does not change from run to run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, cast

from sopwith.ir.procedure import Edge, Example, Procedure
from sopwith.ir.value import Json, digest
from sopwith.lang.machine import CompiledEdge, Machine, Node, Use, named_uses
from sopwith.lang.region import Region
from sopwith.models.port import Turn
from sopwith.models.profile import PLAIN, Shape
from sopwith.run.block import Block, narrowed
from sopwith.run.labels import LETTERS, Labels
from sopwith.run.lifecycle import LIFECYCLE, STEP_SECONDS
from sopwith.run.preview import as_text, described
from sopwith.run.procedure_text import routine
from sopwith.run.prompt_file import WORD, PromptFile, prompt_file

Shapes = Callable[[str | None, str], Shape]
"""The shape for the model of a name and a role."""

_HAN = re.compile(r"[\u3400-\u9fff]")
_TAG = re.compile(r"<(/?)(variables|routine|tools|task|advice|tool_call)>")
_NONE = {"en": "none of these", "zh": "以上都不是"}


def language_of(procedure: Procedure) -> str:
    """The language that a procedure is written in: "zh" where its words have Chinese characters, else "en"."""
    words = [
        procedure.name,
        procedure.description,
        *(s.do or s.answer or s.ask or "" for s in procedure.steps.values()),
    ]
    text = "".join(words)
    if not text:  # a drawing or a table without a title: what it has are the names of steps, and labels
        steps = procedure.steps.values()
        text = "".join((*(s.name or "" for s in steps), *(e.judge or "" for s in steps for e in s.next)))
    return "zh" if len(_HAN.findall(text)) * 4 > len(text.replace(" ", "")) else "en"


def harmless(text: str) -> str:
    """`text` with the tags of our own sections made plain, so that data cannot end a section."""
    return _TAG.sub(r"‹\1\2›", text) if "<" in text else text


class Book:
    """The stable parts of all prompts of one machine, in one language. Equal machines make equal bytes."""

    def __init__(self, machine: Machine, language: str | None = None, tools_shown: int | None = None) -> None:
        self.machine = machine
        self.tools_shown = tools_shown
        """About how many tokens of definitions a transcript begins with at most; None: however many."""
        self.shape: Shapes = lambda name, role: PLAIN
        """How the model of a name (that a step gives) and a role is shown the procedure."""
        self.procedure = machine.procedure
        self.language = language or language_of(machine.procedure)
        self._prefixes: dict[Shape, str] = {}
        self._stable: dict[str, tuple[bytes, str]] = {}
        self._turns: dict[tuple[str, str], tuple[Turn, ...]] = {}
        self.forms: dict[tuple[str, str], Any] = {}
        """The forms of replies that are the same in every run, as `asking` makes them."""
        self._turn_blobs: dict[int, tuple[bytes, str]] = {}
        self._tails: dict[tuple[str, str], tuple[str, str]] = {}
        self._constraints: dict[str, dict[str, Json]] = {}

    def file(self, name: str) -> PromptFile:
        """The prompt file `name` in the language of this book."""
        return prompt_file(name, self.language)

    @cached_property
    def all_open(self) -> bool:
        """Whether every model call of the machine belongs to a transcript."""
        return all(node.open or node.kind == "route" for node in self.machine.nodes.values())

    @property
    def prefix(self) -> str:
        """The system text for a model of which nothing is known."""
        return self.prefix_for(PLAIN)

    def prefix_for(self, shape: Shape) -> str:
        """The system text of a step: role, rules, and the procedure's text in the given shape."""
        if self.all_open:
            return self.open_prefix
        found = self._prefixes.get(shape)
        if found is None:
            found = self.file("strict").fill(routine=routine(self.machine, self.language, shape)) + "\n"
            self._prefixes[shape] = found
        return found

    @cached_property
    def open_prefix(self) -> str:
        """The system text of a transcript: role, rules, and the task, with none of its steps."""
        finding = f"{self.file('finding').fill()}\n" if self.block.found_later else ""
        name = "guide" if self.machine.regions else "free"
        return self.file(name).fill(task=self._task(), finding=finding) + "\n"

    @cached_property
    def block(self) -> Block:
        """Every action of the machine."""
        return Block(self.machine, self.language, self.tools_shown)

    def stable(self, prefix: str) -> tuple[bytes, str]:
        """A prefix of this book and the tool block as they are stored, and their digest."""
        found = self._stable.get(prefix)
        if found is None:
            data = (prefix + self.block.text).encode()
            found = self._stable[prefix] = (data, digest(data))
        return found

    def _task(self) -> str:
        procedure = self.procedure
        head = " ".join(part for part in (procedure.name, procedure.description) if part)
        given = {name: item.schema_ for name, item in procedure.inputs.items()}
        return f"{head}\ninputs: {json.dumps(given, ensure_ascii=False)}"

    @cached_property
    def shortest_limit(self) -> int:
        """The shortest of all limits of time, in microseconds: no younger run has outlasted any."""
        phases = [rule.seconds for rule in LIFECYCLE.values()]
        steps = [node.step.timeout or STEP_SECONDS for node in self.machine.nodes.values()]
        return int(1e6 * min(*phases, *steps, self.procedure.timeout or STEP_SECONDS))

    def call_name(self, number: int) -> str:
        """The name of the result of the `number`-th call of a run, where no step gives it one. No step has it."""
        name = f"call_{number}"
        while name in self._step_names:
            name = f"{name}_"
        return name

    @cached_property
    def _step_names(self) -> frozenset[str]:
        """Every name that a step of the procedure has or writes, also those that the machine does not have."""
        return frozenset(
            name for key, step in self.procedure.steps.items() for name in (key, step.writes or key)
        )

    def region_uses(self, region: Region) -> tuple[Use, ...]:
        """What a transcript in a region begins with: the inputs, and what its steps use and none of them writes."""
        nodes = [self.machine.nodes[step] for step in region.steps]
        used = (path for n in nodes for path in (*(use.path for use in n.uses), *n.arguments.paths))
        outside = (path for path in used if path[0] not in region.writes and path[0] != "error")
        paths = tuple(dict.fromkeys((*(("inputs", name) for name in self.procedure.inputs), *outside)))
        whole = set(paths)
        return named_uses(tuple(p for p in paths if not any(p[:n] in whole for n in range(1, len(p)))))

    def constraint(self, node: Node) -> dict[str, Json]:
        """The schema of the arguments that are left to the model: bound ones taken out."""
        found = self._constraints.get(node.step.id)
        if found is None:
            found = self._constraints[node.step.id] = narrowed(node)
        return found

    def turns(self, node: Node, purpose: str, labels: Labels | None) -> tuple[Turn, ...]:
        """The worked examples of a step as turns in exactly the form of its tail.

        A choice among run data has none: its letters are of one run only, and turns are shared by all.
        """
        if labels is not None and node.dynamic_enums:
            return ()
        key = (node.step.id, purpose)
        found = self._turns.get(key)
        if found is None:
            made = (self._turn(node, purpose, labels, example) for example in node.step.examples)
            found = self._turns[key] = tuple(turn for turn in made if turn is not None)
        return found

    def turns_blob(self, turns: tuple[Turn, ...]) -> tuple[bytes, str]:
        """Turns as they are stored, and their digest. For turns that `turns` gave."""
        found = self._turn_blobs.get(id(turns))
        if found is None:
            data = json.dumps([[turn.user, turn.assistant] for turn in turns], ensure_ascii=False).encode()
            found = self._turn_blobs[id(turns)] = (data, digest(data))
        return found

    def _turn(self, node: Node, purpose: str, labels: Labels | None, example: Example) -> Turn | None:
        judged = isinstance(example.answer, str) and any(e.edge.to == example.answer for e in node.edges)
        if (purpose == "judge") != (judged and node.kind != "answer" and not node.choices):
            return None
        tail = self.tail(
            node, purpose, {name: described(name, value) for name, value in example.given.items()}, labels
        )
        if labels is not None:
            if example.answer not in labels.values:
                return None
            chosen = labels.values.index(example.answer)
            return Turn(tail, labels.words[chosen] if self.by_word(node) else LETTERS[chosen])
        return Turn(tail, as_text(example.answer))

    def tail(
        self,
        node: Node,
        purpose: str,
        variables: Mapping[str, Json],
        labels: Labels | None,
        said: str | None = None,
        constraint: Mapping[str, Json] | None = None,
    ) -> str:
        """The last part of a prompt: the values the step uses, what to do, and the form of the reply.

        `said` takes the place of the step's words where they hold expressions.
        """
        lines = "\n".join([f"{name}: {harmless(as_text(value))}" for name, value in variables.items()])
        key = (node.step.id, purpose)
        around = self._tails.get(key)
        if around is None or said is not None:
            around = self._around(node, purpose, labels, said, constraint)
            if said is None and not node.dynamic_enums:
                self._tails[key] = around
        before, after = around
        return f"{before}{lines}{after}"

    def _around(
        self,
        node: Node,
        purpose: str,
        labels: Labels | None,
        said: str | None,
        constraint: Mapping[str, Json] | None,
    ) -> tuple[str, str]:
        """The tail before and after its variables."""
        number = self.machine.numbers.get(node.step.id, "")
        words = step_words(node, purpose, said)
        if labels is not None and self.by_word(node):
            return self.file(WORD).around(
                "variables", number=number, step=words, labels="\n".join(f"- {word}" for word in labels.words)
            )
        if labels is not None:
            lines = labels.lines()
            return self.file("choice").around("variables", number=number, step=words, labels=lines)
        if purpose == "answer":
            return self.file("answer").around("variables", number=number, step=words)
        fields = describe_fields(constraint or self.constraint(node))
        return self.file("action").around(
            "variables", number=number, step=words, action=self.block.name(node), fields=fields
        )

    def by_word(self, node: Node) -> bool:
        """Whether the model that chooses at `node` writes the words of a label, and not its letter."""
        return self.shape(node.step.model, "judge").choice == "word"

    def returns_choice(self, node: Node) -> Labels:
        """The labels of a step whose `returns` is an enum."""
        words = (
            (c.description and f"{as_text(c.value)}: {c.description}") or as_text(c.value)
            for c in node.choices
        )
        return Labels.of((c.value for c in node.choices), words)

    def judge_choice(self, group: tuple[CompiledEdge, ...]) -> Labels:
        """The labels of the `judge` edges of a step, and none of these."""
        values = (*(e.edge.to for e in group), None)
        return Labels.of(values, (*(_judged(e.edge) for e in group), _NONE[self.language]))


def _judged(edge: Edge) -> str:
    """What a `judge` says, with the advice and the pitfalls of its way."""
    advice = [edge.guidance] if edge.guidance else []
    return "; ".join((edge.judge or "", *advice, *(f"! {pitfall}" for pitfall in edge.pitfalls)))


def step_words(node: Node, purpose: str, said: str | None = None) -> str:
    """What a step says to a model: its name, what to do, and its pitfalls."""
    step = node.step
    said = said or (step.answer if purpose == "answer" else step.do)
    text = f"{step.name}: {said}" if step.name and said else (said or step.title)
    if purpose == "judge" and not step.do:
        text = step.title
    return "\n".join((text, *(f"! {pitfall}" for pitfall in step.pitfalls)))


def describe_fields(schema: Mapping[str, Json]) -> str:
    """The fields of a schema in one line, their allowed values beside them: `kind (annual | sick), days (number)`."""
    properties = cast("Mapping[str, Mapping[str, Json]]", schema.get("properties") or {})
    if not properties:
        return _field("value", schema) if schema.get("type") not in (None, "object") else "{}"
    return ", ".join(_field(name, item) for name, item in properties.items())


def _field(name: str, schema: Mapping[str, Json]) -> str:
    enum = schema.get("enum")
    kind = (
        " | ".join(as_text(v) for v in cast("list[Json]", enum))
        if isinstance(enum, list)
        else schema.get("type", "")
    )
    notes = [str(part) for part in (kind, schema.get("description")) if part]
    return f"{name} ({'; '.join(notes)})" if notes else name
