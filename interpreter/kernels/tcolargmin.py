"""TCOLARGMIN: the row of the minimum of each column, and in value+index mode the minimum too.

Two outputs are dstVal and dstIdx, one is dstIdx (page: Mathematical Semantics). Where the page is silent: the
first of equal minima wins, -0.0 equals +0.0, and a NaN counts as the minimum.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ptoasm.interpreter.kernels import Array, Call, Kernel, Spec

_WIDE = 512
"""From so many columns on, two passes along the rows beat NumPy's argmin, which transposes."""
_LARGE = 4096
"""From so many float16 elements on, making integers of them first is faster."""


def plan(call: Call) -> Kernel:
    """The kernel for R x C elements: (src) -> (dstIdx,) or (dstVal, dstIdx), each of shape (1, C)."""
    source, index = call.inputs[0], call.outputs[-1]
    search = _search(source)
    if len(call.outputs) == 2:
        return _values_and_index(search, source.cols, index.dtype)
    if call.arch == "a2a3" and source.dtype.itemsize == 2:
        return _through_half(search, source.rows, index.dtype)
    return _index_only(search, index.dtype)


def _index_only(search: Callable[[Array], Array], dtype: np.dtype[Any]) -> Kernel:
    def kernel(src: Array) -> tuple[Array]:
        return (search(src).astype(dtype)[None],)

    return kernel


def _values_and_index(search: Callable[[Array], Array], cols: int, dtype: np.dtype[Any]) -> Kernel:
    columns = np.arange(cols)

    def kernel(src: Array) -> tuple[Array, Array]:
        rows = search(src)
        return src[rows, columns][None], rows.astype(dtype)[None]

    return kernel


def _through_half(search: Callable[[Array], Array], rows: int, dtype: np.dtype[Any]) -> Kernel:
    """2-byte sources on a2a3 (page: tmp Tile Description): the index goes s16 -> f16 -> s32."""
    if rows <= _EXACT + 1:
        return _index_only(search, dtype)
    table = np.array([half_index(row) for row in range(rows)], np.int64).astype(dtype)

    def kernel(src: Array) -> tuple[Array]:
        return (table[search(src)][None],)

    return kernel


_EXACT = 1 << 11
"""The integers up to here are float16 values."""


def half_index(row: int) -> int:
    """`row` wrapped to 16 bits and rounded to a float16, to nearest, ties away from zero."""
    wrapped = (row + 0x8000) % 0x10000 - 0x8000
    size = abs(wrapped)
    step = 1 << max(size.bit_length() - 11, 0)
    rounded = (size + step // 2) // step * step
    return rounded if wrapped >= 0 else -rounded


def _search(source: Spec) -> Callable[[Array], Array]:
    """The fastest way to find the row of each column's minimum: (R, C) -> (C,) of integers."""
    plain = _two_passes(source.rows) if source.cols >= _WIDE and 4 < source.rows < 0xFFFF else _argmin
    if source.dtype == np.float16 and source.rows * source.cols >= _LARGE:
        return _half_search(plain)
    return plain


def _argmin(src: Array) -> Array:
    found: Array = src.argmin(0)
    return found


def _two_passes(rows: int) -> Callable[[Array], Array]:
    """The minimum of each column, then the first row that equals it: it is the farthest from the end."""
    weights = np.arange(rows, 0, -1, dtype=np.uint16)[:, None]

    def search(src: Array) -> Array:
        if src.strides[0] <= src.strides[1]:
            return _argmin(src)  # there a column is contiguous already
        least = np.minimum.reduce(src, axis=0)
        whole = np.minimum.reduce(least)
        if whole != whole:
            return _argmin(src)  # a NaN equals nothing
        to_the_end: Array = np.maximum.reduce((src == least) * weights, axis=0)
        return rows - to_the_end.astype(np.intp)

    return search


def _half_search(plain: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Search float16 as the int16 of the same order (±0 alike): integers compare many at a time."""
    infinity = 0x7C00

    def search(src: Array) -> Array:
        bits = src.view(np.int16)
        keys = bits & np.int16(0x7FFF)
        if keys.max() > infinity:
            return _argmin(src)
        sign = bits >> np.int16(15)
        keys ^= sign
        keys -= sign
        return plain(keys)

    return search
