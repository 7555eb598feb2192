"""Expectations in comments: what a program must compute, and which diagnostics it must get (docs/checks.md)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from ptoasm.diagnostics import Diagnostic, Note, PtoError, has_errors
from ptoasm.dialect.base import count
from ptoasm.ignoring import Ignored, Statements
from ptoasm.ir import Module
from ptoasm.numbers import REAL, integer
from ptoasm.programs import Program
from ptoasm.render import headline
from ptoasm.source import Source, Span
from ptoasm.suggest import did_you_mean
from ptoasm.targets import TARGETS

_LINE = re.compile(
    r"^[ \t]*(?://|#)[ \t]*(?:"
    r"(?P<arch>check-arch):[ \t]*(?P<target>.*?)"
    r"|(?P<input>input)[ \t]+%(?P<into>[\w.$-]+)[ \t]*=[ \t]*(?P<data>.*?)"
    r"|(?P<expect>expect)[ \t]+%(?P<of>[\w.$-]+)[ \t]*(?P<how>[=~])[ \t]*(?P<wanted>.*?)"
    r")[ \t\r]*$",
    re.MULTILINE,
)
_DIAGNOSTIC = re.compile(
    r"(?://|#)[ \t]*expected-(?P<severity>error|warning|remark)(?P<at>[^\n{]*)\{\{(?P<text>[^\n]*?)\}\}"
)
_MISSPELT = re.compile(r"(?://|#)[ \t]*expected-(?!(?:error|warning|remark)\b[^\n{]*\{\{)[^\n]*")
_TOKEN = re.compile(
    r"\s*([][,]|[-+]?(?:0x[0-9A-Fa-f]+|nan|inf|[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?\.?(?:[eE][-+]?[0-9]+)?)|\S)"
)
_CALL = re.compile(r"(arange|zeros|ones|full|random|file)(?:[ \t]*\(([^()]*)\))?$")
_TOLERANCE = re.compile(r"[ \t]+(rtol|atol)[ \t]*=[ \t]*([-+.0-9eE]+)$")


class Expectation(NamedTuple):
    """``expect %name``: the values, exactly or (``rtol``, ``atol``) within a tolerance."""

    name: str
    data: Any
    rtol: float
    atol: float
    exact: bool
    span: Span


class Expected(NamedTuple):
    """``expected-error {{text}}``: a diagnostic on this line whose message has the text in it."""

    severity: str
    line: int
    text: str
    span: Span


class Directives(NamedTuple):
    """What a program's comments ask for; ``arches`` is empty where they name no target."""

    arches: tuple[str, ...]
    inputs: dict[str, Any]
    expectations: list[Expectation]
    expected: list[Expected]


class File(NamedTuple):
    """Data in a file beside the program."""

    path: str


def directives(program: Program) -> Directives:
    """The directives of a program. PtoError (CHECK-02) where one cannot be understood."""
    source = Source(program.text, program.filename, program.first_line)
    arches: tuple[str, ...] = ()
    inputs: dict[str, Any] = {}
    expectations = []
    for match in _LINE.finditer(program.text):
        span = Span(match.start() + len(match.group()) - len(match.group().lstrip()), match.end())
        if match["arch"]:
            arches = _arches(match["target"], source, span)
        elif match["input"]:
            inputs[match["into"]] = _data(match["data"], source, span)
        else:
            expectations.append(_expectation(match, source, span))
    misspelt = _MISSPELT.search(program.text)
    if misspelt:
        raise _fault(source, Span(*misspelt.span()), "an expected diagnostic is 'expected-error @below {{text}}'")
    expected = [_expected(match, source) for match in _DIAGNOSTIC.finditer(program.text)]
    return Directives(arches, inputs, expectations, expected)


def input_lines(program: Program) -> dict[str, Any]:
    """The data that the ``input`` lines of a program give, that of files too. PtoError where something is wrong."""
    source = Source(program.text, program.filename, program.first_line)
    found = {}
    for match in _LINE.finditer(program.text):
        if match["input"]:
            data = _data(match["data"], source, Span(match.start(), match.end()))
            found[match["into"]] = _beside(program.filename, data)
    return found


def _fault(source: Source, span: Span, message: str) -> PtoError:
    return PtoError([Diagnostic("error", "CHECK-02", message, source, span)])


