"""Between the forms: the synchronous form, level 1 (``ssa``), level 2 (``dps``), MLIR's generic form and C++.

What a form cannot say, but that changes no result, is a remark among the notes. What it cannot say otherwise is an
error, and there is no output. See docs/conversion.md.
"""

from __future__ import annotations

from typing import NamedTuple

from ptoasm.collector import paused
from ptoasm.diagnostics import Diagnostic, PtoError, has_errors
from ptoasm.ir import DPS, SSA, SYNC, Function, Literal, Module, Operation, Value
from ptoasm.level1 import NeedsAddressesError, ToValues
from ptoasm.level2 import ToBuffers
from ptoasm.placement import Placement, bound_address, place
from ptoasm.printer import COMPACT, KEYED, is_broken, print_module
from ptoasm.rewrite import Rewriter, all_values, allocate_at, binding_shape, constant_shape, is_instruction
from ptoasm.structure import miscount
from ptoasm.targets import A5, BLOCK_BYTES, Target
from ptoasm.types import I64
from ptoasm.verifier import choose_target, verify

FORMS = (SYNC, SSA, DPS, "generic", "cpp")
"""What a program can be converted to."""


class Converted(NamedTuple):
    """The text, and the remarks about what it does not say. ``module`` is None for C++."""

    text: str
    notes: list[Diagnostic]
    module: Module | None


@paused()
def convert(
    module: Module, to: str, *, arch: str | None = None, types: str = COMPACT, place: bool = False
) -> Converted:
    """The program in another form: ``sync``, ``ssa``, ``dps``, ``generic`` or ``cpp``.

    ``arch`` is the target that addresses are chosen for, ``types`` how tile types are spelled (``compact``,
    ``keyed``). With ``place`` the addresses of all tiles are written out. PtoError where it cannot be said.
    """
    if to not in FORMS:
        raise ValueError(f"to is {to!r}; it must be one of {', '.join(FORMS)}")
    if types not in (COMPACT, KEYED):
        raise ValueError(f"types is {types!r}; it must be one of {COMPACT}, {KEYED}")
    _refuse_faults(module)
    target = choose_target(module, arch)
    if to == "cpp":
        from ptoasm.cpp import to_cpp

        buffers = rewritten(module, DPS, target)[0]
        return Converted(to_cpp(write_addresses(buffers, target) if place else buffers), [], None)
    if to == "generic":
        from ptoasm.generic import print_generic

        placed = write_addresses(Rewriter(module).run(), target) if place else module
        return Converted(print_generic(placed, types=types), [], placed)
    made, notes = rewritten(module, to, target, fixed=arch is not None)
    if place:
        write_addresses(made, target)
    return Converted(print_module(made, types=types), notes, made)


def _refuse_faults(module: Module) -> None:
    """Raises where the text is not the language, or an operation does not have the shape of its form."""
    faults = [d for d in verify(module) if d.severity == "error" and d.code.startswith(_SHAPE_FAULTS)]
    if has_errors(faults):
        raise PtoError(faults)
    for function in module.functions:
        for op in function.walk():
            message = _misfit(op) if is_instruction(op) else ""
            if message:
                name = function.name or None
                raise PtoError(
                    [Diagnostic("error", "CONV-01", message, module.source, op.span, (), op.shape.short_name, name)]
                )


def _misfit(op: Operation) -> str:
    """What is wrong with an instruction's operands and results: where it has no rules, nothing else asks."""
    definition, shape = op.shape.definition, op.shape
    assert definition is not None
    return miscount(shape, definition) or ("its text cannot be said in another way" if is_broken(op) else "")


_SHAPE_FAULTS = ("PARSE-", "NAME-", "TYPE-", "FORM-03", "FORM-04", "FORM-05")
"""Not FORM-01 and FORM-02: the kind of the tile types is what a conversion writes anew."""


