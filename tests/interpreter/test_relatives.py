"""The near relatives against numbers worked out by hand and against plain Python."""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from ptoasm.dialect.relatives import INSTRUCTIONS
from ptoasm.interpreter.kernels import Call, Spec, lookup
from ptoasm.numbers import round_to
from ptoasm.types import element_type
from tests import reference
from tests.interpreter import support
from tests.interpreter.support import DTYPES, Array, examples, seeds

pytestmark = pytest.mark.filterwarnings("error")

FLOATS = ("f16", "bf16", "f32")
INTEGERS = ("i8", "ui8", "i16", "ui16", "i32", "ui32")


def run(
    name: str, *inputs: Any, shape: tuple[int, int] | None = None, to: str | None = None, **attributes: str
) -> Array:
    """The one result of an instruction on arrays and NumPy scalars."""
    specs = [described(x) for x in inputs]
    dtype = inputs[0].dtype if to is None else DTYPES[to]
    rows, cols = shape or inputs[0].shape
    return support.run(name, Call("a2a3", attributes, tuple(specs), (Spec(dtype, rows, cols),)), *inputs)[0]


def described(operand: Any) -> Spec:
    if not operand.shape:
        return Spec(operand.dtype, 1, 1)
    return Spec(operand.dtype, operand.shape[0], operand.shape[1], operand.strides[0] < operand.strides[1])


def f32(*rows: Any) -> Array:
    return np.array(rows, np.float32)


def of(kind: str, *rows: Any) -> Array:
    if kind in FLOATS:
        return np.array(rows, np.float32).astype(DTYPES[kind])
    return np.array(rows, np.int64).astype(DTYPES[kind])


def test_every_declared_instruction_has_a_plan() -> None:
    moved_by_the_machine = {"tload", "tstore", "treshape", "tprint"}
    names = [instruction.name for instruction in INSTRUCTIONS]
    assert len(names) == len(set(names)) == 48
    assert {name for name in names if lookup(name) is None} == moved_by_the_machine


# --- By hand


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tadd", [[4, 1], [3, -4]]),
        ("tsub", [[-2, 3], [3, -4]]),
        ("tmul", [[3, -2], [0, 0]]),
        ("tdiv", [[1 / 3, -2], [math.inf, -math.inf]]),
        ("tmax", [[3, 2], [3, 0]]),
        ("tmin", [[1, -1], [0, -4]]),
    ],
)
def test_two_tiles(name: str, expected: list[list[float]]) -> None:
    result = run(name, f32([1, 2], [3, -4]), f32([3, -1], [0, 0]))
    assert result.tolist() == f32(*expected).tolist()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tadds", [[3, 4], [5, -2]]),
        ("tsubs", [[-1, 0], [1, -6]]),
        ("tmuls", [[2, 4], [6, -8]]),
        ("tdivs", [[0.5, 1], [1.5, -2]]),
        ("tmaxs", [[2, 2], [3, 2]]),
        ("tmins", [[1, 2], [2, -4]]),
    ],
)
def test_a_tile_and_a_scalar(name: str, expected: list[list[float]]) -> None:
    assert run(name, f32([1, 2], [3, -4]), np.float32(2)).tolist() == expected


def test_a_scalar_divided_by_a_tile() -> None:
    assert run("tdivs", np.float32(8), f32([1, 2], [4, -4]), shape=(2, 2)).tolist() == [[8, 4], [2, -2]]


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("tneg", [0.0, -2.5], [-0.0, 2.5]),
        ("tabs", [-0.0, -2.5], [0.0, 2.5]),
        ("texp", [0.0, -math.inf], [1.0, 0.0]),
        ("tlog", [1.0, 0.0], [0.0, -math.inf]),
        ("tsqrt", [9.0, 2.25], [3.0, 1.5]),
        ("trsqrt", [4.0, 0.0], [0.5, math.inf]),
        ("trecip", [4.0, -0.0], [0.25, -math.inf]),
        ("tmov", [1.0, -0.0], [1.0, -0.0]),
    ],
)
@pytest.mark.parametrize("kind", FLOATS)
def test_one_tile(name: str, values: list[float], expected: list[float], kind: str) -> None:
    assert support.pattern(run(name, of(kind, values))) == support.pattern(of(kind, expected))


