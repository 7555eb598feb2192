"""Global memory on the machine: flat arrays, pointers into them, views of them, and what moves data in and out.

A view is bounds checked when it is used, not when it is made: a kernel may make a view that it then does not use. What
it reaches is compared with the view that it is a part of, and with the array behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ptoasm.dialect.base import count as counted
from ptoasm.interpreter.data import plain
from ptoasm.interpreter.dtypes import dtype_of
from ptoasm.interpreter.kernels import Array, quietly
from ptoasm.interpreter.machine import Handler, Machine
from ptoasm.interpreter.tiles import TileRef
from ptoasm.ir import Literal, Operation, Value
from ptoasm.types import ElementType


class OutOfBounds(Exception):
    """An access outside of a view or of an array; the message names it, the index and the extent."""


class Buffer:
    """The flat array of a pointer argument. ``stored`` is whether the program wrote to it."""

    __slots__ = ("array", "name", "shape", "stored")

    def __init__(self, name: str, array: Array) -> None:
        self.name = name
        self.shape = array.shape
        self.array = np.array(array, order="C").reshape(-1)
        self.stored = False

    def check(self, index: int, name: str) -> None:
        """Whether there is an element at this index; ``name`` is what reaches for it."""
        if not 0 <= index < self.array.size:
            through = "" if name == self.name else f" through %{name}"
            raise OutOfBounds(
                f"index {index} of %{self.name}{through} is out of bounds; it has {counted(self.array.size, 'element')}"
            )


class Pointer:
    """An element of a buffer, by its index; ``name`` is the pointer's own."""

    __slots__ = ("buffer", "index", "name")

    def __init__(self, buffer: Buffer, index: int, name: str) -> None:
        self.buffer = buffer
        self.index = index
        self.name = name

    def at(self, offset: int) -> int:
        """The index of the element that is ``offset`` elements further on."""
        index = self.index + offset
        self.buffer.check(index, self.name)
        return index


