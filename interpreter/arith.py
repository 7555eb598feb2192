"""What the operations of ``arith`` compute, on Python's numbers, with MLIR's meaning.

A number of a signed integer type or of ``index`` (64 bits) is an int in its range, one of an unsigned type or of i1 an
int from 0; one of a float type is a float that the type holds. Integers wrap modulo 2^n, floats are rounded once to
nearest, ties to even. What MLIR leaves undefined or calls poison raises ArithmeticError with a message.
"""

from __future__ import annotations

import ctypes
import math
import operator
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ptoasm.numbers import round_to
from ptoasm.types import BF16, F16, F32, F64, ElementType

Number = Any
"""An int or a float; which one, the types say."""
Function = Callable[..., Number]

FLOATS = (F16, BF16, F32, F64)


@lru_cache(maxsize=4096)
def function(name: str, operand: ElementType, result: ElementType, predicate: str = "") -> Function | None:
    """The function that ``arith.NAME`` is on operands of one type; None where it has no meaning on it.

    ``predicate`` is that of a comparison, ``slt``.
    """
    if name == "select":
        return _select
    if name in ("cmpi", "cmpf"):
        return _comparison(name, operand, predicate)
    if name in _CASTS:
        wanted, given, make = _CASTS[name]
        return make(operand, result) if _is(given, operand) and _is(wanted, result) else None
    if name in _INTEGER:
        return _integer(name, operand) if _is("integer", operand) else None
    if name in _FLOAT and _is("float", operand):
        return _rounded(_FLOAT[name], operand)
    return None


def _is(kind: str, element: ElementType) -> bool:
    integer = element.is_integer or element.kind == "index"
    return integer and element.bits > 0 if kind == "integer" else element in FLOATS if kind == "float" else True


# --- Numbers of a type


def wrap(value: int, element: ElementType) -> int:
    """The integer modulo 2^n, as a number of the type."""
    value &= (1 << element.bits) - 1
    return value - (1 << element.bits) if _has_sign(element) and value >> (element.bits - 1) else value


def _has_sign(element: ElementType) -> bool:
    return element.kind in ("int", "index") and element.bits > 1


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _unsigned(value: int, bits: int) -> int:
    return value & (1 << bits) - 1


def rounding(element: ElementType) -> Callable[[float], float]:
    """The function that rounds a float to a float type, for results of one operation on numbers of the type."""
    return _ROUNDING[element]


