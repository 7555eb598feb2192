"""Runs: what is an input, where data is, what comes out, and what a run refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptoasm
from ptoasm.interpreter.data import Fill
from ptoasm.interpreter.memory import FILL

ROW, TWO, THREE = (f"!pto.tile_buf<vec, {n}x8xi32>" for n in (1, 2, 3))
FLOATS, FLOAT_ROW = "!pto.tile_buf<vec, 2x8xf32>", "!pto.tile_buf<vec, 1x8xf32>"


def bind(**addresses: int) -> str:
    return "".join(f"pto.tassign %{name}, @tile({address:#x})\n" for name, address in addresses.items())


def total(src: str, src_type: str, dst: str, dst_type: str = ROW) -> str:
    return f"pto.tcolsum ins(%{src} : {src_type}) outs(%{dst} : {dst_type})\n"


def sequence(dst: str, start: object = 1, type_: str = ROW) -> str:
    return f"pto.tci ins({start} : i32) outs(%{dst} : {type_})\n"


def codes(result: Any) -> list[str]:
    return [d.code for d in result.diagnostics]


def error(text: str, inputs: Any = None, **options: Any) -> str:
    """The one error that a run ends with: its code and message."""
    with pytest.raises(ptoasm.PtoError) as caught:
        ptoasm.run(text, inputs, **options)
    (found,) = [d for d in caught.value.diagnostics if d.severity == "error"]
    return f"{found.code}: {found.message}"


def rows(*numbers: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Rows of eight equal numbers."""
    return np.repeat(np.array(numbers, np.int32)[:, None], 8, axis=1)


# --- Memory


def test_overwriting_its_own_source_through_an_alias() -> None:
    text = bind(src=0, dst=0, again=0x100) + total("src", THREE, "dst") + total("src", THREE, "again")
    result = ptoasm.run(text, {"src": rows(1, 2, 3)})
    # The first sum, 6, is in row 0 of %src by then: 6 + 2 + 3. With value semantics it would be 6 again.
    assert result.outputs["again"].tolist() == rows(11).tolist()
    assert result.outputs["dst"].tolist() == rows(6).tolist()


def test_two_names_at_one_address_see_each_others_data() -> None:
    text = bind(a=0, b=32, both=0, sum=64) + sequence("a") + sequence("b", 10) + total("both", TWO, "sum")
    assert ptoasm.run(text).outputs["sum"].tolist() == [[11, 13, 15, 17, 19, 21, 23, 25]]


def test_one_address_two_element_types() -> None:
    halves = "!pto.tile_buf<vec, 1x16xi16>"
    text = bind(a=0, b=0, c=64) + sequence("a", 65536) + total("b", halves, "c", halves)
    assert ptoasm.run(text).outputs["c"].tolist() == [[0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1, 7, 1]]


def test_bytes_beyond_the_valid_region_keep_their_value() -> None:
    type_ = "!pto.tile_buf<vec, 1x8xi32, valid=1x3>"
    result = ptoasm.run(bind(d=0) + sequence("d", 5, type_), load_ub=np.arange(64, dtype=np.uint8))
    assert result.memory[:12].view(np.int32).tolist() == [5, 6, 7]
    assert result.memory[12:64].tolist() == list(range(12, 64))


def test_ub_starts_with_a_pattern_that_is_not_zero() -> None:
    result = ptoasm.run(bind(d=0) + sequence("d"))
    assert FILL and (result.memory[32:] == FILL).all()
    assert result.written[:32].all() and not result.written[32:].any()


def test_scratch_is_spoiled() -> None:
    text = (
        bind(src=0, tmp=0x100, idx=0x200, sum=0x300)
        + total("src", FLOATS, "tmp", FLOAT_ROW)
        + f"pto.tcolargmin ins(%src, %tmp : {FLOATS}, {FLOAT_ROW}) outs(%idx : {ROW})\n"
        + total("tmp", FLOAT_ROW, "sum", FLOAT_ROW)
    )
    spoiled = ptoasm.run(text, arch="a2a3")
    assert codes(spoiled) == ["INIT-01"]
    assert "32 bytes" in spoiled.diagnostics[0].message
    assert (spoiled.memory[0x100:0x120] == FILL).all()
    assert "tmp" not in spoiled.outputs
    kept = ptoasm.run(text, arch="a5")
    assert codes(kept) == []
    assert "tmp" in kept.outputs


