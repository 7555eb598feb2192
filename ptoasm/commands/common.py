"""What the commands share: options, and how diagnostics reach the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ptoasm.diagnostics import Diagnostic, PtoError
from ptoasm.render import render_text, want_color
from ptoasm.targets import TARGETS, UB_LEAST, UB_MOST

if TYPE_CHECKING:
    from ptoasm.ir import Module

F = TypeVar("F", bound=Callable[..., Any])


class Whole(click.IntRange):
    """A whole number of an option, written as in a program."""

    name = "whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ptoasm.numbers import integer

        number = integer(value) if isinstance(value, str) else value
        if number is None:
            self.fail(f"'{value}' is no whole number.", param, ctx)
        return super().convert(number, param, ctx)


class Tolerance(click.FloatRange):
    """A number of an option that is not negative, written as in a program."""

    name = "tolerance"

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ptoasm.numbers import REAL

        if isinstance(value, str) and (REAL.fullmatch(value) is None or "nan" in value.lower()):
            self.fail(f"'{value}' is no number.", param, ctx)
        return super().convert(value, param, ctx)


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
        type=Whole(UB_LEAST, UB_MOST),
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
    if codes:
        from ptoasm.ignoring import reason_against
    for code in sorted(codes):
        if reason := reason_against(code):
            raise click.UsageError(f"--ignore: {reason}")
    return codes


def as_asked(
    diagnostics: Iterable[Diagnostic], module: Module, codes: frozenset[str], werror: bool
) -> list[Diagnostic]:
    """Without warnings and remarks that the command line or a comment ignores; with ``werror`` warnings are errors."""
    from ptoasm.ignoring import Ignored

    ignored = Ignored(module)
    found = [d for d in diagnostics if d.severity == "error" or not (d.code in codes or ignored.covers(d))]
    return [d._replace(severity="error") if werror and d.severity == "warning" else d for d in found]


def all_fine(paths: Iterable[str], do: Callable[[str], bool]) -> bool:
    """Whether ``do`` finds nothing wrong with any file; what is wrong with one is shown and keeps no other from it."""
    from ptoasm.programs import expand

    wrong = 0
    for path in paths:
        try:
            files = list(expand([path]))
        except PtoError as error:
            show(error.diagnostics)
            files, wrong = [], wrong + 1
        for file in files:
            try:
                wrong += not do(file)
            except PtoError as error:
                show(error.diagnostics)
                wrong += 1
    return not wrong


def show(diagnostics: Iterable[Diagnostic]) -> None:
    """Prints diagnostics on standard error."""
    text = render_text(diagnostics, color=want_color(sys.stderr))
    if text:
        print(text, file=sys.stderr)
