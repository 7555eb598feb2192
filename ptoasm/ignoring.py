"""``// ptoasm-ignore: CODE`` in a program: which warnings and remarks its author does not want to see."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from ptoasm.diagnostics import Diagnostic
from ptoasm.lexer import comment_spans
from ptoasm.source import Source, Span

if TYPE_CHECKING:
    from ptoasm.ir import Module

_MARK = "ptoasm-ignore"
_LIST = re.compile(rf"{_MARK}:((?:(?!//|#).)*)")
_WITHOUT_LIST = re.compile(rf"(?://|#)[ \t]*({_MARK})(?!:)")
_WORD = re.compile(r"[^\s,]+")


class Statements:
    """Which lines a statement takes."""

    def __init__(self, module: Module) -> None:
        self.source = module.source
        spans = [(op.start, op.end) for function in module.functions for op in function.walk()]
        spans += [(f.start, f.end) for f in module.functions if not f.flat]
        if module.wrapped:
            spans.append((module.span.start, module.span.end))
        self.spans = sorted(spans)

    def lines(self, diagnostic: Diagnostic) -> tuple[int, int]:
        """The first and the last line of a diagnostic's statement; one without a place is on the first line."""
        if diagnostic.span is None:
            return self.source.first_line, self.source.first_line
        start, end = diagnostic.span
        at = bisect_right(self.spans, (start, len(self.source.text) + 1)) - 1
        if at >= 0 and self.spans[at][0] <= start < self.spans[at][1]:
            start, end = self.spans[at]
        return self.source.position(start)[0], self.source.position(max(start, end - 1))[0]


class Ignored:
    """What the comments of a module ignore."""

    def __init__(self, module: Module) -> None:
        self._codes: dict[int, set[str]] = {}
        for word in _named(module.source.text):
            line, _ = module.source.position(word.start)
            self._codes.setdefault(line, set()).add(module.source.text[word.start : word.end].upper())
        self._statements = Statements(module) if self._codes else None

    def covers(self, diagnostic: Diagnostic) -> bool:
        """Whether a comment in the diagnostic's statement, or on the line above it, ignores its code."""
        if self._statements is None or diagnostic.span is None or diagnostic.severity == "error":
            return False
        first, last = self._statements.lines(diagnostic)
        return any(diagnostic.code in self._codes.get(line, ()) for line in range(first - 1, last + 1))


def faults(source: Source) -> list[Diagnostic]:
    """A warning for each word in such a comment that is not the code of a warning or of a remark."""
    text = source.text
    found = [(span, reason_against(text[span.start : span.end])) for span in _named(text)]
    return [Diagnostic("warning", "PARSE-09", reason, source, span) for span, reason in found if reason]


def _named(text: str) -> list[Span]:
    """Every word that should be a code; the mark itself where there is none."""
    named: list[Span] = []
    for start, end in comment_spans(text) if _MARK in text else ():
        codes = _LIST.search(text, start, end)
        if codes is not None:
            words = [Span(*word.span()) for word in _WORD.finditer(text, *codes.span(1))]
            named += words or [Span(codes.start(), codes.start(1))]
        elif alone := _WITHOUT_LIST.match(text, start, end):
            named.append(Span(*alone.span(1)))
    return named


def reason_against(code: str) -> str:
    """Why a code cannot be ignored; empty where it can."""
    from ptoasm.catalog import entries, find
    from ptoasm.suggest import did_you_mean

    if code.startswith(_MARK):
        return f"the comment ignores nothing; it must be '{_MARK}: CODE'"
    entry = find(code)
    if entry is None:
        near = did_you_mean(code.upper(), [known.id for known in entries()])
        return f"there is no code '{code}'" + (f"; did you mean '{near}'?" if near else "")
    return f"{entry.id} is an error; only warnings and remarks can be ignored" if entry.severity == "error" else ""
