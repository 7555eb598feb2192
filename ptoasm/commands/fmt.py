"""``ptoasm fmt``"""

from __future__ import annotations

import sys

import click

from ptoasm.commands.common import all_fine, types_option


@click.command("fmt")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if a file is not in canonical form.")
@types_option
def command(files: tuple[str, ...], check: bool, types: str) -> None:
    """Put files into canonical form, comments kept. Standard input (-) is printed, files are rewritten.

    A program that is not the language is left as it is, and its faults are shown.

    For example: ptoasm fmt --check samples/tcolsum_sync.pto
    """
    sys.exit(0 if all_fine(files, lambda file: _is_formatted(file, check, types)) else 1)


def _is_formatted(file: str, check: bool, types: str) -> bool:
    """Formats a file, or with ``check`` says whether it is so."""
    from ptoasm.files import write_text
    from ptoasm.programs import read_text, shown_name
    from ptoasm.render import printable

    text = read_text(file)
    canonical = formatted(text, file, types)
    if file == "-" and not check:
        click.echo(canonical, nl=False)
    elif canonical != text:
        click.echo(f"{printable(shown_name(file))}: {'not in canonical form' if check else 'rewritten'}")
        if not check:
            write_text(file, canonical)
    return canonical == text or not check


def formatted(text: str, file: str, types: str) -> str:
    """The canonical print of every program of a file. PtoError where one of them is not the language."""
    from ptoasm.diagnostics import PtoError, has_errors
    from ptoasm.printer import print_module
    from ptoasm.programs import shown_name, split

    pieces = []
    for program in split(text, shown_name(file)):
        module = program.parse()
        if has_errors(module.diagnostics):
            raise PtoError(module.diagnostics)
        pieces.append(print_module(module, types=types))
    return "// -----\n".join(pieces)
