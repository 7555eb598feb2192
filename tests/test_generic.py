"""MLIR's generic form: what mlir-opt accepts, and reading it and mlir-opt's output back."""

from __future__ import annotations

import os
import random
import shutil
import subprocess

import pytest

from ptoasm.conversion import convert
from ptoasm.diagnostics import PtoError, has_errors
from ptoasm.parser import parse
from ptoasm.printer import print_module
from tests.corpus import everything, module, samples
from tests.programs import FORMS, LAYOUTS, generate
from tests.same_ir import dump

TOOL = shutil.which("mlir-opt-19") or shutil.which("mlir-opt")
needs_tool = pytest.mark.skipif(TOOL is None and not os.environ.get("CI"), reason="mlir-opt is not installed")

NO_GENERIC_FORM = (
    "is written in a syntax of its own",
    "an unsigned loop",
    "CONV-01 it has",
    "TYPE-",
    "FORM-",
    "NAME-",
)
"""Why a program has no generic form."""


def generic(text: str) -> str:
    return convert(module(text), "generic").text


def mlir_opt(text: str, *options: str) -> str:
    assert TOOL is not None, "mlir-opt is not installed"
    command = [TOOL, "--allow-unregistered-dialect", *options]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def batches(programs: dict[str, str], size: int = 40) -> list[list[str]]:
    names = list(programs)
    return [names[k : k + size] for k in range(0, len(names), size)]


def converted(names: list[str], programs: dict[str, str]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = generic(programs[name])
        except PtoError as error:
            reasons = [f"{d.code} {d.message}" for d in error.diagnostics]
            assert any(known in reason for reason in reasons for known in NO_GENERIC_FORM), reasons
    return found


@pytest.mark.parametrize("names", batches(everything()), ids=lambda names: names[0])
def test_reading_it_back(names: list[str]) -> None:
    for name, text in converted(names, everything()).items():
        assert dump(module(text)) == dump(module(everything()[name])), name


SPLIT = "// -----\n"


@needs_tool
@pytest.mark.parametrize("options", [(), ("--mlir-print-op-generic",)], ids=["custom", "generic"])
@pytest.mark.parametrize("names", batches(everything()), ids=lambda names: names[0])
def test_mlir_opt_takes_it_and_its_output_is_read_back(names: list[str], options: tuple[str, ...]) -> None:
    programs = converted(names, everything())
    output = mlir_opt(SPLIT.join(programs.values()), "--split-input-file", *options)
    for (name, _), text in zip(programs.items(), output.split(SPLIT), strict=True):
        if "attributes.pto" not in name:  # mlir-opt spells numbers in attributes anew
            assert dump(module(text)) == dump(module(everything()[name])), name


@needs_tool
@pytest.mark.parametrize("options", [(), ("--mlir-print-op-generic",)], ids=["custom", "generic"])
def test_generated_programs(options: tuple[str, ...]) -> None:
    texts = [generate(random.Random(s), form, layout) for s in range(8) for form in FORMS for layout in LAYOUTS]
    output = mlir_opt(SPLIT.join(map(generic, texts)), "--split-input-file", *options)
    for text, back in zip(texts, output.split(SPLIT), strict=True):
        assert dump(module(back)) == dump(module(text))


@needs_tool
@pytest.mark.parametrize("to", FORMS)
@pytest.mark.parametrize("name", samples())
def test_samples_through_every_form(name: str, to: str) -> None:
    text = convert(module(samples()[name]), to).text
    try:
        printed = generic(text)
    except PtoError as error:
        assert "syntax of its own" in str(error)
        return
    assert dump(module(mlir_opt(printed))) == dump(module(text))


# --- How things are written


def test_flat_programs() -> None:
    text = "pto.tassign %d, @tile(0x40)\n%d = tci 5 {descending = true} : !pto.tile<vec, 1x8xi32>\n"
    assert (
        generic(text)
        == """\
"builtin.module"() ({
  "func.func"() <{function_type = () -> (), sym_name = "main"}> ({
    %d = "tci"() {descending = true, pto.literals = {S = "5"}, pto.addresses = ["0x40"]} : () -> !pto.tile<vec, 1x8xi32>
    "func.return"() : () -> ()
  }) {pto.flat} : () -> ()
}) : () -> ()
"""
    )
    assert print_module(module(generic(text))) == text


def test_levels_are_told_apart() -> None:
    text = "pto.tcolsum ins(%s : !pto.tile_buf<vec, 4x8xf32>) outs(%d : !pto.tile_buf<vec, 1x8xf32>)\n"
    assert '"pto.tcolsum"(%s, %d) {operandSegmentSizes = array<i32: 1, 1>}' in generic(text)
    assert print_module(module(generic(text))) == text


def test_a_whole_function() -> None:
    text = """\
module attributes {pto.target_arch = "a5"} {
  func.func private @f(%x: index {a.b = 1}) -> (index {c.d}, i1) attributes {e.f = #pto.g<h>} {
    %c1 = arith.constant 1 : index
    %y = arith.addi %x, %c1 overflow<nsw> : index
    %p = arith.cmpi sle, %x, %y : index
    %r:2 = scf.while (%a = %x, %b = %p) : (index, i1) -> (index, i1) {
      scf.condition(%b) %a, %b : index, i1
    } do {
    ^bb0(%i: index, %q: i1):
      scf.yield %i, %q : index, i1
    }
    scf.if %p {
      %t = pto.alloc_tile valid_row = %x : !pto.tile_buf<vec, 1x8xi32, valid=?x8>
    }
    return %r#0, %r#1 : index, i1
  }
  func.func private @g(!pto.ptr<f32>) -> i32
}
"""
    assert print_module(module(text)) == text
    again = module(generic(text))
    assert dump(again) == dump(module(text))
    assert print_module(again) == text


def test_unknown_operations_in_generic_form_are_kept() -> None:
    text = (
        'func.func @k() {\n  %a = "foo.bar"() ({\n    "foo.end"() : () -> ()\n  }) {x = 1} : () -> i32\n  return\n}\n'
    )
    assert print_module(module(text)) == text
    assert '"foo.bar"() ({' in generic(text)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("pto.barrier <PIPE_V>", "'pto.barrier' is written in a syntax of its own"),
        ("scf.for unsigned %i = %c to %c step %c {\n  }", "unsigned"),
    ],
)
def test_what_has_no_generic_form_says_so(statement: str, message: str) -> None:
    text = f"func.func @k(%c: index) {{\n  {statement}\n  return\n}}\n"
    with pytest.raises(PtoError) as caught:
        generic(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '"pto.tcolsum"(%a) : (!pto.tile<vec, 4x8xf32>) ->',
        '"arith.constant"() : () -> i32',
        '"arith.cmpi"(%a, %a) : (i32, i32) -> i1',
        '"func.func"() ({\n}) : () -> ()',
        '"pto.subview"(%a) : (!pto.tile<vec, 4x8xf32>) -> !pto.tile<vec, 1x8xf32>',
        '%r = "func.call"() : () -> i32',
        '"builtin.module"() ({',
        '"arith.constant"() <{value = 5 : i32 : () -> i32',
        "}, {",
        "}) : () -> ()",
        '"pto.tcolsum',
        '"scf.for"(%a) ({\n}, {\n}, {\n}) : (index) -> ()',
    ],
)
def test_wrong_text_is_a_diagnostic(text: str) -> None:
    assert has_errors(parse(text).diagnostics)
