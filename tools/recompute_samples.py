"""Recompute with NumPy what the samples expect, and compare it with the files beside them.

    python tools/recompute_samples.py            # says which files differ; exit status 1 if any does
    python tools/recompute_samples.py --write    # writes them

Nothing here runs a program: each function says in NumPy's terms what its sample computes, from the inputs that the
sample's comments name.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptoasm.check import directives
from ptoasm.interpreter.data import Fill, fill
from ptoasm.programs import read_programs

SAMPLES = Path(__file__).parent.parent / "samples"

Array = NDArray[Any]


def column_softmax(n: int, x: Fill, **others: object) -> dict[str, Array]:
    """Softmax of the columns of x / 4, in float64."""
    matrix = _random(x, "x").reshape(64, n).astype(np.float64) * 0.25
    powers = np.exp(matrix - matrix.max(axis=0))
    return {"column_softmax": (powers / powers.sum(axis=0)).astype(np.float32).reshape(-1)}


def index_table(base: int, pitch: int, rows: int, cols: int, **others: object) -> dict[str, Array]:
    """Indices of a window, from left to right and from right to left, and j / (cols - 1) cut to float16."""
    table = (base + np.arange(rows)[:, None] * pitch + np.arange(cols)).astype(np.int32)
    fractions = np.arange(cols, dtype=np.float32) / np.float32(cols - 1)
    below = fractions.astype(np.float16)
    below = np.where(below > fractions, np.nextafter(below, np.float16(-1)), below)
    return {
        "index_table_forward": table.reshape(-1),
        "index_table_backward": table[:, ::-1].reshape(-1),
        "index_table_scaled": np.broadcast_to(below, (rows, cols)).reshape(-1),
    }


def blocked_argmin(m: int, n: int, x: Fill, **others: object) -> dict[str, Array]:
    """The row of the first minimum of each column."""
    return {"blocked_argmin": _random(x, "x").reshape(m, n).argmin(axis=0).astype(np.int32)}


def _random(how: Fill, name: str) -> Array:
    assert how.count is not None
    return fill(how, np.dtype(np.float32), how.count, name)


RECOMPUTED: tuple[Callable[..., dict[str, Array]], ...] = (column_softmax, index_table, blocked_argmin)
"""The functions, named as their samples."""


def expected() -> dict[Path, Array]:
    """What the files beside the samples must hold."""
    found = {}
    for recompute in RECOMPUTED:
        (program,) = read_programs(str(SAMPLES / f"{recompute.__name__}.pto"))
        for name, array in recompute(**directives(program).inputs).items():
            found[SAMPLES / f"{name}.npy"] = array
    return found


def differing() -> list[Path]:
    """The files that are not there or hold something else."""
    return [path for path, array in expected().items() if not _holds(path, array)]


def _holds(path: Path, array: Array) -> bool:
    if not path.exists():
        return False
    there = np.load(path)
    # A library's exp may differ in the last bit; everything else is exact.
    close = np.allclose(there, array, rtol=1e-6, atol=0) if array.dtype == np.float32 else np.array_equal(there, array)
    return bool(there.dtype == array.dtype and there.shape == array.shape and close)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the files that differ")
    write = parser.parse_args().write
    wrong = differing()
    for path in wrong:
        print(f"{'writing' if write else 'differs:'} {path.name}")
        if write:
            np.save(path, expected()[path])
    return 1 if wrong and not write else 0


if __name__ == "__main__":
    sys.exit(main())
