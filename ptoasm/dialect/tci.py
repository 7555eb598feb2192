"""TCI: a sequence of consecutive integers."""

from __future__ import annotations

from ptoasm.dialect.base import (
    A2A3_ONLY,
    A5_ONLY,
    BOTH,
    UNUSED,
    Instance,
    Instruction,
    Operand,
    Rule,
    can_be,
    count,
    element_in,
    in_ub,
    scratch_fix,
    wrong_layout,
)
from ptoasm.numbers import exact_in
from ptoasm.types import BF16, F16, F32, I16, I32, UI16, UI32, TileType

_CHECK = "Constraints, Implementation check"
_TMP = "Constraints, Temporary tile"
_B32_BYTES = 768
_B16_BYTES = 1792
_INTEGERS = (I16, UI16, I32, UI32)


def _modes(i: Instance) -> tuple[str, ...]:
    return ("tmp",) if "tmp" in i.tiles else ()


def _needed(i: Instance) -> int:
    """Bytes of tmp that the vectorised path of a2a3 uses."""
    return _B32_BYTES if i["dst"].element.size == 4 else _B16_BYTES


def _scratch_use(i: Instance) -> tuple[int, int]:
    return (1, _needed(i)) if "tmp" in i.modes and i.target.name == "a2a3" else UNUSED


def _scratch_type(i: Instance) -> TileType:
    return TileType.of(F32, 1, _needed(i) // 4, kind=i["dst"].type.kind)


def _written(i: Instance, name: str) -> tuple[int | None, int | None]:
    return 1, i["dst"].valid_cols


def _tmp_size(id: str, size: int, needed: int, types: str) -> Rule:
    return Rule(
        id,
        f"{size}-byte integer dst ({types}): tmp holds at least {needed} bytes",
        _TMP,
        lambda i: i["dst"].element not in _INTEGERS or i["dst"].element.size != size or i["tmp"].type.size >= needed,
        lambda i: (
            f"tmp holds {i['tmp'].type.size} bytes; with a {size}-byte integer dst it must hold at least {needed}"
        ),
        arches=A2A3_ONLY,
        mode="tmp",
        after="TCI-11",
        at="tmp",
        parameter="cols",
        operands=("tmp", "dst.dtype"),
        fix=scratch_fix,
    )


def _representable(i: Instance) -> bool | None:
    """Whether every S +/- k is exact in dst's element type."""
    start, length = i.scalars["S"].value, i["dst"].valid_cols
    if start is None or length is None:
        return None
    return exact_in(i["dst"].element, start, length, -1 if i.attributes["descending"] else 1)


def _sequence(i: Instance) -> str:
    start, length = i.scalars["S"].value, i["dst"].valid_cols
    return f"S {'-' if i.attributes['descending'] else '+'} k for S = {start}, k < {length}"


RULES = (
    Rule(
        "TCI-01",
        "dst element type == scalar type",
        _CHECK,
        lambda i: i.scalars["S"].type is None or i.scalars["S"].type is i["dst"].element,
        lambda i: f"S has type {i.scalars['S'].type}; it must be {i['dst'].element}, the element type of dst",
        at="S",
        parameter="dtype",
        operands=("S", "dst"),
        forms=("ssa", "dps"),
        fix=lambda i: f"S can be {i['dst'].element}",
    ),
    element_in("TCI-02", "dst", _CHECK, (I16, UI16, I32, UI32, F16, BF16, F32), arches=A2A3_ONLY),
    element_in("TCI-03", "dst", _CHECK, _INTEGERS, arches=A5_ONLY),
    Rule(
        "TCI-04",
        "dst rows (physical) == 1",
        _CHECK,
        lambda i: i["dst"].type.rows == 1,
        lambda i: f"dst has {count(i['dst'].type.rows, 'row')}; it must have 1",
        at="dst",
        parameter="rows",
        fix=can_be("dst", rows=1, valid_rows=lambda i: i["dst"].type.valid_rows and 1),
    ),
    Rule(
        "TCI-05",
        "dst has loc=vec and slayout=none_box (decision D-10)",
        "decision D-10",
        lambda i: i["dst"].type.loc == "vec" and i["dst"].type.slayout == "none_box",
        lambda i: (
            f"dst has loc={i['dst'].type.loc}, slayout={i['dst'].type.slayout}; it must have loc=vec, slayout=none_box"
        ),
        at="dst",
        place=wrong_layout("dst", "loc", "slayout"),
        fix=can_be("dst", loc="vec", slayout="none_box"),
    ),
    Rule(
        "TCI-06",
        "tmp element type is 4 bytes wide: f32 i32 ui32",
        _TMP,
        lambda i: i["tmp"].element in (F32, I32, UI32),
        lambda i: f"tmp has element type {i['tmp'].element}; on a2a3 it must be one of f32 i32 ui32",
        arches=A2A3_ONLY,
        mode="tmp",
        at="tmp",
        parameter="dtype",
        fix=scratch_fix,
    ),
    _tmp_size("TCI-07", 4, _B32_BYTES, "i32 ui32"),
    _tmp_size("TCI-08", 2, _B16_BYTES, "i16 ui16"),
    Rule(
        "TCI-09",
        "dst element type is an integer: the tmp path is documented for i16 ui16 i32 ui32 only",
        _TMP,
        lambda i: i["dst"].element in _INTEGERS,
        lambda i: f"dst has element type {i['dst'].element}; with a tmp only i16 ui16 i32 ui32 are documented",
        severity="warning",
        arches=A2A3_ONLY,
        mode="tmp",
        after="TCI-02",
        at="dst",
        parameter="dtype",
        fix=lambda i: "leave tmp out: the overload without it takes every listed type",
    ),
    Rule(
        "TCI-10",
        "every value S +/- k of the sequence is representable in the dst element type "
        "(otherwise integers wrap, floats round)",
        "decision D-06",
        _representable,
        lambda i: (
            f"dst has element type {i['dst'].element}, which cannot represent every value of {_sequence(i)}; "
            f"{'they wrap' if i['dst'].element.is_integer else 'they are rounded'}"
        ),
        severity="warning",
        arches=BOTH,
        after="TCI-01 TCI-02 TCI-03",
        at="S",
        operands=("S", "dst"),
        individual=True,
    ),
    in_ub("TCI-11", "tmp", "decision D-11", arches=A2A3_ONLY, mode="tmp"),
)

INSTRUCTIONS = (
    Instruction(
        "tci",
        (Operand("S", scalar=True), Operand("tmp", optional=True)),
        (Operand("dst"),),
        page="TCI",
        attributes={"descending": False},
        rules=RULES,
        scratch="tmp",
        modes=_modes,
        scratch_use=_scratch_use,
        scratch_type=_scratch_type,
        written=_written,
    ),
)
