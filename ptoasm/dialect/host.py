"""The operations around the tile instructions: which of the grammar's forms each is written in."""

from __future__ import annotations

_PLAIN = ("return", "func.return", "scf.yield")

SYNTAX: dict[str, str] = {
    "module": "MODULE",
    "builtin.module": "MODULE",
    "func.func": "FUNC",
    "func.call": "CALL",
    "call": "CALL",
    "arith.constant": "CONSTANT",
    "pto.alloc_tile": "ALLOC",
    "pto.make_tensor_view": "VIEW",
    "pto.partition_view": "VIEW",
    "scf.for": "LOOP",
    "scf.if": "BRANCH",
} | dict.fromkeys(_PLAIN, "PLAIN")
"""An operation's full name to the terminal that stands for it in the grammar."""
