"""``ptoasm run``"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from ptoasm.cli import cli

ROOT = Path(__file__).parent.parent.parent
SUM = "%dst = tcolsum %src : !pto.tile<vec, 2x8xf32> -> !pto.tile<vec, 1x8xf32>\n"
ARGMIN = "%i = tcolargmin %a : !pto.tile<vec, 2x8xf32> -> !pto.tile<vec, 1x8xi32>\n"
WRAPS = "%d = tci 2147483647 : !pto.tile<vec, 1x8xi32>\n"
UNWRITTEN = """pto.tassign %both, @tile(0x0)
pto.tassign %row, @tile(0x20)
%row = tci 1 : !pto.tile<vec, 1x8xi32>
%sum = tcolsum %both : !pto.tile<vec, 2x8xi32> -> !pto.tile<vec, 1x8xi32>
"""


class Done(NamedTuple):
    status: int
    out: str
    err: str

    def json(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


class Run:
    """Runs the command in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, text: str, *arguments: str, stdin: str | None = None) -> Done:
        (self.folder / "k.pto").write_text(text)
        file = "k.pto" if stdin is None else "-"
        result = CliRunner().invoke(cli, ["run", file, *arguments], input=stdin, catch_exceptions=False)
        return Done(result.exit_code, result.stdout, result.stderr)

    def files(self) -> list[str]:
        return sorted(set(os.listdir(self.folder)) - {"k.pto", "src.npy"})


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    np.save("src.npy", np.arange(16, dtype=np.float32).reshape(2, 8))
    return Run(tmp_path)


def outputs(done: Done) -> dict[str, Any]:
    return {name: one["data"] for name, one in done.json()[-1]["outputs"].items()}


def remarks(done: Done) -> list[str]:
    return [d["message"] for d in done.json()[-1]["diagnostics"] if d["severity"] == "remark"]


# --- What it prints


def test_text(run: Run) -> None:
    done = run(SUM, "--input", "src=src.npy")
    assert done == (0, "%dst: 1x8xf32 at 0x40\n[[ 8. 10. 12. 14. 16. 18. 20. 22.]]\n", "")


@pytest.mark.parametrize("value", ["0.15", "16777215", "1e-45", "1.0000001", "3e38"])
def test_values_are_printed_with_all_their_digits(run: Run, value: str) -> None:
    text = "%dst = tcolsum %src : !pto.tile<vec, 1x8xf32> -> !pto.tile<vec, 1x8xf32>\n"
    shown = run(text, "--input", f"src={value}").out.splitlines()[1].strip("[]").split()
    assert [np.float32(number) for number in shown] == [np.float32(value)] * 8


def test_small_arrays_are_shown_whole_and_large_ones_are_not(run: Run) -> None:
    for cols, whole in ((1000, True), (1008, False)):
        text = f"%d = tci 0 : !pto.tile<vec, 1x{cols}xi32>"
        assert ("…" not in run(text).out) == whole


def test_json(run: Run) -> None:
    done = run(SUM, "--input", "src=src.npy", "--format", "json")
    assert done.status == 0
    assert done.json() == [
        {
            "file": "k.pto",
            "arch": "a2a3",
            "ok": True,
            "diagnostics": [],
            "outputs": {
                "dst": {
                    "dtype": "f32",
                    "shape": [1, 8],
                    "address": 64,
                    "data": [[8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 22.0]],
                }
            },
        }
    ]


@pytest.mark.parametrize(("value", "shown"), [("nan", "nan"), ("inf", "inf"), ("-inf", "-inf"), ("-0.0", -0.0)])
def test_json_has_names_for_what_it_has_no_numbers_for(run: Run, value: str, shown: object) -> None:
    done = run(SUM, "--input", f"src={value}", "--format", "json")
    assert outputs(done)["dst"] == [[shown] * 8]
    assert "NaN" not in done.out and "Infinity" not in done.out


def test_inputs_are_filled_and_named(run: Run) -> None:
    first, second, other = run(SUM), run(SUM), run(SUM, "--seed", "1")
    assert first == second != other
    assert "remark: %src filled with random numbers (--seed 0) [RUN-18]" in first.err
    assert remarks(run(SUM, "--format", "json")) == ["%src filled with random numbers (--seed 0)"]
    assert run(SUM, "--ignore", "RUN-18").err == ""


def test_json_of_several_programs_is_an_object_each(run: Run) -> None:
    done = run(f"// input %src = 1\n{SUM}\n// -----\n{SUM}", "--format", "json")
    keys = {"file", "arch", "part", "ok", "diagnostics", "outputs"}
    assert [(one["part"], set(one)) for one in done.json()] == [(1, keys), (2, keys)]


