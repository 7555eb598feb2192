"""Diagnostics as text and as JSON."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptoasm.diagnostics import Diagnostic, Note, PtoError, Severity
from ptoasm.render import (
    FileResult,
    headline,
    printable,
    render_text,
    to_json,
    verify_report,
    want_color,
)
from ptoasm.source import Source, Span

PROGRAM = """\
%s = pto.alloc_tile : !pto.tile<vec, 8x64xf32>
%i = pto.tcolargmin %s, %t : (!pto.tile<vec, 8x64xf32>) -> !pto.tile<vec, 2x64xi32>
"""
SOURCE = Source(PROGRAM, "samples/bad.pto", first_line=3)
RULE = "TCOLARGMIN, General Constraints or Checks, Runtime checks: dstIdx.GetValidRow() == 1"


def span_of(text: str, part: str) -> Span:
    """Where a part of a text stands."""
    start = text.index(part)
    return Span(start, start + len(part))


def error(text: str, span: Span | None, *notes: Note) -> Diagnostic:
    """An error in a file of its own."""
    return Diagnostic("error", "PARSE-01", "no", Source(text, "a.pto"), span, notes)


def excerpt(text: str, part: str | Span) -> list[str]:
    """The source line and the marks that are shown for a part of a text."""
    span = span_of(text, part) if isinstance(part, str) else part
    return render_text([error(text, span)]).split("\n")[1:]


COLARGMIN = Diagnostic(
    "error",
    "CAM-08",
    "dstIdx has 2 valid rows; it must have 1",
    SOURCE,
    span_of(PROGRAM, "%i"),
    (Note(RULE),),
    op="tcolargmin",
)


# Text


def test_the_format_of_the_contract() -> None:
    assert render_text([COLARGMIN]) == (
        "samples/bad.pto:4:1: error: 'tcolargmin' op dstIdx has 2 valid rows; it must have 1 [CAM-08]\n"
        "%i = pto.tcolargmin %s, %t : (!pto.tile<vec, 8x64xf32>) -> !pto.tile<vec, 2x64xi32>\n"
        "^~\n"
        f"note: {RULE}"
    )


def test_no_diagnostics_is_no_text() -> None:
    assert render_text([]) == ""


def test_headline() -> None:
    assert headline(COLARGMIN) == "'tcolargmin' op dstIdx has 2 valid rows; it must have 1 [CAM-08]"
    assert headline(error("", None)) == "no [PARSE-01]"


def test_without_a_span() -> None:
    assert render_text([error("x", None)]) == "a.pto: error: no [PARSE-01]"


@pytest.mark.parametrize("severity", ["error", "warning", "remark"])
def test_severities(severity: Severity) -> None:
    d = error("x", None)._replace(severity=severity)
    assert render_text([d]) == f"a.pto: {severity}: no [PARSE-01]"


def test_a_note_with_a_place_shows_it() -> None:
    text = "%a = 1\n%a = 2"
    first, second = Span(0, 2), Span(7, 9)
    assert render_text([error(text, second, Note("first defined here", None, first))]) == (
        "a.pto:2:1: error: no [PARSE-01]\n%a = 2\n^~\na.pto:1:1: note: first defined here\n%a = 1\n^~"
    )


def test_a_note_in_another_file() -> None:
    other = Source("%x", "b.pto")
    notes = (Note("there", other, Span(1, 2)), Note("in it", other))
    assert render_text([error("%a", None, *notes)]) == (
        "a.pto: error: no [PARSE-01]\nb.pto:1:2: note: there\n%x\n ^\nb.pto: note: in it"
    )


def test_a_function_is_named_when_it_changes() -> None:
    d = error("x", None)
    k, m = d._replace(function="k"), d._replace(function="m")
    line = "a.pto: error: no [PARSE-01]"
    expected = [
        "a.pto: in function 'k':",
        line,
        line,
        "a.pto: in function 'm':",
        line,
        line,
        "a.pto: in function 'm':",
        line,
    ]
    assert render_text([k, k, m, d, m]).split("\n") == expected


def test_the_same_function_name_in_another_file_is_another_function() -> None:
    a = error("x", None)._replace(function="k")
    b = a._replace(source=Source("x", "b.pto"))
    assert render_text([a, b]).split("\n")[2] == "b.pto: in function 'k':"


def test_an_exception_shows_its_diagnostics() -> None:
    assert str(PtoError([COLARGMIN])) == render_text([COLARGMIN])


@pytest.mark.parametrize(
    ("text", "part", "marks"),
    [
        ("abc def", "def", "    ^~~"),
        ("abc def", Span(4, 4), "    ^"),  # empty: between two characters
        ("abc def", Span(7, 7), "       ^"),  # the end of the text
        ("abc def", Span(2, 99), "  ^~~~~"),
        ("\tx\ty = z", "y", "\t \t^"),
        ("\tx\ty = z", "x\ty", "\t^\t~"),
        ("\tx", Span(0, 2), "^"),  # a tab is as wide as the terminal likes
        ("x y\t", Span(2, 4), "  ^"),  # no blanks at the end
        ("// 行列 %a", "%a", "        ^~"),
        ("// 行列 %a", "行列", "   ^~~~"),
        ("e\u0301 %a", "%a", "  ^~"),  # a combining accent takes no column
        ("カﾅ %a", "%a", "    ^~"),  # full and half width
    ],
)
def test_marks(text: str, part: str | Span, marks: str) -> None:
    assert excerpt(text, part) == [text, marks]


def test_an_unusual_span_does_not_break_the_line() -> None:
    assert excerpt("ab\ncd", Span(-5, -1)) == ["ab", "^"]
    assert excerpt("ab\ncd", Span(4, 1)) == ["cd", " ^"]
    assert excerpt("ab\ncd", Span(50, 60)) == ["cd", "  ^"]


def test_a_span_over_several_lines_is_marked_to_the_end_of_the_first() -> None:
    assert excerpt("ab(c,\nd)\n", "(c,\nd)") == ["ab(c,", "  ^~~"]
    assert excerpt("ab(c,\r\nd)\r\n", "(c,\r\nd)") == ["ab(c,", "  ^~~"]


def test_the_end_of_a_line_can_be_at_fault() -> None:
    assert excerpt("ab\ncd", Span(2, 3)) == ["ab", "  ^"]
    assert excerpt("ab\r\ncd", Span(2, 4)) == ["ab", "  ^"]
    assert excerpt("ab\n", Span(3, 3)) == ["", "^"]
    assert excerpt("", Span(0, 0)) == ["", "^"]


# Nothing raw


def test_control_characters_are_shown_as_escapes() -> None:
    assert excerpt("a\x1b[31m\x00 %b", "%b") == ["a\\x1b[31m\\x00 %b", "              ^~"]
    assert excerpt("a\x1bb", "\x1b") == ["a\\x1bb", " ^~~~"]
    assert excerpt("a\x9b\x7f\x85b", "b") == ["a\\x9b\\x7f\\x85b", "             ^"]


def test_characters_that_reorder_or_hide_text_are_shown_as_escapes() -> None:
    assert excerpt("\u202e\u2066%a", "%a") == ["\\u202e\\u2066%a", "            ^~"]
    assert excerpt("\u2028%a\u200b", "%a") == ["\\u2028%a\\u200b", "      ^~"]
    assert excerpt("%a\xa0= 1", "\xa0") == ["%a\\xa0= 1", "  ^~~~"]


def test_bytes_that_were_not_utf8_are_shown_as_escapes() -> None:
    text = b"%a\xff".decode("utf-8", "surrogateescape")
    assert excerpt(text, "%a") == ["%a\\udcff", "^~"]


def test_messages_and_names_are_escaped_too() -> None:
    d = Diagnostic("error", "X\x1b", "a\nb\tc", Source("x", "a\x1b.pto"), Span(0, 1), (Note("\r"),), "o\x07", "k\n")
    assert render_text([d]) == (
        "a\\x1b.pto: in function 'k\\n':\na\\x1b.pto:1:1: error: 'o\\x07' op a\\nb\\tc [X\\x1b]\nx\n^\nnote: \\r"
    )


def test_printable() -> None:
    assert printable("plain ü 行") == "plain ü 行"
    assert printable("\U000e0001") == "\\U000e0001"


anything = st.text(st.characters(codec=None), max_size=60) | st.text(
    st.sampled_from("ab \t\n\r\x1b\x00\u202e行\u0301\udc80\x85"), max_size=500
)
offsets = st.integers(-10, 600)
spans = st.none() | st.builds(Span, offsets, offsets)


@given(anything, spans, anything, anything, spans, st.booleans())
def test_no_text_can_break_the_output(
    text: str, span: Span | None, message: str, name: str, note_span: Span | None, color: bool
) -> None:
    source = Source(text, name)
    d = Diagnostic("error", "X-01", message, source, span, (Note(message, None, note_span),), "op", name)
    shown = render_text([d], color=color)
    for sequence in ("\033[0m", "\033[1m", "\033[1;31m", "\033[1;32m", "\033[1;36m") if color else ():
        shown = shown.replace(sequence, "")
    assert all(c in "\n\t" or c.isprintable() for c in shown)
    places = (span is not None) + (note_span is not None)
    assert len(shown.split("\n")) == 3 + 2 * places


@given(st.text(st.sampled_from("ab\t行\u0301\x1b"), max_size=500), offsets, offsets)
def test_the_caret_stands_below_its_character(text: str, start: int, end: int) -> None:
    line, marks = excerpt(text, Span(start, end))
    at = min(max(start, 0), len(text))
    pad = marks[: marks.index("^")]
    shown = excerpt(text[:at], Span(at, at))[0] if len(text) < 20 else None
    if shown is not None:
        assert line.startswith(shown)
        assert pad.count("\t") == shown.count("\t")
        assert columns(pad) == columns(shown)
    assert columns(line) <= 202 + 8


def columns(text: str) -> int:
    """The width of a text in a terminal, for the characters used here."""
    at = 0
    for c in text:
        at = (at // 8 + 1) * 8 if c == "\t" else at + {"行": 2, "\u0301": 0}.get(c, 1)
    return at


# Long lines


def test_a_line_of_two_hundred_columns_is_shown_whole() -> None:
    text = "x" * 199 + "y"
    assert excerpt(text, "y") == [text, " " * 199 + "^"]


def test_a_long_line_is_shown_around_the_caret() -> None:
    text = "a" * 300 + "%here" + "b" * 300
    line, marks = excerpt(text, "%here")
    assert line == "…" + "a" * 60 + "%here" + "b" * 135 + "…"
    assert marks == " " * 61 + "^~~~~"


def test_a_long_line_with_the_caret_near_an_end() -> None:
    text = "%first" + "x" * 300 + "%last"
    assert excerpt(text, "%first") == ["%first" + "x" * 194 + "…", "^~~~~~"]
    assert excerpt(text, "%last") == ["…" + "x" * 195 + "%last", " " * 196 + "^~~~~"]
    assert excerpt(text, Span(311, 311)) == ["…" + "x" * 195 + "%last", " " * 201 + "^"]


def test_marks_end_with_the_window() -> None:
    line, marks = excerpt("x" * 1000, Span(0, 1000))
    assert (line, marks) == ("x" * 200 + "…", "^" + "~" * 199)


def test_a_long_line_of_wide_characters_and_tabs() -> None:
    line, marks = excerpt("行" * 200 + "%a", "%a")
    assert (line, marks) == ("…" + "行" * 99 + "%a", " " * 199 + "^~")
    line, marks = excerpt("\t" * 100 + "%a", "%a")
    assert (line, marks) == ("…" + "\t" * 24 + "%a", " " + "\t" * 24 + "^~")


def test_a_line_of_combining_characters_is_cut_too() -> None:
    line, _ = excerpt("a" + "\u0301" * 100_000, "a")
    assert line == "a" + "\u0301" * 199 + "…"


# Colour


def test_colors() -> None:
    d = error("%a", Span(0, 2), Note("why"), Note("here", None, Span(1, 2)))
    assert render_text([d._replace(function="k")], color=True) == (
        "\033[1ma.pto:\033[0m in function 'k':\n"
        "\033[1ma.pto:1:1:\033[0m \033[1;31merror:\033[0m \033[1mno [PARSE-01]\033[0m\n%a\n"
        "\033[1;32m^~\033[0m\n"
        "\033[1;36mnote:\033[0m why\n"
        "\033[1ma.pto:1:2:\033[0m \033[1;36mnote:\033[0m here\n%a\n \033[1;32m^\033[0m"
    )
    assert "\033[1;35mwarning:" in render_text([d._replace(severity="warning")], color=True)
    assert "\033[1;34mremark:" in render_text([d._replace(severity="remark")], color=True)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_want_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert want_color(Terminal())
    assert not want_color(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not want_color(Terminal())
    monkeypatch.delenv("TERM")
    assert want_color(Terminal())
    monkeypatch.setenv("NO_COLOR", "")  # empty counts as not set
    assert want_color(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not want_color(Terminal())


# JSON


def test_json_of_a_diagnostic() -> None:
    assert to_json(COLARGMIN) == {
        "severity": "error",
        "code": "CAM-08",
        "op": "tcolargmin",
        "message": "dstIdx has 2 valid rows; it must have 1",
        "line": 4,
        "column": 1,
        "end_line": 4,
        "end_column": 3,
        "notes": [RULE],
    }


def test_json_without_a_place() -> None:
    found = to_json(error("x", None)._replace(function="k"))
    assert found == {
        "severity": "error",
        "code": "PARSE-01",
        "op": None,
        "message": "no",
        "line": None,
        "column": None,
        "end_line": None,
        "end_column": None,
        "notes": [],
        "function": "k",
    }


def test_json_notes_name_their_place() -> None:
    notes = (Note("here", None, Span(3, 4)), Note("there", Source("%x", "b.pto"), Span(1, 2)))
    assert to_json(error("ab\ncd", Span(1, 4), *notes))["notes"] == ["here (a.pto:2:1)", "there (b.pto:1:2)"]


def test_json_end_is_exclusive_and_may_be_on_another_line() -> None:
    found = to_json(error("ab\ncd", Span(1, 4)))
    assert [found[k] for k in ("line", "column", "end_line", "end_column")] == [1, 2, 2, 2]


def test_verify_report() -> None:
    warning = error("x", None)._replace(severity="warning")
    results = [
        FileResult("a.pto", "a2a3", None, [COLARGMIN]),
        FileResult("b.pto", "a5", 2, [warning]),
        FileResult("c.pto", "a5", None, []),
    ]
    report = verify_report(results)
    assert report == {
        "schema": 1,
        "files": [
            {"file": "a.pto", "arch": "a2a3", "ok": False, "diagnostics": [to_json(COLARGMIN)]},
            {"file": "b.pto", "arch": "a5", "part": 2, "ok": True, "diagnostics": [to_json(warning)]},
            {"file": "c.pto", "arch": "a5", "ok": True, "diagnostics": []},
        ],
    }
    assert json.loads(json.dumps(report)) == report


def test_rendering_imports_little() -> None:
    """Every command pays for the import of this module."""
    program = (
        "import sys, ptoasm; old = set(sys.modules); import ptoasm.render;"
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - old} &"
        " {'json', 'dataclasses', 'inspect', 'urllib', 'numpy', 'lark', 'unicodedata', 'difflib'}))"
    )
    command = [sys.executable, "-c", program]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
    assert shown.stdout.strip() == ""
