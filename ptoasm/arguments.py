"""What callers of the Python functions give, checked: a wrong argument is named, and not met somewhere inside."""

from __future__ import annotations

import operator
import os
from typing import Any

from ptoasm.ir import Module
from ptoasm.targets import UB_LEAST, UB_MOST


def module_of(program: Module | str) -> Module:
    """The module, or the one that a text holds, faults and all."""
    if isinstance(program, str):
        from ptoasm.parser import parse  # here, because plain arrays need no grammar

        return parse(program)
    if not isinstance(program, Module):
        raise _wrong("the program", program, "a text or what ptoasm.parse gives")
    return program


def text(what: str, value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise _wrong(what, value, "a string")
    return value


def path(what: str, value: Any) -> str:
    """The name of a file."""
    return text(what, os.fspath(value) if isinstance(value, os.PathLike) else value)


def flag(what: str, value: Any) -> bool:
    """A truth value, NumPy's own included."""
    if not (isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")):
        raise _wrong(what, value, "True or False")
    return bool(value)


def whole(what: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """A whole number, NumPy's own included."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise _wrong(what, value, "a whole number")
    if (least is not None and number < least) or (most is not None and number > most):
        limits = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{what} is {number}; it must be {limits}")
    return number


def ub_capacity(value: Any) -> int | None:
    """A capacity of the UB, where one is given."""
    return None if value is None else whole("ub_size", value, UB_LEAST, UB_MOST)


def _wrong(what: str, value: Any, needed: str) -> TypeError:
    from reprlib import repr as shortened

    return TypeError(f"{what} is {shortened(value)} ({type(value).__name__}); it must be {needed}")
