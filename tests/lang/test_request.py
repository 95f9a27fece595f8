"""A request is wanted where something reads it, and nowhere else."""

from __future__ import annotations

import pytest

from sopwith.lang.document import Path
from sopwith.lang.request import reader_of_request
from sopwith.lang.yaml import read_yaml

HEAD = "schema: sopwith/procedure/1\nid: p\nstart: a\n"
END = "    end: complete\n"


@pytest.mark.parametrize(
    ("text", "given", "reader"),
    [
        ("steps:\n  a:\n    do: greet\n", (), None),
        ("inputs: {who: {type: string, from: run.principal.id}}\nsteps:\n  a:\n", (), None),
        ("inputs: {who: {type: string}}\nsteps:\n  a:\n", ("who",), None),
        ("inputs: {who: {type: string}}\nsteps:\n  a:\n", (), ("inputs", "who")),
        ("inputs: {all: {type: string, from: run.request}}\nsteps:\n  a:\n", (), ("inputs", "all")),
        ("steps:\n  a:\n    answer: 'echo ${run.request}'\n", (), ("steps", "a", "answer")),
        ("steps:\n  a:\n    answer: 'it is ${run.date}'\n", (), None),
        ("steps:\n  a:\n    answer: x\n    uses: [run.request]\n", (), ("steps", "a", "uses", 0)),
        (
            "steps:\n  a:\n    tool: t.t\n    with: {q: ['${run.request}']}\n",
            (),
            ("steps", "a", "with", "q", 0),
        ),
        ("steps:\n  a:\n    answer: x\n    verify: run.request != ''\n", (), ("steps", "a", "verify")),
        ("output: {}\nverify: run.request != ''\nsteps:\n  a:\n", (), ("verify",)),
        ("steps:\n  a:\n    result: {q: '${run.request.size()}'}\n", (), ("steps", "a", "result", "q")),
        (
            "steps:\n  a:\n    returns: {enum: '${[run.request]}'}\n    do: pick\n",
            (),
            ("steps", "a", "returns", "enum"),
        ),
    ],
)
def test_who_reads_the_request(text: str, given: tuple[str, ...], reader: Path | None) -> None:
    assert reader_of_request(read_yaml(HEAD + text + END).procedure, given) == reader