def test_reading_what_nothing_wrote() -> None:
    text = bind(a=0x20, both=0, sum=0x100) + sequence("a") + total("both", TWO, "sum")
    result = ptoasm.run(text)
    assert codes(result) == ["INIT-01"]
    message = result.diagnostics[0].message
    assert "%both" in message and "32 bytes" in message and "offset 0" in message


# --- What is an input


def test_only_what_is_read_before_it_is_written_is_filled() -> None:
    text = total("a", TWO, "b") + total("b", ROW, "c")
    assert ptoasm.run(text).filled == ["a"]


def test_fills_are_the_same_on_every_run_and_depend_on_the_seed() -> None:
    first, second, other = (ptoasm.run(total("a", TWO, "b"), seed=seed).outputs["b"] for seed in (0, 0, 1))
    assert first.tolist() == second.tolist() != other.tolist()


def test_fill_leaves_the_bytes_of_other_inputs_alone() -> None:
    text = bind(a=0, both=0, x=0x100, y=0x200) + total("a", ROW, "x") + total("both", TWO, "y")
    result = ptoasm.run(text)
    assert result.filled == ["a", "both"] and codes(result) == []
    whole = result.memory[:64].view(np.int32).reshape(2, 8)
    assert result.outputs["x"].tolist() == whole[:1].tolist()
    assert result.outputs["y"].tolist() == whole.sum(0, keepdims=True).tolist()


def test_scratch_and_destinations_are_not_filled() -> None:
    text = f"pto.tcolargmin ins(%src, %tmp : {FLOATS}, {FLOAT_ROW}) outs(%idx : {ROW})"
    assert ptoasm.run(text).filled == ["src"]


def test_tile_that_overlaps_scratch_is_no_input() -> None:
    text = (
        bind(src=0, tmp=0x100, idx=0x200, x=0x100, sum=0x300)
        + f"pto.tcolargmin ins(%src, %tmp : {FLOATS}, {FLOAT_ROW}) outs(%idx : {ROW})\n"
        + total("x", TWO, "sum")
    )
    result = ptoasm.run(text, arch="a2a3")
    assert result.filled == ["src"] and codes(result) == ["INIT-01"]


def test_given_data_is_there_from_the_start() -> None:
    """%late is read last, and %early has written over its first row by then."""
    text = bind(late=0, early=0, sum=0x100) + sequence("early", 100) + total("late", TWO, "sum")
    result = ptoasm.run(text, {"late": rows(1, 2)})
    assert result.outputs["sum"].tolist() == [[102, 103, 104, 105, 106, 107, 108, 109]]


def test_data_is_where_the_tile_is_first_used() -> None:
    text = f"""func.func @k() {{
  %t = pto.alloc_tile : {ROW}
  %d = pto.alloc_tile : {ROW}
  pto.tassign %t, @tile(0x400)
  pto.tcolsum ins(%t : {ROW}) outs(%d : {ROW})
  return
}}"""
    result = ptoasm.run(text, {"t": rows(7)})
    assert result.outputs["d"].tolist() == rows(7).tolist()
    assert result.memory[0x400:0x420].view(np.int32).tolist() == [7] * 8


def test_data_of_a_tile_whose_address_only_the_run_knows() -> None:
    text = f"""func.func @k(%at: i64) {{
  %t = pto.alloc_tile addr = %at : {ROW}
  %d = pto.alloc_tile : {ROW}
  pto.tcolsum ins(%t : {ROW}) outs(%d : {ROW})
  return
}}"""
    result = ptoasm.run(text, {"t": rows(7), "at": 0x800})
    assert result.outputs["d"].tolist() == rows(7).tolist()
    assert result.memory[0x800:0x820].view(np.int32).tolist() == [7] * 8


