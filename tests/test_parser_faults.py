"""Text that is not the language: what is said about it, where, and that the rest is still read."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ptoasm.diagnostics import Diagnostic
from ptoasm.parser import parse
from ptoasm.programs import read_programs
from ptoasm.render import FileResult, render_text, to_json, to_sarif
from ptoasm.statements import _parser
from ptoasm.verifier import verify
from ptoasm.wording import NEVER_NAMED, WORDS

ROOT = Path(__file__).parent.parent
GOOD = "%z = tcolsum %y : !pto.tile<vec, 4x64xf32> -> !pto.tile<vec, 1x64xf32>"
BAD = "%z = tci 0 : !pto.tile<vec, 2x64xi32>  // breaks TCI-04"


def faults(text: str) -> list[Diagnostic]:
    return [d for d in verify(parse(text), "a2a3") if d.severity != "remark"]


def marked(diagnostic: Diagnostic) -> str:
    assert diagnostic.span is not None
    return diagnostic.source.text[diagnostic.span.start : diagnostic.span.end]


# What a statement is written with, where the caret stands, the code, and the message.
CASES = [
    # A type without the colon before it, or without the arrow.
    (
        "%a = tcolsum %b !pto.tile<vec, 4x64xf32> -> !pto.tile<vec, 1x64xf32>",
        "!pto.tile<vec, 4x64xf32>",
        "PARSE-01",
        "expected ':', found '!pto.tile<vec, 4x64xf32>'",
    ),
    (
        "%a = tcolsum %b : !pto.tile<vec, 4x64xf32> !pto.tile<vec, 1x64xf32>",
        "!pto.tile<vec, 1x64xf32>",
        "PARSE-01",
        "expected '->', found '!pto.tile<vec, 1x64xf32>'",
    ),
    ("%a = ", "=", "PARSE-01", "the statement stops here; expected an instruction"),
    ("%a, = tcolsum %b : !pto.tile<vec, 4x64xf32>", "%a", "PARSE-01", "results are written '%a, %b ='"),
    ("tcolsum %b %c", "%c", "PARSE-01", "expected ':', found '%c'"),
    (f"{GOOD} foo", "foo", "PARSE-01", "expected the end of the statement, found 'foo'"),
    ("pto.tassign %a, @tyle(0x10)", "@tyle", "PARSE-01", "expected '@tile(', found '@tyle'; did you mean '@tile'?"),
    ("pto.tassign %a, @tile(0x1g)", "0x1g", "PARSE-02", "'0x1g' is no number"),
    (
        "pto.tcolsum ins(%b : !pto.tile_buf<vec, 4x64xf32>) out(%a : !pto.tile_buf<vec, 1x64xf32>)",
        "out",
        "PARSE-01",
        "did you mean 'outs'?",
    ),
    (
        "pto.tcolsum ins(%b : !pto.tile_buf<vec, 4x64xf32> outs(%a : !pto.tile_buf<vec, 1x64xf32>)",
        "outs(",
        "PARSE-01",
        "expected ')', found 'outs('",
    ),
    ("%a = pto.tcolsum %b : (!pto.tile<vec, 4x64xf32> -> i32", "->", "PARSE-01", "expected ')', found '->'"),
    ("scf.for %i = %a to %b {\n}", "{", "PARSE-01", "expected 'step', found '{'"),
    ("%x = arith.constant : i32", ":", "PARSE-01", "expected an operand such as %a"),
    ("%y = arith.addi %x, %x", "x", "PARSE-01", "the statement stops here; expected ':'"),
    # Names of instructions.
    (
        "%a = tcolsumm %b : !pto.tile<vec, 4x64xf32>",
        "tcolsumm",
        "PARSE-04",
        "is no instruction; did you mean 'tcolsum'?",
    ),
    ("hello world", "hello", "PARSE-04", "'hello' is no instruction"),
    (
        "%a = pto.tcolsun %b : !pto.tile<vec, 4x64xf32>",
        "pto.tcolsun",
        "NAME-04",
        "'pto.tcolsun' is not known; did you mean 'pto.tcolsum'?",
    ),
    # Characters, strings and brackets.
    ("%a = tcolsum %b : !pto.tile<vec, 4x64xf32 -> i32", "<", "PARSE-02", "'<' is never closed"),
    ("%a = tcolsum %b {isBinary = true : i32 -> i32", "{", "PARSE-02", "'{' is never closed"),
    ('%a = "tcolsum', '"', "PARSE-02", "this string is never closed"),
    ("%a = tcolsum %b ; %c", ";", "PARSE-02", "';' has no place here"),
    ("%a = tcolsum %b \x07", "\x07", "PARSE-02", r"'\x07' has no place here"),
    # Attribute dictionaries.
    ("%a = tcolsum %b {isBinary true} : i32 -> i32", "true", "PARSE-02", "a dictionary has 'name = value' or names"),
    ("%a = tcolsum %b {isBinary = true, , x} : i32 -> i32", ",", "PARSE-02", "with commas between them"),
    ("module attributes {a = 1, 3} {\n}", "3", "PARSE-02", "an attribute is 'name = value' or a name alone"),
    ('%a = tcolsum %b {x = "} : i32 -> i32', '"', "PARSE-02", "this string is never closed"),
    # Tile types.
    ("%a = tci 0 : !pto.tile<...>", "...", "PARSE-03", "write the type out, for example !pto.tile<vec, 16x256xf32>"),
    ("%a = tci 0 : !pto.tile<vex, 1x64xi32>", "vex", "PARSE-03", "did you mean 'vec'?"),
    ("%a = tci 0 : !pto.tile<loc=vex, i32, 1, 64>", "vex", "PARSE-03", "'vex' is no loc; did you mean 'vec'?"),
    ("%a = tci 0 : !pto.tile<vec, 1x64xi32, blayout=rowmajr>", "rowmajr", "PARSE-03", "did you mean 'rowmajor'?"),
    ("%a = tci 0 : !pto.tile<vec, 1x64xi32, pad=no>", "no", "PARSE-03", "it can be null, zero, max, min"),
    ("%a = tci 0 : !pto.tile<vec, ?x?xi32>", "?x?xi32", "PARSE-03", "valid region can be known at run time only"),
    ("%a = tci 0 : !pto.tile<vec, 1xi32>", "1xi32", "PARSE-03", "'1xi32' is no parameter of a tile type"),
    ("%a = tci 0 : !pto.tile<>", ">", "PARSE-03", "a parameter is missing before '>'"),
    ("%a = tci 0 : !pto.tile<vec, i32>", "pto.tile<vec, i32>", "PARSE-03", "this one has no rows and no columns"),
    ("%a = tci 0 : !pto.tile<vec, 1x64xi32, rows=1>", "1", "PARSE-03", "rows is given twice"),
    ("%a = tci 0 : !pto.tile<i32, rows=a, cols=4>", "a", "PARSE-03", "rows=a must be a number"),
    ("%a = tci 0 : !pto.tile<vec, 1x64xi32, valid=4>", "4", "PARSE-03", "valid=4 must be rows and columns"),
    ("%a = tci 0 : !pto.tile<vec, 1x64xi32, v_row=x>", "x", "PARSE-03", "v_row=x must be a number or ?"),
    ("%a = tci 0 : !pto.tile<\n  vec,\n  1x64xi32,\n  pad=no>", "no", "PARSE-03", "'no' is no pad"),
    ("%a = tci 0 : !pto.tile<vec, 1x32xtrue>", "true", "PARSE-03", "'true' is a value; it is no element type"),
    # Generic form without its operands.
    ('"pto.other"', '"pto.other"', "PARSE-02", 'behind "pto.other" stand the operands of the operation, in brackets'),
    # Regions.
    ("}", "}", "PARSE-06", "this '}' closes nothing"),
]


@pytest.mark.parametrize(("text", "caret", "code", "message"), CASES, ids=[case[0][:50] for case in CASES])
def test_a_fault_and_its_place(text: str, caret: str, code: str, message: str) -> None:
    (first, *_) = faults(text)
    assert (first.code, marked(first)) == (code, caret)
    assert message in first.message


@pytest.mark.parametrize("text", [case[0] for case in CASES if "module" not in case[0]], ids=lambda text: text[:50])
def test_the_next_statement_is_still_checked(text: str) -> None:
    assert "TCI-04" in {d.code for d in faults(f"{GOOD}\n{text}\n%q = tci 0 : !pto.tile<vec, 2x64xi32>\n")}


def test_statements_in_a_function_whose_header_is_wrong_are_checked() -> None:
    text = f"func.func @f(%y: !pto.tile<vec, 4x64xf32> {{\n  {BAD}\n  return\n}}\n{GOOD}\n"
    assert [d.code for d in faults(text)] == ["PARSE-01", "TCI-04"]


def test_a_region_that_is_never_closed_is_shown_at_its_header() -> None:
    (fault,) = faults("func.func @f() {\n  return\n")
    assert (fault.code, marked(fault)) == ("PARSE-06", "func.func @f() {")


def test_several_faults_come_in_source_order() -> None:
    text = f"{BAD}\n%b = tcolsumm %c\n%d = tci 0 : !pto.tile<vec, 1xi32>\n%e = tci 0 : !pto.tile<vec, 2x8xi32>\n"
    assert [d.code for d in faults(text)] == ["TCI-04", "PARSE-04", "PARSE-03", "TCI-04"]


# --- Names


def test_a_name_that_a_function_does_not_define() -> None:
    text = "func.func @f(%source: i32) {\n  %t = tci %sorce : !pto.tile<vec, 1x8xi32>\n  return\n}\n"
    (fault,) = faults(text)
    assert (fault.code, marked(fault)) == ("NAME-01", "%sorce")
    assert fault.message == "'%sorce' is not defined; did you mean '%source'?"


def test_a_name_that_is_defined_later_gets_one_diagnostic() -> None:
    text = (
        "func.func @f(%a: !pto.tile<vec, 4x64xf32>) {\n"
        "  %c = tcolsum %b : !pto.tile<vec, 1x64xf32> -> !pto.tile<vec, 1x64xf32>\n"
        "  %b = tcolsum %a : !pto.tile<vec, 4x64xf32> -> !pto.tile<vec, 1x64xf32>\n"
        "  return\n}\n"
    )
    (fault,) = faults(text)
    assert (fault.code, marked(fault), fault.message) == ("NAME-03", "%b", "'%b' is used before it is defined")
    assert [note.message for note in fault.notes] == ["it is defined here"]


def test_a_flat_program_that_defines_a_name_after_its_use() -> None:
    text = f"{GOOD}\n%y = tci 0 : !pto.tile<vec, 1x8xi32>\n"
    (fault,) = faults(text)
    assert (fault.code, marked(fault)) == ("NAME-03", "%y")
    note = fault.notes[0]
    assert note.span is not None
    assert note.source is not None
    assert note.source.position(note.span.start) == (1, 14)


def test_a_name_that_is_defined_twice_points_at_the_first() -> None:
    (fault,) = faults(f"{GOOD}\n{GOOD}\n")
    assert (fault.code, fault.message, marked(fault)) == ("NAME-02", "'%z' is defined twice", "%z")
    assert [note.message for note in fault.notes] == ["'%z' is defined here"]


def test_a_second_definition_brings_no_other_fault() -> None:
    again = "%z = tci 0 : !pto.tile<vec, 1x8xi32>\n%a = tcolsum %z : !pto.tile<vec, 1x8xi32> -> !pto.tile<vec, 1x8xi32>"
    text = f"{GOOD}\n{again}\n"
    assert [d.code for d in faults(text)] == ["NAME-02"]


def test_a_name_of_a_region_that_has_ended() -> None:
    text = (
        "func.func @f(%p: i1) {\n"
        "  scf.if %p {\n    %c = arith.constant 1 : i32\n  }\n"
        "  %t = tci %c : !pto.tile<vec, 1x8xi32>\n  return\n}\n"
    )
    (fault,) = faults(text)
    assert fault.message == "'%c' is not defined here, outside of the region that defines it"
    assert [note.message for note in fault.notes] == ["'%c' is defined here"]


def test_a_name_that_only_a_tassign_mentions() -> None:
    (fault,) = faults(f"pto.tassign %x, @tile(0x1000)\n{GOOD}\n")
    assert (fault.code, marked(fault)) == ("NAME-01", "%x")


def test_an_address_that_nothing_defines() -> None:
    for text in ("%t = pto.alloc_tile addr = %at : !pto.tile_buf<vec, 4x8xf32>", f"{GOOD}\npto.tassign %z, %at"):
        (fault,) = faults(text)
        assert (fault.code, marked(fault)) == ("NAME-01", "%at")


def test_a_name_may_be_bound_before_the_statement_that_defines_it() -> None:
    assert not faults(f"pto.tassign %z, @tile(0x1000)\n{GOOD}\n")


def test_uses_that_disagree_point_at_the_parameter_that_differs() -> None:
    text = f"{GOOD}\n%w = tcolsum %y : !pto.tile<vec, 8x64xf32> -> !pto.tile<vec, 1x64xf32>\n"
    (fault,) = faults(text)
    assert (fault.code, marked(fault)) == ("TYPE-01", "8")
    assert "has type !pto.tile<vec, 4x64xf32>; here it is used as !pto.tile<vec, 8x64xf32>" in fault.message
    assert [note.message for note in fault.notes] == ["'%y' is first used here"]


def test_many_undefined_names_take_linear_time() -> None:
    lines = [f"  %v{k} = tci %undefined{k} : !pto.tile<vec, 1x8xi32>" for k in range(3000)]
    text = "func.func @f() {\n" + "\n".join(lines) + "\n  return\n}\n"
    assert len(faults(text)) == 3000


# --- Words


STARTS = (
    "SYNC_NAME PTO_NAME QUOTED CONSTANT COMPUTE COMPARE CAST LEAVE CONDITION CALL ALLOC VIEW ACCESS WINDOW OPERATE "
    "QUERY LOOP BRANCH WHILE SECTION MODULE FUNC"
)
"""What begins a statement: "expected a statement" or "expected an instruction"."""
ELSEWHERE = {"KEY", "ATTRIBUTE_VALUE", "LESSTHAN", "MORETHAN"}
"""Terminals of dictionaries and types, which have messages of their own."""


def test_every_terminal_has_words() -> None:
    terminals = {t.name for t in _parser().terminals if not t.name.startswith("tile_type__")}
    assert terminals - WORDS.keys() - NEVER_NAMED - ELSEWHERE <= set(STARTS.split())


# --- Junk

PROGRAMS = [
    program.text
    for folder in ("ptoasm/rules", "tests/data/programs", "tests/data/cases")
    for path in sorted((ROOT / folder).glob("*.pto"))
    for program in read_programs(str(path))
]
JUNK_TEXT = (
    "% %a %a#1 %a:2 { } ( ) < > [ ] -> : , = \" ' @tile( 0x -1 1e400 nan \0 \u2028 é // # ? ... ^bb0 \r \t \n "
    "module func.func scf.for return arith.constant pto. tcolsum tci !pto.tile< ins( outs( loc= valid=?x? "
    "dtype= true f33 i0 i24 i512 ui xf32 index bf16 f64 i1 pto.alloc_tile rows=0 8x x mat col_major isBinary "
    "99999999999999999999 %a:99999999999 addr="
)
PIECES = JUNK_TEXT.split(" ")


def check_junk(text: str) -> None:
    """Whatever the text is, it gets diagnostics that can be shown, and nothing else happens."""
    module = parse(text)
    for arch in (None, "a2a3", "a5"):
        found = verify(module, arch)
        render_text(found)
        for d in found:
            to_json(d)
            assert d.span is None or 0 <= d.span.start <= d.span.end <= len(text) + 1
            assert not TERMINAL.search(QUOTED.sub("", d.message)), d.message
        to_sarif([FileResult("x.pto", arch or "a2a3", None, found)], [], "0")


TERMINAL = re.compile(
    r"\b(?:__ANON_\d|[A-Z]{2,}_NAME|RESULTS|VALUES|TYPES|LPAR|RPAR|RSQB|LSQB|COMMA|COLON|DICT|LBRACE)\b"
)
QUOTED = re.compile(r"'[^']*'")
JUNK = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


@JUNK
@given(st.text(max_size=200))
@example("")
@example("\ufeff")
@example("{" * 2000)
@example("%a = tcolsum %b : " + "<" * 2000)
@example("%a:99999999999 = tcolsum %b")
@example("^bb0(%a: i32):\n%a = tci 0 : !pto.tile<vec, 1x8xi32>\n%b = tci %a : !pto.tile<vec, 1x8xf32>")
def test_any_text_gets_diagnostics(text: str) -> None:
    check_junk(text)


@JUNK
@given(st.binary(max_size=200))
def test_any_bytes_get_diagnostics(data: bytes) -> None:
    check_junk(data.decode("utf-8", "replace"))


@JUNK
@given(st.lists(st.sampled_from(PIECES), max_size=40), st.sampled_from(["", " "]))
def test_any_tokens_get_diagnostics(pieces: list[str], space: str) -> None:
    check_junk(space.join(pieces))


@JUNK
@given(st.sampled_from(PROGRAMS), st.data())
def test_a_mutilated_program_gets_diagnostics(program: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(program)))
        end = min(len(program), start + data.draw(st.integers(0, 30)))
        program = program[:start] + data.draw(st.sampled_from(["", *PIECES])) + program[end:]
    check_junk(program)


@JUNK
@given(st.sampled_from(PROGRAMS), st.data())
def test_a_truncated_program_gets_diagnostics(program: str, data: st.DataObject) -> None:
    check_junk(program[: data.draw(st.integers(0, len(program)))])


@JUNK
@given(st.sampled_from(PROGRAMS), st.randoms(use_true_random=False))
def test_a_program_with_its_lines_in_another_order_gets_diagnostics(program: str, rng: Random) -> None:
    lines = program.split("\n")
    rng.shuffle(lines)
    check_junk("\n".join(lines))


def test_numbers_of_any_length_and_regions_of_any_depth_are_faults_of_the_program() -> None:
    long = f"%d = tci 0 : !pto.tile<vec, 1x{'9' * 10_000}xi32>"
    assert [d.code for d in parse(long).diagnostics] == ["PARSE-02"]
    digits = f"%d = tci 0.{'1' * 5000} : !pto.tile<vec, 1x8xi32>"
    assert [d.code for d in verify(parse(digits))] == ["TYPE-02"]
    constant = f"%c = arith.constant 0.{'1' * 5000} : f32"
    assert verify(parse(constant)) == []
    for depth, codes in ((99, []), (100, ["PARSE-08"]), (1500, ["PARSE-08"])):
        text = "func.func @k(%c: i1) {\n" + "scf.if %c {\n" * depth + "}\n" * depth + "return\n}\n"
        assert [d.code for d in verify(parse(text))] == codes
        assert [d.code for d in verify(parse(f"module {{\n{text}}}\n"))] == codes