def _arches(text: str, source: Source, span: Span) -> tuple[str, ...]:
    if text == "all":
        return tuple(TARGETS)
    if text not in TARGETS:
        raise _fault(source, span, f"check-arch is '{text}'; it must be one of {', '.join(TARGETS)}, all")
    return (text,)


def _expectation(match: re.Match[str], source: Source, span: Span) -> Expectation:
    text = match["wanted"]
    tolerances = {"rtol": 0.0, "atol": 0.0}
    while match["how"] == "~" and (found := _TOLERANCE.search(text)):
        try:
            tolerances[found[1]] = float(found[2])
        except ValueError:
            raise _fault(source, span, f"{found[1]} is '{found[2]}'; it must be a number") from None
        if tolerances[found[1]] < 0:
            raise _fault(source, span, f"{found[1]} is {found[2]}; it must not be negative")
        text = text[: found.start()]
    return Expectation(match["of"], _data(text, source, span), **tolerances, exact=match["how"] == "=", span=span)


def _expected(match: re.Match[str], source: Source) -> Expected:
    line, _ = source.position(match.start())
    span = Span(*match.span())
    at = match["at"].strip()
    if at == "@below":
        line += 1
    elif at == "@above":
        line -= 1
    elif re.fullmatch(r"@[+-][0-9]+", at):
        line += int(at[1:])
    elif at:
        raise _fault(source, span, f"'{at}' is no place; it can be @+N, @-N, @above, @below or nothing")
    return Expected(match["severity"], line, match["text"], span)


# --- Data


def _data(text: str, source: Source, span: Span) -> Any:
    """Nested lists of exact numbers, a fill, or a file."""
    call = _CALL.fullmatch(text)
    try:
        if call is not None:
            return _called(call[1], [a.strip() for a in (call[2] or "").split(",") if a.strip()])
        tokens = [m[1] for m in _TOKEN.finditer(text)]
        value, end = _nested(tokens)
        if end < len(tokens):
            raise ValueError(f"'{tokens[end]}' is too much")
    except (ValueError, IndexError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it stops in the middle"
        shown = text if len(text) <= 60 else f"{text[:60]}…"
        raise _fault(source, span, f"'{shown}' is no data: {reason}") from None
    return value


_ARGUMENTS = {"arange": (0, 1), "zeros": (0, 1), "ones": (0, 1), "full": (1, 2), "random": (0, 2), "file": (1, 1)}
"""How many arguments a fill has at least and at most."""


def _called(name: str, arguments: list[str]) -> Any:
    from ptoasm.interpreter.data import Fill

    least, most = _ARGUMENTS[name]
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} or {most}" if most == least + 1 else f"{least} to {most}"
        raise ValueError(f"{name} has {count(len(arguments), 'argument')}; it must have {wanted}")
    if name == "file":
        return File(arguments[0].strip("\"'"))
    if name == "full":
        value, *rest = arguments
        return Fill("full", number(value), count=_count(rest[0]) if rest else None)
    numbers = [_count(a) for a in arguments]
    if name != "random":
        return Fill(name, count=numbers[0] if numbers else None)
    length = numbers.pop(0) if len(numbers) > 1 else None
    return Fill("random", count=length, seed=numbers[0] if numbers else None)


def _count(text: str) -> int:
    """A number of elements, or a seed."""
    number = integer(text)
    if number is None or number < 0:
        raise ValueError(f"'{text}' is no number of elements and no seed")
    return number


def _nested(tokens: list[str], at: int = 0, depth: int = 0) -> tuple[Any, int]:
    """The value that begins with a token, and the position of the token behind it."""
    from ptoasm.interpreter.data import DEEPEST

    if tokens[at] != "[":
        return number(tokens[at]), at + 1
    if depth == DEEPEST:
        raise ValueError("its lists are nested too deep")
    items: list[Any] = []
    at += 1
    while tokens[at] != "]":
        if items:
            if tokens[at] != ",":
                raise ValueError(f"',' expected before '{tokens[at]}'")
            at += 1
        value, at = _nested(tokens, at, depth + 1)
        items.append(value)
    return items, at + 1


def number(text: str) -> int | float | Fraction:
    """The number that a text writes, exactly: nothing is rounded before the element type is known."""
    whole = integer(text)
    if whole is not None:
        return whole
    if REAL.fullmatch(text) is None:
        raise ValueError(f"'{text}' is no number")
    value = float(text)
    if value in (float("inf"), float("-inf")) and "inf" not in text.lower():
        raise ValueError(f"{text} is larger than every element type")
    return value if value == 0 or value != value or value in (float("inf"), float("-inf")) else Fraction(text)


