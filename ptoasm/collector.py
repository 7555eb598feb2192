"""The garbage collector, out of the way while a large program is read or verified, and in a short process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """No collection inside: what a program becomes is not garbage before it is whole, so none would find anything."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


_SELDOM = 50_000
"""New objects between two collections: more than all imports make."""


@contextmanager
def seldom() -> Iterator[None]:
    """Few collections inside and none behind, for a process that does one thing and ends.

    Its modules stay to the end, and the interpreter would look through all of them once more before it leaves.
    """
    first, second, third = gc.get_threshold()
    gc.set_threshold(max(first, _SELDOM), second, third)
    try:
        yield
    finally:
        gc.set_threshold(first, second, third)
        gc.freeze()
