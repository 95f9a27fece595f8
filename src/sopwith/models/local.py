"""A language model that runs on this machine: any GGUF file, through llama.cpp, in a process of its own."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from sopwith.errors import Text, UserError
from sopwith.models.gguf import check_model_file, fingerprint
from sopwith.models.llama import LlamaFile
from sopwith.models.local_process import ModelProcess
from sopwith.models.local_thread import ModelThread
from sopwith.models.port import ModelReply, ModelRequest


class LocalModel:
    """A GGUF model on this machine's processor, offline.

    Its replies can only be what is legal: they are constrained while they are decoded. A control token such as
    `<|im_end|>` in a prompt is text like any other. `context` is the longest prompt and reply together, in tokens;
    `threads` is by default the number of physical cores; `slots` prompts with different beginnings stay cached, and as
    many calls run side by side. It runs in a process that can be killed in the middle of a long prompt, and that ends
    with this one; with `process=False` it runs in this process, and a prompt that was given up goes on for seconds.
    The model is loaded at the first call, or by `load`. Needs the extra `local`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        context: int = 4096,
        threads: int | None = None,
        slots: int = 6,
        process: bool = True,
    ) -> None:
        self.path = Path(path).expanduser()
        check_model_file(self.path)
        self._id = local_id(self.path)
        file = LlamaFile(self.path.absolute(), self._id, context, threads or physical_cores(), slots)
        self.context = context
        self._home: ModelProcess | ModelThread = ModelProcess(file) if process else ModelThread(file)
        self._closed = False

    @property
    def id(self) -> str:
        """`local:NAME@` and the beginning of the file's hash."""
        return self._id

    async def load(self) -> None:
        """Load the model now (a second or two) instead of at the first call."""
        await self._home.load()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply.

        A call that is cancelled or out of time returns at once, and computing for it ends soon. Raises `ModelError`
        where llama.cpp reports one, or its process has ended twice during the call.
        """
        if self._closed:
            raise UserError(Text("this model is closed", "该模型已关闭"))
        async with asyncio.timeout(request.seconds):
            return await self._home.reply(request)

    async def close(self) -> None:
        """Unload the model. May be called twice."""
        self._closed = True
        await self._home.close()


def local_id(path: Path) -> str:
    """The id of the model in a file."""
    return f"local:{path.stem}@{fingerprint(path)}"


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
