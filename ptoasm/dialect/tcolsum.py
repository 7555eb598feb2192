"""TCOLSUM: sums each column over its rows, in order or as a binary tree."""

from __future__ import annotations

from typing import Any

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
    extent_nonzero,
    in_ub,
    nd_layout,
    same_cols,
    same_element,
    scratch_fix,
    whole_blocks,
    wrong_layout,
)
from ptoasm.types import BF16, F16, F32, I8, I16, I32, UI8, UI16, UI32, TileType

_GENERAL = "General Constraints or Checks"
_RUNTIME = "General Constraints or Checks, Runtime checks"
_A2A3 = "Implementation Check for Atlas A2/A3"
_A5 = "Ascend 950PR/Ascend 950DT Implementation Check"
_SPACE = "Temporary Space"
_SILENT = "the instruction does nothing, silently"


def _modes(i: Instance) -> tuple[str, ...]:
    modes = []
    if "tmp" in i.tiles:
        modes.append("tmp")
    if i.attributes["isBinary"]:
        modes.append("binary")
    return tuple(modes)


def _tree_rows(i: Instance) -> int | None:
    """Rows of tmp that the tree needs: ceil(src valid rows / 2)."""
    rows = i["src"].valid_rows
    return None if rows is None else ceil_div(rows, 2)


def _scratch_use(i: Instance) -> tuple[int, int] | None:
    if "binary" not in i.modes:
        return UNUSED
    rows, cols = _tree_rows(i), i["src"].valid_cols
    return None if rows is None or cols is None else (rows, cols * i["src"].element.size)


def _scratch_type(i: Instance) -> TileType:
    src = i["src"].type
    rows = src.rows if src.valid_rows is None else src.valid_rows
    cols = src.cols if src.valid_cols is None else src.valid_cols
    rows = max(ceil_div(rows, 2), 1) if i.attributes["isBinary"] else 1
    return TileType.of(src.element, rows, whole_blocks(cols, src.element.size), kind=src.kind)


def _written(i: Instance, name: str) -> tuple[int | None, int | None]:
    src = i["src"]
    if src.valid_rows == 0 or src.valid_cols == 0:
        return 0, 0
    return (None if src.valid_rows is None else 1), src.valid_cols


def _tmp_matches(i: Instance) -> bool:
    return i["tmp"].element is i["src"].element and i["tmp"].element is i["dst"].element


def _tmp_message(i: Instance) -> str:
    other = "src" if i["tmp"].element is not i["src"].element else "dst"
    return f"tmp has element type {i['tmp'].element}; it must be {i[other].element}, as {other} has"


def _tmp_element(id: str, page: str, **options: Any) -> Rule:
    """tmp has the element type of src and dst; the page says so of a tmp on a2a3, and of the tree on both targets."""
    return Rule(
        id,
        "tmp element type == src and dst element type",
        page,
        _tmp_matches,
        _tmp_message,
        at="tmp",
        parameter="dtype",
        operands=("tmp", "src", "dst"),
        fix=scratch_fix,
        **options,
    )


def _stride_in_src_elements(i: Instance) -> int:
    """Columns of tmp's row stride, counted in src elements."""
    tmp, size = i["tmp"].type, i["src"].element.size
    return tmp.cols * tmp.element.size // size if size else tmp.cols


