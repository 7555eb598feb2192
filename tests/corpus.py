"""The programs of the repository, one by one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ptoasm.diagnostics import has_errors
from ptoasm.ir import Module
from ptoasm.parser import parse

ROOT = Path(__file__).parent.parent
_SEPARATOR = re.compile(r"(?m)^// -----[ \t]*$")


@cache
def programs(*folders: str) -> dict[str, str]:
    """The programs below these folders that are the language, by file and number."""
    found = {}
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.pto")):
            for k, text in enumerate(_SEPARATOR.split(path.read_text(encoding="utf-8"))):
                if not has_errors(parse(text).diagnostics):
                    found[f"{path.relative_to(ROOT)}:{k}"] = text
    return found


def samples() -> dict[str, str]:
    """The samples."""
    return programs("samples")


def everything() -> dict[str, str]:
    """The samples, the programs of the tests and those of the rules."""
    return programs("samples", "tests/data", "ptoasm/rules")


def module(text: str) -> Module:
    """The module of a text that is the language."""
    made = parse(text)
    assert not has_errors(made.diagnostics), made.diagnostics
    return made
