"""Comparisons: what counts as equal, and what a report says."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptoasm.interpreter.data import Fill
from ptoasm.interpreter.expect import differences
from ptoasm.interpreter.files import Raw

NAN, INF = float("nan"), float("inf")


def floats(*numbers: float) -> Any:
    return np.array([numbers], np.float32)


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (floats(1, 2), floats(1, 2)),
        (floats(1, 2), [[1, 2]]),
        (floats(1, 2), [1, 2]),
        (floats(0.1), [[0.1]]),
        (floats(NAN, INF), [[NAN, INF]]),
        (floats(2, 2), 2),
        (floats(0, 1), Fill("arange")),
        (floats(0, 1), Raw("a.bin", np.array([0, 1], np.float32).tobytes())),
        (np.array([[1.5]], ml_dtypes.bfloat16), [[1.5]]),
        (np.array([[1.5]], ml_dtypes.bfloat16), np.array([[1.5]], ml_dtypes.bfloat16).view("V2")),
        (np.float32(2), 2),
        (np.zeros((1, 0), np.float32), np.zeros((1, 0), np.float32)),
    ],
)
def test_equal(got: Any, wanted: Any) -> None:
    assert differences(got, wanted, "x") is None


def test_any_nan_equals_any_nan() -> None:
    other = np.array([[0xFFC00001]], np.uint32).view(np.float32)
    assert differences(floats(NAN), other, "x") is None


@pytest.mark.parametrize(
    ("got", "wanted", "says"),
    [
        (floats(0.0), [[-0.0]], "signs of the zeros"),
        (floats(1, 2), [[1, 3]], "[0, 1]: expected 3.0, got 2.0 (4194304 ULP)"),
        (floats(1), [[np.nextafter(np.float32(1), np.float32(2))]], "(1 ULP)"),
        (floats(1e-45), [[-1e-45]], "(2 ULP)"),
        (floats(NAN), [[1]], "expected 1.0, got nan"),
        (np.array([[1, 2]], np.int32), [[1, 4]], "[0, 1]: expected 4, got 2"),
        (floats(1, 2), floats(1, 2, 3), "shape 1x2; 1x3 was expected"),
        (floats(1), np.ones((1, 1)), "dtype float32; float64 was expected"),
        (np.array([[1]], np.int32), [[0.5]], "takes an integer"),
    ],
)
def test_different(got: Any, wanted: Any, says: str) -> None:
    report = differences(got, wanted, "x")
    assert report and says in "\n".join(report)


def test_report_counts_all_and_lists_five() -> None:
    report = differences(np.zeros((4, 4), np.float32), np.ones((4, 4), np.float32), "x")
    assert report
    assert "16 of 16" in report[0] and "%x" in report[0]
    assert [line.partition(":")[0] for line in report[1:]] == ["[0, 0]", "[0, 1]", "[0, 2]", "[0, 3]", "[1, 0]"]


@pytest.mark.parametrize(
    ("got", "wanted", "tolerances", "equal"),
    [
        (1.0, 1.1, {"atol": 0.2}, True),
        (1.0, 1.1, {"rtol": 0.05}, False),
        (1.0, 1.1, {"rtol": 0.1}, True),
        (0.0, -0.0, {"atol": 0.0}, True),
        (NAN, NAN, {"rtol": 0.1}, True),
        (INF, INF, {"rtol": 0.1}, True),
        (1.0, INF, {"rtol": 0.1}, False),
        (INF, 1.0, {"atol": 1e9}, False),
        (NAN, 1.0, {"atol": 1e9}, False),
    ],
)
def test_tolerance(got: float, wanted: float, tolerances: dict[str, float], equal: bool) -> None:
    assert (differences(floats(got), floats(wanted), "x", exact=False, **tolerances) is None) == equal
