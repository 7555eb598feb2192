"""Rules that belong to no single instruction: tile types, addresses, forms, overlap, initialisation.

A rule's predicate is given what it is about: a tile type, an address, a form or an instance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ptoasm.dialect.base import Instance, Instruction, Rule, count, fitting
from ptoasm.ir import DPS, SSA, SYNC, Shape
from ptoasm.regions import Region, address_text
from ptoasm.targets import BLOCK_BYTES, TARGETS, Target
from ptoasm.types import TileType

_PLATFORM = "platform, Tile types"
_TARGETS = "platform, Targets"
_SYNTAX = "Assembly Syntax"

# --- Tile types ------------------------------------------------------------------------------------


def _has_elements(t: TileType) -> bool:
    return t.rows >= 1 and t.cols >= 1


def _within(valid: int | None, extent: int) -> bool:
    return valid is None or 0 <= valid <= extent


def _shown(extent: int | None) -> str:
    return "?" if extent is None else str(extent)


def _contiguous(t: TileType) -> int:
    """Bytes of a contiguous run: a row, or a column of a column-major tile."""
    return (t.rows if t.blayout == "col_major" else t.cols) * t.element.size


TILE_RULES = (
    Rule(
        "TILE-01",
        "rows >= 1 and cols >= 1",
        _PLATFORM,
        _has_elements,
        lambda t: f"has {count(t.rows, 'row')} and {count(t.cols, 'column')}; it must have at least 1 of each",
        place=lambda t: ("", "rows" if t.rows < 1 else "cols"),
    ),
    Rule(
        "TILE-02",
        "0 <= valid rows <= rows and 0 <= valid cols <= cols",
        _PLATFORM,
        lambda t: (_within(t.valid_rows, t.rows) and _within(t.valid_cols, t.cols)) or not _has_elements(t),
        lambda t: (
            f"has the valid region {_shown(t.valid_rows)}x{_shown(t.valid_cols)}; "
            f"it must lie within the {t.rows}x{t.cols} of the tile"
        ),
        place=lambda t: ("", "valid_cols" if _within(t.valid_rows, t.rows) else "valid_rows"),
    ),
    Rule(
        "TILE-03",
        "none_box tiles: the contiguous run is a multiple of 32 bytes (row_major: cols*sizeof; col_major: rows*sizeof)",
        _PLATFORM,
        lambda t: t.slayout != "none_box" or _contiguous(t) % BLOCK_BYTES == 0 or not _has_elements(t),
        lambda t: (
            f"has {'columns' if t.blayout == 'col_major' else 'rows'} of {_contiguous(t)} bytes; "
            f"they must be a multiple of {BLOCK_BYTES}"
        ),
        place=lambda t: ("", "rows" if t.blayout == "col_major" else "cols"),
        fix=lambda t: f"the tile can be {fitting(t)}",
    ),
)


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
        lambda a: f"address {address_text(a.address)} is not a multiple of {BLOCK_BYTES} bytes",
        fix=lambda a: f"the next aligned address is {address_text(-(-max(a.address, 0) // BLOCK_BYTES) * BLOCK_BYTES)}",
    ),
    Rule(
        "ADDR-02",
        "loc=vec: address + tile size in bytes <= UB capacity of the target",
        _TARGETS,
        _ends_inside,
        lambda a: (
            f"tile ends at {a.address + a.type.size:#x} ({a.address:#x} + {a.type.size} bytes); "
            f"the UB of {a.target.name} ends at {a.ub_size:#x} ({a.ub_size} bytes)"
        ),
        after="ADDR-03 ADDR-04",
    ),
    Rule(
        "ADDR-03",
        "loc=vec: tile size in bytes <= UB capacity of the target",
        _TARGETS,
        lambda a: a.type.size <= a.ub_size,
        lambda a: f"tile has {a.type.size} bytes; the UB of {a.target.name} has {a.ub_size}",
    ),
    Rule(
        "ADDR-04",
        "the address is not negative",
        _TARGETS,
        lambda a: None if a.address is None else a.address >= 0,
        lambda a: f"address {a.address} is negative",
    ),
)

ADDRESS_ORDER = tuple(sorted(ADDRESS_RULES, key=lambda rule: len(rule.after)))
"""The rules of addresses, each behind those that it waits for."""

# --- Forms -----------------------------------------------------------------------------------------


class Form(NamedTuple):
    """How an operation is written. ``attribute`` is the one that is asked about, where it is one of several."""

    shape: Shape
    instruction: Instruction
    n_inputs: int
    n_outputs: int
    attribute: str | None = None

    @property
    def level(self) -> str:
        """Where the form stands on the pages."""
        return {DPS: "level 2", SSA: "level 1", SYNC: "the synchronous form"}[self.shape.form]


def _wrong_kind(f: Form) -> list[tuple[str, TileType]]:
    """The tile operands and results whose types are of the other level's kind."""
    wanted = "tile_buf" if f.shape.form == DPS else "tile"
    named = [
        *zip(f.shape.input_names, f.shape.input_types, strict=False),
        *zip(f.shape.output_names, f.shape.output_types, strict=False),
    ]
    return [(n, t) for n, t in named if isinstance(t, TileType) and t.kind != wanted]


