"""A second implementation of the three instructions: slow, obvious, independent of NumPy and ml_dtypes.

Elements are bit patterns (integers from 0 up), arrays are lists of rows of them, types have the names of the
dialect. A finite float is decoded into an integer, the number of times that the smallest subnormal goes into
it, so that every sum is exact; it is rounded once, when it is encoded.
"""

from typing import NamedTuple

Rows = list[list[int]]

MANTISSA_BITS = {"f16": 10, "bf16": 7, "f32": 23}
EXPONENT_BITS = {"f16": 5, "bf16": 8, "f32": 8}
INTEGER_BITS = {"i8": 8, "i16": 16, "i32": 32, "ui8": 8, "ui16": 16, "ui32": 32}
BYTES = {"i8": 1, "ui8": 1, "i16": 2, "ui16": 2, "f16": 2, "bf16": 2, "i32": 4, "ui32": 4, "f32": 4}

NAN = "nan"
INFINITY = "infinity"
FINITE = "finite"


class Float(NamedTuple):
    """`units` (zero or positive) counts smallest subnormals; it is 0 for an infinity and a NaN."""

    kind: str
    negative: bool
    units: int

    @property
    def signed(self) -> int:
        return -self.units if self.negative else self.units


def decode(bits: int, kind: str) -> Float:
    """IEEE 754, 3.4: sign, biased exponent, trailing significand."""
    mantissa_bits, exponent_bits = MANTISSA_BITS[kind], EXPONENT_BITS[kind]
    mantissa = bits % 2**mantissa_bits
    exponent = bits // 2**mantissa_bits % 2**exponent_bits
    negative = bits // 2 ** (mantissa_bits + exponent_bits) == 1
    if exponent == 2**exponent_bits - 1:
        return Float(NAN if mantissa else INFINITY, negative, 0)
    if exponent == 0:
        return Float(FINITE, negative, mantissa)
    return Float(FINITE, negative, (2**mantissa_bits + mantissa) * 2 ** (exponent - 1))


def encode(value: Float, kind: str) -> int:
    """IEEE 754, 4.3.1: to nearest, ties to even; half a unit or more above the largest, infinity."""
    mantissa_bits, exponent_bits = MANTISSA_BITS[kind], EXPONENT_BITS[kind]
    sign: int = 2 ** (mantissa_bits + exponent_bits) if value.negative else 0
    infinity: int = (2**exponent_bits - 1) * 2**mantissa_bits
    if value.kind == NAN:
        return infinity + 1
    if value.kind == INFINITY:
        return sign + infinity
    dropped = max(value.units.bit_length() - (mantissa_bits + 1), 0)
    significand = nearest_even(value.units, 2**dropped)
    hidden: int = 2**mantissa_bits
    if significand == 2 * hidden:  # rounded up to the next power of two
        significand, dropped = hidden, dropped + 1
    if significand < hidden:  # subnormal
        return sign + significand
    if dropped + 1 >= 2**exponent_bits - 1:
        return sign + infinity
    return sign + (dropped + 1) * hidden + significand - hidden


def nearest_even(number: int, unit: int) -> int:
    """`number` / `unit` to the nearest integer, ties to even."""
    below, rest = divmod(number, unit)
    if 2 * rest < unit:
        return below
    if 2 * rest > unit:
        return below + 1
    return below + below % 2


def exact_sum(a: Float, b: Float) -> Float:
    """IEEE 754, 5.4.1, 6.1, 6.2 and 6.3."""
    if NAN in (a.kind, b.kind):
        return Float(NAN, False, 0)
    if a.kind == INFINITY and b.kind == INFINITY:
        return a if a.negative == b.negative else Float(NAN, False, 0)
    if a.kind == INFINITY:
        return a
    if b.kind == INFINITY:
        return b
    total = a.signed + b.signed
    if total == 0:
        return Float(FINITE, a.negative and b.negative, 0) if a.units == 0 else Float(FINITE, False, 0)
    return Float(FINITE, total < 0, abs(total))


