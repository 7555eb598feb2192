"""Element types as NumPy's."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ptoasm.types import BF16, F16, F32, ElementType


@cache
def dtype_of(element: ElementType) -> np.dtype[Any] | None:
    """The NumPy type of an element type; None for one that the project does not compute with."""
    if element is BF16:
        from ml_dtypes import bfloat16  # imported only where a program needs it

        found: np.dtype[Any] = np.dtype(bfloat16)
        return found
    if element is F16 or element is F32:
        return np.dtype(f"float{element.bits}")
    if element.is_integer and element.bits in (8, 16, 32, 64):
        return np.dtype(f"{'uint' if element.kind == 'uint' else 'int'}{element.bits}")
    return None