def test_inputs_from_comments(run: Run) -> None:
    text = "// input %src = [[1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 0, 0, 0, 0]]\n" + SUM
    done = run(text, "--format", "json")
    assert outputs(done)["dst"] == [[1, 2, 3, 4, 5, 6, 7, 8]]
    assert remarks(done) == ["the file's 'input' lines give %src"]
    done = run(text, "--input", "src=1", "--format", "json")
    assert outputs(done)["dst"] == [[2] * 8] and done.err == ""


def test_program_on_standard_input(run: Run) -> None:
    done = run("", "--format", "json", stdin=SUM)
    assert done.json()[0]["file"] == "<stdin>"


def test_nothing_comes_out(run: Run) -> None:
    assert run("func.func @k() {\n  return\n}\n").out == "no outputs\n"


# --- Several programs, several functions


def test_all_programs_are_run(run: Run) -> None:
    done = run(f"{SUM}// -----\n{WRAPS}", "--format", "json")
    assert [(one["part"], list(one["outputs"])) for one in done.json()] == [(1, ["dst"]), (2, ["d"])]
    text = run(f"{SUM}// -----\n{WRAPS}").out
    assert "k.pto, program 1, line 1:" in text and "k.pto, program 2, line 3:" in text


def test_data_is_for_one_program(run: Run) -> None:
    two = f"{SUM}// -----\n{SUM}"
    done = run(two, "--input", "src=1")
    assert done.status == 1 and "--part" in done.err and "[RUN-01]" in done.err
    assert run(two, "--input", "src=1", "--part", "2").status == 0
    assert run(two, "--part", "3").status == 1


def test_one_wrong_program_of_several(run: Run) -> None:
    done = run(f"{SUM}// -----\n%a = nonsense\n// -----\n{SUM}", "--format", "json")
    assert done.status == 1
    assert [one["ok"] for one in done.json()] == [True, False, True]


def test_function(run: Run) -> None:
    one = "func.func @{}() {{\n  return\n}}\n"
    two = one.format("a") + one.format("b")
    assert run(two).status == 1
    assert run(two, "--func", "b").status == 0


# --- Files


def test_written_files(run: Run) -> None:
    done = run(
        SUM, "--input", "src=src.npy", "--output", "dst=d.npy", "--output", "src=s.bin", "--dump-ub", "ub.bin"
    )  # fmt: skip
    assert done.status == 0
    assert run.files() == ["d.npy", "s.bin", "ub.bin"]
    assert np.load("d.npy").tolist() == [[8, 10, 12, 14, 16, 18, 20, 22]]
    assert np.fromfile("s.bin", np.float32).tolist() == list(range(16))
    assert os.path.getsize("ub.bin") == 196608


def test_several_outputs_in_one_archive(run: Run) -> None:
    run(SUM, "--input", "src=1", "--output", "dst=all.npz", "--output", "src=all.npz")
    with np.load("all.npz") as archive:
        assert sorted(archive.files) == ["dst", "src"]


def test_ub_is_dumped_and_loaded(run: Run) -> None:
    run(SUM, "--input", "src=src.npy", "--dump-ub", "ub.bin")
    done = run(SUM.replace("%dst", "%again"), "--load-ub", "ub.bin", "--format", "json")
    assert outputs(done)["again"] == [[8, 10, 12, 14, 16, 18, 20, 22]]
    assert remarks(done) == []


def test_expectations(run: Run) -> None:
    run(SUM, "--input", "src=src.npy", "--output", "dst=d.npy")
    assert run(SUM, "--input", "src=src.npy", "--expect", "dst=d.npy").status == 0
    done = run(SUM, "--input", "src=1", "--expect", "dst=d.npy", "--output", "dst=mine.npy")
    assert done.status == 1
    assert "8 of 8 elements differ [RUN-16]" in done.err
    assert "[0, 0]: expected 8.0, got 2.0" in done.err and "ULP" in done.err
    assert run.files() == ["d.npy"], "a run that fails leaves no output file"
    assert run(SUM, "--input", "src=src.npy", "--expect", "dst=20", "--atol", "12").status == 0
    assert run(SUM, "--input", "src=src.npy", "--expect", "dst=20", "--rtol", "0.1").status == 1


def test_keeping_what_is_asked_for(run: Run) -> None:
    text = "".join(SUM.replace("src", f"s{k}").replace("dst", f"d{k}") for k in range(4))
    small = ("--ub-size", "192", "--format", "json")
    assert "d0" not in outputs(run(text, *small))
    assert "d0" in outputs(run(text, *small, "--output", "d0=d.npy"))


