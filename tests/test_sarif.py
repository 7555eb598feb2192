"""SARIF logs, against the published schema."""

from __future__ import annotations

import importlib
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptoasm.diagnostics import Diagnostic, Note, Severity
from ptoasm.render import FileResult, RuleInfo, to_sarif
from ptoasm.source import Source, Span

SCHEMA = Path(__file__).parent.parent / ".cache" / "sarif-schema-2.1.0.json"
HOW = "the schema of SARIF is missing: run tools/sarif_schema.py or set PTOASM_SARIF_SCHEMA"

SOURCE = Source("%a = x\n%b = y\n", "k.pto")
RULES = [
    RuleInfo("CAM-07", "error", "src valid cols != 0", "TCOLARGMIN, Runtime checks"),
    RuleInfo("CAM-08", "error", "dstIdx valid rows == 1", "TCOLARGMIN, Runtime checks"),
    RuleInfo("HAZ-01", "warning", "outputs do not overlap inputs", "TCOLSUM, Constraints"),
]
ROWS = Diagnostic("error", "CAM-08", "2 rows, not 1", SOURCE, Span(7, 9), (), "tcolargmin", "kernel")


def log_of(*diagnostics: Diagnostic, arch: str = "a2a3", part: int | None = None) -> dict[str, Any]:
    """A log with the findings of one file."""
    return to_sarif([FileResult("k.pto", arch, part, list(diagnostics))], RULES, "0.1.0")


def run_of(log: dict[str, Any]) -> Any:
    """The only run of a log."""
    (run,) = log["runs"]
    return run


def result_of(*diagnostics: Diagnostic) -> Any:
    """The only result for some findings."""
    (result,) = run_of(log_of(*diagnostics))["results"]
    return result


def test_what_would_help_is_called_so() -> None:
    notes = (Note("dstIdx.GetValidRow() == 1"), Note("help: dstIdx can have 1 row"))
    text = result_of(ROWS._replace(notes=notes))["message"]["text"]
    assert text.splitlines()[1:] == ["note: dstIdx.GetValidRow() == 1", "help: dstIdx can have 1 row"]


@cache
def validator() -> Any:
    """A validator for the published schema, None where there is none."""
    path = Path(os.environ.get("PTOASM_SARIF_SCHEMA") or SCHEMA)
    if not path.is_file():
        return None
    schema = json.loads(path.read_text(encoding="utf-8"))
    # By name, because the package has no types of its own.
    kind = importlib.import_module("jsonschema").validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def check(log: dict[str, Any]) -> None:
    """The log, written and read, is valid. Without the schema this is skipped, but never where CI runs it."""
    if validator() is None:
        if os.environ.get("CI"):
            pytest.fail(HOW)
        pytest.skip(HOW)
    errors = [f"{e.json_path}: {e.message}" for e in validator().iter_errors(json.loads(json.dumps(log)))]
    assert errors == []


# The whole log


def test_a_log_in_full() -> None:
    log = to_sarif([FileResult("k.pto", "a5", None, [ROWS])], RULES[1:2], "0.1.0")
    rule = {
        "id": "CAM-08",
        "shortDescription": {"text": "dstIdx valid rows == 1"},
        "help": {"text": "dstIdx valid rows == 1\nStated in: TCOLARGMIN, Runtime checks"},
        "defaultConfiguration": {"level": "error"},
    }
    region = {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 3}
    location = {
        "physicalLocation": {"artifactLocation": {"uri": "k.pto"}, "region": region},
        "logicalLocations": [{"name": "kernel", "kind": "function"}],
    }
    result = {
        "ruleId": "CAM-08",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": "'tcolargmin' op 2 rows, not 1"},
        "locations": [location],
        "properties": {"targets": ["a5"]},
    }
    assert log == {
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [
            {
                "tool": {"driver": {"name": "ptoasm", "version": "0.1.0", "rules": [rule]}},
                "columnKind": "unicodeCodePoints",
                "results": [result],
            }
        ],
    }
    check(log)


def test_a_log_without_findings_is_valid() -> None:
    log = to_sarif([FileResult("k.pto", "a5", None, [])], RULES, "0.1.0")
    assert run_of(log)["results"] == []
    check(log)
    check(to_sarif([], [], "0.1.0"))


def test_the_validator_would_notice() -> None:
    log = log_of(ROWS)
    check(log)
    del run_of(log)["results"][0]["message"]
    assert not validator().is_valid(log)


# Rules


def test_codes_outside_the_rules_get_an_entry() -> None:
    parse = Diagnostic("error", "PARSE-02", "no", SOURCE, Span(0, 1))
    other = Diagnostic("remark", "ZZ", "hm", SOURCE)
    log = log_of(parse, other, parse._replace(message="nor this"), ROWS)
    rules = run_of(log)["tool"]["driver"]["rules"]
    assert [r["id"] for r in rules] == ["CAM-07", "CAM-08", "HAZ-01", "PARSE-02", "ZZ"]
    assert rules[3]["shortDescription"] == rules[3]["help"] == {"text": "The text is not the language."}
    assert rules[4]["shortDescription"] == {"text": "ZZ"}
    assert [r["defaultConfiguration"]["level"] for r in rules] == [
        "error",
        "error",
        "warning",
        "error",
        "note",
    ]
    assert [(r["ruleId"], r["ruleIndex"]) for r in run_of(log)["results"]] == [
        ("PARSE-02", 3),
        ("ZZ", 4),
        ("PARSE-02", 3),
        ("CAM-08", 1),
    ]
    check(log)


# Results