@pytest.mark.parametrize("name", ["tlog", "tsqrt", "trsqrt"])
def test_what_has_no_result_is_a_nan(name: str) -> None:
    assert math.isnan(run(name, f32([-1.0])).item())


@pytest.mark.parametrize("name", ["texp", "tlog", "tsqrt", "trsqrt"])
def test_functions_of_real_numbers_take_no_integers(name: str) -> None:
    with pytest.raises(ValueError, match="must be floating-point"):
        run(name, of("i32", [1]))


def test_functions_are_rounded_once() -> None:
    # e = 2.7182818284590452…; its neighbours are 2.71875 and 2.703125 in bfloat16, 2.71875 and 2.716797 in float16.
    assert run("texp", of("bf16", [1.0])).item() == 2.71875
    assert run("texp", of("f16", [1.0])).item() == 2.71875
    assert run("texp", f32([1.0])).item() == float(np.float32(2.71828182845904523536))
    # 1/sqrt(6) = 0.40824829046386301637; the root rounded to float32 and then divided has another last bit.
    assert run("trsqrt", f32([6.0])).item() == round_to(element_type("f32"), Fraction("0.408248290463863016366"))


def test_integers_wrap_and_divide_towards_zero() -> None:
    assert run("tadd", of("i8", [127, -128]), of("i8", [1, -1])).tolist() == [[-128, 127]]
    assert run("tsub", of("ui16", [0]), of("ui16", [1])).tolist() == [[65535]]
    assert run("tmuls", of("i16", [256]), np.int16(128)).tolist() == [[-32768]]
    assert run("tdiv", of("i32", [7, -7, 7, -7]), of("i32", [2, 2, -2, -2])).tolist() == [[3, -3, -3, 3]]
    assert run("tdiv", of("i8", [-128]), of("i8", [-1])).tolist() == [[-128]]
    assert run("tdiv", of("ui8", [255]), of("ui8", [2])).tolist() == [[127]]
    assert run("tneg", of("i8", [-128, 5])).tolist() == [[-128, -5]]
    assert run("tneg", of("ui8", [1])).tolist() == [[255]]
    assert run("trecip", of("i32", [1, -1, 3])).tolist() == [[1, -1, 0]]


@pytest.mark.parametrize("name", ["tdiv", "tdivs"])
def test_an_integer_divided_by_zero_is_an_error(name: str) -> None:
    divisor = of("i32", [1, 0]) if name == "tdiv" else np.int32(0)
    with pytest.raises(ZeroDivisionError):
        run(name, of("i32", [1, 2]), divisor)


def test_a_fill() -> None:
    assert run("texpands", np.int16(-3), shape=(2, 3)).tolist() == [[-3, -3, -3], [-3, -3, -3]]


def test_rows_and_columns_are_expanded() -> None:
    src = f32([1, 2, 3], [4, 5, 6])
    assert run("tcolexpand", src, shape=(3, 2)).tolist() == [[1, 2], [1, 2], [1, 2]]
    assert run("trowexpand", src, shape=(2, 4)).tolist() == [[1, 1, 1, 1], [4, 4, 4, 4]]
    assert run("tcolexpandsub", src, f32([1, 1, 2], [9, 9, 9])).tolist() == [[0, 1, 1], [3, 4, 4]]
    column = np.asfortranarray(f32([10, 0], [20, 0]))
    assert run("trowexpandadd", src, column).tolist() == [[11, 12, 13], [24, 25, 26]]


