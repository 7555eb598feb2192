"""The map of the UB: addresses, lives, overlaps, the table, and the picture."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

import ptoasm
from ptoasm.cli import cli
from ptoasm.svg import draw
from ptoasm.ubmap import UbMap

UB = 196608
ROW, BOTH = "!pto.tile_buf<vec, 1x8xi32>", "!pto.tile_buf<vec, 2x8xi32>"
SHARED = f"""func.func @k(%s: i32) {{
  %zero = arith.constant 0 : i64
  %row = pto.alloc_tile addr = %zero : {ROW}
  %both = pto.alloc_tile addr = %zero : {BOTH}
  %sum = pto.alloc_tile : {ROW}
  pto.tci ins(%s : i32) outs(%row : {ROW})
  pto.tcolsum ins(%both : {BOTH}) outs(%sum : {ROW})
  pto.tcolsum ins(%row : {ROW}) outs(%sum : {ROW})
  return
}}
"""
SVG = "{http://www.w3.org/2000/svg}"


def mapped(text: str, ub_size: int = UB) -> UbMap:
    return UbMap(ptoasm.parse(text).functions[0], ub_size)


def places(ubmap: UbMap) -> list[tuple[str, int | None, bool, int | None, int | None]]:
    """Name, address, whether the program says it, and the lines of the first and the last use."""

    def line(operation: int | None) -> int | None:
        return None if operation is None else ubmap.line(operation)

    return [(r.name, r.address, r.given, line(r.first), line(r.last)) for r in ubmap.residents]


def test_addresses_and_uses() -> None:
    assert places(mapped(SHARED)) == [
        ("row", 0, True, 6, 8),
        ("both", 0, True, 7, 7),
        ("sum", 64, False, 7, 8),
    ]


def test_overlap_says_whether_both_are_live() -> None:
    (overlap,) = mapped(SHARED).overlaps
    assert (overlap.first.name, overlap.second.name, overlap.start, overlap.end, overlap.live) == (
        "row",
        "both",
        0,
        32,
        True,
    )


def test_bytes_that_are_taken_and_live() -> None:
    ubmap = mapped(SHARED)
    assert ubmap.occupied == 96  # %both with %row inside, and %sum
    assert ubmap.peak == (96, 5)
    assert ubmap.line(5) == 7


def test_memory_that_is_used_again() -> None:
    tile, row = "!pto.tile<vec, 2x8xf32>", "!pto.tile<vec, 1x8xf32>"
    text = "\n".join(f"%d{k} = tcolsum %s{k} : {tile} -> {row}" for k in range(3))
    ubmap = mapped(text, 128)
    assert all(resident.address is not None for resident in ubmap.residents)
    assert ubmap.overlaps and not any(overlap.live for overlap in ubmap.overlaps)
    assert ubmap.peak[0] == 96


def test_tile_that_moves_has_two_places() -> None:
    text = f"""pto.tassign %t, @tile(0x0)
