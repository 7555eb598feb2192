"""Arrays in files: ``.npy``, ``.npz:KEY`` and ``.bin``, raw little-endian elements row by row.

``.npy`` knows no bfloat16; as NumPy does, its elements are written as two bytes of no particular type (``V2``).
"""

from __future__ import annotations

import re
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ptoasm.diagnostics import Diagnostic, PtoError
from ptoasm.dialect.base import count
from ptoasm.files import Files
from ptoasm.interpreter.data import DataFault, Fill, element_dtype, shape_text
from ptoasm.interpreter.kernels import Array
from ptoasm.source import Source
from ptoasm.suggest import did_you_mean
from ptoasm.types import ElementType, TileType

FORMATS = (".npy", ".npz", ".bin")
VALUES = "PATH.npy, PATH.npz:KEY, PATH.bin, zeros, ones, arange, random, random:SEED or a number"
_FILLS = ("zeros", "ones", "arange", "random")
_FILL = re.compile(r"(zeros|ones|arange|random)(?:\(([0-9]+)\))?(?::([0-9]+))?$")
_MOST = 1 << 28


class File(NamedTuple):
    """A file that holds an array; ``key`` is the array's name in a ``.npz``."""

    path: str
    key: str = ""


# --- Values on the command line


def parse_value(text: str) -> Any:
    """What VALUE of ``--input`` says: a File, a Fill or a number. ValueError where it says nothing known."""
    path, _, key = text.rpartition(":") if ".npz:" in text else (text, "", "")
    if path.endswith(FORMATS):
        return File(path, key)
    fill = _FILL.match(text)
    if fill is not None:
        return _fill(fill[1], fill[2], fill[3], text)
    if text in ("true", "false"):
        return text == "true"
    from ptoasm.check import number

    try:
        return number(text)
    except ValueError:
        near = did_you_mean(text, _FILLS)
        hint = f"did you mean '{near}'?" if near else f"it can be {VALUES}"
        raise ValueError(f"'{text}' is no value; {hint}") from None


def _fill(kind: str, count: str | None, seed: str | None, text: str) -> Fill:
    if seed is not None and kind != "random":
        raise ValueError(f"'{text}' is no value; only random has a seed")
    if count is not None and int(count) > _MOST:
        raise ValueError(f"'{text}' has more than {_MOST} elements")
    return Fill(kind, seed=None if seed is None else int(seed), count=None if count is None else int(count))


def load(value: Any) -> Any:
    """A value with the array of the file that it names; of a ``.bin`` what makes one once the type is known."""
    return _read(value) if isinstance(value, File) else value


# --- Reading


def read_data(path: str) -> Any:
    """The array in a file, named as in ``--input``. PtoError (RUN-03) where there is none."""
    file, _, key = path.rpartition(":") if ".npz:" in path else (path, "", "")
    return _read(File(file, key))


def read_bytes(path: str, most: int = -1) -> Array:
    """The bytes of a file, ``most`` of them at most: a device may have no end."""
    try:
        with open(path, "rb") as file:
            return np.frombuffer(file.read(most), np.uint8)
    except (OSError, ValueError, MemoryError) as error:
        raise _unreadable(path, error) from None


def _read(file: File) -> Any:
    if file.path.endswith(".bin"):
        return Raw(file.path, read_bytes(file.path).tobytes())
    from zipfile import BadZipFile

    try:
        with open(file.path, "rb") as opened:
            if file.path.endswith(".npz"):
                return _from_archive(opened, file)
            return np.lib.format.read_array(opened, allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError, BadZipFile) as error:
        raise _unreadable(file.path, error) from None


def _from_archive(opened: BinaryIO, file: File) -> Array:
    archive = np.load(opened, allow_pickle=False)
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise ValueError("it is no archive of arrays")
    with archive:
        names = list(archive.files)
        key = file.key or (names[0] if len(names) == 1 else "")
        if key not in names:
            wanted = f"it has no array '{key}'" if key else "it has several arrays; PATH.npz:KEY chooses one"
            raise ValueError(f"{wanted}; there is {', '.join(names) or 'none'}")
        found: Array = archive[key]
        return found


def _unreadable(path: str, error: Exception) -> PtoError:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return PtoError([Diagnostic("error", "RUN-03", f"it cannot be read: {reason}", Source("", path))])


class Raw:
    """The bytes of a ``.bin``: elements row by row, once it is known of which type and shape."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data

    def __call__(self, type_: Any) -> Array:
        """The array for a tile, a pointer, a scalar or elements of a NumPy type (then flat)."""
        dtype = type_ if isinstance(type_, np.dtype) else element_dtype(getattr(type_, "element", type_))
        if len(self.data) % dtype.itemsize:
            raise DataFault(f"'{self.path}' has {self._length()}; an element of {dtype} has {dtype.itemsize}")
        flat = np.frombuffer(self.data, dtype)
        if isinstance(type_, TileType):
            return flat.reshape(self._shape(flat.size, type_))
        if isinstance(type_, ElementType):
            if flat.size != 1:
                raise DataFault(f"'{self.path}' has {flat.size} values of {type_}; a scalar is one")
            return flat.reshape(())
        return flat

    def _length(self) -> str:
        return count(len(self.data), "byte")

    def _shape(self, size: int, type_: TileType) -> tuple[int, int]:
        """The valid shape or the physical one; a single open extent follows from the number of elements."""
        rows, cols = type_.valid_rows, type_.valid_cols
        if rows is None and cols and size % cols == 0:
            rows = size // cols
        elif cols is None and rows and size % rows == 0:
            cols = size // rows
        if rows is not None and cols is not None and rows * cols == size:
            return rows, cols
        if size == type_.rows * type_.cols:
            return type_.rows, type_.cols
        valid = "x".join("?" if n is None else str(n) for n in (type_.valid_rows, type_.valid_cols))
        raise DataFault(
            f"'{self.path}' has {self._length()}, {count(size, 'element')} of {type_.element}; the tile takes {valid} "
            f"(valid) or {shape_text((type_.rows, type_.cols))} (physical)"
        )


# --- Writing


class Outputs(Files):
    """Arrays and bytes in files that are written together: all of them, or none."""

    def add_arrays(self, path: str, arrays: dict[str, Any]) -> None:
        """A file with arrays by name: a ``.npz`` with any number of them, else one."""
        if path.endswith(".npz"):
            self.add(path, lambda file: _write_archive(file, arrays))
            return
        (array,) = arrays.values()
        if path.endswith(".bin"):
            self.add_bytes(path, np.asarray(array))
        else:
            self.add(path, lambda file: np.lib.format.write_array(file, np.asarray(array), allow_pickle=False))

    def add_bytes(self, path: str, array: Array) -> None:
        """A file with the elements row by row."""
        self.add(path, lambda file: _write(file, array.tobytes()))


def _write(file: BinaryIO, data: bytes) -> None:
    file.write(data)


def _write_archive(file: BinaryIO, arrays: dict[str, Any]) -> None:
    from zipfile import ZipFile, ZipInfo

    with ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True) as part:
                np.lib.format.write_array(part, np.asarray(array), allow_pickle=False)
