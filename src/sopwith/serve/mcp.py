"""Procedures as the tools of an MCP server, for clients of both eras of the protocol.

A call is a run. Where the run asks a person, so does the call: by `elicitation/create` within the request up to
revision 2025-11-25, by `InputRequiredResult` and a repeated request since 2026-07-28. Answers come from there and from
people at the command line, never from the arguments of a tool: a model does not answer for a person.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types.version import is_version_at_least

from sopwith.errors import RunBusy, SopwithError, Text, UserError
from sopwith.guard.secret import SecretRule, masked
from sopwith.ir.event import Event, Principal
from sopwith.ir.place import step_id
from sopwith.ir.tool import Effect
from sopwith.ir.value import Json
from sopwith.run.engine import Engine
from sopwith.run.run import Run, deepest
from sopwith.run.state import State
from sopwith.serve.procedure_tool import ProcedureTool, Schema, hold_to, result_schema
from sopwith.serve.question import ANSWER, Question, question_of
from sopwith.serve.run_result import CANCEL, CONTINUE, run_result

Context = ServerRequestContext[Any, Any]
Began = Callable[[str, ProcedureTool], None]
"""Called with the id of a run before it begins."""

NAME = "sopwith"
INPUT_REQUIRED = "2026-07-28"
"""Since this revision a server asks by its result, and not by a request of its own."""
TRIES = 3
"""So many answers that do not fit are asked for again; then the question stays open."""
STATE_SECONDS = 24 * 3600.0
"""So long a person may think about an answer."""

_RUN: Schema = {
    "type": "object",
    "properties": {"run": {"type": "string", "minLength": 1}},
    "required": ["run"],
    "additionalProperties": False,
}
_CONTINUE = Text(
    "Go on with a run that an earlier call has named, once what it waits for has come, and get its result.",
    "继续之前调用所返回的运行（在其等待的事项已到来之后），并取得结果。",
)
_CANCEL = Text(
    "End a run that an earlier call has named. What it has done stays done.",
    "结束之前调用所返回的运行；已完成的操作不会撤销。",
)
_INSTRUCTIONS = Text(
    f"Each tool is a procedure of the company. Its result names the run; with {CONTINUE} a run that waits is asked for"
    " again.",
    f"每个工具是公司的一个流程。结果中有运行编号；正在等待的运行可用 {CONTINUE} 再次查询。",
)
_ASKED_BY = Text("{}\n(procedure {}, run {})", "{}\n（流程 {}，运行 {}）")
_NOT_SO = Text("That was not an answer: {}\n{}", "回答不合要求：{}\n{}")
_WITHDRAWN = Text("the request of the client was cancelled", "客户端取消了请求")
_BY_TOOL = Text(f"by the tool {CANCEL}", f"通过工具 {CANCEL}")
_OTHER_SERVER = Text("this server does not have the procedure of run {}", "本服务没有运行 {} 的流程")


@dataclass(slots=True)
class _Call:
    """One request: the run that it has come to, whether it waits for a person, and how many steps were told."""

    context: Context
    run: str | None = None
    asking: bool = False
    steps: int = 0
    sent: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def tell(self, title: str) -> None:
        """Tell a client that wants to know it how far the run is."""
        self.steps += 1
        message = title if self.run is None else f"{title} · {self.run}"
        task = asyncio.ensure_future(self.context.session.report_progress(float(self.steps), None, message))
        self.sent.add(task)
        task.add_done_callback(self.sent.discard)


@dataclass(frozen=True, slots=True)
class _Turn:
    """Where a request is with its run: what was wrong with the last answer, and how many answers were no use."""

    run: Run
    problem: Text | None = None
    tries: int = 0


class ProcedureServer:
    """Serves procedures with an engine, all in the name of one `principal`. With `reveal` people and results get true
    values, else the placeholders that the log has. `secret` are rules for what is masked in errors."""

    def __init__(
        self,
        engine: Engine,
        tools: Sequence[ProcedureTool],
        principal: Principal,
        *,
        language: str = "en",
        reveal: bool = False,
        secret: Sequence[SecretRule] = (),
        began: Began | None = None,
    ) -> None:
        self._engine = engine
        self._tools = {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}
        self._principal = principal
        self._language = language
        self._reveal = reveal
        self._secret = secret
        self._began = began
        self._calls: dict[str, _Call] = {}
        engine.subscribe(self._see)

    def server(self, version: str) -> Server[Any]:
        """The server, to be run over any transport."""
        made: Server[Any] = Server(
            NAME,
            version=version,
            instructions=_INSTRUCTIONS.in_(self._language),
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        sealed = RequestStateSecurity(keys=[secrets.token_bytes(32)], ttl=STATE_SECONDS)
        made.middleware.append(RequestStateBoundary(sealed, default_audience=NAME))
        return made

    async def _list(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        own = [
            types.Tool(
                name=tool.name,
                title=tool.procedure.name or None,
                description=tool.description,
                input_schema=tool.input_schema,
                output_schema=tool.output_schema,
                annotations=_hints(tool.effect),
            )
            for tool in self._tools.values()
        ]
        return types.ListToolsResult(
            tools=[
                *own,
                self._own(CONTINUE, _CONTINUE, Effect.WRITE),
                self._own(CANCEL, _CANCEL, Effect.IRREVERSIBLE),
            ]
        )

    def _own(self, name: str, what: Text, effect: Effect) -> types.Tool:
        return types.Tool(
            name=name,
            description=what.in_(self._language),
            input_schema=_RUN,
            output_schema=result_schema(),
            annotations=_hints(effect),
        )

    async def _call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """As the protocol has it. A request that is cancelled, or whose client has gone, cancels its run."""
        call = _Call(context)
        # In a task of its own: what is cancelled from outside would leave the engine in the middle of its clearing up.
        work = asyncio.ensure_future(self._answered(call, params))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await self._withdraw(call, work)
            raise
        finally:
            if call.run is not None:
                self._calls.pop(call.run, None)

    async def _withdraw(self, call: _Call, work: asyncio.Future[Any]) -> None:
        """End the run of a request, and what is left of the request. A run that has only just begun is not on the log
        before its driver has been interrupted."""
        known = await self._cancelled(call)
        if call.asking or not known:
            work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        if not known:
            await self._cancelled(call)

    async def _cancelled(self, call: _Call) -> bool:
        """Cancel the run of a request; whether that could be done."""
        if call.run is None:
            return False
        why = _WITHDRAWN.in_(self._language)
        try:
            await self._engine.cancel(call.run, by=self._principal.id, why=why)
        except UserError:  # it is not on the log, or has ended
            return False
        return True

    async def _answered(
        self, call: _Call, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        arguments = params.arguments or {}
        try:
            if params.request_state is not None:
                turn = await self._taken_up(call, params)
            elif params.name in (CONTINUE, CANCEL):
                hold_to(_RUN, arguments)
                turn = _Turn(await self._named(call, params.name, str(arguments["run"])))
            else:
                turn = _Turn(await self._started(call, params.name, arguments))
            return await self._asked(call, turn)
        except SopwithError as error:
            return self._failed(call, error)

    async def _started(self, call: _Call, name: str, arguments: dict[str, Json]) -> Run:
        tool = self._tools.get(name)
        if tool is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"there is no tool {name!r}")
        request, inputs = tool.read(arguments)
        run = secrets.token_hex(6)
        self._hold(call, run)
        if self._began is not None:
            self._began(run, tool)
        return await self._engine.run(
            request,
            principal=self._principal,
            procedure=tool.procedure.id,
            inputs=inputs,
            run_id=run,
        )

    async def _named(self, call: _Call, name: str, run: str) -> Run:
        await self._engine.look(run, principal=self._principal.id)
        if name == CANCEL:
            why = _BY_TOOL.in_(self._language)
            return await self._engine.cancel(run, by=self._principal.id, why=why)
        return await self._now(call, run)

    async def _now(self, call: _Call, run: str) -> Run:
        """A run as it is now, after it has gone on where that can be."""
        found = await self._engine.look(run, principal=self._principal.id)
        if self._tool_of(found.state.procedure_id) is None:
            raise UserError(Text(_OTHER_SERVER.en.format(run), _OTHER_SERVER.zh.format(run)))
        if found.outcome is not None or found.question is not None or found.state.taken_by is not None:
            return found
        self._hold(call, run)
        return await self._engine.resume(run, by=self._principal)

    # questions

    async def _asked(self, call: _Call, turn: _Turn) -> types.CallToolResult | types.InputRequiredResult:
        """The result of a run; before that a person is asked, as long as the run asks one and the client can."""
        while turn.tries < TRIES and (question := await self._question(call, turn.run)) is not None:
            message = self._words(question, turn)
            if is_version_at_least(call.context.protocol_version, INPUT_REQUIRED):
                params = types.ElicitRequestFormParams(message=message, requested_schema=question.form)
                asks: dict[str, Any] = {ANSWER: types.ElicitRequest(params=params)}
                return types.InputRequiredResult(input_requests=asks, request_state=_state(turn, question))
            self._hold(call, turn.run.id)
            call.asking = True
            given = await call.context.session.elicit_form(message, question.form, call.context.request_id)
            call.asking = False
            turn = await self._with(turn, call, question, given)
        return self._told(turn.run)

    async def _question(self, call: _Call, run: Run) -> Question | None:
        """What is to be asked here: only who may answer it is asked."""
        capabilities = call.context.session.client_capabilities
        can = None if capabilities is None else capabilities.elicitation
        if can is None or (can.form is None and can.url is not None):
            return None
        asking = deepest(run)
        question = question_of(asking, reveal=self._reveal, language=self._language)
        cursor = asking.state.cursor
        if question is None or cursor is None or cursor.question != "approval":
            return question
        return question if await self._engine.may_approve(asking.id, by=self._principal) else None

    def _words(self, question: Question, turn: _Turn) -> str:
        tool = self._tool_of(turn.run.state.procedure_id)
        name = (tool.procedure.name if tool else "") or turn.run.state.procedure_id
        words = _ASKED_BY.in_(self._language).format(question.text, name, question.run)
        if turn.problem is None:
            return words
        return _NOT_SO.in_(self._language).format(turn.problem.in_(self._language), words)

    async def _taken_up(self, call: _Call, params: types.CallToolRequestParams) -> _Turn:
        """A repeated request with what a person has said; an answer to what is not asked any more is left aside."""
        state = json.loads(params.request_state or "")
        given = (params.input_responses or {}).get(ANSWER)
        turn = _Turn(await self._now(call, state["run"]), tries=state["tries"])
        question = question_of(deepest(turn.run), reveal=self._reveal, language=self._language)
        if question is None or (question.run, question.seq) != (state["asking"], state["seq"]):
            return _Turn(turn.run)
        return (
            await self._with(turn, call, question, given) if isinstance(given, types.ElicitResult) else turn
        )

    async def _with(self, turn: _Turn, call: _Call, question: Question, given: types.ElicitResult) -> _Turn:
        """A run after what a person has said: only what they accept to send is an answer, else the question stays."""
        if given.action != "accept":
            return replace(turn, tries=TRIES)
        self._hold(call, turn.run.id)
        try:
            answer = question.read(cast("dict[str, Json]", given.content or {}))
            await self._engine.resume(question.run, answer=answer, answered=True, by=self._principal)
        except RunBusy:
            raise
        except UserError as error:
            return _Turn(turn.run, error.message, turn.tries + 1)
        return _Turn(await self._now(call, turn.run.id))

    # results

    def _told(self, run: Run) -> types.CallToolResult:
        tool = self._tool_of(run.state.procedure_id)
        output = None if tool is None else tool.procedure.output
        result = run_result(run, output, reveal=self._reveal, language=self._language)
        return types.CallToolResult(
            content=[types.TextContent(text=result.text)],
            structured_content=result.data,
            is_error=result.failed,
        )

    def _failed(self, call: _Call, error: SopwithError) -> types.CallToolResult:
        text = masked(error.render(self._language), self._secret)
        told: dict[str, Json] = {
            "code": error.code,
            "message": masked(error.message.in_(self._language), self._secret),
            "hint": error.hint.in_(self._language),
        }
        found: dict[str, Json] = {"error": told} | ({} if call.run is None else {"run": call.run})
        return types.CallToolResult(
            content=[types.TextContent(text=text)], structured_content=found, is_error=True
        )

    def _tool_of(self, procedure: str) -> ProcedureTool | None:
        return next((tool for tool in self._tools.values() if tool.procedure.id == procedure), None)

    def _hold(self, call: _Call, run: str) -> None:
        """The request is about this run: it hears of its steps, and takes it along when it is cancelled."""
        call.run = run
        self._calls[run] = call

    def _see(self, event: Event, state: State) -> None:
        call = self._calls.get(state.task)
        if call is not None and event.body.kind == "step.entered" and event.step is not None:
            tool = self._tool_of(state.procedure_id)
            step = None if tool is None else tool.procedure.steps.get(step_id(event.step))
            call.tell(event.step if step is None else step.title)


def _state(turn: _Turn, question: Question) -> str:
    return json.dumps({"run": turn.run.id, "asking": question.run, "seq": question.seq, "tries": turn.tries})


def _hints(effect: Effect) -> types.ToolAnnotations:
    return types.ToolAnnotations(
        read_only_hint=effect is Effect.READ, destructive_hint=effect is Effect.IRREVERSIBLE
    )
