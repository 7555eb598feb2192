"""Rules that belong to no single instruction: tile types, addresses, forms, overlap, initialisation.

A rule's predicate is given what it is about: a tile type, an address, a form or an instance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ptoasm.dialect.base import Instance, Instruction, Rule, count
from ptoasm.ir import DPS, SSA, SYNC, Shape
from ptoasm.targets import BLOCK_BYTES, TARGETS, Target
from ptoasm.types import TileType, Type

_PLATFORM = "platform, Tile types"
_TARGETS = "platform, Targets"
_SYNTAX = "Assembly Syntax"

# --- Tile types ------------------------------------------------------------------------------------


def _within(valid: int | None, extent: int) -> bool:
    return valid is None or 0 <= valid <= extent


def _contiguous(t: TileType) -> int:
    """Bytes of a contiguous run: a row, or a column of a column-major tile."""
    return (t.rows if t.blayout == "col_major" else t.cols) * t.element.size


TILE_RULES = (
    Rule(
        "TILE-01",
        "rows >= 1 and cols >= 1",
        _PLATFORM,
        lambda t: t.rows >= 1 and t.cols >= 1,
        lambda t: f"the tile has {count(t.rows, 'row')} and {count(t.cols, 'column')}; it must have at least 1 of each",
        parameter="rows",
    ),
    Rule(
        "TILE-02",
        "0 <= valid rows <= rows and 0 <= valid cols <= cols",
        _PLATFORM,
        lambda t: _within(t.valid_rows, t.rows) and _within(t.valid_cols, t.cols),
        lambda t: (
            f"the valid region is {t.valid_rows}x{t.valid_cols}; it must lie within the {t.rows}x{t.cols} of the tile"
        ),
        after="TILE-01",
        parameter="valid_rows",
    ),
    Rule(
        "TILE-03",
        "none_box tiles: the contiguous run is a multiple of 32 bytes (row_major: cols*sizeof; col_major: rows*sizeof)",
        _PLATFORM,
        lambda t: t.slayout != "none_box" or not t.element.size or _contiguous(t) % BLOCK_BYTES == 0,
        lambda t: (
            f"a {'column' if t.blayout == 'col_major' else 'row'} of the tile has {_contiguous(t)} bytes; "
            f"it must be a multiple of {BLOCK_BYTES}"
        ),
        after="TILE-01",
        parameter="rows",
        fix=lambda t: f"the tile can be {_rounded_up(t)}",
    ),
)


def _rounded_up(t: TileType) -> TileType:
    extent = "rows" if t.blayout == "col_major" else "cols"
    per_block = max(BLOCK_BYTES // t.element.size, 1)
    return t.with_(**{extent: -(-getattr(t, extent) // per_block) * per_block})


# --- Addresses -------------------------------------------------------------------------------------


class Address(NamedTuple):
    """A tile bound to an address: bytes from the start of the UB; ``ub_size`` is the UB's capacity in bytes."""

    type: TileType
    address: int | None
    ub_size: int
    target: Target


def _ends_inside(a: Address) -> bool | None:
    return None if a.address is None else a.address + a.type.size <= a.ub_size


ADDRESS_RULES = (
    Rule(
        "ADDR-01",
        "loc=vec: the address is a multiple of 32 bytes",
        _TARGETS,
        lambda a: None if a.address is None else a.address % BLOCK_BYTES == 0,
        lambda a: f"the address {a.address:#x} is not a multiple of {BLOCK_BYTES} bytes",
        fix=lambda a: f"the next aligned address is {-(-a.address // BLOCK_BYTES) * BLOCK_BYTES:#x}",
    ),
    Rule(
        "ADDR-02",
        "loc=vec: address + tile size in bytes <= UB capacity of the target",
        _TARGETS,
        _ends_inside,
        lambda a: (
            f"the tile ends at {a.address + a.type.size:#x} ({a.address:#x} + {a.type.size} bytes); "
            f"the UB of {a.target.name} ends at {a.ub_size:#x} ({a.ub_size} bytes)"
        ),
        after="ADDR-03 ADDR-04",
    ),
    Rule(
        "ADDR-03",
        "loc=vec: tile size in bytes <= UB capacity of the target",
        _TARGETS,
        lambda a: a.type.size <= a.ub_size,
        lambda a: f"the tile has {a.type.size} bytes; the UB of {a.target.name} has {a.ub_size}",
    ),
    Rule(
        "ADDR-04",
        "the address is not negative",
        _TARGETS,
        lambda a: None if a.address is None else a.address >= 0,
        lambda a: f"the address {a.address} is negative",
    ),
)

# --- Forms -----------------------------------------------------------------------------------------


class Form(NamedTuple):
    """How an operation is written."""

    shape: Shape
    instruction: Instruction
    n_inputs: int
    n_outputs: int


def _wrong_kind(f: Form) -> tuple[str, Type] | None:
    """The first tile operand or result whose type is of the other level's kind."""
    wanted = "tile_buf" if f.shape.form == DPS else "tile"
    named = [
        *zip(f.shape.input_names, f.shape.input_types, strict=False),
        *zip(f.shape.output_names, f.shape.output_types, strict=False),
    ]
    return next(((n, t) for n, t in named if isinstance(t, TileType) and t.kind != wanted), None)


