"""`sopwith doctor --model`: whether a model answers; of an endpoint what it enforces, and how it will be asked."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from sopwith.cli.columns import table
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.profile_file import as_toml, write_profile
from sopwith.cli.terminal import Terminal
from sopwith.errors import Text, UserError
from sopwith.models.connect import connect
from sopwith.models.openai_compatible import OpenAIModel
from sopwith.models.port import Model, ModelRequest, Prompt
from sopwith.models.probe import Probed, probe

_STATES = {
    "enforced": Text("enforced", "有效"),
    "ignored": Text("ignored", "被忽略"),
    "refused": Text("refused", "被拒绝"),
}
_ABOUT = {
    "named_tool": Text("a named tool is the one that is called", "指定的工具确实被调用"),
    "required_tool": Text("a required tool call is made", "必须调用工具时确实调用"),
    "one_call": Text("never two calls at once", "一次只调用一个工具"),
    "json_schema": Text("a reply is held to a schema", "回复受 JSON Schema 约束"),
    "logprobs": Text("log-probabilities, for the confidence of choices", "对数概率，用于选择的置信度"),
    "max_tokens": Text("a reply ends at its limit", "回复在上限处结束"),
    "unicode": Text("Chinese and emoji come back whole", "中文与表情符号完整返回"),
    "usage": Text("tokens are counted", "统计 token"),
    "cached": Text("cached tokens are counted", "统计缓存的 token"),
}
_ANSWERS = Text("answers ({}), {} s", "能应答（{}），{} 秒")
_HEADS = (Text("", ""), Text("what", "项目"), Text("meaning", "含义"), Text("seen", "实测"))
_WRITTEN = Text("written to {}", "已写入 {}")
_NOT_WRITTEN = Text("--write puts this into sopwith.toml", "加 --write 可写入 sopwith.toml")


def probe_model(shown: Terminal, spec: str, *, write: bool, as_json: bool) -> ExitCode:
    """Ask the model that `spec` names; probe what an OpenAI-compatible endpoint enforces, and write its profile where
    that is wanted.

    Raises `UserError` for what names no model, and for a profile that cannot be written; `ModelFileError` for a file
    that is not there; `ModelError` for a model that does not answer.
    """
    model = connect(spec)
    if isinstance(model, OpenAIModel):
        return _probe_endpoint(shown, model, write=write, as_json=as_json)
    if write:
        raise UserError(
            Text(f"{spec} is no OpenAI-compatible endpoint", f"{spec} 不是 OpenAI 兼容接口"),
            Text("leave out --write: only the profile of an endpoint is found out",
                 "请去掉 --write：只有接口的配置需要探测"),
        )  # fmt: skip
    began = time.perf_counter()
    said = asyncio.run(_answer(model))
    seconds = round(time.perf_counter() - began, 1)
    if as_json:
        shown.document({"model": model.id, "reply": said, "seconds": seconds})
    else:
        shown.out(f"ok  {model.id}  {shown.text(_ANSWERS).format(said, seconds)}")
    return ExitCode.OK


async def _answer(model: Model) -> str:
    """What the model says to a choice between two."""
    tail = "Is snow white?\nA. yes\nB. no\nReply with the letter of one of these."
    try:
        request = ModelRequest(Prompt("", (), tail), "choice", labels=("yes", "no"), max_tokens=1)
        return (await model.complete(request)).text
    finally:
        await model.close()


def _probe_endpoint(shown: Terminal, model: OpenAIModel, *, write: bool, as_json: bool) -> ExitCode:
    found = asyncio.run(_probed(model))
    file = write_profile(model.id, found.fields, Path.cwd()) if write else None
    if as_json:
        shown.document(
            {
                "model": model.id,
                "findings": [
                    {"name": f.name, "state": f.state, "message": shown.text(_ABOUT[f.name]), "seen": f.said}
                    for f in found.findings
                ],
                "profile": found.fields,
                "file": None if file is None else str(file),
            }
        )
        return ExitCode.OK
    rows = [
        [shown.text(_STATES[f.state]), f.name, shown.text(_ABOUT[f.name]), " ".join(f.said.split())]
        for f in found.findings
    ]
    for line in table([[shown.text(head) for head in _HEADS], *rows]):
        shown.out(line)
    shown.out(as_toml(model.id, found.fields))
    shown.say(shown.text(_NOT_WRITTEN) if file is None else shown.text(_WRITTEN).format(file))
    return ExitCode.OK


async def _probed(model: OpenAIModel) -> Probed:
    try:
        return await probe(model)
    finally:
        await model.close()
