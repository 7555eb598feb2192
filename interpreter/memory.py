"""The simulated UB: its bytes, views of the tiles in them, and which event wrote each byte last."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoasm.regions import Region

FILL = 0xCD
"""What a byte holds that nothing wrote: no zero, so that a program that relies on zeros shows it."""
SPOILED = -1
"""The writer of a byte that an instruction used as scratch: it holds `FILL` and counts as not written."""


_LINE = 64


def _aligned(size: int) -> NDArray[np.uint8]:
    """Bytes that begin with a line of the processor's cache, as addresses in the UB do: sums are a tenth faster."""
    room = np.empty(size + _LINE, np.uint8)
    start = -room.__array_interface__["data"][0] % _LINE
    return room[start : start + size]


class Memory:
    """`size` bytes of UB. The arrays stay the same for good: views of them survive `reset`."""

    __slots__ = ("cache", "data", "size", "writer")

    data: NDArray[np.uint8]
    """The bytes, shape (size,)."""
    writer: NDArray[np.int32]
    """The number of the event that wrote each byte last, shape (size,); 0 where none did, `SPOILED` in scratch."""
    cache: dict[Any, Any]
    """What callers remember about places in this memory."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.data = _aligned(size)
        self.data[...] = FILL
        self.writer = np.zeros(size, np.int32)
        self.cache = {}

    def reset(self) -> None:
        """Back to the state of a new UB."""
        self.clobber(0, self.size)

    def clobber(self, address: int, nbytes: int) -> None:
        """Overwrite `nbytes` bytes with the fill pattern; they count as not written."""
        self._check(address, address + nbytes)
        self.data[address : address + nbytes] = FILL
        self.writer[address : address + nbytes] = 0

    def view(
        self,
        address: int,
        dtype: np.dtype[Any],
        rows: int,
        cols: int,
        valid_rows: int,
        valid_cols: int,
        col_major: bool = False,
    ) -> NDArray[Any]:
        """The valid region of a tile of `rows` x `cols` elements at byte `address`: (valid_rows, valid_cols).

        The view is writable and shares the memory of `data`. ValueError if a valid byte is outside of the UB.
        """
        size = dtype.itemsize
        region = Region.of_tile(address, size, rows, cols, valid_rows, valid_cols, col_major)
        self._check(address, region.end)
        strides = (size, rows * size) if col_major else (cols * size, size)
        return np.ndarray((valid_rows, valid_cols), dtype, self.data, address, strides)

    def bytes_view(
        self,
        address: int,
        dtype: np.dtype[Any],
        rows: int,
        cols: int,
        valid_rows: int,
        valid_cols: int,
        col_major: bool = False,
    ) -> NDArray[np.int32]:
        """`writer` of the same bytes in the order of their addresses: (runs, bytes of a run), writable.

        `bytes_view(…)[...] = event` marks the region, `bytes_view(…).min(initial=1) > 0` asks whether all of it
        was written.
        """
        return self.writers(Region.of_tile(address, dtype.itemsize, rows, cols, valid_rows, valid_cols, col_major))

    def runs(self, region: Region) -> NDArray[np.uint8]:
        """The bytes of a region in the order of their addresses: (runs, bytes of a run), writable."""
        self._check(region.start, region.end)
        return np.ndarray((region.count, region.run), np.uint8, self.data, region.start, (region.stride, 1))

    def first_unwritten(
        self,
        address: int,
        dtype: np.dtype[Any],
        rows: int,
        cols: int,
        valid_rows: int,
        valid_cols: int,
        col_major: bool = False,
    ) -> tuple[int, int] | None:
        """The first valid byte that nothing wrote, as an offset from `address`, and their number; or None."""
        region = Region.of_tile(address, dtype.itemsize, rows, cols, valid_rows, valid_cols, col_major)
        missing = self.writers(region) <= 0
        count = int(np.count_nonzero(missing))
        if not count:
            return None
        run, byte = divmod(int(missing.argmax()), region.run)
        return run * region.stride + byte, count

    def writers(self, region: Region) -> NDArray[np.int32]:
        """`writer` of the bytes of a region in the order of their addresses: (runs, bytes of a run), writable."""
        self._check(region.start, region.end)
        size = self.writer.itemsize
        return np.ndarray(
            (region.count, region.run),
            np.int32,
            self.writer,
            region.start * size,
            (region.stride * size, size),
        )

    def _check(self, start: int, end: int) -> None:
        if not 0 <= start <= end <= self.size:
            raise ValueError(f"bytes {start} to {end - 1} are not inside the UB, which has {self.size} bytes")
