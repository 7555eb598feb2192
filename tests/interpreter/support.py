"""What the kernel tests share: element types, arrays in every memory layout, comparison bit for bit."""

import os
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
from hypothesis import settings
from numpy.typing import NDArray

from ptoasm.interpreter.kernels import Call, Spec, lookup
from tests import reference

Array = NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = {
    "i8": np.dtype(np.int8),
    "ui8": np.dtype(np.uint8),
    "i16": np.dtype(np.int16),
    "ui16": np.dtype(np.uint16),
    "i32": np.dtype(np.int32),
    "ui32": np.dtype(np.uint32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
}
SUM = {
    "a2a3": ["f16", "f32", "i16", "i32"],
    "a5": ["f16", "f32", "i8", "ui8", "i16", "ui16", "i32", "ui32", "bf16"],
}
ARGMIN = {
    "a2a3": ["f16", "f32", "ui16", "ui32"],
    "a5": ["i8", "ui8", "i16", "ui16", "i32", "ui32", "f16", "f32"],
}
SEQUENCE = {
    "a2a3": ["i16", "ui16", "i32", "ui32", "f16", "bf16", "f32"],
    "a5": ["i16", "ui16", "i32", "ui32"],
}
INDEX = ["i16", "ui16", "i32", "ui32"]
ARCHS = ["a2a3", "a5"]

_BASE = 2400


def examples(share: int) -> Callable[[Any], Any]:
    """`share` of the normal run's 2400 examples, as many times more as PTOASM_EXAMPLES asks for."""
    wanted = int(os.environ.get("PTOASM_EXAMPLES", _BASE))
    return settings(max_examples=max(1, share * wanted // _BASE))


def run(name: str, call: Call, *inputs: Any) -> tuple[Array, ...]:
    """Plan and call a kernel, and check what holds for every kernel."""
    plan = lookup(name)
    assert plan is not None
    before = [value.copy() for value in inputs]
    outputs = plan(call)(*inputs)
    for value, kept in zip(inputs, before, strict=True):
        assert value.tobytes() == kept.tobytes()
        assert not any(np.shares_memory(value, output) for output in outputs)
    assert [(o.dtype, *o.shape) for o in outputs] == [tuple(spec[:3]) for spec in call.outputs]
    return outputs


def spec(kind: str, rows: int, cols: int) -> Spec:
    return Spec(DTYPES[kind], rows, cols)


def pattern(array: Array) -> list[list[int]]:
    """The bit patterns of the elements."""
    bits: list[list[int]] = array.copy().view(f"u{array.dtype.itemsize}").tolist()
    return bits


def same(actual: list[int], expected: list[int], kind: str, nans_alike: bool) -> bool:
    """Whether two rows of bit patterns are equal; with `nans_alike` any NaN equals any NaN."""
    return len(actual) == len(expected) and all(
        a == e or (nans_alike and kind in reference.MANTISSA_BITS and is_nan(a, kind) and is_nan(e, kind))
        for a, e in zip(actual, expected, strict=True)
    )


def is_nan(bits: int, kind: str) -> bool:
    return reference.decode(bits, kind).kind == reference.NAN


def special_bits(kind: str) -> list[int]:
    """The corners of a type: zeros, ones, subnormals, the largest, infinities, quiet and signalling NaNs."""
    if kind in reference.INTEGER_BITS:
        top = 2 ** (reference.INTEGER_BITS[kind] - 1)
        return [0, 1, 2, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1]
    mantissa = 2 ** reference.MANTISSA_BITS[kind]
    infinity = (2 ** reference.EXPONENT_BITS[kind] - 1) * mantissa
    one = (2 ** (reference.EXPONENT_BITS[kind] - 1) - 1) * mantissa
    positive = [
        0,
        1,
        mantissa - 1,
        mantissa,
        one,
        one + 1,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity + mantissa // 2,
    ]
    negative = 2 ** (8 * reference.BYTES[kind] - 1)
    return positive + [bits + negative for bits in positive]


def _every_bit(rng: np.random.Generator, kind: str, shape: tuple[int, int]) -> Array:
    return rng.integers(0, 2 ** (8 * reference.BYTES[kind]), shape)


def _special(rng: np.random.Generator, kind: str, shape: tuple[int, int]) -> Array:
    return rng.choice(np.array(special_bits(kind), np.int64), shape)


def _zeros(rng: np.random.Generator, kind: str, shape: tuple[int, int]) -> Array:
    zeros = [0] if kind in reference.INTEGER_BITS else [0, 2 ** (8 * reference.BYTES[kind] - 1)]
    return np.array(zeros, np.int64)[rng.integers(0, rng.integers(1, len(zeros) + 1), shape) - 1]


def _few(rng: np.random.Generator, kind: str, shape: tuple[int, int]) -> Array:
    """Many equal elements, so that there are ties."""
    return rng.choice(rng.integers(0, 2 ** (8 * reference.BYTES[kind]), 3), shape)


def _near(rng: np.random.Generator, kind: str, shape: tuple[int, int]) -> Array:
    """Numbers of neighbouring magnitudes and both signs, so that every addition rounds and some cancel."""
    if kind in reference.INTEGER_BITS:
        return _every_bit(rng, kind, shape)
    mantissa = 2 ** reference.MANTISSA_BITS[kind]
    span = 2 ** reference.EXPONENT_BITS[kind] - 1
    width = int(rng.integers(1, 14))
    base = int(rng.integers(0, span - width)) if width < span else 0
    bits = rng.integers(base * mantissa, (base + width) * mantissa, shape)
    sign = int(rng.integers(0, 2)) * 2 ** (8 * reference.BYTES[kind] - 1)
    signed: Array = bits + rng.integers(0, 2, shape) * sign
    return signed


_CONTENTS = [_every_bit, _special, _zeros, _few, _near, _near]


def random_array(seed: int, kind: str, rows: int, cols: int) -> Array:
    """Contents of one of the sorts above, sometimes with special values strewn in."""
    rng = np.random.default_rng(seed)
    bits = _CONTENTS[seed % len(_CONTENTS)](rng, kind, (rows, cols))
    if rng.random() < 0.2:
        bits = np.where(rng.random((rows, cols)) < 0.05, _special(rng, kind, (rows, cols)), bits)
    return bits.astype(f"u{reference.BYTES[kind]}").view(DTYPES[kind])


LAYOUTS = [
    "row_major",
    "padded",
    "col_major",
    "padded_col_major",
    "steps",
    "reversed",
    "unaligned",
    "broadcast",
    "reversed_col_major",
]


def laid_out(array: Array, layout: str) -> Array:
    """The same elements in another memory layout (`broadcast`: the first row in each row)."""
    rows, cols = array.shape
    if layout == "col_major":
        return np.asfortranarray(array)
    if layout == "broadcast":
        return np.broadcast_to(array[:1], array.shape)
    if layout == "unaligned":
        view = np.ndarray(array.shape, array.dtype, np.zeros(array.nbytes + 1, np.uint8), 1)
    elif layout == "padded":
        view = np.zeros((rows + 1, cols + 5), array.dtype)[:rows, :cols]
    elif layout == "padded_col_major":
        view = np.zeros((cols + 1, rows + 3), array.dtype)[:cols, :rows].T
    elif layout == "steps":
        view = np.zeros((2 * rows, 3 * cols), array.dtype)[::2, ::3]
    elif layout == "reversed":
        view = np.zeros(array.shape, array.dtype)[::-1, ::-1]
    elif layout == "reversed_col_major":
        view = np.zeros((cols, rows), array.dtype)[::-1, ::-1].T
    else:
        return array
    view[...] = array
    return view


seeds = st.integers(0, 2**32 - 1)
layouts = st.sampled_from(LAYOUTS)
shapes = st.one_of(
    st.tuples(st.integers(1, 8), st.integers(1, 8)),
    st.tuples(st.integers(1, 40), st.integers(1, 12)),
    st.tuples(st.integers(1, 512), st.integers(1, 3)),
    st.tuples(st.integers(1, 3), st.integers(1, 300)),
)
