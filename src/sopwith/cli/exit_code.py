"""What the exit codes of `sopwith` mean. All of them are here."""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType

from sopwith.errors import LogDamaged, NotChosen, ProcedureError, SopwithError, Text, UserError


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    INVALID = 3
    ESCALATED = 4
    DENIED = 5
    EXHAUSTED = 6
    SUSPENDED = 7
    DAMAGED = 8
    INTERRUPTED = 130


MEANINGS = MappingProxyType(
    {
        ExitCode.OK: Text("done", "完成"),
        ExitCode.INTERNAL: Text(
            "something broke that is no mistake of the caller: a disk, a server, Sopwith itself",
            "出现了并非调用者造成的故障：磁盘、服务器或 Sopwith 本身",
        ),
        ExitCode.USAGE: Text("a mistake in the command, a setting or a file", "命令、设置或文件有误"),
        ExitCode.INVALID: Text(
            "a procedure cannot be read, or it, a policy or a tool does not pass its checks",
            "流程无法读取，或者流程、策略或工具未通过检查",
        ),
        ExitCode.ESCALATED: Text(
            "the run was handed to a person, or no procedure could be chosen",
            "运行已转交人工，或无法选定流程",
        ),
        ExitCode.DENIED: Text("a rule denied the request or a call", "规则拒绝了请求或调用"),
        ExitCode.EXHAUSTED: Text("a budget or a time limit was reached", "达到预算或时间上限"),
        ExitCode.SUSPENDED: Text(
            "the run waits: for an answer, a time, an event or a run that it has called",
            "运行在等待：回答、时间、事件，或其调用的运行",
        ),
        ExitCode.DAMAGED: Text("the event log is damaged, or was changed", "事件日志已损坏或被改动"),
        ExitCode.INTERRUPTED: Text(
            "interrupted, and `sopwith resume` goes on; or the run was cancelled",
            "被中断，可用 sopwith resume 继续；或运行已被取消",
        ),
    }
)

_OF_STATUS = {
    "completed": ExitCode.OK,
    "escalated": ExitCode.ESCALATED,
    "denied": ExitCode.DENIED,
    "exhausted": ExitCode.EXHAUSTED,
    "suspended": ExitCode.SUSPENDED,
    "cancelled": ExitCode.INTERRUPTED,
    "running": ExitCode.INTERRUPTED,
}


def of_status(status: str) -> ExitCode:
    """The code for the status of a run; a failed run is INTERNAL."""
    return _OF_STATUS.get(status, ExitCode.INTERNAL)


def of_error(error: BaseException) -> ExitCode:
    """The code for an error that ended a command."""
    if isinstance(error, ProcedureError):
        return ExitCode.INVALID
    if isinstance(error, NotChosen):
        return ExitCode.ESCALATED
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    if isinstance(error, LogDamaged):
        return ExitCode.DAMAGED
    return ExitCode.USAGE if isinstance(error, UserError) else ExitCode.INTERNAL


def known(error: BaseException) -> bool:
    """Whether an error says by itself what is wrong, so that nobody needs a traceback."""
    return isinstance(error, SopwithError)
