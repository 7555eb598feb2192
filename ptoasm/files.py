"""Writing files whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import BinaryIO

from ptoasm.diagnostics import Diagnostic, PtoError
from ptoasm.source import Source

Writer = Callable[[BinaryIO], object]


class Files:
    """Files that are written together: all of them, or none.

    Each is written beside its place and moved there at the end. A symbolic link stays one: what it points at is
    written. What is no regular file (a pipe, ``/dev/stdout``) cannot be replaced and is written to as it is.
    """

    def __init__(self) -> None:
        self._writers: dict[str, Writer] = {}

    def add(self, path: str, write: Writer) -> None:
        """Has ``write`` fill the file ``path``."""
        self._writers[path] = write

    def write(self) -> None:
        """Writes every file. PtoError (RUN-04) where that does not work, and then none is changed."""
        places: dict[str, str] = {}
        staged: list[str] = []
        try:
            for path, write in self._writers.items():
                with _at(path):
                    places[path] = os.path.realpath(path)
                    if _is_special(path):
                        continue
                    with open(_temporary(places[path]), "wb") as file:
                        staged.append(path)
                        write(file)
            for path, write in self._writers.items():
                with _at(path):
                    if path in staged:
                        os.replace(_temporary(places[path]), places[path])
                    else:
                        with open(path, "wb") as file:
                            write(file)
        except BaseException:
            for path in staged:
                with contextlib.suppress(OSError):
                    os.unlink(_temporary(places[path]))
            raise


class _at:
    """Says which file could not be written."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        if os.path.isdir(self.path):
            raise _unwritable(self.path, "it is a folder")

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError | ValueError):
            raise _unwritable(self.path, getattr(error, "strerror", None) or str(error)) from None


def _unwritable(path: str, reason: str) -> PtoError:
    return PtoError([Diagnostic("error", "RUN-04", f"it cannot be written: {reason}", Source("", path))])


def _is_special(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


def _temporary(place: str) -> str:
    return f"{place}.tmp"


def write_text(path: str, text: str) -> None:
    """Writes a text file whole or not at all. PtoError (RUN-04) where that does not work."""
    files = Files()
    files.add(path, lambda file: file.write(text.encode("utf-8")))
    files.write()
