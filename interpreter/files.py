"""Arrays in files: ``.npy``, ``.npz:KEY`` and ``.bin``, raw little-endian elements row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptoasm.diagnostics import Diagnostic, PtoError
from ptoasm.interpreter.data import element_dtype
from ptoasm.interpreter.kernels import Array
from ptoasm.source import Source
from ptoasm.types import TileType


def read_data(path: str) -> Any:
    """The array in a file; of a ``.bin``, which has no element type, a function from the type that it is for.

    PtoError (RUN-03) where there is no such file, or no array in it.
    """
    file, colon, key = path.rpartition(":") if ".npz:" in path else (path, "", "")
    try:
        if file.endswith(".bin"):
            with open(file, "rb") as raw:
                return _elements(raw.read())
        loaded = np.load(file, allow_pickle=False)
        return loaded[key] if colon else loaded
    except (OSError, ValueError, KeyError) as error:
        message = f"'{path}' cannot be read: {error}"
        raise PtoError([Diagnostic("error", "RUN-03", message, Source("", path))]) from None


def _elements(data: bytes) -> Callable[[Any], Array]:
    def of(type_: Any) -> Array:
        array = np.frombuffer(data, element_dtype(type_.element).newbyteorder("<"))
        if isinstance(type_, TileType) and type_.valid_rows is not None and type_.valid_cols is not None:
            return array.reshape(type_.valid_rows, type_.valid_cols)
        return array

    return of
