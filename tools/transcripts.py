"""Runs the commands of the documentation's ``console`` blocks again and writes what they print below them.

python tools/transcripts.py            # all pages
python tools/transcripts.py README.md  # one
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """The pages that hold transcripts."""
    return [ROOT / "README.md", ROOT / "samples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def run(command: str, folder: Path) -> str:
    """What a ``ptoasm`` command prints, both streams, run in a folder that has the samples."""
    words = shlex.split(command)
    if words[0] != "ptoasm":
        raise ValueError(f"only ptoasm's own commands can be run again, not: {command}")
    if not (folder / "samples").exists():
        (folder / "samples").symlink_to(ROOT / "samples")
    done = subprocess.run(
        [sys.executable, "-m", "ptoasm", *words[1:]],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout.rstrip()


def commands(block: str) -> list[str]:
    """The commands of a block, without the ``$``."""
    return re.findall(r"^\$ (.*)$", block, re.MULTILINE)


def renewed(page: str) -> str:
    """The page's text with every transcript run again; the commands of one block share a folder."""

    def renew(match: re.Match[str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            pieces = [f"$ {c}\n{run(c, Path(folder))}".rstrip() for c in commands(match[1])]
        return "```console\n" + "\n".join(pieces) + "\n```"

    return BLOCK.sub(renew, page)


def main() -> None:
    """Renews the pages named on the command line, else all."""
    for path in [ROOT / name for name in sys.argv[1:]] or pages():
        path.write_text(renewed(path.read_text()))


if __name__ == "__main__":
    main()
