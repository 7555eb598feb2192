"""TCI against cases worked out by hand and against the reference."""

import warnings
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from ptoasm.interpreter.kernels import Call, lookup
from ptoasm.interpreter.kernels.tci import MAX_LENGTH
from tests import reference
from tests.interpreter import support
from tests.interpreter.support import DTYPES, Array


def tci(start: Any, n: int, kind: str, descending: bool = False, arch: str = "a2a3") -> Array:
    call = Call(arch, {"descending": descending}, (support.spec(kind, 1, 1),), (support.spec(kind, 1, n),))
    return support.run("tci", call, DTYPES[kind].type(start))[0]


@pytest.mark.parametrize("kind", support.SEQUENCE["a2a3"])
def test_counts_up_and_down(kind: str) -> None:
    assert tci(100, 4, kind).tolist() == [[100, 101, 102, 103]]
    assert tci(100, 4, kind, descending=True).tolist() == [[100, 99, 98, 97]]
    assert tci(7, 1, kind).tolist() == [[7]]


def test_integers_wrap() -> None:
    assert tci(32766, 4, "i16").tolist() == [[32766, 32767, -32768, -32767]]
    assert tci(1, 3, "ui32", descending=True).tolist() == [[1, 0, 2**32 - 1]]
    assert tci(0, 65538, "ui16")[0, -3:].tolist() == [65535, 0, 1]


def test_each_element_is_rounded_once() -> None:
    # In f16, 2048 + 1 and 2048 + 3 are ties and go to the even neighbours; the steps do not accumulate.
    assert tci(2048, 5, "f16").tolist() == [[2048, 2048, 2050, 2052, 2052]]
    # In f16, 2048 is exact and k = 2049 is not a float16; S + k is formed before anything is rounded.
    assert tci(0.5, 2050, "f16")[0, -1] == 2050
    assert tci(2.0**24, 4, "f32").tolist() == [[2**24, 2**24, 2**24 + 2, 2**24 + 4]]


def test_bfloat16_is_not_rounded_twice() -> None:
    # 257 is halfway between the bfloat16 256 and 258; the smallest trace of S decides, and float32 would lose
    # it.
    tiny = 2.0**-100
    assert tci(0, 258, "bf16")[0, 257] == 256
    assert tci(tiny, 258, "bf16")[0, 257] == 258
    assert tci(-tiny, 258, "bf16")[0, 257] == 256
    assert tci(tiny, 260, "bf16")[0, 259] == 260
    assert tci(-tiny, 260, "bf16")[0, 259] == 258
    assert tci(tiny, 258, "bf16", descending=True)[0, 257] == -256
    assert tci(-tiny, 258, "bf16", descending=True)[0, 257] == -258
    # 1024 apart here; 512 - 2^-6 + 2^-8 is just below halfway, and to 24 bits it is odd already.
    k = 2**17 + 1024 + 511
    assert tci(0.98828125, k + 1, "bf16")[0, k] == 2**17 + 1024


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32"])
def test_infinities_nans_and_zeros(kind: str) -> None:
    assert np.isposinf(tci(np.inf, 3, kind).astype(np.float32)).all()
    assert np.isneginf(tci(-np.inf, 3, kind).astype(np.float32)).all()
    assert np.isnan(tci(np.nan, 3, kind).astype(np.float32)).all()
    assert not np.signbit(tci(-0.0, 1, kind)).any()
    assert np.signbit(tci(-0.0, 1, kind, descending=True)).all()
    assert not np.signbit(tci(0.0, 1, kind, descending=True)).any()
    assert not np.signbit(tci(-1, 2, kind))[0, 1]


def test_overflow_to_infinity_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # 65520 is halfway between the largest float16, 65504, and the power of two that it lacks.
        assert tci(65504, 17, "f16")[0, -2:].tolist() == [65504, np.inf]
        assert tci(-65504, 17, "f16", descending=True)[0, -1] == -np.inf


def test_too_long() -> None:
    call = Call("a5", {}, (support.spec("i32", 1, 1),), (support.spec("i32", 1, MAX_LENGTH + 1),))
    plan = lookup("tci")
    assert plan is not None
    with pytest.raises(ValueError, match="at most 16777216 elements; got 16777217"):
        plan(call)


lengths = st.one_of(st.integers(1, 20), st.integers(1, 600), st.integers(2000, 2100), st.just(4099))


@st.composite
def starts(draw: st.DrawFn, kind: str) -> int:
    """Bit patterns: any, corners, and (floats) magnitudes near those that k reaches."""
    if kind in reference.INTEGER_BITS:
        return draw(st.integers(0, 2 ** reference.INTEGER_BITS[kind] - 1) | st.sampled_from(support.special_bits(kind)))
    mantissa = 2 ** reference.MANTISSA_BITS[kind]
    one = 2 ** (reference.EXPONENT_BITS[kind] - 1) - 1
    most = 2 ** (8 * reference.BYTES[kind]) - 1
    near = st.integers((one - 14) * mantissa, min((one + 34) * mantissa, most // 2))
    signed = st.tuples(near, st.booleans()).map(lambda pair: pair[0] + pair[1] * (most // 2 + 1))
    return draw(st.integers(0, most) | st.sampled_from(support.special_bits(kind)) | signed)


@support.examples(640)
@given(st.data(), lengths, st.booleans(), st.sampled_from(support.ARCHS))
def test_against_the_reference(data: st.DataObject, n: int, descending: bool, arch: str) -> None:
    kind = data.draw(st.sampled_from(support.SEQUENCE[arch]))
    bits = data.draw(starts(kind))
    start = np.array(bits, f"u{reference.BYTES[kind]}").view(DTYPES[kind])[()]
    call = Call(arch, {"descending": descending}, (support.spec(kind, 1, 1),), (support.spec(kind, 1, n),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        actual = support.pattern(support.run("tci", call, start)[0])[0]
    assert support.same(actual, reference.tci(bits, n, kind, descending), kind, nans_alike=True)