# --- Checking


class Outcome(NamedTuple):
    """What checking a program on a target found wrong; empty where all expectations hold."""

    program: Program
    arch: str
    failures: list[Diagnostic]


def check(program: Program, arch: str | None = None) -> Iterator[Outcome]:
    """Checks a program on the targets that its comments name, else on ``arch`` (``all``: on both), else on its own."""
    from ptoasm.verifier import choose_target

    try:
        wanted = directives(program)
    except PtoError as error:
        yield Outcome(program, "" if arch in (None, "all") else arch, error.diagnostics)
        return
    module = program.parse()
    asked = tuple(TARGETS) if arch == "all" else (choose_target(module, arch).name,)
    for name in wanted.arches or asked:
        yield Outcome(program, name, _check(program, module, wanted, name, bool(wanted.arches or arch)))


def _check(program: Program, module: Module, wanted: Directives, arch: str, named: bool) -> list[Diagnostic]:
    from ptoasm.verifier import verify

    found = verify(module, arch if named else None)
    outputs: dict[str, Any] | None = None
    if not has_errors(found) and any(f.body is not None for f in module.functions):
        found, outputs = _run(program, module, wanted, arch if named else None)
    failures = _diagnostics_differ(module, found, wanted.expected)
    if outputs is not None:
        failures += [d for e in wanted.expectations for d in _values_differ(program, module.source, outputs, e)]
    elif wanted.expectations and not has_errors(failures) and not has_errors(found):
        failures.append(_failure(module.source, wanted.expectations[0].span, "the program has nothing to run"))
    return failures


def _run(
    program: Program, module: Module, wanted: Directives, arch: str | None
) -> tuple[list[Diagnostic], dict[str, Any] | None]:
    from ptoasm.interpreter.run import run

    try:
        inputs = {n: _beside(program.filename, d) for n, d in wanted.inputs.items()}
        names = [e.name for e in wanted.expectations]
        result = run(module, inputs, arch=arch, fill_missing=True, keep=names)
    except PtoError as error:
        return error.diagnostics, None
    return result.diagnostics, result.outputs


def _beside(filename: str, data: Any) -> Any:
    """The data itself, or what is in a file that lies beside the program."""
    if not isinstance(data, File):
        return data
    from ptoasm.interpreter.files import read_data

    return read_data(os.path.join(os.path.dirname(filename), data.path))


def _failure(source: Source, span: Span, message: str, *notes: Note) -> Diagnostic:
    return Diagnostic("error", "CHECK-01", message, source, span, notes)


def _diagnostics_differ(module: Module, found: list[Diagnostic], expected: list[Expected]) -> list[Diagnostic]:
    """Unexpected errors and warnings that nobody ignores, and a failure for each expectation that nothing meets."""
    statements, ignored = Statements(module), Ignored(module)
    unmet = list(expected)
    failures = []
    for diagnostic in found:
        first, last = statements.lines(diagnostic)
        text = headline(diagnostic)
        met = [e for e in expected if e.severity == diagnostic.severity and first <= e.line <= last and e.text in text]
        unmet = [e for e in unmet if e not in met]
        if not met and diagnostic.severity != "remark" and not ignored.covers(diagnostic):
            failures.append(diagnostic)
    for one in unmet:
        failures.append(
            _failure(module.source, one.span, f"no {one.severity} with '{one.text}' was found on line {one.line}")
        )
    return failures


def _values_differ(program: Program, source: Source, outputs: dict[str, Any], wanted: Expectation) -> list[Diagnostic]:
    from ptoasm.interpreter.expect import differences

    if wanted.name not in outputs:
        near = did_you_mean(wanted.name, outputs)
        hint = f"; did you mean '%{near}'?" if near else f"; there are {', '.join(f'%{n}' for n in outputs) or 'none'}"
        return [_failure(source, wanted.span, f"the program has no output '%{wanted.name}'{hint}")]
    try:
        data = _beside(program.filename, wanted.data)
    except PtoError as error:
        return error.diagnostics
    report = differences(
        outputs[wanted.name], data, wanted.name, exact=wanted.exact, rtol=wanted.rtol, atol=wanted.atol
    )
    return [] if report is None else [_failure(source, wanted.span, report[0], *map(Note, report[1:]))]