def _kind_message(f: Form) -> str:
    wrong = _wrong_kind(f)
    assert wrong is not None
    wanted = "!pto.tile_buf" if f.shape.form == DPS else "!pto.tile"
    where = {DPS: "at level 2", SSA: "at level 1", SYNC: "in the synchronous form"}[f.shape.form]
    assert isinstance(wrong[1], TileType)
    return f"{wrong[0]} has a type !pto.{wrong[1].kind}<…>; {where} it must be {wanted}<…>"


def _kind_place(f: Form) -> tuple[str, str]:
    wrong = _wrong_kind(f)
    return (wrong[0], "kind") if wrong is not None else ("", "")


def _expected(f: Form) -> tuple[range, range]:
    """How many operands and how many results the form has."""
    inputs, outputs = f.instruction.inputs, f.instruction.outputs
    least = sum(not o.optional for o in inputs)
    most = least if f.shape.form == SYNC else len(inputs)
    return range(least, most + 1), range(sum(not o.optional for o in outputs), len(outputs) + 1)


def _counts_hold(f: Form) -> bool:
    inputs, outputs = _expected(f)
    stray = f.shape.form == DPS and f.shape.keywords.get("results", 0)
    return f.n_inputs in inputs and f.n_outputs in outputs and f.shape.type_counts in ((0, 0), None) and not stray


def _range(r: range, noun: str) -> str:
    low, high = r.start, r.stop - 1
    return count(low, noun) if low == high else f"{low} or {high} {noun}s"


def _counts_message(f: Form) -> str:
    inputs, outputs = _expected(f)
    name = {DPS: "level 2", SSA: "level 1", SYNC: "the synchronous form"}[f.shape.form]
    result = "destination" if f.shape.form == DPS else "result"
    if f.n_inputs not in inputs:
        return f"there {_are(f.n_inputs)} {count(f.n_inputs, 'operand')}; {name} has {_range(inputs, 'operand')}"
    if f.n_outputs not in outputs:
        return f"there {_are(f.n_outputs)} {count(f.n_outputs, result)}; {name} has {_range(outputs, result)}"
    if f.shape.form == DPS and f.shape.keywords.get("results", 0):
        return "level 2 has no results; its destinations stand in outs(…)"
    first, second = f.shape.type_counts or (0, 0)
    if first:
        typed = f.n_inputs + first
        if f.shape.form == SYNC:
            return f"there {_are(typed)} {count(typed, 'operand type')} too many or too few"
        return f"there {_are(typed)} {count(typed, 'type')} for {count(f.n_inputs, 'operand')}"
    typed = f.n_outputs + second
    return f"there {_are(typed)} {count(typed, 'type')} for {count(f.n_outputs, result)}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _wrong_attribute(f: Form) -> str | None:
    """The first attribute that is given twice, or is known and no bool."""
    if f.shape.duplicates:
        return f.shape.duplicates[0]
    known = f.instruction.attributes
    return next((n for n, v in f.shape.attributes.items() if n in known and v not in ("true", "false")), None)


def _attribute_message(f: Form) -> str:
    name = _wrong_attribute(f) or ""
    if name in f.shape.duplicates:
        return f"the attribute {name} is given twice"
    value = f.shape.attributes[name]
    return f"the attribute {name} is {value or 'given without a value'}; it must be true or false"


def _unknown_attribute(f: Form) -> str | None:
    known = f.instruction.attributes
    return next((n for n in f.shape.attributes if n not in known and "." not in n), None)


def _unknown_message(f: Form) -> str:
    from ptoasm.suggest import did_you_mean

    name = _unknown_attribute(f) or ""
    near = did_you_mean(name, f.instruction.attributes)
    return f"the attribute {name} is not known" + (f"; did you mean '{near}'?" if near else "")


FORM_RULES = (
    Rule(
        "FORM-01",
        "in the synchronous form and at level 1 tile operands and results are !pto.tile",
        _SYNTAX,
        lambda f: _wrong_kind(f) is None,
        _kind_message,
        forms=(SYNC, SSA),
        place=_kind_place,
    ),
    Rule(
        "FORM-02",
        "at level 2 tile operands are !pto.tile_buf",
        _SYNTAX,
        lambda f: _wrong_kind(f) is None,
        _kind_message,
        forms=(DPS,),
        place=_kind_place,
    ),
    Rule(
        "FORM-03",
        "level 1 and level 2 have the operands src and tmp",
        _SYNTAX,
        lambda f: f.n_inputs >= len(f.instruction.inputs) or f.instruction.name not in ("tcolargmin", "tcolargmax"),
        lambda f: f"there {_are(f.n_inputs)} {count(f.n_inputs, 'operand')}; level 1 and level 2 have src and tmp",
        forms=(SSA, DPS),
        fix=lambda f: (
            "write 'ins(%src, %tmp : …)'; only the synchronous form leaves tmp out"
            if f.shape.form == DPS
            else "write '%src, %tmp'; only the synchronous form leaves tmp out"
        ),
    ),
    Rule(
        "FORM-04",
        "the number of operands, results and types is the one of the form",
        _SYNTAX,
        _counts_hold,
        _counts_message,
        after="FORM-03",
    ),
    Rule(
        "FORM-05",
        "a known attribute has its type (descending: bool; isBinary: bool) and is given once",
        _SYNTAX,
        lambda f: _wrong_attribute(f) is None,
        _attribute_message,
        place=lambda f: (f"{{{_wrong_attribute(f)}", ""),
    ),
    Rule(
        "FORM-06",
        "an attribute without a dot in its name is known (dotted ones are discardable and belong to others)",
        _SYNTAX,
        lambda f: _unknown_attribute(f) is None,
        _unknown_message,
        severity="warning",
        place=lambda f: (f"{{{_unknown_attribute(f)}", ""),
    ),
)

