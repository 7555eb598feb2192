"""``ptoasm verify``"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ptoasm.cli import cli

ROOT = Path(__file__).parent.parent.parent
LEGAL = "%d = tcolsum %s : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>\n"
A5_ONLY = "%i = tcolargmin %s : !pto.tile<vec, 4x32xi8> -> !pto.tile<vec, 1x32xi32>\n"
WRONG = "%t = tci 0 : !pto.tile<vec, 2x8xi32>\n"
WARNED = "%t = tci 32767 : !pto.tile<vec, 1x16xi16>\n"
DYNAMIC = "%d = tcolsum %s : !pto.tile<vec, 4x8xf32, valid=?x?> -> !pto.tile<vec, 1x8xf32, valid=1x?>\n"


class Done(NamedTuple):
    status: object
    out: str
    err: str


class Command:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return name

    def __call__(self, *arguments: str) -> Done:
        with pytest.raises(SystemExit) as stop:
            cli.main(["verify", *arguments], prog_name="ptoasm")
        return Done(stop.value.code, *self.capsys.readouterr())


@pytest.fixture
def verify(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path, capsys)


def test_a_legal_file(verify: Command) -> None:
    assert verify(verify.write("a.pto", LEGAL)) == (0, "a.pto: ok for a2a3\n", "")


def test_a_wrong_file(verify: Command) -> None:
    done = verify(verify.write("a.pto", WRONG))
    assert (done.status, done.out) == (1, "a.pto: 1 error for a2a3\n")
    assert done.err.startswith("a.pto:1:1: error: 'tci' op dst has 2 rows; it must have 1 [TCI-04]\n")


def test_quiet_prints_diagnostics_only(verify: Command) -> None:
    assert verify("--quiet", verify.write("a.pto", LEGAL)) == (0, "", "")
    done = verify("--quiet", verify.write("a.pto", WRONG))
    assert (done.status, done.out) == (1, "")
    assert "[TCI-04]" in done.err


def test_the_target(verify: Command) -> None:
    name = verify.write("a.pto", A5_ONLY)
    assert verify("--arch", "a5", name) == (0, "a.pto: ok for a5\n", "")
    assert verify(name).out == "a.pto: 1 error for a2a3\n"
    module = f'module attributes {{pto.target_arch = "a5"}} {{\n  func.func @k() {{\n    return\n  }}\n}}\n{A5_ONLY}'
    assert verify(verify.write("m.pto", module)) == (0, "m.pto: ok for a5\n", "")


def test_all_targets_in_one_line(verify: Command) -> None:
    done = verify("--arch", "all", verify.write("a.pto", A5_ONLY))
    assert (done.status, done.out) == (1, "a.pto: ok for a5; 1 error for a2a3\n")
    assert done.err.count("[CAM-10]") == 1
    assert "note: this is so on a2a3 only" in done.err
    assert verify("--arch", "all", verify.write("a.pto", LEGAL)) == (0, "a.pto: ok for a2a3, a5\n", "")


def test_what_all_targets_share_is_printed_once(verify: Command) -> None:
    done = verify("--arch", "all", verify.write("a.pto", WRONG))
    assert done.out == "a.pto: 1 error for a2a3; 1 error for a5\n"
    assert done.err.count("[TCI-04]") == 1
    assert "this is so on" not in done.err


def test_all_targets_need_no_remark_about_the_modules_own(verify: Command) -> None:
    module = 'module attributes {pto.target_arch = "a5"} {\n  func.func @k() {\n    return\n  }\n}\n'
    assert verify("--arch", "all", verify.write("m.pto", module)) == (0, "m.pto: ok for a2a3, a5\n", "")
    assert "[ARCH-02]" in verify("--arch", "a2a3", "m.pto").err


def test_verbose_says_what_a_run_must_answer(verify: Command) -> None:
    done = verify("-v", verify.write("a.pto", DYNAMIC))
    assert done == (
        0,
        "a.pto: ok for a2a3\na.pto:1:1: 'tcolsum' op: a run must answer TCS-06 TCS-07 TCS-08\n",
        "",
    )


def test_verbose_names_the_target_where_the_targets_differ(verify: Command) -> None:
    text = (
        "%i = pto.tcolargmin %s, %t : (!pto.tile<vec, 4x8xf32, valid=4x?>, !pto.tile<vec, 1x8xf32>)"
        " -> !pto.tile<vec, 1x8xi32, valid=1x?>\n"
    )
    lines = verify("-v", "--arch", "all", verify.write("a.pto", text)).out.splitlines()
    assert lines == [
        "a.pto: ok for a2a3, a5",
        "a.pto:1:1: 'tcolargmin' op: a run must answer CAM-07 CAM-09 CAM-29 CAM-30 on a2a3",
        "a.pto:1:1: 'tcolargmin' op: a run must answer CAM-07 CAM-09 on a5",
    ]


def test_warnings_and_how_they_are_treated(verify: Command) -> None:
    name = verify.write("a.pto", WARNED)
    done = verify(name)
    assert (done.status, done.out) == (0, "a.pto: ok for a2a3\n")
    assert "warning: 'tci' op" in done.err
    done = verify("--werror", name)
    assert (done.status, done.out) == (1, "a.pto: 1 error for a2a3\n")
    assert "error: 'tci' op" in done.err
    assert verify("--werror", "--ignore", "TCI-10", name) == (0, "a.pto: ok for a2a3\n", "")
    assert verify("--ignore", "haz-01,tci-10", name).err == ""


def test_what_cannot_be_ignored(verify: Command) -> None:
    name = verify.write("a.pto", WRONG)
    done = verify("--ignore", "TCI-04", name)
    assert done.status == 2
    assert "TCI-04 is an error; only warnings and remarks can be ignored" in done.err
    done = verify("--ignore", "TCI-100", name)
    assert done.status == 2
    assert "there is no code 'TCI-100'; did you mean 'TCI-10'?" in done.err


@pytest.mark.parametrize(
    "text",
    [
        f"// ptoasm-ignore: TCI-10\n{WARNED}",
        WARNED.replace("\n", "  // ptoasm-ignore: HAZ-01, TCI-10\n"),
        "// ptoasm-ignore: TCI-10\npto.tci ins(\n    32767 : i16)\n  outs(%t : !pto.tile_buf<vec, 1x16xi16>)\n",
    ],
)
def test_a_comment_ignores_a_warning_of_its_statement(verify: Command, text: str) -> None:
    assert verify("--werror", verify.write("a.pto", text)).status == 0
    assert verify("--werror", verify.write("a.pto", f"{text}\n\n{WARNED.replace('%t', '%u')}")).status == 1


def test_folders_and_several_files_in_order(verify: Command) -> None:
    for name in ("b/z.pto", "b/a/k.pto", "b/a.pto", "a.pto"):
        verify.write(name, LEGAL)
    verify.write("b/notes.txt", "no program")
    done = verify("b", "a.pto")
    assert [line.partition(":")[0] for line in done.out.splitlines()] == ["b/a.pto", "b/z.pto", "b/a/k.pto", "a.pto"]


def test_a_folder_means_its_files_not_its_pipes(verify: Command) -> None:
    verify.write("b/a.pto", LEGAL)
    os.mkfifo(verify.folder / "b" / "pipe.pto")
    assert verify("b").out.splitlines() == ["b/a.pto: ok for a2a3"]


def test_many_files_at_a_time_give_the_same_in_the_same_order(verify: Command) -> None:
    for k in range(12):
        verify.write(f"f/{k:02}.pto", (LEGAL, WRONG, WARNED, A5_ONLY)[k % 4] * 1)
    alone = verify("--arch", "all", "f")
    assert alone.status == 1
    assert verify("--arch", "all", "-j", "4", "f") == alone
    assert verify("--format", "json", "-j", "3", "f", "nowhere.pto") == verify("--format", "json", "f", "nowhere.pto")


def test_standard_input(verify: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for jobs in ("1", "2"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WRONG.encode())))
        done = verify("-j", jobs, "-")
        assert (done.status, done.out) == (1, "<stdin>: 1 error for a2a3\n")
        assert done.err.startswith("<stdin>:1:1: error:")


def test_several_programs_in_a_file(verify: Command) -> None:
    done = verify(verify.write("a.pto", f"{LEGAL}// -----\n{WRONG}// -----\n{WRONG}"))
    assert (done.status, done.out) == (1, "a.pto: 2 errors for a2a3\n")
    assert "a.pto:3:1: error" in done.err
    assert "a.pto:5:1: error" in done.err


def test_a_file_of_nothing_but_separators_is_a_program_without_statements(verify: Command) -> None:
    assert verify(verify.write("a.pto", "// -----\n// -----\n")) == (0, "a.pto: ok for a2a3\n", "")


def test_what_cannot_be_read(verify: Command) -> None:
    verify.write("empty/notes.txt", "")
    (verify.folder / "bytes.pto").write_bytes(b"%a = \xff")
    name = verify.write("a.pto", LEGAL)
    done = verify("nowhere.pto", "empty", "bytes.pto", name)
    assert done.status == 1
    assert done.out.splitlines() == [
        "nowhere.pto: 1 error for a2a3",
        "empty: 1 error for a2a3",
        "bytes.pto: 1 error for a2a3",
        "a.pto: ok for a2a3",
    ]
    assert "nowhere.pto: error: it cannot be read: No such file or directory [RUN-03]" in done.err
    assert "empty: error: the folder holds no .pto file [RUN-03]" in done.err
    assert "bytes.pto:1:6: error: the file is not UTF-8 text: byte 5 is 0xff [PARSE-05]" in done.err


def test_json(verify: Command) -> None:
    name = verify.write("a.pto", f"{WRONG}// -----\n{DYNAMIC}")
    done = verify("--format", "json", "-v", "--arch", "all", name)
    assert (done.status, done.err) == (1, "")
    report = json.loads(done.out)
    assert report["schema"] == 1
    files = report["files"]
    assert [(f["file"], f["arch"], f["part"], f["ok"]) for f in files] == [
        ("a.pto", "a2a3", 1, False),
        ("a.pto", "a5", 1, False),
        ("a.pto", "a2a3", 2, True),
        ("a.pto", "a5", 2, True),
    ]
    (found,) = files[0]["diagnostics"]
    assert {key: found[key] for key in ("severity", "code", "op", "line", "column", "end_line", "end_column")} == {
        "severity": "error",
        "code": "TCI-04",
        "op": "tci",
        "line": 1,
        "column": 1,
        "end_line": 1,
        "end_column": 3,
    }
    assert files[2]["open"][0] == {"code": "TCS-06", "op": "tcolsum", "line": 3, "column": 1}
    plain = json.loads(verify("--format", "json", name).out)
    assert all("open" not in f for f in plain["files"])


def test_sarif(verify: Command) -> None:
    done = verify("--format", "sarif", "--arch", "all", verify.write("a.pto", A5_ONLY))
    assert done.status == 1
    (run,) = json.loads(done.out)["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert {"TILE-01", "CAM-10", "FORM-06", "PARSE-01", "RUN-01"} <= set(ids)
    (result,) = run["results"]
    assert (result["ruleId"], result["properties"]["targets"]) == ("CAM-10", ["a2a3"])


def test_wrong_command_lines(verify: Command) -> None:
    assert verify().status == 2
    assert verify("--arch", "a7", "a.pto").status == 2
    for jobs in ("0", "-1", "99999999999999", "\u0663"):
        assert verify("-j", jobs, "a.pto").status == 2
    assert verify("--format", "xml", "a.pto").status == 2


def test_the_start_imports_only_what_is_needed() -> None:
    """Neither NumPy nor what other formats and other ways of running need."""
    program = (
        "import sys; from ptoasm.__main__ import main\n"
        "sys.argv = ['ptoasm', 'verify', 'samples/tcolsum_sync.pto']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(' '.join(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = set(done.stderr.split())
    unwanted = {"numpy", "json", "multiprocessing", "concurrent.futures", "ptoasm.catalog", "ptoasm.interpreter.run"}
    assert not modules & unwanted
    assert "ptoasm.dialect.tcolsum" in modules
    assert not modules & {"ptoasm.dialect.tcolargmin", "ptoasm.dialect.tci", "ptoasm.dialect.relatives"}