# --- What it refuses


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--input", "nobody=1"], "RUN-01", ["'%nobody'", "%src, %dst"]),
        (["--input", "sr=src.npy"], "RUN-01", ["'%sr'"]),
        (["--input", "src=i.npy"], "RUN-02", ["int32", "float32"]),
        (["--input", "src=shape.npy"], "RUN-02", ["3x8", "2x8"]),
        (["--input", "src=short.bin"], "RUN-02", ["60 bytes", "2x8"]),
        (["--input", "src=odd.bin"], "RUN-02", ["61 bytes", "4"]),
        (["--input", "src=none.npy"], "RUN-03", ["none.npy", "No such file"]),
        (["--input", "src=cut.npy"], "RUN-03", ["cut.npy"]),
        (["--input", "src=all.npz:c"], "RUN-03", ["'c'", "a, b"]),
        (["--input", "src=1e39"], "RUN-02", ["3.4028234663852886e+38"]),
        (["--input", "src=zeros(5)"], "RUN-02", ["5", "2x8"]),
        (["--output", "dst=none/d.npy"], "RUN-04", ["none/d.npy"]),
        (["--output", "dst=folder.npy"], "RUN-04", ["folder"]),
        (["--output", "nobody=d.npy"], "RUN-01", ["'%nobody'"]),
        (["--expect", "nobody=d.npy"], "RUN-03", ["d.npy"]),
        (["--expect", "nobody=1"], "RUN-01", ["'%nobody'"]),
        (["--expect", "dst=shape.npy"], "RUN-16", ["1x8", "3x8"]),
        (["--expect", "dst=i.npy"], "RUN-16", ["float32", "int32"]),
        (["--load-ub", "none"], "RUN-03", ["none"]),
        (["--load-ub", "large"], "RUN-02", ["196609", "196608"]),
        (["--dump-ub", "none/ub"], "RUN-04", ["none/ub"]),
        (["--max-steps", "0"], "", []),
        (["--ub-size", "64"], "PLACE-01", ["64"]),
    ],
)
def test_wrong_data(run: Run, arguments: list[str], code: str, says: list[str]) -> None:
    np.save("i.npy", np.zeros((1, 8), np.int32))
    np.save("shape.npy", np.zeros((3, 8), np.float32))
    np.savez("all.npz", a=np.zeros((2, 8), np.float32), b=np.zeros(1))
    Path("short.bin").write_bytes(bytes(60))
    Path("odd.bin").write_bytes(bytes(61))
    Path("cut.npy").write_bytes(Path("src.npy").read_bytes()[:-3])
    Path("large").write_bytes(bytes(196609))
    Path("folder.npy").mkdir()
    before = run.files()
    done = (
        run(SUM, "--output", "dst=written.npy", *arguments)
        if "dst=" not in "".join(arguments)
        else run(SUM, *arguments)
    )
    if not code:
        assert done.status == 2
        return
    assert done.status == 1, done
    assert f"[{code}]" in done.err
    for part in says:
        assert part in done.err
    assert run.files() == before, "a run that fails leaves no file"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--input", "src"],
        ["--input", "=1"],
        ["--input", "src="],
        ["--input", "src=a.txt"],
        ["--input", "src=1", "--input", "%src=2"],
        ["--output", "dst=d.txt"],
        ["--output", "dst=d.npy", "--output", "src=d.npy"],
        ["--expect", "dst"],
        ["--rtol", "-1"],
        ["--atol", "1"],
        ["--seed", "-1"],
        ["--blocks", "0"],
        ["--format", "yaml"],
        ["--arch", "a4"],
        ["--nonsense"],
    ],
)
def test_wrong_command_line(run: Run, arguments: list[str]) -> None:
    done = run(SUM, *arguments)
    assert done.status == 2 and done.err.startswith("Usage:")


def test_output_without_a_value(run: Run) -> None:
    text = "func.func @k(%d: !pto.tile_buf<vec, 1x8xi32>) {\n  return\n}\n"
    done = run(text, "--output", "d=d.npy")
    assert done.status == 1 and "[RUN-15]" in done.err and run.files() == []


def test_wrong_program_is_not_run(run: Run) -> None:
    done = run("%t = tci 0 : !pto.tile<vec, 2x8xi32>\n", "--format", "json")
    (found,) = done.json()
    assert done.status == 1 and not found["ok"] and found["outputs"] == {}
    assert found["diagnostics"][0]["code"] == "TCI-04"
    assert run("%t = tci 0 : !pto.tile<vec, 2x8xi32>\n", "--output", "t=t.npy").status == 1
    assert run.files() == []


