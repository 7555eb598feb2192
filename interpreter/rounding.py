"""Exact conversion of a number to an element type: rounded once, to nearest, ties to even."""

import math
import operator
import reprlib
from fractions import Fraction
from typing import Any

import numpy as np

FORMATS = {"float16": (11, -14, 15), "bfloat16": (8, -126, 127), "float32": (24, -126, 127)}
"""Bits of the significand with the hidden one, exponents of the smallest and of the largest normal number."""


def nearest(value: Any, dtype: np.dtype[Any]) -> Any:
    """`value` as a NumPy scalar of `dtype` (an integer type, float16, bfloat16 or float32).

    `value` may be any real number of any precision: int, float, Fraction, Decimal or a NumPy scalar.
    ValueError if an integer is outside of the type's range or a finite number rounds to infinity; TypeError
    if it is not a number, or not an integer where the type is one.
    """
    if dtype.kind in "iu":
        return _integer(value, dtype)
    exact = _exact(value)
    if exact is None:
        return dtype.type(float(value))
    precision, smallest, largest = FORMATS[dtype.name]
    rounded = _round(exact, precision, smallest)
    limit = Fraction(2) ** (largest + 1) - Fraction(2) ** (largest + 1 - precision)
    if abs(rounded) > limit:
        raise ValueError(f"{shown(value)} does not fit a {dtype.name}: its largest value is {float(limit)}")
    # Only the float knows the sign of a zero.
    return dtype.type(math.copysign(float(rounded), exact or float(value)))


def _integer(value: Any, dtype: np.dtype[Any]) -> Any:
    try:
        whole = operator.index(value)
    except TypeError:
        raise TypeError(f"{dtype.name} takes an integer; got {shown(value)}") from None
    least, greatest = np.iinfo(dtype).min, np.iinfo(dtype).max
    if not least <= whole <= greatest:
        raise ValueError(f"{shown(whole)} does not fit {dtype.name}: its range is {least} to {greatest}")
    return dtype.type(whole)


def _exact(value: Any) -> Fraction | None:
    """The number without any rounding; None if it is an infinity or a NaN."""
    if isinstance(value, str | bytes):
        raise _no_number(value)
    try:
        # Fractions and Decimals may be finer than a float; NumPy's integers and bfloat16 have no ratio of
        # their own.
        exact = value if hasattr(value, "as_integer_ratio") else _plain(value)
        return Fraction(*exact.as_integer_ratio())
    except (OverflowError, ValueError):
        return None


def _plain(value: Any) -> int | float:
    try:
        return operator.index(value)
    except TypeError:
        try:
            return float(value)
        except TypeError:
            raise _no_number(value) from None


def _no_number(value: Any) -> TypeError:
    return TypeError(f"a number is required; got {shown(value)}")


def shown(value: Any) -> str:
    """What was given, for a message: a fraction, which is how decimals are kept exactly, as the decimal that it was."""
    if isinstance(value, int | Fraction) and not -_TOO_LONG < value < _TOO_LONG:
        return "a number of more than 40 digits"
    if isinstance(value, Fraction):
        return str(float(value))
    return str(value) if isinstance(value, int | float | np.generic) else reprlib.repr(value)


_TOO_LONG = 10**40


def _round(value: Fraction, precision: int, smallest: int) -> Fraction:
    """The nearest multiple of the unit in the last place; the exponent has no upper end."""
    if not value:
        return value
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, smallest) - precision + 1)
    return round(value / unit) * unit
