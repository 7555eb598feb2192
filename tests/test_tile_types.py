"""Types that are put together from parameters met before are those that the grammar reads."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptoasm import tile_types
from ptoasm.lexer import TextFault
from ptoasm.tile_types import read_type
from ptoasm.types import F32, TileType

EXTENT = st.sampled_from(["1", "1", "16", "16", "08", "300", "?", "-1", "-2", "9" * 19, "9" * 19, "x", ""])
WORD = st.sampled_from(["vec", "vec", "mat", "f32", "f32", "row_major", "col_major", "none_box", "zero", "f99", "..."])
PARAMETERS = st.one_of(
    st.builds(
        "{}={}".format, st.sampled_from(["rows", "rows", "cols", "v_row", "v_col", "fractal", "pad", "frac"]), EXTENT
    ),
    st.builds("{}={}".format, st.sampled_from(["loc", "dtype", "blayout", "slayout", "pad", "other"]), WORD),
    st.builds("{}x{}x{}".format, EXTENT, EXTENT, WORD),
    st.builds("valid={}x{}".format, EXTENT, EXTENT),
    st.builds("{}=1x16".format, st.sampled_from(["rows", "cols", "valid", "pad"])),
    WORD,
    EXTENT,
)
PRIMERS = (
    "vec, 4x8xf32, valid=2x3",
    "4x8xf32, loc=vec",
    "mat, 4x8xf32, fractal=32, pad=1",
    "dtype=f32, rows=4, v_row=2, cols=8, v_col=3, loc=vec, blayout=row_major, slayout=none_box, pad=zero",
    "vec, f32, 4, 8, row_major",
    "vec,4x8xf32,row_major,none_box",
    "loc=vec, dtype=f32, rows=1, cols=1, v_row=?, v_col=-1",
)
FRAGMENTS = ("dtype=f32, cols=16", "dtype=f32, rows=16", "dtype=f32, rows=1, cols=16", "vec, f32, 1", "vec, 1x16xf32")


def joined(texts: tuple[list[str], str, list[str]]) -> str:
    before, middle, after = texts
    return ", ".join((*before, middle, *after))


FEW = st.lists(PARAMETERS, max_size=2)
TEXTS = st.builds(
    "{}<{}{}".format,
    st.sampled_from(["pto.tile", "pto.tile", "pto.tile_buf", "pto.tile ", "pto.tiles"]),
    st.tuples(FEW, st.sampled_from(FRAGMENTS), FEW).map(joined) | st.lists(PARAMETERS, max_size=6).map(",".join),
    st.sampled_from([">"] * 9 + [""]),
)


def forget() -> None:
    for memo in (
        tile_types._types,
        tile_types._parts,
        tile_types._taught,
        tile_types._numbered,
        tile_types._known_parts,
    ):
        memo.clear()


def outcome(text: str) -> Any:
    try:
        return str(read_type(text)), repr(read_type(text))
    except TextFault as fault:
        return fault.message, fault.start, fault.end, fault.code


@given(st.lists(TEXTS, min_size=1, max_size=8), st.sampled_from([0, 3, tile_types._REMEMBERED]))
@settings(max_examples=300, deadline=None)
def test_what_was_met_before_changes_nothing(texts: list[str], remembered: int) -> None:
    alone = []
    for text in texts:
        forget()
        alone.append(outcome(text))
    forget()
    for kind in ("tile", "tile_buf"):
        for parameters in PRIMERS:
            read_type(f"pto.{kind}<{parameters}>")
    with mock.patch.object(tile_types, "_REMEMBERED", remembered):
        assert [outcome(text) for text in texts] == alone


def test_a_full_table_keeps_what_the_grammar_taught() -> None:
    forget()
    read_type("pto.tile<vec, 4x8xf32, pad=zero>")
    with mock.patch.object(tile_types, "_REMEMBERED", 5), mock.patch.object(tile_types, "_read") as grammar:
        for rows in range(5, 25):
            assert read_type(f"pto.tile<vec, {rows}x8xf32, pad=zero>") is TileType.of(
                F32, rows, 8, kind="tile", pad="zero"
            )
    grammar.assert_not_called()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vec, 4x8xf32", TileType.of(F32, 4, 8, kind="tile")),
        ("vec, 5x16xf32", TileType.of(F32, 5, 16, kind="tile")),
        ("vec, 5x16xf32, valid=3x?", TileType.of(F32, 5, 16, 3, None, kind="tile")),
        ("vec, 5x16xf32, valid=3x-1", TileType.of(F32, 5, 16, 3, None, kind="tile")),
        ("vec, 5x16xf32, valid=2x9", TileType.of(F32, 5, 16, 2, 9, kind="tile")),
        ("rows=5, pad=1, cols=16, dtype=float", TileType.of(F32, 5, 16, pad="zero", kind="tile")),
        ("rows=5, pad=2, cols=16, dtype=float", TileType.of(F32, 5, 16, pad="max", kind="tile")),
        (
            "loc=vec, f32, 16, 8, ColMajor, NoneBox, None, Zero",
            TileType.of(F32, 16, 8, kind="tile", blayout="col_major", pad="zero"),
        ),
        (
            "loc=vec, f32, 24, 8, ColMajor, NoneBox, 32, Max",
            TileType.of(F32, 24, 8, kind="tile", blayout="col_major", pad="max", fractal=32),
        ),
    ],
)
def test_equal_types_are_one_object(text: str, expected: TileType) -> None:
    assert read_type(f"pto.tile<{text}>") is expected
    assert read_type(f"pto.tile<{text.replace(', ', ',')}>") is expected


def test_a_number_is_refused_for_its_length_whatever_was_met_before() -> None:
    read_type("pto.tile<dtype=f32, cols=16, rows=5>")
    with pytest.raises(TextFault, match="this one has 19"):
        read_type(f"pto.tile<dtype=f32, cols=16, rows={'9' * 19}>")
