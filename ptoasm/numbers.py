"""Exact numbers: literals, and rounding to an element type, in integer and ``Fraction`` arithmetic.

Every f16, bf16 and f32 value is a Python float exactly, so a rounded number is given as one.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ptoasm.types import BF16, F16, F32, ElementType

if TYPE_CHECKING:
    from fractions import Fraction

_FORMATS = {F16: (11, -14, 15), BF16: (8, -126, 127), F32: (24, -126, 127)}
"""Bits of precision, least and greatest exponent of a normal number."""


def round_to(element: ElementType, value: Fraction | int | float) -> float:
    """``value`` rounded once to a float type: to nearest, ties to even; too large a magnitude becomes infinite."""
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value) or value == 0):
        return value
    from fractions import Fraction

    exact = Fraction(value)
    if exact == 0:
        return 0.0
    precision, least, greatest = _FORMATS[element]
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, least) - precision + 1)
    rounded = round(magnitude / quantum) * quantum
    if rounded >= Fraction(2) ** (greatest + 1):
        return -math.inf if exact < 0 else math.inf
    return -float(rounded) if exact < 0 else float(rounded)


def exact_in(element: ElementType, start: int | float, length: int, step: int) -> bool:
    """Whether ``start``, ``start + step``, … (``length`` of them) are all values of the element type.

    The first two and the last two decide: of consecutive integers beyond the exact range one of the outer two is odd,
    and a fraction is lost first where the magnitude is largest.
    """
    if length <= 0:
        return True
    if element.is_integer:
        low, high = element.range
        return low <= start <= high and low <= start + step * (length - 1) <= high
    if element not in _FORMATS:
        return True
    first = round_to(element, start)
    if math.isinf(first) or math.isnan(first):
        return True
    from fractions import Fraction

    outer = {0, min(1, length - 1), max(length - 2, 0), length - 1}
    return all(round_to(element, v := Fraction(first) + step * k) == v for k in outer)


@lru_cache(1 << 12)
def literal_number(text: str, element: ElementType) -> int | float | None:
    """The value of a literal as an element of this type, rounded once; None where it is not one.

    An integer type takes integer literals in its range (decision D-06); a float type takes decimal numbers that do not
    round to an infinity, and a hexadecimal literal as a bit pattern.
    """
    if text in ("true", "false"):
        return int(text == "true") if element.bits == 1 else None
    hexadecimal = text.lstrip("-").startswith("0x")
    if element.is_integer or element.kind == "index":
        number = integer(text)
        low, high = element.range
        if number is not None and hexadecimal and element.kind == "int" and high < number < 1 << element.bits:
            return number - (1 << element.bits)
        return number if number is not None and low <= number <= high else None
    if _LITERAL.fullmatch(text) is None:
        return None
    if element.bits == 64 and element.text == "f64":
        return float.fromhex(text) if hexadecimal else _finite(float(text))
    if element not in _FORMATS:
        return None
    if hexadecimal:
        return _from_bits(element, int(text, 16))
    near = float(text)
    if math.isinf(near) or near == 0:
        # Beyond every element type, or rounded to a zero by all of them; the exact number may be too long to write.
        return _finite(near)
    from decimal import Decimal
    from fractions import Fraction

    # Python refuses to make an integer of thousands of digits; Decimal takes them all.
    exact = Fraction(text) if len(text) < _LONGEST_TEXT else Fraction(Decimal(text))
    return _finite(round_to(element, exact))


_LONGEST_TEXT = 1000


def _finite(value: float) -> float | None:
    """None for an infinity: a literal that is too large does not fit (decision D-06)."""
    return None if math.isinf(value) else value


def is_decimal(text: str) -> bool:
    """Whether a literal is a decimal number, and not a bit pattern or a truth value."""
    return "x" not in text and _LITERAL.fullmatch(text) is not None


def largest(element: ElementType) -> float:
    """The largest finite value of a float type."""
    precision, _, greatest = _FORMATS[element]
    return float((2**precision - 1) * 2 ** (greatest + 1 - precision))


@lru_cache(1 << 12)
def integer(text: str) -> int | None:
    """The value of an integer literal, decimal or hexadecimal; None for anything else."""
    if _INTEGER.fullmatch(text) is None:
        return None
    try:
        return int(text, 16 if "x" in text else 10)
    except ValueError:  # more digits than Python reads
        return None


_LITERAL = re.compile(r"[-+]?(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)")
_INTEGER = re.compile(r"[-+]?(?:0x[0-9A-Fa-f]+|[0-9]+)")


REAL = re.compile(r"[-+]?(?:nan|inf|infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)", re.ASCII | re.IGNORECASE)
"""A decimal number, an infinity or a NaN, as comments and options write them."""


def _from_bits(element: ElementType, bits: int) -> float | None:
    """The float with this bit pattern."""
    precision, least, greatest = _FORMATS[element]
    if not 0 <= bits < 1 << element.bits:
        return None
    stored = precision - 1
    sign = -1.0 if bits >> (element.bits - 1) else 1.0
    exponent = bits >> stored & (1 << (element.bits - precision)) - 1
    fraction = bits & (1 << stored) - 1
    if exponent == 2 * greatest + 1:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, least - stored)
    return sign * math.ldexp(fraction | 1 << stored, exponent - greatest - stored)
