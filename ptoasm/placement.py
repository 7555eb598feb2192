"""Addresses for the tiles that have none (decision D-14).

Tiles lie side by side as long as all of them fit; otherwise a tile takes the first gap between the tiles that are live
at the same time. A tile is live from the first statement that names it to the last one; what a loop uses from outside
is live through the whole loop.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Iterator
from operator import attrgetter

from ptoasm.ir import DPS, Block, Function, Literal, Operation, Value
from ptoasm.numbers import integer, literal_number
from ptoasm.targets import BLOCK_BYTES
from ptoasm.types import ElementType, TileType

ALIASES = frozenset({"pto.tassign", "pto.subview", "pto.subset", "pto.treshape", "pto.set_validshape"})
"""Operations whose result is another name for, or a part of, their first operand."""
_OTHER_NAMES = ALIASES | {"arith.select"}
_BINDING = ("pto.tassign", "pto.alloc_tile")


class Life:
    """A tile's bytes and the statements, by number, from its first to its last use; ``op`` is its first use."""

    __slots__ = ("first", "last", "op", "size", "value")

    def __init__(self, value: Value, at: int, op: Operation) -> None:
        self.value = value
        self.size = 0
        self.first = at
        self.last = at
        self.op = op


_Taken = tuple[int, int, int, int]
"""Bytes that are taken: the first, the one behind the last, the last statement that needs them, and whose they are:
the number of a tile, -1 for one at an address of the program's own."""


class Placement:
    """``unplaced`` are the tiles without an address that do not fit.

    ``reuses`` is whether tiles share memory one after another, ``lives`` all tiles in order of their first use, those
    with an address of their own too.
    """

    __slots__ = ("_addresses", "_bound", "_fixed", "_free", "lives", "reuses", "ub_size", "unplaced")

    def __init__(self, lives: list[Life], bound: dict[Value, tuple[int | None, ...]], ub_size: int) -> None:
        self.lives = lives
        self.ub_size = ub_size
        self._bound = bound
        self._free = [life for life in lives if life.value not in bound] if bound else lives
        self._fixed = [life for life in lives if life.value in bound] if bound else []
        self._addresses: dict[Value, int] | None = None
        self.reuses = not self._fits_apart()
        self.unplaced = [life for life, at, _ in self._places() if at is None] if self.reuses else []

    @property
    def addresses(self) -> dict[Value, int]:
        """The address of each tile that had none, in bytes; made when first asked for."""
        if self._addresses is None:
            self._addresses = {life.value: at for life, at, _ in self._places() if at is not None}
        return self._addresses

    def explanation(self) -> str:
        """Why the first unplaced tile does not fit."""
        life, _, active = next(one for one in self._places() if one[1] is None)
        crowd = [self._free[number] for _, _, _, number in active if number >= 0]
        others = ", ".join(f"%{one.value.name} ({one.size} bytes)" for one in crowd[:8])
        more = f" and {len(crowd) - 8} more" if len(crowd) > 8 else ""
        beside = f" beside {others}{more}" if others else ""
        return f"%{life.value.name} ({life.size} bytes) does not fit into the UB of {self.ub_size} bytes{beside}"

    def _places(self) -> Iterator[tuple[Life, int | None, list[_Taken]]]:
        """Each tile without an address with the one that is chosen, None where it does not fit, and what is around."""
        return self._by_life() if self.reuses else self._side_by_side()

    def _taken(self, fixed: list[Life]) -> list[_Taken]:
        """The bytes of tiles that are bound to addresses."""
        return [
            (address, _aligned(address + life.size), life.last, -1)
            for life in fixed
            for address in self._bound[life.value]
            if address is not None
        ]

    def _fits_apart(self) -> bool:
        if sum([_aligned(life.size) for life in self._free]) > self.ub_size:
            return False
        return all(at is not None for _, at, _ in self._side_by_side())

    def _side_by_side(self) -> Iterator[tuple[Life, int | None, list[_Taken]]]:
        """Places every tile apart from all others."""
        blocks = sorted(self._taken(self._fixed))
        at, k = 0, 0
        for life in self._free:
            size = _aligned(life.size)
            while k < len(blocks) and blocks[k][0] < at + size:
                at = max(at, blocks[k][1])
                k += 1
            yield life, at if at + life.size <= self.ub_size else None, []
            at += size

    def _by_life(self) -> Iterator[tuple[Life, int | None, list[_Taken]]]:
        """First fit among the tiles that are live at the same time.

        Blocks begin and end at multiples of 32 bytes. ``active`` holds the blocks of the tiles that are live where the
        next one begins, in order of their addresses.
        """
        fixed = self._fixed
        active: list[_Taken] = []
        ended = 0  # the statement up to which tiles have been taken out of ``active``
        firsts = [life.first for life in fixed]
        alive = 0
        for number, life in enumerate(self._free):
            first = life.first
            begun = alive
            while alive < len(fixed) and firsts[alive] <= first:
                alive += 1
            if begun < alive:
                for block in self._taken(fixed[begun:alive]):
                    insort(active, block)
            if ended < first:
                ended = first
                active = [one for one in active if one[2] >= first]
            size = _aligned(life.size)
            around = active
            if alive < len(fixed) and firsts[alive] <= life.last:
                around = sorted([*active, *self._taken(fixed[alive : bisect_right(firsts, life.last)])])
            at = _first_gap(around, size, self.ub_size)
            yield life, at, active
            if at is not None:
                insort(active, (at, at + size, life.last, number))


