"""Addresses for the tiles that have none (decision D-14).

Tiles lie side by side as long as all of them fit; otherwise a tile takes the first gap between the tiles that are live
at the same time. A tile is live from the first statement that names it to the last one; what a loop uses from outside
is live through the whole loop.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection
from heapq import heappop, heappush
from typing import NamedTuple

from ptoasm.ir import DPS, HOST, Block, Function, Literal, Operation, Value
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

    ``reuses`` is whether tiles share memory one after another. ``first_use`` is the first operation that names a tile,
    ``lives`` all tiles in order of their first use, those with an address of their own too.
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
    passed: set[Value] = set()
    while True:
        op = value.definition
        if op is None or op.shape.name not in ALIASES or not op.inputs or not isinstance(op.inputs[0], Value):
            return value
        if value in passed:  # a wrong program: a part of itself
            return value
        passed.add(value)
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
    uses = _Uses(placement.first_use)
    if function.body is not None:
        uses.visit(function.body)
    uses.extend_over_regions()
    first, last = uses.first, uses.last
    for value in (*keep, *_destinations(function)):
        if root(value) in last:
            last[root(value)] = uses.count + 1
    lives = [
        Life(value, value.type.size, at, last[value])
        for value, at in first.items()
        if isinstance(value.type, TileType) and value.type.loc == "vec" and value.type.rows > 0 and value.type.cols > 0
    ]
    return sorted(lives, key=lambda one: one.first), uses.bound


def _destinations(function: Function) -> set[Value]:
    """The tiles among the arguments that the function writes: who calls it reads them afterwards."""
    if function.flat or not any(isinstance(value.type, TileType) for value in function.arguments):
        return set()
    written = {root(value) for op in function.walk() if op.shape.form == DPS for value in op.outputs}
    return written.intersection(function.arguments)


def _stands_for_itself(value: Value) -> bool:
    """Whether a value is a tile of its own at first sight: an argument of the function, or an instruction's result."""
    owner = value.owner
    if owner.__class__ is Block:
        return owner.parent is None
    shape = owner.shape  # type: ignore[union-attr]
    return shape.definition is not None and shape.name != "pto.tassign"


class _Uses:
    """The first and the last statement, by number, that names each tile, and the addresses that tiles are bound to."""

    def __init__(self, first_use: dict[Value, Operation]) -> None:
        self.first: dict[Value, int] = {}
        self.last: dict[Value, int] = {}
        self.bound: dict[Value, list[int | None]] = {}
        self.first_use = first_use
        self.count = 0
        self._extents: dict[Operation, tuple[int, int]] = {}
        self._through: set[tuple[Value, Operation]] = set()
        self._joined: dict[Operation, tuple[Value, ...]] = {}

    def visit(self, block: Block) -> None:
        """Takes note of a block's operations and those of their regions."""
        first, last, outermost = self.first, self.last, block.parent is None
        for op in block.operations:
            self.count = here = self.count + 1
            shape = op.shape
            if shape.form == HOST or shape.name == "pto.tassign":
                address = bound_address(op)
                if address is not None:
                    _bind(self.bound, first, root(address[0]), address[1])
            for value in (*op.inputs, *op.outputs):
                if value.__class__ is not Value or value.type.__class__ is not TileType:
                    continue
                if outermost and _stands_for_itself(value):
                    if value not in last:
                        first[value] = here
                        self.first_use[value] = op
                    last[value] = here
                else:
                    self._use(root(value), here, op)
            if op.regions:
                for region in op.regions:
                    self.visit(region)
                self._extents[op] = here, self.count

    def _use(self, tile: Value, here: int, op: Operation) -> None:
        owner = tile.owner
        if isinstance(owner, Operation):
            joined = owner.regions or owner.shape.name == "arith.select"
        else:
            joined = owner.parent is not None
        if joined:
            for one in self._origins(tile):
                self._note(one, here, op)
        else:
            self._note(tile, here, op)

    def _note(self, tile: Value, here: int, op: Operation) -> None:
        if tile not in self.first:
            self.first[tile] = here
            self.first_use[tile] = op
        self.last[tile] = here
        if op.block.parent is not None:
            holder = _outermost(op, tile.block)
            if holder is not None:
                self._through.add((tile, holder))

    def _origins(self, value: Value) -> tuple[Value, ...]:
        """The tiles that a region's argument or result, or a selected tile, can be: live through all of the region."""
        op = value.owner if isinstance(value.owner, Operation) else value.owner.parent
        assert op is not None
        if op not in self._joined:
            self._joined[op] = ()
            origins: dict[Value, None] = {}
            for inner in (op, *(region.operations[-1] for region in op.regions if region.operations)):
                for operand in inner.inputs:
                    if isinstance(operand, Value) and isinstance(operand.type, TileType):
                        origins |= dict.fromkeys(self._resolved(root(operand)))
            self._joined[op] = tuple(origins)
            if op.regions:
                self._through |= {(tile, op) for tile in origins}
        return self._joined[op]

    def _resolved(self, tile: Value) -> tuple[Value, ...]:
        op = tile.owner if isinstance(tile.owner, Operation) else tile.owner.parent
        joins = op is not None and (op.regions or op.shape.name == "arith.select")
        return self._origins(tile) if joins else (tile,)

    def extend_over_regions(self) -> None:
        """What a region uses from outside, or hands on, is live from its beginning to its end."""
        for tile, op in self._through:
            start, end = self._extents[op]
            self.first[tile] = min(self.first.get(tile, start), start)
            self.last[tile] = max(self.last.get(tile, end), end)


