"""The instructions: one file each, named as its page, found by their names.

A file has a tuple ``INSTRUCTIONS``. A file that is named as its instruction is imported only when a program uses it;
families of small instructions share a file, imported when a ``pto.`` name has no file of its own.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

from ptoasm.dialect.host import SYNTAX

if TYPE_CHECKING:
    from ptoasm.dialect.base import Instruction

FAMILIES: tuple[str, ...] = ("relatives",)
"""Files that declare several instructions."""
PAGES = ("tcolargmin", "tci", "tcolsum")
"""The instructions whose pages are normative here."""

_FILES = {name[:-3] for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py")}
_NOT_INSTRUCTIONS = {"__init__", "base", "host", "common", *FAMILIES}
_known: dict[str, Instruction | None] = {}


def instruction(name: str) -> Instruction | None:
    """The instruction with this name (without ``pto.``), or None."""
    if name not in _known:
        if name in _FILES and name not in _NOT_INSTRUCTIONS:
            _declare(name)
        else:
            for family in FAMILIES:
                _declare(family)
        _known.setdefault(name, None)
    return _known[name]


def _declare(file: str) -> None:
    for found in import_module(f"ptoasm.dialect.{file}").INSTRUCTIONS:
        _known[found.name] = found


def instruction_names() -> list[str]:
    """Every declared instruction, the pages' first."""
    for file in sorted(_FILES - _NOT_INSTRUCTIONS) + list(FAMILIES):
        _declare(file)
    return sorted((n for n, i in _known.items() if i is not None), key=lambda n: (n not in PAGES, n))


def syntax_class(name: str) -> str | None:
    """The grammar's terminal for an operation's name; None for a name that is not known."""
    host = SYNTAX.get(name)
    if host is not None:
        return host
    if name.startswith("pto."):
        return "PTO_NAME" if instruction(name[4:]) is not None else None
    return "SYNC_NAME" if "." not in name and instruction(name) is not None else None
