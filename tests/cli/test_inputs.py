"""Inputs on the command line: a wrong one is named, with what is wanted and how to give it."""

from __future__ import annotations

import shlex

from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode

PROCEDURE = """\
schema: sopwith/procedure/1
id: cold
inputs:
  boxes: {type: array, minItems: 1, items: {type: string}}
  waybill: {type: string, minLength: 2}
output: {type: object, properties: {boxes: {type: array}}}
start: done
steps:
  done:
    end: complete
    result:
      boxes: ${inputs.boxes}
"""


def test_a_wrong_input_is_named_with_what_is_wanted_and_how_to_give_it(sopwith: Command) -> None:
    sopwith.write("p.yaml", PROCEDURE)
    ran = sopwith("run", "p.yaml", "--inputs", "boxes=箱-1", "--inputs", "waybill=W1", "--lang", "zh")
    assert ran.code == ExitCode.USAGE
    assert "输入“boxes”应为列表，每项为文本，至少 1 项，不是“箱-1”" in ran.err
    hint = ran.err.split("例如：")[1].split("，")[0]
    sopwith.write("s.jsonl", "")
    again = sopwith(
        "run", "p.yaml", *shlex.split(hint), "--inputs", "waybill=W1", "--model", "scripted:s.jsonl"
    )
    assert (again.code, again.out) == (ExitCode.OK, '{"boxes": ["箱-1"]}\n')


def test_an_empty_input_is_named(sopwith: Command) -> None:
    sopwith.write("p.yaml", PROCEDURE)
    ran = sopwith("run", "p.yaml", "--inputs", "waybill=")
    assert "the input 'waybill' is text, 2 or more characters; and nothing was given" in ran.err
    assert "--inputs waybill=" in ran.err


def test_missing_inputs_say_how_to_give_them(sopwith: Command) -> None:
    sopwith.write("p.yaml", PROCEDURE)
    ran = sopwith("run", "p.yaml", "--inputs", "waybill=W1")
    assert ran.code == ExitCode.USAGE
    assert "--request" in ran.err and "--inputs boxes=" in ran.err and "--inputs-file" in ran.err
    assert "--inputs waybill" not in ran.err


WAITS = """\
schema: sopwith/procedure/1
id: waits
start: checked
steps:
  checked:
    wait: {event: checked}
    returns:
      type: object
      required: [passed]
      properties: {passed: {type: boolean}}
    next: done
  done:
    end: complete
"""


def test_a_run_that_waits_says_what_the_event_must_bring(sopwith: Command) -> None:
    sopwith.write("p.yaml", WAITS)
    sopwith.write("s.jsonl", "")
    ran = sopwith("run", "p.yaml", "--model", "scripted:s.jsonl", "--lang", "zh")
    assert ran.code == ExitCode.SUSPENDED
    assert "对象，含 passed（true 或 false）" in ran.err
    run = ran.err.split("sopwith signal ")[1].split()[0]
    wrong = sopwith("signal", run, "checked", "--payload", '{"passed": "yes"}', "--lang", "zh")
    assert wrong.code == ExitCode.USAGE
    assert "$.passed：应为真假值，不是文本" in wrong.err and "must be" not in wrong.err
    assert "应为对象，含 passed（true 或 false）" in wrong.err and """--payload '{"passed": """ in wrong.err
