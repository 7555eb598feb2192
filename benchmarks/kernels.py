"""Compiled kernels beside the bare NumPy calls that compute the same, copies in and out included."""

from __future__ import annotations

import importlib
import inspect
import statistics
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
BLOCK_SECONDS = 1e-3  # calls are timed in blocks at least this long
TYPES = {"f32": np.float32, "f16": np.float16, "i32": np.int32}


class Case(NamedTuple):
    op: str
    element: str
    rows: int
    cols: int
    mode: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.op, self.mode, self.element, f"{self.rows}x{self.cols}")))


_SHAPES = (
    ("f32", 16, 256),
    ("f32", 64, 256),
    ("f32", 128, 128),
    ("f32", 32, 1024),
    ("f32", 2048, 16),
    ("f16", 64, 256),
)
CASES = (
    *(Case("tcolargmin", *shape) for shape in _SHAPES),
    Case("tcolargmin", "f32", 64, 256, "value+index"),
    *(Case("tcolsum", *shape) for shape in _SHAPES),
    *(Case("tci", "f32", 1, cols) for cols in (16, 128, 256, 1024)),
    Case("tci", "i32", 1, 256),
)


def program(case: Case) -> str:
    """One statement; legal on a2a3, which takes sequences of floats too."""
    op, element, rows, cols, mode = case
    src = f"!pto.tile_buf<vec, {rows}x{cols}x{element}>"
    dst = f"!pto.tile_buf<vec, 1x{cols}x{element}>"
    if op == "tci":
        return f"pto.tci ins(%start : {element}) outs(%dst : {dst})\n"
    if op == "tcolsum":
        return f"pto.tcolsum ins(%src : {src}) outs(%dst : {dst})\n"
    idx = f"!pto.tile_buf<vec, 1x{cols}x{'i16' if mode and element == 'f16' else 'i32'}>"
    outs = f"%val, %idx : {dst}, {idx}" if mode else f"%idx : {idx}"
    return f"pto.tcolargmin ins(%src, %tmp : {src}, !pto.tile_buf<vec, 1x512x{element}>) outs({outs})\n"


def bare(case: Case) -> tuple[dict[str, Any], Callable[[], tuple[Array, ...]]]:
    """Inputs, and the NumPy calls: copy in, compute into a buffer, copy out."""
    op, element, rows, cols, mode = case
    dtype = np.dtype(TYPES[element])
    out = np.empty((1, cols), dtype)
    if op == "tci":
        start = dtype.type(7)

        def sequence() -> tuple[Array, ...]:
            out[0] = int(start) + np.arange(cols)
            return (out.copy(),)

        return {"start": start}, sequence

    src = np.random.default_rng(0).integers(-1000, 1000, (rows, cols)).astype(dtype) / dtype.type(8)
    memory = np.empty_like(src)
    if op == "tcolsum":

        def total() -> tuple[Array, ...]:
            memory[...] = src
            np.add.reduce(memory, axis=0, keepdims=True, out=out)
            return (out.copy(),)

        return {"src": src}, total

    index = np.empty((1, cols), np.int32)
    columns = np.arange(cols)

    def argmin() -> tuple[Array, ...]:
        memory[...] = src
        index[0] = found = (memory.astype(np.float32) if element == "f16" else memory).argmin(0)
        if not mode:
            return (index.copy(),)
        out[0] = memory[found, columns]
        return (out.copy(), index.copy())

    return {"src": src}, argmin


def compiled(case: Case, checked: bool) -> Callable[..., dict[str, Array]] | None:
    """Our kernel; None where there is none yet."""
    ptoasm: Any = importlib.import_module("ptoasm")
    if not hasattr(ptoasm, "compile"):
        return None
    options = {}
    if checked:
        if "checked" not in inspect.signature(ptoasm.compile).parameters:
            return None
        options = {"checked": True}
    kernel: Callable[..., dict[str, Array]] = ptoasm.compile(ptoasm.parse(program(case)), arch="a2a3", **options)
    return kernel


def measure(case: Case, rounds: int) -> dict[str, list[float]]:
    """Seconds a call, a list entry a round: "bare" and, where they exist, "compiled" and "checked"."""
    inputs, numpy = bare(case)
    calls: dict[str, Callable[[], object]] = {"bare": numpy}
    for name in ("compiled", "checked"):
        kernel = compiled(case, name == "checked")
        if kernel is None:
            continue
        results = kernel(**inputs)
        for ours, theirs in zip(results.values(), numpy(), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        calls[name] = _bound(kernel, inputs)
    samples: dict[str, list[float]] = {name: [] for name in calls}
    numbers = {name: _repetitions(call) for name, call in calls.items()}
    for _ in range(rounds):
        for name, call in calls.items():
            number = numbers[name]
            start = perf_counter()
            for _ in range(number):
                call()
            samples[name].append((perf_counter() - start) / number)
    return samples


def _bound(kernel: Callable[..., object], inputs: dict[str, Any]) -> Callable[[], object]:
    return lambda: kernel(**inputs)


def _repetitions(call: Callable[[], object]) -> int:
    times = []
    for _ in range(20):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return max(1, round(BLOCK_SECONDS / statistics.median(times)))
