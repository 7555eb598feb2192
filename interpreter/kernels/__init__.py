"""What a kernel is given and gives back, and how the kernel of an instruction is found.

A module of this package that is named as an instruction has a function `plan`. A family module, for
instructions that are near relatives, has a table `PLANS` from instruction name to plan instead.
"""

import pkgutil
from collections.abc import Callable, Mapping
from contextvars import copy_context
from functools import cache, lru_cache, partial, wraps
from importlib import import_module
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Kernel = Callable[..., tuple[Array, ...]]
"""(*inputs) -> the arrays to write at (0, 0) of each output's valid region, each of shape (1, cols)."""


class Spec(NamedTuple):
    """An operand or result as the kernel sees it: `rows` x `cols` valid elements of `dtype`."""

    dtype: np.dtype[Any]
    rows: int
    cols: int
    col_major: bool = False
    """Whether a column is contiguous in memory, and not a row."""


class Call(NamedTuple):
    """One use of an instruction: all that a plan may depend on."""

    arch: str
    """`a2a3` or `a5`."""
    attributes: Mapping[str, object]
    """Every declared attribute, defaults filled in."""
    inputs: tuple[Spec, ...]
    """Tile and scalar operands in order, scratch left out; a scalar is 1 x 1."""
    outputs: tuple[Spec, ...]


Plan = Callable[[Call], Kernel]


_quiet = copy_context()
_quiet.run(np.seterr, all="ignore")


def quietly(kernel: Kernel) -> Kernel:
    """The kernel without NumPy's warnings about floats, for a quarter of what entering `np.errstate` costs."""
    copy = _quiet.copy

    @wraps(kernel)
    def quiet(*inputs: Any) -> tuple[Array, ...]:
        return copy().run(kernel, *inputs)

    return quiet


def one_at_a_time(kernel: Kernel) -> Kernel:
    """The same kernel for a caller who never enters it twice at once: being quiet then costs half."""
    loud = getattr(kernel, "__wrapped__", None)
    return kernel if loud is None else partial(_quiet.copy().run, loud)


@cache
def _modules() -> frozenset[str]:
    return frozenset(module.name for module in pkgutil.iter_modules(__path__))


@lru_cache(maxsize=1024)
def lookup(name: str) -> Plan | None:
    """The plan function of an instruction (without `pto.`), or None if no kernel has that name.

    `name` may be anything a program contains: only names of files that are there reach the importer.
    """
    if name in _modules():
        plan = getattr(import_module(f"{__name__}.{name}"), "plan", None)
        if plan is not None:
            return cast(Plan, plan)
    return _in_families(name)


def _in_families(name: str) -> Plan | None:
    for module in sorted(_modules()):
        plans = getattr(import_module(f"{__name__}.{module}"), "PLANS", {})
        if name in plans:
            return cast(Plan, plans[name])
    return None
