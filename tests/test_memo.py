"""Statements that are answered from a template are read as the grammar reads them: same IR, diagnostics and places."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import generate
from ptoasm.ir import Literal, Module, Operation
from ptoasm.parser import parse
from ptoasm.programs import read_programs
from ptoasm.verifier import verify

ROOT = Path(__file__).parent.parent
TEXTS = [
    program.text
    for folder in ("tests/data/cases", "tests/data/programs", "ptoasm/rules", "samples")
    for path in sorted((ROOT / folder).glob("*.pto"))
    for program in read_programs(str(path))
]
LINES = sorted({line for text in TEXTS for line in text.splitlines() if line.strip()})


def described(op: Operation) -> Any:
    shape = op.shape
    return (
        shape.name,
        shape.form,
        [repr(v) if isinstance(v, Literal) else v.name for v in op.inputs],
        [(v.name, str(v.type)) for v in op.outputs],
        [str(t) for t in (*shape.input_types, *shape.output_types)],
        (shape.input_names, shape.output_names, shape.attributes, shape.duplicates, shape.keywords),
        (op.start, op.end, len(op.regions)),
    )


def everything(module: Module) -> Any:
    """All that a module says, as plain values."""
    return (
        [
            (f.name, [(v.name, str(v.type)) for v in f.arguments], list(map(described, f.walk())))
            for f in module.functions
        ],
        [(d.severity, d.code, d.message, d.span, [n.message for n in d.notes]) for d in module.diagnostics],
    )


def assert_same(text: str) -> None:
    fast, slow = parse(text), parse(text, memo=False)
    assert everything(fast) == everything(slow)
    for arch in ("a2a3", "a5"):
        assert [d[:3] + d[4:5] for d in verify(fast, arch)] == [d[:3] + d[4:5] for d in verify(slow, arch)]


@pytest.mark.parametrize("variety", ["few", "distinct"])
@pytest.mark.parametrize("form", ["dps", "ssa", "sync"])
def test_generated_programs(form: str, variety: str) -> None:
    for style in ("compact", "keyed"):
        assert_same(getattr(generate, form)(60, style=style, variety=variety, seed=7))


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_programs_one_after_another(texts: list[str]) -> None:
    assert_same("\n".join(texts))


def garbled(line: str, source: random.Random) -> str:
    """The line with a small change: a number, a character left out, two joined lines."""
    choice = source.randrange(5)
    if choice == 0:
        return re.sub(r"\d+", lambda m: str(source.randrange(70)), line, count=source.randrange(1, 4))
    if choice == 1:
        at = source.randrange(len(line))
        return line[:at] + line[at + 1 :]
    if choice == 2:
        return re.sub(r"%\w+", lambda m: source.choice(["%a", "%b", m.group(), "5", "!pto.tile<vec, 1x8xf32>"]), line)
    if choice == 3:
        return line.replace(" ", source.choice(["", "  ", "\n", "\n  // note\n"]), 1)
    return line


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_lines_in_any_order_with_small_changes(lines: list[str], source: random.Random) -> None:
    repeated = [garbled(line, source) for line in lines for _ in range(source.randrange(1, 4))]
    assert_same("\n".join(repeated))


def test_many_statements_on_one_line() -> None:
    assert_same(" ".join(f"%d{k} = tci {k} : !pto.tile<vec, 1x{8 * (k % 3 + 1)}xi32>" for k in range(500)))
