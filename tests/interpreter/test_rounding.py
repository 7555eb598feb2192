"""Exact conversion of numbers to element types."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from ptoasm.interpreter.rounding import nearest
from tests import reference
from tests.interpreter import support
from tests.interpreter.support import DTYPES

FLOATS = ["f16", "bf16", "f32"]


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        # The first is halfway between two elements for a float64, but a trace above halfway itself.
        (Fraction(257) + Fraction(1, 10**30), "bf16", 258.0),
        (257, "bf16", 256.0),
        (2**24 + 1, "f32", 2.0**24),
        (2**60 + 2**36 + 1, "f32", 2.0**60 + 2.0**37),
        (Decimal("0.1"), "f16", 0.0999755859375),
        (65519.99, "f16", 65504.0),
        (Fraction(1, 10**5000), "f32", 0.0),
        (np.float32(1.5), "bf16", 1.5),
        (DTYPES["bf16"].type(1.5), "f16", 1.5),
        (np.int64(3), "f16", 3.0),
        (True, "f32", 1.0),
    ],
)
def test_rounds_once(value: Any, kind: str, expected: float) -> None:
    result = nearest(value, DTYPES[kind])
    assert (result.dtype, float(result)) == (DTYPES[kind], expected)


@pytest.mark.parametrize("kind", FLOATS)
def test_special_values(kind: str) -> None:
    for value in (np.inf, -np.inf, np.float16(np.inf), Decimal("-Infinity")):
        assert float(nearest(value, DTYPES[kind])) == float(value)
    for value in (np.nan, DTYPES["bf16"].type(np.nan), Decimal("nan")):
        assert np.isnan(float(nearest(value, DTYPES[kind])))
    for zero in (-0.0, np.float32(-0.0), DTYPES["bf16"].type(-0.0), Fraction(-1, 10**5000)):
        assert np.signbit(nearest(zero, DTYPES[kind]))
    assert not np.signbit(nearest(0, DTYPES[kind]))


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (65520, "f16", "65520 does not fit a float16: its largest value is 65504.0"),
        (10**400, "f32", "does not fit a float32"),
        (-(2.0**128), "bf16", "does not fit a bfloat16"),
        (40000, "i16", "40000 does not fit int16: its range is -32768 to 32767"),
        (-1, "ui32", "-1 does not fit uint32: its range is 0 to 4294967295"),
    ],
)
def test_too_large(value: Any, kind: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nearest(value, DTYPES[kind])


WRONG: list[tuple[Any, str]] = [(1.0, "i32"), ("1", "i32"), ("1", "f32"), (1j, "f32"), (None, "f16")]


@pytest.mark.parametrize(("value", "kind"), WRONG)
def test_not_a_number_of_the_kind(value: Any, kind: str) -> None:
    with pytest.raises(TypeError):
        nearest(value, DTYPES[kind])


halfway = Fraction(1, 2)
trace = Fraction(1, 10**30)
corners = st.sampled_from([Fraction(0), trace, halfway - trace, halfway, halfway + trace, 1 - trace])
shares = corners | st.fractions(0, 1)


@given(st.data(), st.sampled_from(FLOATS), shares, st.booleans())
def test_between_two_neighbours(data: st.DataObject, kind: str, share: Fraction, negative: bool) -> None:
    mantissa_bits, exponent_bits = reference.MANTISSA_BITS[kind], reference.EXPONENT_BITS[kind]
    infinity = (2**exponent_bits - 1) * 2**mantissa_bits
    bits = data.draw(st.integers(0, infinity - 2))
    scale = 2 ** (mantissa_bits + 2 ** (exponent_bits - 1) - 2)
    below, above = (Fraction(reference.decode(b, kind).units, scale) for b in (bits, bits + 1))
    value = below + (above - below) * share
    up = share > halfway or (share == halfway and bits % 2 == 1)
    result = nearest(-value if negative else value, DTYPES[kind])
    sign = 2 ** (8 * reference.BYTES[kind] - 1) if negative and value else 0
    assert support.pattern(result.reshape(1, 1)) == [[bits + up + sign]]
