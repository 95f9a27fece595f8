"""What the guards cost: the engine with them beside one with none, and a synced append beside a plain one."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.measure import Measure
from benchmarks.ours import SOMEBODY, TOOL, Port, procedure
from benchmarks.workload import Script, Shape, linear, noop
from sopwith import Engine, Event, Policy, Rule, SqliteLog, tool
from sopwith.guard.budget import Budgets, PrincipalBudget
from sopwith.guard.redact import Redactor
from sopwith.guard.redact_rules import RedactRule, RedactRules
from sopwith.guard.screen import OutputRules, Screen, ScreenRule, ScreenRules
from sopwith.ir.event import AlertRaised, Phase
from sopwith.ir.tool import ErrorData
from sopwith.ir.usage import Budget
from sopwith.ir.value import Json
from sopwith.log.head import HeadsFile
from sopwith.log.signing_key import SigningKey
from sopwith.run.redaction import Redaction

LIMITS = Budget(tokens=10**9, model_calls=10**6, tool_calls=10**6, seconds=10**6)
ACCOUNT = PrincipalBudget(LIMITS, 86_400.0)
NONE = "none"
SIDES = {
    "guards": "guards_cpu_ratio",
    "heads": "guards_and_heads_cpu_ratio",
    "account": "guards_and_account_cpu_ratio",
}
"""The measure of each side that is guarded."""


def _rules() -> list[Rule]:
    """Five rules, of which the last one allows: the conditions of the others are evaluated and are false."""
    conditions = {
        "not-night": "run == ''",
        "not-guests": "'guest' in principal.roles",
        "not-large": "arguments.value > 1000000",
        "not-elsewhere": "step.startsWith('x_') && arguments.route == 'nowhere'",
    }
    refusing = [Rule(id=name, verdict="deny", tool=TOOL, when=when) for name, when in conditions.items()]
    allowing = Rule(id="clerks", verdict="allow", tool=TOOL, role="clerk", when="'clerk' in principal.roles")
    return [*refusing, allowing]


def _options(side: str, folder: Path) -> dict[str, Any]:
    """The options of the engine of a side."""
    if side == NONE:
        return {"policy": Policy()}
    screened = ScreenRule(
        id="words", verdict="deny", pattern=(r"ignore .{0,20} instructions",), words=("drop table",)
    )
    answered = ScreenRule(id="answer", verdict="escalate", words=("guaranteed",))
    employee = RedactRule(kind="employee_no", pattern=(r"\bE-[0-9]{6}\b",))
    options: dict[str, Any] = {
        "policy": Policy(_rules()),
        "budget": Budgets(run=LIMITS, step=LIMITS, principal=ACCOUNT if side == "account" else None),
        "screen": Screen(
            ScreenRules(rules=(screened,), output=OutputRules(max_length=10_000, rules=(answered,)))
        ),
        "redact": RedactRules(names=("Ada Lovelace", "李小龙"), principal=True, rules=(employee,)),
    }
    if side == "heads":
        key = SigningKey(Ed25519PrivateKey.generate())
        options["heads"] = HeadsFile(folder / "heads.jsonl", key)
    return options


class Open(Redactor):
    """A redactor that looks for nothing: no engine runs with it, but the guards stand beside it."""

    def redact(self, value: Json) -> Json:
        return value

    def redact_reply(self, text: str) -> str:
        return text

    def redact_error(self, error: ErrorData, mixed: bool = False) -> ErrorData:
        return error

    def reveal(self, value: Json) -> Json:
        return value


class NoRedaction(Redaction):
    """Gives every run an open redactor."""

    def of(self, run: str, inputs: Any = None, started: Any = None) -> Redactor:
        return Open(self._vault, run)


@asynccontextmanager
async def _engine(shape: Shape, side: str, folder: Path) -> AsyncIterator[Engine]:
    engine = Engine(
        [procedure(shape)],
        [tool(name=TOOL)(noop)],
        Port(Script(shape.length)),
        log=SqliteLog(folder / f"{side}.db"),
        **_options(side, folder),
    )
    if side == NONE:
        engine._redaction = NoRedaction(engine._vault)  # pyright: ignore[reportPrivateUsage]
    async with engine:
        yield engine


async def guards(runs: int, rounds: int, folder: Path) -> list[Measure]:
    """The CPU of runs of five steps with guards, over that of runs with none; sides take turns.

    `guards` are a policy of five rules in CEL, limits of the run and of each step, redaction with rules of its own, and
    a screen of requests and outputs. With `heads` each run's head is signed and synced as well; with `account` the runs
    are those of one principal, who has limits.
    """
    shape = linear(5)
    cpu = {side: list[float]() for side in (NONE, *SIDES)}
    async with AsyncExitStack() as stack:
        engines = {side: await stack.enter_async_context(_engine(shape, side, folder)) for side in cpu}
        for turn in range(rounds + 1):
            for side in list(cpu)[turn % len(cpu) :] + list(cpu)[: turn % len(cpu)]:
                gc.collect()
                began = time.process_time()
                for i in range(runs // rounds):
                    run = await engines[side].run(f"request {turn}-{i}", principal=SOMEBODY)
                    if run.status != "completed":
                        raise RuntimeError(f"the run ended as {run.outcome}")
                if turn:  # the first round warms up
                    cpu[side].append(time.process_time() - began)
    return [
        Measure(
            name,
            round(statistics.median(a / b for a, b in zip(cpu[side], cpu[NONE], strict=True)), 2),
            "times",
            runs,
            peer="the engine without any guard",
        )
        for side, name in SIDES.items()
    ]


async def synced(repeats: int, folder: Path) -> Measure:
    """What the sync before a write costs on the disk here: a synced append of one event less a plain one, in turns."""
    log = SqliteLog(folder / "synced.db")
    ms = {True: list[float](), False: list[float]()}
    for seq in range(1, 2 * repeats + 1):
        event = Event("r", "r", seq, seq, Phase.EXECUTE, None, None, AlertRaised(code="x", message="x"))
        durable = seq % 2 == 0
        began = time.perf_counter()
        await log.append("r", [event], durable=durable)
        ms[durable].append((time.perf_counter() - began) * 1_000)
    await log.close()
    plain, sync = statistics.median(ms[False]), statistics.median(ms[True])
    return Measure(
        "synced_write_ms",
        round(sync - plain, 3),
        "ms",
        repeats,
        peer="an append without",
        peer_value=round(plain, 3),
    )
