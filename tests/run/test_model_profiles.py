"""What a model's profile changes: the bytes of its prompts, how it chooses, how sure it counts as."""

from __future__ import annotations

import pytest
from tests.run.test_model_roles import procedure

from sopwith import Engine
from sopwith.ir.event import EdgeTaken, ModelReplied, ReplyRepaired, RunResumed
from sopwith.log.memory import MemoryLog
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.profile import Calibration, Profiles
from sopwith.models.recorded import RecordedModel
from sopwith.models.scripted import ScriptedModel
from sopwith.run.run import Run

IO = procedure().replace(
    "    do: Copy the words that say it\n",
    "    do: Copy the words that say it\n    needs: the customer's own words\n    gives: the words that matter\n",
)
CALIBRATED = {"calibration": {"slope": 4.0, "offset": 1.0}}


def model(name: str = "m") -> ScriptedModel:
    def reply(request: ModelRequest) -> ModelReply:
        chosen = request.labels[0] if request.by_word else "A"
        text = {"choice": chosen, "text": "Thank you."}.get(request.form, '{"words": "money back"}')
        return ModelReply(
            text, confidence=0.55 if request.form == "choice" else None, model=f"scripted:{name}"
        )

    return ScriptedModel(reply, id=f"scripted:{name}")


async def run_with(
    fields: dict[str, object] | None, text: str = IO, judge: ScriptedModel | None = None
) -> tuple[Run, ScriptedModel]:
    asked = model()
    profiles = Profiles({"scripted:m": fields} if fields else {})
    named = {"judge": judge} if judge is not None else {}
    async with Engine(text, model=asked, models=named, profiles=profiles) as engine:
        return await engine.run("I want my money back"), asked


async def test_io_words_are_shown_or_hidden():
    shown, hidden = await run_with(None), await run_with({"io_words": False})
    assert "own words" in shown[1].requests[1].prompt.prefix
    assert "own words" not in hidden[1].requests[1].prompt.prefix
    assert "Copy the words" in hidden[1].requests[1].prompt.prefix
    assert shown[0].events[0].body.prompts != hidden[0].events[0].body.prompts


async def test_a_flat_text_keeps_the_numbers_and_has_one_line_a_step():
    _, asked = await run_with({"flat": True})
    text = asked.requests[0].prompt.prefix.partition("<routine>\n")[2].partition("\n</routine>")[0]
    assert text.splitlines() == [
        "Step 1. sort: Say what it is about",
        "Step 2. words: Copy the words that say it Input: the customer's own words. Output: the words that matter.",
        "Step 3. reply: Thank them for ${inputs.request}",
    ]


async def test_a_choice_by_word_lists_words_and_takes_one_of_them():
    run, asked = await run_with({"choice": "word"})
    assert run.status == "completed" and asked.requests[0].by_word
    assert asked.requests[0].prompt.tail.endswith(
        "- refund\n- other\nReply with one of these, word for word."
    )
    assert "A. refund" not in asked.requests[0].prompt.tail


async def test_a_choice_by_word_stands_in_the_log_as_it_was_said():
    def reply(request: ModelRequest) -> str:
        if request.form == "choice":
            return "refunds" if len(said.requests) == 1 else request.labels[0]
        return "Thank you." if request.form == "text" else '{"words": "money back"}'

    said = ScriptedModel(reply, id="scripted:m")
    profiles = Profiles({"scripted:m": {"choice": "word"}})
    async with Engine(IO, model=said, profiles=profiles) as engine:
        run = await engine.run("I want my money back")
    replies = [event.body.text for event in run.events if isinstance(event.body, ModelReplied)]
    assert run.status == "completed" and replies[:2] == ["refunds", "refund"]
    repairs = [event.body.repairs for event in run.events if isinstance(event.body, ReplyRepaired)]
    assert repairs == [("label",)]  # of the first reply alone
    assert "one of these, word for word: refund | other; not" in said.requests[1].prompt.tail


async def test_each_model_has_its_own_shape():
    _, asked = await run_with({"io_words": False}, judge=(judge := model("j")))
    assert "own words" in judge.requests[0].prompt.prefix
    assert all("own words" not in request.prompt.prefix for request in asked.requests)