def test_inputs_that_agree_may_share_bytes() -> None:
    text = bind(a=0, b=32, c=0x100, d=0x200) + total("a", TWO, "c") + total("b", ROW, "d")
    result = ptoasm.run(text, {"a": rows(1, 2), "b": rows(2)})
    assert result.outputs["d"].tolist() == rows(2).tolist()
    assert error(text, {"a": rows(1, 2), "b": rows(3)}).startswith("RUN-14")


def test_place_that_is_used_again_gets_its_data_when_it_is_read() -> None:
    text = "".join(total(f"s{k}", TWO, f"d{k}") for k in range(4))
    inputs = {f"s{k}": rows(k, 10) for k in range(4)}
    result = ptoasm.run(text, inputs, ub_size=160)
    assert result.outputs["d3"].tolist() == rows(13).tolist()
    assert ptoasm.run(text, ub_size=160).filled == ["s0", "s1", "s2", "s3"]


def test_tile_that_is_not_in_the_ub() -> None:
    text = f"func.func @k(%m: !pto.tile_buf<mat, 2x8xi32>, %v: {TWO}) {{\n  return\n}}"
    assert ptoasm.run(text, {"m": rows(1, 2), "v": rows(3, 4)}).outputs == {}


# --- Data


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (rows(1, 2), [3] * 8),
        ([[1] * 8, [2] * 8], [3] * 8),
        (5, [10] * 8),
        (Fill("arange"), [8, 10, 12, 14, 16, 18, 20, 22]),
        (Fill("ones"), [2] * 8),
        (Fill("full", -3), [-6] * 8),
    ],
)
def test_data(data: Any, expected: list[int]) -> None:
    assert ptoasm.run(total("a", TWO, "b"), {"a": data}).outputs["b"].tolist() == [expected]


def test_array_of_the_physical_shape() -> None:
    type_ = "!pto.tile_buf<vec, 2x8xi32, valid=2x3>"
    text = total("a", type_, "b", "!pto.tile_buf<vec, 1x8xi32, valid=1x3>")
    array = np.arange(16, dtype=np.int32).reshape(2, 8)
    expected = [[8, 10, 12]]
    assert ptoasm.run(text, {"a": array}).outputs["b"].tolist() == expected
    assert ptoasm.run(text, {"a": array[:, :3]}).outputs["b"].tolist() == expected


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (np.zeros((2, 8), np.float32), ["float32", "int32"]),
        (np.zeros((2, 8), ">i4"), [">i4", "int32"]),
        (np.zeros((3, 8), np.int32), ["3x8", "2x8"]),
        (np.zeros(16, np.int32), ["16", "two dimensions"]),
        ([[1.5] * 8] * 2, ["1.5"]),
        ([[1] * 8, [2]], ["not nested evenly"]),
        (2**31, ["2147483648", "-2147483648 to 2147483647"]),
        ("text", ["text"]),
        (Fill("zeros", count=5), ["5", "2x8"]),
        (Fill("full", "text"), ["text"]),
    ],
)
def test_data_that_does_not_fit(data: Any, says: list[str]) -> None:
    message = error(total("a", TWO, "b"), {"a": data})
    assert message.startswith("RUN-02") and all(part in message for part in ["%a", *says])


def test_data_for_names_that_take_none() -> None:
    assert "did you mean '%source'" in error(total("source", TWO, "b"), {"sorce": rows(1, 2)})
    text = f"""func.func @k(%s: {TWO}) -> {ROW} {{
  %zero = arith.constant 0 : i64
  %t = pto.alloc_tile addr = %zero : {TWO}
  %part = pto.subview %t[%c0, %c0] sizes [1, 8] : {TWO} -> {ROW}
  %d = pto.alloc_tile : {ROW}
  return %d : {ROW}
}}""".replace("  %part", "  %c0 = arith.constant 0 : index\n  %part")
    assert error(text, {"zero": 1}).startswith("RUN-01")
    assert error(text, {"part": rows(1)}).startswith("RUN-01")


@pytest.mark.parametrize("count", [-1, 10**13, 10**30])
def test_array_that_is_too_large(count: int) -> None:
    text = "func.func @k(%x: !pto.ptr<i32>) {\n  return\n}"
    assert error(text, {"x": Fill("zeros", count=count)}).startswith("RUN-02")


