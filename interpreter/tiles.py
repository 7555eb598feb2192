"""Tiles of a run: the places in memory that values stand for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptoasm.interpreter.dtypes import dtype_of
from ptoasm.interpreter.kernels import Array
from ptoasm.interpreter.memory import Memory
from ptoasm.ir import Value
from ptoasm.regions import Region
from ptoasm.types import TileType

_REMEMBERED = 4096


class Views(NamedTuple):
    """Elements in memory, shape (rows, cols), and the writers of their bytes in the order of their addresses."""

    data: Array
    writers: Array

    @property
    def written(self) -> bool:
        """Whether every byte was written."""
        return bool(self.writers.min(initial=1) > 0)


class Place(NamedTuple):
    """Where elements lie: the first ``rows`` x ``cols`` of a tile of type ``storage`` at ``address`` (bytes)."""

    memory: Memory
    address: int
    storage: TileType
    rows: int
    cols: int

    def views(self) -> Views:
        """The elements and who wrote them. ValueError outside of the memory."""
        found: Views | None = self.memory.cache.get(self)
        if found is None:
            storage = self.storage
            dtype = dtype_of(storage.element)
            assert dtype is not None
            extents = (storage.rows, storage.cols, self.rows, self.cols)
            at = (self.address, dtype, *extents, storage.blayout == "col_major")
            found = Views(self.memory.view(*at), self.memory.bytes_view(*at))
            if len(self.memory.cache) >= _REMEMBERED:
                self.memory.cache.clear()
            self.memory.cache[self] = found
        return found

    @property
    def region(self) -> Region:
        """The bytes of the elements."""
        storage = self.storage
        return Region.of_tile(
            self.address,
            storage.element.size,
            storage.rows,
            storage.cols,
            self.rows,
            self.cols,
            storage.blayout == "col_major",
        )

    def bytes_of(self, array: Array) -> Array:
        """The bytes of an array of this place's elements in the order of their addresses: (runs, bytes of a run)."""
        region = self.region
        ordered = array.T if self.storage.blayout == "col_major" else array
        return ordered.copy(order="C").reshape(-1).view(np.uint8).reshape(region.count, region.run)

    def put_where(self, array: Array, mask: Array) -> None:
        """Writes those bytes of an array that the mask, of the shape of the writers, selects."""
        self.memory.runs(self.region)[mask] = self.bytes_of(array)[mask]

    def first_unwritten(self) -> tuple[int, int]:
        """The offset of the first unwritten byte from the tile's address, and how many there are."""
        storage = self.storage
        dtype = dtype_of(storage.element)
        assert dtype is not None
        extents = (storage.rows, storage.cols, self.rows, self.cols)
        return self.memory.first_unwritten(self.address, dtype, *extents, storage.blayout == "col_major") or (0, 0)


class TileRef:
    """A tile of a run: where it lies and how much of it is valid.

    ``storage`` is the type whose strides it has: a subview has its parent's. ``memory`` is the UB or, for a tile that
    is not in the UB, a memory of its own. ``whole`` is the tile that this one is a part of, else itself. ``open`` is
    whether nothing has said yet how much of it is valid (a ``?`` in its type, no operand, no data): what writes it
    decides.
    """

    __slots__ = ("address", "cols", "memory", "open", "rows", "storage", "type", "value", "whole")

    def __init__(
        self,
        value: Value,
        type_: TileType,
        memory: Memory,
        address: int,
        rows: int,
        cols: int,
        storage: TileType | None = None,
        whole: TileRef | None = None,
    ) -> None:
        self.value = value
        self.type = type_
        self.memory = memory
        self.address = address
        self.rows = rows
        self.cols = cols
        self.storage = storage or type_
        self.whole = whole or self
        self.open = False

    def place(self, rows: int | None = None, cols: int | None = None) -> Place:
        """Where its valid region lies, or its first ``rows`` x ``cols`` elements."""
        return Place(
            self.memory,
            self.address,
            self.storage,
            self.rows if rows is None else rows,
            self.cols if cols is None else cols,
        )

    def resize(self, rows: int, cols: int) -> None:
        """Says how much of it is valid."""
        self.rows, self.cols, self.open = rows, cols, False
