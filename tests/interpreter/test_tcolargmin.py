"""TCOLARGMIN against cases worked out by hand and against the reference."""

import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from ptoasm.interpreter.kernels import Call
from ptoasm.interpreter.kernels.tcolargmin import half_index
from tests import reference
from tests.interpreter import support
from tests.interpreter.support import DTYPES, Array


def tcolargmin(src: Array, index: str, values: bool, arch: str) -> tuple[Array, ...]:
    kind = next(name for name, dtype in DTYPES.items() if dtype == src.dtype)
    rows, cols = src.shape
    outputs = [support.spec(kind, 1, cols)] * values + [support.spec(index, 1, cols)]
    return support.run("tcolargmin", Call(arch, {}, (support.spec(kind, rows, cols),), tuple(outputs)), src)


def test_index_and_value() -> None:
    src = np.array([[3, 1, 7], [2, 5, 7], [9, 0, 7]], np.float32)
    for arch in support.ARCHS:
        assert tcolargmin(src, "i32", False, arch)[0].tolist() == [[1, 2, 0]]
        value, index = tcolargmin(src, "ui32", True, arch)
        assert value.tolist() == [[2, 0, 7]]
        assert index.tolist() == [[1, 2, 0]]


@pytest.mark.parametrize("cols", [1, 8, 600])
@pytest.mark.parametrize("kind", ["f16", "f32"])
@pytest.mark.parametrize("layout", ["row_major", "padded", "col_major"])
def test_ties_zeros_and_nans(cols: int, kind: str, layout: str) -> None:
    nan, inf = np.nan, np.inf
    cases = [
        ([1, 0, -0.0, 0, 2, 3, 1], 1, 0.0),
        ([1, -0.0, 0, 0, 2, 3, 1], 1, -0.0),
        ([inf, inf, inf, inf, inf, inf, inf], 0, inf),
        ([inf, 5, -inf, -inf, 0, 0, 0], 2, -inf),
        ([-inf, 5, nan, -inf, nan, 1, 2], 2, nan),
    ]
    for column, row, value in cases:
        src = support.laid_out(np.repeat(np.array(column, DTYPES[kind])[:, None], cols, 1), layout)
        least, index = tcolargmin(src, "i16" if kind == "f16" else "i32", True, "a2a3")
        assert (index == row).all()
        assert np.array_equal(least, np.full((1, cols), value), equal_nan=True)
        assert (np.signbit(least) == np.signbit(value)).all()


def test_the_value_of_a_nan_keeps_its_bits() -> None:
    src = np.array([[0x3F800000], [0xFFA12345], [0x7FC00000]], np.uint32).view(np.float32)
    value, index = tcolargmin(src, "i32", True, "a5")
    assert (support.pattern(value), index.item()) == ([[0xFFA12345]], 1)


@pytest.mark.parametrize(
    ("row", "index"),
    [
        (2047, 2047),
        (2048, 2048),
        (2049, 2050),
        (2050, 2050),
        (2051, 2052),
        (4097, 4096),
        (4098, 4100),
        (4100, 4100),
    ],
)
def test_index_through_half(row: int, index: int) -> None:
    # Between 2048 and 4096 a float16 has even integers, then multiples of 4; halfway goes away from zero.
    assert half_index(row) == index
    for kind in ("f16", "ui16"):
        src = np.ones((5000, 2), DTYPES[kind])
        src[row, 1] = 0
        assert tcolargmin(src, "i32", False, "a2a3")[0].tolist() == [[0, index]]
        assert tcolargmin(src, "i32", False, "a5")[0].tolist() == [[0, row]]
        assert tcolargmin(src, "i16", True, "a2a3")[1].tolist() == [[0, row]]
    wide = np.ones((5000, 1), np.float32)
    wide[row] = 0
    assert tcolargmin(wide, "i32", False, "a2a3")[0].item() == row


def test_half_index_is_the_reference_everywhere() -> None:
    assert all(half_index(row) == reference.through_half(row) for row in range(98304))


def test_an_index_that_does_not_fit_wraps() -> None:
    src = np.ones((40000, 1), np.float32)
    src[-1] = 0
    assert tcolargmin(src, "i16", False, "a5")[0].item() == 39999 - 65536
    assert tcolargmin(src, "ui16", False, "a5")[0].item() == 39999


wide_shapes = st.tuples(st.integers(1, 20), st.integers(512, 700))
large_shapes = st.tuples(st.integers(64, 512), st.integers(8, 80))


@support.examples(800)
@given(st.data(), support.shapes, support.layouts, support.seeds, st.booleans(), st.sampled_from(support.ARCHS))
def test_against_the_reference(
    data: st.DataObject, shape: tuple[int, int], layout: str, seed: int, values: bool, arch: str
) -> None:
    compare(data, shape, layout, seed, values, arch)


@support.examples(60)
@given(
    st.data(),
    wide_shapes | large_shapes,
    support.layouts,
    support.seeds,
    st.booleans(),
    st.sampled_from(support.ARCHS),
)
def test_large_arrays_against_the_reference(
    data: st.DataObject, shape: tuple[int, int], layout: str, seed: int, values: bool, arch: str
) -> None:
    compare(data, shape, layout, seed, values, arch)


def compare(data: st.DataObject, shape: tuple[int, int], layout: str, seed: int, values: bool, arch: str) -> None:
    kinds = [kind for kind in support.ARGMIN[arch] if not (values and reference.BYTES[kind] == 1)]
    kind = data.draw(st.sampled_from(kinds))
    indices = [i for i in support.INDEX if not values or reference.BYTES[i] == reference.BYTES[kind]]
    index = data.draw(st.sampled_from(indices))
    src = support.laid_out(support.random_array(seed, kind, *shape), layout)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outputs = tcolargmin(src, index, values, arch)
    minima, found = reference.tcolargmin(support.pattern(src), kind, index, values, arch)
    assert support.pattern(outputs[-1]) == [found]
    if values:
        assert support.pattern(outputs[0]) == [minima]