def root(value: Value) -> Value:
    """The tile that a value names, or is a part of."""
    passed: set[Value] = set()
    while (op := value.owner).__class__ is Operation and op.shape.name in ALIASES:
        whole = op.inputs[0] if op.inputs else None
        if not isinstance(whole, Value) or value in passed:  # a wrong program: a part of itself
            break
        passed.add(value)
        value = whole
    return value


def place(function: Function, ub_size: int, keep: Collection[Value] = ()) -> Placement:
    """The placement of a function's tiles in a UB of ``ub_size`` bytes; ``keep`` are live to the end."""
    lives, bound = _lives(function, keep)
    return Placement(lives, bound, ub_size)


def surely_fits(function: Function, ub_size: int) -> bool:
    """Whether all tiles lie side by side below the lowest address that the program binds: then ``place`` places all.

    It asks less than ``place`` does, which finds out when each tile is live. ``ub_size`` is in bytes.
    """
    limit, total = ub_size, 0
    for value in function.arguments:
        total += _bytes_in_ub(value)
        if total > limit:
            return False
    for op in function.walk():
        if total > limit:
            return False
        shape = op.shape
        if shape.name in _BINDING and (bound := bound_address(op)) is not None:
            if bound[1] is not None and bound[1] < limit:
                limit = bound[1]
        elif shape.form != DPS:
            for value in op.outputs:
                total += _bytes_in_ub(value)
    return total <= limit


def _bytes_in_ub(value: Value) -> int:
    """The bytes that a value takes of the UB, in whole blocks."""
    type_ = value.type
    return _aligned(type_.size) if isinstance(type_, TileType) and _is_in_ub(type_) else 0


def _is_in_ub(type_: TileType) -> bool:
    """Whether a tile takes bytes of the UB: one without elements (TILE-01) does not."""
    return type_.loc == "vec" and type_.rows > 0 and type_.cols > 0


def _lives(function: Function, keep: Collection[Value]) -> tuple[list[Life], dict[Value, tuple[int | None, ...]]]:
    """When each tile is live, and the addresses that the program binds tiles to."""
    uses = _Uses()
    if function.body is not None:
        uses.visit(function.body)
    uses.extend_over_regions()
    for value in (*keep, *_destinations(function)):
        if root(value) in uses.lives:
            uses.lives[root(value)].last = uses.count + 1
    lives = []
    for life in uses.lives.values():
        type_ = life.value.type
        if isinstance(type_, TileType) and _is_in_ub(type_):
            life.size = type_.size
            lives.append(life)
    lives.sort(key=attrgetter("first"))
    return lives, uses.bound


def _destinations(function: Function) -> set[Value]:
    """The tiles among the arguments that the function writes: who calls it reads them afterwards."""
    if function.flat or not any(isinstance(value.type, TileType) for value in function.arguments):
        return set()
    written = {value for op in function.walk() if op.shape.form == DPS for value in op.outputs}
    return {root(value) for value in written}.intersection(function.arguments)


def _stands_for_itself(value: Value) -> bool:
    """Whether a value is a tile of its own at first sight: an argument of the function, or made by its operation."""
    owner = value.owner
    if owner.__class__ is Block:
        return owner.parent is None
    return owner.shape.name not in _OTHER_NAMES and not owner.regions  # type: ignore[union-attr]


class _Uses:
    """The first and the last statement, by number, that names each tile, and the addresses that tiles are bound to."""

    def __init__(self) -> None:
        self.lives: dict[Value, Life] = {}
        self.bound: dict[Value, tuple[int | None, ...]] = {}
        self.count = 0
        self._extents: dict[Operation, tuple[int, int]] = {}
        self._through: set[tuple[Value, Operation]] = set()
        self._joined: dict[Operation, tuple[Value, ...]] = {}

    def visit(self, block: Block) -> None:
        """Takes note of a block's operations and those of their regions."""
        lives, outermost = self.lives, block.parent is None
        for op in block.operations:
            self.count = here = self.count + 1
            shape = op.shape
            if shape.name in _BINDING:
                address = bound_address(op)
                if address is not None:
                    self._bind(root(address[0]), address[1])
            for value in op.inputs + op.outputs:
                if value.__class__ is not Value or value.type.__class__ is not TileType:
                    continue
                life = lives.get(value) if outermost else None
                if life is not None:
                    life.last = here
                elif outermost and (value.owner is block or _stands_for_itself(value)):
                    lives[value] = Life(value, here, op)
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
        life = self.lives.get(tile)
        if life is None:
            self.lives[tile] = Life(tile, here, op)
        else:
            life.last = here
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
            life = self.lives.setdefault(tile, Life(tile, start, op))
            life.first = min(life.first, start)
            life.last = max(life.last, end)

    def _bind(self, value: Value, address: int | None) -> None:
        """A tile that is used before it is bound needs a place of its own until then."""
        if value not in self.lives or value in self.bound:
            self.bound[value] = (*self.bound.get(value, ()), address)


def _outermost(op: Operation, home: Block) -> Operation | None:
    """The operation in ``home`` whose regions hold ``op``; None where ``op`` itself stands in it."""
    holder, block = None, op.block
    while block is not home and block.parent is not None:
        holder = block.parent
        block = holder.block
    return holder


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


def _first_gap(taken: list[_Taken], size: int, ub_size: int) -> int | None:
    at = 0
    for start, end, _, _ in taken:
        if start - at >= size:
            break
        if end > at:
            at = end
    return at if at + size <= ub_size else None
