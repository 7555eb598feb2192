"""``ptoasm verify``"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from ptoasm.commands.common import (
    Whole,
    arch_option,
    as_asked,
    ignored_codes,
    severity_options,
    show,
    ub_size_option,
)
from ptoasm.diagnostics import Diagnostic, Note, PtoError, has_errors, in_source_order
from ptoasm.programs import Program, expand, read_text, shown_name, split
from ptoasm.render import FileResult, printable
from ptoasm.targets import DEFAULT, TARGETS

if TYPE_CHECKING:
    from ptoasm.ir import Operation
    from ptoasm.verifier import Verifier


_JOBS = 256
"""More processes than any machine has use for."""


class Options(NamedTuple):
    """What the command line asks of each file."""

    arch: str | None
    ub_size: int | None
    werror: bool
    ignore: frozenset[str]


class Open(NamedTuple):
    """Rules that only a run can answer for one operation."""

    line: int
    column: int
    op: str
    codes: tuple[str, ...]


class Answer(NamedTuple):
    """What one program gets for one target."""

    result: FileResult
    open: tuple[Open, ...] = ()


@click.command("verify")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@arch_option(all_targets=True)
@click.option("--format", "format_", type=click.Choice(["text", "json", "sarif"]), default="text", show_default=True)
@click.option("-v", "--verbose", is_flag=True, help="Say which rules are left for a run to answer.")
@click.option("--quiet", is_flag=True, help="Print diagnostics only.")
@severity_options
@ub_size_option
@click.option("-j", "jobs", type=Whole(1, _JOBS), default=1, metavar="N", help="Verify N files at a time.")
def command(
    files: tuple[str, ...],
    arch: str | None,
    format_: str,
    verbose: bool,
    quiet: bool,
    werror: bool,
    ignore: tuple[str, ...],
    ub_size: int | None,
    jobs: int,
) -> None:
    """Check programs against every documented rule, before anything runs.

    FILE can be a folder (every .pto file below it) or - for standard input. The exit status is 1 if a program has an
    error.

    For example: ptoasm verify --arch all samples/tcolsum_sync.pto
    """
    options = Options(arch, ub_size, werror, ignored_codes(ignore))
    wrong = False
    everything: list[Answer] = []
    for answers in _all_answers(files, options, jobs):
        wrong = wrong or any(has_errors(answer.result.diagnostics) for answer in answers)
        if format_ == "text":
            _print(answers, verbose, quiet)
        else:
            everything += answers
    if format_ == "json":
        _print_json(everything, verbose)
    elif format_ == "sarif":
        _print_sarif(everything)
    sys.exit(1 if wrong else 0)


# --- Files to answers


def _all_answers(files: Sequence[str], options: Options, jobs: int) -> Iterator[list[Answer]]:
    """The answers for each file, in the order of the command line, whatever is done at the same time."""
    texts = _texts(files)
    if jobs == 1:
        for path, text in texts:
            yield _file_answers(path, text, options)
        return
    from concurrent.futures import ProcessPoolExecutor
    from itertools import repeat

    work = list(texts)
    with ProcessPoolExecutor(min(jobs, len(work))) as pool:
        yield from pool.map(_file_answers, *zip(*work, strict=True), repeat(options))


def _texts(files: Iterable[str]) -> Iterator[tuple[str, str | PtoError | None]]:
    """Every file, with its text or fault where only this process can have it."""
    for given in files:
        try:
            for path in expand([given]):
                yield path, read_text(path) if path == "-" else None
        except PtoError as error:
            yield given, error


def _file_answers(path: str, text: str | PtoError | None, options: Options) -> list[Answer]:
    """The answers of one file: one a program and target."""
    name = shown_name(path)
    try:
        if isinstance(text, PtoError):
            raise text
        programs = split(read_text(path) if text is None else text, name)
    except PtoError as error:
        arches = list(TARGETS) if options.arch == "all" else [options.arch or DEFAULT.name]
        return [Answer(FileResult(name, arch, None, error.diagnostics)) for arch in arches]
    return [answer for program in programs for answer in _program_answers(program, options)]


def _program_answers(program: Program, options: Options) -> list[Answer]:
    from ptoasm.verifier import Verifier, choose_target

    module = program.parse()
    answers = []
    for arch in list(TARGETS) if options.arch == "all" else [options.arch]:
        verifier = Verifier(module, choose_target(module, arch), options.ub_size)
        verifier.run(None if options.arch == "all" else arch)
        found = in_source_order([*module.diagnostics, *verifier.diagnostics])
        found = as_asked(found, module, options.ignore, options.werror)
        result = FileResult(program.filename, verifier.target.name, program.part, found)
        answers.append(Answer(result, tuple(_open(verifier))))
    return answers


def _open(verifier: Verifier) -> Iterator[Open]:
    """The rules that were left open, an operation at a time."""
    codes: dict[Operation, list[str]] = {}
    for rule, op in verifier.open:
        codes.setdefault(op, []).append(rule.id)
    for op, ids in codes.items():
        line, column = verifier.module.source.position(op.start)
        yield Open(line, column, op.shape.short_name, tuple(ids))


# --- Text


def _print(answers: list[Answer], verbose: bool, quiet: bool) -> None:
    """The diagnostics on standard error, what became of the file on standard output."""
    programs: dict[int | None, list[FileResult]] = {}
    for answer in answers:
        programs.setdefault(answer.result.part, []).append(answer.result)
    for results in programs.values():
        show(_merged(results))
    if quiet:
        return
    click.echo(f"{printable(answers[0].result.file)}: {_summary([answer.result for answer in answers])}")
    if verbose:
        for line in _open_lines(answers):
            click.echo(line)


def _merged(results: list[FileResult]) -> list[Diagnostic]:
    """The diagnostics of all targets: what they share once, the others with their target."""
    found: dict[Diagnostic, list[str]] = {}
    for result in results:
        for diagnostic in result.diagnostics:
            found.setdefault(diagnostic, []).append(result.arch)
    merged = []
    for diagnostic, arches in found.items():
        alone = len(results) > 1 and len(set(arches)) == 1
        note = (Note(f"this is so on {arches[0]} only"),) if alone else ()
        merged.append(diagnostic._replace(notes=diagnostic.notes + note))
    return in_source_order(merged)


def _summary(results: list[FileResult]) -> str:
    """``ok for a5; 2 errors for a2a3``: which targets accept a file, all of its programs."""
    by_arch: dict[str, list[Diagnostic]] = {}
    for result in results:
        by_arch.setdefault(result.arch, []).extend(result.diagnostics)
    good = [arch for arch, found in by_arch.items() if not has_errors(found)]
    parts = [f"ok for {', '.join(good)}"] if good else []
    parts += [f"{_counts(found)} for {arch}" for arch, found in by_arch.items() if arch not in good]
    return "; ".join(parts)


def _counts(diagnostics: list[Diagnostic]) -> str:
    numbers = {kind: sum(d.severity == kind for d in diagnostics) for kind in ("error", "warning")}
    return ", ".join(f"{n} {kind}{'' if n == 1 else 's'}" for kind, n in numbers.items() if n)


def _open_lines(answers: list[Answer]) -> Iterator[str]:
    found: dict[tuple[str, Open], list[str]] = {}
    for result, left in answers:
        for one in left:
            found.setdefault((result.file, one), []).append(result.arch)
    arches = {answer.result.arch for answer in answers}
    for (file, one), asked in sorted(found.items(), key=lambda item: item[0][1][:2]):
        where = "" if len(asked) == len(arches) else f" on {asked[0]}"
        codes = " ".join(one.codes)
        yield f"{printable(file)}:{one.line}:{one.column}: '{one.op}' op: a run must answer {codes}{where}"


# --- JSON and SARIF


def _print_json(answers: list[Answer], verbose: bool) -> None:
    import json

    from ptoasm.render import verify_report

    report = verify_report(answer.result for answer in answers)
    if verbose:
        for entry, answer in zip(report["files"], answers, strict=True):
            entry["open"] = [
                {"code": code, "op": one.op, "line": one.line, "column": one.column}
                for one in answer.open
                for code in one.codes
            ]
    click.echo(json.dumps(report, indent=2, ensure_ascii=False))


def _print_sarif(answers: list[Answer]) -> None:
    import json

    from ptoasm import __version__
    from ptoasm.catalog import entries
    from ptoasm.render import to_sarif

    rules = [entry.info for entry in entries()]
    log = to_sarif((answer.result for answer in answers), rules, __version__)
    click.echo(json.dumps(log, indent=2, ensure_ascii=False))
