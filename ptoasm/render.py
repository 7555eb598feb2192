"""Shows diagnostics: as text for people, as JSON and SARIF for programs.

In text nothing from a program reaches the terminal raw: what does not print is shown as an escape such as
``\\x1b``. JSON and SARIF carry the plain strings, because their encoding already keeps them apart.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TextIO

from ptoasm.diagnostics import Diagnostic, Note, Severity, has_errors
from ptoasm.source import Source, Span

_COLORS = {"error": "1;31", "warning": "1;35", "remark": "1;34", "note": "1;36", "help": "1;36"}
_BOLD, _GREEN = "1", "1;32"

_WIDTH = 200  # columns of a source line that are shown at most
_BEFORE = 60  # … of which this many, where the line goes on to the right, stand before the caret
_TAB = 8
_HELP = "help: "

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "remark": "note"}
_FAMILIES = {
    "PARSE": "The text is not the language.",
    "NAME": "A name is undefined or defined twice.",
    "TYPE": "Uses disagree on the type of a value.",
    "RUN": "An input, an output or a file of a run is wrong.",
}


class FileResult(NamedTuple):
    """What the verifier found in one program for one target.

    ``part`` counts the programs of a file that holds several.
    """

    file: str
    arch: str
    part: int | None
    diagnostics: list[Diagnostic]


class RuleInfo(NamedTuple):
    """A rule as SARIF lists it. ``page`` names the page and the section that state it."""

    id: str
    severity: Severity
    text: str
    page: str


# Text


def render_text(diagnostics: Iterable[Diagnostic], *, color: bool = False) -> str:
    """Every diagnostic with its source line and a caret, as clang and MLIR do; no newline at the end."""
    lines: list[str] = []
    shown: tuple[str, str | None] | None = None
    for d in diagnostics:
        scope = (d.source.name, d.function)
        if d.function is not None and scope != shown:
            file = _paint(f"{printable(d.source.name)}:", _BOLD, color)
            lines.append(f"{file} in function '{printable(d.function)}':")
        shown = scope
        lines += _paragraph(d.severity, headline(d), d.source, d.span, color)
        for note in d.notes:
            kind, message = _kind(note)
            lines += _paragraph(kind, printable(message), _note_source(d, note), note.span, color)
    return "\n".join(lines)


def headline(diagnostic: Diagnostic) -> str:
    """The message as it is printed, with the operation before it and the code behind it."""
    return printable(f"{_sentence(diagnostic)} [{diagnostic.code}]")


def printable(text: str) -> str:
    """The text with an escape such as ``\\x1b`` in place of each character that does not print."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def want_color(stream: TextIO) -> bool:
    """Whether colours suit a stream: a terminal that understands them, and nobody has set NO_COLOR."""
    environment = os.environ
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def _sentence(d: Diagnostic) -> str:
    return f"'{d.op}' op {d.message}" if d.op else d.message


def _note_source(d: Diagnostic, note: Note) -> Source | None:
    """The source that a note points into, None where it points nowhere."""
    return note.source or (d.source if note.span else None)


def _kind(note: Note) -> tuple[str, str]:
    """Whether a sentence is a note or says what would help, and the sentence."""
    if note.message.startswith(_HELP):
        return "help", note.message.removeprefix(_HELP)
    return "note", note.message


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _paint(text: str, code: str, color: bool) -> str:
    return f"\033[{code}m{text}\033[0m" if color else text


def _paragraph(kind: str, message: str, source: Source | None, span: Span | None, color: bool) -> list[str]:
    """One sentence with its place, and below it the place itself."""
    label = _paint(f"{kind}:", _COLORS[kind], color)
    text = message if kind in ("note", "help") else _paint(message, _BOLD, color)
    if source is None:
        return [f"{label} {text}"]
    lines = [f"{_paint(f'{printable(_place(source, span))}:', _BOLD, color)} {label} {text}"]
    if span is not None:
        line, marks = _excerpt(source, span)
        pad = len(marks) - len(marks.lstrip())
        lines += [line, marks[:pad] + _paint(marks[pad:], _GREEN, color)]
    return lines