def _kind_message(f: Form) -> str:
    wrong = _wrong_kind(f)
    kind = wrong[0][1].kind
    wanted = "tile_buf" if f.shape.form == DPS else "tile"
    where = f"at {f.level}" if f.shape.form != SYNC else f"in {f.level}"
    *names, last = (name for name, _ in wrong)
    if names:
        return f"{', '.join(names)} and {last} have types !pto.{kind}<…>; {where} they must be !pto.{wanted}<…>"
    return f"{last} has a type !pto.{kind}<…>; {where} it must be !pto.{wanted}<…>"


def _expected(f: Form) -> tuple[range, range]:
    """How many operands and how many results the form has."""
    inputs, outputs = f.instruction.inputs, f.instruction.outputs
    least = sum(not o.optional for o in inputs)
    most = least if f.shape.form == SYNC else len(inputs)
    if _needs_scratch(f):
        least = most
    return range(least, most + 1), range(sum(not o.optional for o in outputs), len(outputs) + 1)


SCRATCH_IS_NAMED = ("tcolargmin", "tcolargmax")
"""The instructions that name their scratch at levels 1 and 2 even where the target does not use it (FORM-03)."""


def _needs_scratch(f: Form) -> bool:
    """Whether the form has a scratch operand that cannot be left out."""
    return f.shape.form != SYNC and f.instruction.name in SCRATCH_IS_NAMED


def _miscounted(f: Form) -> str:
    """The list that has a wrong number of members; empty where none has."""
    inputs, outputs = _expected(f)
    if f.n_inputs not in inputs:
        return "operands"
    if f.shape.keywords.get("results"):
        return "stray results"
    if f.n_outputs not in outputs:
        return "results"
    first, second = f.shape.type_counts
    return "operand types" if first else "result types" if second else ""


def _count_message(f: Form) -> str:
    inputs, outputs = _expected(f)
    result = "destination" if f.shape.form == DPS else "result"
    first, second = f.shape.type_counts
    typed = f.n_inputs
    if f.shape.form == SYNC:
        typed = sum(not operand.scalar for operand in f.instruction.inputs[: f.n_inputs])
    return {
        "operands": f"has {count(f.n_inputs, 'operand')}; {f.level} has {_range(inputs)}",
        "stray results": "has results; at level 2 it has none, and its destinations stand in outs(…)",
        "results": f"has {count(f.n_outputs, result)}; {f.level} has {_range(outputs)}",
        "operand types": _types_message(typed + first, "operand", typed),
        "result types": _types_message(f.n_outputs + second, result, f.n_outputs),
    }[_miscounted(f)]


