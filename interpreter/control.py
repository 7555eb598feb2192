"""Scalars and control flow on the machine: ``arith``, ``scf`` and ``func``."""

from __future__ import annotations

from typing import Any

from ptoasm.dialect.common import PLACE
from ptoasm.dialect.host import SYNTAX
from ptoasm.interpreter import arith
from ptoasm.interpreter.machine import Handler, Machine
from ptoasm.ir import Function, Literal, Operation
from ptoasm.numbers import literal_number
from ptoasm.placement import bound_address, place
from ptoasm.targets import BLOCK_BYTES
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


def evaluate(machine: Machine, op: Operation) -> None:
    """An operation of ``arith`` on scalars."""
    function = machine.functions.get(op.shape)
    if function is None:
        function = machine.functions[op.shape] = _function(machine, op)
    try:
        machine.env[op.outputs[0]] = function(*machine.operands(op))
    except ArithmeticError as error:
        raise machine.fault("RUN-08", str(error), op) from None


def _function(machine: Machine, op: Operation) -> arith.Function:
    shape = op.shape
    operand, result = shape.input_types[-1], shape.output_types[0]
    found = None
    if isinstance(operand, ElementType) and isinstance(result, ElementType):
        found = arith.function(shape.short_name.removeprefix("arith."), operand, result, shape.keywords.get("word", ""))
    if found is None:
        raise machine.fault("RUN-05", f"'{shape.name}' on {operand} cannot be run", op)
    return found


# --- Regions


def leave(machine: Machine, op: Operation) -> list[Any]:
    """A terminator: its region ends with its operands."""
    return machine.operands(op)


def loop(machine: Machine, op: Operation) -> None:
    """``scf.for``: the bounds are signed unless it says ``unsigned``."""
    lower, upper, step, *carried = machine.operands(op)
    if op.shape.keywords.get("word") == "unsigned":
        type_ = op.shape.input_types[0]
        modulus = 1 << type_.bits if isinstance(type_, ElementType) else 1 << 64
        lower, upper, step = lower % modulus, upper % modulus, step % modulus
    if step <= 0:
        raise machine.fault("RUN-08", f"the step of the loop is {step}; it must be positive", op)
    body = op.regions[0]
    env = machine.env
    index, *arguments = body.arguments
    for at in range(lower, upper, step):
        machine.count(op)
        env[index] = at
        env.update(zip(arguments, carried, strict=True))
        carried = machine.run_block(body)
    env.update(zip(op.outputs, carried, strict=False))


def branch(machine: Machine, op: Operation) -> None:
    """``scf.if``"""
    (condition,) = machine.operands(op)
    taken = op.regions[:1] if condition else op.regions[1:]
    results = machine.run_block(taken[0]) if taken else []
    machine.env.update(zip(op.outputs, results, strict=False))


def while_loop(machine: Machine, op: Operation) -> None:
    """``scf.while``: the first region decides and hands on, the second one computes the next values."""
    before, after = op.regions
    env = machine.env
    carried = machine.operands(op)
    while True:
        machine.count(op)
        env.update(zip(before.arguments, carried, strict=True))
        goes_on, *values = machine.run_block(before)
        if not goes_on:
            break
        env.update(zip(after.arguments, values, strict=True))
        carried = machine.run_block(after)
    env.update(zip(op.outputs, values, strict=False))


def section(machine: Machine, op: Operation) -> None:
    """``pto.section.vector``: the machine is the vector core."""
    machine.run_block(op.regions[0])


def call(machine: Machine, op: Operation) -> None:
    """``func.call``"""
    name = op.shape.keywords["symbol"]
    function = machine.module.function(name)
    if function is None or function.body is None:
        raise machine.fault("RUN-05", f"'@{name}' has no body here; it cannot be run", op)
    if function in machine.calls:
        raise machine.fault("RUN-10", f"'@{name}' calls itself; the machine has no recursion", op)
    machine.calls.append(function)
    _enter(machine, function, op)
    machine.env.update(zip(function.arguments, machine.operands(op), strict=True))
    results = machine.run_block(function.body)
    machine.calls.pop()
    machine.env.update(zip(op.outputs, results, strict=False))


def _enter(machine: Machine, function: Function, op: Operation) -> None:
    """Gives the tiles of a function that is called for the first time places beyond those of all others."""
    if function in machine.entered:
        return
    machine.entered.setdefault(machine.function, _end_of_bound(machine.function))
    machine.entered[function] = _end_of_bound(function)
    placed = [at + getattr(value.type, "size", 0) for value, at in machine.placement.addresses.items()]
    start = max(0, *machine.entered.values(), *placed)
    start = -(-start // BLOCK_BYTES) * BLOCK_BYTES
    placement = place(function, machine.memory.size - start)
    if not PLACE.holds(placement):
        raise machine.fault(PLACE.id, PLACE.message(placement), placement.unplaced[0].op)
    machine.placement.addresses.update({value: at + start for value, at in placement.addresses.items()})


def _end_of_bound(function: Function) -> int:
    """The end of the last tile that a function binds to an address of its own."""
    end = 0
    for op in function.walk():
        bound = bound_address(op)
        if bound is not None and isinstance(bound[0].type, TileType) and bound[1] is not None:
            end = max(end, bound[1] + bound[0].type.size)
    return end


def _query(read: str) -> Handler:
    def query(machine: Machine, op: Operation) -> None:
        machine.env[op.outputs[0]] = getattr(machine, read) if read else 0

    return query


HANDLERS: dict[str, Handler] = {
    **{name: evaluate for name, syntax in SYNTAX.items() if syntax in ("COMPUTE", "COMPARE", "CAST")},
    "arith.constant": constant,
    "return": leave,
    "func.return": leave,
    "scf.yield": leave,
    "scf.condition": leave,
    "scf.for": loop,
    "scf.if": branch,
    "scf.while": while_loop,
    "func.call": call,
    "call": call,
    "pto.section.vector": section,
    "pto.get_block_idx": _query("block_index"),
    "pto.get_block_num": _query("block_count"),
    "pto.get_subblock_idx": _query(""),
    "pto.get_subblock_num": _query("subblock_count"),
}
