"""Files to programs: reading text, folders and standard input, and splitting a file at its ``// -----`` lines."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ptoasm.diagnostics import Diagnostic, PtoError
from ptoasm.ir import Module
from ptoasm.source import Source

_SEPARATOR = re.compile(r"^// -----[ \t]*\r?$", re.MULTILINE)


class Program(NamedTuple):
    """One program of a file: its text, the line of the file that it begins on, and its number from 1.

    ``part`` is None where the file holds just this one.
    """

    filename: str
    text: str
    first_line: int
    part: int | None

    def parse(self) -> Module:
        """The program as a module; what is wrong with its text is in ``module.diagnostics``."""
        from ptoasm.parser import parse

        return parse(self.text, self.filename, self.first_line)


def expand(paths: Iterable[str]) -> Iterator[str]:
    """The files that the paths name: a folder stands for every ``.pto`` below it, in order of their names."""
    for path in paths:
        if path == "-" or not os.path.isdir(path):
            yield path
            continue
        found = []
        for folder, folders, files in os.walk(path):
            folders.sort()
            named = [os.path.join(folder, name) for name in sorted(files) if name.endswith(".pto")]
            found += [name for name in named if os.path.isfile(name)]  # not a pipe, which may never end
        if not found:
            raise PtoError([_unreadable(path, "the folder holds no .pto file")])
        yield from found


def shown_name(path: str) -> str:
    """What messages call a file of the command line."""
    return "<stdin>" if path == "-" else path


def read_text(path: str) -> str:
    """A file's text (``-`` is standard input) without a byte order mark. PtoError where it cannot be read as text."""
    name = shown_name(path)
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
    except IsADirectoryError:
        raise PtoError([_unreadable(name, "it is a folder, not a file")]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PtoError([_unreadable(name, f"it cannot be read: {reason}")]) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PtoError([_no_text(name, data, error.start)]) from None


def split(text: str, filename: str) -> list[Program]:
    """The programs of a text; of several, those that hold anything, and the whole where none does."""
    pieces = []
    start = line = 0
    for match in _SEPARATOR.finditer(text):
        pieces.append((text[start : match.start()], line))
        line += text.count("\n", start, match.end() + 1)
        start = min(match.end() + 1, len(text))
    pieces.append((text[start:], line))
    if len(pieces) == 1 or not any(piece.strip() for piece, _ in pieces):
        return [Program(filename, text, 1, None)]
    return [Program(filename, piece, first + 1, k) for k, (piece, first) in enumerate(pieces, 1) if piece.strip()]


def read_programs(path: str) -> list[Program]:
    """The programs of a file. PtoError where it cannot be read."""
    return split(read_text(path), shown_name(path))


def _unreadable(name: str, message: str) -> Diagnostic:
    return Diagnostic("error", "RUN-03", message, Source("", name))


def _no_text(name: str, data: bytes, offset: int) -> Diagnostic:
    """The place is shown in what can be read of the text."""
    from ptoasm.source import Span

    before = data[:offset].decode("utf-8-sig")
    text = before + "\ufffd" + data[offset + 1 : offset + 60].decode("utf-8", "replace")
    message = f"the file is not UTF-8 text: byte {offset} is 0x{data[offset]:02x}"
    return Diagnostic("error", "PARSE-05", message, Source(text, name), Span(len(before), len(before) + 1))
