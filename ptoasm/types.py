"""The types of values: element types, tiles, scalars, pointers and views.

Types are interned: two spellings of one type give the same object, so types are compared with ``is``.
Sizes are in bytes unless a name says elements.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal, NamedTuple

LOCATIONS = ("vec", "mat", "left", "right", "acc", "bias", "scaling")
PADS = ("null", "zero", "max", "min")
DEFAULT_FRACTAL = 512


class Type:
    """Any type. ``str`` gives its canonical text."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """The canonical text."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{self.text}>"


class ElementType(Type):
    """The type of one element or of a scalar.

    ``kind`` is ``int`` (signed), ``uint``, ``float``, ``index`` or ``other`` (kept, not understood). ``size`` is in
    bytes; 0 where it is not known.
    """

    __slots__ = ("bits", "kind", "size", "text")
    text: str

    def __init__(self, name: str, kind: str, bits: int) -> None:
        self.text = name
        self.kind = kind
        self.bits = bits
        self.size = (bits + 7) // 8

    @property
    def name(self) -> str:
        """The canonical spelling."""
        return self.text

    @property
    def is_integer(self) -> bool:
        """Whether it is a signed or unsigned integer (``index`` is not an element type)."""
        return self.kind in ("int", "uint")

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type that the project computes with."""
        return self.kind == "float"

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value of an integer type."""
        if self.kind == "uint":
            return 0, (1 << self.bits) - 1
        return -(1 << self.bits - 1), (1 << self.bits - 1) - 1


I1 = ElementType("i1", "int", 1)
I8, I16, I32, I64 = (ElementType(f"i{n}", "int", n) for n in (8, 16, 32, 64))
UI8, UI16, UI32, UI64 = (ElementType(f"ui{n}", "uint", n) for n in (8, 16, 32, 64))
F16 = ElementType("f16", "float", 16)
BF16 = ElementType("bf16", "float", 16)
F32 = ElementType("f32", "float", 32)
F64 = ElementType("f64", "other", 64)
INDEX = ElementType("index", "index", 64)

_ELEMENTS: dict[str, ElementType] = {
    t.text: t for t in (I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64, F16, BF16, F32, F64, INDEX)
}
_SPELLINGS: dict[str, ElementType] = dict(_ELEMENTS)
for _bits in (8, 16, 32, 64):
    for _alias in ("si{}", "s{}", "int{}", "int{}_t"):
        _SPELLINGS[_alias.format(_bits)] = _ELEMENTS[f"i{_bits}"]
    for _alias in ("u{}", "uint{}", "uint{}_t"):
        _SPELLINGS[_alias.format(_bits)] = _ELEMENTS[f"ui{_bits}"]
_SPELLINGS |= {
    "half": F16,
    "float16": F16,
    "bfloat16": BF16,
    "bfloat16_t": BF16,
    "float": F32,
    "float32": F32,
}

ELEMENT_NAMES = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f16", "bf16", "f32")
"""The canonical names of the element types that a tile of the three instructions can have."""


def element_type(name: str) -> ElementType:
    """The element type of any accepted spelling; an unknown one is kept as ``other`` (platform, Element types)."""
    found = _SPELLINGS.get(name)
    if found is None:
        bits = name.lstrip("isu")
        counted = bits.isascii() and bits.isdecimal() and len(bits) < 7 and int(bits) > 0
        known = counted and name[: -len(bits)] in ("i", "si", "ui")
        kind = ("uint" if name[0] == "u" else "int") if known else "other"
        found = _SPELLINGS[name] = ElementType(
            name.removeprefix("s") if known else name, kind, int(bits) if known else 0
        )
    return found


def is_element_name(name: str) -> bool:
    """Whether a word is one of the accepted spellings of an element type."""
    return name in _SPELLINGS


class _TileFields(NamedTuple):
    kind: str
    loc: str
    element: ElementType
    rows: int
    cols: int
    valid_rows: int | None
    valid_cols: int | None
    blayout: str
    slayout: str
    fractal: int | str
    pad: str
    extra: tuple[tuple[str, str], ...]


TILE_FIELDS = _TileFields._fields
"""The parameters of a tile type, in order."""
WHOLE: Final = "whole"
"""Stands for a valid extent that is the physical one; no number can, as a program can compute any."""
_ROWS, _COLS, _VALID_ROWS, _VALID_COLS = map(TILE_FIELDS.index, ("rows", "cols", "valid_rows", "valid_cols"))


