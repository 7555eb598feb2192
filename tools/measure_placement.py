"""How close the placement comes to the lower bound: ``python -m tools.measure_placement``.

The lower bound is the largest total of bytes that are live at the same time. What is measured is the smallest UB into
which the placement fits a program, found by bisection. Programs that fit side by side into the bound say nothing and
are left out.
"""

from __future__ import annotations

import random
import re
import statistics
from collections.abc import Iterator

from benchmarks import generate as large
from ptoasm.ir import Function
from ptoasm.parser import parse
from ptoasm.placement import Life, place
from ptoasm.targets import BLOCK_BYTES
from tests.programs import FORMS, generate

_BINDINGS = re.compile(r"pto\.tassign [^\n]*\n| addr = %\w+")


def _size(life: Life) -> int:
    return -(-life.size // BLOCK_BYTES) * BLOCK_BYTES


def lower_bound(lives: list[Life]) -> int:
    """The largest total of simultaneously live bytes."""
    steps: dict[int, list[int]] = {}
    for life in lives:
        steps.setdefault(life.first, [0, 0])[0] += _size(life)
        steps.setdefault(life.last, [0, 0])[1] += _size(life)
    most = now = 0
    for step in sorted(steps):
        begins, ends = steps[step]
        most = max(most, now + begins)
        now += begins - ends
    return most


def smallest(function: Function, low: int, high: int) -> int:
    """The smallest UB, in bytes, that the function's tiles are placed into."""
    first, last = low // BLOCK_BYTES, high // BLOCK_BYTES
    while first < last:
        middle = (first + last) // 2
        if place(function, middle * BLOCK_BYTES).unplaced:
            first = middle + 1
        else:
            last = middle
    return first * BLOCK_BYTES


def ratios(texts: Iterator[str]) -> Iterator[float]:
    """The smallest UB over the lower bound, of each program that needs reuse to reach it."""
    for text in texts:
        for function in parse(_BINDINGS.sub("", text)).functions:
            lives = place(function, 1 << 40).lives
            bound, side_by_side = lower_bound(lives), sum(map(_size, lives))
            if side_by_side > bound:
                yield smallest(function, bound, side_by_side) / bound


def main() -> None:
    """Prints one line for each kind of program."""
    kinds = {
        "programs of the tests": (generate(random.Random(s), form, "flat") for s in range(300) for form in FORMS),
        "60 instructions, few types": (large.ssa(60, seed=s) for s in range(120)),
        "60 instructions, each its own types": (large.ssa(60, variety="distinct", seed=s) for s in range(120)),
    }
    for name, texts in kinds.items():
        found = list(ratios(texts))
        exact = sum(ratio == 1 for ratio in found) / len(found)
        mean = statistics.mean(found)
        print(f"{name}: {len(found)} programs, mean {mean:.3f}, worst {max(found):.2f}, exact {exact:.0%}")


if __name__ == "__main__":
    main()
