"""What the project has to say about a program: diagnostics, and the exception that carries them.

Rendering lives in ``render.py``; nothing here knows how a diagnostic is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from ptoasm.source import Source, Span

Severity = Literal["error", "warning", "remark"]


class Note(NamedTuple):
    """A second sentence of a diagnostic; with a place where another part of the program is involved."""

    message: str
    source: Source | None = None
    span: Span | None = None


class Diagnostic(NamedTuple):
    """One finding.

    ``message`` states the actual and the required value, without the code. ``span`` is the narrowest text at fault.
    ``op`` is the operation's name as the pages write it (``tcolargmin``), ``function`` the enclosing function's.
    A diagnostic without a span is about the file as a whole.
    """

    severity: Severity
    code: str
    message: str
    source: Source
    span: Span | None = None
    notes: tuple[Note, ...] = ()
    op: str | None = None
    function: str | None = None


class PtoError(Exception):
    """A program is wrong: ``diagnostics`` says how, in source order, with at least one error."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = list(diagnostics)
        super().__init__(self.diagnostics[0].message if self.diagnostics else "")

    def __str__(self) -> str:
        from ptoasm.render import render_text

        return render_text(self.diagnostics)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether any of them is an error."""
    return any(d.severity == "error" for d in diagnostics)


def in_source_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by place; those of one place keep their order."""
    return sorted(diagnostics, key=lambda d: d.span.start if d.span else -1)
