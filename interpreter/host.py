"""What the operations around the instructions do on the machine: here those that make and name tiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptoasm.dialect.host import NO_EFFECT
from ptoasm.findings import wrong_extents
from ptoasm.interpreter import control, global_memory
from ptoasm.interpreter.machine import Handler, Machine
from ptoasm.interpreter.steps import CannotRun, check_counts
from ptoasm.interpreter.tiles import TileRef
from ptoasm.ir import Operation, Value
from ptoasm.types import TileType


def alloc_tile(machine: Machine, op: Operation) -> None:
    """``pto.alloc_tile``: a tile at its address, or where the placement put it; each run of it is a new tile."""
    value = op.outputs[0]
    type_ = value.type
    given = dict(zip(op.shape.input_names, machine.operands(op), strict=False))
    address = given.get("addr")
    if address is not None and isinstance(type_, TileType):
        machine.check_address(op, type_, address)
    rows, cols = given.get("valid_row"), given.get("valid_col")
    if isinstance(type_, TileType):
        _check_extents(machine, op, type_, rows, cols)
    machine.env[value] = machine.new_tile(value, address, rows, cols)


def _check_extents(machine: Machine, op: Operation, type_: TileType, rows: int | None, cols: int | None) -> None:
    """TILE-02 for a valid region that only the run knows."""
    for name, message in wrong_extents(type_, rows, cols):
        raise machine.fault("TILE-02", message, op, machine.places.operand(op, name))


def tassign(machine: Machine, op: Operation) -> None:
    """``pto.tassign``: the tile lies at another address from here on; its result is the same tile."""
    tile, operand = op.inputs
    address = machine.number(operand, None)
    assert isinstance(tile, Value)
    ref = machine.tile(tile)
    machine.check_address(op, ref.type, address)
    if ref.type.loc == "vec":
        ref.address = address
    for result in op.outputs:
        machine.env[result] = ref


def window(machine: Machine, op: Operation) -> None:
    """``pto.subview``, ``pto.subset``: a part of a tile, in the same memory and with the same strides."""
    source, row, col, *valid = machine.operands(op)
    if not isinstance(source, TileRef):
        raise machine.fault("RUN-05", "it takes a tile", op, machine.places.nth(op, 0))
    rows, cols = op.shape.keywords["sizes"]
    for offset, size, extent, what in ((row, rows, source.type.rows, "row"), (col, cols, source.type.cols, "column")):
        if offset < 0 or offset + size > extent:
            at = offset if offset < 0 else offset + size - 1
            message = f"the part reaches {what} {at} of %{source.value.name}, which has {extent} {what}s"
            raise machine.fault("RUN-09", message, op)
    result = op.outputs[0]
    type_ = result.type if isinstance(result.type, TileType) else _part(source, rows, cols)
    valid_rows, valid_cols = valid or _valid(type_, source, row, col)
    _check_extents(machine, op, type_, valid_rows, valid_cols)
    storage = source.storage
    address = source.address + row * storage.row_stride + col * storage.col_stride
    part = TileRef(result, type_, source.memory, address, valid_rows, valid_cols, storage, source.whole)
    machine.env[result] = part


def _part(source: TileRef, rows: int, cols: int) -> TileType:
    return source.type.with_(rows=rows, cols=cols, valid_rows=None, valid_cols=None)


def _valid(type_: TileType, source: TileRef, row: int, col: int) -> tuple[int, int]:
    """The extents that the type of a part leaves open are those that are valid in the whole."""
    rows = type_.valid_rows if type_.valid_rows is not None else max(min(source.rows - row, type_.rows), 0)
    cols = type_.valid_cols if type_.valid_cols is not None else max(min(source.cols - col, type_.cols), 0)
    return rows, cols


def set_validshape(machine: Machine, op: Operation) -> None:
    """``pto.set_validshape``: so much of the tile is valid from here on."""
    ref, rows, cols = machine.operands(op)
    if not isinstance(ref, TileRef):
        raise machine.fault("RUN-05", "it takes a tile", op, machine.places.nth(op, 0))
    _check_extents(machine, op, ref.type, rows, cols)
    ref.resize(rows, cols)


def treshape(machine: Machine, op: Operation) -> None:
    """``pto.treshape``: the same bytes as a tile of another type."""
    source = machine.operands(op)[0]
    result = op.outputs[0]
    type_ = result.type
    assert isinstance(type_, TileType)
    whole = source.storage.with_(valid_rows=None, valid_cols=None, kind="tile")
    if whole is not source.type.with_(valid_rows=None, valid_cols=None, kind="tile"):
        message = f"%{source.value.name} is a part of %{source.whole.value.name}, whose rows lie apart"
        raise machine.fault("RUN-06", f"{message}; it cannot be reshaped", op)
    if type_.size != source.type.size:
        message = f"%{source.value.name} has {source.type.size} bytes, %{result.name} {type_.size}"
        raise machine.fault("RUN-06", f"{message}; they must be as many", op)
    same = (type_.rows, type_.cols) == (source.type.rows, source.type.cols)
    rows = type_.valid_rows if type_.valid_rows is not None else source.rows if same else type_.rows
    cols = type_.valid_cols if type_.valid_cols is not None else source.cols if same else type_.cols
    machine.env[result] = TileRef(result, type_, source.memory, source.address, rows, cols, None, source.whole)


def tprint(machine: Machine, op: Operation) -> None:
    """``pto.tprint``: a remark that shows a tile's valid region, or a view."""
    found = machine.operands(op)[0]
    if isinstance(found, TileRef):
        array = machine.read(op, op.shape.input_names[0], found)
        name = found.value.name
    else:
        array, name = global_memory.whole(machine, op)
    shown = np.array2string(array, threshold=256, separator=", ").replace("\n", " ")
    machine.remark(op, f"%{name} = {' '.join(shown.split())}", op.shape.input_names[0])


def nothing(machine: Machine, op: Operation) -> None:
    """What orders operations that a real machine executes at the same time."""


def _as_declared(handler: Handler) -> Handler:
    """The handler of an instruction, for operations that have the operands that it is declared with."""

    def execute(machine: Machine, op: Operation) -> list[Any] | None:
        try:
            check_counts(op)
        except CannotRun as error:
            raise machine.fault(error.code, str(error), op) from None
        return handler(machine, op)

    return execute


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(NO_EFFECT, nothing),
    **control.HANDLERS,
    **global_memory.HANDLERS,
    "pto.alloc_tile": alloc_tile,
    "pto.tassign": tassign,
    "pto.subview": window,
    "pto.subset": window,
    "pto.set_validshape": set_validshape,
    "pto.treshape": _as_declared(treshape),
    "pto.tprint": _as_declared(tprint),
    "pto.tload": _as_declared(global_memory.tload),
    "pto.tstore": _as_declared(global_memory.tstore),
}
"""An operation's full name to what executes it."""
