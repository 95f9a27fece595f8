"""Answers, inputs and requests on the command line: what is taken, what is refused, and how to go on then."""

from __future__ import annotations

import json

import pytest
from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode

ASKS = """
schema: sopwith/procedure/1
id: asks
inputs:
  least: {type: integer}
output: {type: object, required: [said], properties: {said: {}}}
start: ask
steps:
  ask:
    ask: How many?
    returns: RETURNS
    as: said
    end: complete
    result: {said: "${said}"}
"""


@pytest.mark.parametrize(
    ("returns", "answer", "value"),
    [
        ("{type: integer, maximum: 5}", "-1", -1),
        ("{type: number}", "-0.5", -0.5),
        ("{type: string}", "-", "-"),
        ("{type: string}", "--", "--"),
        ("{type: string}", "--json", "--json"),
        ("{type: string}", "--lang", "--lang"),
        ("{type: string}", "-y is what I say", "-y is what I say"),
        ("{enum: [-1, 1]}", "-1", -1),
    ],
)
def test_an_answer_and_an_input_may_begin_with_a_dash(
    sopwith: Command, returns: str, answer: str, value: object
) -> None:
    sopwith.write("p.yaml", ASKS.replace("RETURNS", returns))
    for given in (["--answer", answer], [f"--answer={answer}"]):
        ran = sopwith("run", "p.yaml", "--inputs", "least=-3", *given)
        assert (ran.code, json.loads(ran.out)) == (ExitCode.OK, {"said": value})
    assert sopwith("run", "p.yaml", "--inputs", "least=-3").code == ExitCode.SUSPENDED
    run = json.loads(sopwith("runs", "--json").out)[0]["run"]
    resumed = sopwith("resume", run, "--answer", answer)
    assert (resumed.code, json.loads(resumed.out)) == (ExitCode.OK, {"said": value})


@pytest.mark.parametrize(
    ("language", "reason"), [("en", "10 is greater than the maximum of 5"), ("zh", "10 大于最大值 5")]
)
def test_a_wrong_answer_says_what_is_wrong_and_how_to_go_on(
    sopwith: Command, language: str, reason: str
) -> None:
    sopwith.write("p.yaml", ASKS.replace("RETURNS", "{type: integer, maximum: 5}"))
    ran = sopwith("run", "p.yaml", "--inputs", "least=1", "--answer", "10", "--lang", language)
    assert ran.code == ExitCode.USAGE
    run = json.loads(sopwith("runs", "--json").out)[0]["run"]
    again = sopwith("resume", run, "--answer", "10", "--lang", language)
    for said in (ran.err, again.err):
        assert reason in said
        assert f"sopwith resume {run} --answer" in said.splitlines()[-1]
    as_json = sopwith("resume", run, "--answer", "10", "--lang", language, "--json").document
    assert f"sopwith resume {run} --answer" in as_json["error"]["hint"]
    assert sopwith("resume", run, "--answer", "5").code == ExitCode.OK


def test_a_wrong_answer_names_the_data_folder_that_it_needs(sopwith: Command) -> None:
    sopwith.write("p.yaml", ASKS.replace("RETURNS", "{type: integer}"))
    ran = sopwith("run", "p.yaml", "--inputs", "least=1", "--answer", "x", "--data", "elsewhere")
    assert ran.err.rstrip().endswith("--data elsewhere")


def test_a_request_is_demanded_only_where_something_reads_it(sopwith: Command) -> None:
    asks = ASKS.replace("RETURNS", "{type: integer}")
    sopwith.write("p.yaml", asks)
    left_out = sopwith("run", "p.yaml", "--answer", "1")
    assert left_out.code == ExitCode.USAGE
    assert "'inputs.least' reads the request" in left_out.err
    assert "--request" in left_out.err.splitlines()[-1]
    assert sopwith("run", "p.yaml", "--answer", "1", "--inputs", "least=1").code == ExitCode.OK
    sopwith.write("p.yaml", asks.replace("How many?", "How many for ${run.request}?"))
    read = sopwith("run", "p.yaml", "--answer", "1", "--inputs", "least=1")
    assert read.code == ExitCode.USAGE
    assert "'steps.ask.ask' reads the request" in read.err
    assert (
        sopwith("run", "p.yaml", "--answer", "1", "--inputs", "least=1", "--request", "x").code == ExitCode.OK
    )
    sopwith.write("p.yaml", asks.replace("{type: integer}\noutput", "{type: string, from: run.date}\noutput"))
    assert sopwith("run", "p.yaml", "--answer", "1").code == ExitCode.OK
