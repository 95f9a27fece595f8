"""A language model that runs on this machine, inside this process: any GGUF file, through llama.cpp."""

from __future__ import annotations

import asyncio
import json
import math
import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from sopwith.errors import ModelError, Text, UserError
from sopwith.ir.usage import Usage
from sopwith.ir.value import Json
from sopwith.models.chat import letters, messages
from sopwith.models.constraint import reply_schema
from sopwith.models.control import ControlTokens, read_control_tokens
from sopwith.models.failure import context_exceeded, package_missing
from sopwith.models.gguf import check_model_file, fingerprint, not_a_model
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.slots import Slots

_BATCH = 256  # tokens of a prompt between two chances to cancel
_LOGPROBS = 200
_JSON_STYLE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


class LocalModel:
    """A GGUF model on this machine's processor, offline.

    Its replies can only be what is legal: they are constrained while they are decoded. A control token such as
    `<|im_end|>` in a prompt is text like any other. `context` is the
    longest prompt and reply together, in tokens; `threads` is by default the number of physical cores;
    `slots` prompts with different beginnings stay cached, and as many calls run side by side. The model is
    loaded at the first call, or by `load`. Needs the extra `local`.
    """

    def __init__(
        self, path: str | Path, *, context: int = 4096, threads: int | None = None, slots: int = 6
    ) -> None:
        self.path = Path(path).expanduser()
        check_model_file(self.path)
        self.context = context
        self.threads = threads or physical_cores()
        self.slots = slots
        self._id = f"local:{self.path.stem}@{fingerprint(self.path)}"
        self._server: Any = None
        self._control = ControlTokens(())
        self._closed = False
        self._opening = threading.Lock()
        self._slots = Slots(slots)
        self._pool = ThreadPoolExecutor(max_workers=slots, thread_name_prefix="sopwith-model")

    @property
    def id(self) -> str:
        """`local:NAME@` and the beginning of the file's hash."""
        return self._id

    async def load(self) -> None:
        """Load the model now (a second or two) instead of at the first call."""
        await asyncio.get_running_loop().run_in_executor(self._pool, self._loaded)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply.

        A call that is cancelled or out of time returns at once and stops computing within seconds.
        """
        if self._closed:
            raise UserError(Text("this model is closed", "该模型已关闭"))
        body = request_body(request, _seam().json_schema_to_grammar)
        stream = _Stream()
        try:
            async with asyncio.timeout(request.seconds):
                await asyncio.get_running_loop().run_in_executor(self._pool, self._run, stream, body)
        finally:
            stream.stopped = True
        reply = read_stream(stream, request, self._id)
        return replace(reply, text=self._control.restore(reply.text))

    async def close(self) -> None:
        """Unload the model. May be called twice."""
        self._closed = True
        self._server = None
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, stream: _Stream, body: dict[str, Any]) -> None:
        server = self._loaded()
        messages = [{**m, "content": self._control.disarm(m["content"])} for m in body["messages"]]
        with self._slots.take([message["content"] for message in messages]) as slot:
            stream.run(server, {**body, "messages": messages, "id_slot": slot})

    def _loaded(self) -> Any:
        with self._opening:
            if self._server is None and not self._closed:
                self._server = self._open()
            return self._server

    def _open(self) -> Any:
        xllamacpp = _seam()
        params = xllamacpp.CommonParams()
        params.model.path = str(self.path)
        params.n_ctx = self.context * self.slots  # llama.cpp divides it among the slots
        params.n_parallel = self.slots
        params.cache_ram_mib = 0
        params.n_batch = _BATCH
        params.cpuparams.n_threads = self.threads
        params.no_extra_bufts = True
        params.warmup = False
        params.verbosity = 0
        params.ui = False
        params.endpoint_slots = False
        params.api_keys = [
            secrets.token_urlsafe(32)
        ]  # it listens on a port of 127.0.0.1 that nobody here uses
        try:
            self._control = read_control_tokens(self.path)
            return xllamacpp.Server(params)
        except (RuntimeError, ValueError) as error:
            raise not_a_model(self.path) from error


@dataclass(slots=True)
class _Stream:
    """What one call has streamed so far. `stopped` is set from outside and ends it at the next chance."""

    stopped: bool = False
    text: list[str] = field(default_factory=list[str])
    finish: str | None = None
    usage: dict[str, Any] = field(default_factory=dict[str, Any])
    logprobs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    error: dict[str, Any] | None = None

    def run(self, server: Any, body: dict[str, Any]) -> None:
        """Blocks until the reply is complete; runs in a thread (llama.cpp releases the interpreter lock)."""
        if self.stopped:
            return
        try:
            result = server.handle_chat_completions(body, self.take)
        except (RuntimeError, ValueError) as error:
            self.error = {"message": str(error)}
            return
        if isinstance(result, dict):
            self.take(cast("dict[str, Any]", result))

    def take(self, chunk: dict[str, Any]) -> bool:
        """One chunk; the answer True ends the call."""
        self.error = chunk.get("error", self.error)
        self.usage = chunk.get("usage", self.usage)
        for choice in cast("list[dict[str, Any]]", chunk.get("choices") or []):
            self.text.append(_part(choice, "delta").get("content") or "")
            self.finish = choice.get("finish_reason") or self.finish
            self.logprobs.extend(_part(choice, "logprobs").get("content") or [])
        return self.stopped


def request_body(request: ModelRequest, to_grammar: Any) -> dict[str, Any]:
    """The request as llama.cpp's chat completions, with the grammar of what is legal."""
    body: dict[str, Any] = {
        "messages": messages(request.prompt, block=True),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "cache_prompt": True,
        "stream": True,
        "return_progress": True,
        "stream_options": {"include_usage": True},
    }
    if request.form == "choice":
        body["max_tokens"] = 1
        body["grammar"] = f"root ::= [A-{letters(request)[-1]}]"
        body["logprobs"] = True
        body["top_logprobs"] = _LOGPROBS
    elif request.form == "action":
        schema: dict[str, Json] = {"x-guidance": _JSON_STYLE, **reply_schema(request)}
        # as text, since a dict may hold no integer beyond 64 bits
        body["grammar"] = to_grammar(json.dumps(schema, ensure_ascii=False))
    return body


