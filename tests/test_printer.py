"""Printing modules."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings

from ptoasm.commands.fmt import formatted
from ptoasm.parser import parse
from ptoasm.printer import print_module
from tests.corpus import everything, module
from tests.programs import generate, programs
from tests.same_ir import dump
from tests.work import calls

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("types", ["compact", "keyed"])
@pytest.mark.parametrize("name", everything())
def test_printing_is_a_fixed_point(name: str, types: str) -> None:
    original = module(everything()[name])
    text = print_module(original, types=types)
    again = module(text)
    assert print_module(again, types=types) == text
    assert dump(again) == dump(original)


@settings(max_examples=50, deadline=None)
@given(programs())
def test_generated_programs_print_as_they_are(text: str) -> None:
    assert dump(module(print_module(module(text)))) == dump(module(text))


def canonical(text: str) -> str:
    return print_module(module(text))


@pytest.mark.parametrize(
    "text",
    [
        "%d = tcolsum %s {isBinary = false} : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>\n",
        "%d = tci 5 {descending = false} : !pto.tile<vec, 1x8xi32>\n",
        "%d = pto.tci %s : i32 -> !pto.tile<vec, 1x8xi32>\n",
        "%d = pto.tcolsum %s, %t {isBinary = true, a.b, c = [1, 2]} : "
        "(!pto.tile<vec, 4x8xf32>, !pto.tile<vec, 4x8xf32>) -> !pto.tile<vec, 1x8xf32>\n",
        "%v, %i = tcolargmin %s : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>, !pto.tile<vec, 1x8xi32>\n",
        "pto.tcolsum ins(%s, %t {isBinary = true} : !pto.tile_buf<vec, 4x8xf32>, !pto.tile_buf<vec, 4x8xf32>) "
        "outs(%d : !pto.tile_buf<vec, 1x8xf32>)\n",
        "%d = tcolsum 1 : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>\n",
        "%d = pto.tci %s : !f32 -> !name\n",
        "func.func private @f(!pto.ptr<f32> {a.b = 1}) -> (i32 {c.d}, i64)\n",
        'func.func @"odd name"(%a: i32 {a.b = 1}, %b: i32) -> i32 attributes {x.y} {\n  return %a : i32\n}\n',
        'module @m attributes {pto.target_arch = "a5"} {\n}\n',
    ],
)
def test_canonical_text(text: str) -> None:
    assert canonical(text) == text


def test_attributes_move_to_their_place() -> None:
    text = (
        "pto.tci ins(%s : i32) outs(%d : !pto.tile_buf<loc=vec, dtype=i32, rows=1, cols=8, v_row=1, v_col=8, "
        "blayout=row_major, slayout=none_box, fractal=512, pad=0>) {descending  =  true}\n"
    )
    assert canonical(text) == "pto.tci ins(%s {descending = true} : i32) outs(%d : !pto.tile_buf<vec, 1x8xi32>)\n"


def test_comments_and_blank_lines() -> None:
    text = """\
// at the top

func.func @k(%p: i1) {
  // before a statement
  # of the pages' kind
  %a = arith.constant 1 : i64 // at its end


  %t = pto.alloc_tile
    addr = %a // within
    : !pto.tile_buf<vec, 1x8xf32> // behind
  scf.if %p { // of the header
    pto.tassign %t, @tile(0x20)
    // last in the region
  } else { // of the second region
  } // of the end
  return
  // last in the function
}
// at the end
"""
    assert (
        canonical(text)
        == """\
// at the top

func.func @k(%p: i1) {
  // before a statement
  # of the pages' kind
  %a = arith.constant 1 : i64  // at its end

  %t = pto.alloc_tile addr = %a : !pto.tile_buf<vec, 1x8xf32>  // within  // behind
  scf.if %p {  // of the header
    pto.tassign %t, @tile(0x20)
    // last in the region
  } else {  // of the second region
  }  // of the end
  return
  // last in the function
}
// at the end
"""
    )


def test_comments_can_be_left_out() -> None:
    text = "// a comment\n\n%d = tci 5 : !pto.tile<vec, 1x8xi32>\n"
    assert print_module(module(text), comments=False) == "%d = tci 5 : !pto.tile<vec, 1x8xi32>\n"


def test_a_statement_that_is_not_well_formed_is_printed_as_it_is_written() -> None:
    text = "%d = pto.tcolsum %s, %t : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>\n"
    assert print_module(parse(text)) == text


def test_a_wrong_type_count_of_a_copy_is_no_matter_of_names() -> None:
    text = "%d = tci 5 {descending = true, descending = true} : !pto.tile<vec, 1x8xi32>\n"
    assert print_module(parse(text)) == text


def test_printing_is_linear() -> None:
    line = "%d{0} = tcolsum %s : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>  // of {0}\n"
    small, large = (parse("".join(line.format(k) for k in range(n))) for n in (1000, 8000))
    assert calls(lambda: print_module(large)) < 8 * 1.5 * calls(lambda: print_module(small))


def test_the_generator_is_deterministic() -> None:
    assert generate(random.Random(7), "dps", "func") == generate(random.Random(7), "dps", "func")


@pytest.mark.parametrize("path", sorted((ROOT / "samples").glob("*.pto")), ids=lambda path: str(path.name))
def test_every_sample_is_in_canonical_form(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert formatted(text, str(path), "compact") == text


@pytest.mark.parametrize("text", ["tci", "tci {descending = true}", "tcolargmin", "tcolsum %b", "pto.tcolsum ins()"])
def test_what_has_no_types_gets_none(text: str) -> None:
    assert formatted(f"{text}\n", "t.pto", "compact") == f"{text}\n"
