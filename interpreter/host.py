"""What the operations around the instructions do on the machine."""

from __future__ import annotations

from typing import Any

from ptoasm.interpreter.machine import Handler, Machine, TileRef
from ptoasm.ir import Literal, Operation, Value
from ptoasm.numbers import literal_number
from ptoasm.types import ElementType, TileType


def constant(machine: Machine, op: Operation) -> None:
    """``arith.constant``"""
    type_ = op.outputs[0].type
    literal = op.inputs[0]
    assert isinstance(literal, Literal)
    value = literal_number(literal.text, type_) if isinstance(type_, ElementType) else None
    if value is None:
        raise machine.fault("RUN-05", f"a constant of type {type_} cannot be run", op)
    machine.env[op.outputs[0]] = value


def alloc_tile(machine: Machine, op: Operation) -> None:
    """``pto.alloc_tile``: a tile at its address, or where the placement put it; each run of it is a new tile."""
    value = op.outputs[0]
    type_ = value.type
    given = {
        name: machine.number(operand, None) for name, operand in zip(op.shape.input_names, op.inputs, strict=False)
    }
    address = given.get("addr")
    if address is not None and isinstance(type_, TileType):
        machine.check_address(op, type_, address)
    rows, cols = given.get("valid_row"), given.get("valid_col")
    if isinstance(type_, TileType):
        for extent, limit, name in ((rows, type_.rows, "valid_row"), (cols, type_.cols, "valid_col")):
            if extent is not None and not 0 <= extent <= limit:
                raise machine.fault(
                    "TILE-02",
                    f"{name} is {extent}; it must be from 0 to {limit}, the extent of the tile",
                    op,
                    machine.places.operand(op, name),
                )
    machine.env[value] = machine.new_tile(value, address, rows, cols)


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


def returning(machine: Machine, op: Operation) -> list[Any]:
    """A terminator: gives its operands."""
    found: list[Any] = []
    for value in op.inputs:
        if isinstance(value, Value):
            found.append(machine.tile(value) if isinstance(value.type, TileType) else machine.env[value])
    return found


def is_tile(value: Any) -> bool:
    """Whether a value of a run is a tile."""
    return isinstance(value, TileRef)


HANDLERS: dict[str, Handler] = {
    "arith.constant": constant,
    "pto.alloc_tile": alloc_tile,
    "pto.tassign": tassign,
    "return": returning,
    "func.return": returning,
}
"""An operation's full name to what executes it."""
