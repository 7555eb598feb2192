"""TCOLSUM against cases worked out by hand and against the reference."""

import warnings
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from ptoasm.interpreter.kernels import Call
from tests import reference
from tests.interpreter import support
from tests.interpreter.support import DTYPES, Array


def tcolsum(src: Array, binary: bool, arch: str) -> Array:
    kind = next(name for name, dtype in DTYPES.items() if dtype == src.dtype)
    rows, cols = src.shape
    call = Call(arch, {"isBinary": binary}, (support.spec(kind, rows, cols),), (support.spec(kind, 1, cols),))
    return support.run("tcolsum", call, src)[0]


def column(*values: Any, kind: str = "f32") -> Array:
    return np.array(values, np.float32).astype(DTYPES[kind]).reshape(-1, 1)


def test_sums_columns() -> None:
    src = np.array([[1, 2, 3], [10, 20, 30]], np.float32)
    for arch in support.ARCHS:
        for binary in (False, True):
            assert tcolsum(src, binary, arch).tolist() == [[11, 22, 33]]


def test_sequential_order_is_visible() -> None:
    # 2^24 + 1 rounds back to 2^24, time and again; in the tree 1 + 1 is formed first.
    src = column(2.0**24, 1, 1, 1)
    assert tcolsum(src, False, "a2a3").item() == 2.0**24
    assert tcolsum(src, True, "a2a3").item() == 2.0**24 + 2


@pytest.mark.parametrize(
    ("values", "a2a3", "a5"),
    [
        # Three rows have one pair, and both targets add the third row to it.
        ((2.0**24, 1, 1), 2.0**24, 2.0**24),
        # Five rows: on a2a3 ((2^24 + 0) + 1) + (0 + 1), on a5 (2^24 + 0) + ((0 + 1) + 1).
        ((2.0**24, 0, 0, 1, 1), 2.0**24, 2.0**24 + 2),
        # Six rows are three pairs, and the third is the left-over row of the second step: (2^24 + 1) + 1.
        ((2.0**24, 0, 0, 1, 1, 0), 2.0**24, 2.0**24),
    ],
)
def test_left_over_row_of_the_tree(values: tuple[float, ...], a2a3: float, a5: float) -> None:
    assert tcolsum(column(*values), True, "a2a3").item() == a2a3
    assert tcolsum(column(*values), True, "a5").item() == a5


@pytest.mark.parametrize("shape", [(1, 1), (7, 1), (7, 5), (300, 1), (300, 3)])
@pytest.mark.parametrize("kind", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("layout", ["row_major", "padded", "col_major"])
def test_negative_zeros(shape: tuple[int, int], kind: str, layout: str) -> None:
    src = support.laid_out(np.full(shape, -0.0).astype(DTYPES[kind]), layout)
    for arch in support.ARCHS:
        assert np.signbit(tcolsum(src, False, arch)).all()
        one_row_on_a5 = shape[0] == 1 and arch == "a5"
        assert np.signbit(tcolsum(src, True, arch)).all() == (not one_row_on_a5)


def test_each_addition_is_rounded_to_the_element_type() -> None:
    # 2048 + 1 is a tie in f16 and goes to 2048; 256 + 1 likewise in bf16.
    assert tcolsum(column(2048, 1, 1, kind="f16"), False, "a2a3").item() == 2048
    assert tcolsum(column(256, 1, 1, kind="bf16"), False, "a5").item() == 256


def test_integers_wrap() -> None:
    assert tcolsum(np.array([[32767], [1]], np.int16), False, "a2a3").item() == -32768
    assert tcolsum(np.array([[250], [10]], np.uint8), True, "a5").item() == 4
    assert tcolsum(np.array([[-(2**31)], [-1]], np.int32), False, "a5").item() == 2**31 - 1


def test_infinities_and_overflow_without_a_warning() -> None:
    largest = np.finfo(np.float32).max
    src = np.array([[np.inf, largest, np.inf, np.nan], [1, largest, -np.inf, 1]], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for binary in (False, True):
            total = tcolsum(src, binary, "a2a3")[0]
            assert total[:2].tolist() == [np.inf, np.inf]
            assert np.isnan(total[2:]).all()


def test_long_columns_are_not_summed_pairwise() -> None:
    # From 128 elements on NumPy sums a contiguous column pairwise.
    src = np.full((512, 1), 0.1, np.float32)
    total = np.float32(0.1)
    for _ in range(511):
        total = np.float32(total + np.float32(0.1))
    assert total != src.sum(0)[0]
    for layout in ("row_major", "padded", "col_major", "steps", "reversed", "reversed_col_major"):
        assert tcolsum(support.laid_out(src, layout), False, "a2a3").item() == total
        wide = support.laid_out(np.repeat(src, 4, 1), layout)
        assert (tcolsum(wide, False, "a2a3") == total).all()


@support.examples(900)
@given(st.data(), support.shapes, support.layouts, support.seeds, st.booleans(), st.sampled_from(support.ARCHS))
def test_against_the_reference(
    data: st.DataObject, shape: tuple[int, int], layout: str, seed: int, binary: bool, arch: str
) -> None:
    kind = data.draw(st.sampled_from(support.SUM[arch]))
    src = support.laid_out(support.random_array(seed, kind, *shape), layout)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        actual = support.pattern(tcolsum(src, binary, arch))[0]
    expected = reference.tcolsum(support.pattern(src), kind, binary, arch)
    assert support.same(actual, expected, kind, nans_alike=True)