def read_stream(stream: _Stream, request: ModelRequest, model: str) -> ModelReply:
    """What was streamed, as a reply.

    Raises `ModelError` where llama.cpp reported one, or ended without a reply.
    """
    if stream.error is not None or stream.finish is None:
        raise _failure(stream.error or {"message": "it ended without a reply"}, model)
    text = "".join(stream.text)
    finish: Literal["stop", "length", "other"] = "other"
    if stream.finish in ("stop", "length"):
        finish = "stop" if request.form == "choice" or stream.finish == "stop" else "length"
    probabilities: tuple[float, ...] = ()
    confidence = None
    if request.form == "choice" and stream.logprobs:
        options = letters(request)
        probabilities = label_probabilities(stream.logprobs[0].get("top_logprobs") or [], options)
        if probabilities and text in options:
            confidence = probabilities[options.index(text)]
    return ModelReply(
        text=text,
        confidence=confidence,
        probabilities=probabilities,
        usage=_usage(stream.usage),
        model=model,
        finish=finish,
    )


def label_probabilities(candidates: Sequence[Mapping[str, Any]], options: str) -> tuple[float, ...]:
    """The probability of each letter of `options`, renormalised over them.

    `candidates` are `{"token", "logprob"}`, before any constraint; a letter that is not among them gets the
    least of their probabilities.
    """
    found: dict[str, float] = {}
    for candidate in candidates:
        found.setdefault(str(candidate["token"]), float(candidate["logprob"]))
    if not found:
        return ()
    least = min(found.values())
    logs = [found.get(option, least) for option in options]
    top = max(logs)
    weights = [math.exp(log - top) for log in logs]
    total = sum(weights)
    return tuple(weight / total for weight in weights)


def physical_cores() -> int:
    """How many physical cores this process may use."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores: set[str] = set()
    for cpu in usable:
        try:
            siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text()
        except OSError:
            siblings = str(cpu)
        cores.add(siblings.strip())
    return max(1, len(cores))


def _part(whole: dict[str, Any], name: str) -> dict[str, Any]:
    return cast("dict[str, Any]", whole.get(name) or {})


def _usage(reported: dict[str, Any]) -> Usage:
    cached = int(_part(reported, "prompt_tokens_details").get("cached_tokens") or 0)
    return Usage(
        input=int(reported.get("prompt_tokens") or 0) - cached,
        cached=cached,
        output=int(reported.get("completion_tokens") or 0),
        model_calls=1,
    )


def _failure(error: dict[str, Any], model: str) -> ModelError:
    said = str(error.get("message") or error)
    if error.get("type") == "exceed_context_size_error":
        return context_exceeded(model, error.get("n_prompt_tokens"), error.get("n_ctx"))
    return ModelError(Text(f"{model} failed: {said}", f"{model} 出错：{said}"))


def _seam() -> Any:
    """The one place that imports llama.cpp (100 MB of compiled code), when it is first needed."""
    try:
        import xllamacpp
    except ImportError as error:
        raise package_missing("xllamacpp", "local") from error
    return cast("Any", xllamacpp)