def test_forgotten_input() -> None:
    text = total("a", TWO, "c") + total("b", TWO, "d")
    assert error(text, {"a": rows(1, 2)}).startswith("RUN-01: there is no data for '%b'")
    assert ptoasm.run(text, {"a": rows(1, 2)}, fill_missing=True).filled == ["b"]


def test_scalars() -> None:
    text = f"pto.tci ins(%s : i32) outs(%d : {ROW})"
    for value in (5, np.int32(5), np.array(5, np.int32)):
        assert ptoasm.run(text, {"s": value}).outputs["d"][0, 0] == 5
    assert error(text, {"s": 1.5}).startswith("RUN-02")
    assert error(text, {"s": 2**40}).startswith("RUN-02")
    assert error(text, {"s": np.int64(5)}).startswith("RUN-02")
    assert ptoasm.run(text).filled == ["s"]


def test_warnings_of_a_run_come_with_its_error() -> None:
    text = bind(a=0x20, both=0, sum=0x100) + sequence("a") + total("both", TWO, "sum") + total("x", TWO, "y")
    with pytest.raises(ptoasm.PtoError) as caught:
        ptoasm.run(text, {}, fill_missing=False)
    assert [d.code for d in caught.value.diagnostics] == ["INIT-01", "RUN-01"]


# --- Valid regions that only a run knows

DYNAMIC, DYNAMIC_ROW = "!pto.tile_buf<vec, 4x8xi32, valid=?x?>", "!pto.tile_buf<vec, 1x8xi32, valid=?x?>"


def test_extents_of_the_data() -> None:
    text = total("a", DYNAMIC, "b", "!pto.tile_buf<vec, 1x8xi32, valid=1x3>")
    assert ptoasm.run(text, {"a": rows(1, 2)[:, :3]}).outputs["b"].tolist() == [[3, 3, 3]]
    assert error(text, {"a": rows(1, 2)}).startswith("TCS-06")
    assert error(text, {"a": rows(1, 2, 3, 4, 5)[:, :3]}).startswith("RUN-02")


def test_extents_of_a_destination_follow() -> None:
    text = total("a", DYNAMIC, "b", DYNAMIC_ROW) + total("b", DYNAMIC_ROW, "c", DYNAMIC_ROW)
    assert ptoasm.run(text, {"a": rows(1, 2)[:, :3]}).outputs["c"].tolist() == [[3, 3, 3]]


def test_extents_of_alloc_tile() -> None:
    text = f"""func.func @k(%r: index, %c: index) {{
  %one = arith.constant 1 : index
  %a = pto.alloc_tile valid_row = %r valid_col = %c : {DYNAMIC}
  %b = pto.alloc_tile valid_row = %one valid_col = %c : {DYNAMIC_ROW}
  pto.tcolsum ins(%a : {DYNAMIC}) outs(%b : {DYNAMIC_ROW})
  return
}}"""
    given = {"r": 2, "c": 3}
    assert ptoasm.run(text, {**given, "a": rows(1, 2)[:, :3]}).outputs["b"].tolist() == [[3, 3, 3]]
    assert ptoasm.run(text, {**given, "a": rows(1, 2, 3, 4)}).outputs["b"].tolist() == [[3, 3, 3]]
    assert "2x3" in error(text, {**given, "a": rows(1, 2)})
    assert error(text, {"r": 5, "c": 3}, fill_missing=True).startswith("TILE-02")


# --- What comes out


def test_intact_tiles_under_the_name_of_their_last_write() -> None:
    text = bind(a=0, b=0, c=32) + sequence("a") + sequence("b", 5) + sequence("c")
    result = ptoasm.run(text)
    assert list(result.outputs) == ["b", "c"]
    assert result.addresses == {"b": 0, "c": 32}


def test_output_is_read_where_it_was_written() -> None:
    text = bind(t=0) + sequence("t", 5) + bind(t=0x100)
    result = ptoasm.run(text)
    assert result.outputs["t"][0, 0] == 5 and result.addresses["t"] == 0


def test_sequence_is_shown_whatever_its_valid_rows_say() -> None:
    assert ptoasm.run(sequence("d", 1, "!pto.tile_buf<vec, 1x8xi32, valid=0x3>")).outputs["d"].tolist() == [[1, 2, 3]]


