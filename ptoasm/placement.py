"""Addresses for the tiles that have none (decision D-14).

Tiles lie side by side as long as all of them fit; otherwise a tile takes the first gap between the tiles that are live
at the same time. A tile is live from the first statement that names it to the last one; what a loop uses from outside
is live through the whole loop.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection
from typing import NamedTuple

from ptoasm.ir import Block, Function, Literal, Operation, Value
from ptoasm.numbers import integer, literal_number
from ptoasm.targets import BLOCK_BYTES
from ptoasm.types import ElementType, TileType

ALIASES = frozenset({"pto.tassign", "pto.subview", "pto.subset", "pto.treshape", "pto.set_validshape"})
"""Operations whose result is another name for, or a part of, their first operand."""


class Life(NamedTuple):
    """A tile's bytes and the statements, by number, from its first to its last use."""

    value: Value
    size: int
    first: int
    last: int


class Placement:
    """``addresses`` of the tiles that had none, in bytes; ``unplaced`` are those that do not fit.

    ``reuses`` is whether tiles share memory one after another. ``first_use`` is the first operation that names a tile, ``lives`` all tiles in order of their first use, those with
    an address of their own too.
    """

    __slots__ = ("addresses", "crowd", "first_use", "lives", "reuses", "ub_size", "unplaced")

    def __init__(self, ub_size: int) -> None:
        self.addresses: dict[Value, int] = {}
        self.unplaced: list[Value] = []
        self.first_use: dict[Value, Operation] = {}
        self.lives: list[Life] = []
        self.crowd: list[Life] = []
        self.reuses = False
        self.ub_size = ub_size

    def explanation(self) -> str:
        """Why the first unplaced tile does not fit."""
        life = next(one for one in self.lives if one.value is self.unplaced[0])
        others = ", ".join(f"%{one.value.name} ({one.size} bytes)" for one in self.crowd[:8])
        more = f" and {len(self.crowd) - 8} more" if len(self.crowd) > 8 else ""
        beside = f" beside {others}{more}" if others else ""
        return f"%{life.value.name} ({life.size} bytes) does not fit into the UB of {self.ub_size} bytes{beside}"


def root(value: Value) -> Value:
    """The tile that a value names, or is a part of."""
    while True:
        op = value.definition
        if op is None or op.shape.name not in ALIASES or not op.inputs or not isinstance(op.inputs[0], Value):
            return value
        value = op.inputs[0]


def place(function: Function, ub_size: int, keep: Collection[Value] = ()) -> Placement:
    """The placement of a function's tiles in a UB of ``ub_size`` bytes; ``keep`` are live to the end."""
    placement = Placement(ub_size)
    lives, bound = _lives(function, placement, keep)
    free = [life for life in lives if life.value not in bound]
    taken = [
        (address, address + life.size, life.first, life.last)
        for life in lives
        for address in bound.get(life.value, ())
        if address is not None
    ]
    placement.lives = lives
    if not _side_by_side(placement, free, taken):
        _by_life(placement, free, taken)
    return placement


def _lives(
    function: Function, placement: Placement, keep: Collection[Value]
) -> tuple[list[Life], dict[Value, list[int | None]]]:
    """When each tile is live, and the addresses that the program binds tiles to."""
    first: dict[Value, int] = {}
    last: dict[Value, int] = {}
    bound: dict[Value, list[int | None]] = {}
    count = 0

    def visit(block: Block) -> None:
        nonlocal count
        for op in block.operations:
            count += 1
            here = count
            if op.regions:
                inside = set(_visit_regions(op))
                for value in inside:
                    if value in first and first[value] <= here:
                        last[value] = count
            address = _bound_address(op)
            if address is not None:
                _bind(bound, first, root(address[0]), address[1])
            for value in (*op.inputs, *op.outputs):
                if value.__class__ is Value and isinstance(value.type, TileType):  # type: ignore[union-attr]
                    tile = root(value)  # type: ignore[arg-type]
                    if tile not in first:
                        first[tile] = here
                        placement.first_use[tile] = op
                    last[tile] = max(count, last.get(tile, 0))

    def _visit_regions(op: Operation) -> set[Value]:
        before = dict.fromkeys(first)
        for region in op.regions:
            visit(region)
        used = set()
        for inner in (o for region in op.regions for o in region.walk()):
            for value in (*inner.inputs, *inner.outputs):
                if isinstance(value, Value) and isinstance(value.type, TileType):
                    tile = root(value)
                    if tile in before or not _inside(tile, op):
                        first[tile] = min(first.get(tile, count), count if tile not in before else first[tile])
                        used.add(tile)
        return used

    if function.body is not None:
        visit(function.body)
    for value in keep:
        if root(value) in last:
            last[root(value)] = count + 1
    lives = [
        Life(value, value.type.size, at, last[value])
        for value, at in first.items()
        if isinstance(value.type, TileType) and value.type.loc == "vec" and value.type.rows > 0 and value.type.cols > 0
    ]
    return sorted(lives, key=lambda one: one.first), bound


