"""One call of an MCP tool that is at work, and what its server asks a person meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError

from sopwith.ir.input_request import Form, InputGiven, InputWanted
from sopwith.ir.value import storable

Answer = types.CallToolResult | types.InputRequiredResult
_HELD = "input"
"""The key of the one question that a server of the older era asks at a time."""


class OpenCall:
    """A call at work. `coming` is what comes next: the result, or a question; after a question, `go_on` first."""

    def __init__(self, answer: Coroutine[Any, Any, Answer]) -> None:
        self.task = asyncio.create_task(answer)
        self._question: asyncio.Future[types.ElicitRequestParams] = self._none()
        self._reply: asyncio.Future[types.ElicitResult] | None = None

    async def coming(self) -> types.CallToolResult | InputWanted:
        """The result, or what the server wants to know. Cancelled, the call is as well. Raises what the call raises."""
        try:
            await asyncio.wait((self.task, self._question), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.task.cancel()
            raise
        if self.task.done():
            result = self.task.result()
            return wanted_of(result) if isinstance(result, types.InputRequiredResult) else result
        return InputWanted(forms={_HELD: _form(self._question.result())}, held=True)

    @property
    def asks(self) -> bool:
        """Whether a question of the server waits for its answer."""
        return self._question.done()

    async def ask(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        """What a person answers to the server's question, in the end."""
        self._reply = asyncio.get_running_loop().create_future()
        self._question.set_result(params)
        return await self._reply

    def go_on(self, given: InputGiven) -> bool:
        """Give the server its answer. False where nothing was asked."""
        reply, self._reply = self._reply, None
        if reply is None or reply.done() or self.task.done():
            return False
        self._question = self._none()
        reply.set_result(result_of(given.answers.get(_HELD, "cancel")))
        return True

    @staticmethod
    def _none() -> asyncio.Future[types.ElicitRequestParams]:
        return asyncio.get_running_loop().create_future()


def wanted_of(result: types.InputRequiredResult) -> InputWanted:
    """The questions in a result. Raises `MCPError` for one that is not for a person."""
    forms: dict[str, Form] = {}
    for key, request in (result.input_requests or {}).items():
        if not isinstance(request, types.ElicitRequest):
            raise MCPError(types.INVALID_REQUEST, f"the tool asks for {request.method}, which nobody answers")
        forms[key] = _form(request.params)
    return InputWanted(forms=forms, state=result.request_state)


def responses(given: InputGiven) -> types.InputResponses:
    """The answers, as they are sent."""
    return {key: result_of(answer) for key, answer in given.answers.items()}


def result_of(answer: Mapping[str, Any] | str) -> types.ElicitResult:
    """A person's answer to one form, as it is sent: `accept`, `decline`, `cancel`, or what was filled in."""
    if isinstance(answer, str):
        return types.ElicitResult(action=cast("Any", answer))
    return types.ElicitResult(action="accept", content=dict(answer))


def _form(params: types.ElicitRequestParams) -> Form:
    message = cast("str", storable(params.message))
    if isinstance(params, types.ElicitRequestURLParams):
        return Form(message=message, url=cast("str", storable(params.url)))
    return Form(message=message, fields=cast("dict[str, Any]", storable(params.requested_schema)))
