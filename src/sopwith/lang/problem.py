"""Problems found while a text is read: collected, so that one reading reports all of them."""

from __future__ import annotations

from sopwith.errors import NO_HINT, ProcedureError, Text
from sopwith.ir.diagnostic import Diagnostic, Edit, Place, Severity

LIMIT = 50
"""More problems than this are not listed: the rest follows from the first ones."""


class Problems:
    """The problems of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._found: list[Diagnostic] = []
        self._errors = 0

    def __bool__(self) -> bool:
        return self._errors > 0

    def add(
        self,
        code: str,
        place: Place,
        message: Text,
        hint: Text = NO_HINT,
        step: str | None = None,
        fix: tuple[Edit, ...] = (),
    ) -> None:
        """Note an error at `place`; `fix` is its remedy, where there is exactly one."""
        if self._errors < LIMIT:
            self._errors += 1
            self._note(Severity.ERROR, code, place, message, hint, step, fix)

    def warn(self, code: str, place: Place, message: Text, hint: Text = NO_HINT) -> None:
        """Note what was read with a doubt, or left out. Each is listed: whoever reads the result must know."""
        self._note(Severity.WARNING, code, place, message, hint, None, ())

    def _note(
        self,
        severity: Severity,
        code: str,
        place: Place,
        message: Text,
        hint: Text,
        step: str | None,
        fix: tuple[Edit, ...],
    ) -> None:
        self._found.append(
            Diagnostic(
                code=code, severity=severity, place=place, message=message, hint=hint, step=step, fix=fix
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
        """Raise `ProcedureError` with everything that was found; do nothing where no error was."""
        if not self:
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