def test_results_and_destinations_of_a_function() -> None:
    text = f"""func.func @k(%src: {TWO}, %dst: {ROW}, %n: i32) -> ({ROW}, i32) {{
  %twice = arith.addi %n, %n : i32
  %t = pto.alloc_tile : {ROW}
  pto.tcolsum ins(%src : {TWO}) outs(%dst : {ROW})
  pto.tci ins(%n : i32) outs(%t : {ROW})
  return %t, %twice : {ROW}, i32
}}"""
    outputs = ptoasm.run(text, {"src": rows(1, 2), "n": 4}).outputs
    assert list(outputs) == ["t", "twice", "dst"]
    assert outputs["twice"] == 8 and outputs["twice"].dtype == np.int32
    assert outputs["dst"].tolist() == rows(3).tolist()


def test_destinations_of_a_function_are_kept_to_the_end() -> None:
    text = f"""func.func @k(%a: {TWO}, %d: {ROW}, %b: {TWO}, %e: {ROW}) {{
  pto.tcolsum ins(%a : {TWO}) outs(%d : {ROW})
  pto.tcolsum ins(%b : {TWO}) outs(%e : {ROW})
  return
}}"""
    result = ptoasm.run(text, {"a": rows(1, 2), "b": rows(3, 4)}, ub_size=128)
    assert {name: array[0, 0] for name, array in result.outputs.items()} == {"d": 3, "e": 7}


def test_kept_tiles() -> None:
    text = "".join(total(f"s{k}", TWO, f"d{k}") for k in range(4))
    inputs = {f"s{k}": rows(k, 10) for k in range(4)}
    lost = ptoasm.run(text, inputs, ub_size=96)
    kept = ptoasm.run(text, inputs, ub_size=192, keep=["d0", "s1"])
    assert "d0" not in lost.outputs
    assert kept.outputs["d0"][0, 0] == 10 and kept.outputs["s1"].tolist() == rows(1, 10).tolist()
    assert error(text, inputs, ub_size=96, keep=["d0"]).startswith("PLACE-01")


# --- The UB before and after, blocks, limits


def test_image_of_the_ub() -> None:
    image = np.arange(64, dtype=np.uint8)
    result = ptoasm.run(bind(a=0, b=0x100) + total("a", TWO, "b"), load_ub=image)
    assert result.filled == []
    assert result.outputs["b"].tolist() == image.view(np.int32).reshape(2, 8).sum(0, keepdims=True).tolist()
    assert error(total("a", TWO, "b"), load_ub=np.zeros(128, np.uint8), ub_size=96).startswith("RUN-02")


def test_given_data_lies_over_the_image() -> None:
    result = ptoasm.run(bind(a=0, b=64) + total("a", TWO, "b"), {"a": rows(1, 2)}, load_ub=np.zeros(128, np.uint8))
    assert result.outputs["b"].tolist() == rows(3).tolist()


def test_each_block_has_a_ub_of_its_own() -> None:
    text = bind(src=0, dst=0) + total("src", THREE, "dst")
    assert ptoasm.run(text, {"src": rows(1, 2, 3)}, blocks=3).outputs["dst"].tolist() == rows(6).tolist()


def test_limit_of_statements() -> None:
    assert error(sequence("a") + sequence("b"), max_steps=1).startswith("RUN-07")


def test_function_to_run() -> None:
    one = "func.func @{}() {{\n  return\n}}\n"
    several = one.format("first") + one.format("second")
    assert error(several).startswith("RUN-01") and "@first, @second" in error(several)
    assert ptoasm.run(several, func="first").outputs == {}
    assert "did you mean 'first'" in error(several, func="frist")
    assert error("module {\n}").startswith("RUN-01")


def test_nan_is_remarked_once() -> None:
    array = np.full((2, 8), np.nan, np.float32)
    array[:, 2:] = 0
    text = "%i = tcolargmin %a : !pto.tile<vec, 2x8xf32> -> !pto.tile<vec, 1x8xi32>"
    (remark,) = ptoasm.run(text, {"a": array}).diagnostics
    assert (remark.severity, remark.code) == ("remark", "NAN-01") and "2 columns" in remark.message
