"""The three instructions as functions of plain arrays: numbers in, numbers out, no tiles and no addresses.

They accept what the pages document for the target and nothing else; an array is never converted.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ptoasm import arguments
from ptoasm.interpreter.kernels import Array, Call, Spec, lookup
from ptoasm.interpreter.kernels.tci import MAX_LENGTH
from ptoasm.interpreter.rounding import nearest
from ptoasm.targets import known_target

_NUMPY_NAMES = {
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32)},
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
}
_NAMES = {numpy: name for name, numpy in _NUMPY_NAMES.items()}

_SUM = {"a2a3": "f16 f32 i16 i32", "a5": "f16 f32 i8 ui8 i16 ui16 i32 ui32 bf16"}
_ARGMIN = {"a2a3": "f16 f32 ui16 ui32", "a5": "i8 ui8 i16 ui16 i32 ui32 f16 f32"}
_SEQUENCE = {"a2a3": "i16 ui16 i32 ui32 f16 bf16 f32", "a5": "i16 ui16 i32 ui32"}
_INDEX = "ui32 i32 ui16 i16"
_INDEX_OF_SIZE = {2: "ui16 i16", 4: "ui32 i32"}


def tcolsum(a: Array, *, binary: bool = False, arch: str = "a2a3") -> Array:
    """The sum of each column of `a`, shape (R, C) -> (1, C), every addition rounded to the element type.

    `binary` is the instruction's isBinary: adjacent rows are added until one is left, else the rows one after
    another (TCOLSUM, Temporary Space). Element types (TCOLSUM, Implementation Check): f16, f32, i16, i32; on
    `a5` also i8, ui8, ui16, ui32, bf16.
    """
    source = _source("tcolsum", a, arch, _allowed(_SUM, arch))
    call = Call(arch, {"isBinary": arguments.flag("binary", binary)}, (source,), (source._replace(rows=1),))
    return _run("tcolsum", call, a)[0]


def tcolargmin(
    a: Array, *, values: bool = False, arch: str = "a2a3", index_dtype: DTypeLike | None = None
) -> Array | tuple[Array, Array]:
    """The row of the minimum of each column of `a`, shape (R, C) -> (1, C); with `values` (minimum, row).

    The first of equal minima wins; a NaN counts as the minimum. Element types (TCOLARGMIN, Implementation
    Check): f16, f32, ui16, ui32; on `a5` also i8, ui8, i16, i32 (with `values` none of 8 bits). The rows are
    int32 unless `index_dtype` says uint32, uint16 or int16; with `values` they have the size of the elements,
    int16 or int32. On a2a3 the index alone of a 2-byte type passes through f16, and so is rounded above 2048.
    """
    allowed = _allowed(_ARGMIN, arch)
    if arguments.flag("values", values):
        allowed = [name for name in allowed if name not in ("i8", "ui8")]
    mode = "tcolargmin with values" if values else "tcolargmin"
    source = _source(mode, a, arch, allowed)
    index = _index_type(mode, source.dtype.itemsize if values else 0, index_dtype)
    outputs = (source._replace(rows=1),) if values else ()
    found = _run("tcolargmin", Call(arch, {}, (source,), (*outputs, Spec(index, 1, source.cols))), a)
    return (found[0], found[1]) if values else found[0]


def tci(start: Any, n: int, dtype: DTypeLike, *, descending: bool = False, arch: str = "a2a3") -> Array:
    """`start`, `start` + 1, … (`descending`: - 1), shape (1, n), each exact and then rounded once to `dtype`.

    `start` is rounded to `dtype` first; an integer must fit. Element types (TCI, Constraints): i16, ui16,
    i32, ui32; on `a2a3` also f16, bf16, f32. `dtype` is a NumPy type or one of these names.
    """
    element = _dtype(dtype)
    _require("tci", "an element type", element, arch, _allowed(_SEQUENCE, arch))
    count = arguments.whole("the number of elements", n, 1, MAX_LENGTH)
    call = Call(
        arch,
        {"descending": arguments.flag("descending", descending)},
        (Spec(element, 1, 1),),
        (Spec(element, 1, count),),
    )
    return _run("tci", call, nearest(start, element))[0]


def _run(name: str, call: Call, operand: Any) -> tuple[Array, ...]:
    plan = lookup(name)
    assert plan is not None
    return plan(call)(operand)


def _allowed(table: dict[str, str], arch: str) -> list[str]:
    return table[known_target(arch).name].split()


def _source(what: str, a: Array, arch: str, allowed: list[str]) -> Spec:
    if not isinstance(a, np.ndarray):
        raise TypeError(f"{what} takes a NumPy array; got {type(a).__name__}")
    if a.ndim != 2:
        raise ValueError(f"{what} takes an array of 2 dimensions (rows, columns); got {a.ndim}, shape {a.shape}")
    _require(what, "elements", a.dtype, arch, allowed)
    if not a.size:
        raise ValueError(f"{what} takes at least 1 row and 1 column; got shape {a.shape}")
    return Spec(a.dtype, *a.shape)


def _require(what: str, kind: str, dtype: np.dtype[Any], arch: str, allowed: list[str]) -> None:
    # Byte order counts: the UB is little-endian, as is every machine that this runs on.
    if _NAMES.get(dtype.name) not in allowed or not dtype.isnative:
        named = ", ".join(f"{_NUMPY_NAMES[name]}" for name in allowed)
        actual = dtype.name if dtype.isnative else f"{dtype.name} with foreign byte order"
        raise TypeError(f"{what} on {arch} takes {kind} of {named}; got {actual}")


def _index_type(what: str, size: int, wanted: DTypeLike | None) -> np.dtype[Any]:
    """The index type: `size` is that of the source elements where it matters, else 0."""
    allowed = (_INDEX_OF_SIZE[size] if size else _INDEX).split()
    if wanted is None:
        return np.dtype(np.int16 if size == 2 else np.int32)
    dtype = _dtype(wanted)
    if _NAMES.get(dtype.name) not in allowed or not dtype.isnative:
        named = ", ".join(_NUMPY_NAMES[name] for name in allowed)
        elements = f" for elements of {size} bytes" if size else ""
        raise TypeError(f"index_dtype of {what}{elements} must be one of {named}; got {dtype.name}")
    return dtype


def _dtype(wanted: DTypeLike) -> np.dtype[Any]:
    """A NumPy type, by NumPy's names or by ours."""
    name = _NUMPY_NAMES.get(wanted, wanted) if isinstance(wanted, str) else wanted
    if name == "bfloat16":
        import ml_dtypes  # here, so that nobody pays for it who does not use it

        name = ml_dtypes.bfloat16
    if name is None:  # NumPy would read it as float64
        raise TypeError("a NumPy type, or a name such as i32, is required; got None")
    try:
        return np.dtype(name)
    except TypeError:
        raise TypeError(f"a NumPy type, or a name such as i32, is required; got {wanted!r}") from None
