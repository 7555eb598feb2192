"""The targets: what the chips offer (platform, Targets)."""

from __future__ import annotations

from typing import NamedTuple

BLOCK_BYTES = 32
"""A block, and the alignment of every address in the UB, in bytes."""
REPEAT_BYTES = 256
"""What one repeat of a vector instruction covers, in bytes."""

BLOCKS_MOST = 65535
"""The blocks that a kernel can be launched for."""
UB_LEAST, UB_MOST = BLOCK_BYTES, 1 << 28
"""The bytes that a UB of another capacity than the target's can have."""


class Target(NamedTuple):
    """``name`` as ``--arch`` takes it, ``ub_size`` in bytes, ``title`` as the pages call it."""

    name: str
    ub_size: int
    title: str


A2A3 = Target("a2a3", 192 * 1024, "Atlas A2/A3")
A5 = Target("a5", 256 * 1024, "Ascend 950PR/950DT")
TARGETS = {t.name: t for t in (A2A3, A5)}
DEFAULT = A2A3
_ALIASES = {"a2a3": A2A3, "a2": A2A3, "a3": A2A3, "a5": A5}


def target(name: str) -> Target | None:
    """The target with this name or alias; None for an unknown one."""
    return _ALIASES.get(name)


def known_target(arch: str) -> Target:
    """The target that a caller names (``a2a3`` or ``a5``); ValueError for anything else."""
    if not isinstance(arch, str) or arch not in TARGETS:
        raise ValueError(f"arch is {arch!r}; it must be one of {', '.join(TARGETS)}")
    return TARGETS[arch]
