"""Compiled kernels give what a run gives, on the first call and on the later ones."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given

import ptoasm
from tests.interpreter.support import examples
from tests.interpreter.test_machine import UB, Case, _image, _tiles, cases, data, program
from tests.interpreter.test_run import FLOAT_ROW, FLOATS, ROW, TWO, bind, rows, sequence, total


def replays(kernel: ptoasm.Kernel) -> bool:
    """Whether the last call was made from a plan, or made one."""
    return kernel._plan is not None


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return list(a) == list(b) and all(
        x.dtype == b[n].dtype and x.shape == b[n].shape and x.tobytes() == b[n].tobytes() for n, x in a.items()
    )


@examples(120)
@given(cases())
def test_kernel_against_run(case: Case) -> None:
    """Three sets of data, checked and unchecked: the same outputs, and if checked the same diagnostics."""
    module = ptoasm.parse(program(case))
    kernels = [ptoasm.compile(module, case.arch, checked=checked) for checked in (True, False)]
    tiles = [t for t in _tiles(case.instructions) if any(i.src is t for i in case.instructions)]
    for seed in range(3):
        image = _image(seed + len(case.image) * case.image[0])
        inputs = {t.name: data(t, image) for t in tiles}
        run = ptoasm.run(module, inputs, arch=case.arch, fill_missing=False)
        for kernel in kernels:
            assert same(kernel(**inputs), run.outputs)
        assert kernels[0].diagnostics == run.diagnostics
    assert UB


def test_later_calls_only_move_data(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = ptoasm.compile(total("a", TWO, "b"))
    kernel(a=rows(1, 2))
    monkeypatch.setattr("ptoasm.interpreter.machine.Machine.run", None)
    assert kernel(a=rows(3, 4))["b"].tolist() == rows(7).tolist()


def test_outputs_are_fresh() -> None:
    kernel = ptoasm.compile(total("a", TWO, "b"))
    first, second, third = (kernel(a=rows(k, 0))["b"] for k in range(3))
    assert (first[0, 0], second[0, 0], third[0, 0]) == (0, 1, 2)


def test_any_name_can_be_given() -> None:
    kernel = ptoasm.compile(total("self", TWO, "0"))
    inputs = {"self": rows(1, 2)}
    assert kernel(**inputs)["0"].tolist() == rows(3).tolist()


def test_a_plan_for_each_shape() -> None:
    type_ = "!pto.tile_buf<vec, 4x8xi32, valid=?x?>"
    kernel = ptoasm.compile(total("a", type_, "b", "!pto.tile_buf<vec, 1x8xi32, valid=?x?>"))
    for shape in ((2, 3), (4, 8), (2, 3), (1, 1), (4, 8)):
        assert kernel(a=np.ones(shape, np.int32))["b"].tolist() == [[shape[0]] * shape[1]]
    assert len(kernel._plans) == 3


def test_arrays_of_other_kinds() -> None:
    type_ = "!pto.tile_buf<vec, 2x8xi32, valid=2x3>"
    kernel = ptoasm.compile(total("a", type_, "b", "!pto.tile_buf<vec, 1x8xi32, valid=1x3>"))
    physical = np.arange(16, dtype=np.int32).reshape(2, 8)
    for array in (
        physical,
        physical + 1 - 1,
        physical[:, :3],
        np.asfortranarray(physical[:, :3]),
        physical[:, :3].tolist(),
        physical.view(np.memmap),
        np.array(physical, dtype=np.dtype("<i4").newbyteorder("=")),
    ):
        assert kernel(a=array)["b"].tolist() == [[8, 10, 12]]
    assert replays(kernel)
    flat = ptoasm.compile(total("a", ROW, "b"))
    for k in range(3):
        assert flat(a=np.full(8, k, np.int32))["b"].tolist() == [[k] * 8]


@pytest.mark.parametrize(
    "inputs",
    [
        {},
        {"a": rows(1, 2, 3)},
        {"a": rows(1, 2).astype(np.float32)},
        {"b": rows(1, 2)},
        {"a": rows(1, 2), "c": 1},
        {"a": None},
    ],
)
def test_wrong_inputs(inputs: dict[str, Any]) -> None:
    for calls_before in range(2):
        kernel = ptoasm.compile(total("a", TWO, "d"))
        for _ in range(calls_before):
            kernel(a=rows(1, 2))
        with pytest.raises(ptoasm.PtoError):
            kernel(**inputs)
        assert kernel(a=rows(1, 2))["d"].tolist() == rows(3).tolist()


def test_wrong_program() -> None:
    with pytest.raises(ptoasm.PtoError):
        ptoasm.compile(total("a", TWO, "b", TWO).replace("tcolsum ins(%a", "tcolsum ins(%a, %a, %a"))


# --- Numbers


def test_scalars_may_change() -> None:
    kernel = ptoasm.compile(f"pto.tci ins(%s : i32) outs(%d : {ROW})")
    for value in (1, np.int32(5), 7, np.array(9, np.int32), -(2**31)):
        assert kernel(s=value)["d"][0, 0] == value
    assert replays(kernel) and len(kernel._plans) == 1
    for wrong in (2**31, 1.5, np.int64(1), "1"):
        with pytest.raises(ptoasm.PtoError):
            kernel(s=wrong)
    halves = ptoasm.compile("pto.tci ins(%s : f16) outs(%d : !pto.tile_buf<vec, 1x16xf16>)")
    for number in (0.1, 1, np.float16(2.5), 65504.0):
        assert halves(s=number)["d"][0, 0] == np.float16(number)
    with pytest.raises(ptoasm.PtoError):
        halves(s=1e6)


@pytest.mark.parametrize("bits", [0x7F80_0001, 0xFF80_0001, 0x7FC0_0000, 0x8000_0000])
def test_scalars_come_out_bit_for_bit_as_in_a_run(bits: int) -> None:
    """Two signalling NaNs, which are made quiet, a quiet one, and -0.0."""
    start = np.array([bits], np.uint32).view(np.float32)[0]
    text = "pto.texpands ins(%s : f32) outs(%d : !pto.tile_buf<vec, 1x16xf32>)"
    quiet = bits | (0x0040_0000 if np.isnan(start) else 0)
    assert ptoasm.run(text, {"s": start}).outputs["d"].view(np.uint32).tolist() == [[quiet] * 16]
    kernel = ptoasm.compile(text)
    for _ in range(3):
        assert kernel(s=start)["d"].view(np.uint32).tolist() == [[quiet] * 16]
    assert replays(kernel)


def test_checked_asks_the_rules_about_numbers_again() -> None:
    text = f"pto.tci ins(%s : i32) outs(%d : {ROW})"
    kernel = ptoasm.compile(text, checked=True)
    for value, codes in ((1, []), (2**31 - 1, ["TCI-10"]), (2, []), (2**31 - 3, ["TCI-10"]), (3, [])):
        kernel(s=value)
        assert [d.code for d in kernel.diagnostics] == codes
    unchecked = ptoasm.compile(text)
    unchecked(s=1)
    unchecked(s=2**31 - 1)
    assert unchecked.diagnostics == []


@pytest.mark.parametrize("element", ["f16", "f32"])
def test_checked_looks_for_nan(element: str) -> None:
    text = f"%i = tcolargmin %a : !pto.tile<vec, 2x16x{element}> -> !pto.tile<vec, 1x16xi32>"
    kernel = ptoasm.compile(text, checked=True)
    for nans in (0, 3, 0, 1):
        array = np.full((2, 16), -np.inf, {"f16": np.float16, "f32": np.float32}[element])
        array[1, :nans] = np.nan
        kernel(a=array)
        assert [d.code for d in kernel.diagnostics] == ["NAN-01"] * (nans > 0)
        if nans:
            assert f"{nans} column" in kernel.diagnostics[0].message


def test_checked_reports_what_was_never_written_on_each_call() -> None:
    text = bind(a=0x20, both=0, sum=0x100, x=0x200) + sequence("a", "%x") + total("both", TWO, "sum")
    kernel = ptoasm.compile(text.replace("pto.tassign %x, @tile(0x200)\n", ""), checked=True)
    for value in range(3):
        kernel(x=value)
        assert [d.code for d in kernel.diagnostics] == ["INIT-01"]
    assert not replays(kernel)


def test_spoiled_scratch_that_another_tile_shows() -> None:
    """%low is written before %tmp is spoiled, which lies over its second row."""
    text = (
        bind(src=0, low=0x100, tmp=0x120, idx=0x200)
        + total("src", FLOATS, "low", "!pto.tile_buf<vec, 2x8xf32, valid=1x8>")
        + f"pto.tcolargmin ins(%src, %tmp : {FLOATS}, {FLOAT_ROW}) outs(%idx : {ROW})\n"
    )
    array = np.arange(16, dtype=np.float32).reshape(2, 8)
    kernel = ptoasm.compile(text)
    for k in range(3):
        assert same(kernel(src=array + k), ptoasm.run(text, {"src": array + k}).outputs)


# --- Control flow and global memory

LOOP = """func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %xv = pto.make_tensor_view %x, shape = [%c2, %n], strides = [%n, %c1] : VIEW
  %yv = pto.make_tensor_view %y, shape = [%c1, %n], strides = [%n, %c1] : VIEW
  %t = pto.alloc_tile : FLOATS
  %d = pto.alloc_tile : FLOAT_ROW
  scf.for %j = %c0 to %n step %c8 {
    %xp = pto.partition_view %xv, offsets = [%c0, %j], sizes = [%c2, %c8] : VIEW -> PART<2x8xf32>
    %yp = pto.partition_view %yv, offsets = [%c0, %j], sizes = [%c1, %c8] : VIEW -> PART<1x8xf32>
    pto.tload ins(%xp : PART<2x8xf32>) outs(%t : FLOATS)
    pto.tcolsum ins(%t : FLOATS) outs(%d : FLOAT_ROW)
    pto.tstore ins(%d : FLOAT_ROW) outs(%yp : PART<1x8xf32>)
  }
  return
}
"""
for _name, _text in {
    "VIEW": "!pto.tensor_view<?x?xf32>",
    "PART": "!pto.partition_tensor_view",
    "FLOATS": FLOATS,
    "FLOAT_ROW": FLOAT_ROW,
}.items():
    LOOP = LOOP.replace(f" {_name}", f" {_text}")


def test_loop_over_global_memory_is_replayed() -> None:
    kernel = ptoasm.compile(LOOP, checked=True)
    for k, n in enumerate((16, 16, 24, 16)):
        x = np.arange(2 * n, dtype=np.float32).reshape(2, n) + k
        y = np.zeros(n, np.float32)
        outputs = kernel(x=x, y=y, n=n)
        assert outputs["y"].tolist() == x.sum(0).tolist()
        assert not y.any()
    assert replays(kernel) and len(kernel._plans) == 2


def test_bfloat16_in_global_memory() -> None:
    text = LOOP.replace("f32", "bf16").replace("x8xbf16", "x16xbf16").replace("arith.constant 8", "arith.constant 16")
    x, y = np.arange(64).astype(ml_dtypes.bfloat16).reshape(2, 32), np.zeros(32, ml_dtypes.bfloat16)
    kernel = ptoasm.compile(text, "a5")
    for _ in range(2):
        assert kernel(x=x, y=y, n=32)["y"].tolist() == [32 + 2 * k for k in range(32)]
    assert replays(kernel)


def test_store_that_adds_is_replayed() -> None:
    text = LOOP.replace("1x8xf32>)\n  }", "1x8xf32>) {atomicType = #pto<atomic_type atomic_add>}\n  }")
    assert text != LOOP
    kernel = ptoasm.compile(text)
    for k in range(3):
        x, y = np.full((2, 16), k, np.float32), np.full(16, 100 * k, np.float32)
        assert kernel(x=x, y=y, n=16)["y"].tolist() == [102 * k] * 16
    assert replays(kernel)


def test_what_depends_on_a_scalar_in_memory_is_not_replayed() -> None:
    text = f"""func.func @k(%x: !pto.ptr<i32>) {{
  %c0 = arith.constant 0 : index
  %n = pto.load_scalar %x[%c0] : !pto.ptr<i32> -> i32
  %d = pto.alloc_tile : {ROW}
  pto.tci ins(%n : i32) outs(%d : {ROW})
  return
}}"""
    kernel = ptoasm.compile(text)
    for k in range(3):
        assert kernel(x=np.array([k], np.int32))["d"][0, 0] == k
    assert not replays(kernel)


def test_scalar_that_decides_about_an_extent_is_part_of_the_plan() -> None:
    text = """func.func @k(%cols: index, %s: i32) {
  %one = arith.constant 1 : index
  %d = pto.alloc_tile valid_row = %one valid_col = %cols : !pto.tile_buf<vec, 1x8xi32, valid=?x?>
  pto.tci ins(%s : i32) outs(%d : !pto.tile_buf<vec, 1x8xi32, valid=?x?>)
  return
}"""
    kernel = ptoasm.compile(text)
    for cols, s in ((3, 1), (3, 5), (8, 2), (3, 7)):
        assert kernel(cols=cols, s=s)["d"].tolist() == [list(range(s, s + cols))]
    assert len(kernel._plans) == 2


def test_scalar_that_was_computed() -> None:
    text = f"""func.func @k(%s: i32) {{
  %two = arith.constant 2 : i32
  %twice = arith.muli %s, %two : i32
  %d = pto.alloc_tile : {ROW}
  pto.tci ins(%twice : i32) outs(%d : {ROW})
  return
}}"""
    kernel = ptoasm.compile(text)
    for s in (1, 4, 1, 9):
        assert kernel(s=s)["d"][0, 0] == 2 * s


def test_kernels_in_several_threads() -> None:
    """A kernel for each thread."""
    found: list[int] = []

    def work(k: int) -> None:
        kernel = ptoasm.compile(total("a", TWO, "b"))
        found.extend(int(kernel(a=rows(k, n))["b"][0, 0]) - k - n for n in range(50))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0] * 200
