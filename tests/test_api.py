"""The Python functions of the frontend."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
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


TILE = "!pto.tile<vec, 4x8xf32>"
NUMBERS = np.ones((4, 8), np.float32)
anyhow: Any = ptoasm  # called with what its types do not allow


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: anyhow.parse(None), r"text is None \(NoneType\); it must be a string"),
        (lambda: anyhow.parse(LEGAL, filename=3), "filename is 3"),
        (lambda: anyhow.verify(None), "the program is None .*; it must be a text or what ptoasm.parse gives"),
        (lambda: anyhow.verify(LEGAL, arch=[]), r"arch is \[\]; it must be one of a2a3, a5"),
        (lambda: anyhow.verify(LEGAL, ub_size="x"), "ub_size is 'x'"),
        (lambda: anyhow.verify(LEGAL, ub_size=0), "ub_size is 0; it must be from 32 to"),
        (lambda: anyhow.convert(3, "dps"), "the program is 3"),
        (lambda: anyhow.convert(LEGAL, "dps", types="long"), "types is 'long'; it must be one of compact, keyed"),
        (lambda: anyhow.compile(None), "the program is None"),
        (lambda: anyhow.compile(LEGAL, func=5), "func is 5"),
        (lambda: anyhow.run(None), "the program is None"),
        (lambda: anyhow.run(LEGAL, [NUMBERS]), "inputs is of type list; it must map names to data"),
        (lambda: anyhow.run(LEGAL, {5: NUMBERS}), "the name of a value is 5"),
        (lambda: anyhow.run(LEGAL, keep="dst"), "keep is 'dst'; it must be a list of names"),
        (lambda: anyhow.run(LEGAL, seed=-1), "seed is -1; it must be at least 0"),
        (lambda: anyhow.run(LEGAL, blocks=0), "blocks is 0; it must be from 1 to 65535"),
        (lambda: anyhow.run(LEGAL, max_steps="x"), "max_steps is 'x'"),
        (lambda: anyhow.run(LEGAL, load_ub=NUMBERS), "load_ub must be an array of uint8"),
        (lambda: anyhow.check_address(TILE, "x"), r"address is 'x' \(str\); it must be a whole number"),
        (lambda: anyhow.check_address(TILE, 2.5), "address is 2.5"),
        (lambda: anyhow.check_address(None, 0), "the tile type is None"),
        (lambda: anyhow.check_address("tile", 0), "'tile' is no tile type"),
        (lambda: anyhow.required_tmp(None), "op is None"),
        (lambda: anyhow.required_tmp("tadb", TILE), "'tadb' is no instruction"),
        (lambda: anyhow.required_tmp("tcolsum", 3), "the tile type is 3"),
        (lambda: anyhow.required_tmp("tcolsum", TILE, TILE, TILE), "takes the types of src, dst; got 3 types"),
        (lambda: anyhow.required_tmp("tcolsum", TILE, binary=True), "'tcolsum' has no attribute 'binary'"),
        (lambda: anyhow.required_tmp("tcolsum", TILE, isBinary="no"), "isBinary is 'no'"),
        (lambda: anyhow.tcolsum(NUMBERS, binary="no"), "binary is 'no' .*; it must be True or False"),
        (lambda: anyhow.tcolsum(NUMBERS, arch=[]), r"arch is \[\]; it must be one of a2a3, a5"),
        (lambda: anyhow.tcolargmin(NUMBERS, index_dtype="junk"), "a NumPy type, .* is required; got 'junk'"),
        (lambda: anyhow.tci(None, 4, "f32"), "a number is required; got None"),
        (lambda: anyhow.tci(0, 4, None), "a NumPy type, .* is required; got None"),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "%src: int32 takes an integer; got None"),
        ({}, "%src: int32 takes an integer; got {}"),
        (Fraction(15, 2), "%src: int32 takes an integer; got 7.5"),
        (10**41, "%src: a number of more than 40 digits does not fit int32"),
    ],
)
def test_wrong_data_is_a_fault_of_the_run(data: object, message: str) -> None:
    kernel = ptoasm.compile(LEGAL.replace("f32", "i32"))
    for call in (lambda: ptoasm.run(LEGAL.replace("f32", "i32"), {"src": data}), lambda: kernel(src=data)):
        with pytest.raises(ptoasm.PtoError, match=re.escape(message)):
            call()


def test_lists_without_end_are_a_fault_of_the_run() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ptoasm.PtoError, match="the lists for %src are nested too deep"):
        ptoasm.run(LEGAL, {"src": endless})


def test_a_text_stands_for_its_module() -> None:
    assert [d.code for d in ptoasm.verify(WRONG)] == ["TCS-06"]
    assert [d.code for d in ptoasm.verify("%dst = tcolsun %src")] == ["PARSE-04"]
    assert ptoasm.convert(LEGAL, "dps") == ptoasm.convert(ptoasm.parse(LEGAL), "dps")


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