pto.tci ins(1 : i32) outs(%t : {ROW})
pto.tassign %t, @tile(0x100)
pto.tci ins(1 : i32) outs(%t : {ROW})
"""
    assert places(mapped(text)) == [("t", 0, True, 2, 2), ("t", 0x100, True, 4, 4)]


def test_tile_in_a_loop_lives_through_it() -> None:
    text = f"""func.func @k(%n: index, %s: i32) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = pto.alloc_tile : {ROW}
  %u = pto.alloc_tile : {ROW}
  scf.for %i = %c0 to %n step %c1 {{
    pto.tci ins(%s : i32) outs(%t : {ROW})
    pto.tcolsum ins(%t : {ROW}) outs(%u : {ROW})
  }}
  return
}}
"""
    ubmap = mapped(text)
    assert [(name, first, last) for name, _, _, first, last in places(ubmap)] == [("t", 6, 8), ("u", 6, 8)]


def test_tile_that_nothing_uses() -> None:
    text = f"func.func @k() {{\n  %t = pto.alloc_tile : {ROW}\n  return\n}}"
    assert places(mapped(text)) == [("t", 0, False, None, None)]


# --- The command


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["map", *arguments])


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    path = tmp_path / "shared.pto"
    path.write_text(SHARED)
    return path


def test_table(shared: Path) -> None:
    result = run(str(shared))
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["%row", "0x0", "0x20", "32", "1x8xi32", "6-8", "program"] in rows
    assert ["%sum", "0x40", "0x60", "32", "1x8xi32", "7-8", "placement"] in rows
    assert "%row and %both share 32 bytes, 0x0 to 0x20: both live at one time" in result.stdout
    assert "96 bytes are taken (0.0 %), 196,512 are free; at most 96 are live at one time (line 7)" in result.stdout


def test_size_of_the_ub(shared: Path) -> None:
    assert "in a UB of 4,096 bytes" in run(str(shared), "--ub-size", "4096").stdout
    assert "in a UB of 262,144 bytes" in run(str(shared), "--arch", "a5").stdout


def test_no_room(shared: Path) -> None:
    result = run(str(shared), "--ub-size", "64")
    assert result.exit_code == 1
    assert "no room" in result.stdout
    assert "[PLACE-01]" in result.stderr


def test_wrong_text(tmp_path: Path) -> None:
    path = tmp_path / "wrong.pto"
    path.write_text("%a = nonsense %b\n")
    result = run(str(path))
    assert result.exit_code == 1
    assert "[PARSE-" in result.stderr


def test_file_that_is_not_there() -> None:
    result = run("nowhere.pto")
    assert result.exit_code == 1
    assert "[RUN-03]" in result.stderr


def test_several_programs(tmp_path: Path) -> None:
    path = tmp_path / "two.pto"
    path.write_text(f"{SHARED}// -----\n{SHARED}")
    assert run(str(path)).stdout.count("3 tiles in a UB") == 2
    assert run(str(path), "--part", "2").stdout.count("3 tiles in a UB") == 1
    assert run(str(path), "--part", "3").exit_code == 1
    assert run(str(path), "--svg", str(tmp_path / "two.svg")).exit_code == 1


# --- The picture


def boxes(text: str) -> dict[str, tuple[float, float, float, float]]:
    """x, y, width and height of each tile's box."""
    found = {}
    for group in ElementTree.fromstring(text).iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        assert rect is not None
        x, y, width, height = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
        found[group.attrib["data-name"]] = x, y, width, height
    return found


def test_picture_shows_time_and_addresses() -> None:
    found = boxes(draw(mapped(SHARED), "shared"))
    assert set(found) == {"row", "both", "sum"}
    row, both, total = found["row"], found["both"], found["sum"]
    assert row[0] < both[0] == total[0], "%row is used first"
    assert row[2] > total[2] > both[2], "lives are as long as they are"
    assert row[1] + row[3] == both[1] + both[3], "both begin at address 0"
    assert both[3] > row[3], "%both is the larger one"
    assert total[1] + total[3] <= both[1], "%sum lies above"


def test_picture_hatches_what_is_shared() -> None:
    root = ElementTree.fromstring(draw(mapped(SHARED), "shared"))
    hatched = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == "shared"]
    assert len(hatched) == 1


def test_picture_shows_addresses_and_operations() -> None:
    root = ElementTree.fromstring(draw(mapped(SHARED), "shared"))
    texts = {kind: [t.text for t in root.iter(f"{SVG}text") if t.get("class") == kind] for kind in ("address", "name")}
    assert texts["address"] == ["0x0", "0x20", "0x40", "0x60"]
    assert sorted(filter(None, texts["name"])) == ["%both", "%row", "%sum"]
    operations = [t.text for t in root.iter(f"{SVG}text") if t.get("class") == "operation"]
    assert operations == ["6 tci", "7 tcolsum", "8 tcolsum"]


def test_picture_of_names_and_titles_that_are_not_xml() -> None:
    root = ElementTree.fromstring(draw(mapped(SHARED), '<&">'))
    assert root.findtext(f"{SVG}title") == '<&">'


def test_picture_of_a_program_without_tiles() -> None:
    assert boxes(draw(mapped("func.func @k() {\n  return\n}"), "empty")) == {}


def test_picture_is_written(shared: Path, tmp_path: Path) -> None:
    out = tmp_path / "map.svg"
    assert run(str(shared), "--svg", str(out)).exit_code == 0
    assert set(boxes(out.read_text())) == {"row", "both", "sum"}
    assert run(str(shared), "--svg", str(tmp_path / "no" / "map.svg")).exit_code == 1


def test_a_map_of_much_reuse_is_cut(tmp_path: Path) -> None:
    (tmp_path / "p.pto").write_text("".join(f"%d{k} = tci {k} : !pto.tile<vec, 1x8xi32>\n" for k in range(8000)))
    output = CliRunner().invoke(cli, ["map", str(tmp_path / "p.pto")]).output
    assert output.splitlines()[-1] == "… and more pairs that share bytes: 500 of them are listed"
