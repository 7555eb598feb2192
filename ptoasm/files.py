"""Writing files whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import BinaryIO

from ptoasm.diagnostics import Diagnostic, PtoError
from ptoasm.source import Source


def write_whole(path: str, write: Callable[[BinaryIO], object]) -> None:
    """Has ``write`` fill a file beside ``path``, then puts it in its place. PtoError (RUN-04) where that fails."""
    temporary = f"{path}.tmp"
    try:
        with open(temporary, "wb") as file:
            write(file)
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        message = f"it cannot be written: {error.strerror or error}"
        raise PtoError([Diagnostic("error", "RUN-04", message, Source("", path))]) from None
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_text(path: str, text: str) -> None:
    """Writes a text file whole or not at all."""
    write_whole(path, lambda file: file.write(text.encode("utf-8")))
