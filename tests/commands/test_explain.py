"""``ptoasm explain``"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptoasm
from ptoasm.catalog import OTHERS, entries, rules
from ptoasm.cli import cli


def explain(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        cli.main(["explain", *arguments], prog_name="ptoasm", standalone_mode=True)
    except SystemExit as stop:
        return (int(stop.code or 0), *capsys.readouterr())
    raise AssertionError("the command did not exit")


def test_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = explain(capsys, "CAM-12")
    assert (status, err) == (0, "")
    assert out.splitlines()[:5] == [
        "CAM-12: error, on a5, tcolargmin, index",
        "",
        "  src element type is one of i8 ui8 i16 ui16 i32 ui32 f16 f32",
        "",
        "Stated in: TCOLARGMIN, Index-Only Mode, Ascend 950PR/Ascend 950DT Implementation Check; decision D-19",
    ]
    assert "A program that breaks it (a source of bf16):" in out
    assert "    // expected-error @below {{CAM-12}}" in out
    assert "A program that holds it (a source of i8):" in out


def test_a_rule_that_waits_for_others(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = explain(capsys, "cam-27")
    assert "Asked where these hold, or do not apply: CAM-26" in out


def test_a_rule_that_is_never_printed_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = explain(capsys, "CAM-20")
    assert "never printed" in out
    assert "breaks it" not in out


@pytest.mark.parametrize("code", [entry.id for entry in entries()])
def test_every_code_is_explained(capsys: pytest.CaptureFixture[str], code: str) -> None:
    status, out, _ = explain(capsys, code)
    assert status == 0
    assert out.startswith(f"{code}: ")


def test_every_code_that_the_sources_mention_has_an_entry() -> None:
    root = Path(ptoasm.__file__).parent
    files = [*root.rglob("*.py"), *(root / "interpreter").rglob("*.py")]
    code = re.compile(r'"([A-Z]{3,6}-\d\d)"')
    mentioned = {match for file in files for match in code.findall(file.read_text(encoding="utf-8"))}
    assert len(mentioned) > 80
    assert mentioned <= {entry.id for entry in entries()}


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = explain(capsys, "--list")
    assert status == 0
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [entry.id for entry in (*rules(), *OTHERS)]
    assert lines[0].split() == ["code", "severity", "targets", "about", "rule"]


def test_a_code_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = explain(capsys, "CAM-123")
    assert status == 2
    assert "There is no code 'CAM-123'. Did you mean 'CAM-12'?" in err
    assert explain(capsys)[0] == 2
