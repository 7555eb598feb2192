"""TASSIGN: binds a tile to an address in the UB. Its rules are the ADDR rules of ``common.py``."""

from __future__ import annotations

from ptoasm.dialect.base import Instruction, Operand

INSTRUCTIONS = (
    Instruction(
        "tassign",
        (Operand("tile"), Operand("address", scalar=True)),
        (Operand("result", optional=True),),
    ),
)
