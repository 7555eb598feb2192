"""TCI: S, S ± 1, S ± 2, … along the columns (page: Mathematical Semantics).

Each element is S ± k formed exactly and rounded once to the element type, to nearest even; integers wrap
modulo 2^n. The signs of zeros are those of an IEEE addition or subtraction of k: -0.0 + 0 is +0.0, -0.0 - 0
is -0.0.
"""

from functools import partial
from typing import Any

import numpy as np

from ptoasm.interpreter.conversion import to_odd
from ptoasm.interpreter.kernels import Array, Call, Kernel, quietly

MAX_LENGTH = 1 << 24
"""Above it k is no longer exact in a float32, and no UB holds that many elements."""


def plan(call: Call) -> Kernel:
    """The kernel for one sequence of C elements: (S) -> (sequence,), shape (1, C); S has its type."""
    dtype, cols = call.outputs[0].dtype, call.outputs[0].cols
    if cols > MAX_LENGTH:
        raise ValueError(f"tci writes at most {MAX_LENGTH} elements; got {cols}")
    wide = _step_type(dtype)
    steps = np.arange(cols).astype(wide).reshape(1, cols)
    if call.attributes.get("descending"):
        np.negative(steps, out=steps)  # in floats the first step is -0.0, as S - 0 needs it
    if dtype.kind in "iu":
        return partial(_native, steps)
    kernel = partial(_native, steps) if wide == dtype else partial(_through_wider(dtype), steps, dtype)
    return quietly(kernel)


def _through_wider(dtype: np.dtype[Any]) -> Kernel:
    return _half if dtype == np.float16 else _bfloat


def _step_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which k is exact and to which S converts exactly."""
    if dtype == np.float16:
        return np.dtype(np.float64)
    if dtype.kind in "iu" or dtype == np.float32:
        return dtype
    return np.dtype(np.float32)


def _native(steps: Array, start: Any) -> tuple[Array]:
    """Integers, and float32, where k is exact and so one IEEE addition is all it takes."""
    return (steps + start,)


def _half(steps: Array, dtype: np.dtype[Any], start: Any) -> tuple[Array]:
    """float16: S is a multiple of 2^-24 below 2^16 and k is below 2^24, so the sum is exact in float64."""
    return ((steps + start.astype(steps.dtype)).astype(dtype),)


def _bfloat(steps: Array, dtype: np.dtype[Any], start: Any) -> tuple[Array]:
    """bfloat16: the sum rounded to odd in float32, so that the one rounding to nearest is the second one.

    A float32 sum rounded to nearest could land in the middle of two bfloat16 and lose on which side it was.
    """
    wide = start.astype(steps.dtype)
    total = steps + wide
    part = total - wide
    error = (wide - (total - part)) + (steps - part)  # TwoSum: total + error is the exact sum
    return (to_odd(total, error).astype(dtype),)
