"""The Python functions of the frontend; those of the interpreter stand in ``ptoasm.interpreter``."""

from __future__ import annotations

import os
from typing import Any

from ptoasm import arguments
from ptoasm.diagnostics import Diagnostic
from ptoasm.dialect import instruction
from ptoasm.dialect.base import Instance, Scalar, Tile
from ptoasm.dialect.common import ADDRESS_ORDER, Address
from ptoasm.ir import SSA, Module
from ptoasm.parser import parse_or_raise
from ptoasm.source import Source
from ptoasm.targets import A2A3, DEFAULT, known_target
from ptoasm.tile_types import read_type
from ptoasm.types import TileType
from ptoasm.verifier import verify as _verify


def parse(text: str, filename: str | os.PathLike[str] = "<string>") -> Module:
    """The module that ``text`` holds. PtoError, with all diagnostics, where it is not the language."""
    return parse_or_raise(arguments.text("text", text), arguments.path("filename", filename))


def verify(module: Module | str, arch: str | None = None, *, ub_size: int | None = None) -> list[Diagnostic]:
    """What is wrong with a module or a text on ``a2a3`` or ``a5`` (else its own target), in source order.

    A wrong program never raises, an argument that is no program does.
    ``ub_size`` is the capacity of the UB in bytes, where it is not the target's.
    """
    if arch is not None:
        known_target(arch)
    return _verify(arguments.module_of(module), arch, ub_size=arguments.ub_capacity(ub_size))


def convert(module: Module | str, to: str, **options: Any) -> str:
    """The text of a module, or of a text's program, in another form: ``sync``, ``ssa``, ``dps``, ``generic``, ``cpp``.

    PtoError where the form cannot say what the program says.
    """
    from ptoasm.conversion import convert as _convert

    return _convert(arguments.module_of(module), to, **options).text


def required_tmp(op: str, *types: TileType | str, arch: str | None = None, **attributes: bool) -> TileType | None:
    """The smallest scratch tile for an instruction that breaks no rule on either target; None if it takes none.

    ``op`` is ``tcolargmin``, ``tci`` or ``tcolsum``; ``types`` are the types of its tile operands and results, scratch
    left out, in the order of the page (``tcolargmin``: src, [dstVal,] dstIdx, of which only src is needed).
    """
    if arch is not None:
        known_target(arch)
    definition = instruction(arguments.text("op", op).removeprefix("pto."))
    if definition is None:
        raise ValueError(f"'{op}' is no instruction")
    for name, value in attributes.items():
        if name not in definition.attributes:
            raise ValueError(f"'{op}' has no attribute '{name}'")
        arguments.flag(name, value)
    if not definition.scratch:
        return None
    given = [tile_type(t) for t in types]
    inputs = [o.name for o in definition.inputs if not o.scalar and o.name != definition.scratch]
    outputs = [o.name for o in definition.outputs if not o.optional or len(given) > len(inputs) + 1]
    names = [*inputs, *outputs]
    if len(given) > len(names):
        raise ValueError(f"required_tmp('{op}', …) takes the types of {', '.join(names)}; got {len(given)} types")
    if not given:
        raise ValueError(f"required_tmp('{op}', …) needs the type of {names[0]}")
    tiles = {n: Tile(t, t.valid_rows, t.valid_cols) for n, t in zip(names, given, strict=False)}
    scalars = {o.name: Scalar(None, None) for o in definition.inputs if o.scalar}
    values = dict(definition.attributes) | attributes
    return definition.scratch_type(Instance(definition, SSA, A2A3, tiles, scalars, values))


def tile_type(given: TileType | str) -> TileType:
    """A tile type, or the one that a text spells, with or without the leading ``!``. ValueError for any other text."""
    if isinstance(given, TileType):
        return given
    from ptoasm.lexer import TextFault

    try:
        found = read_type(arguments.text("the tile type", given).strip().removeprefix("!"))
    except TextFault as fault:
        raise ValueError(fault.message) from None
    if not isinstance(found, TileType):
        raise ValueError(f"{given!r} is no tile type")
    return found


def check_address(
    type_: TileType | str, address: int, *, arch: str | None = None, ub_size: int | None = None
) -> list[Diagnostic]:
    """What is wrong with a tile at an address (bytes from the start of the UB): the ADDR rules; empty if nothing is."""
    tile = tile_type(type_)
    on = DEFAULT if arch is None else known_target(arch)
    capacity = arguments.ub_capacity(ub_size) or on.ub_size
    subject = Address(tile, arguments.whole("address", address), capacity, on)
    source = Source(str(tile), "<address>")
    broken: dict[str, Diagnostic] = {}
    if tile.loc == "vec":
        for rule in ADDRESS_ORDER:
            if not broken.keys() & set(rule.after) and not rule.holds(subject):
                broken[rule.id] = Diagnostic("error", rule.id, rule.message(subject), source)
    return list(broken.values())
