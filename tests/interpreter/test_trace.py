"""The trace: what it says about each instruction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ptoasm
from ptoasm.interpreter.run import Session, choose_function
from ptoasm.interpreter.trace import Trace, digest
from ptoasm.verifier import choose_target


def traced(text: str, inputs: dict[str, Any], blocks: int = 1) -> tuple[list[dict[str, Any]], list[str]]:
    module = ptoasm.parse(text)
    session = Session(
        module, choose_function(module, None), choose_target(module, None), fill_missing=True, blocks=blocks
    )
    records, lines = Trace(session.machine), Trace(session.machine)
    found: tuple[list[dict[str, Any]], list[str]] = ([], [])

    def on_step(step: Any) -> None:
        found[0].append(records.record(step))
        found[1].append(lines.line(step))

    session.machine.on_step = on_step
    session.run(inputs)
    return found


TEXT = """pto.tassign %src, @tile(0x0)
pto.tassign %tmp, @tile(0x100)
pto.tassign %val, @tile(0x200)
pto.tassign %idx, @tile(0x220)
pto.tcolargmin ins(%src, %tmp : !pto.tile_buf<vec, 3x8xf32, valid=3x5>, !pto.tile_buf<vec, 1x8xf32>)
  outs(%val, %idx : !pto.tile_buf<vec, 1x8xf32, valid=1x5>, !pto.tile_buf<vec, 1x8xi32, valid=1x5>)
"""


def test_record_of_an_instruction() -> None:
    array = np.array([[3, 1, 2, 9, math.nan], [2, 5, 2, 8, 0], [1, 0, 2, 7, 0]], np.float32)
    ((record,), _) = traced(TEXT, {"src": array})
    assert record == {
        "step": 1,
        "line": 5,
        "op": "tcolargmin",
        "operands": [
            {"name": "src", "value": "src", "address": 0, "shape": [3, 5], "dtype": "f32"},
            {"name": "tmp", "value": "tmp", "address": 0x100, "shape": [1, 8], "dtype": "f32"},
        ],
        "written": [
            {
                "name": "dstVal",
                "value": "val",
                "address": 0x200,
                "shape": [1, 5],
                "dtype": "f32",
                "first": [1.0, 0.0, 2.0, 7.0],
                "min": 0.0,
                "max": 7.0,
                "nan": 1,
            },
            {
                "name": "dstIdx",
                "value": "idx",
                "address": 0x220,
                "shape": [1, 5],
                "dtype": "i32",
                "first": [2, 2, 0, 2],
                "min": 0,
                "max": 2,
            },
        ],
    }


def test_line_of_an_instruction() -> None:
    _, (line,) = traced(TEXT, {"src": np.zeros((3, 5), np.float32)})
    for part in ("line 5", "tcolargmin", "src %src 0x0 3x5xf32", "dstIdx %idx 0x220 1x5xi32: 0 0 0 0 …, min 0, max 0"):
        assert part in line


def test_scalars_have_their_values() -> None:
    text = "%d = tci %s : !pto.tile<vec, 1x8xi32>\n%e = tci 7 : !pto.tile<vec, 1x8xi32>"
    records, lines = traced(text, {"s": 5})
    assert [r["operands"] for r in records] == [
        [{"name": "S", "value": "s", "number": 5}],
        [{"name": "S", "number": 7}],
    ]
    assert "S %s = 5" in lines[0] and "S = 7" in lines[1]


def test_what_moves_between_tiles_and_global_memory() -> None:
    tile, whole = "!pto.tile_buf<vec, 2x8xf32>", "!pto.tensor_view<?x?xf32>"
    part = "!pto.partition_tensor_view<2x8xf32>"
    text = f"""func.func @k(%x: !pto.ptr<f32>) {{
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %from = pto.addptr %x, %c4 : !pto.ptr<f32> -> !pto.ptr<f32>
  %v = pto.make_tensor_view %from, shape = [%c2, %c8], strides = [%c8, %c1] : {whole}
  %c0 = arith.constant 0 : index
  %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c2, %c8] : {whole} -> {part}
  %t = pto.alloc_tile : {tile}
  pto.tload ins(%p : {part}) outs(%t : {tile})
  pto.tstore ins(%t : {tile}) outs(%p : {part})
  return
}}"""
    (load, store), _ = traced(text, {"x": np.arange(20, dtype=np.float32)})
    view = {"name": "view", "value": "p", "of": "%x[4]", "shape": [2, 8], "dtype": "f32"}
    assert load["operands"] == [view]
    assert load["written"][0]["first"] == [4, 5, 6, 7]
    assert store["written"] == [view | {"first": [4, 5, 6, 7], "min": 4, "max": 19, "nan": 0}]


def test_blocks_are_numbered() -> None:
    records, lines = traced("%d = tci 1 : !pto.tile<vec, 1x8xi32>", {}, blocks=2)
    assert [r["block"] for r in records] == [0, 1] and [r["step"] for r in records] == [1, 2]
    assert "block 1" in lines[1]


def test_digest() -> None:
    assert digest(np.array([[math.nan, math.inf, -0.0]], np.float32)) == {
        "first": ["nan", "inf", -0.0],
        "min": -0.0,
        "max": "inf",
        "nan": 1,
    }
    assert digest(np.array([[math.nan]], np.float32)) == {"first": ["nan"], "nan": 1}
    assert digest(np.zeros((1, 0), np.int32)) == {"first": []}
