"""Data for a program's inputs: arrays, nested lists, numbers and fills, brought into a tile's element type.

Nothing is converted silently: an array has the element type and the shape that the tile has; lists of numbers are
rounded once to the element type.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from ptoasm.dialect.base import count as counted
from ptoasm.interpreter.dtypes import dtype_of
from ptoasm.interpreter.kernels import Array
from ptoasm.types import ElementType, TileType


class Fill(NamedTuple):
    """Data by a rule: ``kind`` is ``zeros``, ``ones``, ``arange``, ``full`` or ``random``.

    ``value`` is what ``full`` fills with, ``seed`` what ``random`` starts from, ``count`` the number of elements of a
    flat array.
    """

    kind: str
    value: Any = 0
    seed: int | None = None
    count: int | None = None  # type: ignore[assignment]  # hides a method of tuple that is of no use here


class DataFault(Exception):
    """Data that does not fit: the message states both sides."""


def shape_text(shape: tuple[int, ...]) -> str:
    """``16x255``"""
    return "x".join(map(str, shape)) or "a single number"


def element_dtype(element: ElementType) -> np.dtype[Any]:
    """The NumPy type of an element type that can be computed with; DataFault for any other."""
    dtype = dtype_of(element)
    if dtype is None:
        raise DataFault(f"elements of type {element} cannot be computed with")
    return dtype


def tile_data(data: Any, type_: TileType, name: str, seed: int = 0) -> Array:
    """``data`` as an array for a tile: its valid shape, or with ``?`` the shape that the data has."""
    dtype = element_dtype(type_.element)
    rows = type_.rows if type_.valid_rows is None else type_.valid_rows
    cols = type_.cols if type_.valid_cols is None else type_.valid_cols
    if isinstance(data, Fill):
        if data.count not in (None, rows * cols):
            raise DataFault(f"the fill for %{name} has {counted(data.count, 'element')}; the tile has {rows}x{cols}")
        return fill(data, dtype, rows * cols, name, seed).reshape(rows, cols)
    if isinstance(data, np.ndarray) and data.ndim > 0:
        array = _same_dtype(data, dtype, name)
    elif isinstance(data, list | tuple):
        array = from_lists(data, dtype, name)
    else:
        array = np.full((rows, cols), scalar_of(data, dtype, name), dtype)
    return _fitted(array, type_, rows, cols, name)


def flat_data(data: Any, element: ElementType, name: str, seed: int = 0, count: int | None = None) -> Array:
    """``data`` as the array behind a pointer, of any shape; ``count`` is the length of a fill that names none."""
    dtype = element_dtype(element)
    if isinstance(data, Fill):
        length = count or 0 if data.count is None else data.count
        if not 0 <= length <= _MOST:
            raise DataFault(f"%{name} would have {counted(length, 'element')}; there can be up to {_MOST}")
        return fill(data, dtype, length, name, seed)
    if isinstance(data, np.ndarray) and data.ndim > 0:
        return _same_dtype(data, dtype, name)
    if isinstance(data, list | tuple):
        return from_lists(data, dtype, name)
    return np.full(count or 1, scalar_of(data, dtype, name), dtype)


def typed(array: Array, dtype: np.dtype[Any]) -> Array:
    """The array itself; where it came from a ``.npy``, which has no bfloat16, with that type."""
    return array.view(dtype) if array.dtype == _UNTYPED and dtype.name == "bfloat16" else array


_MOST = 1 << 31
"""Elements of a flat array that is filled."""


def _same_dtype(array: Array, dtype: np.dtype[Any], name: str) -> Array:
    array = typed(array, dtype)
    if array.dtype != dtype:
        raise DataFault(f"the array for %{name} has dtype {array.dtype}; it must have {dtype}")
    return array


_UNTYPED = np.dtype("V2")
"""What a bfloat16 is in a ``.npy``, which has no name for it."""


def _fitted(array: Array, type_: TileType, rows: int, cols: int, name: str) -> Array:
    """The array as rows and columns of the valid region; one of the physical shape loses what is not valid."""
    if array.ndim == 1 and rows == 1:
        array = array[None]
    physical = (type_.rows, type_.cols)
    if array.ndim != 2:
        raise DataFault(f"the array for %{name} has shape {shape_text(array.shape)}; it must have two dimensions")
    least = (type_.valid_rows, type_.valid_cols)
    if all(v is None or v == n for v, n in zip(least, array.shape, strict=True)):
        if any(n > p for n, p in zip(array.shape, physical, strict=True)):
            raise DataFault(
                f"the array for %{name} has shape {shape_text(array.shape)}; it must be at most {shape_text(physical)}"
            )
        return array
    if array.shape == physical:
        return array[:rows, :cols]
    valid = "x".join("?" if v is None else str(v) for v in least)
    raise DataFault(
        f"the array for %{name} has shape {shape_text(array.shape)}; "
        f"it must be {valid} (valid) or {shape_text(physical)} (physical)"
    )


def from_lists(data: Any, dtype: np.dtype[Any], name: str) -> Array:
    """Nested lists of numbers as an array, each number rounded once."""
    shape: list[int] = []
    level = data
    while isinstance(level, list | tuple):
        shape.append(len(level))
        if len(shape) > DEEPEST:
            raise DataFault(f"the lists for %{name} are nested too deep")
        level = level[0] if level else None
    flat = [scalar_of(number, dtype, name) for number in _flatten(data, len(shape), shape, name)]
    return np.array(flat, dtype).reshape(shape)


DEEPEST = 32
"""How deep lists may be nested: what has no end holds itself."""


def _flatten(data: Any, depth: int, shape: list[int], name: str) -> list[Any]:
    if depth == 0:
        if isinstance(data, list | tuple):
            raise DataFault(f"the lists for %{name} are not nested evenly")
        return [data]
    if not isinstance(data, list | tuple) or len(data) != shape[-depth]:
        raise DataFault(f"the lists for %{name} are not nested evenly")
    return [number for part in data for number in _flatten(part, depth - 1, shape, name)]


def scalar_of(data: Any, dtype: np.dtype[Any], name: str) -> Any:
    """A number as a NumPy scalar of the element type, rounded once."""
    if isinstance(data, np.ndarray):
        if data.size != 1:
            raise DataFault(f"%{name} is a scalar; the array for it has shape {shape_text(data.shape)}")
        data = data.reshape(())[()]
    if isinstance(data, np.generic) and data.dtype != dtype:
        raise DataFault(f"the value for %{name} has dtype {data.dtype}; it must have {dtype}")
    from ptoasm.interpreter.rounding import nearest  # here, because exact arithmetic takes long to load

    try:
        return nearest(data, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataFault(f"%{name}: {error}") from None


def scalar_data(data: Any, element: ElementType, name: str, seed: int = 0) -> int | float:
    """``data`` for a scalar input: an int, or a float that the type can hold."""
    if element.kind == "index" or element.bits == 1:
        return _whole_number(data, element, name, seed)
    dtype = element_dtype(element)
    if isinstance(data, Fill):
        return plain(fill(data, dtype, 1, name, seed)[0])
    return plain(scalar_of(data, dtype, name))


def _whole_number(data: Any, element: ElementType, name: str, seed: int) -> int:
    """An ``index`` or an ``i1``; a random one is 1."""
    if isinstance(data, Fill):
        return 1 if data.kind == "random" else int(fill(data, np.dtype(np.int64), 1, name, seed)[0])
    if isinstance(data, np.ndarray) and data.size == 1:
        data = data.reshape(())[()]
    if not isinstance(data, bool | np.bool_ | int | np.integer):
        from ptoasm.interpreter.rounding import shown

        raise DataFault(f"%{name} is an integer; got {shown(data)}")
    number = int(data)
    low, high = (0, 1) if element.bits == 1 else element.range
    if not low <= number <= high:
        raise DataFault(f"{number} does not fit %{name}: the range of {element} is {low} to {high}")
    return number


def plain(number: Any) -> int | float:
    """A NumPy scalar as a Python number of the same value."""
    return int(number) if number.dtype.kind in "iub" else float(number)


def fill(how: Fill, dtype: np.dtype[Any], count: int, name: str, seed: int = 0) -> Array:
    """``count`` elements by a rule. ``random`` depends on the seed and, without one of its own, on the name."""
    count = count if how.count is None else how.count
    try:
        return _filled(how, dtype, count, name, seed)
    except (MemoryError, OverflowError, ValueError) as error:
        raise DataFault(f"%{name} cannot have {counted(count, 'element')}: {error}") from None


def _filled(how: Fill, dtype: np.dtype[Any], count: int, name: str, seed: int) -> Array:
    if how.kind == "arange":
        return _wrapped(np.arange(count), dtype)
    if how.kind == "full":
        return np.full(count, scalar_of(how.value, dtype, name), dtype)
    if how.kind in ("zeros", "ones"):
        return np.full(count, how.kind == "ones", dtype)
    source = np.random.default_rng([seed, crc32(name.encode())] if how.seed is None else how.seed)
    if dtype.kind == "u":
        return source.integers(0, 100, count).astype(dtype)
    numbers = source.integers(-100, 100, count)
    return numbers.astype(dtype) if dtype.kind == "i" else (numbers / 4).astype(np.float32).astype(dtype)


def _wrapped(numbers: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(over="ignore"):
        return numbers.astype(dtype) if dtype.kind in "iu" else numbers.astype(np.float32).astype(dtype)