def _count_place(f: Form) -> tuple[str, str]:
    """The first operand or result that is too many; the list that does not fit; else the operation's name."""
    inputs, outputs = _expected(f)
    place = {"stray results": "results", "operand types": ":", "result types": ":>"}.get(_miscounted(f), "")
    if _miscounted(f) == "operands" and f.n_inputs > inputs[-1]:
        place = f"#{inputs[-1]}"
    elif _miscounted(f) == "results" and f.n_outputs > outputs[-1]:
        place = f"#{f.n_inputs + outputs[-1]}"
    return place, ""


def _types_message(types: int, what: str, wanted: int) -> str:
    if not wanted:
        return f"has {count(types, 'type')} where it has no {what}"
    given = "no type" if not types else count(types, "type")
    return f"has {given} for {count(wanted, what)}"


def _range(r: range) -> str:
    return f"{r[0]}" if len(r) == 1 else f"{r[0]} or {r[-1]}"


_LONGEST = 40
"""How much of an attribute's value a message shows."""


def _wrong_attributes(f: Form) -> list[Form]:
    """An attribute that is given twice, or is known and no bool: one by one."""
    known, given = f.instruction.attributes, f.shape.attributes
    wrong = [n for n, v in given.items() if n in f.shape.duplicates or (n in known and v not in ("true", "false"))]
    return [f._replace(attribute=name) for name in wrong]


def _attribute_message(f: Form) -> str:
    name = f.attribute
    assert name is not None
    if name in f.shape.duplicates:
        return f"has the attribute {name} twice"
    value = " ".join(f.shape.attributes[name].split())
    if len(value) > _LONGEST:
        value = f"{value[: _LONGEST - 1]}…"
    return f"has {name} = {value}; it must be true or false" if value else f"has {name} without a value: true or false"


def _unknown_attributes(f: Form) -> list[Form]:
    known = f.instruction.attributes
    return [f._replace(attribute=name) for name in f.shape.attributes if name not in known and "." not in name]


def _unknown_message(f: Form) -> str:
    from ptoasm.suggest import did_you_mean

    near = did_you_mean(f.attribute or "", f.instruction.attributes)
    hint = f"; did you mean '{near}'?" if near else ", and keeps it as it is written"
    return f"does not know the attribute {f.attribute}{hint}"


FORM_RULES = (
    Rule(
        "FORM-01",
        "in the synchronous form and at level 1 tile operands and results are !pto.tile",
        _SYNTAX,
        lambda f: not _wrong_kind(f),
        _kind_message,
        forms=(SYNC, SSA),
        place=lambda f: (_wrong_kind(f)[0][0], "kind"),
    ),
    Rule(
        "FORM-02",
        "at level 2 tile operands are !pto.tile_buf",
        _SYNTAX,
        lambda f: not _wrong_kind(f),
        _kind_message,
        forms=(DPS,),
        place=lambda f: (_wrong_kind(f)[0][0], "kind"),
    ),
    Rule(
        "FORM-03",
        "level 1 and level 2 have the operands src and tmp",
        _SYNTAX,
        lambda f: f.n_inputs >= len(f.instruction.inputs) or not _needs_scratch(f),
        lambda f: f"has {count(f.n_inputs, 'operand')}; level 1 and level 2 have 2, src and tmp",
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
        lambda f: not _miscounted(f),
        _count_message,
        after="FORM-03",
        place=_count_place,
    ),
    Rule(
        "FORM-05",
        "a known attribute has its type (descending: bool; isBinary: bool) and is given once",
        _SYNTAX,
        lambda f: not _wrong_attributes(f),
        _attribute_message,
        place=lambda f: (f"{{{f.attribute}", ""),
        each=_wrong_attributes,
    ),
    Rule(
        "FORM-06",
        "an attribute without a dot in its name is known (dotted ones are discardable and belong to others)",
        _SYNTAX,
        lambda f: not _unknown_attributes(f),
        _unknown_message,
        severity="warning",
        place=lambda f: (f"{{{f.attribute}", ""),
        each=_unknown_attributes,
    ),
)

