"""Conversion between the synchronous form, level 1 and level 2: what it promises, and how it says things."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

import ptoasm
from ptoasm.conversion import convert
from ptoasm.diagnostics import PtoError
from ptoasm.ir import DPS, SSA, SYNC
from ptoasm.verifier import verify
from tests.corpus import everything, module, samples
from tests.programs import FORMS, LAYOUTS, generate, programs
from tests.work import calls

ARCHES = ("a2a3", "a5")


def errors(text: str, arch: str) -> list[str]:
    return [d.code for d in verify(module(text), arch) if d.severity == "error"]


def converted(text: str, to: str, arch: str | None = None, **options: Any) -> str:
    return convert(module(text), to, arch=arch, **options).text


# --- The guarantee


def same_bits(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Every output is there with the same bits: by its name, or by that of one of its versions."""
    for name, array in before.items():
        versions = [after[k] for k in after if k == name] or [
            v for k, v in after.items() if k.rpartition(".")[0] == name
        ]
        assert any(v.shape == array.shape and v.tobytes() == array.tobytes() for v in versions), name


def check(text: str, to: str, arch: str) -> None:
    """The output has no new error, computes the same, and there and back again changes nothing more."""
    known = errors(text, arch)
    output = converted(text, to, arch)
    assert not set(errors(output, arch)) - set(known)
    if known:
        return
    try:
        before = ptoasm.run(text, arch=arch)
    except PtoError:
        return
    if any(d.code == "INIT-01" for d in before.diagnostics):
        return
    same_bits(before.outputs, ptoasm.run(output, arch=arch).outputs)
    for back in FORMS:
        there = converted(converted(output, back, arch), to, arch)
        assert converted(converted(there, back, arch), to, arch) == there


UNSAYABLE = (
    "CONV-01 it has",
    "TYPE-",
    "FORM-03",
    "FORM-04",
    "FORM-05",
    "the synchronous form takes it as",
)
"""Why a program of the corpus may be refused: it is not well-formed, or a scalar has the wrong type."""


@pytest.mark.parametrize("to", FORMS)
@pytest.mark.parametrize("name", everything())
def test_programs_of_the_repository(name: str, to: str) -> None:
    text = everything()[name]
    for arch in ARCHES[:1] if name.startswith("ptoasm/rules") else ARCHES:
        try:
            converted(text, to, arch)
        except PtoError as error:
            assert name not in samples()
            assert any(reason in f"{d.code} {d.message}" for d in error.diagnostics for reason in UNSAYABLE), error
            return
        check(text, to, arch)


@settings(max_examples=60, deadline=None)
@given(programs())
def test_generated_programs(text: str) -> None:
    for arch in ARCHES:
        assert not errors(text, arch)
        for to in FORMS:
            check(text, to, arch)


def generated(count: int) -> Iterator[str]:
    for seed in range(count):
        for form in FORMS:
            for layout in LAYOUTS:
                yield generate(random.Random(seed), form, layout)


@pytest.mark.parametrize("to", FORMS)
def test_generated_programs_convert(to: str) -> None:
    total = done = 0
    for text in generated(80):
        total += 1
        try:
            converted(text, to)
            done += 1
        except PtoError:
            pass
    assert done >= 0.95 * total


def test_generated_programs_run_without_reading_what_nothing_wrote() -> None:
    for text in generated(10):
        assert not any(d.code == "INIT-01" for d in ptoasm.run(text).diagnostics)


# --- How it is said


