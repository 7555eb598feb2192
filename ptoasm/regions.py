"""Sets of bytes in the UB: which bytes an operand touches, and whether two operands touch the same ones."""

from __future__ import annotations

from typing import NamedTuple


def address_text(address: int) -> str:
    """An address as messages write it: hexadecimal, unless it is a negative one, which is none."""
    return f"{address:#x}" if address >= 0 else str(address)


class Region(NamedTuple):
    """`count` runs of `run` contiguous bytes each, `stride` >= `run` bytes apart, the first at `start`."""

    start: int
    run: int
    stride: int
    count: int  # type: ignore[assignment]  # the method of tuple that it hides is of no use here

    @classmethod
    def of_tile(
        cls,
        address: int,
        size: int,
        rows: int,
        cols: int,
        valid_rows: int,
        valid_cols: int,
        col_major: bool = False,
    ) -> Region:
        """The valid bytes of a tile at `address`; `size` is bytes an element, the rest is elements."""
        if col_major:
            rows, cols, valid_rows, valid_cols = cols, rows, valid_cols, valid_rows
        run, stride = valid_cols * size, cols * size
        if valid_rows == 1 or run == stride:
            return cls(address, run * valid_rows, run * valid_rows, 1)
        return cls(address, run, stride, valid_rows)

    def bytes(self) -> int:
        """How many bytes are in the region."""
        return self.run * self.count

    @property
    def end(self) -> int:
        """The address after the last byte; `start` if there is none."""
        return self.start + (self.count - 1) * self.stride + self.run if self.bytes() else self.start

    def overlaps(self, other: Region) -> bool:
        """Whether a byte is in both, exactly; the time does not depend on the sizes."""
        if self.end <= other.start or other.end <= self.start or not (self.bytes() and other.bytes()):
            return False
        few, many = (self, other) if self.count <= other.count else (other, self)
        # Only the runs of `few` that reach into the span of `many` count.
        first, last = 0, 0
        if few.count > 1:
            first = max(0, (many.start - few.start - few.run) // few.stride + 1)
            last = min(few.count - 1, (many.end - 1 - few.start) // few.stride)
        if many.count == 1:
            return first <= last
        # Such a run hits a run of `many` if its end, taken modulo the stride, lies less than both lengths
        # behind the start of one. (A run that reaches into the span cannot hit only a run before the first or
        # after the last.)
        offset = few.start + few.run - 1 - many.start + first * few.stride
        return _hits(last - first + 1, many.stride, few.stride, offset, few.run + many.run - 1)


def _hits(n: int, modulus: int, step: int, offset: int, width: int) -> bool:
    """Whether (offset + i * step) mod modulus < width for an i in 0 … n - 1."""
    if n <= 0:
        return False
    if width >= modulus or offset % modulus < width:
        return True
    # floor(x / m) - floor((x - width) / m) is 1 where x mod m < width, else 0.
    return _floor_sum(n, modulus, step, offset) != _floor_sum(n, modulus, step, offset - width)


def _floor_sum(n: int, modulus: int, step: int, offset: int) -> int:
    """The sum of floor((offset + i * step) / modulus) for i in 0 … n - 1, by Euclid's algorithm."""
    total = 0
    while n > 0:
        whole, step = divmod(step, modulus)
        total += whole * (n * (n - 1) // 2)
        whole, offset = divmod(offset, modulus)
        total += whole * n
        # What is left counts the lattice points under a line; seen from the other axis the line is as steep
        # as modulus / step, and has as many points as the floor of its height.
        n, offset = divmod(step * n + offset, modulus)
        modulus, step = step, modulus
    return total
