"""What host operations must have in common with each other: calls with functions, terminators with their regions.

All of it is about types and numbers of values; what the operations do is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ptoasm.dialect.base import Instruction, count
from ptoasm.ir import Block, Function, Literal, Operation, Shape, Value
from ptoasm.numbers import integer, literal_number
from ptoasm.suggest import did_you_mean
from ptoasm.types import ElementType, TileType, Type, ViewType

RETURNS = frozenset({"return", "func.return"})
"""The terminators of functions."""
TERMINATORS = RETURNS | {"scf.yield", "scf.condition"}
"""Operations that a block ends with."""

Types = Sequence[Type | None]


class Fault(NamedTuple):
    """What is wrong with an operation, or (None) with the function that holds it.

    ``at`` is the position of the operand at fault among the inputs and then the outputs, None for the whole.
    """

    op: Operation | None
    message: str
    at: int | None = None
    code: str = "TYPE-05"


def faults(op: Operation) -> Iterator[Fault]:
    """What is wrong with a host operation."""
    miswritten = op.shape.keywords.get("fault")
    if miswritten:
        yield Fault(op, miswritten)
        return
    if op.shape.name != "arith.constant":
        for at, value in enumerate(op.inputs):
            if value.__class__ is Literal and (fault := _literal(op, at, value.text)):
                yield fault
    check = _CHECKS.get(op.shape.name)
    if check is not None:
        yield from check(op)


def function_faults(function: Function) -> Iterator[Fault]:
    """What is wrong with how a function's body ends."""
    if function.body is not None and not function.flat:
        yield from _body(function.body, RETURNS, function.result_types, f"'@{function.name}'", None)


def _literal(op: Operation, at: int, text: str) -> Fault | None:
    """A number or ``true`` in operand position has a scalar type that it fits; an address may have none."""
    type_ = op.shape.input_types[at] if at < len(op.shape.input_types) else None
    if type_ is None:
        fits = integer(text) is not None
    else:
        fits = isinstance(type_, ElementType) and literal_number(text, type_) is not None
    if fits:
        return None
    return Fault(op, f"{text} is no value of type {type_}" if type_ else f"{text} is no integer", at, "TYPE-02")


def miscount(shape: Shape, definition: Instruction) -> str:
    """What is wrong with the numbers of operands, results and types of an instruction without rules, if anything.

    A run asks it: other forms of such an instruction may well exist, and are no fault of the text.
    """
    names = [("operand", shape.input_types, definition.inputs), ("result", shape.output_types, definition.outputs)]
    for noun, given, declared in names:
        least, most = sum(not one.optional for one in declared), len(declared)
        if not least <= len(given) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            return f"it has {count(len(given), noun)}; it must have {wanted}"
    inputs, outputs = shape.type_counts
    scalars = sum(one.scalar for one in definition.inputs[: len(shape.input_types)])
    if inputs not in (0, -scalars) or outputs != 0:
        return "it has not as many types as operands and results"
    return ""


def _types(values: Sequence[Value | Literal]) -> list[Type | None]:
    return [value.type if isinstance(value, Value) else None for value in values]


def _agree(op: Operation, first: int, given: Types, wanted: Types, giver: str, taker: str) -> Iterator[Fault]:
    """``given`` are the types of an operation's operands from position ``first`` on."""
    if len(given) != len(wanted):
        yield Fault(op, f"{giver} {count(len(given), 'value')}; {taker} has {len(wanted)}")
        return
    for at, (one, other) in enumerate(zip(given, wanted, strict=True), first):
        if one is not other and one is not None and other is not None:
            value = op.inputs[at] if at < len(op.inputs) else None
            shown = f"'%{value.name}' has type {one}" if isinstance(value, Value) else f"a value has type {one}"
            yield Fault(op, f"{shown}; {taker} has {other} here", at)


def _body(
    block: Block, ends: frozenset[str], wanted: Types | None, owner: str, parent: Operation | None, skip: int = 0
) -> Iterator[Fault]:
    """A block ends with one terminator, the right one, and hands on values of the right types (None: of any).

    ``skip`` is the number of the terminator's operands that are not handed on.
    """
    for op in block.operations[:-1]:
        if op.shape.name in TERMINATORS:
            yield Fault(op, f"'{op.shape.name}' is not the last statement of its region")
    last = block.operations[-1] if block.operations else None
    if last is None or last.shape.name not in TERMINATORS:
        if wanted:
            yield Fault(parent or last, f"a region of {owner} does not end with '{min(ends, key=len)}'")
    elif last.shape.name not in ends:
        yield Fault(last, f"'{last.shape.name}' does not belong into {owner}")
    elif wanted is not None:
        giver = "it returns" if last.shape.name in RETURNS else "it hands on"
        yield from _agree(last, skip, _types(last.inputs)[skip:], wanted, giver, owner)


_YIELD = frozenset({"scf.yield"})
_CONDITION = frozenset({"scf.condition"})


def _loop(op: Operation) -> Iterator[Fault]:
    yield from _body(op.regions[0], _YIELD, op.shape.input_types[3:], "'scf.for'", op)


def _branch(op: Operation) -> Iterator[Fault]:
    results = _types(op.outputs) or None
    if results and len(op.regions) < 2:
        yield Fault(op, "it has results and no 'else'")
    for region in op.regions:
        yield from _body(region, _YIELD, results, "'scf.if'", op)


