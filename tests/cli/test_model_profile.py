"""`sopwith model calibrate` and `sopwith doctor --model`: what they find out is written into a profile."""

from __future__ import annotations

import json
import tomllib

import pytest
from tests.cli.command import Command
from tests.cli.test_run import TRIAGE
from tests.models.endpoint_server import serve
from tests.models.messages_server import says as speaks
from tests.models.real_model import real_model_file
from tests.models.test_calibrate import unsure
from tests.models.test_probe import plain, strict

from sopwith.cli.exit_code import ExitCode
from sopwith.cli.settings import load_settings

LABELS = "".join(json.dumps({"confidence": x.confidence, "right": x.right}) + "\n" for x in unsure(60))


def test_a_calibration_is_written_beside_what_is_there(sopwith: Command) -> None:
    sopwith.write("labels.jsonl", LABELS)
    sopwith.write(
        "sopwith.toml", '# ours\nmodel = "local" # small\n\n[profiles."local:q*"]\nflat = true # shorter\n'
    )
    ran = sopwith("model", "calibrate", "local:q*", "--labels", "labels.jsonl", "--lang", "zh")
    assert ran.code == ExitCode.OK and "共 60 个选择" in ran.err and "sopwith.toml" in ran.err
    text = (sopwith.folder / "sopwith.toml").read_text(encoding="utf-8")
    assert "# ours" in text and "# small" in text and "# shorter" in text
    profile = load_settings(sopwith.folder).profiles.of("local:qwen@1")
    assert profile.flat and profile.calibration is not None and profile.calibration.labels == 60
    assert tomllib.loads(ran.out)["profiles"]["local:q*"]["calibration"]["labels"] == 60
    assert sopwith("model", "calibrate", "local:q*", "--labels", "labels.jsonl").code == ExitCode.OK


def test_a_dry_run_writes_nothing(sopwith: Command) -> None:
    sopwith.write("labels.jsonl", LABELS)
    ran = sopwith("model", "calibrate", "m", "--labels", "labels.jsonl", "--dry-run", "--json")
    told = json.loads(ran.out)
    assert told["file"] is None and told["brier_after"] < 0.25
    assert not (sopwith.folder / "sopwith.toml").exists()


def test_a_pyproject_keeps_its_table(sopwith: Command) -> None:
    sopwith.write("labels.jsonl", LABELS)
    sopwith.write("pyproject.toml", "[project]\nname = 'x'\n\n[tool.sopwith]\nprincipal = 'u'\n")
    assert sopwith("model", "calibrate", "m", "--labels", "labels.jsonl").code == ExitCode.OK
    settings = load_settings(sopwith.folder)
    assert settings.principal == "u" and settings.profiles.of("m").calibration is not None


def test_an_endpoint_is_probed_and_its_profile_written(sopwith: Command) -> None:
    with serve(plain) as endpoint:
        spec = f"openai:m@{endpoint.url}"
        ran = sopwith("doctor", "--model", spec, "--lang", "zh")
        assert ran.code == ExitCode.OK and "被拒绝" in ran.out and 'mode = "text"' in ran.out
        assert not (sopwith.folder / "sopwith.toml").exists()
        told = json.loads(sopwith("doctor", "--model", spec, "--write", "--json").out)
    assert told["profile"]["mode"] == "text" and told["file"].endswith("sopwith.toml")
    assert {
        "name": "usage",
        "state": "enforced",
        "message": "tokens are counted",
        "seen": "10 + 40 → 3",
    } in told["findings"]
    profile = load_settings(sopwith.folder).profiles.of(told["model"])
    assert (profile.mode, profile.without[0]) == ("text", "parallel_tool_calls")


def test_the_table_says_what_holds(sopwith: Command) -> None:
    with serve(strict) as endpoint:
        ran = sopwith("doctor", "--model", f"openai:m@{endpoint.url}")
    assert ran.out.count("enforced ") == 9 and 'mode = "tools"' in ran.out


def test_what_is_no_endpoint_is_told(sopwith: Command) -> None:
    ran = sopwith("doctor", "--model", "anthropic:m@http://127.0.0.1:9", "--write")
    assert ran.code == ExitCode.USAGE and "no OpenAI-compatible endpoint" in ran.err
    missing = sopwith("doctor", "--model", "local:none.gguf", "--lang", "zh")
    assert missing.code == ExitCode.USAGE and "none.gguf：没有这个文件" in missing.err