class View:
    """A tensor in global memory, or a part of one.

    ``start`` is the index of its first element in the buffer, ``strides`` are in elements. ``offsets`` is where it
    begins in its ``parent``.
    """

    __slots__ = ("buffer", "name", "offsets", "parent", "shape", "start", "strides")
    start: int

    def __init__(
        self,
        name: str,
        pointer: Pointer | View,
        shape: Sequence[int],
        strides: Sequence[int],
        offsets: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.buffer: Buffer = pointer.buffer
        self.shape = tuple(shape)
        self.strides = tuple(strides)
        self.offsets = tuple(offsets)
        self.parent = pointer if isinstance(pointer, View) else None
        base = pointer.start if isinstance(pointer, View) else pointer.index
        self.start = base + sum(o * s for o, s in zip(self.offsets, self.strides, strict=False))

    def part(self, name: str, offsets: Sequence[int], sizes: Sequence[int]) -> View:
        """The part of it that begins at ``offsets`` and has the extents ``sizes``."""
        return View(name, self, sizes, self.strides, offsets)

    def matrix(self, rows: int, cols: int) -> Array:
        """Its first rows and columns as a writable array that shares the buffer's memory."""
        if not rows or not cols:
            return np.empty((rows, cols), self.buffer.array.dtype)
        self._check((*[1] * (len(self.shape) - 2), rows, cols)[-len(self.shape) :])
        across, along = (0, *self.strides)[-2:]
        across, along = across if rows > 1 else 0, along if cols > 1 else 0  # of no use, and of any size, otherwise
        for corner in (0, (rows - 1) * across, (cols - 1) * along, (rows - 1) * across + (cols - 1) * along):
            self.buffer.check(self.start + corner, self.name)
        array = self.buffer.array
        size = array.itemsize
        strides = (across * size, along * size)
        memory = array.view(np.uint8)  # a buffer of bfloat16 is more than Python knows
        return np.ndarray((rows, cols), array.dtype, memory, self.start * size, strides)

    def _check(self, extents: Sequence[int]) -> None:
        """Whether its first elements, so many in each dimension, are within all the views that it is a part of."""
        part, begins = self, (0,) * len(extents)
        while part.parent is not None:
            begins = tuple(b + o for b, o in zip(begins, part.offsets, strict=True))
            part = part.parent
            for dimension, (begin, count, extent) in enumerate(zip(begins, extents, part.shape, strict=True)):
                if begin < 0 or begin + count > extent:
                    index = begin if begin < 0 else begin + count - 1
                    raise OutOfBounds(
                        f"%{self.name} reaches index {index} of dimension {dimension} of %{part.name}, "
                        f"whose extent is {extent}"
                    )

    def extents(self) -> tuple[int, int]:
        """Rows and columns; ValueError where it has more dimensions than these that are not 1, or a negative extent."""
        if min(self.shape) < 0:
            raise ValueError(f"%{self.name} has extents {'x'.join(map(str, self.shape))}; none can be negative")
        if any(extent != 1 for extent in self.shape[:-2]):
            shown = "x".join(map(str, self.shape))
            raise ValueError(f"%{self.name} has extents {shown}; all but the last two must be 1")
        rows, cols = (1, *self.shape)[-2:]
        return rows, cols


# --- Pointers and views


def _pointer(machine: Machine, op: Operation, at: int = 0) -> Pointer:
    """The operand at this position, a pointer."""
    found = machine.operands(op)[at]
    if not isinstance(found, Pointer):
        raise machine.fault("RUN-05", "it takes a pointer here", op, machine.places.nth(op, at))
    return found


def _view(machine: Machine, op: Operation, value: Value | Literal | None = None) -> View:
    """The first operand, or the value, a view."""
    value = op.inputs[0] if value is None else value
    found = machine.env.get(value) if isinstance(value, Value) else None
    if not isinstance(found, View):
        span = machine.places.value(op, value) if isinstance(value, Value) else None
        raise machine.fault("RUN-05", "it takes a view of global memory here", op, span)
    return found


def addptr(machine: Machine, op: Operation) -> None:
    """``pto.addptr``: so many elements further on."""
    pointer, offset = _pointer(machine, op), machine.operands(op)[1]
    result = op.outputs[0]
    machine.env[result] = Pointer(pointer.buffer, pointer.index + offset, result.name)


def _named(machine: Machine, op: Operation, name: str) -> list[int]:
    """The values of the operands with this keyword."""
    pairs = zip(op.shape.input_names, machine.operands(op), strict=True)
    return [value for key, value in pairs if key == name]


def make_tensor_view(machine: Machine, op: Operation) -> None:
    """``pto.make_tensor_view``"""
    pointer = _pointer(machine, op)
    shape, strides = _named(machine, op, "shape"), _named(machine, op, "strides")
    _same_rank(machine, op, shape, strides, "extents", "strides")
    result = op.outputs[0]
    machine.env[result] = View(result.name, pointer, shape, strides)


def partition_view(machine: Machine, op: Operation) -> None:
    """``pto.partition_view``"""
    view = _view(machine, op)
    offsets, sizes = _named(machine, op, "offsets"), _named(machine, op, "sizes")
    _same_rank(machine, op, offsets, view.shape, "offsets", "dimensions in the view")
    _same_rank(machine, op, sizes, view.shape, "sizes", "dimensions in the view")
    result = op.outputs[0]
    machine.env[result] = view.part(result.name, offsets, sizes)


def _same_rank(machine: Machine, op: Operation, a: Sequence[int], b: Sequence[int], first: str, second: str) -> None:
    if len(a) != len(b):
        raise machine.fault("RUN-06", f"there are {len(a)} {first} and {len(b)} {second}", op)
    if not 1 <= len(a) <= 5:
        raise machine.fault("RUN-06", f"a view has 1 to 5 dimensions, not {len(a)}", op)


def _property(read: str) -> Handler:
    def handler(machine: Machine, op: Operation) -> None:
        view, dimension = _view(machine, op), machine.operands(op)[1]
        if not 0 <= dimension < len(view.shape):
            message = f"%{view.name} has {counted(len(view.shape), 'dimension')}; there is no dimension {dimension}"
            raise machine.fault("RUN-09", message, op)
        machine.env[op.outputs[0]] = getattr(view, read)[dimension]

    return handler


# --- Scalars


def load_scalar(machine: Machine, op: Operation) -> None:
    """``pto.load_scalar``"""
    pointer, offset = _pointer(machine, op), machine.operands(op)[1]
    index = _checked(machine, op, pointer, offset)
    machine.env[op.outputs[0]] = plain(pointer.buffer.array[index])


def store_scalar(machine: Machine, op: Operation) -> None:
    """``pto.store_scalar``"""
    pointer = _pointer(machine, op, 1)
    value, _, offset = machine.operands(op)
    index = _checked(machine, op, pointer, offset)
    array = pointer.buffer.array
    array[index] = array.dtype.type(value)
    pointer.buffer.stored = True


def _checked(machine: Machine, op: Operation, pointer: Pointer, offset: int) -> int:
    try:
        return pointer.at(offset)
    except OutOfBounds as error:
        raise machine.fault("RUN-09", str(error), op) from None


# --- Tiles


def tload(machine: Machine, op: Operation) -> None:
    """``pto.tload``: dst[i, j] = view[i, j] for the extents of both."""
    _refuse(machine, op, _NEUTRAL)
    view = _view(machine, op)
    extents = _extents(machine, op, view)
    value = op.outputs[0]
    ref = machine.tile(value)
    if ref.open:
        ref.resize(*_settled(ref, *extents))
    rows, cols = _common(ref, *extents)
    source = _matrix(machine, op, view, ref, rows, cols)
    place = machine.write(op, value, ref, source)
    machine.moved(op, {"dst": ref}, {"view": view}, _copy, (source,), place.views().data)


def tstore(machine: Machine, op: Operation) -> None:
    """``pto.tstore``: view[i, j] = src[i, j], or with ``atomic_add`` += src[i, j], for the extents of both."""
    adds = "atomic_add" in op.shape.attributes.get("atomicType", "")
    _refuse(machine, op, _NEUTRAL | {"atomicType": "add"} if adds else _NEUTRAL)
    ref, *others = machine.operands(op)
    if others:
        raise machine.fault("RUN-05", "a store that scales cannot be run", op, machine.places.nth(op, 1))
    view = _view(machine, op, op.outputs[0])
    extents = _extents(machine, op, view)
    if machine.supply is not None:
        machine.supply(ref.whole)
    rows, cols = _common(ref, *extents)
    data = machine.read(op, "src", ref, rows, cols)
    there = _matrix(machine, op, view, ref, rows, cols)
    kernel, inputs = (_sum, (there, data)) if adds else (_copy, (data,))
    there[...] = kernel(*inputs)[0]
    view.buffer.stored = True
    machine.moved(op, {"src": ref}, {"view": view}, kernel, inputs, there)


_MOST = 1 << 31
"""Elements of a view that can be shown."""
_NEUTRAL = {
    "pad_mode": "null",
    "init_out_buffer": "false",
    "atomicType": "none",
    "reluPreMode": "no_relu",
}
"""Attributes that change what is moved, and a part of the values with which they do not."""


_sum = quietly(lambda a, b: (a + b,))


def _copy(array: Array) -> tuple[Array]:
    return (array,)


def _refuse(machine: Machine, op: Operation, neutral: dict[str, str]) -> None:
    """Refuses attributes that would change the numbers."""
    for name, value in op.shape.attributes.items():
        if name in neutral and neutral[name] not in value.lower():
            raise machine.fault("RUN-12", f"{name} is {value}; that cannot be run", op)


def _extents(machine: Machine, op: Operation, view: View) -> tuple[int, int]:
    try:
        return view.extents()
    except ValueError as error:
        raise machine.fault("RUN-06", str(error), op) from None


def _common(ref: TileRef, rows: int, cols: int) -> tuple[int, int]:
    """The extents that a view and a tile's valid region have in common."""
    return min(rows, ref.rows), min(cols, ref.cols)


def _settled(ref: TileRef, rows: int, cols: int) -> tuple[int, int]:
    """The valid region of a tile whose type leaves it open: what is loaded into it."""
    type_ = ref.type
    return (
        min(rows, type_.rows) if type_.valid_rows is None else type_.valid_rows,
        min(cols, type_.cols) if type_.valid_cols is None else type_.valid_cols,
    )


def _matrix(machine: Machine, op: Operation, view: View, ref: TileRef, rows: int, cols: int) -> Array:
    element = ref.type.element
    if view.buffer.array.dtype != dtype_of(element):
        message = f"the tile has elements of {element}, %{view.name} of {view.buffer.array.dtype.name}"
        raise machine.fault("RUN-06", message, op)
    return _elements(machine, op, view, rows, cols)


def whole(machine: Machine, op: Operation) -> tuple[Array, str]:
    """All elements of the view that an operation takes, as rows and columns, and its name."""
    view = _view(machine, op)
    rows, cols = _extents(machine, op, view)
    if max(rows, cols, rows * cols) > _MOST:
        raise machine.fault("RUN-06", f"%{view.name} has {rows}x{cols} elements, which are too many to show", op)
    return _elements(machine, op, view, rows, cols), view.name


def _elements(machine: Machine, op: Operation, view: View, rows: int, cols: int) -> Array:
    try:
        return view.matrix(rows, cols)
    except OutOfBounds as error:
        raise machine.fault("RUN-09", str(error), op) from None


# --- How long an array must be


def reach(pointer: Value, number_of: Any) -> int | None:
    """How many elements of a pointer argument the views and accesses with constant operands reach.

    ``number_of`` gives the value of an operand, None where only a run knows it; then the answer is None too.
    """
    furthest = 0
    for op, at in pointer.uses:
        found = _reach_of(op, at, number_of)
        if found is None:
            return None
        furthest = max(furthest, found)
    return furthest


def _reach_of(op: Operation, at: int, number_of: Any) -> int | None:
    name = op.shape.name
    numbers = [number_of(v) for k, v in enumerate(op.inputs) if k != at]
    if None in numbers[1 if name == "pto.store_scalar" else 0 :]:
        return None
    if name == "pto.make_tensor_view":
        rank = len(numbers) // 2
        return 1 + sum((n - 1) * s for n, s in zip(numbers[:rank], numbers[rank:], strict=True)) if rank else None
    if name in ("pto.load_scalar", "pto.store_scalar"):
        return int(numbers[-1]) + 1
    if name == "pto.addptr":
        further = reach(op.outputs[0], number_of)
        return None if further is None else int(numbers[0]) + further
    return None


def element_of(value: Value) -> ElementType | None:
    """The element type of a pointer."""
    element = getattr(value.type, "element", None)
    return element if isinstance(element, ElementType) else None


HANDLERS: dict[str, Handler] = {
    "pto.addptr": addptr,
    "pto.make_tensor_view": make_tensor_view,
    "pto.partition_view": partition_view,
    "pto.get_tensor_view_dim": _property("shape"),
    "pto.get_tensor_view_stride": _property("strides"),
    "pto.load_scalar": load_scalar,
    "pto.store_scalar": store_scalar,
}