def _while(op: Operation) -> Iterator[Fault]:
    if len(op.regions) != 2:
        yield Fault(op, "it has no 'do'")
        return
    before, after = op.regions
    results = _types(op.outputs) or None
    if not before.operations or before.operations[-1].shape.name not in TERMINATORS:
        yield Fault(op, "its first region does not end with 'scf.condition'")
        return
    yield from _body(before, _CONDITION, results, "'scf.while'", op, skip=1)
    if before.operations[-1].shape.name == "scf.condition":
        last = before.operations[-1]
        handed = _types(last.inputs)[1:]
        yield from _agree(last, 1, handed, _types(after.arguments), "it hands on", "the second region")
    yield from _body(after, _YIELD, _types(before.arguments), "'scf.while'", op)


def _section(op: Operation) -> Iterator[Fault]:
    for region in op.regions:
        yield from _body(region, frozenset(), (), f"'{op.shape.name}'", op)


def _call(op: Operation) -> Iterator[Fault]:
    module = op.block.function.module
    name = op.shape.keywords["symbol"]
    function = module.function(name)
    if function is None:
        near = did_you_mean(name, [f.name for f in module.functions if f.name])
        hint = f"; did you mean '@{near}'?" if near else ""
        yield Fault(op, f"'@{name}' is not defined{hint}", None, "NAME-01")
        return
    arguments: Types = function.argument_types if function.body is None else _types(function.arguments)
    yield from _agree(op, 0, op.shape.input_types, arguments, "it hands over", f"'@{name}'")
    if op.outputs:
        yield from _agree(op, len(op.inputs), op.shape.output_types, function.result_types, "it takes", f"'@{name}'")


def _window(op: Operation) -> Iterator[Fault]:
    rows, cols = op.shape.keywords["sizes"]
    source, result = op.shape.input_types[0], op.outputs[0].type if op.outputs else None
    if not isinstance(source, TileType):
        yield Fault(op, f"its source has type {source}; it must be a tile", 0)
    elif isinstance(result, TileType) and (result.rows, result.cols) != (rows, cols):
        yield Fault(op, f"the sizes are {rows}x{cols}, the result has type {result}", len(op.inputs))
    elif isinstance(result, TileType) and result.element is not source.element:
        yield Fault(op, f"the elements of the source are {source.element}, those of the result {result.element}")


def _view(op: Operation) -> Iterator[Fault]:
    names = op.shape.input_names
    first, second = ("shape", "strides") if op.shape.name == "pto.make_tensor_view" else ("offsets", "sizes")
    numbers = names.count(first), names.count(second)
    if len(set(numbers)) > 1:
        yield Fault(op, f"it has {count(numbers[0], first.rstrip('s'))}, but {count(numbers[1], second.rstrip('s'))}")
        return
    base = op.shape.output_types[0] if first == "shape" and op.outputs else op.shape.input_types[0]
    yield from _same_elements(op, 0, _types(op.outputs))
    if isinstance(base, ViewType) and len(base.shape) != numbers[0]:
        yield Fault(op, f"it has {count(numbers[0], second.rstrip('s'))}, but {base} has {len(base.shape)} dimensions")


def _alloc(op: Operation) -> Iterator[Fault]:
    for at, (value, type_) in enumerate(zip(op.outputs, op.shape.output_types, strict=False), len(op.inputs)):
        if type_ is not None and not isinstance(type_, TileType):
            yield Fault(op, f"'%{value.name}' has type {type_}; it must be a tile", at)
    yield from _address(op)


def _assign(op: Operation) -> Iterator[Fault]:
    if len(op.inputs) != 2 or len(op.outputs) > 1:
        found = f"{count(len(op.inputs), 'operand')} and {count(len(op.outputs), 'result')}"
        yield Fault(op, f"it has {found}; it must have a tile and an address, and at most 1 result")
        return
    yield from _address(op)


def _address(op: Operation) -> Iterator[Fault]:
    at = op.shape.input_names.index("addr") if "addr" in op.shape.input_names else 1
    value = op.inputs[at] if at < len(op.inputs) and op.shape.input_names[at] in ("addr", "address") else None
    type_ = value.type if isinstance(value, Value) else None
    if type_ is not None and not (isinstance(type_, ElementType) and type_.kind in ("int", "uint", "index")):
        yield Fault(op, f"the address has type {type_}; it must be an integer", at)


def _load(op: Operation) -> Iterator[Fault]:
    yield from _same_elements(op, 0, _types(op.outputs))


def _store(op: Operation) -> Iterator[Fault]:
    yield from _same_elements(op, 1, op.shape.input_types)


def _same_elements(op: Operation, at: int, others: Types) -> Iterator[Fault]:
    """The pointer or view in this place, and the first of what is made of it, loaded from it or stored to it."""
    memory = op.inputs[at]
    written = op.shape.input_types[at] or (memory.type if isinstance(memory, Value) else None)
    one, two = _element(written), _element(others[0] if others else None)
    if one is not None and two is not None and one is not two:
        yield Fault(op, f"'{memory}' has elements of type {one}, not {two}", at)


def _element(type_: Type | None) -> Type | None:
    return type_ if isinstance(type_, ElementType) else getattr(type_, "element", None)


_CHECKS: dict[str, Callable[[Operation], Iterator[Fault]]] = {
    "func.call": _call,
    "call": _call,
    "scf.for": _loop,
    "scf.if": _branch,
    "scf.while": _while,
    "pto.section.vector": _section,
    "pto.subview": _window,
    "pto.subset": _window,
    "pto.make_tensor_view": _view,
    "pto.partition_view": _view,
    "pto.alloc_tile": _alloc,
    "pto.tassign": _assign,
    "pto.load_scalar": _load,
    "pto.store_scalar": _store,
}
