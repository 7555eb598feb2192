"""Every code that a diagnostic can have: the documented rules in the order of their list, and the codes of the text.

``explain``, SARIF and the table in the documentation are made from it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple, cast

from ptoasm.diagnostics import Severity
from ptoasm.dialect import PAGES, instruction
from ptoasm.dialect.base import BOTH, Rule, stated_in
from ptoasm.dialect.common import COMMON_RULES, FORM_RULES
from ptoasm.render import RuleInfo

_ABOUT = {
    "TILE": "type",
    "ADDR": "tassign, alloc_tile",
    "PLACE": "placement",
    "ARCH": "module",
    "HAZ": "the three",
    "INIT": "all ops",
    "FORM": "the three",
}
_ALL_FORMS = ("sync", "ssa", "dps")


class Entry(NamedTuple):
    """A code. ``op`` is what it is about; ``arches``, ``mode`` and ``after`` say when a rule is asked."""

    id: str
    severity: Severity
    text: str
    page: str = ""
    op: str = ""
    mode: str = "any"
    arches: tuple[str, ...] = BOTH
    after: tuple[str, ...] = ()

    @property
    def targets(self) -> str:
        """The targets in a word."""
        return "all" if self.arches == BOTH else " ".join(self.arches)

    @property
    def info(self) -> RuleInfo:
        """What SARIF lists."""
        return RuleInfo(self.id, self.severity, self.text, self.page)


class Example(NamedTuple):
    """A program of a rule's file: what it shows, and its text."""

    title: str
    text: str


def rules() -> list[Entry]:
    """The documented rules, in the order of their list."""
    forms = set(FORM_RULES)
    found = [_entry(rule, _ABOUT[rule.id.partition("-")[0]], "") for rule in COMMON_RULES if rule not in forms]
    for name in PAGES:
        definition = instruction(name)
        assert definition is not None
        found += [_entry(rule, name, definition.page) for rule in definition.rules]
    return found + [_entry(rule, "tcolargmin" if rule.id == "FORM-03" else "the three", "") for rule in FORM_RULES]


def _entry(rule: Rule, op: str, page: str) -> Entry:
    mode = rule.mode if rule.id[:4] != "FORM" or rule.forms == _ALL_FORMS else "/".join(rule.forms)
    severity = cast(Severity, rule.severity)
    return Entry(rule.id, severity, rule.text, stated_in(rule, page), op, mode, rule.arches, rule.after)


def entries() -> list[Entry]:
    """Every code: the documented rules, then the others."""
    return [*rules(), *OTHERS]


def find(code: str) -> Entry | None:
    """The entry with this code, in upper or lower case."""
    return next((entry for entry in entries() if entry.id == code.strip().upper()), None)


def examples(code: str) -> dict[str, Example]:
    """The first program that breaks a rule and the first that holds it, as ``breaks`` and ``holds``."""
    path = os.path.join(os.path.dirname(__file__), "rules", f"{code}.pto")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return {}
    found: dict[str, Example] = {}
    for kind, example in _programs(text):
        found.setdefault(kind, example)
    return found


_TITLE = re.compile(r"// (breaks|holds) [A-Z]+-[0-9]+: (.*)\n")


def _programs(text: str) -> Iterator[tuple[str, Example]]:
    for piece in re.split(r"^// -----[ \t]*\n", text, flags=re.MULTILINE):
        match = _TITLE.match(piece)
        if match is not None:
            yield match[1], Example(match[2].strip(), piece[match.end() :].strip("\n"))


def explanation(entry: Entry) -> str:
    """What ``explain`` prints about a code."""
    about = [] if entry.op == "" else [f"on {entry.targets}" if entry.targets != "all" else "on all targets", entry.op]
    if entry.mode != "any":
        about.append(f"{entry.mode}")
    lines = [f"{entry.id}: {', '.join([entry.severity, *about])}", "", f"  {entry.text}", ""]
    if entry.page:
        lines.append(f"Stated in: {entry.page}")
    if entry.after:
        lines.append(f"Asked where these hold, or do not apply: {' '.join(entry.after)}")
    for kind, example in examples(entry.id).items():
        does = "breaks" if kind == "breaks" else "holds"
        lines += ["", f"A program that {does} it ({example.title}):", ""]
        lines += [f"    {line}" if line else "" for line in example.text.splitlines()]
    return "\n".join(lines).rstrip()


