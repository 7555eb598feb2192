"""Arrays from one element type to another: rounded once, in any of the five rounding modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptoasm.interpreter.kernels import Array
from ptoasm.interpreter.rounding import FORMATS

Dtype = np.dtype[Any]


def _away(steps: Array) -> Array:
    """To the nearest integer, ties away from zero."""
    whole: Array = np.trunc(steps)
    return np.where(np.abs(steps - whole) >= 0.5, whole + np.copysign(1.0, steps), whole)


MODES: dict[str, Callable[[Array], Array]] = {
    "RINT": np.rint,
    "ROUND": _away,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "TRUNC": np.trunc,
}
"""Rounding modes, as functions from real numbers to integers, on float64."""


def converter(source: Dtype, target: Dtype, mode: str = "RINT") -> Callable[[Array], Array]:
    """The conversion from one element type to another. Integers wrap modulo 2^n; a NaN or an infinity becomes 0 there.

    ``mode`` is one of MODES; the types may be any integer type, float16, bfloat16 and float32.
    """
    if source == target or (_is_integer(source) and _is_integer(target)):
        return lambda array: array.astype(target)
    if _is_integer(target):
        return lambda array: wrapped(MODES[mode](array.astype(np.float64)), target)
    if mode == "RINT" or _holds(target, source):
        return lambda array: narrow(_double(array), target)
    return lambda array: _in_steps(_double(array), target, MODES[mode])


def narrow(wide: Array, target: Dtype) -> Array:
    """float64 rounded once, to nearest, ties to even. ml_dtypes alone would round twice on the way to bfloat16."""
    if target.name != "bfloat16":
        return wide.astype(target)
    single = wide.astype(np.float32)
    return to_odd(single, wide - single).astype(target)


def to_odd(rounded: Array, error: Array) -> Array:
    """A float32 that was rounded to nearest, rounded to odd instead; ``error`` has the sign of what was lost.

    What is rounded to odd can be rounded once more to a narrower type as if it had never been rounded.
    """
    bits = rounded.view(np.int32)
    inexact = np.isfinite(error) & (error != 0) & (bits & 1 == 0) & (rounded != 0)
    # A neighbour away from zero is one more in bits, towards zero one less. What rounds to zero stays there: every
    # narrower type has it for zero too.
    outwards = np.where((error > 0) == (rounded > 0), np.int32(1), np.int32(-1))
    result: Array = (bits + outwards * inexact).view(np.float32)
    return result


def wrapped(whole: Array, target: Dtype) -> Array:
    """Integers in float64, of any size, modulo 2^n."""
    size = np.where(np.isfinite(whole), np.fmod(np.abs(whole), 2.0**64), 0.0).astype(np.uint64)
    return np.where(np.signbit(whole), np.uint64(0) - size, size).astype(target)


def _is_integer(dtype: Dtype) -> bool:
    return dtype.kind in "iu"


def _holds(target: Dtype, source: Dtype) -> bool:
    """Whether a float type has every value of another type."""
    return target == np.float32 and source.itemsize < 4


def _double(array: Array) -> Array:
    """As float64: exact, but for 64-bit integers, which are rounded to odd."""
    if array.dtype.itemsize < 8:
        return array.astype(np.float64)
    size = np.where(array < 0, np.uint64(0) - array.astype(np.uint64), array.astype(np.uint64))
    sticky = (size >> np.uint64(11)) | (size & np.uint64(0x7FF) != 0)
    exact = np.where(size >> np.uint64(53) == 0, size.astype(np.float64), sticky.astype(np.float64) * 2.0**11)
    return np.where(array < 0, -exact, exact)


def _in_steps(wide: Array, target: Dtype, mode: Callable[[Array], Array]) -> Array:
    """Rounded to a multiple of the target's unit in the last place, in a mode."""
    precision, smallest, largest = FORMATS[target.name]
    exponent = np.maximum(np.frexp(wide)[1] - 1, smallest)
    unit = np.ldexp(1.0, exponent - precision + 1)
    rounded = np.where(np.isfinite(wide), mode(wide / unit) * unit, wide)
    limit = 2.0 ** (largest + 1) - 2.0 ** (largest + 1 - precision)
    # Past the largest number a mode goes to it or to infinity, as it goes between any two neighbours.
    beyond = np.isfinite(wide) & (np.abs(rounded) > limit)
    edge = np.where(mode(np.copysign(0.5, wide)) == 0, np.copysign(limit, wide), np.copysign(np.inf, wide))
    nearest = np.copysign(np.inf, wide)
    return np.where(beyond, nearest if mode is _away else edge, rounded).astype(target)