def test_a_row_major_operand_of_a_row_expansion_holds_blocks() -> None:
    # A block of 32 bytes has 8 elements of float32: column 8 and 9 meet elements 0 and 1 again.
    src = np.zeros((1, 10), np.float32)
    blocks = f32([0, 1, 2, 3, 4, 5, 6, 7])
    assert run("trowexpandadd", src, blocks).tolist() == [[0, 1, 2, 3, 4, 5, 6, 7, 0, 1]]
    halves = np.arange(16, dtype=np.float16).reshape(1, 16)
    assert run("trowexpandmax", np.zeros((1, 17), np.float16), halves).tolist()[0][14:] == [14, 15, 0]
    with pytest.raises(ValueError, match="dst needs 1x8"):
        run("trowexpandadd", src, f32([1, 2, 3]))


def test_reductions() -> None:
    src = f32([1, 5, -2], [4, 0, 9])
    assert run("trowsum", src, shape=(2, 1)).tolist() == [[4], [13]]
    assert run("trowprod", src, shape=(2, 1)).tolist() == [[-10], [0]]
    assert run("trowmax", src, shape=(2, 1)).tolist() == [[5], [9]]
    assert run("trowmin", src, shape=(2, 1)).tolist() == [[-2], [0]]
    assert run("tcolprod", src, shape=(1, 3)).tolist() == [[4, 0, -18]]
    assert run("tcolmax", src, shape=(1, 3)).tolist() == [[4, 5, 9]]
    assert run("tcolmin", src, shape=(1, 3)).tolist() == [[1, 0, -2]]


@pytest.mark.parametrize("kind", FLOATS)
def test_sums_and_products_go_in_order_and_round_every_step(kind: str) -> None:
    precision = {"f16": 11, "bf16": 8, "f32": 24}[kind]
    large = 2.0**precision
    # Each 1 is lost, one after the other; pairwise or in a wider type they would not be.
    assert run("trowsum", of(kind, [large] + [1.0] * 40), shape=(1, 1)).item() == large
    # 1 + u rounds away from zero, then times 1 - u: every step has one rounding.
    above, below = 1 + 2.0 ** (1 - precision), 1 - 2.0**-precision
    row = [above, above, below, above]
    expected = Fraction(1)
    for factor in row:
        expected = Fraction(round_to(element_type(kind), expected * Fraction(factor)))
    assert run("trowprod", of(kind, row), shape=(1, 1)).item() == expected
    assert run("tcolprod", of(kind, *[[factor] for factor in row]), shape=(1, 1)).item() == expected


def test_the_first_of_equal_values_wins_and_a_nan_over_all() -> None:
    zeros = f32([-0.0, 0.0])
    for name in ("trowmax", "trowmin"):
        assert math.copysign(1, run(name, zeros, shape=(1, 1)).item()) == -1
        assert math.copysign(1, run(name, zeros[:, ::-1], shape=(1, 1)).item()) == 1
        assert math.isnan(run(name, f32([1, math.nan, -math.inf, math.inf]), shape=(1, 1)).item())
    for name in ("tmax", "tmin"):
        assert math.copysign(1, run(name, f32([-0.0]), f32([0.0])).item()) == -1
        assert math.isnan(run(name, f32([math.nan]), f32([1.0])).item())
        assert math.isnan(run(name, f32([1.0]), f32([math.nan])).item())


@pytest.mark.parametrize("kind", [*FLOATS, *INTEGERS])
def test_the_maximum_of_each_column_and_its_row(kind: str) -> None:
    src = of(kind, [1, 7, 0], [9, 7, 0], [9, 2, 1])
    value, index = support.spec(kind, 1, 3), support.spec("i32", 1, 3)
    call = Call("a5", {}, (support.spec(kind, 3, 3),), (value, index))
    found = support.run("tcolargmax", call, src)
    assert found[0].astype(np.float32).tolist() == [[9, 7, 1]]
    assert found[1].tolist() == [[1, 0, 2]]


