"""Problems found while a text is read: collected, so that one reading reports all of them."""

from __future__ import annotations

from sopwith.errors import NO_HINT, ProcedureError, Text
from sopwith.ir.diagnostic import Diagnostic, Place, Severity

LIMIT = 50
"""More problems than this are not listed: the rest follows from the first ones."""


class Problems:
    """The problems of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._found: list[Diagnostic] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(
        self, code: str, place: Place, message: Text, hint: Text = NO_HINT, step: str | None = None
    ) -> None:
        """Note an error at `place`."""
        if len(self._found) < LIMIT:
            self._found.append(
                Diagnostic(
                    code=code, severity=Severity.ERROR, place=place, message=message, hint=hint, step=step
                )
            )

    def adopt(self, others: Problems, hint: Text) -> None:
        """Note the problems of a part that was read by itself, each with `hint` as the way out."""
        for one in others.diagnostics():
            self.add(one.code, one.place, one.message, hint, one.step)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was found, in file order."""
        return tuple(sorted(self._found, key=lambda d: (d.place.line, d.place.column)))

    def refuse(self) -> None:
        """Raise `ProcedureError` with everything that was found; do nothing where nothing was."""
        if not self._found:
            return
        found = self.diagnostics()
        count = len(found)
        message = Text(
            f"{self.file} cannot be read: {count} problem{'s' if count > 1 else ''}\n" + lines(found, "en"),
            f"无法读取 {self.file}：{count} 个问题\n" + lines(found, "zh"),
        )
        raise ProcedureError(message, diagnostics=found)


def lines(diagnostics: tuple[Diagnostic, ...], language: str) -> str:
    """One problem a line, as the console shows them."""
    return "\n".join(d.render(language) for d in diagnostics)
