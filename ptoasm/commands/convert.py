"""``ptoasm convert``"""

from __future__ import annotations

import sys

import click

from ptoasm.commands.common import arch_option, show, types_option

FORMS = ("sync", "ssa", "dps", "generic", "cpp")


@click.command("convert")
@click.argument("file", metavar="FILE")
@click.option("--to", "to", type=click.Choice(FORMS), required=True, help="The form to print.")
@click.option("-o", "--output", metavar="OUT", help="Write to this file, whole or not at all; - is standard output.")
@arch_option()
@types_option
@click.option("--place", is_flag=True, help="Write the addresses that the placement chooses.")
def command(file: str, to: str, output: str | None, arch: str | None, types: str, place: bool) -> None:
    """Print a program in another form: synchronous, level 1, level 2, MLIR's generic form, or C++.

    What a form cannot say is said on standard error; the result computes the same, or there is none.

    For example: ptoasm convert samples/tcolsum_sync.pto --to dps
    """
    from ptoasm.conversion import convert
    from ptoasm.diagnostics import PtoError
    from ptoasm.files import write_text
    from ptoasm.programs import read_programs

    try:
        done = [convert(p.parse(), to, arch=arch, types=types, place=place) for p in read_programs(file)]
        for converted in done:
            show(converted.notes)
        text = "// -----\n".join(converted.text for converted in done)
        if output in (None, "-"):
            click.echo(text, nl=False)
        else:
            write_text(output, text)
    except PtoError as error:
        show(error.diagnostics)
        sys.exit(1)