def test_file_that_is_not_there(run: Run) -> None:
    result = CliRunner().invoke(cli, ["run", "none.pto", "--format", "json"])
    (found,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 1 and found["diagnostics"][0]["code"] == "RUN-03"


# --- Warnings


def test_warnings_do_not_fail_a_run(run: Run) -> None:
    assert run(WRAPS).status == 0
    assert "[TCI-10]" in run(WRAPS).err
    assert run(UNWRITTEN).status == 0
    assert "[INIT-01]" in run(UNWRITTEN).err


def test_warnings_as_errors(run: Run) -> None:
    before = run(WRAPS, "--werror", "--output", "d=d.npy")
    assert before.status == 1 and before.out == "" and "error" in before.err
    during = run(UNWRITTEN, "--werror", "--output", "sum=d.npy")
    assert during.status == 1 and "[INIT-01]" in during.err
    assert run.files() == []


def test_ignored_warnings(run: Run) -> None:
    for text, code in ((WRAPS, "TCI-10"), (UNWRITTEN, "INIT-01")):
        assert run(text, "--werror", "--ignore", code) == run(text, "--ignore", code)
        assert run(text, "--ignore", code).err == ""
    assert run("// ptoasm-ignore: TCI-10\n" + WRAPS, "--werror").status == 0


# --- Trace, blocks, limits


def test_trace(run: Run) -> None:
    lines = run(SUM + ARGMIN.replace("%a", "%src"), "--input", "src=src.npy", "--trace").out.splitlines()
    assert "line 1" in lines[0] and "tcolsum" in lines[0] and "line 2" in lines[1] and "tcolargmin" in lines[1]
    assert lines[2].startswith("%dst:")


def test_trace_as_json(run: Run) -> None:
    first, last = run(SUM, "--input", "src=src.npy", "--trace", "--format", "json").json()
    assert first["op"] == "tcolsum" and first["written"][0]["max"] == 22
    assert last["ok"] and "dst" in last["outputs"]


def test_blocks(run: Run) -> None:
    text = """func.func @k(%x: !pto.ptr<i32>) {
  %b = pto.get_block_idx
  %n = pto.get_block_num
  %i = arith.index_cast %b : i64 to index
  %v = arith.trunci %n : i64 to i32
  pto.store_scalar %v, %x[%i] : !pto.ptr<i32>, i32
  return
}
"""
    done = run(text, "--input", "x=zeros(4)", "--blocks", "3", "--format", "json")
    assert done.status == 0, done
    assert outputs(done)["x"] == [3, 3, 3, 0]


@pytest.mark.parametrize("option", ["--ub-size", "--blocks", "--max-steps", "--part"])
@pytest.mark.parametrize("value", ["0", "-1", "x", "2.5", "1_0", "\u0663", "9" * 5000])
def test_absurd_numbers_are_faults_of_the_command_line(run: Run, option: str, value: str) -> None:
    done = run(SUM, option, value)
    assert done.status == 2 and f"Invalid value for '{option}'" in done.err


def test_more_than_there_can_be(run: Run) -> None:
    for option in ("--ub-size", "--blocks"):
        assert run(SUM, option, "99999999999999").status == 2
    assert run(SUM, "--max-steps", "99999999999999").status == 0
    assert run(SUM, "--ub-size", "0x10000").status == 0


@pytest.mark.parametrize("value", ["nan", "-1", "\u0663", "1_0", "x"])
def test_a_tolerance_is_a_number_that_is_not_negative(run: Run, value: str) -> None:
    assert run(SUM, "--expect", "dst=1", "--rtol", value).status == 2


@pytest.mark.parametrize("value", ["\u0663", "1_0", "random:\u0663", "zeros(\u0663)", "zeros(-1)", "1e"])
def test_what_is_no_value(run: Run, value: str) -> None:
    done = run(SUM, "--input", f"src={value}")
    assert done.status == 2 and "is no value" in done.err


def test_limit_of_statements(run: Run) -> None:
    done = run(SUM + SUM.replace("%dst", "%e"), "--max-steps", "1")
    assert done.status == 1 and "the run has executed 1 statement (--max-steps) [RUN-07]" in done.err


def test_pointer_whose_length_nothing_says(run: Run) -> None:
    text = """func.func @k(%x: !pto.ptr<i32>, %n: index) {
  %v = pto.load_scalar %x[%n] : !pto.ptr<i32> -> i32
  return
}
"""
    done = run(text, "--input", "n=3")
    assert done.status == 1 and "[RUN-01]" in done.err and "%x" in done.err
    assert run(text, "--input", "n=3", "--input", "x=arange(4)").status == 0
    assert "[RUN-09]" in run(text, "--input", "n=4", "--input", "x=arange(4)").err


# --- The process


def test_help_has_an_example_that_works() -> None:
    result = CliRunner().invoke(cli, ["run", "--help"])
    example = next(line for line in " ".join(result.stdout.split()).split("For example: ") if line.startswith("ptoasm"))
    words = example.split(" Options:")[0].split()[1:]
    command = [sys.executable, "-m", "ptoasm", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout


def test_closed_pipe() -> None:
    command = f"{sys.executable} -m ptoasm run samples/tcolsum_sync.pto --trace | true"
    done = subprocess.run(command, cwd=ROOT, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr and "internal fault" not in done.stderr
