"""Files that cannot be read or written, names of all kinds: always a message, and the other files get their turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ptoasm.cli import cli

GOOD = "%a = tci 1 : !pto.tile<vec, 1x8xi32>\n"
LOOSE = GOOD.replace("= ", "=   ")
READERS = (["check"], ["fmt", "--check"], ["convert", "--to", "dps"], ["map"], ["run"], ["verify"])


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, data in (("bytes.pto", b"\xff\xfe\0"), ("empty.pto", b""), ("nul.pto", bytes(3)), ("good.pto", b"")):
        Path(name).write_bytes(data)
    Path("good.pto").write_text(GOOD)
    Path("folder.pto").mkdir()
    Path("loop.pto").symlink_to("loop.pto")


def ptoasm(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, catch_exceptions=False)


@pytest.mark.parametrize("command", READERS, ids=lambda command: str(command[0]))
def test_a_file_that_is_no_program(command: list[str]) -> None:
    for name in ("bytes.pto", "empty.pto", "nul.pto", "folder.pto", "loop.pto", "nowhere.pto", "", "a\0b"):
        result = ptoasm(*command, name)
        assert result.exit_code == 1
        assert ": error: " in result.output


def test_one_wrong_file_keeps_no_other_from_its_turn() -> None:
    Path("loose.pto").write_text(LOOSE)
    result = ptoasm("fmt", "nowhere.pto", "folder.pto", "bytes.pto", "loose.pto")
    assert result.exit_code == 1
    assert Path("loose.pto").read_text() == GOOD
    result = ptoasm("check", "nowhere.pto", "folder.pto", "bytes.pto", "good.pto")
    assert result.exit_code == 1
    assert "good.pto: 1 program, 1 check passed" in result.output


@pytest.mark.parametrize("command", READERS, ids=lambda command: str(command[0]))
def test_what_a_name_holds_does_not_reach_the_terminal_raw(command: list[str]) -> None:
    Path("\x1b[31m\n.pto").write_text(LOOSE)
    result = CliRunner().invoke(cli, [*command, "\x1b[31m\n.pto"], color=True)
    assert "\x1b[31m" not in result.output
    assert "\x1b" not in ptoasm("explain", "\x1b").output


@pytest.mark.parametrize("path", ["", "nowhere/x", "folder.pto", "a\0b", "/dev/full"])
def test_a_place_that_cannot_be_written(path: str) -> None:
    commands = (["convert", "--to", "dps", "-o"], ["map", "--svg"], ["run", "--dump-ub"])
    for command in commands:
        result = ptoasm(command[0], "good.pto", *command[1:], path)
        assert result.exit_code == 1
        assert "it cannot be written" in result.output


def test_a_dash_is_standard_output() -> None:
    command = ("convert", "good.pto", "--to", "dps")
    assert ptoasm(*command, "-o", "-").output == ptoasm(*command).output
    assert not Path("-").exists()


@pytest.mark.parametrize("path", ["", "nowhere", "folder.pto", "/dev/zero"])
def test_an_image_of_the_ub_that_is_none(path: str) -> None:
    result = ptoasm("run", "good.pto", "--load-ub", path)
    assert result.exit_code == 1
    assert "RUN-0" in result.output


@pytest.mark.parametrize("arguments", [["--arch", "all"], ["--werror"], ["--ignore", "TCI-10"]])
def test_check_takes_what_verify_takes(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "p.pto").write_text(GOOD.replace(" 1 ", " 2147483647 " if "TCI-10" in arguments else " 1 "))
    assert CliRunner().invoke(cli, ["check", str(tmp_path / "p.pto"), *arguments]).exit_code == 0
