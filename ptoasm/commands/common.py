"""What the commands share: options, and how diagnostics reach the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from ptoasm.diagnostics import Diagnostic
from ptoasm.render import render_text, want_color
from ptoasm.targets import TARGETS

F = TypeVar("F", bound=Callable[..., Any])


def arch_option(*, all_targets: bool = False) -> Callable[[F], F]:
    """``--arch``; with ``all_targets`` also ``all``."""
    choices = [*TARGETS, "all"] if all_targets else list(TARGETS)
    return click.option(
        "--arch", type=click.Choice(choices), help="The target; else the module's pto.target_arch, else a2a3."
    )


def ub_size_option(function: F) -> F:
    """``--ub-size``"""
    return click.option(
        "--ub-size",
        type=click.IntRange(32, 1 << 28),
        metavar="BYTES",
        help="The UB's capacity, where it is not the target's.",
    )(function)


def types_option(function: F) -> F:
    """``--types``"""
    return click.option(
        "--types",
        type=click.Choice(["compact", "keyed"]),
        default="compact",
        show_default=True,
        help="Spelling of tile types.",
    )(function)


def severity_options(function: F) -> F:
    """``--werror`` and ``--ignore``"""
    function = click.option("--werror", is_flag=True, help="Treat warnings as errors.")(function)
    return click.option("--ignore", multiple=True, metavar="CODE[,CODE]", help="Leave out these warnings and remarks.")(
        function
    )


def ignored_codes(ignore: Iterable[str]) -> frozenset[str]:
    """The codes that ``--ignore`` names; a code that is none, or an error's, is a fault of the command line."""
    codes = frozenset(code.strip().upper() for text in ignore for code in text.split(",") if code.strip())
    for code in sorted(codes):
        _check_ignored(code)
    return codes


def _check_ignored(code: str) -> None:
    from ptoasm.catalog import entries, find
    from ptoasm.suggest import did_you_mean

    entry = find(code)
    if entry is None:
        near = did_you_mean(code, [known.id for known in entries()])
        hint = f" Did you mean '{near}'?" if near else ""
        raise click.UsageError(f"--ignore: there is no code '{code}'.{hint}")
    if entry.severity == "error":
        raise click.UsageError(f"--ignore: {code} is an error; only warnings and remarks can be ignored.")


def without_ignored(diagnostics: Iterable[Diagnostic], codes: frozenset[str]) -> list[Diagnostic]:
    """Without warnings and remarks that the command line or a comment of the file ignores."""
    return [d for d in diagnostics if d.severity == "error" or not (d.code in codes or _ignored_in_file(d))]


def _ignored_in_file(diagnostic: Diagnostic) -> bool:
    """Whether ``// ptoasm-ignore: CODE`` stands in the statement, up to the place, or on the line above it."""
    source = diagnostic.source
    if diagnostic.span is None or "ptoasm-ignore:" not in source.text:
        return False
    from ptoasm.lexer import BEGINNING

    line, _ = source.position(diagnostic.span.start)
    lines = [source.line(line)]
    while not BEGINNING.match(lines[-1].lstrip()) and line > source.first_line:
        line -= 1
        lines.append(source.line(line))
    lines.append(source.line(line - 1))
    marks = (text.partition("ptoasm-ignore:")[2] for text in lines)
    return any(diagnostic.code in codes.replace(",", " ").split() for codes in marks)


def show(diagnostics: Iterable[Diagnostic]) -> None:
    """Prints diagnostics on standard error."""
    text = render_text(diagnostics, color=want_color(sys.stderr))
    if text:
        print(text, file=sys.stderr)


def failed(diagnostics: Iterable[Diagnostic], werror: bool = False) -> bool:
    """Whether the exit status is 1."""
    bad = ("error", "warning") if werror else ("error",)
    return any(d.severity in bad for d in diagnostics)