def _inside(value: Value, op: Operation) -> bool:
    """Whether a value is defined within an operation's regions."""
    block: Block | None = value.block
    while block is not None and block.parent is not None:
        if block.parent is op:
            return True
        block = block.parent.block
    return False


def _bind(bound: dict[Value, list[int | None]], first: dict[Value, int], value: Value, address: int | None) -> None:
    """A tile that is used before it is bound needs a place of its own until then."""
    if value not in first or value in bound:
        bound.setdefault(value, []).append(address)


def _bound_address(op: Operation) -> tuple[Value, int | None] | None:
    name = op.shape.name
    if name == "pto.alloc_tile" and "addr" in op.shape.input_names:
        return op.outputs[0], address_of(op.operand("addr"))
    if name == "pto.tassign" and len(op.inputs) == 2 and isinstance(op.inputs[0], Value):
        return op.inputs[0], address_of(op.inputs[1])
    return None


def address_of(operand: Value | Literal | None) -> int | None:
    """The address that a literal or an ``arith.constant`` gives; None where only a run knows."""
    if isinstance(operand, Value):
        op = operand.definition
        if op is None or op.shape.name != "arith.constant" or not isinstance(op.inputs[0], Literal):
            return None
        type_ = operand.type
        found = literal_number(op.inputs[0].text, type_) if isinstance(type_, ElementType) else None
        return found if isinstance(found, int) else None
    return integer(operand.text) if operand is not None else None


def _aligned(size: int) -> int:
    return -(-size // BLOCK_BYTES) * BLOCK_BYTES


def _side_by_side(placement: Placement, free: list[Life], taken: list[tuple[int, int, int, int]]) -> bool:
    """Places every tile apart from all others; False where they do not fit."""
    if sum(_aligned(life.size) for life in free) > placement.ub_size:
        return False
    blocks = sorted((start, end) for start, end, _, _ in taken)
    addresses: dict[Value, int] = {}
    at, k = 0, 0
    for life in free:
        size = _aligned(life.size)
        while k < len(blocks) and blocks[k][0] < at + size:
            at = max(at, _aligned(blocks[k][1]))
            k += 1
        if at + life.size > placement.ub_size:
            return False
        addresses[life.value] = at
        at += size
    placement.addresses = addresses
    return True


def _by_life(placement: Placement, free: list[Life], taken: list[tuple[int, int, int, int]]) -> None:
    """First fit among the tiles that are live at the same time."""
    placement.reuses = True
    active: list[tuple[int, int, int, Life | None]] = []
    fixed = sorted(taken, key=lambda one: one[2])
    for life in free:
        active = [one for one in active if one[2] >= life.first]
        blocks = [(start, end) for start, end, _, _ in active]
        blocks += [(start, end) for start, end, first, last in fixed if first <= life.last and last >= life.first]
        at = _first_gap(sorted(blocks), _aligned(life.size), placement.ub_size)
        if at is None:
            placement.unplaced.append(life.value)
            if len(placement.unplaced) == 1:
                placement.crowd = [one for _, _, _, one in active if one is not None]
            continue
        placement.addresses[life.value] = at
        insort(active, (at, at + _aligned(life.size), life.last, life), key=lambda one: one[0])


def _first_gap(blocks: list[tuple[int, int]], size: int, ub_size: int) -> int | None:
    at = 0
    for start, end in blocks:
        if start - at >= size:
            break
        at = max(at, _aligned(end))
    return at if at + size <= ub_size else None
