"""Measures ptoasm against its peers, all in one run, in interleaved rounds."""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks import generate

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("parse", "startup", "kernels", "linear")
CASES: tuple[tuple[generate.Layout, generate.Style, generate.Variety], ...] = (
    ("flat", "keyed", "few"),
    ("flat", "keyed", "distinct"),
    ("flat", "compact", "few"),
    ("flat", "compact", "distinct"),
    ("func", "keyed", "few"),
    ("func", "compact", "distinct"),
)
Samples = list[float]


class Goal(NamedTuple):
    """What a ratio must be, and what it must be in any case."""

    limit: float
    floor: float | None = None
    at_least: bool = False
    unit: str = "x"

    def __str__(self) -> str:
        text = f"{'>=' if self.at_least else '<='} {self.limit:g}{self.unit}"
        return text + (f" (floor {self.floor:g}{self.unit})" if self.floor else "")

    def verdict(self, ratio: float) -> str:
        def holds(limit: float | None) -> bool:
            return limit is not None and (ratio >= limit if self.at_least else ratio <= limit)

        return "met" if holds(self.limit) else "floor" if holds(self.floor) else "MISSED"


class Row(NamedTuple):
    what: str
    ours: str = "-"
    peer: str = "-"
    ratio: str = "-"
    minima: str = "-"
    goal: str = ""
    verdict: str = ""


HEADINGS = Row("", "ours", "peer", "ratio of medians", "of minima", "goal", "")


def compare(what: str, ours: Samples, peer: Samples, unit: str, goal: Goal | None = None) -> Row:
    """A line of the table, medians and minima; either side may be missing."""
    scale = {"µs": 1e6, "ms": 1e3, "s": 1.0}[unit]

    def cell(samples: Samples) -> str:
        return f"{median(samples) * scale:.3g} ({min(samples) * scale:.3g}) {unit}" if samples else "-"

    if not (ours and peer):
        return Row(what, cell(ours), cell(peer), goal=str(goal or ""), verdict="not measured" if goal else "")
    ratios = [statistic(ours) / statistic(peer) for statistic in (median, min)]
    if goal and goal.at_least:
        ratios = [1 / ratio for ratio in ratios]
    verdict = goal.verdict(ratios[0]) if goal else ""
    return Row(what, cell(ours), cell(peer), f"{ratios[0]:.2f}x", f"{ratios[1]:.2f}x", str(goal or ""), verdict)


