"""``ptoasm check``"""

from __future__ import annotations

import sys

import click

from ptoasm.commands.common import arch_option, ignored_codes, severity_options, show


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@arch_option(all_targets=True)
@severity_options
def command(files: tuple[str, ...], arch: str | None, ignore: tuple[str, ...], werror: bool) -> None:
    """Run the expectations written in the comments of files (or of every .pto file below a folder).

    A program that names its targets (check-arch) is checked on these. Warnings must be expected with or without
    --werror.

    For example: ptoasm check samples/tcolsum_sync.pto
    """
    from ptoasm.check import check
    from ptoasm.diagnostics import PtoError
    from ptoasm.programs import expand, read_programs, shown_name

    ignored = ignored_codes(ignore)
    wrong = 0
    try:
        for file in expand(files):
            programs = read_programs(file)
            outcomes = [outcome for program in programs for outcome in check(program, arch)]
            outcomes = [o._replace(failures=[d for d in o.failures if d.code not in ignored]) for o in outcomes]
            bad = [outcome for outcome in outcomes if outcome.failures]
            for outcome in bad:
                part = f" program {outcome.program.part}" if outcome.program.part else ""
                on = f" on {outcome.arch}" if outcome.arch else ""
                click.echo(f"{shown_name(file)}:{part} fails{on}", err=True)
                show(outcome.failures)
            wrong += len(bad)
            checks = _count(len(outcomes), "check")
            verdict = f"{len(bad)} of {checks} failed" if bad else f"{checks} passed"
            click.echo(f"{shown_name(file)}: {_count(len(programs), 'program')}, {verdict}")
    except PtoError as error:
        show(error.diagnostics)
        wrong += 1
    sys.exit(1 if wrong else 0)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
