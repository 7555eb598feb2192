"""The Python functions of the frontend."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ptoasm
from ptoasm.tile_types import read_type

ROOT = Path(__file__).parent.parent
LEGAL = "%dst = tcolsum %src : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>"
WRONG = "%dst = tcolsum %src : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x16xf32>"


def test_parse_raises_with_diagnostics() -> None:
    with pytest.raises(ptoasm.PtoError) as raised:
        ptoasm.parse("%dst = tcolsun %src", filename="k.pto")
    assert [d.code for d in raised.value.diagnostics] == ["PARSE-04"]
    assert "k.pto:1:8: error: 'tcolsun' is no instruction; did you mean 'tcolsum'?" in str(raised.value)


def test_verify_lists_faults_and_does_not_raise() -> None:
    assert ptoasm.verify(ptoasm.parse(LEGAL), arch="a5") == []
    assert [d.code for d in ptoasm.verify(ptoasm.parse(WRONG), arch="a5")] == ["TCS-06"]


def test_an_unknown_target_is_the_callers_fault() -> None:
    with pytest.raises(ValueError, match="'a7'; it must be one of a2a3, a5"):
        ptoasm.verify(ptoasm.parse(LEGAL), arch="a7")


@pytest.mark.parametrize(
    ("address", "codes"),
    [(0, []), (32, []), (16, ["ADDR-01"]), (196608 - 128, []), (196608 - 96, ["ADDR-02"]), (-32, ["ADDR-04"])],
)
def test_check_address(address: int, codes: list[str]) -> None:
    assert [d.code for d in ptoasm.check_address("!pto.tile<vec, 4x8xf32>", address, arch="a2a3")] == codes


def test_check_address_of_a_tile_larger_than_the_ub() -> None:
    assert [d.code for d in ptoasm.check_address("!pto.tile<vec, 4x8xf32>", 0, ub_size=96)] == ["ADDR-03"]


@pytest.mark.parametrize(
    ("op", "types", "attributes", "tmp"),
    [
        # gap = 64 elements of f32 where there are 64 columns or more, else whole blocks of 8
        ("tcolargmin", ["!pto.tile<vec, 16x256xf32, valid=16x255>"], {}, "!pto.tile<vec, 1x64xf32>"),
        ("tcolargmin", ["!pto.tile<vec, 3x16xf32, valid=3x9>"], {}, "!pto.tile<vec, 1x16xf32>"),
        # index-only f16: three regions of 128 elements
        ("tcolargmin", ["!pto.tile<vec, 4x256xf16>"], {}, "!pto.tile<vec, 1x384xf16>"),
        ("tci", ["!pto.tile_buf<vec, 1x64xi32>"], {}, "!pto.tile_buf<vec, 1x192xf32>"),
        ("tci", ["!pto.tile_buf<vec, 1x64xi16>"], {}, "!pto.tile_buf<vec, 1x448xf32>"),
        ("tcolsum", ["!pto.tile<vec, 5x16xf16, valid=5x3>"], {"isBinary": True}, "!pto.tile<vec, 3x16xf16>"),
    ],
)
def test_required_tmp(op: str, types: list[str], attributes: dict[str, bool], tmp: str) -> None:
    found = ptoasm.required_tmp(op, *types, arch=None, **attributes)
    assert found is read_type(tmp.removeprefix("!"))


COMMAND = "from click.testing import CliRunner as R; from ptoasm.cli import cli; R().invoke(cli, {!r})"


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import ptoasm", ("lark", "numpy", "click")),
        ("import ptoasm; ptoasm.verify(ptoasm.parse('%d = tci 5 : !pto.tile<vec, 1x8xi32>'))", ("numpy", "click")),
        (COMMAND.format(["--help"]), ("lark", "numpy")),
        (COMMAND.format(["--version"]), ("lark", "numpy")),
        (COMMAND.format(["explain", "CAM-01"]), ("numpy",)),
        (COMMAND.format(["verify", "samples/tci_sync.pto"]), ("numpy",)),
        (COMMAND.format(["convert", "--to", "dps", "samples/tci_sync.pto"]), ("numpy",)),
    ],
)
def test_only_what_is_needed_is_imported(code: str, unwanted: tuple[str, ...]) -> None:
    check = f"{code}; import sys; print([m for m in {unwanted!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_name_of_the_package_stays_what_it_is() -> None:
    """A submodule of the same name would take a function's place once it is imported."""
    code = """
import importlib, pkgutil, ptoasm, ptoasm.commands
before = {name: getattr(ptoasm, name) for name in ptoasm.__all__}
for package in (ptoasm, ptoasm.commands):
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print([name for name in ptoasm.__all__ if getattr(ptoasm, name) is not before[name]])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_convert_again_and_again() -> None:
    module = ptoasm.parse("%d = tci 0 : !pto.tile<vec, 1x8xi32>")
    for _ in range(2):
        assert ptoasm.convert(module, to="ssa") == "%d = pto.tci 0 : i32 -> !pto.tile<vec, 1x8xi32>\n"
        assert ptoasm.convert(module, to="dps") == "pto.tci ins(0 : i32) outs(%d : !pto.tile_buf<vec, 1x8xi32>)\n"
