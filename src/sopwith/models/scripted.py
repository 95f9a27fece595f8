"""A model that says what it was told to: for tests, for benchmarks, for trying a procedure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sopwith.errors import ModelError, Text
from sopwith.ir.usage import Usage
from sopwith.models.port import ModelReply, ModelRequest

Script = Iterable[str | ModelReply] | Callable[[ModelRequest], str | ModelReply]

_ONE_CALL = Usage(model_calls=1)
_SHOWN = 200


class ScriptedModel:
    """A model with given replies: in order, or computed from each request by a function.

    A text stands for a whole reply; for an action it is its JSON, for a choice its letter. `requests` holds
    what was asked so far.
    """

    def __init__(self, replies: Script, *, id: str = "scripted") -> None:
        self._id = id
        self._answer = replies if callable(replies) else None
        self._replies = iter(() if callable(replies) else replies)
        self.requests: list[ModelRequest] = []

    @property
    def id(self) -> str:
        """The name that was given."""
        return self._id

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The next reply. Raises `ModelError`, with the end of the prompt, when there is none left."""
        self.requests.append(request)
        reply = self._answer(request) if self._answer is not None else next(self._replies, None)
        if reply is None:
            asked = request.prompt.tail[-_SHOWN:]
            raise ModelError(
                Text(
                    f"the script has no reply number {len(self.requests)}; asked was: …{asked}",
                    f"脚本没有第 {len(self.requests)} 条回复；所问为：…{asked}",
                ),
                Text("give the scripted model one more reply", "请为脚本模型再添一条回复"),
            )
        if isinstance(reply, ModelReply):
            return reply
        return ModelReply(reply, usage=_ONE_CALL, model=self._id)

    async def close(self) -> None:
        """Nothing is held."""
