"""The host dialects: scalars against plain Python, control flow, global memory and blocks through ``ptoasm.run``."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ptoasm
from ptoasm.interpreter import arith
from ptoasm.interpreter.data import Fill
from ptoasm.numbers import round_to
from ptoasm.types import ElementType, element_type
from tools.recompute_samples import RECOMPUTED, differing

pytestmark = pytest.mark.filterwarnings("error")

I8, UI8, I1, I32, INDEX = (element_type(name) for name in ("i8", "ui8", "i1", "i32", "index"))
F16, BF16, F32, F64 = (element_type(name) for name in ("f16", "bf16", "f32", "f64"))
SOME = (-128, -127, -3, -1, 0, 1, 2, 7, 100, 127)


def compute(name: str, operand: ElementType, *operands: Any, to: ElementType | None = None, word: str = "") -> Any:
    function = arith.function(name, operand, to or operand, word)
    assert function is not None
    return function(*operands)


def signed(value: int, bits: int = 8) -> int:
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def unsigned(value: int, bits: int = 8) -> int:
    return value % (1 << bits)


# --- Integers

EXACT: dict[str, Any] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": lambda a, b: math.trunc(Fraction(a, b)),
    "divui": lambda a, b: unsigned(a) // unsigned(b),
    "remsi": lambda a, b: a - b * math.trunc(Fraction(a, b)),
    "remui": lambda a, b: unsigned(a) % unsigned(b),
    "ceildivsi": lambda a, b: math.ceil(Fraction(a, b)),
    "ceildivui": lambda a, b: math.ceil(Fraction(unsigned(a), unsigned(b))),
    "floordivsi": lambda a, b: math.floor(Fraction(a, b)),
    "andi": lambda a, b: unsigned(a) & unsigned(b),
    "ori": lambda a, b: unsigned(a) | unsigned(b),
    "xori": lambda a, b: unsigned(a) ^ unsigned(b),
    "maxsi": max,
    "minsi": min,
    "maxui": lambda a, b: max(unsigned(a), unsigned(b)),
    "minui": lambda a, b: min(unsigned(a), unsigned(b)),
}


@pytest.mark.parametrize("name", EXACT)
def test_integers_of_8_bits(name: str) -> None:
    division = "div" in name or "rem" in name
    for a, b in itertools.product(SOME, SOME):
        if division and (b == 0 or ((a, b) == (-128, -1) and not name.endswith("ui"))):
            continue
        assert compute(name, I8, a, b) == signed(EXACT[name](a, b)), (a, b)


@pytest.mark.parametrize("name", ["divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui", "floordivsi"])
def test_nothing_is_divided_by_zero(name: str) -> None:
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        compute(name, I8, 5, 0)


@pytest.mark.parametrize("name", ["divsi", "remsi", "ceildivsi", "floordivsi"])
@pytest.mark.parametrize("kind", ["i8", "i32", "index"])
def test_the_smallest_integer_is_not_divided_by_minus_one(name: str, kind: str) -> None:
    element = element_type(kind)
    with pytest.raises(OverflowError, match=f"does not fit {element.bits} bits"):
        compute(name, element, element.range[0], -1)


def test_shifts() -> None:
    assert compute("shli", I8, 0b0101_0001, 2) == signed(0b0100_0100)
    assert compute("shrsi", I8, -5, 1) == -3
    assert compute("shrui", I8, -5, 1) == 0b0111_1101
    for name in ("shli", "shrsi", "shrui"):
        for amount in (8, -1):
            with pytest.raises(OverflowError, match="a shift by"):
                compute(name, I8, 1, amount)


def test_integers_of_one_bit() -> None:
    assert compute("addi", I1, 1, 1) == 0
    assert compute("xori", I1, 1, 1) == 0
    assert compute("cmpi", I1, 1, 0, to=I1, word="slt") == 1  # as a signed number, true is -1
    assert compute("cmpi", I1, 1, 0, to=I1, word="ugt") == 1
    assert compute("extsi", I1, 1, to=I8) == -1
    assert compute("extui", I1, 1, to=I8) == 1
    assert compute("trunci", I8, 3, to=I1) == 1


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("eq", [0, 1, 0]),
        ("ne", [1, 0, 1]),
        ("slt", [1, 0, 0]),
        ("sle", [1, 1, 0]),
        ("sgt", [0, 0, 1]),
        ("sge", [0, 1, 1]),
        ("ult", [0, 0, 0]),
        ("ule", [0, 1, 0]),
        ("ugt", [1, 0, 1]),
        ("uge", [1, 1, 1]),
    ],
)
def test_comparisons_of_integers(word: str, expected: list[int]) -> None:
    # -1 and 1, 1 and 1, 7 and 1
    assert [compute("cmpi", I8, a, 1, to=I1, word=word) for a in (-1, 1, 7)] == expected


def test_casts_of_integers() -> None:
    assert compute("extsi", I8, -2, to=I32) == -2
    assert compute("extui", I8, -2, to=I32) == 254
    assert compute("trunci", I32, 300, to=I8) == 44
    assert compute("index_cast", I8, -2, to=INDEX) == -2
    assert compute("index_castui", I8, -2, to=INDEX) == 254
    assert compute("index_cast", INDEX, 2**40 + 3, to=I32) == 3
    assert compute("trunci", I32, -1, to=UI8) == 255


# --- Floats


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32"])
def test_floats_are_rounded_once(kind: str) -> None:
    element = element_type(kind)
    numbers = [round_to(element, Fraction(n, d)) for n, d in itertools.product((-7, 1, 3, 1000), (1, 3, 7, 4096))]
    exact: dict[str, Any] = {
        "addf": lambda a, b: a + b,
        "subf": lambda a, b: a - b,
        "mulf": lambda a, b: a * b,
        "divf": lambda a, b: a / b,
    }
    for name, function in exact.items():
        for a, b in itertools.product(numbers, numbers):
            assert compute(name, element, a, b) == round_to(element, function(Fraction(a), Fraction(b)))


def test_float_overflow_and_what_has_no_result() -> None:
    assert compute("mulf", F32, 3e38, 10.0) == math.inf
    assert compute("addf", F16, 65504.0, 65504.0) == math.inf
    assert compute("divf", F32, -1.0, 0.0) == -math.inf
    assert compute("divf", F32, 1.0, -0.0) == -math.inf
    assert math.isnan(compute("divf", F32, 0.0, 0.0))
    assert math.isnan(compute("remf", F32, math.inf, 2.0))
    assert math.isnan(compute("remf", F32, 1.0, 0.0))
    assert compute("remf", F32, -7.5, 2.0) == -1.5
    assert math.copysign(1, compute("negf", F32, 0.0)) == -1


def test_minima_and_maxima() -> None:
    nan = math.nan
    assert math.isnan(compute("maximumf", F32, nan, 1.0)) and math.isnan(compute("minimumf", F32, 1.0, nan))
    assert compute("maxnumf", F32, nan, 1.0) == 1.0 and compute("minnumf", F32, 1.0, nan) == 1.0
    for a, b in ((0.0, -0.0), (-0.0, 0.0)):
        assert math.copysign(1, compute("maximumf", F32, a, b)) == 1
        assert math.copysign(1, compute("minimumf", F32, a, b)) == -1
    assert compute("maximumf", F32, 2.0, 3.0) == 3.0 and compute("minimumf", F32, 2.0, 3.0) == 2.0


@pytest.mark.parametrize("word", ["eq", "gt", "ge", "lt", "le", "ne"])
def test_comparisons_of_floats(word: str) -> None:
    plain = {"eq": [0, 1, 0], "gt": [0, 0, 1], "ge": [0, 1, 1], "lt": [1, 0, 0], "le": [1, 1, 0], "ne": [1, 0, 1]}
    for order, of_nan in (("o", 0), ("u", 1)):
        found = [compute("cmpf", F32, a, 1.0, to=I1, word=order + word) for a in (-1.0, 1.0, 7.0, math.nan)]
        assert found == [*plain[word], of_nan]


def test_comparisons_that_only_ask_for_nans() -> None:
    for word, of_numbers, of_nans in (("ord", 1, 0), ("uno", 0, 1), ("true", 1, 1), ("false", 0, 0)):
        assert compute("cmpf", F32, 1.0, 2.0, to=I1, word=word) == of_numbers
        assert compute("cmpf", F32, 1.0, math.nan, to=I1, word=word) == of_nans


def test_casts_of_floats() -> None:
    assert compute("truncf", F32, 1.0 + 2.0**-11 + 2.0**-20, to=F16) == 1.0 + 2.0**-10
    assert compute("truncf", F64, 1e300, to=F32) == math.inf
    assert compute("extf", BF16, 1.5, to=F64) == 1.5
    assert compute("sitofp", I32, 2**24 + 1, to=F32) == 2.0**24
    assert compute("sitofp", I8, -1, to=F16) == -1.0
    assert compute("uitofp", I8, -1, to=F16) == 255.0
    # 2^53 + 2^29 + 1 is more than half a unit of f32 away, which a detour over f64 would lose.
    assert compute("sitofp", element_type("i64"), 2**53 + 2**29 + 1, to=F32) == 2.0**53 + 2.0**30
    assert compute("fptosi", F32, -2.75, to=I8) == -2
    assert compute("fptoui", F32, 200.9, to=UI8) == 200
    for value in (math.nan, math.inf, 128.0):
        with pytest.raises(OverflowError, match="does not fit i8"):
            compute("fptosi", F32, value, to=I8)


def test_bits() -> None:
    assert compute("bitcast", F32, 1.0, to=I32) == 0x3F800000
    assert compute("bitcast", I32, -0x80000000, to=F32) == 0.0
    assert math.copysign(1, compute("bitcast", I32, -0x80000000, to=F32)) == -1
    assert compute("bitcast", BF16, 1.0, to=element_type("i16")) == 0x3F80
    assert compute("bitcast", element_type("i16"), 0x3C00, to=F16) == 1.0
    assert arith.function("bitcast", F32, element_type("i16")) is None


def test_what_has_no_meaning_has_no_function() -> None:
    assert arith.function("addi", F32, F32) is None
    assert arith.function("addf", I32, I32) is None
    assert arith.function("extsi", F32, I32) is None
    assert arith.function("cmpi", I32, I1, "oeq") is None
    assert arith.function("thing", I32, I32) is None


# --- Runs


def run(text: str, inputs: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return ptoasm.run(text, inputs, **options).outputs


def fault(text: str, inputs: dict[str, Any] | None = None, **options: Any) -> str:
    with pytest.raises(ptoasm.PtoError) as error:
        ptoasm.run(text, inputs, **options)
    (diagnostic,) = error.value.diagnostics
    return f"{diagnostic.message} [{diagnostic.code}]"


ENDLESS = """
func.func @endless() {
  %yes = arith.constant true
  scf.while : () -> () {
    scf.condition(%yes)
  } do {
    scf.yield
  }
  return
}
"""
EMPTY = """
func.func @empty(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
  }
  return
}
"""


def test_a_run_that_does_not_end_is_stopped() -> None:
    assert fault(ENDLESS, max_steps=1000) == "the run has executed 1000 statements (--max-steps) [RUN-07]"
    assert fault(EMPTY, {"n": 2**62}, max_steps=1000).endswith("[RUN-07]")
    run(EMPTY, {"n": 900}, max_steps=1000)


BLOCKS = """
func.func @blocks(%x: !pto.ptr<i32>, %y: !pto.ptr<i32>) {
  %b = pto.get_block_idx
  %n = pto.get_block_num
  %i = arith.index_cast %b : i64 to index
  %v = pto.load_scalar %x[%i] : !pto.ptr<i32> -> i32
  %n32 = arith.trunci %n : i64 to i32
  %w = arith.muli %v, %n32 : i32
  pto.store_scalar %w, %y[%i] : !pto.ptr<i32>, i32
  return
}
"""


def test_blocks_run_one_after_another_on_one_global_memory() -> None:
    x = np.array([5, 6, 7, 8], np.int32)
    assert run(BLOCKS, {"x": x, "y": np.zeros(4, np.int32)}, blocks=3)["y"].tolist() == [15, 18, 21, 0]
    assert run(BLOCKS, {"x": x, "y": np.zeros(4, np.int32)})["y"].tolist() == [5, 0, 0, 0]


COPY = """
func.func @copy(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %xv = pto.make_tensor_view %x, shape = [%c2, %c3], strides = [%c4, %c1] : !pto.tensor_view<2x3xf32>
  %yv = pto.make_tensor_view %y, shape = [%c2, %c3], strides = [%c3, %c1] : !pto.tensor_view<2x3xf32>
  %xp = pto.partition_view %xv, offsets = [%c0, %c0], sizes = [%c2, %c3] : !pto.tensor_view<2x3xf32>
  %yp = pto.partition_view %yv, offsets = [%c0, %c0], sizes = [%c2, %c3] : !pto.tensor_view<2x3xf32>
  %t = pto.alloc_tile : !pto.tile_buf<vec, 2x8xf32, valid=2x3>
  pto.tload ins(%xp : !pto.partition_tensor_view<2x3xf32>) outs(%t : !pto.tile_buf<vec, 2x8xf32, valid=2x3>)
  pto.tstore ins(%t : !pto.tile_buf<vec, 2x8xf32, valid=2x3>) outs(%yp : !pto.partition_tensor_view<2x3xf32>)
  return
}
"""


def test_arrays_keep_their_shapes_and_are_not_changed() -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    y = np.zeros((2, 3), np.float32)
    assert run(COPY, {"x": x, "y": y})["y"].tolist() == [[0, 1, 2], [4, 5, 6]]
    assert not y.any()


def test_without_data_an_array_is_as_long_as_the_constant_views_reach() -> None:
    result = ptoasm.run(COPY)
    assert result.filled == ["x", "y"]
    assert result.outputs["y"].shape == (6,)
    # Row 1 of x begins at 4 and has three elements: 7 in all.
    assert run(COPY, {"x": Fill("arange", count=7), "y": Fill("zeros")})["y"].tolist() == [0, 1, 2, 4, 5, 6]
    short = fault(COPY, {"x": Fill("arange", count=6), "y": Fill("zeros")})
    assert short == "index 6 of %x through %xp is out of bounds; it has 6 elements [RUN-09]"


def test_a_length_that_only_a_run_knows_must_be_given() -> None:
    assert "the length of '%x' is not known; a fill names it, as in random(4096) [RUN-01]" in fault(BLOCKS)


def test_arrays_must_have_the_element_type_of_the_pointer() -> None:
    assert "dtype float64; it must have float32" in fault(COPY, {"x": np.zeros(7), "y": np.zeros(6, np.float32)})


def test_stride_zero_repeats_and_negative_strides_go_back() -> None:
    text = COPY.replace("strides = [%c4, %c1]", "strides = [%c0, %c1]")
    assert run(text, {"x": Fill("arange", count=3), "y": Fill("zeros")})["y"].tolist() == [0, 1, 2, 0, 1, 2]
    back = COPY.replace("%x, shape", "%last, shape").replace("strides = [%c4, %c1]", "strides = [%minus, %c1]")
    back = back.replace(
        "  %xv", "  %minus = arith.constant -3 : index\n  %last = pto.addptr %x, %c3 : <f32, gm> -> <f32, gm>\n  %xv", 1
    )
    assert run(back, {"x": Fill("arange", count=6), "y": Fill("zeros")})["y"].tolist() == [3, 4, 5, 0, 1, 2]


def test_the_stride_of_a_single_row_is_of_no_use() -> None:
    text = COPY.replace("strides = [%c4, %c1]", "strides = [%far, %c1]").replace("[%c2, %c3]", "[%c1, %c3]")
    text = text.replace("  %xv", "  %far = arith.constant 9223372036854775807 : index\n  %xv", 1)
    assert run(text, {"x": Fill("arange", count=3), "y": Fill("zeros")})["y"].tolist() == [0, 1, 2]


def test_bfloat16_scalars() -> None:
    text = """
