"""``ptoasm check``"""

from __future__ import annotations

import sys

import click

from ptoasm.commands.common import all_fine, arch_option, ignored_codes, severity_options, show


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
    ignored = ignored_codes(ignore)
    sys.exit(0 if all_fine(files, lambda file: _is_as_expected(file, arch, ignored)) else 1)


def _is_as_expected(file: str, arch: str | None, ignored: frozenset[str]) -> bool:
    from ptoasm.check import check
    from ptoasm.programs import read_programs, shown_name
    from ptoasm.render import printable

    name = printable(shown_name(file))
    programs = read_programs(file)
    outcomes = [outcome for program in programs for outcome in check(program, arch)]
    outcomes = [o._replace(failures=[d for d in o.failures if d.code not in ignored]) for o in outcomes]
    bad = [outcome for outcome in outcomes if outcome.failures]
    for outcome in bad:
        part = f" program {outcome.program.part}" if outcome.program.part else ""
        on = f" on {outcome.arch}" if outcome.arch else ""
        click.echo(f"{name}:{part} fails{on}", err=True)
        show(outcome.failures)
    checks = _count(len(outcomes), "check")
    verdict = f"{len(bad)} of {checks} failed" if bad else f"{checks} passed"
    click.echo(f"{name}: {_count(len(programs), 'program')}, {verdict}")
    return not bad


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
