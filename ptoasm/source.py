"""A text with a name, and places in it.

Positions are offsets in characters from the start of the text. Lines and columns (both from 1) are computed only
when a diagnostic needs them.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple


class Span(NamedTuple):
    """Characters ``start`` to ``end - 1`` of a source."""

    start: int
    end: int


class Source:
    """A program's text. ``first_line`` is the line of the file that the text starts on (a file can hold several)."""

    __slots__ = ("_starts", "first_line", "name", "text")

    def __init__(self, text: str, name: str = "<string>", first_line: int = 1) -> None:
        self.text = text
        self.name = name
        self.first_line = first_line
        self._starts: list[int] | None = None

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            starts = [0]
            find, at = self.text.find, 0
            while (at := find("\n", at) + 1) > 0:
                starts.append(at)
            self._starts = starts
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        starts = self._line_starts()
        row = bisect_right(starts, offset) - 1
        return row + self.first_line, offset - starts[row] + 1

    def line(self, number: int) -> str:
        """The text of a line of the file, without its end."""
        starts = self._line_starts()
        row = number - self.first_line
        if not 0 <= row < len(starts):
            return ""
        end = self.text.find("\n", starts[row])
        return self.text[starts[row] : end if end >= 0 else len(self.text)].rstrip("\r")