def test_a_nan_counts_as_the_maximum_and_keeps_its_bits() -> None:
    src = np.array([[0x3C00, 0x7C00], [0xFE01, 0x0000]], np.uint16).view(np.float16)
    call = Call("a5", {}, (support.spec("f16", 2, 2),), (support.spec("f16", 1, 2), support.spec("i16", 1, 2)))
    value, index = support.run("tcolargmax", call, src)
    assert value.view(np.uint16).tolist() == [[0xFE01, 0x7C00]]
    assert index.tolist() == [[1, 0]]


def test_sources_must_be_large_enough_and_of_the_same_elements() -> None:
    with pytest.raises(ValueError, match="has 1x2 valid elements; dst needs 2x2"):
        run("tadd", f32([1, 2], [3, 4]), f32([1, 2]))
    with pytest.raises(ValueError, match="elements of int32; they must be float32"):
        run("tadd", f32([1]), of("i32", [1]))
    assert run("tmov", f32([1, 2], [3, 4]), shape=(1, 2)).tolist() == [[1, 2]]


# --- Against plain Python

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "tadd": operator.add,
    "tsub": operator.sub,
    "tmul": operator.mul,
    "tdiv": operator.truediv,
}


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("name", BINARY)
@given(seed=seeds)
@examples(20)
def test_float_arithmetic_is_exact_and_then_rounded_once(name: str, kind: str, seed: int) -> None:
    a, b = (support.random_array(seed + k, kind, 3, 5) for k in range(2))
    for x, y, z in zip(numbers(a), numbers(b), numbers(run(name, a, b)), strict=True):
        if math.isfinite(x) and math.isfinite(y) and not (name == "tdiv" and y == 0):
            exact = BINARY[name](Fraction(x), Fraction(y))
            assert z == round_to(element_type(kind), exact), (x, y)


def numbers(array: Array) -> list[float]:
    return [float(x) for x in array.ravel().tolist()]


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", ["tadd", "tsub", "tmul", "tdiv", "tmax", "tmin"])
@given(seed=seeds)
@examples(10)
def test_integer_arithmetic_wraps(name: str, kind: str, seed: int) -> None:
    a, b = (support.random_array(seed + k, kind, 3, 5) for k in range(2))
    if name == "tdiv":
        b = np.where(b == 0, np.ones_like(b), b)
    compute: dict[str, Callable[[int, int], int]] = {
        "tadd": operator.add,
        "tsub": operator.sub,
        "tmul": operator.mul,
        "tdiv": lambda x, y: abs(x) // abs(y) * (1 if x * y > 0 else -1),
        "tmax": max,
        "tmin": min,
    }
    bits = reference.INTEGER_BITS[kind]
    expected = [compute[name](int(x), int(y)) for x, y in zip(a.ravel(), b.ravel(), strict=True)]
    assert [int(z) % 2**bits for z in run(name, a, b).ravel()] == [e % 2**bits for e in expected]


# --- Conversions


def rounded(value: Fraction, mode: str) -> int:
    """A number rounded to an integer."""
    if mode == "RINT":
        return round(value)
    if mode == "ROUND":
        away = math.floor(abs(value) + Fraction(1, 2))
        return away if value >= 0 else -away
    return math.floor(value) if mode == "FLOOR" else math.ceil(value) if mode == "CEIL" else math.trunc(value)


def converted(value: float | int, kind: str, mode: str) -> float | int:
    """A number in another element type, by exact arithmetic."""
    if kind in INTEGERS:
        element = element_type(kind)
        whole = rounded(Fraction(value), mode) if math.isfinite(value) else 0
        bottom, size = element.range[0], 1 << element.bits
        return (whole - bottom) % size + bottom
    if not math.isfinite(value) or value == 0:
        return value
    precision, least, greatest = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127)}[kind]
    exact = Fraction(value)
    exponent = least
    while abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - precision + 1)
    found = rounded(exact / unit, mode) * unit
    limit = Fraction(2) ** (greatest + 1) - Fraction(2) ** (greatest + 1 - precision)
    if abs(found) <= limit:
        return math.copysign(float(found), exact)
    outwards = mode in ("RINT", "ROUND") or mode == ("CEIL" if exact > 0 else "FLOOR")
    return math.copysign(math.inf if outwards else float(limit), exact)