def _place(source: Source, span: Span | None) -> str:
    """FILE:LINE:COL, or FILE."""
    if span is None:
        return source.name
    line, column = source.position(_clamped(source, span).start)
    return f"{source.name}:{line}:{column}"


def _clamped(source: Source, span: Span) -> Span:
    """The span, held inside the text: a diagnostic about a wrong place still has to be shown."""
    size = len(source.text)
    start = min(max(span.start, 0), size)
    return Span(start, min(max(span.end, start), size))


def _excerpt(source: Source, span: Span) -> tuple[str, str]:
    """The first line of a span and the marks below it."""
    start, end = _clamped(source, span)
    number, column = source.position(start)
    line = source.line(number)
    at = min(column - 1, len(line))
    left, right = _window(line, at)
    cut, gap = ("…", " ") if left else ("", "")
    shown = cut + "".join(map(_cell, line[left:right])) + ("…" if right < len(line) else "")
    return shown, gap + _marks(line[left:right], at - left, at - left + end - start)


def _marks(line: str, at: int, end: int) -> str:
    """Blanks up to ``at``, a caret, tildes up to ``end``; tabs stay tabs, so that all stays aligned."""
    pad = "".join(c if c == "\t" else " " * _width(c) for c in line[:at])
    first = line[at : at + 1]
    if first == "\t":  # how wide it shows is up to the terminal, so nothing can be placed behind it
        return f"{pad}^"
    rest = "".join(c if c == "\t" else "~" * _width(c) for c in line[at + 1 : max(at + 1, end)])
    return f"{pad}^{'~' * (_width(first) - 1)}{rest}".rstrip()


def _window(line: str, at: int) -> tuple[int, int]:
    """From where to where a line is shown: all of it, or as much around the caret as fits."""
    if len(line) <= _WIDTH and sum(map(_cost, line)) <= _WIDTH:
        return 0, len(line)
    behind, ahead = line[max(0, at - _WIDTH) : at][::-1], line[at : at + _WIDTH]
    _, before = _fitting(behind, _BEFORE)
    after, used = _fitting(ahead, _WIDTH - before)
    before, _ = _fitting(behind, _WIDTH - used)
    return at - before, at + after


def _fitting(text: str, room: int) -> tuple[int, int]:
    """How many characters fit into ``room`` columns, and the columns they take."""
    used = 0
    for count, char in enumerate(text):
        cost = _cost(char)
        if used + cost > room:
            return count, used
        used += cost
    return len(text), used


def _cell(char: str) -> str:
    """A character of a source line as it is shown."""
    return char if char == "\t" or char.isprintable() else _escape(char)


def _cost(char: str) -> int:
    """The columns to allow for a character; a combining one costs too, else there could be any number."""
    return _TAB if char == "\t" else max(1, _width(char))


def _width(char: str) -> int:
    """The columns that a character takes in a terminal."""
    if not char.isprintable():
        return len(_escape(char))
    if char.isascii():
        return 1
    import unicodedata

    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


# JSON


