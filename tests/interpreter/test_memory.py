"""The simulated UB: addresses of elements, who wrote which byte, and what was not written."""

from typing import NamedTuple

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given

from ptoasm.interpreter.memory import FILL, Memory

F32 = np.dtype(np.float32)
U16 = np.dtype(np.uint16)


class Tile(NamedTuple):
    address: int
    dtype: np.dtype[np.uint16]
    rows: int
    cols: int
    valid_rows: int
    valid_cols: int
    col_major: bool

    def byte(self, row: int, col: int) -> int:
        """The address of an element (platform, Tile types)."""
        index = col * self.rows + row if self.col_major else row * self.cols + col
        return self.address + index * self.dtype.itemsize

    def valid_bytes(self) -> list[int]:
        places = [self.byte(r, c) for r in range(self.valid_rows) for c in range(self.valid_cols)]
        return sorted(place + i for place in places for i in range(self.dtype.itemsize))


@st.composite
def tiles(draw: st.DrawFn) -> Tile:
    rows, cols = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    valid = draw(st.integers(0, rows)), draw(st.integers(0, cols))
    return Tile(draw(st.integers(0, 40)), U16, rows, cols, *valid, draw(st.booleans()))


def test_starts_with_a_pattern_that_is_not_zero() -> None:
    memory = Memory(64)
    assert FILL != 0
    assert (memory.data == FILL).all()
    assert not memory.writer.any()


def test_row_major_and_column_major() -> None:
    memory = Memory(256)
    memory.view(0, F32, 2, 8, 2, 8)[...] = np.arange(16).reshape(2, 8)
    assert memory.data.view(np.float32)[:16].tolist() == list(range(16))
    assert memory.view(0, F32, 2, 8, 2, 3).tolist() == [[0, 1, 2], [8, 9, 10]]
    assert memory.view(0, F32, 8, 2, 3, 2, col_major=True).tolist() == [[0, 8], [1, 9], [2, 10]]
    assert memory.view(32, F32, 1, 8, 1, 2).tolist() == [[8, 9]]


def test_bfloat16_view() -> None:
    memory = Memory(64)
    memory.view(2, np.dtype(ml_dtypes.bfloat16), 1, 2, 1, 2)[...] = 1
    assert memory.data[2:6].tolist() == [0x80, 0x3F, 0x80, 0x3F]


def test_views_see_a_reset() -> None:
    memory = Memory(64)
    view = memory.view(0, F32, 1, 8, 1, 8)
    view[...] = 1
    memory.bytes_view(0, F32, 1, 8, 1, 8)[...] = 3
    memory.reset()
    assert (view.view(np.uint8) == FILL).all()
    assert memory.first_unwritten(0, F32, 1, 8, 1, 8) == (0, 32)


def test_clobber() -> None:
    memory = Memory(64)
    memory.view(0, F32, 1, 16, 1, 16)[...] = 0
    memory.bytes_view(0, F32, 1, 16, 1, 16)[...] = 5
    memory.clobber(8, 4)
    assert memory.data[6:14].tolist() == [0, 0, FILL, FILL, FILL, FILL, 0, 0]
    assert memory.writer[6:14].tolist() == [5, 5, 0, 0, 0, 0, 5, 5]
    assert memory.first_unwritten(0, F32, 1, 16, 1, 16) == (8, 4)


def test_first_unwritten_counts_valid_bytes_only() -> None:
    memory = Memory(256)
    memory.bytes_view(32, F32, 4, 8, 2, 3)[...] = 1
    assert memory.first_unwritten(32, F32, 4, 8, 2, 3) is None
    assert memory.first_unwritten(32, F32, 4, 8, 2, 4) == (12, 8)
    assert memory.first_unwritten(32, F32, 4, 8, 3, 3) == (64, 12)


@pytest.mark.parametrize(("address", "rows"), [(-4, 1), (224, 3), (256, 1), (260, 1)])
def test_outside_of_the_memory(address: int, rows: int) -> None:
    memory = Memory(256)
    for make in (memory.view, memory.bytes_view, memory.first_unwritten):
        with pytest.raises(ValueError, match="not inside the UB, which has 256 bytes"):
            make(address, F32, rows, 8, rows, 8)
    with pytest.raises(ValueError, match="not inside"):
        memory.clobber(address, 32 * rows)


def test_only_valid_elements_need_to_be_inside() -> None:
    memory = Memory(64)
    assert memory.view(32, F32, 4, 8, 1, 8).shape == (1, 8)
    assert memory.view(64, F32, 4, 8, 0, 8).shape == (0, 8)


@given(tiles(), tiles())
def test_against_a_list_of_bytes(one: Tile, other: Tile) -> None:
    memory = Memory(256)
    writer = [0] * 256
    for event, tile in enumerate((one, other), 1):
        memory.bytes_view(*tile)[...] = event
        for byte in tile.valid_bytes():
            writer[byte] = event
    assert memory.writer.tolist() == writer
    memory.clobber(20, 30)
    missing = [byte for byte in one.valid_bytes() if not writer[byte] or 20 <= byte < 50]
    expected = (missing[0] - one.address, len(missing)) if missing else None
    assert memory.first_unwritten(*one) == expected
    assert bool(memory.bytes_view(*one).all()) == (not missing)


@given(tiles())
def test_elements_lie_where_the_layout_says(tile: Tile) -> None:
    memory = Memory(256)
    memory.data[:] = np.arange(256)
    view = memory.view(*tile)
    assert view.shape == (tile.valid_rows, tile.valid_cols)
    for row in range(tile.valid_rows):
        for col in range(tile.valid_cols):
            byte = tile.byte(row, col)
            assert view[row, col] == byte + 256 * (byte + 1)
