"""The transcripts and Python examples in the documentation are real: each is run again and must do the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import rules_page
from tools.transcripts import BLOCK, ROOT, pages, renewed

PAGES = pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_transcripts_are_real(page: Path) -> None:
    text = page.read_text()
    assert renewed(text) == text, "run: python tools/transcripts.py"


def test_the_readme_has_transcripts() -> None:
    assert BLOCK.search((ROOT / "README.md").read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_examples_run(page: Path, tmp_path: Path) -> None:
    for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        (tmp_path / "samples").unlink(missing_ok=True)
        (tmp_path / "samples").symlink_to(ROOT / "samples")
        subprocess.run(
            [sys.executable, "-c", block], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True
        )


def test_there_are_two_setup_commands() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len([line for line in lines if line.startswith("sh tools/venv.sh")]) == 2


def test_the_table_of_rules_is_current() -> None:
    assert rules_page.PAGE.read_text() == rules_page.page(), "run: python -m tools.rules_page"


def test_every_link_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