class TileType(Type, _TileFields):
    """``!pto.tile<…>`` or ``!pto.tile_buf<…>`` (platform, Tile types).

    ``rows`` and ``cols`` are the physical shape, ``valid_rows`` and ``valid_cols`` the valid region, all in elements;
    None is a ``?``, known only at run time. ``extra`` keeps parameters that are none of ours as (key, text).
    """

    __slots__ = ()
    _interned: ClassVar[dict[tuple[Any, ...], TileType]] = {}

    @classmethod
    def of(
        cls,
        element: ElementType,
        rows: int,
        cols: int,
        valid_rows: int | Literal["whole"] | None = WHOLE,
        valid_cols: int | Literal["whole"] | None = WHOLE,
        *,
        kind: str = "tile_buf",
        loc: str = "vec",
        blayout: str = "row_major",
        slayout: str = "none_box",
        fractal: int | str = DEFAULT_FRACTAL,
        pad: str = "null",
        extra: tuple[tuple[str, str], ...] = (),
    ) -> TileType:
        """The type with these parameters; a valid extent that is left out is the physical one."""
        return cls.from_fields(
            [kind, loc, element, rows, cols, valid_rows, valid_cols, blayout, slayout, fractal, pad, extra]
        )

    @classmethod
    def from_fields(cls, fields: list[Any]) -> TileType:
        """As ``of``, with the parameters in the order of ``TILE_FIELDS``; the list may be changed."""
        if fields[_VALID_ROWS] is WHOLE:
            fields[_VALID_ROWS] = fields[_ROWS]
        if fields[_VALID_COLS] is WHOLE:
            fields[_VALID_COLS] = fields[_COLS]
        made = tuple.__new__(cls, fields)
        return cls._interned.setdefault(made, made)

    def with_(self, **changes: object) -> TileType:
        """The same type with some parameters changed."""
        return TileType.from_fields([changes.get(*field) for field in zip(TILE_FIELDS, self, strict=True)])

    @property
    def is_dynamic(self) -> bool:
        """Whether part of the valid region is known only at run time."""
        return self.valid_rows is None or self.valid_cols is None

    @property
    def size(self) -> int:
        """Bytes of the whole tile."""
        return self.rows * self.cols * self.element.size

    @property
    def row_stride(self) -> int:
        """Bytes from one row to the next."""
        return self.element.size if self.blayout == "col_major" else self.cols * self.element.size

    @property
    def col_stride(self) -> int:
        """Bytes from one column to the next."""
        return self.rows * self.element.size if self.blayout == "col_major" else self.element.size

    @property
    def is_nd(self) -> bool:
        """Whether it has the standard ND layout: row-major and non-fractal."""
        return self.blayout == "row_major" and self.slayout == "none_box"

    @property
    def text(self) -> str:
        """The compact spelling, without the parameters that have their defaults."""
        parts = [self.loc, f"{self.rows}x{self.cols}x{self.element}"]
        if (self.valid_rows, self.valid_cols) != (self.rows, self.cols):
            parts.append(f"valid={_extent(self.valid_rows)}x{_extent(self.valid_cols)}")
        for key, value, default in (
            ("blayout", self.blayout, "row_major"),
            ("slayout", self.slayout, "none_box"),
            ("fractal", self.fractal, DEFAULT_FRACTAL),
            ("pad", self.pad, "null"),
        ):
            if value != default:
                parts.append(f"{key}={value}")
        parts.extend(f"{key}={text}" for key, text in self.extra)
        return f"!pto.{self.kind}<{', '.join(parts)}>"

    def keyed(self) -> str:
        """The keyed spelling, every parameter written out."""
        pad = PADS.index(self.pad) if self.pad in PADS else self.pad
        parts = [
            f"loc={self.loc}",
            f"dtype={self.element}",
            f"rows={self.rows}",
            f"cols={self.cols}",
            f"v_row={_extent(self.valid_rows)}",
            f"v_col={_extent(self.valid_cols)}",
            f"blayout={self.blayout}",
            f"slayout={self.slayout}",
            f"fractal={self.fractal}",
            f"pad={pad}",
        ]
        parts.extend(f"{key}={text}" for key, text in self.extra)
        return f"!pto.{self.kind}<{', '.join(parts)}>"


def _extent(value: int | None) -> str:
    return "?" if value is None else str(value)


class PointerType(Type):
    """``!pto.ptr<T>`` or ``!pto.ptr<T, gm>``: a flat array in global memory; another space stands in the text."""

    __slots__ = ("element", "text")
    text: str

    def __init__(self, element: ElementType, text: str) -> None:
        self.element = element
        self.text = text


class ViewType(Type):
    """``!pto.tensor_view<…>`` or ``!pto.partition_tensor_view<…>``; an extent of None is a ``?``."""

    __slots__ = ("element", "kind", "shape", "text")
    text: str

    def __init__(self, kind: str, shape: tuple[int | None, ...], element: ElementType) -> None:
        self.kind = kind
        self.shape = shape
        self.element = element
        extents = "".join(f"{_extent(n)}x" for n in shape)
        self.text = f"!pto.{kind}<{extents}{element}>"


class OpaqueType(Type):
    """A type that is none of ours, kept as it is written."""

    __slots__ = ("text",)
    text: str

    def __init__(self, text: str) -> None:
        self.text = text
