"""What runs inside the process of a local model: it loads the file and answers requests side by side.

The messages are pickles between two processes of one program, over a socket that nobody else has:
`("load", LlamaFile)`, then `("ask", number, ModelRequest)` and `("stop", number)`; back come `("ready",)`,
`("failed", number, Failure)`, `("replied", number, ModelReply)` and `("stopped", number)`.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from sopwith.errors import ModelError, ModelFileError, SopwithError, Text
from sopwith.models.llama import Llama, LlamaFile, Stream
from sopwith.models.port import ModelRequest

LOADING = 0
"""The number under which a failure to load is told."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error on its way to the other process."""

    message: Text
    hint: Text
    code: str

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """What `error` says, also where it is none of ours."""
        if isinstance(error, SopwithError):
            return cls(error.message, error.hint, error.code)
        words = f"{type(error).__name__}: {error}"
        said = Text(f"the local model failed: {words}", f"本地模型出错：{words}")
        return cls(said, Text("", ""), ModelError.code)

    def error(self) -> SopwithError:
        """The error again."""
        kind = ModelFileError if self.code == ModelFileError.code else ModelError
        return kind(self.message, self.hint, self.code)


class _Child:
    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self._pipe = pipe
        self._sending = threading.Lock()
        self._changing = threading.Lock()
        self._running: dict[int, tuple[Stream, Future[None]]] = {}

    def serve(self) -> None:
        """Answer until there are no more requests. What comes while the file is loaded waits for that."""
        _, file = self._pipe.recv()
        loading = ThreadPoolExecutor(max_workers=1).submit(self._load, file)
        pool = ThreadPoolExecutor(max_workers=file.slots)
        while True:
            kind, number, *rest = self._pipe.recv()
            if kind == "ask":
                stream = Stream()
                with self._changing:
                    asked = pool.submit(self._answer, loading, number, rest[0], stream)
                    self._running[number] = (stream, asked)
            elif (running := self._running.get(number)) is not None:
                running[0].stopped = True
                if running[1].cancel():  # it was still waiting for its turn
                    del self._running[number]
                    self._send("stopped", number)

    def _load(self, file: LlamaFile) -> Llama:
        try:
            llama = Llama(file)
        except Exception as error:
            self._send("failed", LOADING, Failure.of(error))
            os._exit(1)
        self._send("ready")
        return llama

    def _answer(self, loading: Future[Llama], number: int, request: ModelRequest, stream: Stream) -> None:
        try:
            told = ("replied", number, loading.result().reply(request, stream))
        except Exception as error:
            told = ("failed", number, Failure.of(error))
        with self._changing:
            self._running.pop(number, None)
        self._send(*(("stopped", number) if stream.stopped else told))

    def _send(self, *message: Any) -> None:
        with self._sending:
            self._pipe.send(message)


def serve(descriptor: int) -> None:
    """Serve the other process over the socket of that number, and end with it."""
    os.set_inheritable(descriptor, False)
    try:
        _Child(Connection(descriptor)).serve()
    except (EOFError, OSError):
        os._exit(0)  # nobody is there any more, and llama.cpp may be in the middle of a prompt
