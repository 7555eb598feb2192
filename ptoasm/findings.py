"""Broken rules to diagnostics: the narrowest place, where the value at fault is written, and what would mend it."""

from __future__ import annotations

from typing import Any, cast

from ptoasm.diagnostics import Diagnostic, Note, Severity
from ptoasm.dialect.base import Instance, Rule, stated_in
from ptoasm.dialect.common import TILE_RULES, Clash
from ptoasm.ir import Function, Operation, Value
from ptoasm.places import Places
from ptoasm.source import Span
from ptoasm.suggest import did_you_mean
from ptoasm.tile_types import PARAMETERS
from ptoasm.types import TileType

_WORDS = {
    "dtype": "element type",
    "valid_rows": "valid rows",
    "valid_cols": "valid columns",
    "cols": "columns",
    "loc": "location",
    "blayout": "layout",
    "slayout": "layout",
    "kind": "type",
}
"""Type parameters in words."""


def broken(places: Places, op: Operation, rule: Rule, subject: Any) -> Diagnostic:
    """The diagnostic for a rule that an operation breaks; the first, where it breaks the rule more than once."""
    return all_broken(places, op, rule, subject)[0]


def all_broken(places: Places, op: Operation, rule: Rule, subject: Any) -> list[Diagnostic]:
    """The diagnostics for a rule that an operation breaks."""
    parts = [subject] if rule.each is None else rule.each(subject)
    return [_broken(places, op, rule, part, subject) for part in parts]


def _broken(places: Places, op: Operation, rule: Rule, part: Any, subject: Any) -> Diagnostic:
    at, parameter = rule.place(part) if rule.place is not None else (rule.at, rule.parameter)
    definition = op.shape.definition
    page = stated_in(rule, "" if definition is None else definition.page)
    notes = [_rule_note(rule, page), *_written(places, op, at, parameter)]
    for name, own in rule.parameters.items():
        if name != at:
            notes += _written(places, op, name, own)
    for name in (at, part.second) if isinstance(part, Clash) else (at,):
        notes += places.origin(op, name)
    notes += places.earlier_entry(op, at)
    notes += help_notes(rule, part)
    if isinstance(subject, Instance):
        notes += _elsewhere(rule, subject, at, parameter)
    return Diagnostic(
        cast(Severity, rule.severity),
        rule.id,
        rule.message(part),
        places.source,
        places.operand(op, at),
        tuple(notes),
        op.shape.short_name,
        op.block.function.name or None,
    )


def _rule_note(rule: Rule, page: str) -> Note:
    """The rule in the page's words, with the page and section that state it."""
    return Note(f"{page}: {rule.text.replace(f' ({rule.page})', '')}")


def help_notes(rule: Rule, subject: Any) -> list[Note]:
    """What would mend a fault, where that is known."""
    fix = rule.fix(subject) if rule.fix is not None else None
    return [Note(f"help: {fix}")] if fix else []


def _written(places: Places, op: Operation, name: str, parameter: str) -> list[Note]:
    """A note that points at the parameter of an operand's type."""
    at = places.index(op, name)
    span = places.type_of(op, at) if parameter and at is not None else None
    if span is None:
        return []
    what = _WORDS.get(parameter, parameter)
    return [Note(f"{name} has its {what} from here", places.source, places.parameter(span, parameter))]


def _elsewhere(rule: Rule, instance: Instance, at: str, parameter: str) -> list[Note]:
    """Says so where the other target accepts what this one does not."""
    from ptoasm.targets import TARGETS
    from ptoasm.verifier import ask

    if rule.severity != "error" or len(rule.arches) != 1 or instance.target.name not in rule.arches:
        return []
    other = next(target for name, target in TARGETS.items() if name not in rule.arches)
    there = instance.on(other)
    if any(answer is False and one.at == at for one, answer in ask(instance.instruction.rules, there)):
        return []
    what = str(instance[at].element) if parameter == "dtype" and at in instance.tiles else f"this {at}"
    return [Note(f"help: {other.name} accepts {what} here")]


def wrong_tile(
    places: Places, rule: Rule, type_: TileType, value: Value, span: Span, op: Operation | None, function: Function
) -> Diagnostic:
    """The diagnostic for a value whose tile type breaks a TILE rule; ``span`` is where the type is written."""
    parameter = rule.place(type_)[1] if rule.place is not None else rule.parameter
    return Diagnostic(
        cast(Severity, rule.severity),
        rule.id,
        f"'%{value.name}' {rule.message(type_)}",
        places.source,
        places.parameter(span, parameter),
        (_rule_note(rule, rule.page), *help_notes(rule, type_)),
        op.shape.short_name if op is not None else None,
        function.name or None,
    )


def unknown_parameter(places: Places, key: str, span: Span, function: Function) -> Diagnostic:
    """The remark about the first parameter of this name; ``span`` is where the type is written."""
    near = did_you_mean(key, PARAMETERS)
    hint = f"; did you mean '{near}'?" if near else ""
    return Diagnostic(
        "remark",
        "TYPE-04",
        f"the parameter '{key}' of a tile type is not known and is kept as it is written{hint}",
        places.source,
        places.parameter(span, f"{key}="),
        (),
        None,
        function.name or None,
    )


def wrong_extents(type_: TileType, rows: Any, cols: Any) -> list[tuple[str, str]]:
    """TILE-02 for the extents that an operation gives a tile of a dynamic type: (the operand, what is wrong)."""
    (rule,) = (rule for rule in TILE_RULES if rule.id == "TILE-02")
    return [
        (f"valid_{word}", f"valid_{word} is {extent}; it must be from 0 to {limit}, the extent of the tile")
        for word, extent, limit in (("row", rows, type_.rows), ("col", cols, type_.cols))
        if extent is not None and not rule.holds(type_.with_(**{f"valid_{word}s": extent}))
    ]


def wrong_address(places: Places, op: Operation, rule: Rule, subject: Any) -> Diagnostic:
    """The diagnostic for an operation that binds a tile to an address that breaks an ADDR rule."""
    name = "addr" if op.shape.name == "pto.alloc_tile" else "address"
    notes = [_rule_note(rule, rule.page), *places.origin(op, name), *places.origin(op, "tile")]
    return Diagnostic(
        cast(Severity, rule.severity),
        rule.id,
        rule.message(subject),
        places.source,
        places.address(op),
        (*notes, *help_notes(rule, subject)),
        op.shape.short_name,
        op.block.function.name or None,
    )