func.func @k(%x: !pto.ptr<bf16>, %y: !pto.ptr<bf16>) {
  %c0 = arith.constant 0 : index
  %v = pto.load_scalar %x[%c0] : !pto.ptr<bf16> -> bf16
  %w = arith.addf %v, %v : bf16
  pto.store_scalar %w, %y[%c0] : !pto.ptr<bf16>, bf16
  return
}
"""
    assert run(text, {"x": [1.5], "y": [0]})["y"].tolist() == [3.0]


def test_foreign_operations_are_refused_by_name_and_line() -> None:
    text = """
func.func @k() {
  %v = arith.constant dense<[1, 2]> : vector<2xi32>
  return
}
"""
    with pytest.raises(ptoasm.PtoError) as error:
        ptoasm.run(text)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "RUN-05" and "'arith.constant'" in diagnostic.message
    assert diagnostic.span is not None and diagnostic.source.position(diagnostic.span.start)[0] == 3


# --- Samples


def test_the_files_beside_the_samples_hold_what_numpy_computes() -> None:
    assert differing() == []
    assert len(RECOMPUTED) == 3


def test_views_are_printed_and_not_when_they_have_no_end() -> None:
    text = """
func.func @k(%x: !pto.ptr<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %v = pto.make_tensor_view %x, shape = [%n, %n], strides = [%c0, %c0] : !pto.tensor_view<?x?xf32>
  %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%n, %n] : !pto.tensor_view<?x?xf32>
  pto.tprint ins(%p : !pto.partition_tensor_view<?x?xf32>)
  return
}
"""
    (shown,) = ptoasm.run(text, {"x": [1.5], "n": 2}).diagnostics
    assert shown.message == "%p = [[1.5, 1.5], [1.5, 1.5]]"
    assert "too many to show [RUN-06]" in fault(text, {"x": [1.5], "n": 2**40})
