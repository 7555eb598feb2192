"""Files are written whole or not at all, and links stay links."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ptoasm.cli import cli
from ptoasm.diagnostics import PtoError
from ptoasm.files import Files, write_text

TEXT = "%d = tci 5 : !pto.tile<vec, 1x8xi32>\n"


def test_a_link_stays_one(tmp_path: Path) -> None:
    target, link = tmp_path / "target.pto", tmp_path / "link.pto"
    target.write_text(TEXT.replace(" 5 ", "  5  "))
    link.symlink_to(target)
    assert CliRunner().invoke(cli, ["fmt", str(link)]).exit_code == 0
    assert link.is_symlink() and target.read_text() == TEXT
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.pto", "target.pto"]


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(str(pipe), "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


def test_none_is_written_where_one_cannot_be(tmp_path: Path) -> None:
    files = Files()
    files.add(str(tmp_path / "one"), lambda file: file.write(b"1"))
    files.add(str(tmp_path / "missing" / "two"), lambda file: file.write(b"2"))
    with pytest.raises(PtoError, match="it cannot be written: No such file or directory"):
        files.write()
    assert list(tmp_path.iterdir()) == []


def test_a_failed_comparison_leaves_no_output(tmp_path: Path) -> None:
    (tmp_path / "p.pto").write_text(TEXT)
    np.save(tmp_path / "wrong.npy", np.zeros((1, 8), np.int32))
    arguments = ["run", str(tmp_path / "p.pto"), "--output", f"d={tmp_path / 'd.npy'}"]
    assert CliRunner().invoke(cli, [*arguments, "--expect", f"d={tmp_path / 'wrong.npy'}"]).exit_code == 1
    assert not (tmp_path / "d.npy").exists()
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    assert np.load(tmp_path / "d.npy").tolist() == [list(range(5, 13))]