def to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic as ``--format json`` prints it; lines and columns count from 1, the end is exclusive."""
    d = diagnostic
    line, column, end_line, end_column = _region(d.source, d.span) if d.span else (None, None, None, None)
    result = {
        "severity": d.severity,
        "code": d.code,
        "op": d.op,
        "message": d.message,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "notes": [_note_string(d, note) for note in d.notes],
    }
    return result if d.function is None else {**result, "function": d.function}


def verify_report(results: Iterable[FileResult]) -> dict[str, Any]:
    """The object that ``verify --format json`` prints."""
    return {"schema": 1, "files": [_file_entry(result) for result in results]}


def _file_entry(result: FileResult) -> dict[str, Any]:
    part = {} if result.part is None else {"part": result.part}
    return {
        "file": result.file,
        "arch": result.arch,
        **part,
        "ok": not has_errors(result.diagnostics),
        "diagnostics": [to_json(d) for d in result.diagnostics],
    }


def _note_string(d: Diagnostic, note: Note) -> str:
    if note.span is None:
        return note.message
    return f"{note.message} ({_place(note.source or d.source, note.span)})"


def _region(source: Source, span: Span) -> tuple[int, int, int, int]:
    """Line and column of both ends."""
    start, end = _clamped(source, span)
    return (*source.position(start), *source.position(end))


# SARIF


def to_sarif(results: Iterable[FileResult], rules: Sequence[RuleInfo], version: str) -> dict[str, Any]:
    """A SARIF 2.1.0 log. A finding that several targets share is one result that lists them."""
    descriptors = {rule.id: _descriptor(rule) for rule in rules}
    found: dict[str, dict[str, Any]] = {}
    for file in results:
        for d in file.diagnostics:
            if d.code not in descriptors:
                descriptors[d.code] = _descriptor(_unlisted(d))
            result = _sarif_result(d, file.part, list(descriptors).index(d.code))
            targets = found.setdefault(repr(result), result)["properties"]["targets"]
            if file.arch not in targets:
                targets.append(file.arch)
    driver = {"name": "ptoasm", "version": version, "rules": list(descriptors.values())}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": list(found.values())}
    return {"version": "2.1.0", "$schema": _SCHEMA, "runs": [run]}


def _unlisted(d: Diagnostic) -> RuleInfo:
    """A rule for a code that no table has, named by its family."""
    family = d.code.partition("-")[0]
    return RuleInfo(d.code, d.severity, _FAMILIES.get(family, d.code), "")


def _descriptor(rule: RuleInfo) -> dict[str, Any]:
    help_text = f"{rule.text}\nStated in: {rule.page}" if rule.page else rule.text
    return {
        "id": rule.id,
        "shortDescription": _message(rule.text),
        "help": _message(help_text),
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _sarif_result(d: Diagnostic, part: int | None, rule_index: int) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": _physical(d.source, d.span)}
    if d.function is not None:
        location["logicalLocations"] = [{"name": d.function, "kind": "function"}]
    result: dict[str, Any] = {
        "ruleId": d.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[d.severity],
        "message": _message("\n".join([_sentence(d), *_placeless_notes(d)])),
        "locations": [location],
        "properties": {"targets": [], **({} if part is None else {"part": part})},
    }
    if related := _related(d):
        result["relatedLocations"] = related
    return result


def _placeless_notes(d: Diagnostic) -> list[str]:
    """The notes that become part of the message, because SARIF keeps a note only at a location."""
    return [": ".join(_kind(note)) for note in d.notes if _note_source(d, note) is None]


def _related(d: Diagnostic) -> list[dict[str, Any]]:
    """The notes that have a place."""
    placed = [(note, source) for note in d.notes if (source := _note_source(d, note)) is not None]
    return [
        {"id": number, "physicalLocation": _physical(source, note.span), "message": _message(note.message)}
        for number, (note, source) in enumerate(placed, 1)
    ]


def _message(text: str) -> dict[str, str]:
    """A plain text message. SARIF reads braces as placeholders and ``[a](b)`` as a link (3.11.5, 3.11.6)."""
    return {"text": text.replace("{", "{{").replace("}", "}}").replace("](", "] (")}


def _physical(source: Source, span: Span | None) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(source.name)}}
    if span is not None:
        keys = ("startLine", "startColumn", "endLine", "endColumn")
        location["region"] = dict(zip(keys, _region(source, span), strict=True))
    return location


def _uri(name: str) -> str:
    """The URI of a file: relative where its name is. A colon is encoded, else it would end a scheme."""
    from urllib.parse import quote

    path = quote(name.replace(os.sep, "/"), errors="surrogateescape")
    if not os.path.isabs(name):
        return path.removeprefix("./")
    return f"file://{path}" if path.startswith("/") else f"file:///{path}"
