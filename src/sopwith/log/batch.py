"""A batch of events on its way into a store: what every store checks and encodes in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from sopwith.errors import LogConflict, LogDamaged, LogError, SopwithError, Text, ValueRefused
from sopwith.ir.event import Body, Event, body_bytes, read_body
from sopwith.ir.upcast import UnknownVersion
from sopwith.ir.value import digest, storable

_FLAT = 190
"""So few brackets cannot nest deeper than a reader of JSON goes."""


def encode(events: Sequence[Event]) -> list[bytes]:
    """The stored body of each event. Raises `ValueRefused` for one that would not come back as it is."""
    bodies: list[bytes] = []
    for event in events:
        try:
            bodies.append(body_bytes(event.body))
        except PydanticSerializationError as error:
            raise _refused(event, error) from None
    if _doubtful(b"".join(bodies)):
        for event, data in zip(events, bodies, strict=True):
            if _doubtful(data):
                _prove(event, data)
    return bodies


def _doubtful(data: bytes) -> bool:
    """Whether JSON may hold what does not come back as it is: other numbers, or deep nesting."""
    return b"NaN" in data or b"Infinity" in data or data.count(b"[") + data.count(b"{") > _FLAT


def decode(run: str, seq: int, kind: str, data: bytes) -> Body:
    """The inverse of `encode`, for one body."""
    try:
        return read_body(kind, data)
    except KeyError:
        raise LogError(
            Text(
                f"event {seq} of run {run} is of the unknown kind {kind}",
                f"运行 {run} 的事件 {seq} 属于未知类型 {kind}",
            ),
            _UPGRADE,
        ) from None
    except UnknownVersion as error:
        raise LogError(
            Text(f"event {seq} of run {run}: {error}", f"运行 {run} 的事件 {seq} 由更新的版本写入：{error}"),
            _UPGRADE,
        ) from None
    except (ValidationError, RecursionError) as error:
        raise damaged(run, seq) from error


_UPGRADE = Text(
    "a newer Sopwith wrote it: upgrade, then read it again",
    "它由更新版本的 Sopwith 写入：请升级后再读取",
)


def check(run: str, task: str | None, last: int, events: Sequence[Event]) -> None:
    """Refuse a batch that does not follow event `last` of `run` without a gap, or mixes runs or tasks."""
    for expected, event in enumerate(events, last + 1):
        if event.seq != expected:
            raise LogConflict(
                Text(
                    f"run {run} is at event {expected - 1}, and event {event.seq} does not follow it",
                    f"运行 {run} 已到事件 {expected - 1}，事件 {event.seq} 不能接在其后",
                ),
                Text(
                    "another driver has taken this run further: read it again before you go on",
                    "另一个驱动程序已推进该运行：请重新读取后再继续",
                ),
            )
        if task is None:
            task = event.task
        if event.run != run or event.task != task:
            raise LogError(
                Text(
                    f"an event of run {event.run}, task {event.task} was given to run {run}, task {task}",
                    f"运行 {event.run}、任务 {event.task} 的事件被写入了任务 {task} 的运行 {run}",
                ),
                Text("append the events of one run at a time", "每次只追加一个运行的事件"),
            )


def check_blob(name: str, data: bytes) -> None:
    """Refuse a blob whose bytes do not have the digest it is stored under."""
    if digest(data) != name:
        raise LogDamaged(
            Text(
                f"the blob {name} does not hold the bytes of its digest", f"数据块 {name} 的内容与其摘要不符"
            ),
            Text("restore the store from a backup", "请从备份恢复存储文件"),
        )


def no_blob(name: str) -> LogError:
    """The error for a digest that nothing is stored under."""
    return LogError(
        Text(f"there is no blob {name}", f"没有数据块 {name}"),
        Text("read it from the store that holds its run", "请从保存该运行的存储中读取"),
    )


def damaged(run: str, seq: int) -> LogDamaged:
    """The error for an event that does not match the hash chain."""
    return LogDamaged(
        Text(
            f"event {seq} of run {run} does not match the hash chain: it or the order of events was changed",
            f"运行 {run} 的事件 {seq} 与哈希链不符：它或事件顺序被改动过",
        ),
        Text(
            "trust only the events before it, and restore the store from a backup",
            "只有它之前的事件可信，请从备份恢复存储文件",
        ),
    )


def not_text(run: str) -> ValueRefused:
    """The error for an envelope with a lone surrogate, which no encoding holds."""
    return ValueRefused(
        "$.envelope",
        Text(f"the run, task or step of {run!a} is not text", f"{run!a} 的运行、任务或步骤标识不是合法文本"),
    )


def closed() -> LogError:
    """The error for the use of a store after it was closed."""
    return LogError(Text("the event log is closed", "事件日志已关闭"), Text("open it again", "请重新打开"))


def _prove(event: Event, data: bytes) -> None:
    storable(_without_money(event.body.model_dump()), _path(event))
    try:
        read_body(event.body.kind, data)
    except ValidationError as error:
        raise _refused(event, error) from None


def _without_money(value: Any) -> Any:
    """Dumped fields with text in the place of sums of money, which are always written exactly."""
    if isinstance(value, dict):
        return {key: _without_money(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_without_money(item) for item in cast("Sequence[Any]", value)]
    return str(value) if isinstance(value, Decimal) else value


def _refused(event: Event, error: Exception) -> SopwithError:
    return ValueRefused(_path(event), Text(f"cannot be stored: {error}", f"无法存储：{error}"))


def _path(event: Event) -> str:
    return f"$[{event.seq}].{event.body.kind}"


def by_digest(blobs: Mapping[str, bytes] | None) -> list[tuple[bytes, bytes]]:
    """Blobs as rows: the digest as 32 bytes, and the data."""
    rows: list[tuple[bytes, bytes]] = []
    for name, data in (blobs or {}).items():
        try:
            rows.append((bytes.fromhex(name), data))
        except ValueError:
            raise LogError(
                Text(f"{name!r} is not a digest", f"{name!r} 不是摘要"),
                Text("store a blob under the SHA-256 of its bytes", "请以内容的 SHA-256 作为数据块的名称"),
            ) from None
    return rows