RULES = (
    in_ub("TCS-01", "dst", _GENERAL),
    in_ub("TCS-02", "src", _GENERAL),
    nd_layout("TCS-03", "dst", _GENERAL),
    nd_layout("TCS-04", "src", _GENERAL),
    same_element("TCS-05", "dst", "src", _GENERAL),
    same_cols("TCS-06", "src", "dst", _RUNTIME),
    extent_nonzero("TCS-07", "src", "rows", _RUNTIME, severity="warning", consequence=_SILENT, suffix=f" ({_SILENT})"),
    extent_nonzero("TCS-08", "src", "cols", _RUNTIME, severity="warning", consequence=_SILENT, suffix=f" ({_SILENT})"),
    Rule(
        "TCS-09",
        "tmp row stride in bytes / sizeof(src element) >= src valid cols",
        _RUNTIME,
        lambda i: at_least(_stride_in_src_elements(i), i["src"].valid_cols),
        lambda i: (
            f"tmp has a row stride of {count(_stride_in_src_elements(i), str(i['src'].element) + ' element')}; "
            f"it must be at least {i['src'].valid_cols}, the valid columns of src"
        ),
        after="TCS-07 TCS-08 TCS-11",
        mode="tmp",
        at="tmp",
        parameter="cols",
        operands=("tmp", "src.valid_cols"),
        fix=scratch_fix,
    ),
    element_in("TCS-10", "src", f"{_A2A3}", (F16, F32, I16, I32), arches=A2A3_ONLY, what="element type"),
    Rule(
        "TCS-11",
        "tmp has loc=vec and is ND: blayout=row_major and slayout=none_box",
        _A2A3,
        lambda i: i["tmp"].type.loc == "vec" and i["tmp"].type.is_nd,
        lambda i: (
            f"tmp has loc={i['tmp'].type.loc}, blayout={i['tmp'].type.blayout}, slayout={i['tmp'].type.slayout}; "
            "it must have loc=vec, blayout=row_major, slayout=none_box"
        ),
        arches=A2A3_ONLY,
        mode="tmp",
        at="tmp",
        place=wrong_layout("tmp", "loc", "blayout", "slayout"),
        fix=can_be("tmp", loc="vec", blayout="row_major", slayout="none_box"),
    ),
    _tmp_element("TCS-12", _A2A3, arches=A2A3_ONLY, mode="tmp"),
    element_in(
        "TCS-13",
        "src",
        _A5,
        (F16, F32, I8, UI8, I16, UI16, I32, UI32, BF16),
        arches=A5_ONLY,
        what="element type",
    ),
    Rule(
        "TCS-14",
        "isBinary = true has a tmp (level 1 and level 2; the synchronous form gets an internal one)",
        f"AS Level 1 (SSA); {_SPACE}",
        lambda i: "tmp" in i.tiles,
        lambda i: "has isBinary = true and no tmp; the binary tree needs one",
        mode="binary",
        forms=("ssa", "dps"),
        at="{isBinary",
        operands=("src",),
        fix=scratch_fix,
    ),
    _tmp_element("TCS-15", _SPACE, after="TCS-12", mode="binary"),
    Rule(
        "TCS-16",
        "tmp valid cols >= src valid cols",
        _SPACE,
        lambda i: at_least(i["tmp"].valid_cols, i["src"].valid_cols),
        lambda i: (
            f"tmp has {count(i['tmp'].valid_cols, 'valid column')}; "
            f"it must have at least {i['src'].valid_cols}, as src has"
        ),
        after="TCS-07 TCS-08 TCS-09",
        mode="binary",
        at="tmp",
        parameter="valid_cols",
        operands=("tmp", "src"),
        fix=scratch_fix,
    ),
    Rule(
        "TCS-17",
        "tmp has at least ceil(src valid rows / 2) physical rows",
        _SPACE,
        lambda i: at_least(i["tmp"].type.rows, _tree_rows(i)),
        lambda i: (
            f"tmp has {count(i['tmp'].type.rows, 'row')}; it must have at least {_tree_rows(i)}, "
            f"half of the {i['src'].valid_rows} valid rows of src"
        ),
        after="TCS-07 TCS-08",
        mode="binary",
        at="tmp",
        parameter="rows",
        operands=("tmp", "src.valid_rows"),
        fix=scratch_fix,
    ),
    in_ub("TCS-18", "tmp", f"{_SPACE}, Ascend 950PR/Ascend 950DT", arches=A5_ONLY, mode="binary"),
)

INSTRUCTIONS = (
    Instruction(
        "tcolsum",
        (Operand("src"), Operand("tmp", optional=True)),
        (Operand("dst"),),
        page="TCOLSUM",
        attributes={"isBinary": False},
        rules=RULES,
        scratch="tmp",
        modes=_modes,
        scratch_use=_scratch_use,
        scratch_type=_scratch_type,
        written=_written,
    ),
)
