"""TCOLARGMIN: the row index of each column's minimum, and in value + index mode the minimum too."""

from __future__ import annotations

from ptoasm.dialect.base import (
    A2A3_ONLY,
    A5_ONLY,
    UNUSED,
    Instance,
    Instruction,
    Operand,
    Rule,
    at_least,
    can_be,
    ceil_div,
    count,
    element_in,
    equal,
    extent_nonzero,
    in_ub,
    nd_layout,
    rows_equal,
    same_cols,
    same_element,
    scratch_fix,
    whole_blocks,
)
from ptoasm.targets import BLOCK_BYTES, REPEAT_BYTES
from ptoasm.types import F16, F32, I8, I16, I32, UI8, UI16, UI32, ElementType, TileType

INDEX = "index"
VALUE_INDEX = "value+index"

_GENERAL = "General Constraints or Checks"
_RUNTIME = "General Constraints or Checks, Runtime checks"
_INDEX_A2A3 = "Index-Only Mode, Implementation Check for Atlas A2/A3"
_INDEX_A5 = "Index-Only Mode, Ascend 950PR/Ascend 950DT Implementation Check; decision D-19"
_VALUE = "Value + Index Mode"
_VALUE_RUNTIME = "Value + Index Mode, Runtime checks"
_VALUE_A2A3 = "Value + Index Mode, Implementation Check for Atlas A2/A3"
_VALUE_A5 = "Value + Index Mode, Ascend 950PR/Ascend 950DT Implementation Check"
_TMP = "tmp Tile Description of Atlas A2/A3"
_USED = (2, 4)
"""Bytes of the source elements for which a2a3 uses tmp: it takes no others."""
_F16_EXACT = 2048
"""The largest number below which f16 holds every integer."""


def _modes(i: Instance) -> tuple[str, ...]:
    return (VALUE_INDEX,) if "dstVal" in i.tiles else (INDEX,)


# --- The size of tmp, in elements (decision D-08)


def _gap(cols: int, size: int) -> int:
    """tmpGapEles for ``cols`` valid columns of ``size`` bytes each."""
    per_repeat, per_block = REPEAT_BYTES // size, BLOCK_BYTES // size
    return per_repeat if cols >= per_repeat else ceil_div(cols, per_block) * per_block


def _stride(cols: int, size: int) -> int:
    """The page's stride formula for 2-byte sources in index-only mode."""
    per_repeat, per_block = REPEAT_BYTES // size, BLOCK_BYTES // size
    repeats = ceil_div(cols, per_repeat)
    return ceil_div(repeats * 2, per_block) * per_block + ceil_div(repeats, per_block) * per_block


def _by_text(i: Instance, cols: int) -> int:
    size = i["src"].element.size
    if size == 2 and INDEX in i.modes:
        return _stride(cols, size)
    return _gap(cols, size)


def _by_table(i: Instance, cols: int) -> int:
    """Every region that the page's table puts in tmp."""
    size = i["src"].element.size
    regions = 1 if size == 4 else 3 if INDEX in i.modes else 2
    return regions * _gap(cols, size)


def _capacity(i: Instance) -> int:
    return i["tmp"].type.rows * i["tmp"].type.cols


def _as_large_as_src(i: Instance) -> bool:
    tmp, src = i["tmp"].type, i["src"].type
    return tmp.rows >= src.rows and tmp.cols >= src.cols


def _text_holds(i: Instance) -> bool | None:
    if i["src"].element.size == 2 and INDEX in i.modes and _as_large_as_src(i):
        return True
    cols = i["src"].valid_cols
    return None if cols is None else _capacity(i) >= _by_text(i, cols)


def _table_holds(i: Instance) -> bool | None:
    cols = i["src"].valid_cols
    return None if cols is None else _capacity(i) >= _by_table(i, cols)


def _scratch_use(i: Instance) -> tuple[int, int] | None:
    if i.target.name != "a2a3" or i["src"].element.size not in _USED:
        return UNUSED
    cols = i["src"].valid_cols
    return None if cols is None else (1, _by_table(i, cols) * i["src"].element.size)


def _scratch_type(i: Instance) -> TileType:
    src = i["src"].type
    cols = src.cols if src.valid_cols is None else src.valid_cols
    size = src.element.size
    elements = max(_by_table(i, cols), _by_text(i, cols)) if size in _USED else 1
    return TileType.of(src.element, 1, whole_blocks(elements, size), kind=src.kind)


def _written(i: Instance, name: str) -> tuple[int | None, int | None]:
    return 1, i["src"].valid_cols