# --- Overlap ---------------------------------------------------------------------------------------


def _clash(i: Instance, scratch: bool) -> tuple[str, str] | bool | None:
    """Two operands whose bytes overlap; None where there are none, False while an address is not known."""
    regions = i.regions
    if regions is None:
        return False
    instruction = i.instruction
    outputs = [o.name for o in instruction.outputs if o.name in regions]
    inputs = [o.name for o in instruction.inputs if o.name in regions and o.name != instruction.scratch]
    if scratch:
        firsts = [instruction.scratch] if instruction.scratch in regions else []
        pairs = [(a, b) for a in firsts for b in (*inputs, *outputs)]
    else:
        pairs = [(a, b) for k, a in enumerate(outputs) for b in (*inputs, *outputs[:k])]
    unknown = False
    for a, b in pairs:
        first, second = regions[a], regions[b]
        if first is None or second is None:
            unknown = True
        elif first.overlaps(second):
            return a, b
    return False if unknown else None


def _disjoint(i: Instance, scratch: bool) -> bool | None:
    found = _clash(i, scratch)
    return None if found is False else found is None


def _overlap_message(i: Instance, scratch: bool) -> str:
    found = _clash(i, scratch)
    assert isinstance(found, tuple)
    first, second = (_extent(i, name) for name in found)
    what = "the bytes of scratch that it uses" if scratch else "the bytes that it writes"
    return f"{what}, {first}, overlap {second}"


def _extent(i: Instance, name: str) -> str:
    assert i.regions is not None
    region = i.regions[name]
    assert region is not None
    return f"{name} [{region.start:#x}, {region.end:#x})"


def _clash_place(i: Instance, scratch: bool) -> tuple[str, str]:
    found = _clash(i, scratch)
    return (found[0], "") if isinstance(found, tuple) else ("", "")


HAZARD_RULES = (
    Rule(
        "HAZ-01",
        "within one instruction the bytes that it writes to an output do not overlap the valid bytes of an input or the "
        "bytes that it writes to another output (decision D-12)",
        "decision D-12",
        lambda i: _disjoint(i, False),
        lambda i: _overlap_message(i, False),
        severity="warning",
        place=lambda i: _clash_place(i, False),
        individual=True,
    ),
    Rule(
        "HAZ-02",
        "where the target uses tmp (decision D-11): the used bytes of tmp do not overlap the valid bytes of an input or "
        "the written bytes of an output",
        "decision D-12",
        lambda i: _disjoint(i, True),
        lambda i: _overlap_message(i, True),
        severity="warning",
        place=lambda i: _clash_place(i, True),
        individual=True,
    ),
)

# --- The module, its placement and its runs


def _named(target: Any) -> str:
    return f'pto.target_arch is "{target}"; it must be one of {", ".join(TARGETS)}'


class Unwritten(NamedTuple):
    """What an instruction reads although nothing wrote it: ``offset`` is the first such byte from the tile's address."""

    name: str
    offset: int
    missing: int


ARCH = Rule(
    "ARCH-01",
    "pto.target_arch names a known target",
    "decision D-18",
    lambda name: name in ("a2a3", "a2", "a3", "a5"),
    _named,
)
PLACE = Rule(
    "PLACE-01",
    "the tiles without an address fit into what is left of the UB, with reuse (decision D-14)",
    "decision D-14",
    lambda placement: not placement.unplaced,
    lambda placement: placement.explanation(),
)
INIT = Rule(
    "INIT-01",
    "(run time) every byte that an instruction reads from the UB was written before by an input, a load or an instruction",
    "decision D-13",
    lambda unwritten: None if unwritten is None else unwritten.missing == 0,
    lambda unwritten: (
        f"it reads {unwritten.name}, of which {count(unwritten.missing, 'byte')} "
        f"{'was' if unwritten.missing == 1 else 'were'} never written, the first at offset {unwritten.offset}"
    ),
    severity="warning",
)

COMMON_RULES: tuple[Rule, ...] = (*TILE_RULES, *ADDRESS_RULES, PLACE, ARCH, *HAZARD_RULES, INIT, *FORM_RULES)