def listing() -> str:
    """All codes as a table for the terminal."""
    rows = [("code", "severity", "targets", "about", "rule")]
    rows += [(e.id, e.severity, e.targets if e.op else "", _about(e), e.text) for e in entries()]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    return "\n".join("  ".join([*map(str.ljust, row, widths), row[4]]).rstrip() for row in rows)


def _about(entry: Entry) -> str:
    return entry.op if entry.mode == "any" else f"{entry.op}, {entry.mode}"


def _others(severity: Severity, page: str, *lines: tuple[str, str]) -> list[Entry]:
    return [Entry(code, severity, text, page) for code, text in lines]


OTHERS: tuple[Entry, ...] = (
    *_others(
        "error",
        "",
        ("PARSE-01", "the statement is not written as the language writes it"),
        ("PARSE-02", "a character, a string or a bracket stands where it has no place, or is never closed"),
        ("PARSE-03", "the text of a type is not a type"),
        ("PARSE-04", "a statement begins with a name that is no instruction"),
        ("PARSE-05", "the file is not UTF-8 text"),
        ("PARSE-06", "a region is closed that is not open, or is never closed"),
        ("PARSE-07", "the file is empty"),
        ("PARSE-08", "regions are nested too deep"),
    ),
    Entry("PARSE-09", "warning", "a ptoasm-ignore comment names something else than the code of a warning or a remark"),
    *_others(
        "error",
        "",
        ("NAME-01", "a name is used that nothing defines"),
        ("NAME-02", "a name is defined twice"),
        ("NAME-03", "a name is used before the statement that defines it"),
    ),
    Entry("NAME-04", "warning", "an operation is not known, but its name is nearly one that is"),
    *_others(
        "error",
        "",
        ("TYPE-01", "uses of a value disagree on its type"),
        ("TYPE-02", "a literal is not a value of its type"),
        ("TYPE-03", "an operand is a tile where the instruction has a scalar, or the other way round"),
    ),
    Entry("TYPE-04", "remark", "a tile type has a parameter that is not known: it is kept as it is written"),
    *_others(
        "error",
        "",
        ("TYPE-05", "a statement of a host dialect has types or operands that do not go together"),
    ),
    Entry("CONV-02", "remark", "a conversion leaves something out, or says it in another way"),
    Entry("ARCH-02", "remark", "the module names another target than the one it is read for", "decision D-18"),
    Entry("RUN-17", "warning", "an output that was asked for was overwritten by another tile"),
    Entry("RUN-13", "remark", "what a tprint of the program shows"),
    Entry("RUN-18", "remark", "inputs have their data from the file's own comments, or are filled as there is none"),
    Entry("NAN-01", "remark", "a run met a NaN: it counts as the minimum", "decision D-02"),
    *_others(
        "error",
        "",
        ("RUN-01", "a name that the command line or the program gives data to does not exist, or data is missing"),
        ("RUN-02", "the type or the shape of an array is not the one that the program has"),
        ("RUN-03", "a file or a folder cannot be read"),
        ("RUN-04", "a file cannot be written"),
        ("RUN-05", "the operation is one that the machine cannot execute"),
        ("RUN-06", "shapes, strides or sizes of a view of global memory do not go together"),
        ("RUN-07", "the run has executed more statements than --max-steps allows"),
        ("RUN-08", "the arithmetic of the program has no result, or a loop has no step"),
        ("RUN-09", "an access lies outside of the memory that it goes to"),
        ("RUN-10", "a function calls itself: the machine has no recursion"),
        ("RUN-11", "the instruction cannot read or write the bytes that its operand stands for"),
        ("RUN-12", "the instruction has no result for these element types, shapes or attributes"),
        ("RUN-14", "the data for two inputs disagree about bytes that both have"),
        ("RUN-15", "an output that was asked for has no value at the end of the run"),
        ("RUN-16", "an output is not what --expect says"),
        ("CONV-01", "the form that was asked for cannot say what the program says"),
        ("CHECK-01", "a program did not do what its comments expect"),
        ("CHECK-02", "a comment with an expectation cannot be understood"),
    ),
)
"""Codes that belong to no documented rule."""
