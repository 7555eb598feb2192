"""The instructions as functions of plain arrays: shapes, types, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ptoasm.interpreter.arrays import tci, tcolargmin, tcolsum
from tests.interpreter.support import ARGMIN, DTYPES, SEQUENCE, SUM, Array

F32 = np.array([[3, 1], [2, 5], [2, 0]], np.float32)


def both(a: Array, **options: Any) -> tuple[Array, Array]:
    found = tcolargmin(a, values=True, **options)
    assert isinstance(found, tuple)
    return found


def index(a: Array, **options: Any) -> Array:
    found = tcolargmin(a, **options)
    assert isinstance(found, np.ndarray)
    return found


def test_tcolsum() -> None:
    total = tcolsum(F32)
    assert total.dtype == np.float32
    assert total.tolist() == [[7, 6]]
    assert tcolsum(F32.T, binary=True, arch="a5").tolist() == [[4, 7, 2]]
    ones = np.array([[2.0**24], [1], [1], [1]], np.float32)
    assert tcolsum(ones).item() != tcolsum(ones, binary=True).item()


def test_tcolargmin() -> None:
    rows = index(F32)
    assert rows.dtype == np.int32
    assert rows.tolist() == [[1, 2]]
    value, rows = both(F32)
    assert value.dtype == np.float32
    assert value.tolist() == [[2, 0]]
    assert rows.dtype == np.int32
    assert rows.tolist() == [[1, 2]]
    halves = F32.astype(np.float16)
    assert index(halves).dtype == np.int32
    assert index(halves, index_dtype="ui16").dtype == np.uint16
    assert both(halves)[1].dtype == np.int16
    assert both(halves, index_dtype=np.uint16)[1].dtype == np.uint16


def test_index_through_half_on_a2a3_only() -> None:
    a = np.ones((2050, 1), np.float16)
    a[2049] = 0
    assert index(a).item() == 2050
    assert index(a, arch="a5").item() == 2049
    assert both(a)[1].item() == 2049


def test_tci() -> None:
    assert tci(5, 3, np.int32).tolist() == [[5, 6, 7]]
    assert tci(5, 3, "i16", descending=True, arch="a5").tolist() == [[5, 4, 3]]
    assert tci(257, 2, "bf16").tolist() == [[256, 256]]
    assert tci(2049, 2, "f16").tolist() == [[2048, 2048]]
    assert tci(np.inf, 1, "float32").item() == np.inf
    assert tci(np.float32(0.1), 2, "f32").dtype == np.float32


@pytest.mark.parametrize("arch", ["a2a3", "a5"])
@pytest.mark.parametrize("kind", DTYPES)
def test_element_types_are_those_of_the_page(arch: str, kind: str) -> None:
    a = np.ones((2, 2), np.int8).astype(DTYPES[kind])
    eight_bits = kind in ("i8", "ui8")
    calls: list[tuple[Callable[[], object], bool]] = [
        (lambda: tcolsum(a, arch=arch), kind in SUM[arch]),
        (lambda: tcolsum(a, binary=True, arch=arch), kind in SUM[arch]),
        (lambda: index(a, arch=arch), kind in ARGMIN[arch]),
        (lambda: both(a, arch=arch), kind in ARGMIN[arch] and not eight_bits),
        (lambda: tci(1, 2, kind, arch=arch), kind in SEQUENCE[arch]),
        (lambda: tci(1, 2, DTYPES[kind], arch=arch), kind in SEQUENCE[arch]),
    ]
    for call, legal in calls:
        if legal:
            call()
        else:
            with pytest.raises(TypeError, match=f"on {arch} takes .*; got {DTYPES[kind].name}"):
                call()


def test_what_is_refused_says_what_is_and_what_must_be() -> None:
    flat, foreign, double = F32[0], F32.astype(">f4"), F32.astype(float)
    not_an_array: Any = [[1.0]]
    not_whole: Any = 2.0
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: tcolsum(flat), ValueError, r"2 dimensions \(rows, columns\); got 1, shape \(2,\)"),
        (lambda: tcolsum(F32[:0]), ValueError, r"at least 1 row and 1 column; got shape \(0, 2\)"),
        (lambda: tcolsum(not_an_array), TypeError, "takes a NumPy array; got list"),
        (lambda: tcolsum(F32, arch="a4"), ValueError, "arch is 'a4'; it must be one of a2a3, a5"),
        (lambda: tcolsum(double), TypeError, "elements of float16, float32, int16, int32; got float64"),
        (lambda: tcolsum(foreign), TypeError, "got float32 with foreign byte order"),
        (
            lambda: index(F32, index_dtype=np.int64),
            TypeError,
            "one of uint32, int32, uint16, int16; got int64",
        ),
        (lambda: both(F32, index_dtype="i16"), TypeError, "4 bytes must be one of uint32, int32; got int16"),
        (lambda: tci(0, 0, "i32"), ValueError, "is 0; it must be from 1 to 16777216"),
        (lambda: tci(0, not_whole, "i32"), TypeError, r"number of elements is 2\.0 \(float\); it must be a whole"),
        (lambda: tci(0.5, 2, "i32"), TypeError, r"int32 takes an integer; got 0\.5"),
        (lambda: tci(2**31, 2, "i32"), ValueError, "2147483648 does not fit int32"),
        (lambda: tci(1e6, 2, "f16"), ValueError, "does not fit a float16"),
        (lambda: tci(0, 2, "f99"), TypeError, "f99"),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()
