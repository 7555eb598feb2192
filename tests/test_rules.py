"""The list of rules against the code, and against the programs that break and hold each rule."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from ptoasm.catalog import Entry, examples, rules
from ptoasm.check import check, directives
from ptoasm.dialect import PAGES, instruction, instruction_names
from ptoasm.dialect.base import BOTH, Rule
from ptoasm.dialect.common import FORM_RULES, HAZARD_RULES
from ptoasm.ir import Module
from ptoasm.programs import Program, read_programs
from ptoasm.targets import TARGETS
from ptoasm.verifier import verify

ROOT = Path(__file__).parent.parent
LIST = ROOT / "tests" / "data" / "constraints.csv"
PROGRAMS = ROOT / "ptoasm" / "rules"
NEVER_PRINTED = {"CAM-20", "CAM-21"}
"""These hold whenever the rules that they wait for hold; the list says so."""
IMPLIED = {("TCS-15", "a2a3")}
"""On this target another rule says the same and is asked first: TCS-12."""
AT_RUN_TIME = {"INIT-01"}
FORMS = ("sync", "ssa", "dps")


def listed() -> list[dict[str, str]]:
    with LIST.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


ROWS = listed()
IDS = [row["id"] for row in ROWS]
ENTRIES = {entry.id: entry for entry in rules()}


class Shown(NamedTuple):
    """A program of a rule's file on a target: what it claims, and which of its forms show it."""

    part: int | None
    arch: str
    kind: str
    codes: frozenset[str]
    forms: frozenset[str]


@cache
def shown(id_: str) -> list[Shown]:
    path = PROGRAMS / f"{id_}.pto"
    return [one for program in read_programs(str(path)) for one in _shown(program, id_)]


def _shown(program: Program, id_: str) -> Iterator[Shown]:
    title = program.text.splitlines()[0]
    assert title.startswith((f"// breaks {id_}: ", f"// holds {id_}: ")), title
    codes = frozenset(e.text for e in directives(program).expected if e.severity != "remark")
    for outcome in check(program):
        assert not outcome.failures, f"program {program.part} of {program.filename}"
        module = program.parse()
        kind = title.split()[1]
        yield Shown(program.part, outcome.arch, kind, codes, frozenset(_forms(module, outcome.arch, id_, kind)))


def _forms(module: Module, arch: str, id_: str, kind: str) -> Iterator[str]:
    """The forms of the operations that break the rule, or of all those in a program that holds it."""
    faults = [d.span.start for d in verify(module, arch) if d.code == id_ and d.span is not None]
    for function in module.functions:
        for op in function.walk():
            own = op.shape.definition is not None and op.shape.definition.name in PAGES
            if own and (kind == "holds" or any(op.start <= start < op.end for start in faults)):
                yield op.shape.form


def rule_of(id_: str) -> Rule | None:
    """The rule, where it is about an instruction in its forms."""
    found = [r for name in PAGES if (i := instruction(name)) for r in i.rules]
    return next((r for r in (*found, *FORM_RULES, *HAZARD_RULES) if r.id == id_), None)


def test_the_list_is_the_code() -> None:
    assert [entry.id for entry in rules()] == IDS
    assert len(IDS) == len(set(IDS)) == 80


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_rule_is_as_the_list_says(row: dict[str, str]) -> None:
    entry = ENTRIES[row["id"]]
    assert (entry.severity, entry.op, entry.mode) == (row["severity"], row["op"], row["mode"])
    assert entry.arches == (BOTH if row["arch"] == "all" else (row["arch"],))
    assert entry.after == tuple(row["after"].split())
    assert entry.text
    assert entry.page


def test_every_rule_of_an_instruction_is_in_the_list() -> None:
    for name in instruction_names():
        definition = instruction(name)
        assert definition is not None
        assert {rule.id for rule in definition.rules} <= set(IDS), name


def test_every_file_of_programs_is_a_rule() -> None:
    assert {path.stem for path in PROGRAMS.glob("*.pto")} == set(IDS)


def targets(entry: Entry) -> tuple[str, ...]:
    return tuple(name for name in TARGETS if name in entry.arches and (entry.id, name) not in IMPLIED)


@pytest.mark.parametrize("id_", [i for i in IDS if i not in NEVER_PRINTED])
def test_a_program_breaks_just_this_rule(id_: str) -> None:
    for arch in targets(ENTRIES[id_]):
        alone = [one for one in shown(id_) if one.kind == "breaks" and one.arch == arch and one.codes == {id_}]
        assert alone, f"no program breaks {id_} alone on {arch}"


@pytest.mark.parametrize("id_", IDS)
def test_a_program_holds_the_rule_at_its_boundary(id_: str) -> None:
    for arch in targets(ENTRIES[id_]):
        legal = [one for one in shown(id_) if one.kind == "holds" and one.arch == arch and not one.codes]
        assert legal, f"no legal program holds {id_} on {arch}"


@pytest.mark.parametrize("id_", [i for i in IDS if i not in NEVER_PRINTED | AT_RUN_TIME and rule_of(i) is not None])
def test_a_rule_is_broken_and_held_in_every_form(id_: str) -> None:
    rule = rule_of(id_)
    assert rule is not None
    needs_scratch = "tmp" in (*rule.operands, rule.mode) or id_ == "HAZ-02"
    forms = {form for form in rule.forms if not (form == "sync" and needs_scratch)}
    for arch in targets(ENTRIES[id_]):
        for kind in ("breaks", "holds"):
            found = {f for one in shown(id_) if one.kind == kind and one.arch == arch for f in one.forms}
            assert forms <= found, f"no program {kind} {id_} on {arch} in the form {forms - found}"


@pytest.mark.parametrize("id_", sorted(NEVER_PRINTED))
def test_a_rule_that_others_imply_is_never_printed(id_: str) -> None:
    assert {one.kind for one in shown(id_)} == {"holds"}
    for path in PROGRAMS.glob("*.pto"):
        for program in read_programs(str(path)):
            module = program.parse()
            assert not [d for arch in TARGETS for d in verify(module, arch) if d.code == id_]


def test_a_rule_that_another_implies_on_a_target_is_not_printed_there() -> None:
    for id_, arch in IMPLIED:
        for program in read_programs(str(PROGRAMS / f"{id_}.pto")):
            assert id_ not in {d.code for d in verify(program.parse(), arch)}


@pytest.mark.parametrize("id_", IDS)
def test_explain_shows_the_first_programs_of_the_file(id_: str) -> None:
    first = {one.kind: one for one in reversed(shown(id_))}
    assert set(examples(id_)) == set(first)
    if "breaks" in first:
        assert first["breaks"].codes == {id_}
    assert not first["holds"].codes


def test_every_rule_that_is_waited_for_exists() -> None:
    for entry in rules():
        assert set(entry.after) <= set(IDS), entry.id
