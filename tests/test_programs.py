"""Every program with expectations in its comments: the tests' own, the samples, and those of the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptoasm.check import check
from ptoasm.programs import read_programs
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


def test_every_folder_has_programs() -> None:
    assert {path.parent for path in FILES} == {ROOT / folder for folder in FOLDERS}