def _to_f16(value: float) -> float:
    try:
        return float(struct.unpack("<e", struct.pack("<e", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


_ROUNDING: dict[ElementType, Callable[[float], float]] = {
    F64: float,
    F32: lambda value: ctypes.c_float(value).value,
    F16: _to_f16,
    BF16: lambda value: round_to(BF16, value),
}


def _exactly(value: int, element: ElementType) -> float:
    """An integer rounded once to a float type."""
    return float(value) if element is F64 else round_to(element, value)


# --- Integers


def _integer(name: str, element: ElementType) -> Function:
    compute, view = _INTEGER[name]
    bits = element.bits
    if view is None:
        return lambda a, b: wrap(compute(a, b, bits), element)
    return lambda a, b: wrap(compute(view(a, bits), view(b, bits), bits), element)


def _divisor(a: int, b: int, bits: int) -> None:
    if b == 0:
        raise ZeroDivisionError("division by zero")


def _signed_divisor(a: int, b: int, bits: int) -> None:
    _divisor(a, b, bits)
    if b == -1 and a == -(1 << (bits - 1)):
        raise OverflowError(f"the quotient {a} / -1 does not fit {bits} bits")


def _division(check: Callable[[int, int, int], None], compute: Callable[[int, int], int]) -> Function:
    def divide(a: int, b: int, bits: int) -> int:
        check(a, b, bits)
        return compute(a, b)

    return divide


def _quotient(a: int, b: int) -> int:
    """Towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    """With the sign of the dividend."""
    return a - _quotient(a, b) * b


def _shift(compute: Callable[[int, int], int]) -> Function:
    def shift(a: int, b: int, bits: int) -> int:
        amount = _unsigned(b, bits)
        if amount >= bits:
            raise OverflowError(f"a shift by {amount} of a number of {bits} bits")
        return compute(a, amount)

    return shift


def _plain(compute: Callable[[int, int], int]) -> Function:
    return lambda a, b, bits: compute(a, b)


_INTEGER: dict[str, tuple[Function, Callable[[int, int], int] | None]] = {
    "addi": (_plain(operator.add), None),
    "subi": (_plain(operator.sub), None),
    "muli": (_plain(operator.mul), None),
    "divsi": (_division(_signed_divisor, _quotient), _signed),
    "divui": (_division(_divisor, operator.floordiv), _unsigned),
    "remsi": (_division(_signed_divisor, _remainder), _signed),
    "remui": (_division(_divisor, operator.mod), _unsigned),
    "ceildivsi": (_division(_signed_divisor, lambda a, b: -(-a // b)), _signed),
    "ceildivui": (_division(_divisor, lambda a, b: -(-a // b)), _unsigned),
    "floordivsi": (_division(_signed_divisor, operator.floordiv), _signed),
    "shli": (_shift(operator.lshift), _unsigned),
    "shrsi": (_shift(operator.rshift), _signed),
    "shrui": (_shift(operator.rshift), _unsigned),
    "andi": (_plain(operator.and_), None),
    "ori": (_plain(operator.or_), None),
    "xori": (_plain(operator.xor), None),
    "maxsi": (_plain(max), _signed),
    "maxui": (_plain(max), _unsigned),
    "minsi": (_plain(min), _signed),
    "minui": (_plain(min), _unsigned),
}
"""What is computed from two integers and the number of bits, and how the operands are seen."""


# --- Floats


def _rounded(compute: Function, element: ElementType) -> Function:
    """The operation in float64, rounded once more: float64 is wide enough for that to be one rounding."""
    to_type = rounding(element)
    return lambda *operands: to_type(compute(*operands))


def _float_quotient(a: float, b: float) -> float:
    if b != 0:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


def _float_remainder(a: float, b: float) -> float:
    return math.nan if b == 0 or math.isinf(a) or a != a or b != b else math.fmod(a, b)


def _maximum(a: float, b: float) -> float:
    """A NaN wins, -0.0 is less than +0.0."""
    if a != a or b != b:
        return math.nan
    if a == b:
        return a if math.copysign(1, a) > 0 else b
    return max(a, b)


def _minimum(a: float, b: float) -> float:
    return -_maximum(-a, -b)


def _numbers_first(compute: Function) -> Function:
    """A number wins over a NaN."""
    return lambda a, b: b if a != a else a if b != b else compute(a, b)


_FLOAT: dict[str, Function] = {
    "addf": operator.add,
    "subf": operator.sub,
    "mulf": operator.mul,
    "divf": _float_quotient,
    "remf": _float_remainder,
    "negf": operator.neg,
    "maximumf": _maximum,
    "minimumf": _minimum,
    "maxnumf": _numbers_first(_maximum),
    "minnumf": _numbers_first(_minimum),
}


# --- Comparisons and choices


def _select(condition: int, a: Number, b: Number) -> Number:
    return a if condition else b


def _comparison(name: str, operand: ElementType, predicate: str) -> Function | None:
    if name == "cmpf":
        return _float_comparison(predicate) if operand in FLOATS else None
    if predicate not in _INTEGER_PREDICATES or not _is("integer", operand):
        return None
    compare, view = _INTEGER_PREDICATES[predicate]
    bits = operand.bits
    return lambda a, b: int(compare(view(a, bits), view(b, bits)))


_ORDERS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
_INTEGER_PREDICATES: dict[str, tuple[Callable[[int, int], bool], Callable[[int, int], int]]] = {
    "eq": (operator.eq, _unsigned),
    "ne": (operator.ne, _unsigned),
    **{f"s{name}": (compare, _signed) for name, compare in _ORDERS.items()},
    **{f"u{name}": (compare, _unsigned) for name, compare in _ORDERS.items()},
}
_FLOAT_ORDERS = {**_ORDERS, "eq": operator.eq, "ne": operator.ne}


def _float_comparison(predicate: str) -> Function | None:
    """``o…`` is false of a NaN, ``u…`` true."""
    if predicate in ("false", "true"):
        return lambda a, b: int(predicate == "true")
    if predicate in ("ord", "uno"):
        return lambda a, b: int((a == a and b == b) == (predicate == "ord"))
    compare = _FLOAT_ORDERS.get(predicate[1:])
    if compare is None or predicate[0] not in "ou":
        return None
    of_nan = int(predicate[0] == "u")
    return lambda a, b: of_nan if a != a or b != b else int(compare(a, b))


# --- Casts


def _extend(view: Callable[[int, int], int]) -> Callable[[ElementType, ElementType], Function]:
    return lambda source, target: lambda a: wrap(view(a, source.bits), target)


def _to_float(view: Callable[[int, int], int]) -> Callable[[ElementType, ElementType], Function]:
    return lambda source, target: lambda a: _exactly(view(a, source.bits), target)


def _to_integer(range_of: Callable[[int], tuple[int, int]]) -> Callable[[ElementType, ElementType], Function]:
    """Towards zero; what does not fit is poison."""

    def make(source: ElementType, target: ElementType) -> Function:
        least, most = range_of(target.bits)

        def convert(a: float) -> int:
            if not math.isfinite(a) or not least <= math.trunc(a) <= most:
                raise OverflowError(f"{a} does not fit {target}")
            return wrap(math.trunc(a), target)

        return convert

    return make


def _between_floats(source: ElementType, target: ElementType) -> Function:
    return lambda a: a if target is F64 else round_to(target, a)


def _bits(source: ElementType, target: ElementType) -> Function | None:
    if source.bits != target.bits:
        return None
    pack, unpack = _packing(source), _packing(target)
    return lambda a: _from_bits(_to_bits(a, source, pack), target, unpack)


_CODES = {F16: "<e", F32: "<f", F64: "<d"}


def _packing(element: ElementType) -> str:
    return _CODES.get(element, "<f" if element is BF16 else "")


def _to_bits(a: Number, element: ElementType, code: str) -> int:
    if not code:
        return _unsigned(a, element.bits)
    bits = int.from_bytes(struct.pack(code, a), "little")
    return bits >> 16 if element is BF16 else bits


def _from_bits(bits: int, element: ElementType, code: str) -> Number:
    if not code:
        return wrap(bits, element)
    wide = bits << 16 if element is BF16 else bits
    return float(struct.unpack(code, wide.to_bytes(struct.calcsize(code), "little"))[0])


_CASTS: dict[str, tuple[str, str, Callable[[ElementType, ElementType], Function | None]]] = {
    "extsi": ("integer", "integer", _extend(_signed)),
    "extui": ("integer", "integer", _extend(_unsigned)),
    "trunci": ("integer", "integer", _extend(_unsigned)),
    "index_cast": ("integer", "integer", _extend(_signed)),
    "index_castui": ("integer", "integer", _extend(_unsigned)),
    "extf": ("float", "float", _between_floats),
    "truncf": ("float", "float", _between_floats),
    "sitofp": ("float", "integer", _to_float(_signed)),
    "uitofp": ("float", "integer", _to_float(_unsigned)),
    "fptosi": ("integer", "float", _to_integer(lambda n: (-(1 << (n - 1)), (1 << (n - 1)) - 1))),
    "fptoui": ("integer", "float", _to_integer(lambda n: (0, (1 << n) - 1))),
    "bitcast": ("", "", _bits),
}
"""What the result and the operand must be, and the function for two types."""
