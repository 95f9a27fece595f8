"""Every error that Sopwith raises, with a stable code, a sentence and a remedy in English and Chinese.

    SopwithError                 the base: `code`, `message`, `hint` (both `Text`)
    ├── UserError                a mistake in what was given: arguments, settings, a call of the library
    │   ├── ProcedureError       a procedure that cannot be read or does not pass its checks (`diagnostics`)
    │   ├── ModelFileError       a model file that is missing, incomplete or has the wrong hash
    │   ├── NotChosen            no procedure is right for a request, or it is not sure which one is
    │   ├── RunBusy              another driver has the run (`driver`)
    │   └── PolicyError          an invalid rule, limit or key: nothing starts
    │       └── ValueErased      a value that was erased from the vault: no tool is given its placeholder
    ├── ValueRefused             a value that cannot be stored without loss (`path`)
    ├── ExpressionError          an expression that failed on the values it met (`source`)
    ├── ModelError               a model endpoint that failed (not: a model that answered badly)
    ├── ToolSourceError          a tool source that cannot be started or reached
    ├── IndexFileError           the index of what can be found cannot be written or read
    └── LogError                 the event log cannot be written or read
        ├── LogConflict          another writer has appended to this run
        └── LogDamaged           stored bytes do not match their hash chain

What a model may see (a refused reply, a failed tool) is data in events, never one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LANGUAGES = ("en", "zh")


class Text(NamedTuple):
    """One sentence in English and in Chinese."""

    en: str
    zh: str

    def in_(self, language: str) -> str:
        """The sentence in `language` ("en" or "zh"; anything else is English)."""
        return self.zh if language == "zh" else self.en


NO_HINT = Text("", "")


class SopwithError(Exception):
    """The base of all errors: a stable `code`, a `message` and a `hint` that names the remedy."""

    code = "SW001"

    def __init__(self, message: Text, hint: Text = NO_HINT, code: str | None = None) -> None:
        super().__init__(message.en)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code

    def render(self, language: str = "en") -> str:
        """`error[CODE] message`, and the hint on a second line."""
        head, help_word = ("错误", "建议") if language == "zh" else ("error", "help")
        text = f"{head}[{self.code}] {self.message.in_(language)}"
        hint = self.hint.in_(language)
        return f"{text}\n{help_word}: {hint}" if hint else text


class UserError(SopwithError):
    """A mistake in what was given to Sopwith: an argument, a setting, a call of the library."""

    code = "SW002"


class ProcedureError(UserError):
    """A procedure that cannot be read or does not pass its checks.

    `diagnostics` holds every problem found, in file order (`sopwith.ir.diagnostic.Diagnostic`).
    """

    code = "SW003"

    def __init__(self, message: Text, hint: Text = NO_HINT, diagnostics: Sequence[object] = ()) -> None:
        super().__init__(message, hint)
        self.diagnostics = tuple(diagnostics)


class ModelFileError(UserError):
    """A model file that is missing, incomplete or does not have the expected hash."""

    code = "SW004"


class PolicyError(UserError):
    """An invalid rule, limit or key. Nothing starts with it: guards fail closed."""

    code = "SW005"


class ValueErased(PolicyError):
    """A value that was erased from the vault. Its placeholder stays, and no tool is given that instead."""

    code = "SW013"


class NotChosen(UserError):
    """No procedure is right for a request, or it is not sure which one is."""

    code = "SW016"


class RunBusy(UserError):
    """Another driver has the run (`driver`), or has taken it further meanwhile (None). Nothing was changed."""

    code = "SW014"

    def __init__(self, run: str, driver: str | None) -> None:
        self.driver = driver
        if driver is None:
            super().__init__(
                Text(f"run {run} has moved on meanwhile", f"运行 {run} 已被他人推进"),
                Text(f"look, and try again: sopwith trace {run}", f"请查看后重试：sopwith trace {run}"),
            )
            return
        machine, pid = driver.split("/")[:2] if driver.count("/") >= 2 else (driver, "?")
        super().__init__(
            Text(
                f"run {run} is being driven by process {pid} on machine {machine}",
                f"运行 {run} 正由机器 {machine} 上的进程 {pid} 执行",
            ),
            Text(
                f"wait for it, or end it: sopwith cancel {run}",
                f"请等待其结束，或取消它：sopwith cancel {run}",
            ),
        )


class ValueRefused(SopwithError):
    """A value that cannot be stored without loss; `path` says where (`$.steps[2].amount`)."""

    code = "SW006"

    def __init__(self, path: str, why: Text) -> None:
        super().__init__(Text(f"{path}: {why.en}", f"{path}：{why.zh}"))
        self.path = path


class ExpressionError(SopwithError):
    """An expression that failed on the values it met, or could not be parsed; `source` is its text."""

    code = "SW007"

    def __init__(self, source: str, message: Text, hint: Text = NO_HINT, column: int = 1) -> None:
        super().__init__(message, hint)
        self.source = source
        self.column = column


class ModelError(SopwithError):
    """A model endpoint that failed: unreachable, refused, out of memory, cut off."""

    code = "SW008"


class ToolSourceError(SopwithError):
    """A tool source that cannot be started or reached."""

    code = "SW009"


class IndexFileError(SopwithError):
    """The index of procedures, tools and documents cannot be written or read."""

    code = "SW015"


class LogError(SopwithError):
    """The event log cannot be written or read."""

    code = "SW010"


class LogConflict(LogError):
    """Another writer has appended to this run since it was read."""

    code = "SW011"


class LogDamaged(LogError):
    """Stored events do not match their hash chain."""

    code = "SW012"
