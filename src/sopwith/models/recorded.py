"""A model that answers as it did in a recorded run, as long as it is asked the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sopwith.errors import ModelError, Text
from sopwith.ir.event import Event, ModelReplied, ModelRequested
from sopwith.ir.value import digest
from sopwith.models.port import ModelReply, ModelRequest

_AROUND = 40


class RecordedModel:
    """The replies of a run's events, in their order.

    Each request must be the recorded one: the same system text (by digest), the same legal names and the
    same tail, byte for byte. The id is that of the recorded model.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._calls = _calls(events)
        self._done = 0
        self._id = "recorded"
        first = next(self._calls, None)
        self._next = first
        if first is not None:
            self._id = first[0].model

    @property
    def id(self) -> str:
        """The recorded model's id."""
        return self._id

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The recorded reply. Raises `ModelError` that names the first difference to what was asked then."""
        if self._next is None:
            raise _differs(
                self._done + 1, "the recorded run asked the model no further", "录制的运行没有再询问模型"
            )
        asked, replied = self._next
        self._done += 1
        self._compare(asked, request)
        self._next = next(self._calls, None)
        return ModelReply(
            text=replied.text,
            name=replied.name,
            extra=replied.extra,
            confidence=replied.confidence if replied.raw_confidence is None else replied.raw_confidence,
            usage=replied.usage,
            model=replied.model or asked.model,
            finish=replied.finish,
        )

    async def close(self) -> None:
        """Nothing is held."""

    def _compare(self, asked: ModelRequested, request: ModelRequest) -> None:
        if digest((request.prompt.prefix + request.prompt.block).encode()) != asked.prefix:
            raise _differs(
                self._done,
                "the system text is another one (procedure, tools or rules have changed)",
                "系统文本不同（流程、工具或规则已改变）",
            )
        if request.legal != asked.legal:
            was, now = ", ".join(asked.legal), ", ".join(request.legal)
            raise _differs(self._done, f"legal was {was}, is {now}", f"合法动作原为 {was}，现为 {now}")
        if request.prompt.tail != asked.tail:
            was, now = _first_difference(asked.tail, request.prompt.tail)
            raise _differs(self._done, f"the tail was “{was}”, is “{now}”", f"末段原为“{was}”，现为“{now}”")


def _calls(events: Iterable[Event]) -> Iterator[tuple[ModelRequested, ModelReplied]]:
    """Each request with its reply; a request without one (a crash came between) was made again."""
    asked: ModelRequested | None = None
    for event in events:
        if isinstance(event.body, ModelRequested):
            asked = event.body
        elif isinstance(event.body, ModelReplied) and asked is not None:
            yield asked, event.body
            asked = None


def _first_difference(was: str, now: str) -> tuple[str, str]:
    """The surroundings of the first character that differs."""
    at = next((i for i, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), min(len(was), len(now)))
    start = max(0, at - _AROUND)
    return was[start : at + _AROUND], now[start : at + _AROUND]


def _differs(number: int, en: str, zh: str) -> ModelError:
    return ModelError(
        Text(
            f"model call {number} differs from the recorded run: {en}",
            f"第 {number} 次模型调用与录制不同：{zh}",
        ),
        Text("replay with the pinned procedure, tools and prompts", "请用当时固定的流程、工具和提示重放"),
        code="SW083",
    )
