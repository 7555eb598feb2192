"""``ptoasm run``"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ptoasm.commands.common import (
    Tolerance,
    Whole,
    arch_option,
    as_asked,
    ignored_codes,
    severity_options,
    show,
    ub_size_option,
)
from ptoasm.diagnostics import Diagnostic, Note, PtoError, has_errors
from ptoasm.programs import Program, read_programs
from ptoasm.render import printable
from ptoasm.source import Source
from ptoasm.targets import BLOCKS_MOST, DEFAULT, UB_MOST

if TYPE_CHECKING:
    from ptoasm.interpreter.run import Result, Session
    from ptoasm.interpreter.steps import Step
    from ptoasm.ir import Module

STEPS = 10_000_000


class Options(NamedTuple):
    """What the command line asks for."""

    arch: str | None
    func: str | None
    inputs: dict[str, Any]
    outputs: dict[str, str]
    expect: dict[str, Any]
    tolerance: tuple[float, float] | None
    seed: int
    trace: bool
    json: bool
    ub_size: int | None
    max_steps: int
    blocks: int
    load_ub: str | None
    dump_ub: str | None
    werror: bool
    ignore: frozenset[str]

    @property
    def about_one_program(self) -> bool:
        """Whether something was asked for that only one program can have."""
        return any(
            asked not in (None, {}) for asked in (self.inputs, self.outputs, self.expect, self.load_ub, self.dump_ub)
        )


# --- Options


def _named(option: str, text: str) -> tuple[str, str]:
    """NAME and what is behind the = of an option."""
    name, equals, value = text.partition("=")
    name = name.strip().removeprefix("%")
    if not (equals and name and value):
        raise click.BadParameter(f"'{text}' is not {option}")
    return name, value


def _values(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE"""
    if not texts:
        return {}
    from ptoasm.interpreter.files import parse_value

    found: dict[str, Any] = {}
    for text in texts:
        name, value = _named("NAME=VALUE", text)
        if name in found:
            raise click.BadParameter(f"'{name}' is given twice")
        try:
            found[name] = parse_value(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return found


def _paths(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """NAME=PATH"""
    found: dict[str, str] = {}
    for text in texts:
        name, path = _named("NAME=PATH", text)
        if not path.endswith((".npy", ".npz", ".bin")):
            raise click.BadParameter(f"'{path}' must end in .npy, .npz or .bin")
        if name in found:
            raise click.BadParameter(f"'{name}' is given twice")
        if path in found.values() and not path.endswith(".npz"):
            raise click.BadParameter(f"two outputs cannot go into '{path}'; a .npz can hold several")
        found[name] = path
    return found


@click.command("run")
@click.argument("file", metavar="FILE")
@arch_option()
@click.option("--func", metavar="NAME", help="The function to run, where there are several.")
@click.option("--part", type=Whole(min=1), metavar="N", help="Run only the Nth program of the file.")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    callback=_values,
    metavar="NAME=VALUE",
    help="Data for an input: PATH.npy, PATH.npz:KEY, PATH.bin, zeros, ones, arange, random, random:SEED or a number.",
)
@click.option(
    "--output", "outputs", multiple=True, callback=_paths, metavar="NAME=PATH", help="Write an output to a file."
)
@click.option(
    "--expect", multiple=True, callback=_values, metavar="NAME=PATH", help="Compare an output with a file, bit for bit."
)
@click.option("--rtol", type=Tolerance(), metavar="X", help="Compare within this relative tolerance.")
@click.option("--atol", type=Tolerance(), metavar="X", help="Compare within this absolute tolerance.")
@click.option("--seed", type=Whole(min=0), default=0, metavar="N", help="Start of the random fills.")
@click.option("--trace", is_flag=True, help="Print a line for each instruction.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@ub_size_option
@click.option(
    "--max-steps",
    type=Whole(min=1),
    default=STEPS,
    show_default=True,
    metavar="N",
    help="Stop after so many statements.",
)
@click.option("--blocks", type=Whole(1, BLOCKS_MOST), default=1, metavar="N", help="Run for N blocks, one by one.")
@click.option("--load-ub", metavar="PATH", help="The bytes that the UB holds from the start.")
@click.option("--dump-ub", metavar="PATH", help="Write the bytes of the UB after the run.")
@severity_options
def command(
    file: str,
    part: int | None,
    format_: str,
    rtol: float | None,
    atol: float | None,
    ignore: tuple[str, ...],
    **options: Any,
) -> None:
    """Run a program on the simulated UB and print what it computes.

    Inputs without data are filled, the same on every run. FILE can be - for standard input. The exit status is 1 if
    the program, its data or a comparison is wrong.

    For example: ptoasm run samples/tcolsum_sync.pto --input src=arange --trace
    """
    tolerance = None if rtol is None and atol is None else (rtol or 0.0, atol or 0.0)
    if tolerance is not None and not options["expect"]:
        raise click.UsageError("--rtol and --atol say how --expect compares; there is no --expect")
    asked = Options(**options, tolerance=tolerance, json=format_ == "json", ignore=ignored_codes(ignore))
    try:
        programs = _chosen(file, part, asked)
    except PtoError as error:
        _print(Outcome(Program(file, "", 1, None), asked.arch or DEFAULT.name, error.diagnostics), asked)
        sys.exit(1)
    outcomes = [_run_one(program, asked, labelled=len(programs) > 1) for program in programs]
    sys.exit(1 if any(has_errors(outcome.diagnostics) for outcome in outcomes) else 0)


def _chosen(file: str, part: int | None, options: Options) -> list[Program]:
    """The programs to run."""
    programs = read_programs(file)
    source = Source("", programs[0].filename)
    count = len(programs)
    if part is not None:
        if part > count:
            message = f"there is no program {part}; the file has {count}"
            raise PtoError([Diagnostic("error", "RUN-01", message, source)])
        return [programs[part - 1]]
    if count > 1 and options.about_one_program:
        message = f"the file has {count} programs; --part chooses the one that the data is for"
        raise PtoError([Diagnostic("error", "RUN-01", message, source)])
    return programs


# --- One program


class Outcome(NamedTuple):
    """What became of a program; ``result`` is None where it did not run to its end."""

    program: Program
    arch: str
    diagnostics: list[Diagnostic]
    result: Result | None = None


def _run_one(program: Program, options: Options, labelled: bool) -> Outcome:
    """Runs a program and prints what came of it."""
    from ptoasm.verifier import choose_target, verify

    if labelled and not options.json:
        click.echo(f"{printable(program.filename)}, program {program.part}, line {program.first_line}:")
    module = program.parse()
    found = _as_asked(verify(module, options.arch, ub_size=options.ub_size), module, options)
    result = None
    if not has_errors(found):
        try:
            result = _executed(program, module, options, found)
        except PtoError as error:
            found = _merged(found, error.diagnostics, module, options)
    outcome = Outcome(program, choose_target(module, options.arch).name, found, result)
    _print(outcome, options)
    return outcome


def _as_asked(diagnostics: Iterable[Diagnostic], module: Module, options: Options) -> list[Diagnostic]:
    return as_asked(diagnostics, module, options.ignore, options.werror)


def _merged(
    first: list[Diagnostic], second: Iterable[Diagnostic], module: Module, options: Options
) -> list[Diagnostic]:
    from ptoasm.interpreter.run import merged

    return merged(first, _as_asked(second, module, options))


def _executed(program: Program, module: Module, options: Options, found: list[Diagnostic]) -> Result:
    """The result of the run, its diagnostics added to ``found``; files are written if it did not fail."""
    from ptoasm.interpreter.files import load
    from ptoasm.interpreter.machine import RunFault

    inputs = _from_comments(program)
    used = [name for name in inputs if name not in options.inputs]
    found += _as_asked(_about_data(module, used, "the file's 'input' lines give {}"), module, options)
    inputs |= {name: load(value) for name, value in options.inputs.items()}
    expected = {name: load(value) for name, value in options.expect.items()}
    session: Session | None = None
    try:
        session = _session(module, options)
        result = session.run(inputs)
    except RunFault as fault:
        so_far = session.machine.diagnostics if session is not None else []
        raise PtoError([*so_far, fault.diagnostic]) from None
    filled = _about_data(module, result.filled, f"{{}} filled with random numbers (--seed {options.seed})")
    found[:] = [*_as_asked(filled, module, options), *_merged(found, result.diagnostics, module, options)]
    missing = _without_value(module, session, result, options)
    if missing:
        raise PtoError(missing)
    found += _comparisons(module, result, expected, options)
    if not has_errors(found):
        _write(result, options)
    return result


def _session(module: Module, options: Options) -> Session:
    from ptoasm.interpreter.files import read_bytes
    from ptoasm.interpreter.run import Session, choose_function
    from ptoasm.verifier import choose_target

    session = Session(
        module,
        choose_function(module, options.func),
        choose_target(module, options.arch),
        fill_missing=not options.inputs,
        seed=options.seed,
        ub_size=options.ub_size,
        keep=[*options.outputs, *options.expect],
        max_steps=options.max_steps,
        blocks=options.blocks,
        load_ub=None if options.load_ub is None else read_bytes(options.load_ub, UB_MOST + 1),
    )
    for name in (*options.outputs, *options.expect):
        session.check_name(name)
    if options.trace:
        session.machine.on_step = _tracer(session, options)
    return session


def _tracer(session: Session, options: Options) -> Callable[[Step], None]:
    """Prints each step as it is executed."""
    from ptoasm.interpreter.trace import Trace

    trace = Trace(session.machine)
    if options.json:
        return lambda step: _echo_json(trace.record(step))
    return lambda step: click.echo(printable(trace.line(step)))


def _echo_json(found: Any) -> None:
    import json

    click.echo(json.dumps(found, ensure_ascii=False))


# --- Data


def _from_comments(program: Program) -> dict[str, Any]:
    """What the ``input`` lines of a program say."""
    if "input" not in program.text:
        return {}
    from ptoasm.check import input_lines

    return input_lines(program)


def _about_data(module: Module, names: Iterable[str], message: str) -> list[Diagnostic]:
    """Says where the data of these inputs comes from."""
    listed = ", ".join(f"%{name}" for name in names)
    return [Diagnostic("remark", "RUN-18", message.format(listed), module.source)] if listed else []


def _without_value(module: Module, session: Session, result: Result, options: Options) -> list[Diagnostic]:
    """What was asked for and has no value at the end."""
    return [
        _about(module, "RUN-15", f"'%{name}' has no value at the end of the run: nothing was written to it")
        for name in dict.fromkeys((*options.outputs, *options.expect))
        if name not in result.outputs
    ]


def _about(module: Module, code: str, message: str, *notes: str) -> Diagnostic:
    return Diagnostic("error", code, message, module.source, notes=tuple(map(Note, notes)))


def _comparisons(module: Module, result: Result, expected: Mapping[str, Any], options: Options) -> list[Diagnostic]:
    """A diagnostic for each output that is not as expected."""
    if not expected:
        return []
    from ptoasm.interpreter.expect import differences

    rtol, atol = options.tolerance or (0.0, 0.0)
    found = []
    for name, wanted in expected.items():
        exact = options.tolerance is None
        report = differences(result.outputs[name], wanted, name, exact=exact, rtol=rtol, atol=atol)
        if report:
            found.append(_about(module, "RUN-16", report[0], *report[1:]))
    return found


def _write(result: Result, options: Options) -> None:
    """Writes the files that were asked for, all or none."""
    if not options.outputs and options.dump_ub is None:
        return
    from ptoasm.interpreter.files import Outputs

    by_path: dict[str, dict[str, Any]] = {}
    for name, path in options.outputs.items():
        by_path.setdefault(path, {})[name] = result.outputs[name]
    files = Outputs()
    for path, arrays in by_path.items():
        files.add_arrays(path, arrays)
    if options.dump_ub is not None:
        files.add_bytes(options.dump_ub, result.memory)
    files.write()


# --- Printing


def _print(outcome: Outcome, options: Options) -> None:
    """The diagnostics on standard error and the outputs on standard output; as JSON both in one object."""
    if options.json:
        _echo_json(_as_json(outcome))
        return
    show(outcome.diagnostics)
    if outcome.result is not None:
        from ptoasm.interpreter.report import as_text

        result = outcome.result
        for name, array in result.outputs.items():
            click.echo(as_text(printable(name), array, result.addresses.get(name)))
        if not result.outputs:
            click.echo("no outputs")


def _as_json(outcome: Outcome) -> dict[str, Any]:
    from ptoasm.render import to_json

    program, arch, diagnostics, result = outcome
    found: dict[str, Any] = {"file": program.filename, "arch": arch}
    if program.part is not None:
        found["part"] = program.part
    found |= {"ok": not has_errors(diagnostics), "diagnostics": [to_json(d) for d in diagnostics], "outputs": {}}
    if result is not None:
        from ptoasm.interpreter.report import as_json

        found["outputs"] = {n: as_json(a, result.addresses.get(n)) for n, a in result.outputs.items()}
    return found
