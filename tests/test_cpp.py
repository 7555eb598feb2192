"""C++: the pages' examples, and what has no C++."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from ptoasm.conversion import convert
from ptoasm.diagnostics import PtoError
from tests.corpus import ROOT, module, samples


class Example(NamedTuple):
    """The body of an example of a page, and the sample that corresponds to it."""

    sample: str
    body: str


ARGMIN_INDEX = """
  using SrcT = Tile<TileType::Vec, float, 16, 256, BLayout::RowMajor, -1, -1>;
  using DstT = Tile<TileType::Vec, uint32_t, 1, 256, BLayout::RowMajor, -1, -1>;
  using TmpT = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
  SrcT src(16, 255);
  DstT dst(1, 255);
  TmpT tmp(1, 32);
"""
ARGMIN_VALUE = """
  using SrcT = Tile<TileType::Vec, float, 16, 256, BLayout::RowMajor, -1, -1>;
  using DstValT = Tile<TileType::Vec, float, 1, 256, BLayout::RowMajor, -1, -1>;
  using DstIdxT = Tile<TileType::Vec, int32_t, 1, 256, BLayout::RowMajor, -1, -1>;
  using TmpT = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
  SrcT src(16, 255);
  DstValT dstVal(1, 255);
  DstIdxT dstIdx(1, 255);
  TmpT tmp(1, 32);
"""
SUM = """
  using SrcT = Tile<TileType::Vec, float, 16, 16>;
  using DstT = Tile<TileType::Vec, float, 1, 16>;
  using TmpT = Tile<TileType::Vec, float, 16, 16>;
  SrcT src;
  DstT dst;
  TmpT tmp;
"""
SEQUENCE = """
  using TileT = Tile<TileType::Vec, int32_t, 1, 16>;
  TileT dst;
"""
SEQUENCE_TMP = """
  using TileT = Tile<TileType::Vec, int32_t, 1, 16>;
  using TmpT = Tile<TileType::Vec, float, 1, 512>;
  TileT dst;
  TmpT tmp;
"""
EXAMPLES = (
    Example("tcolargmin_auto", f"{ARGMIN_INDEX}TCOLARGMIN(dst, src, tmp);"),
    Example(
        "tcolargmin_manual",
        f"{ARGMIN_INDEX}TASSIGN(src, 0x0); TASSIGN(dst, 0x1000); TASSIGN(tmp, 0x2000); TCOLARGMIN(dst, src, tmp);",
    ),
    Example("tcolargmin_auto_val_idx", f"{ARGMIN_VALUE}TCOLARGMIN(dstVal, dstIdx, src, tmp);"),
    Example(
        "tcolargmin_manual_val_idx",
        f"{ARGMIN_VALUE}TASSIGN(src, 0x0); TASSIGN(dstVal, 0x1000); TASSIGN(dstIdx, 0x2000); TASSIGN(tmp, 0x3000);"
        "TCOLARGMIN(dstVal, dstIdx, src, tmp);",
    ),
    Example("tcolsum_auto", f"{SUM}TCOLSUM(dst, src, tmp, /*isBinary=*/false);"),
    Example(
        "tcolsum_manual",
        f"{SUM}TASSIGN(src, 0x1000); TASSIGN(dst, 0x2000); TASSIGN(tmp, 0x3000);"
        "TCOLSUM(dst, src, tmp, /*isBinary=*/false);",
    ),
    Example("tci_auto", f"{SEQUENCE}TCI<TileT, int32_t, /*descending=*/0>(dst, /*S=*/0);"),
    Example("tci_auto_tmp", f"{SEQUENCE_TMP}TCI<TileT, TmpT, int32_t, /*descending=*/0>(dst, /*S=*/0, tmp);"),
    Example(
        "tci_manual",
        f"{SEQUENCE}TASSIGN(dst, 0x1000); TCI<TileT, int32_t, /*descending=*/1>(dst, /*S=*/100);",
    ),
    Example(
        "tci_manual_tmp",
        f"{SEQUENCE_TMP}TASSIGN(dst, 0x1000); TASSIGN(tmp, 0x2000);"
        "TCI<TileT, TmpT, int32_t, /*descending=*/1>(dst, /*S=*/100, tmp);",
    ),
)


def statements(body: str) -> list[str]:
    """The statements without white space, aliases by their order."""
    parts = [re.findall(r"\w+|\S", part) for part in body.split(";")]
    aliases = {part[1]: f"T{k}" for k, part in enumerate(parts) if part[:1] == ["using"]}
    return [" ".join(aliases.get(word, word) for word in part) for part in parts if part]


def cpp(text: str, *, place: bool = False) -> str:
    return convert(module(text), "cpp", place=place).text


def body_of(text: str) -> str:
    head, _, rest = text.partition(") {\n")
    assert head.startswith("#include <pto/pto-inst.hpp>\n\nusing namespace pto;\n")
    return rest.rpartition("}")[0]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.sample)
def test_the_examples_of_the_pages(example: Example) -> None:
    text = cpp((ROOT / "samples" / f"{example.sample}.pto").read_text(encoding="utf-8"))
    assert f"void {re.sub('^[a-z]+_', 'example_', example.sample)}() {{" in text
    assert statements(body_of(text)) == statements(example.body)


def test_the_comparison_sees_a_difference() -> None:
    assert statements(SUM) != statements(SUM.replace("TmpT tmp", "SrcT tmp"))
    assert statements(SUM) == statements(SUM.replace("TmpT", "OtherT").replace("  ", " "))


def lines(text: str, *, place: bool = False) -> list[str]:
    return [line.strip() for line in body_of(cpp(text, place=place)).splitlines()]


def test_overloads() -> None:
    plain = "%d = tcolsum %s : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>\n"
    assert lines(plain)[-1] == "TCOLSUM(d, s);"
    assert lines(plain.replace("%s :", "%s {isBinary = true} :"))[-1] == "TCOLSUM(d, s, tmp, /*isBinary=*/true);"
    argmin = "%i = tcolargmin %s : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xi32>\n"
    assert lines(argmin)[-1] == "TCOLARGMIN(i, s, tmp);"


def test_valid_regions_and_layouts() -> None:
    text = (
        "%i = tcolargmin %s : !pto.tile<vec, 8x4xf16, valid=7x3, blayout=col_major> -> "
        "!pto.tile<vec, 1x16xui16, valid=1x3, pad=zero>\n"
    )
    made = cpp(text)
    assert "Tile<TileType::Vec, half, 8, 4, BLayout::ColMajor, 7, 3>" in made
    assert (
        "Tile<TileType::Vec, uint16_t, 1, 16, BLayout::RowMajor, 1, 3, SLayout::NoneBox, 512, PadValue::Zero>" in made
    )


def test_functions_loops_and_scalars() -> None:
    text = """\
