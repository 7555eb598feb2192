"""What an instruction's file is written with: instructions, operands, and rules as data.

A rule's predicate answers True (holds), False (broken) or None (not known yet: it depends on a valid region or on data
that only a run knows). The verifier asks it about the text, the machine asks the same one about the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from math import gcd
from typing import Any, NamedTuple

from ptoasm.regions import Region
from ptoasm.targets import BLOCK_BYTES, Target
from ptoasm.types import ElementType, TileType, Type

BOTH = ("a2a3", "a5")
A2A3_ONLY = ("a2a3",)
A5_ONLY = ("a5",)


UNUSED = (0, 0)
"""What an instruction uses of a scratch tile that it accepts and leaves alone."""


class Operand(NamedTuple):
    """An operand or result: a tile, a ``scalar``, or with ``other`` a tile, a scalar or a view of global memory.

    ``optional`` is one that the forms may leave out.
    """

    name: str
    scalar: bool = False
    optional: bool = False
    other: bool = False


class Tile:
    """A tile as a rule sees it: its type and the valid region in elements; None is not known yet."""

    __slots__ = ("element", "type", "valid_cols", "valid_rows")

    def __init__(self, type: TileType, valid_rows: int | None, valid_cols: int | None) -> None:
        self.type = type
        self.element = type.element
        self.valid_rows = valid_rows
        self.valid_cols = valid_cols


class Scalar(NamedTuple):
    """A scalar operand: its type, or None where the form writes none, and its value when that is known."""

    type: Type | None
    value: int | float | None


class Instance:
    """One operation as the rules see it.

    ``tiles`` and ``scalars`` hold the operands by the page's names, ``attributes`` every declared attribute with its
    default filled in. ``regions`` is where the tiles lie in the UB: of a tile that is read its valid elements, of one
    that is written the written ones, of scratch the used bytes; None while an address is not known.
    """

    __slots__ = ("attributes", "form", "instruction", "modes", "regions", "scalars", "target", "tiles")

    def __init__(
        self,
        instruction: Instruction,
        form: str,
        target: Target,
        tiles: dict[str, Tile],
        scalars: dict[str, Scalar],
        attributes: dict[str, Any],
        regions: Mapping[str, Region | None] | None = None,
    ) -> None:
        self.instruction = instruction
        self.form = form
        self.target = target
        self.tiles = tiles
        self.scalars = scalars
        self.attributes = attributes
        self.regions = regions
        self.modes = instruction.modes(self)

    def on(self, target: Target) -> Instance:
        """The same operation on another target."""
        return Instance(self.instruction, self.form, target, self.tiles, self.scalars, self.attributes, self.regions)

    def __getitem__(self, name: str) -> Tile:
        return self.tiles[name]


class Rule:
    """One documented constraint.

    ``text`` is the rule as a sentence, ``page`` the page's section. ``holds`` is the predicate, ``message`` states the
    actual and the required value, ``fix`` what to do, where there is one. The rule applies to the targets ``arches``,
    where the instance is in ``mode`` and has all ``operands``; it is asked only where the rules ``after`` hold.
    ``at`` names the operand or attribute at fault and ``parameter`` the type parameter; ``place`` says so where it
    depends on the subject. An operand that has its part in the rule with another parameter is ``src.valid_rows``.
    ``{name`` is an attribute, ``#k`` the operand or result number k, ``:`` the types before the arrow, ``:>`` those
    behind it. ``each`` parts a subject into those that break the rule one by one, where it can be broken more than
    once. A rule that is asked for each operation, and not once for each shape, is ``individual``. The rules of an
    instruction are asked about an Instance, those of ``common.py`` about what they are about.
    """

    __slots__ = (
        "after",
        "arches",
        "at",
        "each",
        "fix",
        "forms",
        "holds",
        "id",
        "individual",
        "message",
        "mode",
        "operands",
        "page",
        "parameter",
        "parameters",
        "place",
        "severity",
        "text",
    )

    def __init__(
        self,
        id: str,
        text: str,
        page: str,
        holds: Callable[[Any], bool | None],
        message: Callable[[Any], str],
        *,
        severity: str = "error",
        arches: tuple[str, ...] = BOTH,
        mode: str = "any",
        forms: tuple[str, ...] = ("sync", "ssa", "dps"),
        after: str = "",
        operands: tuple[str, ...] = (),
        at: str = "",
        parameter: str = "",
        place: Callable[[Any], tuple[str, str]] | None = None,
        fix: Callable[[Any], str | None] | None = None,
        each: Callable[[Any], list[Any]] | None = None,
        individual: bool = False,
    ) -> None:
        self.id = id
        self.text = text
        self.page = page
        self.holds = holds
        self.message = message
        self.severity = severity
        self.arches = arches
        self.mode = mode
        self.forms = forms
        self.after = tuple(after.split())
        named = [name.partition(".")[::2] for name in operands]
        self.operands = tuple(name for name, _ in named) or ((at,) if at else ())
        self.at = at or (self.operands[0] if self.operands else "")
        self.parameters = {name: own or parameter for name, own in named}
        self.parameter = parameter
        self.place = place
        self.fix = fix
        self.each = each
        self.individual = individual

    def applies(self, instance: Instance) -> bool:
        """Whether the rule is about this operation at all."""
        return (
            instance.target.name in self.arches
            and (self.mode == "any" or self.mode in instance.modes)
            and instance.form in self.forms
            and all(name in instance.tiles or name in instance.scalars for name in self.operands)
        )


def stated_in(rule: Rule, page: str) -> str:
    """The page and section that state a rule; ``page`` is the instruction's, empty for what belongs to none."""
    return rule.page if not page or rule.page.startswith("decision") else f"{page}, {rule.page}"


class Instruction:
    """A tile instruction: what it takes and gives, and its rules.

    ``inputs`` are the operands in order, ``outputs`` the results; an optional output comes first (``dstVal``).
    ``attributes`` are the known boolean attributes with their defaults. ``scratch`` names the operand that is working
    memory; ``scratch_use`` says how much of it the target uses, as (rows, bytes of each row) from its start (decision
    D-11; None: not known yet), and ``scratch_type`` the smallest type for it that breaks no rule on either target
    (D-17). ``written`` gives the rows and columns that are written to an output (D-07).
    """

    __slots__ = (
        "attributes",
        "checked",
        "inputs",
        "modes",
        "name",
        "outputs",
        "page",
        "rules",
        "scratch",
        "scratch_type",
        "scratch_use",
        "written",
    )

    def __init__(
        self,
        name: str,
        inputs: tuple[Operand, ...],
        outputs: tuple[Operand, ...],
        *,
        page: str = "",
        attributes: Mapping[str, bool] | None = None,
        rules: tuple[Rule, ...] = (),
        scratch: str = "",
        modes: Callable[[Instance], tuple[str, ...]] = lambda instance: (),
        scratch_use: Callable[[Instance], tuple[int, int] | None] = lambda instance: UNUSED,
        scratch_type: Callable[[Instance], TileType | None] = lambda instance: None,
        written: Callable[[Instance, str], tuple[int | None, int | None]] | None = None,
    ) -> None:
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.page = page
        self.attributes = dict(attributes or {})
        self.rules = rules
        self.scratch = scratch
        self.modes = modes
        self.scratch_use = scratch_use
        self.scratch_type = scratch_type
        self.written = written or whole_valid_region
        self.checked = bool(rules)

    def renamed(self, name: str) -> Instruction:
        """An instruction that differs only in its name and in what it computes."""
        made = copy(self)
        made.name = name
        return made


def whole_valid_region(instance: Instance, name: str) -> tuple[int | None, int | None]:
    """What most instructions write: the whole valid region of the output."""
    return instance[name].valid_rows, instance[name].valid_cols


# --- Three-valued comparisons


def equal(a: int | None, b: int | None) -> bool | None:
    """``a == b``; None while either is not known."""
    return None if a is None or b is None else a == b


def at_least(a: int | None, b: int | None) -> bool | None:
    """``a >= b``; None while either is not known."""
    return None if a is None or b is None else a >= b


def nonzero(a: int | None) -> bool | None:
    """``a != 0``; None while it is not known."""
    return None if a is None else a != 0


# --- Rules of one kind, written once


def fitting(type_: TileType) -> TileType:
    """The tile with its rows or columns rounded up to whole blocks (TILE-03); the valid region stays as it is."""
    extent = "rows" if type_.blayout == "col_major" else "cols"
    if type_.slayout != "none_box" or not type_.element.size:
        return type_
    return type_.with_(**{extent: whole_blocks(getattr(type_, extent), type_.element.size)})


def whole_blocks(elements: int, size: int) -> int:
    """The least number of elements, at least as many and at least one, that fill whole blocks."""
    unit = BLOCK_BYTES // gcd(BLOCK_BYTES, size)
    return max(ceil_div(elements, unit), 1) * unit


def can_be(name: str, **changes: object) -> Callable[[Instance], str]:
    """The fix that gives an operand another type; a change can be a function of the instance."""

    def fix(i: Instance) -> str:
        made = {key: change(i) if callable(change) else change for key, change in changes.items()}
        return f"{name} can be {fitting(i[name].type.with_(**made))}"

    return fix


def scratch_fix(i: Instance) -> str | None:
    """The fix that names the smallest scratch that breaks no rule."""
    type_ = i.instruction.scratch_type(i)
    if type_ is None:
        return None
    rows = "" if type_.rows == 1 else f"{type_.rows} rows of "
    return f"{i.instruction.scratch} needs {rows}{count(type_.cols, 'column')}: {type_}"


def wrong_layout(name: str, *parameters: str) -> Callable[[Instance], tuple[str, str]]:
    """The place of the first of a tile's layout parameters that is not the standard one."""
    standard = {"loc": "vec", "blayout": "row_major", "slayout": "none_box"}

    def place(i: Instance) -> tuple[str, str]:
        return name, next((p for p in parameters if getattr(i[name].type, p) != standard[p]), parameters[0])

    return place


def in_ub(id: str, name: str, page: str, **options: Any) -> Rule:
    """``name`` has ``loc=vec``."""
    return Rule(
        id,
        f"{name} has loc=vec",
        page,
        lambda i: i[name].type.loc == "vec",
        lambda i: f"{name} has loc={i[name].type.loc}; it must have loc=vec",
        at=name,
        parameter="loc",
        fix=can_be(name, loc="vec"),
        **options,
    )


def nd_layout(id: str, name: str, page: str, **options: Any) -> Rule:
    """``name`` is row-major and non-fractal."""
    return Rule(
        id,
        f"{name} is ND: blayout=row_major and slayout=none_box",
        page,
        lambda i: i[name].type.is_nd,
        lambda i: (
            f"{name} has blayout={i[name].type.blayout}, slayout={i[name].type.slayout}; "
            "it must be ND: blayout=row_major, slayout=none_box"
        ),
        at=name,
        place=wrong_layout(name, "blayout", "slayout"),
        fix=can_be(name, blayout="row_major", slayout="none_box"),
        **options,
    )


def element_in(id: str, name: str, page: str, types: tuple[ElementType, ...], **options: Any) -> Rule:
    """The element type of ``name`` is one of ``types``."""
    listed = " ".join(map(str, types))
    what = options.pop("what", f"{name} element type")
    return Rule(
        id,
        f"{what} is one of {listed}",
        page,
        lambda i: i[name].element in types,
        lambda i: f"{name} has element type {i[name].element}; on {i.target.name} it must be one of {listed}",
        at=name,
        parameter="dtype",
        **options,
    )


def same_element(id: str, name: str, other: str, page: str, **options: Any) -> Rule:
    """``name`` and ``other`` have the same element type."""
    make = can_be(name, element=lambda i: i[other].element)
    return Rule(
        id,
        f"{name} element type == {other} element type",
        page,
        lambda i: i[name].element is i[other].element,
        lambda i: f"{name} has element type {i[name].element}; it must be {i[other].element}, as {other} has",
        at=name,
        operands=(name, other),
        parameter="dtype",
        fix=lambda i: scratch_fix(i) if name == i.instruction.scratch else make(i),
        **options,
    )


def rows_equal(id: str, name: str, rows: int, page: str, **options: Any) -> Rule:
    """``name`` has exactly ``rows`` valid rows."""
    make = can_be(name, valid_rows=rows)
    return Rule(
        id,
        f"{name} valid rows == {rows}",
        page,
        lambda i: equal(i[name].valid_rows, rows),
        lambda i: f"{name} has {count(i[name].valid_rows, 'valid row')}; it must have {rows}",
        at=name,
        parameter="valid_rows",
        fix=lambda i: make(i) if i[name].type.rows >= rows else None,
        **options,
    )


def extent_nonzero(id: str, name: str, extent: str, page: str, **options: Any) -> Rule:
    """The valid ``rows`` or ``cols`` of ``name`` are not zero; ``consequence`` says what zero would do."""
    consequence = options.pop("consequence", "it must have at least 1")
    field = f"valid_{extent}"
    word = "valid row" if extent == "rows" else "valid column"
    suffix = options.pop("suffix", "")
    return Rule(
        id,
        f"{name} valid {extent} != 0{suffix}",
        page,
        lambda i: nonzero(getattr(i[name], field)),
        lambda i: f"{name} has 0 {word}s; {consequence}",
        at=name,
        parameter=field,
        **options,
    )


def same_cols(id: str, name: str, other: str, page: str, **options: Any) -> Rule:
    """``other`` has as many valid columns as ``name``; the fault is shown at ``other``."""
    suffix = options.pop("suffix", "")
    return Rule(
        id,
        f"{name} valid cols == {other} valid cols{suffix}",
        page,
        lambda i: equal(i[name].valid_cols, i[other].valid_cols),
        lambda i: (
            f"{other} has {count(i[other].valid_cols, 'valid column')}; "
            f"it must have {i[name].valid_cols}, as {name} has"
        ),
        at=other,
        operands=(name, other),
        parameter="valid_cols",
        fix=can_be(
            other,
            valid_cols=lambda i: i[name].valid_cols,
            cols=lambda i: max(i[name].valid_cols or 0, i[other].type.cols),
        ),
        **options,
    )


def count(number: int | None, noun: str) -> str:
    """``1 valid row``, ``2 valid rows``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def ceil_div(a: int, b: int) -> int:
    """The quotient rounded up."""
    return -(-a // b)
