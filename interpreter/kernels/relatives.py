"""The near relatives of the three instructions, a line each: elementwise, broadcast, reduction, conversion.

Each operation is rounded once to the element type; integers wrap modulo 2^n and divide towards zero. Of equal values
the first one wins, so that the sign of a zero does not depend on the machine, and a NaN wins over every number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ptoasm.interpreter.conversion import MODES, converter, narrow
from ptoasm.interpreter.kernels import Array, Call, Kernel, Plan, Spec, quietly, tcolargmin

Dtype = np.dtype[Any]
Function = Callable[..., Any]
"""Of arrays that broadcast together; gives an array of the element type that shares no memory with them."""
Operation = Callable[[Dtype], Function]
"""The function for an element type; ValueError where there is none."""
Reader = Callable[[Spec, int, int], Function | None]
"""What an operand gives for rows x columns of dst: a function of its array, or None for all of it."""

_BLOCK_BYTES = 32

# --- Operations on elements


def _same(function: Function) -> Operation:
    return lambda dtype: function


def _in_double(function: Function) -> Operation:
    """A function of real numbers: computed in float64, then rounded once."""

    def operation(dtype: Dtype) -> Function:
        if dtype.kind in "iu":
            raise ValueError(f"the elements are {dtype.name}; they must be floating-point numbers")
        return lambda x: narrow(function(x.astype(np.float64)), dtype)

    return operation


def _divide(dtype: Dtype) -> Function:
    return _quotient if dtype.kind in "iu" else np.divide


def _quotient(a: Any, b: Any) -> Any:
    if not np.all(b):
        raise ZeroDivisionError("an integer is divided by zero")
    down = np.floor_divide(a, b)
    return down + ((down * b != a) & ((a < 0) != (b < 0))).astype(down.dtype)


def _larger(a: Any, b: Any) -> Any:
    return np.where((a >= b) | (a != a), a, b)


def _smaller(a: Any, b: Any) -> Any:
    return np.where((a <= b) | (a != a), a, b)


def _reciprocal(dtype: Dtype) -> Function:
    return lambda x: _divide(dtype)(dtype.type(1), x)


_BINARY: dict[str, Operation] = {
    "add": _same(np.add),
    "sub": _same(np.subtract),
    "mul": _same(np.multiply),
    "div": _divide,
    "max": _same(_larger),
    "min": _same(_smaller),
}
_UNARY: dict[str, Operation] = {
    "mov": _same(np.copy),
    "neg": _same(np.negative),
    "abs": _same(np.abs),
    "exp": _in_double(np.exp),
    "log": _in_double(np.log),
    "sqrt": _in_double(np.sqrt),
    "rsqrt": _in_double(lambda x: 1.0 / np.sqrt(x)),
    "recip": _reciprocal,
}

# --- Which elements of an operand stand against dst[i, j]


def _needs(spec: Spec, rows: int, cols: int) -> None:
    if spec.rows < rows or spec.cols < cols:
        raise ValueError(f"a source has {spec.rows}x{spec.cols} valid elements; dst needs {rows}x{cols}")


def _scalar(spec: Spec, rows: int, cols: int) -> None:
    """The scalar itself."""


def _whole(spec: Spec, rows: int, cols: int) -> Function | None:
    """src[i, j]"""
    _needs(spec, rows, cols)
    return None if (spec.rows, spec.cols) == (rows, cols) else lambda x: x[:rows, :cols]


def _either(spec: Spec, rows: int, cols: int) -> Function | None:
    """A scalar, or src[i, j]"""
    return None if (spec.rows, spec.cols) == (1, 1) else _whole(spec, rows, cols)


def _row(spec: Spec, rows: int, cols: int) -> Function:
    """src[0, j]"""
    _needs(spec, 1, cols)
    return lambda x: x[:1, :cols]


def _column(spec: Spec, rows: int, cols: int) -> Function:
    """src[i, 0]"""
    _needs(spec, rows, 1)
    return lambda x: x[:rows, :1]


def _column_or_blocks(spec: Spec, rows: int, cols: int) -> Function:
    """src[i, 0] of a column-major tile; of a row-major one a block of 32 bytes a row, repeated along the row."""
    if spec.col_major:
        return _column(spec, rows, cols)
    block = _BLOCK_BYTES // spec.dtype.itemsize
    _needs(spec, rows, min(block, cols))
    columns = np.arange(cols) % block
    return lambda x: x[:rows, columns]


# --- Plans


def _spread(function: Function, shape: tuple[int, int]) -> Function:
    return lambda x: np.broadcast_to(function(x), shape)


def _elementwise(operation: Operation, *readers: Reader) -> Plan:
    """dst[i, j] = the operation on what the readers take from each operand."""

    def plan(call: Call) -> Kernel:
        dtype, rows, cols = call.outputs[0][:3]
        _same_elements(call, dtype)
        function = operation(dtype)
        if _whole not in readers and _either not in readers:
            function = _spread(function, (rows, cols))
        taken = [reader(spec, rows, cols) for reader, spec in zip(readers, call.inputs, strict=True)]
        if not any(taken):
            return _quiet(lambda *inputs: (function(*inputs),))
        read: list[Function] = [reader or np.asarray for reader in taken]
        return _quiet(lambda *inputs: (function(*[r(x) for r, x in zip(read, inputs, strict=True)]),))

    return plan


def _reduction(step: np.ufunc | None, better: str, axis: int) -> Plan:
    """Along the rows (axis 0) or the columns: in order, every step rounded; or the element that is ``better``."""

    def plan(call: Call) -> Kernel:
        source = call.inputs[0]
        _same_elements(call, call.outputs[0].dtype)
        _needs(source, 1, 1)
        if step is None:
            return _quiet(lambda x: (_best(x, better, axis),))
        last = (slice(-1, None), slice(None)) if axis == 0 else (slice(None), slice(-1, None))
        # `accumulate` goes one by one and rounds every step; `reduce` sums pairwise, and float16 in float32.
        return _quiet(lambda x: (step.accumulate(x, axis=axis, dtype=x.dtype)[last],))

    return plan


def _best(x: Array, better: str, axis: int) -> Array:
    keys = x.astype(np.float32) if x.dtype.kind == "V" else x  # every bfloat16 is a float32
    at = np.expand_dims(getattr(keys, f"arg{better}")(axis), axis)
    return np.take_along_axis(x, at, axis)


def _conversion(call: Call) -> Kernel:
    """tcvt: ``rmode`` is the rounding mode, ``satmode`` what becomes of integers that do not fit."""
    saturation = str(call.attributes.get("satmode", "OFF"))
    if not re.search(r"\bOFF\b", saturation):
        raise ValueError(f"satmode is {saturation}; what does not fit can only wrap, as with OFF")
    source, target = call.inputs[0], call.outputs[0]
    taken = _whole(source, target.rows, target.cols)
    convert = converter(source.dtype, target.dtype, _mode(str(call.attributes.get("rmode", "RINT"))))
    return _quiet(lambda x: (convert(x if taken is None else taken(x)),))


def _mode(text: str) -> str:
    match = re.search(r"\b(?:CAST_)?([A-Z]+)\b", text)
    name = match[1] if match else text
    if name not in MODES:
        raise ValueError(f"rmode is {text}; it must be one of {', '.join(MODES)}")
    return name


def _argmax(call: Call) -> Kernel:
    """tcolargmax: the argmin of the elements in reversed order."""
    kernel = tcolargmin.plan(call)
    reverse: Function = np.invert if call.inputs[0].dtype.kind in "iu" else np.negative

    def argmax(src: Array) -> tuple[Array, ...]:
        *value, index = kernel(reverse(src))
        return (*[reverse(v) for v in value], index)

    return argmax


def _same_elements(call: Call, dtype: Dtype) -> None:
    other = next((spec.dtype for spec in call.inputs if spec.dtype != dtype), None)
    if other is not None:
        raise ValueError(f"an operand has elements of {other.name}; they must be {dtype.name}, as those of dst are")


def _quiet(kernel: Kernel) -> Kernel:
    """What overflows, divides by zero or has no result says so in its numbers: infinities and NaNs."""
    return quietly(kernel)


PLANS: dict[str, Plan] = {
    "texpands": _elementwise(_same(np.copy), _scalar),
    **{f"t{name}s": _elementwise(operation, _whole, _scalar) for name, operation in _BINARY.items()},
    "tdivs": _elementwise(_divide, _either, _either),
    **{f"t{name}": _elementwise(operation, _whole, _whole) for name, operation in _BINARY.items()},
    **{f"t{name}": _elementwise(operation, _whole) for name, operation in _UNARY.items()},
    "tcvt": _conversion,
    "tcolexpand": _elementwise(_same(np.copy), _row),
    **{f"tcolexpand{name}": _elementwise(operation, _whole, _row) for name, operation in _BINARY.items()},
    "trowexpand": _elementwise(_same(np.copy), _column),
    **{f"trowexpand{name}": _elementwise(operation, _whole, _column_or_blocks) for name, operation in _BINARY.items()},
    "trowsum": _reduction(np.add, "", 1),
    "trowprod": _reduction(np.multiply, "", 1),
    "trowmax": _reduction(None, "max", 1),
    "trowmin": _reduction(None, "min", 1),
    "tcolprod": _reduction(np.multiply, "", 0),
    "tcolmax": _reduction(None, "max", 0),
    "tcolmin": _reduction(None, "min", 0),
    "tcolargmax": _argmax,
}