def show(title: str, rows: Sequence[Row], markdown: bool) -> None:
    print(f"\n{'## ' if markdown else ''}{title}\n")
    table = [HEADINGS, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(HEADINGS))]
    for number, row in enumerate(table):
        cells = [
            cell.ljust(width) if i in (0, 5) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print(f"| {' | '.join(cells)} |" if markdown else "  ".join(cells).rstrip())
        if number == 0:
            rules = ["-" * (width + 2) if i in (0, 5) else "-" * (width + 1) + ":" for i, width in enumerate(widths)]
            print(f"|{'|'.join(rules)}|" if markdown else "-" * len("  ".join(cells)))
    sys.stdout.flush()


class Worker:
    """A process of `benchmarks.worker` that answers questions."""

    def __init__(self, python: str, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, task: str, **arguments: object) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        print(json.dumps({"task": task, **arguments}), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the process that measured '{task}' ended early; its message is above")
        found: dict[str, Any] = json.loads(answer)
        return found


class Bench:
    """What is measured with what: the options, the peers that were found, a folder for files."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.environment = {
            key: value
            for key, value in os.environ.items()
            # with these NumPy starts unlike it does for users; without bytecode no cache is ever warm
            if key not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONDONTWRITEBYTECODE")
        }
        self.mlir_opt: str | None = options.mlir_opt or next(
            filter(None, map(shutil.which, ("mlir-opt", "mlir-opt-19"))), None
        )
        with self.worker() as worker:
            self.ours = worker.ask("ours_exists")
            self.versions = worker.ask("versions", modules=["numpy", "lark", "click", "xdsl"])
        self.xdsl_python: str | None = options.xdsl_python
        if not self.xdsl_python and self.versions["xdsl"]:
            self.xdsl_python = options.python
        elif self.xdsl_python:
            with self.worker(self.xdsl_python) as worker:
                self.versions["xdsl"] = worker.ask("versions", modules=["xdsl"])["xdsl"]

    def worker(self, python: str | None = None) -> Worker:
        return Worker(python or self.options.python, self.environment)

    def rounds(self, usual: int) -> int:
        rounds: int = self.options.rounds or (max(2, usual // 3) if self.options.quick else usual)
        return rounds

    def file(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def time(self, command: Sequence[str]) -> float:
        """Wall time of a whole process, in seconds."""
        start = perf_counter()
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=self.environment,
        )
        seconds = perf_counter() - start
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr.decode()}")
        return seconds

    def mlir(self, path: str) -> float:
        assert self.mlir_opt
        return self.time([self.mlir_opt, "--allow-unregistered-dialect", path, "-o", os.devnull])


def parse(bench: Bench) -> Iterator[Row]:
    """Parse + verify in process, an operation."""
    count, many = 10_000, 20_000 if bench.options.quick else 100_000
    one = bench.file("one.mlir", generate.generic(1))
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(bench.worker()) if bench.ours["parse"] else None
        xdsl = stack.enter_context(bench.worker(bench.xdsl_python)) if bench.xdsl_python else None
        for layout, style, variety in CASES:
            shape = (style, variety, layout)
            if bench.mlir_opt:
                large = bench.file("many.mlir", generate.generic(many, *shape))
                bare = bench.file("declarations.mlir", generate.generic(many, *shape, instructions=False))
            times: dict[str, Samples] = {"ours": [], "mlir": [], "instructions": [], "xdsl": []}
            size = 0.0
            for number in range(-1, bench.rounds(7)):  # the first round warms up; each has a text of its own
                text = generate.dps(count, *shape, seed=number + 1)
                size = len(text) / count
                if bench.mlir_opt and number >= 0:
                    first, whole, declared = bench.mlir(one), bench.mlir(large), bench.mlir(bare)
                    times["mlir"].append((whole - first) / many)
                    times["instructions"].append((whole - declared) / many)
                if ours:
                    answer = ours.ask("ours", path=bench.file("ours.pto", text))
                    if answer["complaints"]:
                        raise SystemExit(f"the generated program is not legal: {answer['complaints']}")
                    if number >= 0:
                        times["ours"].append((answer["parse"] + answer["verify"]) / count)
                if xdsl:
                    path = bench.file("xdsl.mlir", generate.generic(count, *shape, seed=number + 1))
                    answer = xdsl.ask("xdsl", path=path)
                    if number >= 0:
                        times["xdsl"].append((answer["parse"] + answer["verify"]) / count)
            what = f"{layout}, {style}, {variety} ({size:.0f} B)"
            if bench.mlir_opt:
                yield compare(f"{what}: mlir-opt", times["ours"], times["mlir"], "µs", Goal(2, 4))
                yield compare("  … its declarations of values taken off", times["ours"], times["instructions"], "µs")
            if xdsl:
                yield compare(f"{what}: xDSL", times["ours"], times["xdsl"], "µs", Goal(12, 7, at_least=True))
            if not (bench.mlir_opt or xdsl):
                yield compare(f"{what}: no peer installed", times["ours"], [], "µs")


def startup(bench: Bench) -> Iterator[Row]:
    """Whole processes, wall time."""
    python = bench.options.python
    file = bench.file("ten.pto", generate.dps(9, "compact"))
    script = Path(python).parent / "ptoasm"
    commands: dict[str, list[str]] = {
        "pass": [python, "-c", "pass"],
        "click": [python, "-c", "import click"],
        "lark": [python, "-c", "import click, lark"],
        "numpy": [python, "-c", "import numpy, lark, click"],
    }
    if bench.mlir_opt:
        commands["mlir"] = [bench.mlir_opt, "--version"]
    if bench.xdsl_python:
        commands["xdsl"] = [str(Path(bench.xdsl_python).parent / "xdsl-opt"), "--version"]
    if script.exists() and bench.ours["parse"]:
        commands |= {
            "help": [str(script), "--help"],
            "version": [str(script), "--version"],
            "verify": [str(script), "verify", file],
            "run": [str(script), "run", file],
        }
    times: dict[str, Samples] = {name: [] for name in commands}
    for number in range(-1, bench.rounds(21)):
        for name, command in commands.items():
            seconds = bench.time(command)
            if number >= 0:
                times[name].append(seconds)

    def row(what: str, ours: str, peer: str, goal: Goal | None = None) -> Row:
        return compare(what, times.get(ours, []), times[peer], "ms", goal)

    yield row("ptoasm verify, ten lines : python -c pass", "verify", "pass", Goal(9))
    yield row("ptoasm run, ten lines : import numpy, lark, click", "run", "numpy", Goal(1.5))
    yield row("ptoasm --help : python -c pass", "help", "pass")
    yield row("ptoasm --version : python -c pass", "version", "pass")
    yield row("import click : python -c pass", "click", "pass")
    yield row("import click, lark : python -c pass", "lark", "pass")
    yield row("import numpy, lark, click : python -c pass", "numpy", "pass")
    for name in ("mlir", "xdsl"):
        if name in commands:
            yield row(f"{Path(commands[name][0]).name} --version : python -c pass", name, "pass")


def kernels(bench: Bench) -> Iterator[Row]:
    """A compiled kernel and the bare NumPy calls, copies in and out included."""
    from benchmarks.kernels import CASES as cases

    with bench.worker() as worker:
        for number, case in enumerate(cases):
            samples = worker.ask("kernels", case=number, rounds=bench.rounds(31))
            bare, ours = samples["bare"], samples.get("compiled", [])
            row = compare(f"{case} : NumPy", ours, bare, "µs")
            limit = max(1.3 * median(bare), median(bare) + 2e-6)
            if ours:
                verdict = "met" if median(ours) <= limit else "MISSED"
                row = row._replace(goal=f"<= {limit * 1e6:.3g} µs", verdict=verdict)
            else:
                row = row._replace(goal=f"<= {limit * 1e6:.3g} µs", verdict="not measured")
            yield row
            if "checked" in samples:
                yield compare("  … checked : compiled", samples["checked"], ours, "µs", Goal(2))


def linear(bench: Bench) -> Iterator[Row]:
    """Ten times the statements; memory a statement."""
    if not bench.ours["parse"]:
        yield Row("no parser to measure")
        return
    counts = [1_000, 10_000, 100_000, 1_000_000]
    counts = counts[:2] if bench.options.quick else counts if bench.options.full else counts[:3]
    shapes: tuple[tuple[generate.Style, generate.Variety], ...] = (("keyed", "few"), ("compact", "distinct"))
    for style, variety in shapes:
        times: dict[tuple[str, int], Samples] = {}
        grown: dict[int, float] = {}
        warm = bench.file("warm.pto", generate.dps(1_000, style, variety, seed=99))
        for number in range(bench.rounds(5)):
            for count in counts:
                if count == 1_000_000 and number > 1:
                    continue
                path = bench.file("linear.pto", generate.dps(count, style, variety, seed=number))
                with bench.worker() as worker:  # a fresh process: nothing of an earlier size is left in its heap
                    worker.ask("stages", path=warm)
                    for stage, seconds in worker.ask("stages", path=path).items():
                        times.setdefault((stage, count), []).append(seconds)
                if number == 0:
                    with bench.worker() as worker:
                        worker.ask("memory", path=warm)
                        answer = worker.ask("memory", path=path)
                        grown[count] = answer["bytes"] / answer["statements"] / 1024
        for stage in ("parse", "verify", "print", "convert"):
            for small, large in pairwise(counts):
                what = f"{stage}, {style}, {variety}: {large:,} : {small:,}"
                yield compare(what, times[stage, large], times[stage, small], "ms", Goal(12))
        for count in counts[1:]:
            goal = Goal(1.5, unit=" KiB")
            cell = f"{grown[count]:.2f} KiB"
            what = f"peak memory a statement, {style}, {variety}, {count:,}"
            yield Row(what, cell, goal=str(goal), verdict=goal.verdict(grown[count]))


def describe(bench: Bench) -> Iterator[str]:
    """What this was measured on, and what is missing."""
    processor = platform.processor()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(": ")[2]
                break
    yield f"{processor or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    names = ("python", "numpy", "lark", "click")
    yield ", ".join(f"{name} {bench.versions[name]}" for name in names)
    if bench.mlir_opt:
        version = subprocess.run([bench.mlir_opt, "--version"], capture_output=True, text=True).stdout
        yield f"mlir-opt {version.partition('version ')[2].split()[0]}"
    else:
        yield "mlir-opt: not installed, nothing to compare with"
    yield f"xDSL {bench.versions['xdsl']}" if bench.xdsl_python else "xDSL: not installed (extra 'bench')"
    if not bench.ours["parse"]:
        yield f"ptoasm: no parser found ({bench.ours['file']}), only the peers are measured"
    yield from _installation(bench.options.python)


def _installation(python: str) -> Iterator[str]:
    """What is odd about the `ptoasm` whose start is measured."""
    script = Path(python).parent / "ptoasm"
    if not script.exists():
        yield f"{script}: not installed, its start is not measured"
        return
    code = (
        "import sys; sys.path[:] = [p for p in sys.path if p]\n"
        "import importlib.metadata as m, ptoasm\n"
        "print(ptoasm.__file__); print(m.distribution('ptoasm').read_text('direct_url.json') or '')"
    )
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=Path(python).parent)
    file, _, url = found.stdout.partition("\n")
    if '"editable": true' in url:
        yield "ptoasm is installed with -e, which slows down every start of Python; install it without"
    elif file:
        other = Path(file).parent
        names = [str(path.relative_to(ROOT / "ptoasm")) for path in (ROOT / "ptoasm").rglob("*.py")]
        _, changed, missing = filecmp.cmpfiles(ROOT / "ptoasm", other, names, shallow=False)
        if changed or missing:
            yield f"{other} is not what this checkout holds ({len(changed + missing)} files); install it anew"


SECTIONS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "parse": parse,
    "startup": startup,
    "kernels": kernels,
    "linear": linear,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--only", metavar="PART[,PART]", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, help="rounds of every measurement")
    parser.add_argument("--quick", action="store_true", help="few rounds, small inputs: to see that it works")
    parser.add_argument("--full", action="store_true", help="'linear' up to a million statements")
    parser.add_argument("--markdown", action="store_true", help="tables in Markdown")
    parser.add_argument("--python", default=sys.executable, help="the environment with ptoasm")
    parser.add_argument("--xdsl-python", help="the environment with xDSL, if it is another one")
    parser.add_argument("--mlir-opt", help="mlir-opt, if it is not on the path")
    options = parser.parse_args()
    parts = options.only.split(",") if options.only else list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"--only: no part is called {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="ptoasm-bench-") as folder:
        bench = Bench(options, Path(folder))
        for line in describe(bench):
            print(f"- {line}" if options.markdown else line)
        for part in PARTS:
            if part in parts:
                section = SECTIONS[part]
                show(str(section.__doc__), list(section(bench)), options.markdown)


if __name__ == "__main__":
    main()
