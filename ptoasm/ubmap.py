"""Who lives where in the UB, and when: the tiles of a function with their addresses and their first and last use."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from ptoasm.ir import Function, Operation, Value
from ptoasm.placement import ALIASES, Placement, bound_address, place, root
from ptoasm.types import TileType

_NO_USE = ALIASES | {"pto.alloc_tile"}
"""Operations that name a tile and touch none of its bytes."""


class Resident(NamedTuple):
    """A tile at an address, from its first to its last use there; ``given`` is whether the program says the address.

    ``first`` and ``last`` count the function's operations from 0; a tile that nothing uses has None. ``address`` is
    None where only a run knows it, or where there is no room.
    """

    name: str
    type: TileType
    address: int | None
    given: bool
    first: int | None
    last: int | None

    @property
    def size(self) -> int:
        """Bytes."""
        return self.type.size

    @property
    def end(self) -> int | None:
        """The address after its last byte."""
        return None if self.address is None else self.address + self.size

    def lives_with(self, other: Resident) -> bool:
        """Whether both are live at one time."""
        if self.first is None or self.last is None or other.first is None or other.last is None:
            return False
        return self.first <= other.last and other.first <= self.last


class Overlap(NamedTuple):
    """Two tiles that share the bytes from ``start`` to ``end``, and whether both are live at one time."""

    first: Resident
    second: Resident
    start: int
    end: int
    live: bool


class UbMap:
    """The residents of the UB in order of their addresses. ``operations`` are the function's, in source order.

    ``overlaps`` are the pairs that share bytes; where they are very many, ``more`` is set and not all are among them:
    first those that are live at one time.
    """

    def __init__(self, function: Function, ub_size: int) -> None:
        self.function = function
        self.ub_size = ub_size
        self.operations = list(function.walk())
        self.placement: Placement = place(function, ub_size)
        self.residents = sorted(_residents(self), key=_by_address)
        self.overlaps, self.more = _listed(self.residents)

    @property
    def occupied(self) -> int:
        """How many bytes belong to at least one tile."""
        return _union((r.address, r.address + r.size) for r in self.residents if r.address is not None)

    @property
    def peak(self) -> tuple[int, int | None]:
        """The most bytes that are live at one time, and the operation where that is so first."""
        lives = [
            (r.address, r.address + r.size, r.first, r.last)
            for r in self.residents
            if r.address is not None and r.first is not None and r.last is not None
        ]
        edges = sorted({edge for start, end, _, _ in lives for edge in (start, end)})
        at = {edge: k for k, edge in enumerate(edges)}
        changes = [(first, 1, start, end) for start, end, first, _ in lives]
        changes += [(last + 1, -1, start, end) for start, end, _, last in lives]
        tiles = [0] * len(edges)
        best: tuple[int, int | None] = (0, None)
        total = 0
        for time, change, start, end in sorted(changes):
            for k in range(at[start], at[end]):
                tiles[k] += change
                if tiles[k] == (change > 0):
                    total += change * (edges[k + 1] - edges[k])
            if total > best[0]:
                best = total, time
        return best

    def line(self, operation: int) -> int:
        """The line of an operation."""
        return self.function.module.source.position(self.operations[operation].start)[0]


def _by_address(resident: Resident) -> tuple[bool, int, int]:
    return resident.address is None, resident.address or 0, -1 if resident.first is None else resident.first


class _Uses:
    """Where a tile lies from some operation on, and the operations that use it until it gets another place."""

    def __init__(self, address: int | None, given: bool) -> None:
        self.address = address
        self.given = given
        self.first: int | None = None
        self.last: int | None = None

    def use(self, first: int, last: int) -> None:
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)


def _residents(ubmap: UbMap) -> Iterator[Resident]:
    found: dict[Value, list[_Uses]] = {}
    numbers = {op: k for k, op in enumerate(ubmap.operations)}
    ends = _ends(ubmap.operations, numbers)
    for op in ubmap.operations:
        bound = bound_address(op)
        if bound is not None:
            tile = root(bound[0])
            places = found.setdefault(tile, [])
            if places and places[-1].first is None:
                places.pop()  # nothing used it where it was before
            places.append(_Uses(bound[1], given=True))
        for value in dict.fromkeys((*op.inputs, *op.outputs)):
            if isinstance(value, Value) and isinstance(value.type, TileType) and value.type.loc == "vec":
                tile = root(value)
                places = found.setdefault(tile, [])
                if not places:
                    places.append(_Uses(ubmap.placement.addresses.get(tile), given=False))
                if op.shape.name not in _NO_USE:
                    holder = _holder(op, tile)
                    places[-1].use(numbers[holder], ends[holder])
    for tile, places in found.items():
        if isinstance(tile.type, TileType) and tile.type.loc == "vec" and tile.type.size:
            for one in places:
                yield Resident(tile.name, tile.type, one.address, one.given, one.first, one.last)


def _ends(operations: list[Operation], numbers: dict[Operation, int]) -> dict[Operation, int]:
    """The number of the last operation inside of each operation, its own where it has no regions."""
    ends = dict(numbers)
    for op in reversed(operations):
        parent = op.block.parent
        if parent is not None:
            ends[parent] = max(ends[parent], ends[op])
    return ends


def _holder(op: Operation, tile: Value) -> Operation:
    """The operation itself, or the outermost one around it (a loop) that the tile comes into from outside."""
    inside = set()
    block = tile.block
    while block.parent is not None:
        inside.add(block.parent)
        block = block.parent.block
    holder = op
    while holder.block.parent is not None and holder.block.parent not in inside:
        holder = holder.block.parent
    return holder


MOST_OVERLAPS = 500
"""How many pairs are listed: where a buffer is reused n times, there are n * n of them."""


def _listed(residents: list[Resident]) -> tuple[list[Overlap], bool]:
    """The pairs that share bytes, in order of their addresses, and whether there are more."""
    found = list(islice(_overlaps(residents), MOST_OVERLAPS + 1))
    if len(found) <= MOST_OVERLAPS:
        return found, False
    live = list(islice(_live_overlaps(residents), MOST_OVERLAPS))
    others = [overlap for overlap in found if not overlap.live]
    chosen = [*live, *others[: MOST_OVERLAPS - len(live)]]
    return sorted(chosen, key=lambda overlap: (overlap.start, _by_address(overlap.second))), True


def _overlaps(residents: list[Resident]) -> Iterator[Overlap]:
    """Every pair of tiles that share bytes, in order of their addresses."""
    active: list[Resident] = []
    for second in residents:
        if second.address is None:
            continue
        active = [r for r in active if r.address is not None and r.address + r.size > second.address]
        for first in active:
            yield _overlap_of(first, second)
        active.append(second)


def _live_overlaps(residents: list[Resident]) -> Iterator[Overlap]:
    """The pairs that share bytes and are live at one time, in order of their first uses."""
    active: list[Resident] = []
    placed = [r for r in residents if r.address is not None and r.first is not None]
    for one in sorted(placed, key=lambda r: (r.first, *_by_address(r))):
        active = [r for r in active if r.lives_with(one)]
        for other in active:
            first, second = sorted((one, other), key=_by_address)
            overlap = _overlap_of(first, second)
            if overlap.start < overlap.end:
                yield overlap
        active.append(one)


def _overlap_of(first: Resident, second: Resident) -> Overlap:
    """What two tiles share; ``second`` does not lie below ``first``."""
    assert first.address is not None and second.address is not None
    end = min(first.address + first.size, second.address + second.size)
    return Overlap(first, second, second.address, end, first.lives_with(second))


def _union(spans: Iterator[tuple[int, int]]) -> int:
    """How many numbers are in at least one of the half-open spans."""
    total = reached = 0
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0)
        reached = max(reached, end)
    return total
