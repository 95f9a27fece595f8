"""A GGUF file in llama.cpp: it is loaded, asked, and held to what is legal. Every call blocks."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from sopwith.errors import ModelError, Text
from sopwith.ir.usage import Usage
from sopwith.ir.value import Json
from sopwith.models.chat import WORD_TOKENS, letters, messages
from sopwith.models.constraint import reply_schema
from sopwith.models.control import read_control_tokens
from sopwith.models.failure import context_exceeded, package_missing
from sopwith.models.gguf import not_a_model
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.slots import Slots

_BATCH = 256  # tokens of a prompt between two chances to cancel
_LOGPROBS = 200
_JSON_STYLE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


@dataclass(frozen=True, slots=True)
class LlamaFile:
    """What is loaded: the file, the name it has in replies, the tokens of one prompt and reply, and how much of the
    machine it may use."""

    path: Path
    id: str
    context: int
    threads: int
    slots: int


class Llama:
    """A loaded file. At most `slots` calls may run side by side."""

    def __init__(self, file: LlamaFile) -> None:
        self._file = file
        self._slots = Slots(file.slots)
        self._server = _open(file)
        self._control = read_control_tokens(file.path)

    def reply(self, request: ModelRequest, stream: Stream) -> ModelReply:
        """One reply. Setting `stream.stopped` from another thread ends the call at its next chance.

        Raises `ModelError` where llama.cpp reports one.
        """
        body = request_body(request, _seam().json_schema_to_grammar)
        told = [{**m, "content": self._control.disarm(m["content"])} for m in body["messages"]]
        with self._slots.take([message["content"] for message in told]) as slot:
            stream.run(self._server, {**body, "messages": told, "id_slot": slot})
        reply = read_stream(stream, request, self._file.id)
        return replace(reply, text=self._control.restore(reply.text))


def _open(file: LlamaFile) -> Any:
    xllamacpp = _seam()
    params = xllamacpp.CommonParams()
    params.model.path = str(file.path)
    params.n_ctx = file.context * file.slots  # llama.cpp divides it among the slots
    params.n_parallel = file.slots
    params.cache_ram_mib = 0
    params.n_batch = _BATCH
    params.cpuparams.n_threads = file.threads
    params.no_extra_bufts = True
    params.warmup = False
    params.verbosity = 0
    params.ui = False
    params.endpoint_slots = False
    # It listens on a port of 127.0.0.1 that nobody here uses.
    params.api_keys = [secrets.token_urlsafe(32)]
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        raise not_a_model(file.path) from error


@dataclass(slots=True)
class Stream:
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
        options = letters(request)
        if request.by_word:
            words = (json.dumps(label.strip(), ensure_ascii=False) for label in request.labels)
            body["max_tokens"] = WORD_TOKENS
            body["grammar"] = f"root ::= {' | '.join(words)}"
        else:
            body["max_tokens"] = 1
            body["grammar"] = f"root ::= [A-{options[-1]}]"
            body["logprobs"] = True
            body["top_logprobs"] = _LOGPROBS
    elif request.form == "action":
        schema: dict[str, Json] = {"x-guidance": _JSON_STYLE, **reply_schema(request)}
        # as text, since a dict may hold no integer beyond 64 bits
        body["grammar"] = to_grammar(json.dumps(schema, ensure_ascii=False))
    return body


def read_stream(stream: Stream, request: ModelRequest, model: str) -> ModelReply:
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
    if request.form == "choice":
        text = text.strip()
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