async def test_the_prompts_of_a_model_of_which_nothing_is_known_are_as_ever():
    runs = [await run_with(fields) for fields in (None, {"about": "words for people"})]
    assert runs[0][0].events[0].body.prompts == runs[1][0].events[0].body.prompts


async def test_how_sure_a_model_is_is_calibrated_and_its_own_kept():
    run, _ = await run_with(CALIBRATED)
    replies = [event.body for event in run.events if isinstance(event.body, ModelReplied)]
    right = round(Calibration(slope=4, offset=1).of(0.55), 6)
    assert [(r.confidence, r.raw_confidence) for r in replies if r.confidence] == [(right, 0.55)] * 2
    assert right > 0.8
    taken = [event.body for event in run.events if isinstance(event.body, EdgeTaken)]
    assert taken[-1].confidence == right
    plain, _ = await run_with(None)
    replies = [event.body for event in plain.events if isinstance(event.body, ModelReplied)]
    assert [(r.confidence, r.raw_confidence) for r in replies if r.confidence] == [(0.55, None)] * 2


async def test_a_replay_calibrates_once():
    run, _ = await run_with(CALIBRATED)
    async with Engine(
        IO, model=RecordedModel(run.events), profiles=Profiles({"scripted:m": CALIBRATED})
    ) as engine:
        again = await engine.run("I want my money back")
    assert [e.body.confidence for e in again.events if isinstance(e.body, ModelReplied)] == [
        e.body.confidence for e in run.events if isinstance(e.body, ModelReplied)
    ]


@pytest.mark.parametrize("doubtful", [True, False])
async def test_the_least_confidence_is_held_against_the_calibrated_one(doubtful: bool):
    text = procedure().replace("    next: words\n", "    min_confidence: 0.7\n    next: words\n")
    run, _ = await run_with(None if doubtful else CALIBRATED, text)
    assert (run.status == "completed") is not doubtful


async def test_a_run_that_goes_on_with_another_shape_says_so():
    text = IO.replace("  words:\n", "  words:\n    model: judge\n").replace(
        "    next: words\n",
        "    next: ask\n  ask:\n    ask: Go on?\n    returns: {type: boolean}\n    next: words\n",
    )
    log = MemoryLog()
    first = await Engine(text, model=model(), log=log).run("x")
    assert first.question == "Go on?"
    engine = Engine(
        text, model=(later := model()), log=log, profiles=Profiles({"scripted:m": {"flat": True}})
    )
    run = await engine.resume(first.id, answer=True)
    resumed = next(event.body for event in run.events if isinstance(event.body, RunResumed))
    assert resumed.prompts is not None and run.status == "completed"
    assert "Step 2. ask: Go on?" in later.requests[0].prompt.prefix


async def test_a_choice_of_a_way_is_shown_in_the_shape_of_the_model_that_makes_it():
    text = IO.replace("start: sort\n", "grip: bounded\nstart: sort\n")
    picked = '{"name": "go_reply", "arguments": {}}'
    text = text.replace("      - otherwise: reply\n", "      - otherwise: end\n") + "  end: {end: escalate}\n"

    def reply(request: ModelRequest) -> ModelReply:
        if "go_reply" in request.legal:
            return ModelReply(picked, model="scripted:m")
        return ModelReply("B" if request.form == "choice" else '{"words": "x"}', model="scripted:m")

    shown: list[str] = []
    for fields in ({"io_words": False}, {"flat": True}, {"choice": "word"}):
        asked, judge = ScriptedModel(reply, id="scripted:m"), model("j")
        profiles = Profiles({"scripted:m": fields})
        async with Engine(text, model=asked, models={"judge": judge}, profiles=profiles) as engine:
            await engine.run("x")
        (choice,) = [request for request in asked.requests if "go_reply" in request.legal]
        assert "Do one of these next:" in choice.prompt.tail and not choice.by_word
        shown.append(choice.prompt.prefix)
    hidden, flat, by_word = shown
    assert "own words" not in hidden and "Copy the words" in hidden
    assert "Step 2. words: Copy the words that say it Input: the customer's own words." in flat
    assert "own words" in by_word and len({hidden, flat, by_word}) == 3
