"""Where diagnostics point, what they say, and what would mend the fault."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import generate
from ptoasm.diagnostics import Diagnostic
from ptoasm.ir import Operation
from ptoasm.parser import parse
from ptoasm.places import Places
from ptoasm.programs import read_programs
from ptoasm.targets import A2A3, TARGETS
from ptoasm.verifier import Verifier, choose_target, verify
from tests.work import calls

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted((ROOT / "ptoasm" / "rules").glob("*.pto"))


def only(text: str, arch: str | None = "a2a3") -> Diagnostic:
    (found,) = [d for d in verify(parse(text), arch) if d.severity != "remark"]
    return found


def marked(diagnostic: Diagnostic) -> str:
    assert diagnostic.span is not None
    return diagnostic.source.text[diagnostic.span.start : diagnostic.span.end]


def notes(diagnostic: Diagnostic) -> dict[str, str]:
    """Each note with the text that it points at."""
    text = diagnostic.source.text
    return {n.message: "" if n.span is None else text[n.span.start : n.span.end] for n in diagnostic.notes}


# --- Places


def test_the_example_of_the_documentation() -> None:
    text = (
        "%i = pto.tcolargmin %s, %t : (!pto.tile<vec, 8x64xf32>, !pto.tile<vec, 8x64xf32>) -> !pto.tile<vec, 2x64xi32>"
    )
    found = only(text)
    assert (found.code, found.op, marked(found)) == ("CAM-08", "tcolargmin", "%i")
    assert found.message == "dstIdx has 2 valid rows; it must have 1"
    assert notes(found) == {
        "TCOLARGMIN, General Constraints or Checks, Runtime checks: dstIdx valid rows == 1": "",
        "dstIdx has its valid rows from here": "2",
        "help: dstIdx can be !pto.tile<vec, 2x64xi32, valid=1x64>": "",
    }


def test_a_type_that_spans_lines() -> None:
    text = (
        "%d = pto.tcolsum %s : !pto.tile<\n  loc = vec, dtype = f32,\n  rows = 4, cols = 64\n>"
        " -> !pto.tile<\n  loc = mat,\n  dtype = f32, rows = 1, cols = 64>"
    )
    found = only(text)
    assert (found.code, marked(found)) == ("TCS-01", "%d")
    note = next(n for n in found.notes if "from here" in n.message)
    assert note.span is not None
    assert found.source.position(note.span.start) == (5, 9)
    assert notes(found)[note.message] == "mat"


def test_a_tile_rule_points_into_the_type() -> None:
    for type_, code, place in (
        ("!pto.tile<vec, 0x8xf32>", "TILE-01", "0"),
        ("!pto.tile<vec, 4x0xf32>", "TILE-01", "0"),
        ("!pto.tile<f32, rows=4, cols=8, v_row=5>", "TILE-02", "5"),
        ("!pto.tile<vec, 4x8xf32, valid=4x9>", "TILE-02", "9"),
        ("!pto.tile<vec, 4x7xf32>", "TILE-03", "7"),
        ("!pto.tile<vec, 7x4xf32, blayout=col_major>", "TILE-03", "7"),
    ):
        found = [d for d in verify(parse(f"%b = tneg %a : {type_} -> {type_}")) if d.code.startswith("TILE")]
        assert {(d.code, marked(d)) for d in found} == {(code, place)}, type_


def test_a_wrong_type_is_reported_once_for_a_value() -> None:
    wrong = "!pto.tile<vec, 4x7xf32>"
    text = f"func.func @f(%a: {wrong}) {{\n" + "".join(f"  %b{k} = tneg %a : {wrong} -> {wrong}\n" for k in (1, 2))
    found = [d for d in verify(parse(text + "  return\n}\n")) if d.code == "TILE-03"]
    assert [d.message.split()[0] for d in found] == ["'%a'", "'%b1'", "'%b2'"]
    assert found[0].source.position(found[0].span.start if found[0].span else 0)[0] == 1


def test_an_attribute_is_pointed_at() -> None:
    sum_ = "%d = tcolsum %s {} : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>"
    found = only(sum_.replace("{}", "{isBinary = 3, pto.x = 1}"))
    assert (found.code, marked(found)) == ("FORM-05", "isBinary = 3")
    assert found.message == "has isBinary = 3; it must be true or false"
    found = only(sum_.replace("{}", "{isbinary = true}"))
    assert (found.code, marked(found)) == ("FORM-06", "isbinary = true")
    assert found.message == "does not know the attribute isbinary; did you mean 'isBinary'?"


def test_an_attribute_that_is_given_twice_points_at_both() -> None:
    text = (
        "pto.tcolsum ins(%s {isBinary = false} : !pto.tile_buf<vec, 4x8xf32>)"
        " outs(%d : !pto.tile_buf<vec, 1x8xf32>) {isBinary = true}"
    )
    found = next(d for d in verify(parse(text)) if d.code == "FORM-05")
    assert marked(found) == "isBinary = true"
    assert notes(found)["it is given here first"] == "isBinary = false"


def test_each_of_two_attributes_is_reported() -> None:
    text = "%d = tcolsum %s {a, b = 1} : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>"
    assert [marked(d) for d in verify(parse(text))] == ["a", "b = 1"]


def test_each_of_two_overlaps_is_reported() -> None:
    text = (
        "pto.tassign %s, @tile(0x0)\npto.tassign %v, @tile(0x0)\npto.tassign %i, @tile(0x20)\n"
        "%v, %i = tcolargmin %s : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>, !pto.tile<vec, 1x8xi32>"
    )
    found = verify(parse(text))
    assert [(d.code, marked(d)) for d in found] == [("HAZ-01", "%v"), ("HAZ-01", "%i")]
    assert found[0].message == "writes dstVal at [0x0, 0x20), which overlaps src at [0x0, 0x80)"


@pytest.mark.parametrize(
    ("statement", "place", "message"),
    [
        ("%d = tcolsum %s, %t : T -> T", "%t", "has 2 operands; the synchronous form has 1"),
        ("%d = pto.tcolsum %s, %t, %u : (T, T, T) -> T", "%u", "has 3 operands; level 1 has 1 or 2"),
        ("%d = pto.tcolargmin %s, %t, %u : (T, T, T) -> T", "%u", "has 3 operands; level 1 has 2"),
        ("%d, %e = pto.tcolsum %s : T -> (T, T)", "%e", "has 2 results; level 1 has 1"),
        ("%d = pto.tcolsum %s, %t : T -> T", "T", "has 1 type for 2 operands"),
        ("%d = tcolsum %s : T -> T, T", "T, T", "has 2 types for 1 result"),
        ("%d = tcolsum %s", "tcolsum", "has no type for 1 operand"),
        ("tcolsum %s : T -> T", "tcolsum", "has 0 results; the synchronous form has 1"),
        ("%r = pto.tcolsum ins(%s : B) outs(%d : B)", "%r =", "has results; at level 2 it has none"),
        ("pto.tcolsum ins(%s : B)", "pto.tcolsum", "has 0 destinations; level 2 has 1"),
        ("pto.tcolargmin ins(%s : B) outs(%d : B)", "pto.tcolargmin", "has 1 operand; level 1 and level 2 have 2, src"),
        ("pto.tcolsum ins(%s : T) outs(%d : T)", "%s", "src and dst have types !pto.tile<…>; at level 2 they must be"),
        ("%d = tcolsum %s : B -> T", "%s", "src has a type !pto.tile_buf<…>; in the synchronous form it must be"),
    ],
)
def test_forms_read_well(statement: str, place: str, message: str) -> None:
    tile = "!pto.tile<vec, 1x8xf32>"
    full = statement.replace("B", "!pto.tile_buf<vec, 1x8xf32>").replace("T", tile)
    found = next(d for d in verify(parse(full)) if d.code.startswith("FORM"))
    assert marked(found).strip() == place.replace("T", tile)
    assert found.message.startswith(message)


def test_a_missing_scratch_points_at_the_attribute() -> None:
    text = "%d = pto.tcolsum %s {isBinary = true} : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>"
    found = only(text)
    assert (found.code, marked(found)) == ("TCS-14", "isBinary = true")
    assert "help: tmp needs 2 rows of 8 columns: !pto.tile<vec, 2x8xf32>" in notes(found)


# --- Notes


def test_a_note_points_at_the_definition() -> None:
    text = (
        "func.func @k(%m: !pto.tile_buf<vec, 4x8xf32>) {\n"
        "  %t = pto.alloc_tile : !pto.tile_buf<vec, 2x8xi32>\n"
        "  pto.tcolargmin ins(%m, %m : !pto.tile_buf<vec, 4x8xf32>, !pto.tile_buf<vec, 4x8xf32>)"
        " outs(%t : !pto.tile_buf<vec, 2x8xi32>)\n  return\n}\n"
    )
    found = next(d for d in verify(parse(text), "a5") if d.code == "CAM-08")
    assert notes(found)["'%t' is defined here"] == "%t"
    assert found.function == "k"
    text = text.replace("%m: !pto.tile_buf<vec, 4x8xf32>", "%m: !pto.tile_buf<mat, 4x8xf32>", 1)
    text = text.replace(
        "!pto.tile_buf<vec, 4x8xf32>, !pto.tile_buf<vec, 4x8xf32>", ", ".join(["!pto.tile_buf<mat, 4x8xf32>"] * 2)
    )
    found = next(d for d in verify(parse(text), "a5") if d.code == "CAM-02")
    assert notes(found)["'%m' is an argument of '@k'"] == "%m"


def test_the_other_target_may_accept_it() -> None:
    text = "%i = tcolargmin %s : !pto.tile<vec, 4x32xi8> -> !pto.tile<vec, 1x32xi32>"
    assert "help: a5 accepts i8 here" in notes(only(text, "a2a3"))
    assert not [n for n in notes(only(text.replace("i8", "bf16"), "a2a3")) if "accepts" in n]
    assert "help: a2a3 accepts f16 here" in notes(only("%d = tci %s : !pto.tile<vec, 1x16xf16>", "a5"))


def test_both_sides_of_a_comparison_are_shown() -> None:
    text = "%d = tcolsum %s : !pto.tile<vec, 4x8xf32, valid=4x7> -> !pto.tile<vec, 1x8xf32>"
    found = only(text)
    assert found.message == "dst has 8 valid columns; it must have 7, as src has"
    shown = notes(found)
    assert shown["dst has its valid columns from here"] == "8"
    assert shown["src has its valid columns from here"] == "7"
    assert "help: dst can be !pto.tile<vec, 1x8xf32, valid=1x7>" in shown


HELP = re.compile(r"help: (\S+) (?:can be|needs .*:) (.+)")


def _help(path: Path) -> list[tuple[str, str, Diagnostic, Operation, re.Match[str]]]:
    found = []
    for program in read_programs(str(path)):
        module = program.parse()
        ops = [op for function in module.functions for op in function.walk()]
        for arch in TARGETS:
            for d in verify(module, arch):
                op = next((op for op in ops if d.span and op.start <= d.span.start < op.end), None)
                for match in (HELP.fullmatch(note.message) for note in d.notes):
                    if match is not None and op is not None:
                        found.append((program.text, arch, d, op, match))
    return found


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_help_proposes_helps(path: Path) -> None:
    for text, arch, d, op, match in _help(path):
        places = Places(op.block.function.module)
        at = places.index(op, match[1])
        span = None if at is None else places.type_of(op, at)
        if span is None:
            continue
        mended = text[: span.start] + match[2] + text[span.end :]
        line = text.count("\n", 0, op.start)
        again = [e for e in verify(parse(mended), arch) if e.span and mended.count("\n", 0, e.span.start) >= line]
        ops = [o for f in parse(mended).functions for o in f.walk() if o.start == op.start]
        here = [e.code for e in again if e.span and ops and ops[0].start <= e.span.start < ops[0].end]
        assert d.code not in here, match[0]
        assert not [code for code in here if code.startswith("TILE")], match[0]


# --- Parameters that are not known


def test_an_unknown_parameter_gets_one_remark() -> None:
    type_ = "!pto.tile<vec, 4x8xf32, compact=normal, blayot=row_major>"
    text = f"%b = tneg %a : {type_} -> {type_}\n%c = tneg %b : {type_} -> {type_}\n"
    found = verify(parse(text))
    assert [(d.severity, d.code, marked(d)) for d in found] == [
        ("remark", "TYPE-04", "compact=normal"),
        ("remark", "TYPE-04", "blayot=row_major"),
    ]
    assert found[0].message == "the parameter 'compact' of a tile type is not known and is kept as it is written"
    assert found[1].message.endswith("did you mean 'blayout'?")


def test_operands_of_the_wrong_kind() -> None:
    found = only("%a = tcolsum %b : !pto.tyle<vec, 4x64xf32> -> !pto.tile<vec, 1x64xf32>")
    assert (found.code, marked(found)) == ("TYPE-03", "%b")
    assert found.message.endswith("it must be a tile; did you mean '!pto.tile'?")


def test_literals_are_values_of_their_types() -> None:
    found = only("%a = tci 40000 : !pto.tile<vec, 1x16xi16>")
    assert (found.code, marked(found)) == ("TYPE-02", "40000")
    assert found.message == "40000 does not fit i16; it must be from -32768 to 32767"


# --- Targets


def test_which_target_a_module_is_for() -> None:
    named = parse('module attributes {pto.target_arch = "a3"} {\n}\n')
    assert choose_target(named, None).name == "a2a3"
    assert choose_target(named, "a5").name == "a5"
    assert choose_target(parse(""), None).name == "a2a3"
    (remark,) = verify(named, "a5")
    assert (remark.severity, remark.code) == ("remark", "ARCH-02")
    assert not verify(named, "a2a3")


def test_the_capacity_can_be_set() -> None:
    text = "pto.tassign %a, @tile(0x1000)\n%b = tcolsum %a : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>"
    (found,) = verify(parse(text), "a2a3", ub_size=0x1040)
    assert (found.code, marked(found)) == ("ADDR-02", "0x1000")
    assert found.message.startswith("tile ends at 0x1080 (0x1000 + 128 bytes)")


def test_what_a_run_must_answer_is_left_open() -> None:
    text = "%i = tcolargmin %s : !pto.tile<vec, 4x8xf32, valid=?x?> -> !pto.tile<vec, 1x8xi32, valid=1x?>"
    verifier = Verifier(parse(text), A2A3)
    verifier.run(None)
    assert [rule.id for rule, _ in verifier.open] == ["CAM-06", "CAM-07", "CAM-09", "CAM-33"]


# --- Work


def _calls(text: str) -> int:
    return calls(lambda: verify(parse(text)))


@pytest.mark.parametrize("form", ["dps", "ssa", "sync"])
@pytest.mark.parametrize("layout", ["flat", "func"])
def test_time_grows_with_the_program_only(form: str, layout: generate.Layout) -> None:
    make = getattr(generate, form)
    short, long = (make(n, style="keyed", variety="distinct", layout=layout) for n in (500, 4000))
    assert _calls(long) < 8 * 1.5 * _calls(short)


def test_faults_take_linear_time() -> None:
    line = "%a{} = tcolsum %b{} : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 2x7xf32>\n"
    short, long = ("".join(line.format(k, k) for k in range(n)) for n in (200, 1600))
    assert _calls(long) < 8 * 1.5 * _calls(short)


def test_tiles_of_loops_take_linear_time() -> None:
    body = (
        "  scf.for %i{0} = %c0 to %n step %c1 {{\n    %x{0} = pto.alloc_tile : !pto.tile_buf<vec, 1x64xf32>\n"
        "    pto.tcolsum ins(%a : !pto.tile_buf<vec, 4x64xf32>) outs(%x{0} : !pto.tile_buf<vec, 1x64xf32>)\n  }}\n"
    )

    def program(n: int) -> str:
        head = "func.func @f(%n: index, %a: !pto.tile_buf<vec, 4x64xf32>) {\n  %c0 = arith.constant 0 : index\n"
        return head + "  %c1 = arith.constant 1 : index\n" + "".join(map(body.format, range(n))) + "  return\n}\n"

    assert not verify(parse(program(10)))
    assert _calls(program(2400)) < 8 * 1.5 * _calls(program(300))