def _needs(i: Instance, elements: int, why: str) -> str:
    return (
        f"tmp holds {count(_capacity(i), str(i['tmp'].element) + ' element')}; it must hold at least {elements} ({why} "
        f"for {count(i['src'].valid_cols, 'valid column')})"
    )


def _index_fits(i: Instance) -> bool | None:
    rows = i["src"].valid_rows
    return None if rows is None else rows - 1 <= i["dstIdx"].element.range[1]


def _wide(size: int, types: tuple[ElementType, ...], i: Instance) -> bool:
    return i["src"].element.size != size or i["dstIdx"].element in types


def _index_type(
    id: str,
    size: int,
    sources: str,
    types: tuple[ElementType, ...],
    arches: tuple[str, ...],
    page: str,
    after: str,
) -> Rule:
    listed = " or ".join(map(str, types))
    return Rule(
        id,
        f"src {size} bytes wide ({sources}): dstIdx element type is {listed}",
        page,
        lambda i: _wide(size, types, i),
        lambda i: (
            f"dstIdx has element type {i['dstIdx'].element}; "
            f"with the {size}-byte source {i['src'].element} it must be {listed}"
        ),
        mode=VALUE_INDEX,
        arches=arches,
        after=after,
        at="dstIdx",
        parameter="dtype",
        operands=("dstIdx", "src"),
        fix=can_be("dstIdx", element=types[0]),
    )