def test_a_model_that_is_no_endpoint_is_asked_whether_it_answers(
    sopwith: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with serve([speaks("A"), speaks("A")]) as endpoint:
        spec = f"anthropic:m@{endpoint.url.removesuffix('/v1')}"
        ran = sopwith("doctor", "--model", spec)
        assert ran.code == ExitCode.OK and ran.out.startswith("ok  anthropic:m") and "answers (A)" in ran.out
        assert sopwith("doctor", "--model", spec, "--json").document["reply"] == "A"


@pytest.mark.slow
def test_a_local_model_is_asked_whether_it_answers(sopwith: Command) -> None:
    ran = sopwith("doctor", "--model", f"local:{real_model_file()}", "--lang", "zh")
    assert ran.code == ExitCode.OK and "能应答" in ran.out


def test_a_wrong_profile_is_named_with_its_file(sopwith: Command) -> None:
    sopwith.write("sopwith.toml", '[profiles."openai:m"]\nchoice = "number"\n')
    ran = sopwith("doctor", "--no-servers")
    assert ran.code == ExitCode.USAGE and "profiles.openai:m.choice" in ran.err and "sopwith.toml" in ran.err


SORTED = TRIAGE.replace(
    "    as: topic\n",
    "    needs: the words of the customer\n    as: topic\n"
    "    examples: [{given: {request: no login}, answer: account}]\n",
)
SCRIPTS = {
    "strict": {"all.jsonl": ["We look into it."], "judge.jsonl": ["fault", "none of these"]},
    "bounded": {
        "all.jsonl": [{"name": "go_reply", "arguments": {}}, "We look into it."],
        "judge.jsonl": ["fault"],
    },
}
SETTINGS = """
model = "scripted:all.jsonl"
models = {judge = "scripted:judge.jsonl"}
[profiles."scripted:all*"]
flat = true
[profiles."scripted:judge.jsonl"]
io_words = false
choice = "word"
"""


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("grip", ["strict", "bounded"])
def test_a_prompt_is_shown_as_the_profile_of_the_model_wants_it(
    sopwith: Command, grip: str, named: bool
) -> None:
    sopwith.write("p.yaml", SORTED)
    sopwith.write("sopwith.toml", SETTINGS if not named else SETTINGS[SETTINGS.index("[profiles") :])
    for file, replies in SCRIPTS[grip].items():
        sopwith.write(file, "".join(json.dumps(reply) + "\n" for reply in replies))
    models = ("--model", "scripted:all.jsonl", "--model", "judge=scripted:judge.jsonl") if named else ()
    ran = sopwith("run", "p.yaml", "--request", "broken", "--grip", grip, *models)
    assert ran.code == ExitCode.OK, ran.err
    sent = sopwith("trace", "--prompts", "--json").document
    known = ("--request", "broken", "--given", "topic=fault", "--grip", grip, "--json")
    shown = [
        prompt
        for step in ("sort", "reply")
        for prompt in sopwith("show", "p.yaml", "--prompt", step, *known, *models).document
    ]
    purposes = ["returns", "judge" if grip == "strict" else "next", "answer"]
    assert [one["purpose"] for one in shown] == purposes
    for one, was in zip(shown, sent, strict=True):
        assert (one["user"], one["turns"], one["legal"]) == (was["user"], was["turns"], was["legal"])
        assert one["system"] + one["tools"] == was["system"]
    assert [one["by_word"] for one in shown] == [True, grip == "strict", False]
    assert (
        shown[0]["turns"][0]["assistant"] == "account" and "words of the customer" not in shown[0]["system"]
    )
    assert "words of the customer" in shown[-1]["system"]
    text = sopwith("show", "p.yaml", "--prompt", "sort", *models).out
    assert text.startswith("=== returns: choice, account | fault\n") and "- account\n- fault\n" in text


def test_a_prompt_is_shown_also_where_its_model_cannot_be_connected(
    sopwith: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("SOPWITH_MODEL_DIR", str(sopwith.folder / "none"))
    sopwith.write("p.yaml", TRIAGE)
    sopwith.write("sopwith.toml", "[profiles.'openai:gpt*']\nchoice = 'word'\n")
    assert "A. account" in sopwith("show", "p.yaml", "--prompt", "sort").out
    assert "- account\n" in sopwith("show", "p.yaml", "--prompt", "sort", "--model", "openai:gpt-5-mini").out
    wrong = sopwith("show", "p.yaml", "--prompt", "sort", "--model", "gpt")
    assert wrong.code == ExitCode.USAGE and "does not name a model" in wrong.err
