"""The transcripts in the documentation are real: each is run again and must print the same."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "samples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


class Transcript(NamedTuple):
    page: str
    command: str
    output: str


def transcripts(path: Path) -> list[Transcript]:
    """The commands of a page's ``console`` blocks, each with the lines below it."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = piece.partition("\n")
            found.append(Transcript(str(path.relative_to(ROOT)), command, output.rstrip()))
    return found


ALL = [transcript for page in PAGES for transcript in transcripts(page)]


@pytest.mark.parametrize("transcript", ALL, ids=lambda t: f"{t.page}: {t.command}")
def test_transcript_is_real(transcript: Transcript, tmp_path: Path) -> None:
    words = shlex.split(transcript.command)
    assert words[0] == "ptoasm", "only ptoasm's own commands can be run again"
    # A copy of the samples, so that a command may write files beside them.
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    run = subprocess.run(
        [sys.executable, "-m", "ptoasm", *words[1:]],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert run.stdout.rstrip() == transcript.output


def test_pages_have_transcripts() -> None:
    assert any(transcript.page == "README.md" for transcript in ALL)


def test_python_examples_run() -> None:
    for page in PAGES:
        for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            subprocess.run(
                [sys.executable, "-c", block],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                check=True,
            )


def test_there_are_two_setup_commands() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len([line for line in lines if line.startswith("sh tools/venv.sh")]) == 2