def add(a: int, b: int, kind: str) -> int:
    """One addition of two elements, the result an element."""
    if kind in INTEGER_BITS:
        modulus: int = 2 ** INTEGER_BITS[kind]
        return (a + b) % modulus
    return encode(exact_sum(decode(a, kind), decode(b, kind)), kind)


def add_rows(a: list[int], b: list[int], kind: str) -> list[int]:
    return [add(x, y, kind) for x, y in zip(a, b, strict=True)]


def tcolsum(rows: Rows, kind: str, binary: bool, arch: str) -> list[int]:
    """The bit patterns of the one row of sums."""
    return tree_sum(rows, kind, arch) if binary else sequential_sum(rows, kind)


def sequential_sum(rows: Rows, kind: str) -> list[int]:
    total = rows[0]
    for row in rows[1:]:
        total = add_rows(total, row, kind)
    return total


def tree_sum(rows: Rows, kind: str, arch: str) -> list[int]:
    if len(rows) == 1:
        zeros = [0] * len(rows[0])
        return rows[0] if arch == "a2a3" else add_rows(rows[0], zeros, kind)
    while len(rows) > 1:
        pairs = len(rows) // 2
        step = [add_rows(rows[2 * i], rows[2 * i + 1], kind) for i in range(pairs)]
        if len(rows) % 2 == 1:
            where = 0 if arch == "a2a3" else pairs - 1
            step[where] = add_rows(step[where], rows[-1], kind)
        rows = step
    return rows[0]


def number(bits: int, kind: str) -> int | None:
    """A value that compares as the element does; None for a NaN."""
    if kind in INTEGER_BITS:
        return signed(bits, INTEGER_BITS[kind]) if kind[0] == "i" else bits
    value = decode(bits, kind)
    if value.kind == NAN:
        return None
    if value.kind == INFINITY:
        return -(2**300) if value.negative else 2**300
    return value.signed


def signed(bits: int, width: int) -> int:
    """Two's complement: what the lowest `width` bits of an integer mean."""
    bits %= 2**width
    return bits - 2**width if bits >= 2 ** (width - 1) else bits


def argmin(column: list[int], kind: str) -> int:
    best = 0
    for i, bits in enumerate(column):
        value, least = number(bits, kind), number(column[best], kind)
        if least is None:
            break
        if value is None or value < least:
            best = i
    return best


def tcolargmin(rows: Rows, kind: str, index_kind: str, values: bool, arch: str) -> tuple[list[int], list[int]]:
    """The bit patterns of the minima and of the indices."""
    minima, indices = [], []
    for j in range(len(rows[0])):
        column = [row[j] for row in rows]
        index = argmin(column, kind)
        minima.append(column[index])
        if not values and arch == "a2a3" and BYTES[kind] == 2:
            index = through_half(index)
        indices.append(index % 2 ** INTEGER_BITS[index_kind])
    return minima, indices


def through_half(index: int) -> int:
    """s16 -> f16 -> s32: 11 significant bits are kept, to nearest, ties away from zero."""
    number = signed(index, 16)
    unit = 1
    while abs(number) >= unit * 2**11:
        unit *= 2
    below, rest = divmod(abs(number), unit)
    size = (below + 1 if 2 * rest >= unit else below) * unit
    return size if number >= 0 else -size


def tci(start: int, length: int, kind: str, descending: bool) -> list[int]:
    """The bit patterns of start + k, or of start - k."""
    if kind in INTEGER_BITS:
        width = INTEGER_BITS[kind]
        return [(start - k if descending else start + k) % 2**width for k in range(length)]
    one = 2 ** (MANTISSA_BITS[kind] + 2 ** (EXPONENT_BITS[kind] - 1) - 2)
    first = decode(start, kind)
    return [encode(exact_sum(first, Float(FINITE, descending, k * one)), kind) for k in range(length)]
