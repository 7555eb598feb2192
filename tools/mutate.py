"""Mutation check of the rules: ``python -m tools.mutate [--jobs N] [RULE-OR-FILE …]``.

Changes the predicates one at a time and runs the programs of the rules until one of them fails:

* *always*: a rule holds whatever it is asked about;
* *target*: a rule leaves out one of its targets;
* *by one*: an integer in a predicate, or in a function that it calls, is one more or one less, and a comparison
  includes or leaves out its limit;
* *type*: a list of element types, or of words, leaves out one of its members.

Each mutant is a process of its own, in which the changed file stands in for the real one. Prints every mutant that no
program notices; those that EQUIVALENT explains do not count.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import multiprocessing
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "ptoasm" / "rules"
FILES = ("base", "common", "tci", "tcolargmin", "tcolsum")
MODULES = {name: f"ptoasm.dialect.{name}" for name in FILES} | {"numbers": "ptoasm.numbers"}
TIMEOUT = 120
NOT_RULES = frozenset(
    {
        *("UNUSED", "_LONGEST", "INSTRUCTIONS", "__slots__", "_scratch_type", "scratch_fix", "whole_blocks", "fitting"),
        *("can_be", "wrong_layout", "count", "_needs", "_shown", "_range", "_sequence", "_clashes"),
    }
)
"""What proposes a fix or says something, and decides nothing; the smallest scratch has tests of its own."""
ELEMENTS = re.compile(r"(?:U?I|B?F)\d+")

EQUIVALENT = {
    r"(always|target) CAM-2[01]\b": "holds whenever the rules that it waits for hold",
    r"target TCS-15 without a2a3": "TCS-12 says the same there and is asked first",
    r"by one tcolargmin:\d+ _gap: cols >= per_repeat": "both branches give a whole repeat where cols is one",
    r"by one tcolsum:\d+ _written: 0 -> -?1": "a region of no rows or columns has no bytes, whatever the other is",
    r"by one common:\d+ INIT-01: 0 -> -1": "a run asks it only of a read in which a byte is missing",
    r"by one numbers:\d+ exact_in: 0 -> 1": "one element is S itself, which is a value of the type",
}
"""Mutants that change nothing that can be seen, by their description, and why."""


class Mutant(NamedTuple):
    """``kind`` is one of the four; ``number`` counts the places in ``file`` where that kind applies."""

    kind: str
    file: str
    number: int
    about: str
    description: str


# --- What can be changed in a file


class Site(NamedTuple):
    """A place in a file's syntax tree: ``change`` puts the mutant there."""

    kind: str
    node: ast.AST
    change: tuple[str, object]
    about: str


def source(file: str) -> str:
    path = ROOT / "ptoasm" / ("numbers.py" if file == "numbers" else f"dialect/{file}.py")
    return path.read_text(encoding="utf-8")


def sites(tree: ast.Module) -> Iterator[Site]:
    """Every place that the two kinds of changes to the text apply to."""
    for about, node in predicates(tree):
        for inner in ast.walk(node):
            yield from _by_one(inner, about)
            yield from _dropped(inner, about)


def _by_one(node: ast.AST, about: str) -> Iterator[Site]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        for value in (node.value + 1, node.value - 1):
            yield Site("by one", node, ("value", value), about)
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            other = _LIMITS.get(type(op))
            if other is not None:
                ops = [*node.ops[:k], other(), *node.ops[k + 1 :]]
                yield Site("by one", node, ("ops", ops), about)


_LIMITS: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


def _dropped(node: ast.AST, about: str) -> Iterator[Site]:
    if not isinstance(node, ast.Tuple) or not node.elts:
        return
    types = all(isinstance(e, ast.Name) and ELEMENTS.fullmatch(e.id) for e in node.elts)
    words = all(isinstance(e, ast.Constant) and isinstance(e.value, str) for e in node.elts)
    if types or words:
        for k in range(len(node.elts)):
            yield Site("type", node, ("elts", [*node.elts[:k], *node.elts[k + 1 :]]), about)


