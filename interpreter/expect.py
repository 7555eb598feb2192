"""Comparing what a program computed with what was expected: exactly, bit for bit, or within a tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptoasm.interpreter.data import DataFault, Fill, fill, from_lists, scalar_of, shape_text, typed
from ptoasm.interpreter.kernels import Array

SHOWN = 5
"""How many differences a report lists."""


def differences(
    got: Any, wanted: Any, name: str, *, exact: bool = True, rtol: float = 0.0, atol: float = 0.0
) -> list[str] | None:
    """How ``got`` differs from ``wanted``: a summary and the first differences; None where it does not.

    ``wanted`` is an array, nested lists, a number or a fill; lists and numbers are rounded once to the element type of
    ``got``. A NaN equals any NaN; exactly means bit for bit, so -0.0 is not 0.0. Within a tolerance
    ``|got - wanted| <= atol + rtol * |wanted|``.
    """
    array = np.asarray(got)
    try:
        other = _wanted(wanted, array, name)
    except DataFault as fault:
        return [str(fault)]
    if other.shape != array.shape:
        return [f"%{name} has shape {shape_text(array.shape)}; {shape_text(other.shape)} was expected"]
    if other.dtype != array.dtype:
        return [f"%{name} has dtype {array.dtype}; {other.dtype} was expected"]
    same = _same_bits(array, other) if exact else _close(array, other, rtol, atol)
    if same.all():
        return None
    places = np.argwhere(~same)
    report = [f"%{name}: {len(places)} of {array.size} elements differ"]
    for place in places[:SHOWN]:
        at = tuple(int(n) for n in place)
        report.append(
            f"[{', '.join(map(str, at))}]: expected {other[at]}, got {array[at]}{_ulps(array[at], other[at])}"
        )
    return report


def _wanted(wanted: Any, got: Array, name: str) -> Array:
    if isinstance(wanted, Fill):
        return fill(wanted, got.dtype, got.size, name).reshape(got.shape if wanted.count in (None, got.size) else -1)
    if isinstance(wanted, list | tuple):
        return _as_row(from_lists(wanted, got.dtype, name), got)
    if callable(wanted):
        flat: Array = wanted(got.dtype)
        return flat.reshape(got.shape) if flat.size == got.size else flat
    if isinstance(wanted, np.ndarray) and (wanted.ndim or not got.ndim):
        return _as_row(typed(wanted, got.dtype), got)
    return np.full(got.shape, scalar_of(wanted, got.dtype, name), got.dtype)


def _as_row(wanted: Array, got: Array) -> Array:
    """A flat array for a tile of one row is that row."""
    return wanted[None] if wanted.ndim == 1 and got.ndim == 2 and len(got) == 1 else wanted


def is_float(array: Any) -> bool:
    """Whether the elements are floats (bfloat16 is of kind V for NumPy)."""
    return bool(array.dtype.kind in "fV")


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)


def _same_bits(a: Array, b: Array) -> Array:
    same: Array = _bits(a) == _bits(b)
    if is_float(a):
        same |= np.isnan(a) & np.isnan(b)
    return same


def _close(a: Array, b: Array, rtol: float, atol: float) -> Array:
    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64), b.astype(np.float64)
        near = np.isfinite(x) & np.isfinite(y) & (np.abs(x - y) <= atol + rtol * np.abs(y))
        close: Array = near | (x == y) | (np.isnan(x) & np.isnan(y))
    return close


def _ulps(got: Any, wanted: Any) -> str:
    """The distance of two floats, in values of their type that lie between them."""
    if not is_float(got) or not (np.isfinite(float(got)) and np.isfinite(float(wanted))):
        return ""
    distance = abs(_ordered(got) - _ordered(wanted))
    return f" ({distance} ULP)" if distance else " (the signs of the zeros differ)"


def _ordered(number: Any) -> int:
    """The place of a float among all floats of its type; both zeros are 0."""
    bits = int(np.asarray(number).view(f"u{number.dtype.itemsize}"))
    top = 1 << (8 * number.dtype.itemsize - 1)
    return top - bits if bits & top else bits