def body(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


SUM = "%d = tcolsum %s : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>\n"


def test_flat_programs_get_free_names() -> None:
    assert converted(SUM, DPS) == (
        "pto.tcolsum ins(%s : !pto.tile_buf<vec, 4x8xf32>) outs(%d : !pto.tile_buf<vec, 1x8xf32>)\n"
    )


def test_scratch_is_made_where_it_is_needed() -> None:
    text = "%d = tcolsum %s {isBinary = true} : !pto.tile<vec, 5x8xf32> -> !pto.tile<vec, 1x8xf32>\n"
    assert converted(text, SSA) == (
        "%d = pto.tcolsum %s, %tmp {isBinary = true} : (!pto.tile<vec, 5x8xf32>, !pto.tile<vec, 3x8xf32>) -> "
        "!pto.tile<vec, 1x8xf32>\n"
    )
    assert "%tmp" not in converted(SUM, SSA)
    argmin = "%i = tcolargmin %s : !pto.tile<vec, 4x64xf32> -> !pto.tile<vec, 1x64xi32>\n" * 1
    assert "%s, %tmp" in converted(argmin, DPS)
    assert "%tmp" not in converted("%d = tci 5 : !pto.tile<vec, 1x8xi32>\n", DPS)


def test_scratch_is_dropped_with_a_remark_where_it_has_an_address() -> None:
    text = (
        "pto.tassign %t, @tile(0x100)\n"
        "pto.tcolargmin ins(%s, %t : !pto.tile_buf<vec, 4x8xf32>, !pto.tile_buf<vec, 1x64xf32>) "
        "outs(%i : !pto.tile_buf<vec, 1x8xi32>)\n"
    )
    made = convert(module(text), SYNC)
    assert made.text == "%i = tcolargmin %s : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xi32>\n"
    (note,) = made.notes
    assert note.severity == "remark" and "%t" in note.message
    assert note.span is not None and note.source.position(note.span.start)[0] == 2
    assert convert(module(text.split("\n", 1)[1]), SYNC).notes == []


def test_a_scalar_gets_its_type_from_the_result() -> None:
    text = "%d = tci %s {descending = true} : !pto.tile<vec, 1x16xui16>\n"
    assert converted(text, DPS) == (
        "pto.tci ins(%s {descending = true} : ui16) outs(%d : !pto.tile_buf<vec, 1x16xui16>)\n"
    )
    assert converted(converted(text, DPS), SYNC) == text


def test_a_literal_and_a_name_in_one_place() -> None:
    """The type of a number is the result's; that of a name is written where the page has other than a scalar there."""
    row = "!pto.tile_buf<vec, 1x16xf32>"
    text = f"""func.func @k(%x: f32) {{
  %a = pto.alloc_tile : {row}
  %b = pto.alloc_tile : {row}
  pto.tdivs ins(%a, 2.0 : {row}, f32) outs(%b : {row})
  pto.tdivs ins(%b, %x : {row}, f32) outs(%a : {row})
  return
}}"""
    found = converted(text, SYNC)
    tile = "!pto.tile<vec, 1x16xf32>"
    assert f"tdivs %a.1, 2.0 : {tile} -> {tile}\n" in found
    assert f"tdivs %b, %x : {tile}, f32 -> {tile}\n" in found


def test_attributes_of_others_are_kept() -> None:
    text = '%d = tci 5 {descending = false, pto.impl = "x", a.b} : !pto.tile<vec, 1x8xi32>\n'
    assert '{descending = false, pto.impl = "x", a.b}' in converted(text, DPS)


TWICE = """\
pto.tci ins(1 : i32) outs(%d : !pto.tile_buf<vec, 1x8xi32>)
pto.tcolsum ins(%d : !pto.tile_buf<vec, 1x8xi32>) outs(%e : !pto.tile_buf<vec, 1x8xi32>)
pto.tci ins(2 : i32) outs(%d : !pto.tile_buf<vec, 1x8xi32>)
pto.tcolsum ins(%d : !pto.tile_buf<vec, 1x8xi32>) outs(%f : !pto.tile_buf<vec, 1x8xi32>)
"""


def test_a_buffer_that_is_written_twice_has_versions() -> None:
    assert body(converted(TWICE, SYNC)) == [
        "%d.1 = tci 1 : !pto.tile<vec, 1x8xi32>",
        "%e = tcolsum %d.1 : !pto.tile<vec, 1x8xi32> -> !pto.tile<vec, 1x8xi32>",
        "%d = tci 2 : !pto.tile<vec, 1x8xi32>",
        "%f = tcolsum %d : !pto.tile<vec, 1x8xi32> -> !pto.tile<vec, 1x8xi32>",
    ]


def test_versions_of_a_buffer_with_an_address_are_bound_to_it() -> None:
    text = "pto.tassign %d, @tile(0x40)\n" + TWICE
    lines = body(converted(text, SYNC))
    assert lines[0] == "pto.tassign %d.1, @tile(0x40)"
    assert lines[3] == "pto.tassign %d, @tile(0x40)"


def test_a_write_that_leaves_elements_alone_shares_memory() -> None:
    rows = "!pto.tile_buf<vec, 2x8xi32>"
    text = f"""\
pto.tadd ins(%a, %a : {rows}, {rows}) outs(%d : {rows})
pto.tcolsum ins(%a : {rows}) outs(%d : {rows})
pto.tmov ins(%d : {rows}) outs(%e : {rows})
"""
    output = converted(text, SSA)
    addresses = [line for line in body(output) if line.startswith("pto.tassign %d")]
    assert len({line.split(", ")[1] for line in addresses}) == 1 and len(addresses) == 2
    check(text, SSA, "a2a3")


LOOP = """\
func.func @k(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %acc = pto.alloc_tile addr = %at : !pto.tile_buf<vec, 1x8xi32>
  pto.tci ins(0 : i32) outs(%acc : !pto.tile_buf<vec, 1x8xi32>)
  scf.for %i = %c0 to %n step %c1 {
    pto.tadds ins(%acc, 1 : !pto.tile_buf<vec, 1x8xi32>, i32) outs(%acc : !pto.tile_buf<vec, 1x8xi32>)
  }
  pto.tcolsum ins(%acc : !pto.tile_buf<vec, 1x8xi32>) outs(%out : !pto.tile_buf<vec, 1x8xi32>)
  return
}
""".replace(
    "  %acc = pto",
    "  %at = arith.constant 64 : i64\n  %out = pto.alloc_tile : !pto.tile_buf<vec, 1x8xi32>\n  %acc = pto",
)


@pytest.mark.parametrize("trips", [0, 1, 3])
@pytest.mark.parametrize("to", [SSA, SYNC])
def test_a_loop_shares_memory_through_an_address(to: str, trips: int) -> None:
    for text in (LOOP, LOOP.replace(" addr = %at", "")):
        before = ptoasm.run(text, {"n": trips}).outputs
        same_bits(before, ptoasm.run(converted(text, to), {"n": trips}).outputs)


def test_arguments_that_are_filled_become_results() -> None:
    text = """\
func.func @k(%s: !pto.tile_buf<vec, 4x8xf32>, %d: !pto.tile_buf<vec, 1x8xf32> {a.b}) {
  pto.tcolsum ins(%s : !pto.tile_buf<vec, 4x8xf32>) outs(%d : !pto.tile_buf<vec, 1x8xf32>)
  return
}
"""
    assert (
        converted(text, SSA)
        == """\
func.func @k(%s: !pto.tile<vec, 4x8xf32>) -> !pto.tile<vec, 1x8xf32> {
  %d = pto.tcolsum %s : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>
  return %d : !pto.tile<vec, 1x8xf32>
}
"""
    )


def test_functions_that_are_called_keep_their_arguments() -> None:
    text = """\
func.func private @fill(%d: !pto.tile_buf<vec, 1x8xi32>) {
  pto.tci ins(3 : i32) outs(%d : !pto.tile_buf<vec, 1x8xi32>)
  return
}
func.func @k() {
  %t = pto.alloc_tile : !pto.tile_buf<vec, 1x8xi32>
  %u = pto.alloc_tile : !pto.tile_buf<vec, 1x8xi32>
  func.call @fill(%t) : (!pto.tile_buf<vec, 1x8xi32>) -> ()
  pto.tcolsum ins(%t : !pto.tile_buf<vec, 1x8xi32>) outs(%u : !pto.tile_buf<vec, 1x8xi32>)
  return
}
"""
    for to in (SSA, SYNC):
        made = convert(module(text), to)
        assert "@fill(%d: !pto.tile<vec, 1x8xi32>) {" in made.text
        assert made.notes
        same_bits(ptoasm.run(text, func="k").outputs, ptoasm.run(made.text, func="k").outputs)


CALLS = """\
func.func private @work(%x: !pto.tile_buf<vec, 1x8xi32>) {
  %y = pto.alloc_tile : !pto.tile_buf<vec, 1x8xi32>
  pto.tmov ins(%x : !pto.tile_buf<vec, 1x8xi32>) outs(%y : !pto.tile_buf<vec, 1x8xi32>)
  pto.tadds ins(%y, 1 : !pto.tile_buf<vec, 1x8xi32>, i32) outs(%y : !pto.tile_buf<vec, 1x8xi32>)
  pto.tmov ins(%y : !pto.tile_buf<vec, 1x8xi32>) outs(%x : !pto.tile_buf<vec, 1x8xi32>)
  return
}
func.func @k() {
  %a = pto.alloc_tile : !pto.tile_buf<vec, 1x8xi32>
  %b = pto.alloc_tile : !pto.tile_buf<vec, 1x8xi32>
  pto.tci ins(1 : i32) outs(%a : !pto.tile_buf<vec, 1x8xi32>)
  pto.tci ins(5 : i32) outs(%b : !pto.tile_buf<vec, 1x8xi32>)
  func.call @work(%b) : (!pto.tile_buf<vec, 1x8xi32>) -> ()
  pto.tadd ins(%a, %b : !pto.tile_buf<vec, 1x8xi32>, !pto.tile_buf<vec, 1x8xi32>) outs(%a : !pto.tile_buf<vec, 1x8xi32>)
  return
}
"""


@pytest.mark.parametrize("place", [False, True])
@pytest.mark.parametrize("to", FORMS)
def test_functions_that_call_each_other(to: str, place: bool) -> None:
    before = ptoasm.run(CALLS, func="k").outputs
    same_bits({"a": before["a"]}, ptoasm.run(converted(CALLS, to, place=place), func="k").outputs)


def test_a_length_that_only_the_run_knows() -> None:
    text = """\
func.func @k(%n: index) {
  %d = pto.alloc_tile valid_col = %n : !pto.tile_buf<vec, 1x8xi32, valid=1x?>
  pto.tci ins(3 : i32) outs(%d : !pto.tile_buf<vec, 1x8xi32, valid=1x?>)
  return
}
"""
    for to in (SSA, SYNC):
        made = convert(module(text), to)
        assert len(made.notes) == 1
        same_bits(ptoasm.run(text, {"n": 5}).outputs, ptoasm.run(made.text, {"n": 5}).outputs)


def test_dynamic_extents_become_operands_of_the_allocation() -> None:
    text = """\
func.func @k(%n: index) {
  %s = pto.alloc_tile valid_col = %n : !pto.tile<vec, 4x8xf32, valid=4x?>
  %d = pto.tcolsum %s : !pto.tile<vec, 4x8xf32, valid=4x?> -> !pto.tile<vec, 1x8xf32, valid=1x?>
  return
}
"""
    assert "%d = pto.alloc_tile valid_col = %n : !pto.tile_buf<vec, 1x8xf32, valid=1x?>" in converted(text, DPS)


def test_a_name_that_other_values_have_is_not_taken() -> None:
    text = "%tmp = tci 1 : !pto.tile<vec, 1x8xi32>\n%d.1 = tci 2 : !pto.tile<vec, 1x8xi32>\n" + SUM.replace(
        "tcolsum %s", "tcolsum %s {isBinary = true}"
    )
    assert "%tmp.1" in converted(text, SSA)
    assert body(converted("pto.tci ins(1 : i32) outs(%d.1 : !pto.tile_buf<vec, 1x8xi32>)\n" + TWICE, SYNC))[1] == (
        "%d.2 = tci 1 : !pto.tile<vec, 1x8xi32>"
    )


def test_comments_survive() -> None:
    text = "// of the sum\n" + SUM + "// at the end\n"
    for to in FORMS:
        lines = body(converted(text, to))
        assert lines[0] == "// of the sum" and lines[-1] == "// at the end"


def test_kinds_of_types_are_written_anew() -> None:
    text = "%d = pto.tcolsum %s : !pto.tile_buf<vec, 4x8xf32> -> !pto.tile_buf<vec, 1x8xf32>\n"
    assert "FORM-01" in errors(text, "a5")
    assert errors(converted(text, SSA), "a5") == []


def test_keyed_types() -> None:
    assert "v_col=8" in converted(SUM, DPS, types="keyed")


@pytest.mark.parametrize(
    ("text", "to", "message"),
    [
        ("%d = pto.tci %s : i16 -> !pto.tile<vec, 1x8xi32>\n", SYNC, "S has type i16"),
        ("%d = pto.tcolargmin %s : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xi32>\n", SYNC, "operand"),
        ("%d = pto.tcolsum %s : !pto.tile<vec, 4x8xf32>\n", DPS, "type"),
    ],
)
def test_what_cannot_be_said_is_an_error(text: str, to: str, message: str) -> None:
    with pytest.raises(PtoError) as caught:
        converted(text, to)
    assert message in caught.value.diagnostics[0].message
    assert caught.value.diagnostics[0].span is not None


def test_an_unknown_form_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="sync, ssa, dps, generic, cpp"):
        convert(module(SUM), "level3")


# --- Addresses


@pytest.mark.parametrize("to", FORMS)
def test_place_writes_every_address(to: str) -> None:
    for text in generated(6):
        placed = converted(text, to, "a2a3", place=True)
        assert not errors(placed, "a2a3")
        same_bits(ptoasm.run(text, arch="a2a3").outputs, ptoasm.run(placed, arch="a2a3").outputs)
        if "scf.if" not in text:
            assert converted(placed, to, "a2a3", place=True) == placed


def test_place_says_what_does_not_fit() -> None:
    text = "%d = tcolsum %s : !pto.tile<vec, 64x1024xf32> -> !pto.tile<vec, 1x1024xf32>\n"
    with pytest.raises(PtoError) as caught:
        converted(text, DPS, "a2a3", place=True)
    assert caught.value.diagnostics[0].code == "PLACE-01"


@pytest.mark.parametrize("to", ["sync", "ssa", "dps", "generic", "cpp"])
def test_converting_is_linear(to: str) -> None:
    short, long = (module("".join(SUM.replace("%d", f"%d{k}") for k in range(n))) for n in (100, 400))
    convert(short, to)
    assert calls(lambda: convert(long, to)) < 5 * calls(lambda: convert(short, to))