def _outermost(op: Operation, home: Block) -> Operation | None:
    """The operation in ``home`` whose regions hold ``op``; None where ``op`` itself stands in it."""
    holder, block = None, op.block
    while block is not home and block.parent is not None:
        holder = block.parent
        block = holder.block
    return holder


def _bind(bound: dict[Value, list[int | None]], first: dict[Value, int], value: Value, address: int | None) -> None:
    """A tile that is used before it is bound needs a place of its own until then."""
    if value not in first or value in bound:
        bound.setdefault(value, []).append(address)


def bound_address(op: Operation) -> tuple[Value, int | None] | None:
    """The tile that an operation binds to an address, and the address; None where only a run knows it."""
    name = op.shape.name
    if name == "pto.alloc_tile" and "addr" in op.shape.input_names and op.outputs:
        return op.outputs[0], address_of(op.operand("addr"))
    if name == "pto.tassign" and len(op.inputs) == 2 and isinstance(op.inputs[0], Value):
        return op.inputs[0], address_of(op.inputs[1])
    return None


def address_of(operand: Value | Literal | None) -> int | None:
    """The address that a literal or an ``arith.constant`` gives; None where only a run knows."""
    if isinstance(operand, Value):
        op = operand.definition
        if op is None or op.shape.name != "arith.constant" or not (op.inputs and isinstance(op.inputs[0], Literal)):
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
    """First fit among the tiles that are live at the same time.

    Blocks begin and end at multiples of 32 bytes. ``active`` holds the blocks of the tiles that are live where the next
    one begins, in order of their addresses; blocks at addresses of the program's own come alive out of ``coming``.
    """
    placement.reuses = True
    active: list[tuple[int, int, int, int]] = []
    ends: list[int] = []
    coming = sorted(((first, start, _aligned(end), last) for start, end, first, last in taken), reverse=True)
    fixed = _Fixed(taken)
    for number, life in enumerate(free):
        while coming and coming[-1][0] <= life.first:
            _, start, end, last = coming.pop()
            insort(active, (start, end, last, -1))
            heappush(ends, last)
        if ends and ends[0] < life.first:
            active = [one for one in active if one[2] >= life.first]
            while ends and ends[0] < life.first:
                heappop(ends)
        size = _aligned(life.size)
        at = _first_gap(active, fixed.until(life.first, life.last), size, placement.ub_size)
        if at is None:
            placement.unplaced.append(life.value)
            if len(placement.unplaced) == 1:
                placement.crowd = [free[one[3]] for one in active if one[3] >= 0]
            continue
        placement.addresses[life.value] = at
        insort(active, (at, at + size, life.last, number))
        heappush(ends, life.last)


class _Fixed:
    """The blocks at addresses of the program's own, by the statement at which they come alive."""

    def __init__(self, taken: list[tuple[int, int, int, int]]) -> None:
        self.blocks = sorted(((s, _aligned(e), f, n) for s, e, f, n in taken), key=lambda one: one[2])
        self.firsts = [one[2] for one in self.blocks]

    def until(self, first: int, last: int) -> list[tuple[int, int, int, int]]:
        """Those that come alive after ``first`` and not after ``last``."""
        if not self.blocks:
            return []
        return self.blocks[bisect_right(self.firsts, first) : bisect_right(self.firsts, last)]


def _first_gap(
    active: list[tuple[int, int, int, int]], coming: list[tuple[int, int, int, int]], size: int, ub_size: int
) -> int | None:
    at = 0
    for start, end, *_ in sorted([*active, *coming]) if coming else active:
        if start - at >= size:
            break
        if end > at:
            at = end
    return at if at + size <= ub_size else None