func.func @k(%s: !pto.tile_buf<vec, 4x8xi32>, %n: index, %d: !pto.tile_buf<vec, 1x8xi32>, %p: i1) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c2 {
    %x = arith.index_cast %i : index to i32
    %m = arith.minsi %n, %i : index
    scf.if %p {
      pto.tci ins(%x {descending = true} : i32) outs(%d : !pto.tile_buf<vec, 1x8xi32>)
    } else {
      pto.tcolsum ins(%s : !pto.tile_buf<vec, 4x8xi32>) outs(%d : !pto.tile_buf<vec, 1x8xi32>)
    }
  }
  return
}
"""
    made = cpp(text)
    assert "using ST = Tile<TileType::Vec, int32_t, 4, 8>;\n" in made
    assert "void k(ST &s, int64_t n, DT &d, bool p) {" in made
    assert lines(text) == [
        "for (int64_t i = 0; i < n; i += 2) {",
        "const int32_t x = static_cast<int32_t>(i);",
        "const int64_t m = n < i ? n : i;",
        "if (p) {",
        "TCI<DT, int32_t, /*descending=*/1>(d, /*S=*/x);",
        "} else {",
        "TCOLSUM(d, s);",
        "}",
        "}",
    ]


def test_results_are_parameters() -> None:
    text = """\
func.func @k(%s: !pto.tile<vec, 4x8xf32>) -> !pto.tile<vec, 1x8xf32> {
  %d = pto.tcolsum %s : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>
  return %d : !pto.tile<vec, 1x8xf32>
}
"""
    assert "void k(ST &s, DT &d) {" in cpp(text)
    assert lines(text) == ["TCOLSUM(d, s);"]


def test_addresses_can_be_placed() -> None:
    text = "%d = tci 5 : !pto.tile<vec, 1x8xi32>\n"
    assert "TASSIGN(d, 0x0);" in lines(text, place=True)


def test_names_that_cpp_does_not_take() -> None:
    made = cpp("".join(f"%{name} = tci 5 : !pto.tile<vec, 1x8xi32>\n" for name in ("0", "a.b", "int")))
    assert all(f" {name};" in made for name in ("v0", "a_b", "int_"))


def test_floating_point_literals() -> None:
    assert lines("%d = tci 1.5 : !pto.tile<vec, 1x16xf16>\n")[-1].endswith("(d, /*S=*/1.5f);")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("%v = pto.make_tensor_view %g, shape = [%n], strides = [%n] : !pto.tensor_view<?xf32>", "global memory"),
        ("pto.barrier <PIPE_V>", "no page says how 'pto.barrier' is called"),
        ("pto.tneg ins(%t : !pto.tile_buf<vec, 1x8xf32>) outs(%t : !pto.tile_buf<vec, 1x8xf32>)", "no page says"),
    ],
)
def test_what_has_no_cpp_says_so(statement: str, message: str) -> None:
    pointer = ", %g: !pto.ptr<f32>" if "%g" in statement else ""
    text = f"func.func @k(%n: index, %t: !pto.tile_buf<vec, 1x8xf32>{pointer}) {{\n  {statement}\n  return\n}}\n"
    with pytest.raises(PtoError) as caught:
        cpp(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", samples())
def test_samples(name: str) -> None:
    """Every sample without global memory has C++."""
    if "!pto.ptr" in samples()[name]:
        with pytest.raises(PtoError, match="global memory"):
            cpp(samples()[name])
    else:
        assert cpp(samples()[name]).startswith("#include <pto/pto-inst.hpp>\n")
