"""Arrays in files: values of ``--input``, reading, writing all or nothing."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptoasm.diagnostics import PtoError
from ptoasm.interpreter.data import DataFault, Fill, tile_data
from ptoasm.interpreter.files import File, Outputs, Raw, load, parse_value, read_bytes, read_data
from ptoasm.types import BF16, F32, I32, TileType

ARRAY = np.arange(12, dtype=np.float32).reshape(3, 4)


def fault(path: str) -> str:
    with pytest.raises(PtoError) as caught:
        read_data(path)
    (found,) = caught.value.diagnostics
    assert found.code == "RUN-03"
    return f"{found.source.name}: {found.message}"


# --- Values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.npy", File("a.npy")),
        ("folder/a.npz:key", File("folder/a.npz", "key")),
        ("a.npz", File("a.npz")),
        ("C:/a.bin", File("C:/a.bin")),
        ("zeros", Fill("zeros")),
        ("arange(4096)", Fill("arange", count=4096)),
        ("random:7", Fill("random", seed=7)),
        ("random(16):7", Fill("random", seed=7, count=16)),
        ("5", 5),
        ("-0x10", -16),
        ("0.1", Fraction(1, 10)),
        ("true", True),
    ],
)
def test_value(text: str, value: Any) -> None:
    assert parse_value(text) == value


@pytest.mark.parametrize("text", ["", "a.txt", "zeros:3", "random:x", "ones(-1)", "zeros(99999999999)", "five"])
def test_value_that_says_nothing(text: str) -> None:
    with pytest.raises(ValueError, match=r"value|elements"):
        parse_value(text)


def test_value_that_was_misspelt() -> None:
    with pytest.raises(ValueError, match="did you mean 'zeros'"):
        parse_value("zeroes")


def test_load() -> None:
    assert load(5) == 5
    assert load(Fill("zeros")) == Fill("zeros")


# --- Reading


def test_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ARRAY)
    np.save(tmp_path / "f.npy", np.asfortranarray(ARRAY))
    for name in ("a.npy", "f.npy"):
        assert read_data(str(tmp_path / name)).tolist() == ARRAY.tolist()


def test_npz(tmp_path: Path) -> None:
    path = str(tmp_path / "a.npz")
    np.savez(path, one=ARRAY, two=ARRAY + 1)
    assert read_data(f"{path}:two").tolist() == (ARRAY + 1).tolist()
    assert "it has no array 'three'; there is one, two" in fault(f"{path}:three")
    assert "it has several arrays" in fault(path)
    np.savez(path, only=ARRAY)
    assert read_data(path).tolist() == ARRAY.tolist()


def test_bfloat16_in_npy(tmp_path: Path) -> None:
    array = np.array([[1.5, -2.0] * 8], ml_dtypes.bfloat16)
    path = str(tmp_path / "b.npy")
    files = Outputs()
    files.add_arrays(path, {"b": array})
    files.write()
    found = tile_data(read_data(path), TileType.of(BF16, 1, 16), "b")
    assert found.dtype == array.dtype and found.tobytes() == array.tobytes()


def test_files_without_an_array(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ARRAY)
    whole = (tmp_path / "a.npy").read_bytes()
    for name, content in {
        "cut.npy": whole[:-1],
        "head.npy": whole[:20],
        "text.npy": b"hello, this is no array",
        "empty.npy": b"",
        "cut.npz": whole,
        "zip.npz": b"PK\x03\x04 and no more",
    }.items():
        (tmp_path / name).write_bytes(content)
        assert "cannot be read" in fault(str(tmp_path / name))
    np.save(tmp_path / "objects.npy", np.array([{}, None]), allow_pickle=True)
    assert "cannot be read" in fault(str(tmp_path / "objects.npy"))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    assert "No such file" in fault(str(tmp_path / "none.npy"))
    (tmp_path / "folder.bin").mkdir()
    assert "cannot be read" in fault(str(tmp_path / "folder.bin"))
    with pytest.raises(PtoError):
        read_bytes(str(tmp_path / "none"))


def raw(count: int, kind: str = "<f4") -> Raw:
    return Raw("a.bin", np.arange(count).astype(kind).tobytes())


@pytest.mark.parametrize(
    ("valid", "count", "shape"),
    [
        ((3, 4), 12, (3, 4)),
        ((3, 4), 32, (4, 8)),
        ((None, 4), 12, (3, 4)),
        ((3, None), 6, (3, 2)),
        ((None, None), 32, (4, 8)),
    ],
)
def test_bin(valid: tuple[int | None, int | None], count: int, shape: tuple[int, int]) -> None:
    found = raw(count)(TileType.of(F32, 4, 8, *valid))
    assert found.tolist() == np.arange(count).reshape(shape).tolist()


def test_bin_is_row_by_row_whatever_the_layout() -> None:
    found = raw(24)(TileType.of(F32, 8, 4, 8, 3, blayout="col_major"))
    assert found.tolist() == np.arange(24).reshape(8, 3).tolist()


def test_bin_of_a_bfloat16_tile() -> None:
    data = np.array([1.5] * 16, ml_dtypes.bfloat16).tobytes()
    assert Raw("a.bin", data)(TileType.of(BF16, 1, 16)).tolist() == [[1.5] * 16]


def test_bin_for_a_scalar_and_for_elements() -> None:
    assert raw(1, "<i4")(I32).shape == ()
    assert raw(3, "<i4")(np.dtype(np.int32)).tolist() == [0, 1, 2]
    with pytest.raises(DataFault):
        raw(2, "<i4")(I32)


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        (TileType.of(F32, 4, 8, 3, 4), bytes(47)),
        (TileType.of(F32, 4, 8, 3, 4), bytes(44)),
        (TileType.of(F32, 4, 8, None, None), bytes(48)),
    ],
)
def test_bin_of_the_wrong_size(type_: TileType, data: bytes) -> None:
    with pytest.raises(DataFault, match=f"{len(data)} bytes"):
        Raw("a.bin", data)(type_)


# --- Writing


def test_written_files_are_read_back(tmp_path: Path) -> None:
    files = Outputs()
    files.add_arrays(str(tmp_path / "a.npy"), {"x": ARRAY})
    files.add_arrays(str(tmp_path / "b.npz"), {"x": ARRAY, "file": np.float32(2)})
    files.add_arrays(str(tmp_path / "c.bin"), {"x": ARRAY.T})
    files.write()
    assert np.load(tmp_path / "a.npy").tolist() == ARRAY.tolist()
    with np.load(tmp_path / "b.npz") as archive:
        assert archive["x"].tolist() == ARRAY.tolist() and archive["file"] == 2
    assert (tmp_path / "c.bin").read_bytes() == np.ascontiguousarray(ARRAY.T).tobytes()
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "b.npz", "c.bin"]


@pytest.mark.parametrize("bad", ["none/b.npy", "folder.npy", "nul\0.npy"])
def test_all_files_or_none(tmp_path: Path, bad: str) -> None:
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "a.npy").write_bytes(b"old")
    files = Outputs()
    files.add_arrays(str(tmp_path / "a.npy"), {"x": ARRAY})
    files.add_arrays(str(tmp_path / bad), {"x": ARRAY})
    with pytest.raises(PtoError) as caught:
        files.write()
    assert [d.code for d in caught.value.diagnostics] == ["RUN-04"]
    assert (tmp_path / "a.npy").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "folder.npy"]


def test_device_is_written_where_it_is() -> None:
    files = Outputs()
    files.add_bytes("/dev/null", ARRAY)
    files.write()
    assert not Path("/dev/null").is_file()
