"""Writes docs/rules.md from the rules themselves: python -m tools.rules_page"""

from __future__ import annotations

from pathlib import Path

from ptoasm.catalog import Entry, entries, rules

PAGE = Path(__file__).resolve().parent.parent / "docs" / "rules.md"
_HEAD = """# The rules

Made by `python -m tools.rules_page` from the rules in `ptoasm/dialect/`; a test keeps it current. `ptoasm explain ID`
shows a rule with a program that breaks it and one that holds it. *After*: a rule is asked only where these hold
(decision D-24), so that one fault gives one diagnostic.

"""


def _row(entry: Entry) -> str:
    mode = "" if entry.mode in ("any", "") else f" ({entry.mode})"
    cells = (
        entry.id,
        entry.severity,
        "all" if len(entry.arches) > 1 else " ".join(entry.arches),
        f"{entry.op}{mode}",
        entry.text,
        entry.page,
        " ".join(entry.after),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page() -> str:
    """The page's text."""
    listed = rules()
    ids = {entry.id for entry in listed}
    others = [entry for entry in entries() if entry.id not in ids]
    table = "| id | severity | targets | about | rule | stated in | after |\n|---|---|---|---|---|---|---|\n"
    codes = "\n## Other codes\n\n| code | severity | what it says |\n|---|---|---|\n"
    return (
        _HEAD
        + table
        + "".join(f"{_row(entry)}\n" for entry in listed)
        + codes
        + "".join(f"| {e.id} | {e.severity} | {e.text} |\n" for e in others)
    )


if __name__ == "__main__":
    PAGE.write_text(page())
