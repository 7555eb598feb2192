"""The generated programs are legal, the same each time, and readable by MLIR's own tools."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks import generate
from benchmarks.generate import Form, Layout, Style, Variety

STYLES: tuple[Style, ...] = ("compact", "keyed")
VARIETIES: tuple[Variety, ...] = ("few", "distinct")
LAYOUTS: tuple[Layout, ...] = ("flat", "func")
FORMS: tuple[Form, ...] = ("dps", "ssa", "sync")

shapes = [
    pytest.param(style, variety, layout, id=f"{layout}-{style}-{variety}")
    for layout in LAYOUTS
    for style in STYLES
    for variety in VARIETIES
]


def program(form: Form, n: int, style: Style, variety: Variety, layout: Layout, seed: int = 0) -> str:
    write = {"dps": generate.dps, "ssa": generate.ssa, "sync": generate.sync}[form]
    return write(n, style, variety, layout, seed)


@pytest.mark.parametrize(("style", "variety", "layout"), shapes)
@pytest.mark.parametrize("form", FORMS)
def test_the_same_seed_gives_the_same_text(form: Form, style: Style, variety: Variety, layout: Layout) -> None:
    first = program(form, 40, style, variety, layout, seed=3)
    assert first == program(form, 40, style, variety, layout, seed=3)
    assert first != program(form, 40, style, variety, layout, seed=4)


@pytest.mark.parametrize(("style", "variety", "layout"), shapes)
@pytest.mark.parametrize("form", FORMS)
def test_n_counts_the_instructions(form: Form, style: Style, variety: Variety, layout: Layout) -> None:
    text = program(form, 100, style, variety, layout)
    assert sum(text.count(f"{op} ") for op in ("tcolargmin", "tci", "tcolsum")) == 100


@pytest.mark.parametrize(("style", "variety", "layout"), shapes)
def test_generic_form_is_read_by_mlir_opt(style: Style, variety: Variety, layout: Layout, tmp_path: Path) -> None:
    tool = shutil.which("mlir-opt") or shutil.which("mlir-opt-19")
    if tool is None:
        pytest.skip("mlir-opt is not installed")
    file = tmp_path / "generic.mlir"
    text = generate.generic(50, style, variety, layout)
    assert sum(text.count(f'"pto.{op}"') for op in ("tcolargmin", "tci", "tcolsum")) == 50
    file.write_text(text)
    done = subprocess.run([tool, "--allow-unregistered-dialect", file], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == 0


def test_few_statements_repeat_their_types_and_distinct_ones_do_not() -> None:
    def types(variety: Variety) -> tuple[int, int]:
        statements = [
            statement
            for block in generate.plan(2000, "dps", "keyed", variety, "flat", 0)
            for statement in block.statements
        ]
        signatures = {
            (s.op, s.source.type, s.tmp.type if s.tmp else "", *(value.type for value in s.outputs)) for s in statements
        }
        return len(signatures), len(statements)

    assert types("few")[0] <= 20
    distinct, total = types("distinct")
    assert distinct > 0.95 * total


@pytest.mark.parametrize(("style", "variety", "layout"), shapes)
@pytest.mark.parametrize("form", FORMS)
def test_what_lives_at_one_time_fits_into_the_smaller_ub(
    form: Form, style: Style, variety: Variety, layout: Layout
) -> None:
    blocks = list(generate.plan(1000, form, style, variety, layout, 1))
    for group in [[block] for block in blocks] if layout == "func" else [blocks]:
        bound = {value.name for block in group for value, _ in block.bindings}
        sources = {value.name for block in group for value in block.sources} - bound
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        sizes: dict[str, int] = {}
        for at, statement in enumerate(s for block in group for s in block.statements):
            for value in (statement.source, *([statement.tmp] if statement.tmp else []), *statement.outputs):
                first.setdefault(value.name, 0 if value.name in sources else at)
                last[value.name] = at
                sizes[value.name] = 0 if value.name in bound else value.size
        for at in range(max(last.values()) + 1):
            live = sum(size for name, size in sizes.items() if first[name] <= at <= last[name])
            assert live <= 120 * 1024  # 192 KiB, less the region of the bound sources, less some waste


def _ptoasm() -> Any:
    """The package, once it has a parser."""
    try:
        package = importlib.import_module("ptoasm")
    except ImportError:
        pytest.skip("there is no parser yet")
    if not (hasattr(package, "parse") and hasattr(package, "verify")):
        pytest.skip("there is no parser yet")
    return package


@pytest.mark.parametrize("arch", ["a2a3", "a5"])
@pytest.mark.parametrize(("style", "variety", "layout"), shapes)
@pytest.mark.parametrize("form", FORMS)
def test_generated_programs_verify_without_diagnostics(
    form: Form, style: Style, variety: Variety, layout: Layout, arch: str
) -> None:
    ptoasm = _ptoasm()
    module = ptoasm.parse(program(form, 300, style, variety, layout, seed=7))
    assert [str(diagnostic) for diagnostic in ptoasm.verify(module, arch=arch)] == []


@pytest.mark.parametrize("arch", ["a2a3", "a5"])
def test_generated_kernels_verify_without_diagnostics(arch: str) -> None:
    ptoasm = _ptoasm()
    assert [str(d) for d in ptoasm.verify(ptoasm.parse(generate.kernel(3)), arch=arch)] == []