@pytest.mark.parametrize(("severity", "level"), [("error", "error"), ("warning", "warning"), ("remark", "note")])
def test_levels(severity: Severity, level: str) -> None:
    assert result_of(ROWS._replace(severity=severity))["level"] == level


def test_a_finding_about_the_file_has_no_region() -> None:
    d = Diagnostic("error", "RUN-01", "no", SOURCE)
    assert result_of(d)["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "k.pto"}}}]
    check(log_of(d))


def test_columns_count_characters() -> None:
    source = Source("// \U0001f600 行 %a", "k.pto")
    region = result_of(Diagnostic("error", "X-01", "no", source, Span(7, 9)))["locations"][0]
    assert region["physicalLocation"]["region"] == {
        "startLine": 1,
        "startColumn": 8,
        "endLine": 1,
        "endColumn": 10,
    }


def test_notes() -> None:
    other = Source("%x", "b.pto")
    notes = (
        Note("the rule"),
        Note("first here", None, Span(0, 2)),
        Note("read from", other),
        Note("also", other, Span(1, 2)),
    )
    result = result_of(ROWS._replace(notes=notes))
    assert result["message"] == {"text": "'tcolargmin' op 2 rows, not 1\nnote: the rule"}
    related = result["relatedLocations"]
    assert [(r["id"], r["message"]["text"]) for r in related] == [
        (1, "first here"),
        (2, "read from"),
        (3, "also"),
    ]
    places = [r["physicalLocation"] for r in related]
    assert [p["artifactLocation"]["uri"] for p in places] == ["k.pto", "b.pto", "b.pto"]
    assert places[0]["region"] == {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 3}
    assert "region" not in places[1]
    check(log_of(ROWS._replace(notes=notes)))


def test_what_messages_must_not_contain() -> None:
    result = result_of(ROWS._replace(op=None, message="{a = [x](y)} {0}"))
    assert result["message"] == {"text": "{{a = [x] (y)}} {{0}}"}


def test_targets_that_share_a_finding_are_listed_in_one_result() -> None:
    again = ROWS._replace(source=Source(SOURCE.text, SOURCE.name))
    only = ROWS._replace(message="too far")
    results = [FileResult("k.pto", "a2a3", None, [ROWS]), FileResult("k.pto", "a5", None, [again, only])]
    log = to_sarif(results, RULES, "0.1.0")
    found = [(r["message"]["text"], r["properties"]) for r in run_of(log)["results"]]
    assert found == [
        ("'tcolargmin' op 2 rows, not 1", {"targets": ["a2a3", "a5"]}),
        ("'tcolargmin' op too far", {"targets": ["a5"]}),
    ]
    check(log)


def test_parts_of_a_file_are_kept_apart() -> None:
    d = Diagnostic("error", "RUN-01", "no", SOURCE)
    log = to_sarif([FileResult("k.pto", "a5", part, [d, d]) for part in (1, 2)], RULES, "0.1.0")
    assert [r["properties"] for r in run_of(log)["results"]] == [
        {"targets": ["a5"], "part": 1},
        {"targets": ["a5"], "part": 2},
    ]
    check(log)


# Names of files


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("k.pto", "k.pto"),
        ("./k.pto", "k.pto"),
        ("../x/k.pto", "../x/k.pto"),
        ("my dir/k#1?%20.pto", "my%20dir/k%231%3F%2520.pto"),
        ("c:k.pto", "c%3Ak.pto"),
        ("行.pto", "%E8%A1%8C.pto"),
        ("\udcff.pto", "%FF.pto"),
        ("/abs/a b.pto", "file:///abs/a%20b.pto"),
        ("<stdin>", "%3Cstdin%3E"),
    ],
)
def test_uris(name: str, uri: str) -> None:
    d = Diagnostic("error", "RUN-01", "no", Source("", name))
    assert result_of(d)["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": uri}


names = st.text(st.characters(codec="utf-8", exclude_characters="\0\\"), min_size=1, max_size=20)


@given(names)
def test_a_uri_names_the_file(name: str) -> None:
    d = Diagnostic("error", "RUN-01", "no", Source("", name))
    uri = result_of(d)["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    parts = urlsplit(uri)
    assert re.fullmatch(r"(file://)?([\w.~/-]|%[0-9A-F]{2})*", uri, re.ASCII)
    assert parts.scheme == ("file" if name.startswith("/") else "")
    assert (parts.query, parts.fragment) == ("", "")
    assert unquote(uri.removeprefix("file://")) == name.removeprefix("./")


# Anything at all


texts = st.text(st.characters(codec="utf-8"), max_size=40)
spans = st.none() | st.builds(Span, st.integers(-5, 50), st.integers(-5, 50))
notes = st.builds(Note, texts, st.none() | st.builds(Source, texts, names), spans)
diagnostics = st.builds(
    Diagnostic,
    st.sampled_from(["error", "warning", "remark"]),
    st.sampled_from(["CAM-08", "PARSE-01", "NEW-01"]),
    texts,
    st.builds(Source, texts, names),
    spans,
    st.lists(notes, max_size=3).map(tuple),
    st.none() | texts,
    st.none() | texts,
)
results = st.builds(
    FileResult,
    names,
    st.sampled_from(["a2a3", "a5"]),
    st.none() | st.integers(1, 3),
    st.lists(diagnostics, max_size=3),
)


@given(st.lists(results, max_size=3))
def test_every_log_is_valid(found: list[FileResult]) -> None:
    log = to_sarif(found, RULES, "0.1.0")
    rules = run_of(log)["tool"]["driver"]["rules"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run_of(log)["results"])
    check(log)