@pytest.mark.parametrize("mode", ["RINT", "ROUND", "FLOOR", "CEIL", "TRUNC"])
@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("target", [*FLOATS, *INTEGERS])
@given(seed=seeds)
@examples(6)
def test_conversions(source: str, target: str, mode: str, seed: int) -> None:
    array = support.random_array(seed, source, 2, 9)
    result = run("tcvt", array, to=target, rmode=f"#pto<round_mode CAST_{mode}>")
    for x, y in zip(array.ravel().tolist(), result.ravel().tolist(), strict=True):
        expected = converted(x, target, mode)
        assert y == expected or (y != y and expected != expected), (x, y, expected)


@pytest.mark.parametrize("mode", ["RINT", "ROUND", "FLOOR", "CEIL", "TRUNC"])
@pytest.mark.parametrize("target", FLOATS)
def test_conversions_at_the_edges(target: str, mode: str) -> None:
    """Ties, the ends of the range, and numbers that a detour over a narrower type would round twice."""
    element = element_type(target)
    precision, greatest = {"f16": (11, 15), "bf16": (8, 127), "f32": (24, 127)}[target]
    unit = Fraction(2) ** (1 - precision)
    largest = Fraction(2) ** (greatest + 1) - Fraction(2) ** (greatest + 1 - precision)
    edges = [1 + unit / 2, 1 + 3 * unit / 2, 1 + unit / 2 + Fraction(1, 2**23), largest, largest * (1 + unit / 4)]
    values = [float(np.float32(float(edge))) for edge in edges]
    array = f32([*values, *[-v for v in values], 2.0**-149, -(2.0**-149), 0.0, -0.0])
    if element.text == "f32":
        array = of("i32", [2**24 + 1, 2**24 + 3, -(2**24 + 1), 2**31 - 1, -(2**31), 2**30 + 2**6])
    result = run("tcvt", array, to=target, rmode=mode)
    for x, y in zip(array.ravel().tolist(), result.ravel().tolist(), strict=True):
        assert y == converted(x, target, mode), (x, y)


def test_conversion_modes_by_hand() -> None:
    values = f32([2.5, -2.5, 2.25, -2.75])
    expected = {
        "RINT": [2, -2, 2, -3],
        "ROUND": [3, -3, 2, -3],
        "FLOOR": [2, -3, 2, -3],
        "CEIL": [3, -2, 3, -2],
        "TRUNC": [2, -2, 2, -2],
    }
    for mode, row in expected.items():
        assert run("tcvt", values, to="i32", rmode=f"#pto<round_mode {mode}>").tolist() == [row]
    assert run("tcvt", values, to="i32").tolist() == [expected["RINT"]]
    assert run("tcvt", f32([300.0, -1.0, math.nan, math.inf]), to="ui8").tolist() == [[44, 255, 0, 0]]
    assert run("tcvt", of("i32", [300, -1]), to="i8").tolist() == [[44, -1]]
    with pytest.raises(ValueError, match="rmode is"):
        run("tcvt", values, to="i32", rmode="#pto<round_mode ODD>")


def test_64_bit_integers_are_rounded_once() -> None:
    # 2^60 + 2^36 is half a unit of float32; one more decides, and float64 has no bit for it.
    array = np.array([[2**60 + 2**36, 2**60 + 2**36 + 1, -(2**60) - 2**36 - 1, -(2**63)]], np.int64)
    up = 2.0**60 + 2.0**37
    assert run("tcvt", array, to="f32").tolist() == [[2.0**60, up, -up, -(2.0**63)]]
    assert run("tcvt", array, to="f32", rmode="TRUNC").tolist() == [[2.0**60, 2.0**60, -(2.0**60), -(2.0**63)]]
