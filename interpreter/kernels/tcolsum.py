"""TCOLSUM: the sum of each column, every addition rounded to the element type (page: Mathematical Semantics).

`isBinary` selects the order of the additions (page: Temporary Space), and the order is visible in the last
bits of a float. Integers wrap modulo 2^n, so there the order does not matter.
"""

from functools import partial
from typing import Any

import numpy as np

from ptoasm.interpreter.kernels import Array, Call, Kernel, quietly


def plan(call: Call) -> Kernel:
    """The kernel for one source of R x C elements: (src) -> (sums,), shape (1, C)."""
    kernel = _order(call)
    if call.inputs[0].dtype.kind in "iu":
        return kernel  # arrays of integers wrap without a warning
    return quietly(kernel)


def _order(call: Call) -> Kernel:
    if not call.attributes.get("isBinary"):
        return _sequential(call.inputs[0].dtype, call.inputs[0].cols)
    if call.inputs[0].rows == 1:
        return _copied if call.arch == "a2a3" else _added_to_zero
    return partial(_tree, 0 if call.arch == "a2a3" else -1)


def _sequential(dtype: np.dtype[Any], cols: int) -> Kernel:
    """Row 0, then rows 1, 2, … added one by one."""
    if cols == 1:
        # One column is contiguous for `reduce`, which then sums pairwise; `accumulate` never does.
        return lambda src: (np.add.accumulate(src, axis=0, dtype=dtype)[-1:],)
    # From -0.0, because +0.0 + -0.0 would lose the sign of a column of -0.0.
    start = dtype.type(-0.0)
    # Integers would be widened, floats are not; to say so costs a fifth of the time of a small sum.
    kept = dtype if dtype.kind in "iu" else None
    reduce = np.add.reduce

    def kernel(src: Array) -> tuple[Array]:
        apart, beside = src.strides
        if not apart > beside > 0:
            # `reduce` walks memory in the order of the strides: only rows that lie apart come one by one, first
            # to last.
            src = np.ascontiguousarray(src)
        return (reduce(src, 0, kept, keepdims=True, initial=start),)

    return kernel


def _copied(src: Array) -> tuple[Array]:
    return (src.copy(),)


def _added_to_zero(src: Array) -> tuple[Array]:
    """The one row as a5's tree leaves it: -0.0 becomes +0.0."""
    return (src + src.dtype.type(0),)


def _tree(odd: int, src: Array) -> tuple[Array]:
    """Adjacent rows are added until one is left; the last one of an odd count goes to row `odd` of the step.

    The page is silent about that row, and the targets differ: a2a3 adds it to the first row, a5 to the last.
    """
    while (rows := len(src)) > 1:
        sums = np.add(src[0 : rows - 1 : 2], src[1::2])
        if rows % 2:
            np.add(sums[odd], src[-1], out=sums[odd])
        src = sums
    return (src,)
