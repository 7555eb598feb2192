"""Results for people and for programs: arrays as text and as JSON."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ptoasm.interpreter.kernels import Array

_SUMMARISED = 1000
"""Arrays of more elements are not shown whole."""
_WIDTH = 120
_NAMES = {"bfloat16": "bf16"}
_KINDS = {"f": "f", "i": "i", "u": "ui"}


def element_name(dtype: np.dtype[Any]) -> str:
    """The dialect's name of a NumPy type: ``f32``, ``ui16``, ``bf16``."""
    kind = _KINDS.get(dtype.kind, dtype.name)
    return _NAMES.get(dtype.name) or (f"{kind}{8 * dtype.itemsize}" if dtype.kind in _KINDS else dtype.name)


def shape_and_type(array: Array) -> str:
    """``16x255xf32``; for a scalar just its type."""
    return "x".join([*map(str, array.shape), element_name(array.dtype)])


def array_text(array: Array) -> str:
    """The values, each with as many digits as it takes to tell it from its neighbours; long arrays shortened with …"""
    shown = array.astype(np.float32) if array.dtype.kind == "V" else array
    text = np.array2string(shown, max_line_width=_WIDTH, threshold=_SUMMARISED, floatmode="unique")
    return text.replace("...", "…")


def plain_values(array: Array) -> Any:
    """The values as JSON can hold them: nested lists of exact numbers, with NaN and infinities as strings."""
    if array.dtype.kind in "iub":
        return array.tolist()
    wide = array.astype(np.float64)
    return wide.tolist() if np.isfinite(wide).all() else _with_names(wide.tolist())


def _with_names(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_names(part) for part in value]
    return plain_number(value)


def plain_number(value: Any) -> Any:
    """A number as JSON can hold it."""
    number = value.item() if isinstance(value, np.generic) and value.dtype.kind in "iub" else value
    if isinstance(number, int):
        return number
    number = float(number)
    if math.isnan(number):
        return "nan"
    return number if math.isfinite(number) else ("inf" if number > 0 else "-inf")


def as_json(array: Array, address: int | None) -> dict[str, Any]:
    """An output as ``run --format json`` prints it."""
    return {
        "dtype": element_name(array.dtype),
        "shape": list(array.shape),
        "address": address,
        "data": plain_values(array),
    }


def as_text(name: str, array: Array, address: int | None) -> str:
    """An output as ``run`` prints it."""
    at = "" if address is None else f" at {address:#x}"
    values = array_text(array)
    return f"%{name}: {shape_and_type(array)}{at}{chr(10) if array.ndim else ' = '}{values}"
