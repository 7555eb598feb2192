"""A second machine: a bytearray, and the three instructions a byte at a time. Slow, obvious, of `tests/reference.py`.

It knows nothing of the interpreter. What it is told is what a program says: types, addresses, attributes.
"""

from __future__ import annotations

from typing import NamedTuple

from tests import reference

FILL = 0xCD
EMPTY, INPUT, PROGRAM, SPOILED = range(4)


class Tile(NamedTuple):
    """A tile at an address; extents in elements."""

    name: str
    address: int
    kind: str
    rows: int
    cols: int
    valid_rows: int
    valid_cols: int
    col_major: bool = False

    def element(self, row: int, col: int) -> range:
        """The bytes of an element (platform, Tile types)."""
        index = col * self.rows + row if self.col_major else row * self.cols + col
        start = self.address + index * reference.BYTES[self.kind]
        return range(start, start + reference.BYTES[self.kind])

    def valid(self) -> list[int]:
        """The bytes of the valid region, in the order of their addresses."""
        places = [(r, c) for r in range(self.valid_rows) for c in range(self.valid_cols)]
        return sorted(byte for r, c in places for byte in self.element(r, c))

    @property
    def size(self) -> int:
        return self.rows * self.cols * reference.BYTES[self.kind]


class Instruction(NamedTuple):
    """One of the three. `outputs` is (dst,), (dstIdx,) or (dstVal, dstIdx); `flag` is isBinary or descending."""

    name: str
    src: Tile | None
    tmp: Tile | None
    outputs: tuple[Tile, ...]
    flag: bool = False
    start: int = 0


class Unwritten(NamedTuple):
    """What INIT-01 says: the instruction, the tile, the first byte as an offset from its address, and how many."""

    step: int
    tile: str
    offset: int
    missing: int


class Model:
    """The UB, a byte an entry, and what happened to each byte last."""

    def __init__(self, size: int, arch: str) -> None:
        self.arch = arch
        self.bytes = bytearray([FILL] * size)
        self.state = [EMPTY] * size
        self.unwritten: list[Unwritten] = []
        self.sums: list[range] = []

    def give(self, tile: Tile, image: bytes) -> None:
        """Data of an input: the bytes of an image at the tile's place."""
        for byte in tile.valid():
            self.bytes[byte] = image[byte]
            self.state[byte] = INPUT

    def lacks_data(self, tile: Tile) -> bool:
        """Whether a tile that is read is an input without data: nothing has happened to any of its bytes."""
        return all(self.state[byte] == EMPTY for byte in tile.valid())

    def execute(self, step: int, instruction: Instruction) -> None:
        """Reads, spoils scratch, writes (decision D-12)."""
        self.sums = []
        results = self._results(step, instruction)
        for byte in self._scratch(instruction):
            self.bytes[byte] = FILL
            self.state[byte] = SPOILED
        for tile, row in zip(instruction.outputs, results, strict=True):
            for col, bits in enumerate(row):
                place = tile.element(0, col)
                for byte, value in zip(place, bits.to_bytes(len(place), "little"), strict=True):
                    self.bytes[byte] = value
                    self.state[byte] = PROGRAM

    def _results(self, step: int, instruction: Instruction) -> list[list[int]]:
        name, src, _, outputs, flag, start = instruction
        if src is None:
            dst = outputs[0]
            return [reference.tci(_bits(start, dst.kind), dst.valid_cols, dst.kind, flag)]
        rows = self._read(step, src)
        if name == "tcolsum":
            self.sums = [outputs[0].element(0, col) for col in range(src.valid_cols)]
            return [reference.tcolsum(rows, src.kind, flag, self.arch)]
        values = len(outputs) == 2
        minima, indices = reference.tcolargmin(rows, src.kind, outputs[-1].kind, values, self.arch)
        return [minima, indices] if values else [indices]

    def _read(self, step: int, tile: Tile) -> reference.Rows:
        missing = [byte for byte in tile.valid() if self.state[byte] in (EMPTY, SPOILED)]
        if missing:
            self.unwritten.append(Unwritten(step, tile.name, missing[0] - tile.address, len(missing)))
        return [
            [int.from_bytes(bytes(self.bytes[b] for b in tile.element(r, c)), "little") for c in range(tile.valid_cols)]
            for r in range(tile.valid_rows)
        ]

    def _scratch(self, instruction: Instruction) -> list[int]:
        """The bytes of tmp that the target uses, at most all of it (decision D-11)."""
        name, src, tmp, outputs, flag, _ = instruction
        if tmp is None:
            return []
        if name == "tci":
            used = {2: 1792, 4: 768}[reference.BYTES[outputs[0].kind]] if self.arch == "a2a3" else 0
            return list(range(tmp.address, tmp.address + min(used, tmp.size)))
        assert src is not None
        size = reference.BYTES[src.kind]
        if name == "tcolsum":
            rows = (src.valid_rows + 1) // 2 if flag else 0
            return [byte for r in range(rows) for c in range(src.valid_cols) for byte in tmp.element(r, c)]
        if self.arch == "a5":
            return []
        block, repeat = 32 // size, 256 // size
        gap = repeat if src.valid_cols >= repeat else -(-src.valid_cols // block) * block
        regions = 1 if size == 4 else 2 if len(outputs) == 2 else 3
        return list(range(tmp.address, tmp.address + min(regions * gap * size, tmp.size)))


def _bits(number: int, kind: str) -> int:
    """A number from 0 up as an element."""
    if kind in reference.INTEGER_BITS:
        return number
    one: int = 2 ** (reference.MANTISSA_BITS[kind] + 2 ** (reference.EXPONENT_BITS[kind] - 1) - 2)
    return reference.encode(reference.Float(reference.FINITE, False, number * one), kind)