def predicates(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The expressions that decide whether a rule holds, each with the rule or function that it stands in."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            if not re.search("message|place", node.name) and node.name not in NOT_RULES:
                yield from _of_function(node, functions)
        elif isinstance(node, ast.Assign):
            yield from _of_calls(node, getattr(node.targets[0], "id", "?"))


def _of_function(node: ast.FunctionDef, functions: dict[str, ast.FunctionDef]) -> Iterator[tuple[str, ast.AST]]:
    """A factory of rules holds its predicate as an argument; any other function is one itself."""
    made = [call for call in ast.walk(node) if _is_rule(call)]
    if made:
        for call in made:
            yield from _arguments(call, node.name)
    else:
        for statement in node.body:
            yield node.name, statement


def _of_calls(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    """The rules in a tuple of rules; the value of any other constant."""
    calls = [call for call in ast.walk(node) if isinstance(call, ast.Call) and _rule_id(call)]
    for call in calls:
        yield from _arguments(call, _rule_id(call))
    if not calls and isinstance(node, ast.Assign) and not _decides_nothing(node):
        yield name, node.value


def _arguments(call: ast.AST, about: str) -> Iterator[tuple[str, ast.AST]]:
    assert isinstance(call, ast.Call)
    first = 3 if _is_rule(call) else 1
    for argument in call.args[first : first + 1] if _is_rule(call) else call.args[1:]:
        yield about, argument


def _is_rule(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Rule"


def _rule_id(call: ast.Call) -> str:
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str) and re.fullmatch(r"[A-Z]+-\d+", first.value):
        return first.value
    return ""


def _decides_nothing(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id in NOT_RULES for target in node.targets)


# --- Mutants


def all_mutants() -> list[Mutant]:
    found = [*_of_rules()]
    for file in MODULES:
        counts: Counter[str] = Counter()
        for site in sites(ast.parse(source(file))):
            if file == "numbers" and site.about != "exact_in":
                continue
            number = counts[site.kind]
            counts[site.kind] += 1
            before = ast.unparse(site.node)
            description = (
                f"{site.kind} {file}:{getattr(site.node, 'lineno', 0)} {site.about}: {before} -> {_after(site)}"
            )
            found.append(Mutant(site.kind, file, number, site.about, description))
    return found


def _after(site: Site) -> str:
    field, value = site.change
    copy = ast.parse(ast.unparse(site.node), mode="eval").body
    setattr(copy, field, value)
    return ast.unparse(copy)


def _of_rules() -> Iterator[Mutant]:
    from csv import DictReader

    with (ROOT / "tests" / "data" / "constraints.csv").open(encoding="utf-8", newline="") as file:
        rows = list(DictReader(file))
    for number, row in enumerate(rows):
        yield Mutant("always", "", number, row["id"], f"always {row['id']}")
    for row in rows:
        arches = ("a2a3", "a5") if row["arch"] == "all" else (row["arch"],)
        if row["op"] in ("tcolargmin", "tci", "tcolsum", "the three"):
            for number, arch in enumerate(arches):
                yield Mutant("target", "", number, row["id"], f"target {row['id']} without {arch}")


class Mutated(importlib.abc.Loader, importlib.abc.MetaPathFinder):
    """Gives one module with a change in it instead of the real one."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return spec_from_loader(name, self) if name == MODULES[self.mutant.file] else None

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code(), module.__dict__)

    def _code(self) -> CodeType:
        mutant = self.mutant
        tree = ast.parse(source(mutant.file))
        places = [
            s for s in sites(tree) if s.kind == mutant.kind and (mutant.file != "numbers" or s.about == "exact_in")
        ]
        setattr(places[mutant.number].node, *places[mutant.number].change)
        return compile(ast.fix_missing_locations(tree), f"<{mutant.description}>", "exec")


def _change_rule(mutant: Mutant) -> None:
    """Changes the rule itself, wherever it is declared."""
    from ptoasm.dialect import PAGES, instruction
    from ptoasm.dialect.common import COMMON_RULES

    declared = [i.rules for name in PAGES if (i := instruction(name)) is not None]
    for rule in (rule for rules in (COMMON_RULES, *declared) for rule in rules if rule.id == mutant.about):
        if mutant.kind == "always":
            rule.holds = lambda subject: True
        else:
            without = mutant.description.split()[-1]
            rule.arches = tuple(arch for arch in rule.arches if arch != without)


# --- Running one


def survives(mutant: Mutant) -> bool:
    """Whether no program notices; runs in a process of its own, in which nothing of the project is imported yet."""
    assert "ptoasm.dialect" not in sys.modules
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(TIMEOUT)
    try:
        if mutant.file:
            sys.meta_path.insert(0, Mutated(mutant))
        else:
            _change_rule(mutant)
        return all(_passes(path) for path in _programs(mutant))
    except Exception:
        return False
    finally:
        signal.alarm(0)


def _too_long(number: int, frame: object) -> None:
    raise TimeoutError


def _programs(mutant: Mutant) -> Iterable[Path]:
    """The programs of all rules, first those that are the most likely to notice; then those of the other tests."""
    prefix = {"tci": "TCI", "tcolargmin": "CAM", "tcolsum": "TCS", "numbers": "TCI"}.get(mutant.file, "")
    rules = sorted(
        PROGRAMS.glob("*.pto"),
        key=lambda path: (path.stem != mutant.about, not path.stem.startswith(prefix), path.stem),
    )
    return [*rules, *sorted((ROOT / "tests" / "data").glob("*/*.pto"))]


def _passes(path: Path) -> bool:
    from ptoasm.check import check
    from ptoasm.programs import read_programs

    return not any(outcome.failures for program in read_programs(str(path)) for outcome in check(program))


def explanation(mutant: Mutant) -> str | None:
    """Why a mutant cannot be noticed, where that is known."""
    return next((why for pattern, why in EQUIVALENT.items() if re.match(pattern, mutant.description)), None)


def main() -> None:
    parser = argparse.ArgumentParser(description="Change the rules one at a time; see whether a program notices.")
    parser.add_argument("only", nargs="*", help="rules, files or kinds")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    mutants = [m for m in all_mutants() if not options.only or {m.about, m.file, m.kind} & set(options.only)]
    __import__("lark"), __import__("numpy"), __import__("ml_dtypes")
    total, survived, explained = Counter[str](), Counter[str](), Counter[str]()
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        for mutant, alive in zip(mutants, pool.imap(survives, mutants), strict=True):
            total[mutant.kind] += 1
            why = explanation(mutant) if alive else None
            if why:
                explained[mutant.kind] += 1
            elif alive:
                survived[mutant.kind] += 1
                print(f"survived: {mutant.description}", flush=True)
    for kind in total:
        print(f"{kind}: {total[kind]} mutants, {survived[kind]} survived, {explained[kind]} cannot be noticed")
    print(f"all: {total.total()} mutants, {survived.total()} survived, {explained.total()} cannot be noticed")
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