# --- Overlap ---------------------------------------------------------------------------------------


def _pairs(i: Instance, scratch: bool) -> list[tuple[str, str]]:
    """The operands whose places are known that must not overlap, in the order of the operands."""
    instruction, regions = i.instruction, i.regions or {}
    outputs = [o.name for o in instruction.outputs if o.name in regions]
    inputs = [o.name for o in instruction.inputs if o.name in regions and o.name != instruction.scratch]
    if not scratch:
        return [(a, b) for k, a in enumerate(outputs) for b in (*inputs, *outputs[:k])]
    return [(instruction.scratch, b) for b in (*inputs, *outputs) if instruction.scratch in regions]


def _disjoint(i: Instance, scratch: bool) -> bool | None:
    if i.regions is None:
        return None
    unknown = False
    for a, b in _pairs(i, scratch):
        first, second = i.regions[a], i.regions[b]
        if first is None or second is None:
            unknown = True
        elif first.overlaps(second):
            return False
    return None if unknown else True


def _clashes(i: Instance, scratch: bool) -> list[Clash]:
    """Every overlap, one by one."""
    regions = i.regions or {}
    found = [(a, b, regions[a], regions[b]) for a, b in _pairs(i, scratch)]
    return [Clash(a, b, x, y, scratch) for a, b, x, y in found if x is not None and y is not None and x.overlaps(y)]


class Clash(NamedTuple):
    """Two operands of one instruction whose bytes overlap."""

    first: str
    second: str
    first_bytes: Region
    second_bytes: Region
    scratch: bool

    @property
    def message(self) -> str:
        """Both byte ranges."""
        does = "uses" if self.scratch else "writes"
        first, second = self.first_bytes, self.second_bytes
        return (
            f"{does} {self.first} at [{address_text(first.start)}, {address_text(first.end)}), "
            f"which overlaps {self.second} at [{address_text(second.start)}, {address_text(second.end)})"
        )


HAZARD_RULES = (
    Rule(
        "HAZ-01",
        "within one instruction the bytes that it writes to an output do not overlap the valid bytes of an input "
        "or the bytes that it writes to another output (decision D-12)",
        "decision D-12",
        lambda i: _disjoint(i, False),
        lambda clash: clash.message,
        severity="warning",
        place=lambda clash: (clash.first, ""),
        each=lambda i: _clashes(i, False),
        individual=True,
    ),
    Rule(
        "HAZ-02",
        "where the target uses tmp (decision D-11): the used bytes of tmp do not overlap the valid bytes of an input "
        "or the written bytes of an output",
        "decision D-12",
        lambda i: _disjoint(i, True),
        lambda clash: clash.message,
        severity="warning",
        place=lambda clash: (clash.first, ""),
        each=lambda i: _clashes(i, True),
        individual=True,
    ),
)

# --- The module, its placement and its runs


def _named(target: Any) -> str:
    return f'pto.target_arch is "{target}"; it must be one of {", ".join(TARGETS)}'


class Unwritten(NamedTuple):
    """What an instruction reads although nothing wrote it: ``offset`` is its first byte, from the tile's address."""

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
    "(run time) every byte that an instruction reads from the UB was written before "
    "by an input, a load or an instruction",
    "decision D-13",
    lambda unwritten: None if unwritten is None else unwritten.missing == 0,
    lambda unwritten: (
        f"reads {unwritten.name}, of which {count(unwritten.missing, 'byte')} "
        f"{'was' if unwritten.missing == 1 else 'were'} never written, the first at offset {unwritten.offset}"
    ),
    severity="warning",
)

COMMON_RULES: tuple[Rule, ...] = (*TILE_RULES, *ADDRESS_RULES, PLACE, ARCH, *HAZARD_RULES, INIT, *FORM_RULES)
