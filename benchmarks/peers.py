"""The peers of the overhead benchmark: a bare asyncio loop, LangGraph, pydantic-graph. Each does the work of
`benchmarks.workload` in the way its own documentation shows, and keeps its store in one SQLite file.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from pydantic_graph import GraphBuilder, StepContext

from benchmarks.workload import Prompter, Shape, noop

Synchronous = Literal["NORMAL", "FULL"]
"""The SQLite setting of a side, in WAL mode: NORMAL is not synced to the disk at each commit, FULL is."""

Commits = Literal["step", "run", "twice"]
"""When a bare loop commits: its row after each step; all rows at the end of a run; or, where a step acts on the world,
the intent before the call and the outcome after it."""

TABLE = """
CREATE TABLE IF NOT EXISTS log (run TEXT, seq INTEGER, row TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID
"""


class Model(Protocol):
    """What a peer asks: text in, text out."""

    async def reply(self, prompt: str) -> str:
        """The reply to a prompt."""
        ...


class Runner(Protocol):
    """One side of the comparison, ready to run a shape."""

    async def run(self, request: str) -> None:
        """Run the shape once, from request to end, and store what has to be stored."""
        ...


Durability = Literal["sync", "async", "exit"]
"""When LangGraph writes its checkpoints."""

Side = Callable[[Shape, Model, Prompter, Path], AbstractAsyncContextManager[Runner]]


@dataclass(slots=True)
class BareLoop:
    """The least that is durable: a loop, and rows appended to one table."""

    shape: Shape
    model: Model
    prompter: Prompter
    prefix: str
    connection: sqlite3.Connection
    commits: Commits = "step"

    async def run(self, request: str) -> None:
        step: str | None = self.shape.start
        values: dict[str, Any] = {"request": request}
        seq = 0
        while step is not None:
            reply = await self.model.reply(self.prompter.render(self.prefix, step, values))
            arguments = json.loads(reply)
            if self.commits == "twice":
                seq += 1
                self._append(request, seq, {"step": step, "arguments": arguments})
                self.connection.commit()
            outcome = await noop(**arguments)
            values = {"last": outcome}
            seq += 1
            self._append(request, seq, {"step": step, "arguments": arguments, "result": outcome})
            if self.commits != "run":
                self.connection.commit()
            step = self.shape.after(step, outcome["route"])
        self.connection.commit()

    def _append(self, request: str, seq: int, row: dict[str, Any]) -> None:
        self.connection.execute("INSERT INTO log VALUES (?, ?, ?)", (request, seq, json.dumps(row)))


@asynccontextmanager
async def _loop(
    shape: Shape, model: Model, prompter: Prompter, path: Path, commits: Commits, synchronous: Synchronous
) -> AsyncIterator[BareLoop]:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute(TABLE)
    connection.commit()
    try:
        yield BareLoop(shape, model, prompter, prompter.prefix(shape), connection, commits)
    finally:
        connection.close()


def bare_loop(commits: Commits, synchronous: Synchronous = "NORMAL") -> Side:
    """A bare asyncio loop over one SQLite connection."""

    @asynccontextmanager
    async def side(shape: Shape, model: Model, prompter: Prompter, path: Path) -> AsyncIterator[Runner]:
        async with _loop(shape, model, prompter, path, commits, synchronous) as loop:
            yield loop

    return side


def _merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {**old, **new}


class GraphState(TypedDict):
    """The state of the LangGraph side: every step's result under its own name, and the route taken."""

    request: str
    results: Annotated[dict[str, Any], _merge]
    last: dict[str, Any]


@dataclass(slots=True)
class LangGraph:
    """A compiled LangGraph graph with its SQLite saver."""

    graph: Any
    durability: Durability
    steps: int

    async def run(self, request: str) -> None:
        config = {"configurable": {"thread_id": request}, "recursion_limit": self.steps + 5}
        start = {"request": request, "results": {}, "last": {}}
        await self.graph.ainvoke(start, config, durability=self.durability)


def lang_graph(durability: Durability, synchronous: Synchronous = "NORMAL") -> Side:
    """LangGraph's StateGraph with AsyncSqliteSaver, checkpointing at every step ("sync"), meanwhile
    ("async", its default), or at the end ("exit")."""

    @asynccontextmanager
    async def side(shape: Shape, model: Model, prompter: Prompter, path: Path) -> AsyncIterator[Runner]:
        async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
            await saver.setup()
            await saver.conn.execute(f"PRAGMA synchronous={synchronous}")
            graph = _state_graph(shape, model, prompter).compile(checkpointer=saver)
            yield LangGraph(graph, durability, shape.length)

    return side


def _state_graph(shape: Shape, model: Model, prompter: Prompter) -> Any:
    prefix = prompter.prefix(shape)

    def node(step: str) -> Callable[[GraphState], Any]:
        async def run(state: GraphState) -> dict[str, Any]:
            values = {"last": state["last"]} if state["last"] else {"request": state["request"]}
            reply = await model.reply(prompter.render(prefix, step, values))
            outcome = await noop(**json.loads(reply))
            return {"results": {step: outcome}, "last": outcome}

        return run

    def chosen(state: GraphState) -> str:
        return str(state["last"]["route"])

    builder = StateGraph(GraphState)
    for step in shape.steps:
        builder.add_node(step, node(step))
        ways = shape.edges.get(step, {"": END})
        if "" in ways:
            builder.add_edge(step, ways[""])
        else:
            builder.add_conditional_edges(step, chosen, dict(ways))
    builder.add_edge(START, shape.start)
    return builder


@dataclass(slots=True)
class Notes:
    """The state of the pydantic-graph side."""

    request: str
    results: dict[str, Any] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class PydanticGraph:
    """A graph of pydantic-graph. It has no persistence of its own since version 2, so each step appends the
    bare loop's row."""

    graph: Any

    async def run(self, request: str) -> None:
        await self.graph.run(state=Notes(request), inputs=None)


@asynccontextmanager
async def builder_graph(shape: Shape, model: Model, prompter: Prompter, path: Path) -> AsyncIterator[Runner]:
    """pydantic-graph's GraphBuilder, without instrumentation, with one SQLite append per step."""
    async with _loop(shape, model, prompter, path, "step", "NORMAL") as loop:
        yield PydanticGraph(_build(shape, model, prompter, loop.connection))


def _build(shape: Shape, model: Model, prompter: Prompter, connection: sqlite3.Connection) -> Any:
    prefix = prompter.prefix(shape)
    builder: Any = GraphBuilder(state_type=Notes, output_type=str, auto_instrument=False, name=shape.name)

    def node(step: str) -> Any:
        async def run(context: StepContext[Notes, None, Any]) -> str:
            state = context.state
            values = {"last": state.last} if state.last else {"request": state.request}
            arguments = json.loads(await model.reply(prompter.render(prefix, step, values)))
            state.last = state.results[step] = await noop(**arguments)
            row = json.dumps({"step": step, "arguments": arguments, "result": state.last})
            connection.execute("INSERT INTO log VALUES (?, ?, ?)", (state.request, len(state.results), row))
            connection.commit()
            return str(state.last["route"])

        return builder.step(run, node_id=step)

    nodes = {step: node(step) for step in shape.steps}
    edges = [builder.edge_from(builder.start_node).to(nodes[shape.start])]
    for step in shape.steps:
        ways = shape.edges.get(step)
        if ways is None:
            edges.append(builder.edge_from(nodes[step]).to(builder.end_node))
        elif "" in ways:
            edges.append(builder.edge_from(nodes[step]).to(nodes[ways[""]]))
        else:
            decision = builder.decision()
            for route, target in ways.items():
                matches = route.__eq__
                decision = decision.branch(builder.match(str, matches=matches).to(nodes[target]))
            edges.append(builder.edge_from(nodes[step]).to(decision))
    builder.add(*edges)
    return builder.build()


PEERS: dict[str, Side] = {
    "bare_loop": bare_loop("step"),
    "bare_loop_once": bare_loop("run"),
    "bare_loop_intent": bare_loop("twice", "FULL"),
    "langgraph_sqlite": lang_graph("sync"),
    "langgraph_sqlite_async": lang_graph("async"),
    "langgraph_sqlite_exit": lang_graph("exit"),
    "langgraph_sqlite_full": lang_graph("sync", "FULL"),
    "pydantic_graph": builder_graph,
}