def rewritten(module: Module, to: str, target: Target, *, fixed: bool = True) -> tuple[Module, list[Diagnostic]]:
    """The module in the form ``sync``, ``ssa`` or ``dps``, and the notes."""
    if to == DPS:
        buffers = ToBuffers(module)
        return buffers.run(), buffers.notes
    values = ToValues(module, to)
    try:
        return values.run(), values.notes
    except NeedsAddressesError:
        values = ToValues(module, to, _all_addresses(module, target, fixed))
        return values.run(), values.notes


# --- Addresses ---------------------------------------------------------------------------------------------


def _all_addresses(module: Module, target: Target, fixed: bool) -> dict[Value, int]:
    """Where the placement puts the tiles that have no address.

    The tiles of a function that is called lie beyond those of all functions before it; its arguments lie where the
    caller says.
    """
    bodies = [f for f in module.functions if f.body is not None]
    called = {op.shape.keywords.get("symbol") for f in bodies for op in f.walk()} - {None}
    addresses: dict[Value, int] = {}
    end = max((_end_of_bound(f) for f in bodies), default=0)
    for function in sorted(bodies, key=lambda f: f.name in called):
        start = -(-end // BLOCK_BYTES) * BLOCK_BYTES if function.name in called else 0
        found = place(function, target.ub_size - start)
        if found.unplaced and not fixed:
            found = place(function, A5.ub_size - start)
        _refuse_unplaced(module, function, found)
        for value, at in found.addresses.items():
            if not (start and value in function.arguments):
                addresses[value] = at + start
                end = max(end, at + start + getattr(value.type, "size", 0))
    return addresses


def _end_of_bound(function: Function) -> int:
    """The end of the last tile that the program binds to an address."""
    found = (bound_address(op) for op in function.walk() if op.shape.name in ("pto.tassign", "pto.alloc_tile"))
    return max((b[1] + getattr(b[0].type, "size", 0) for b in found if b is not None and b[1] is not None), default=0)


def _refuse_unplaced(module: Module, function: Function, found: Placement) -> None:
    if found.unplaced:
        op = found.unplaced[0].op
        name = function.name or None
        raise PtoError([Diagnostic("error", "PLACE-01", found.explanation(), module.source, op.span, (), None, name)])


def write_addresses(module: Module, target: Target) -> Module:
    """Writes the addresses that the placement chooses into the module itself.

    An ``alloc_tile`` gets an address operand; anything else is bound before its definition, or at the beginning.
    """
    addresses = _all_addresses(module, target, True)
    for function in module.functions:
        body = function.body
        if body is None or not body.operations:
            continue
        given = [v for v in function.arguments if v in addresses]
        writer = _Addresses(addresses, {v.name for v in all_values(function)})
        for block in dict.fromkeys(op.block for op in function.walk()):
            block.operations = [made for op in block.operations for made in writer.with_addresses(op)]
        body.operations[:0] = [_binding(v, addresses[v], body.operations[0]) for v in given]
    return module


class _Addresses:
    """Writes addresses into the operations of one function, whose values have these names."""

    def __init__(self, addresses: dict[Value, int], names: set[str]) -> None:
        self.addresses = addresses
        self.names = names
        self.count = 0

    def with_addresses(self, op: Operation) -> list[Operation]:
        """An operation with what binds its results before it."""
        placed = [(v, self.addresses[v]) for v in op.results if v in self.addresses]
        if placed and op.shape.name == "pto.alloc_tile":
            return [self._allocate(op, placed[0][1]), op]
        return [*(_binding(v, address, op) for v, address in placed), op]

    def _allocate(self, op: Operation, address: int) -> Operation:
        constant = Operation(constant_shape(I64), (Literal(str(address)),), (), op.block, op.start, op.start)
        while (name := f"at{self.count}") in self.names:
            self.count += 1
        self.count += 1
        constant.outputs = (Value(name, I64, constant),)
        allocate_at(op, constant.outputs[0])
        return constant


def _binding(value: Value, address: int, like: Operation) -> Operation:
    return Operation(binding_shape(), (value, Literal(hex(address))), (), like.block, like.start, like.start)
