"""Every program with expectations in its comments: the tests' own, the samples, and those of the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptoasm.check import check
from ptoasm.programs import Program, read_programs
from ptoasm.render import render_text

ROOT = Path(__file__).parent.parent
FOLDERS = ("tests/data/cases", "tests/data/programs", "samples", "ptoasm/rules")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.pto"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_expectations_hold(path: Path) -> None:
    failures = [
        f"program {outcome.program.part} on {outcome.arch}:\n{render_text(outcome.failures)}"
        for program in read_programs(str(path))
        for outcome in check(program)
        if outcome.failures
    ]
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("input %s = [[\u0663]]", "'\u0663' is no number"),
        ("input %s = [[1_0]]", "',' expected before '_'"),
        ("input %s = zeros(\u0663)", "'\u0663' is no number of elements"),
        ("input %s = random(-1)", "'-1' is no number of elements and no seed"),
        ("expect %d = [[1, 2]", "it stops in the middle"),
        ("expect %d =", "it stops in the middle"),
        ("expect %d = [1] 2", "'2' is too much"),
        ("expect %d = file()", "file has 0 arguments; it must have 1"),
        ("expect %d = full(1, 2, 3)", "full has 3 arguments; it must have 1 or 2"),
        ("expect %d = random(1, 2, 3)", "random has 3 arguments; it must have 0 to 2"),
        (f"expect %d = {'[' * 20000}", "its lists are nested too deep"),
        ("expect %d ~ [[1]] rtol=-1", "rtol is -1; it must not be negative"),
    ],
)
def test_numbers_in_comments(comment: str, message: str) -> None:
    (outcome,) = check(Program("p.pto", f"// {comment}\n%d = tci 0 : !pto.tile<vec, 1x8xi32>\n", 1, None))
    assert [d.code for d in outcome.failures] == ["CHECK-02"]
    assert message in outcome.failures[0].message


def test_every_folder_has_programs() -> None:
    assert {path.parent for path in FILES} == {ROOT / folder for folder in FOLDERS}
