"""A local model inside this process."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from sopwith.errors import Text, UserError
from sopwith.models.llama import Llama, LlamaFile, Stream
from sopwith.models.port import ModelReply, ModelRequest


class ModelThread:
    """A model that is asked in threads of this process. A call that is given up ends at its next chance."""

    def __init__(self, file: LlamaFile) -> None:
        self._file = file
        self._llama: Llama | None = None
        self._closed = False
        self._opening = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=file.slots, thread_name_prefix="sopwith-model")

    async def load(self) -> None:
        """Load the model. Raises `ModelFileError` for a file that is none."""
        await asyncio.get_running_loop().run_in_executor(self._pool, self._loaded)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """One reply."""
        stream = Stream()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._ask, request, stream)
        finally:
            stream.stopped = True

    async def close(self) -> None:
        """Unload the model."""
        self._closed = True
        self._llama = None
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, request: ModelRequest, stream: Stream) -> ModelReply:
        return self._loaded().reply(request, stream)

    def _loaded(self) -> Llama:
        with self._opening:
            if self._closed:
                raise UserError(Text("this model is closed", "该模型已关闭"))
            if self._llama is None:
                self._llama = Llama(self._file)
            return self._llama
