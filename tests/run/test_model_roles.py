"""Which model is asked for what: by role, by the name that a step gives, else the default one."""

from __future__ import annotations

from pathlib import Path

import pytest

from sopwith import Engine
from sopwith.errors import UserError
from sopwith.ir.event import ModelRequested
from sopwith.models.port import ModelRequest
from sopwith.models.scripted import ScriptedModel
from sopwith.run.run import Run

TICKET = """\
schema: sopwith/procedure/1
id: ticket
name: Ticket
inputs:
  request: {type: string, from: run.request}
start: sort
steps:
  sort:
    do: Say what it is about
    uses: [inputs.request]
    returns: {enum: [refund, other]}
    next: words
  words:
    do: Copy the words that say it
    uses: [inputs.request]
    returns: {type: object, required: [words], properties: {words: {type: string}}}
    MODEL
    next:
      - to: reply
        judge: the customer is angry
      - otherwise: reply
  reply:
    answer: Thank them for ${inputs.request}
    end: complete
"""


def procedure(model: str = "") -> str:
    line = f"model: {model}" if model else ""
    return TICKET.replace("    MODEL\n", f"    {line}\n" if line else "")


def scripted(name: str) -> ScriptedModel:
    def reply(request: ModelRequest) -> str:
        return {"choice": "A", "text": "Thank you."}.get(request.form, '{"words": "money back"}')

    return ScriptedModel(reply, id=f"scripted:{name}")


async def run_with(text: str, default: str | None, *names: str) -> tuple[Run, dict[str, str]]:
    models = {name: scripted(name) for name in names}
    async with Engine(text, model=scripted(default) if default else None, models=models) as engine:
        run = await engine.run("I want my money back")
    asked = {
        f"{event.step}.{event.body.purpose}": event.body.model.partition(":")[2]
        for event in run.events
        if isinstance(event.body, ModelRequested)
    }
    return run, asked


async def test_each_purpose_has_its_role():
    run, asked = await run_with(procedure(), "default", "execute", "judge", "answer")
    assert run.status == "completed"
    assert asked == {
        "sort.returns": "judge",
        "words.returns": "execute",
        "words.judge": "judge",
        "reply.answer": "answer",
    }
    started = run.events[0].body
    assert started.model == "scripted:default"
    assert started.models == {n: f"scripted:{n}" for n in ("answer", "execute", "judge")}


async def test_a_role_without_a_model_falls_back_to_the_default():
    _, asked = await run_with(procedure(), "default", "judge")
    assert set(asked.values()) == {"default", "judge"} and asked["reply.answer"] == "default"
    _, asked = await run_with(procedure("answer"), "default", "judge")
    assert asked["words.returns"] == "default"
    run, asked = await run_with(procedure(), "default")
    assert set(asked.values()) == {"default"} and run.events[0].body.models == {}


@pytest.mark.parametrize("name", ["answer", "big"])
async def test_a_step_names_a_role_or_a_model(name):
    _, asked = await run_with(procedure(name), "default", "execute", "judge", "answer", "big")
    assert asked["words.returns"] == asked["words.judge"] == name
    assert asked["sort.returns"] == "judge"


async def test_a_name_that_nobody_connected_is_told_with_its_place(tmp_path: Path):
    file = tmp_path / "ticket.yaml"
    file.write_text(procedure("bigg"), encoding="utf-8")
    async with Engine(file, model=scripted("default"), models={"big": scripted("big")}) as engine:
        with pytest.raises(UserError) as caught:
            await engine.run("x")
        assert list(await engine.log.runs()) == []
    assert caught.value.message.en == f"{file}:17:12: steps.words.model: no model is connected as 'bigg'"
    assert "big;" in caught.value.hint.en and "--model bigg=SPEC" in caught.value.hint.zh


CALLER = """\
schema: sopwith/procedure/1
id: caller
start: hand
steps:
  hand: {call: {procedure: ticket}, as: done, next: out}
  out: {end: complete}
"""


@pytest.mark.parametrize(
    ("texts", "connected", "step", "role"),
    [
        ([procedure()], (), "sort", "judge"),
        ([procedure()], ("judge", "answer"), "words", "execute"),
        ([procedure()], ("execute", "answer"), "sort", "judge"),
        ([procedure()], ("execute", "judge"), "reply", "answer"),
        ([procedure("answer")], ("execute", "judge"), "words", "answer"),
        ([procedure("guide")], ("execute", "judge", "answer"), "words", "guide"),
        (
            [procedure().replace("from: run.request", "description: what they wrote")],
            ("judge",),
            "",
            "execute",
        ),
        ([CALLER, procedure()], ("execute", "judge"), "reply", "answer"),
    ],
)
async def test_a_role_that_nobody_has_is_told_before_the_run_starts(
    tmp_path: Path, texts: list[str], connected: tuple[str, ...], step: str, role: str
) -> None:
    files = [tmp_path / f"{i}.yaml" for i, _ in enumerate(texts)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    async with Engine(files, models={name: scripted(name) for name in connected}) as engine:
        with pytest.raises(UserError) as caught:
            await engine.run("x", procedure="ticket" if len(texts) == 1 else "caller")
        assert list(await engine.log.runs()) == []
    told, hint = caught.value.message, caught.value.hint
    assert hint is not None
    place = f"steps.{step}: " if step else "inputs: "
    assert f"{place}this step needs a model for '{role}'" in told.en and f"“{role}”" in told.zh
    assert not step or told.en.startswith(f"{files[-1]}:")
    assert f"[models] {role} = …" in hint.en and f"--model {role}=SPEC" in hint.zh


@pytest.mark.parametrize("grip", ["guide", "free", "bounded"])
async def test_a_role_is_held_at_every_grip(grip: str) -> None:
    async with Engine(
        procedure(), models={"judge": scripted("judge"), "answer": scripted("answer")}
    ) as engine:
        with pytest.raises(UserError, match="needs a model for 'execute'"):
            await engine.run("x", grip=grip)
        assert list(await engine.log.runs()) == []


async def test_a_procedure_that_asks_nobody_needs_no_model():
    text = CALLER.replace("call: {procedure: ticket}, as: done, ", "")
    assert (await Engine(text).run("x")).status == "completed"