RULES = (
    in_ub("CAM-01", "dstIdx", _GENERAL),
    in_ub("CAM-02", "src", _GENERAL),
    Rule(
        "CAM-03",
        "src is not fractal: slayout=none_box, blayout row_major (ND) or col_major (DN)",
        _GENERAL,
        lambda i: i["src"].type.slayout == "none_box",
        lambda i: f"src has slayout={i['src'].type.slayout}; it must be none_box (not fractal)",
        at="src",
        parameter="slayout",
        fix=can_be("src", slayout="none_box"),
    ),
    nd_layout("CAM-04", "dstIdx", _GENERAL),
    element_in("CAM-05", "dstIdx", _GENERAL, (UI32, I32, UI16, I16)),
    extent_nonzero("CAM-06", "src", "rows", _RUNTIME),
    extent_nonzero("CAM-07", "src", "cols", _RUNTIME),
    rows_equal("CAM-08", "dstIdx", 1, _RUNTIME),
    same_cols("CAM-09", "src", "dstIdx", _RUNTIME),
    element_in("CAM-10", "src", _INDEX_A2A3, (F16, F32, UI16, UI32), arches=A2A3_ONLY, mode=INDEX),
    same_element("CAM-11", "tmp", "src", _INDEX_A2A3, arches=A2A3_ONLY, mode=INDEX),
    element_in("CAM-12", "src", _INDEX_A5, (I8, UI8, I16, UI16, I32, UI32, F16, F32), arches=A5_ONLY, mode=INDEX),
    in_ub("CAM-13", "dstVal", _VALUE, mode=VALUE_INDEX),
    nd_layout("CAM-14", "dstVal", _VALUE, mode=VALUE_INDEX),
    same_element("CAM-15", "dstVal", "src", _VALUE, mode=VALUE_INDEX),
    Rule(
        "CAM-16",
        "src element type is not 8 bits wide",
        _VALUE,
        lambda i: i["src"].element.size != 1,
        lambda i: f"src has the 8-bit element type {i['src'].element}; value + index mode takes 16 or 32 bits",
        mode=VALUE_INDEX,
        at="src",
        parameter="dtype",
    ),
    rows_equal("CAM-17", "dstVal", 1, _VALUE_RUNTIME, mode=VALUE_INDEX),
    extent_nonzero("CAM-18", "dstVal", "cols", _VALUE_RUNTIME, mode=VALUE_INDEX, after="CAM-07"),
    same_cols("CAM-19", "src", "dstVal", _VALUE_RUNTIME, mode=VALUE_INDEX, after="CAM-18"),
    Rule(
        "CAM-20",
        "dstVal valid rows == dstIdx valid rows (holds whenever CAM-08 and CAM-17 hold: never printed)",
        _VALUE_RUNTIME,
        lambda i: equal(i["dstVal"].valid_rows, i["dstIdx"].valid_rows),
        lambda i: (
            f"dstVal has {count(i['dstVal'].valid_rows, 'valid row')}; "
            f"it must have {i['dstIdx'].valid_rows}, as dstIdx has"
        ),
        mode=VALUE_INDEX,
        after="CAM-08 CAM-17",
        at="dstVal",
        parameter="valid_rows",
        operands=("dstVal", "dstIdx"),
    ),
    same_cols(
        "CAM-21",
        "dstIdx",
        "dstVal",
        _VALUE_RUNTIME,
        mode=VALUE_INDEX,
        after="CAM-09 CAM-18 CAM-19",
        suffix=" (holds whenever CAM-09 and CAM-19 hold: never printed)",
    ),
    element_in(
        "CAM-22",
        "src",
        _VALUE_A2A3,
        (F16, F32, UI16, UI32),
        arches=A2A3_ONLY,
        mode=VALUE_INDEX,
        after="CAM-16",
    ),
    _index_type("CAM-23", 2, "f16 ui16", (UI16, I16), A2A3_ONLY, _VALUE_A2A3, "CAM-22"),
    _index_type("CAM-24", 4, "f32 ui32", (UI32, I32), A2A3_ONLY, _VALUE_A2A3, "CAM-22"),
    same_element("CAM-25", "tmp", "src", _VALUE_A2A3, arches=A2A3_ONLY, mode=VALUE_INDEX),
    element_in(
        "CAM-26",
        "src",
        f"{_VALUE_A5}; decision D-19",
        (F16, I16, UI16, F32, I32, UI32),
        arches=A5_ONLY,
        mode=VALUE_INDEX,
        after="CAM-16",
    ),
    _index_type("CAM-27", 2, "f16 i16 ui16", (UI16, I16), A5_ONLY, _VALUE_A5, "CAM-26"),
    _index_type("CAM-28", 4, "f32 i32 ui32", (UI32, I32), A5_ONLY, _VALUE_A5, "CAM-26"),
    Rule(
        "CAM-29",
        "tmp is large enough by the page's text (decision D-08)",
        _TMP,
        _text_holds,
        lambda i: _needs(i, _by_text(i, i["src"].valid_cols or 0), "by the page's text"),
        arches=A2A3_ONLY,
        after="CAM-10 CAM-22 CAM-11 CAM-25 CAM-32",
        at="tmp",
        parameter="cols",
        operands=("tmp", "src.valid_cols"),
        fix=scratch_fix,
    ),
    Rule(
        "CAM-30",
        "tmp also holds every region that the page's region table puts in tmp (decision D-08)",
        _TMP,
        _table_holds,
        lambda i: _needs(i, _by_table(i, i["src"].valid_cols or 0), "by the page's region table"),
        severity="warning",
        arches=A2A3_ONLY,
        after="CAM-29 CAM-10 CAM-22 CAM-11 CAM-25 CAM-32",
        at="tmp",
        parameter="cols",
        operands=("tmp", "src.valid_cols"),
        fix=scratch_fix,
    ),
    Rule(
        "CAM-31",
        "2-byte src: src valid rows <= 2049, since the index passes through f16 (decision D-09)",
        _TMP,
        lambda i: i["src"].element.size != 2 or at_least(_F16_EXACT + 1, i["src"].valid_rows),
        lambda i: (
            f"src has {i['src'].valid_rows} valid rows; with a 2-byte source the index passes through f16, "
            f"which is exact only up to {_F16_EXACT + 1} rows"
        ),
        severity="warning",
        arches=A2A3_ONLY,
        mode=INDEX,
        after="CAM-10",
        at="src",
        parameter="valid_rows",
    ),
    in_ub("CAM-32", "tmp", "decision D-11", arches=A2A3_ONLY),
    Rule(
        "CAM-33",
        "every row index (src valid rows - 1) fits the element type of dstIdx (otherwise it wraps)",
        "decision D-09",
        _index_fits,
        lambda i: (
            f"dstIdx has element type {i['dstIdx'].element}, at most {i['dstIdx'].element.range[1]}; "
            f"src has {i['src'].valid_rows} valid rows, so a larger index wraps"
        ),
        severity="warning",
        after="CAM-05",
        at="dstIdx",
        parameter="dtype",
        operands=("dstIdx", "src.valid_rows"),
    ),
)

INSTRUCTIONS = (
    Instruction(
        "tcolargmin",
        (Operand("src"), Operand("tmp", optional=True)),
        (Operand("dstVal", optional=True), Operand("dstIdx")),
        page="TCOLARGMIN",
        rules=RULES,
        scratch="tmp",
        modes=_modes,
        scratch_use=_scratch_use,
        scratch_type=_scratch_type,
        written=_written,
    ),
)
