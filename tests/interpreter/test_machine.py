"""The machine against a second one that works a byte at a time: random programs on tiles that may overlap."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

import ptoasm
from ptoasm.interpreter.machine import Machine
from ptoasm.interpreter.steps import Step
from tests import reference
from tests.interpreter.byte_model import INPUT, PROGRAM, Instruction, Model, Tile, Unwritten
from tests.interpreter.support import ARCHS, ARGMIN, DTYPES, INDEX, SEQUENCE, SUM, examples, is_nan

UB = 4096
_TMP_BYTES = {2: 1792, 4: 768}


class Case(NamedTuple):
    """A program, the inputs that get data, and the bytes that the data is cut from."""

    arch: str
    instructions: tuple[Instruction, ...]
    given: frozenset[str]
    image: bytes


# --- Random programs


def _multiple(size: int, number: int) -> int:
    """The least number of elements, so many bytes each, that fill whole blocks."""
    per_block = 32 // size
    return -(-number // per_block) * per_block


class Builder:
    """Draws tiles; those that have been drawn may be taken again, under their name."""

    def __init__(self, draw: st.DrawFn, arch: str) -> None:
        self.draw = draw
        self.arch = arch
        self.tiles: list[Tile] = []

    def coin(self) -> bool:
        return self.draw(st.booleans())

    def tile(self, kind: str, rows: int, cols: int, valid: tuple[int, int], col_major: bool = False) -> Tile:
        size = rows * cols * reference.BYTES[kind]
        address = 32 * self.draw(st.integers(0, (UB - size) // 32))
        made = Tile(f"t{len(self.tiles)}", address, kind, rows, cols, *valid, col_major)
        self.tiles.append(made)
        return made

    def source(self, kinds: list[str], can_be_col_major: bool) -> Tile:
        fitting = [t for t in self.tiles if t.kind in kinds and t.valid_rows and t.valid_cols <= 64]
        old = [t for t in fitting if can_be_col_major or not t.col_major]
        if old and self.coin():
            return self.draw(st.sampled_from(old))
        kind = self.draw(st.sampled_from(kinds))
        size = reference.BYTES[kind]
        rows, cols = self.draw(st.integers(1, 9)), self.draw(st.integers(1, 40 // size))
        col_major = can_be_col_major and self.coin()
        valid = self.draw(st.integers(1, rows)), self.draw(st.integers(1, cols))
        if col_major:
            return self.tile(kind, _multiple(size, rows), cols, valid, True)
        return self.tile(kind, rows, _multiple(size, cols), valid)

    def row(self, kind: str, cols: int) -> Tile:
        """A destination: row 0 is written."""
        old = [
            t for t in self.tiles if t.kind == kind and (t.valid_rows, t.valid_cols) == (1, cols) and not t.col_major
        ]
        if old and self.coin():
            return self.draw(st.sampled_from(old))
        return self.tile(kind, self.draw(st.integers(1, 3)), _multiple(reference.BYTES[kind], cols), (1, cols))

    def tcolsum(self) -> Instruction:
        src = self.source(SUM[self.arch], can_be_col_major=False)
        binary = self.coin()
        tmp = None
        if binary or self.coin():
            rows = (src.valid_rows + 1) // 2 + self.draw(st.integers(0, 2))
            cols = _multiple(reference.BYTES[src.kind], src.valid_cols + self.draw(st.integers(0, 9)))
            tmp = self.tile(src.kind, rows, cols, (rows, cols))
        return Instruction("tcolsum", src, tmp, (self.row(src.kind, src.valid_cols),), binary)

    def tcolargmin(self) -> Instruction:
        values = self.coin()
        kinds = [k for k in ARGMIN[self.arch] if not values or reference.BYTES[k] > 1]
        src = self.source(kinds, can_be_col_major=True)
        size = reference.BYTES[src.kind]
        index = self.draw(st.sampled_from([k for k in INDEX if not values or reference.BYTES[k] == size]))
        cols = _multiple(size, 3 * _multiple(size, src.valid_cols) + self.draw(st.integers(0, 20)))
        tmp = self.tile(src.kind, 1, cols, (1, cols))
        outputs = (self.row(src.kind, src.valid_cols),) if values else ()
        return Instruction("tcolargmin", src, tmp, (*outputs, self.row(index, src.valid_cols)))

    def tci(self) -> Instruction:
        kind = self.draw(st.sampled_from(SEQUENCE[self.arch]))
        size = reference.BYTES[kind]
        cols = self.draw(st.integers(1, 40))
        dst = self.tile(kind, 1, _multiple(size, cols), (self.draw(st.integers(0, 1)), cols))
        tmp = None
        if self.coin():
            words = self.draw(st.sampled_from([_TMP_BYTES[size], _TMP_BYTES[size] + 32])) // 4
            tmp = self.tile("f32", 1, words, (1, words))
        return Instruction("tci", None, tmp, (dst,), self.coin(), self.draw(st.integers(0, 120)))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    builder = Builder(draw, draw(st.sampled_from(ARCHS)))
    makers = [builder.tcolsum, builder.tcolargmin, builder.tci]
    instructions = tuple(draw(st.sampled_from(makers))() for _ in range(draw(st.integers(1, 4))))
    names = frozenset(i.src.name for i in instructions if i.src and draw(st.integers(0, 9)) > 0)
    seed = draw(st.integers(0, 2**32 - 1))
    return Case(builder.arch, instructions, names, _image(seed))


def _image(seed: int) -> bytes:
    """Bytes that are ordinary numbers in every type here and there, and anything elsewhere."""
    rng = np.random.default_rng(seed)
    pieces = [
        rng.integers(0, 256, UB // 4, np.uint8).tobytes(),
        (rng.integers(-99, 99, UB // 16) / 8).astype(np.float32).tobytes(),
        (rng.integers(-99, 99, UB // 8) / 8).astype(np.float16).tobytes(),
        rng.integers(-9, 9, UB // 4, np.int8).tobytes(),
    ]
    order = rng.permutation(len(pieces))
    return b"".join(pieces[k] for k in order)


# --- Their text


def _type(tile: Tile) -> str:
    layout = ", blayout=col_major" if tile.col_major else ""
    valid = f"valid={tile.valid_rows}x{tile.valid_cols}"
    return f"!pto.tile_buf<vec, {tile.rows}x{tile.cols}x{tile.kind}, {valid}{layout}>"


def _scalar(instruction: Instruction) -> str:
    kind = instruction.outputs[0].kind
    return f"{instruction.start}.0" if kind in reference.MANTISSA_BITS else str(instruction.start)


def _statement(instruction: Instruction) -> str:
    name, src, tmp, outputs, flag, _ = instruction
    operands = [f"%{src.name}"] if src else [_scalar(instruction)]
    types = [_type(src)] if src else [outputs[0].kind]
    if tmp:
        operands.append(f"%{tmp.name}")
        types.append(_type(tmp))
    key = {"tcolsum": "isBinary", "tci": "descending"}.get(name)
    attributes = f" {{{key} = {str(flag).lower()}}}" if key else ""
    names, out_types = ", ".join(f"%{t.name}" for t in outputs), ", ".join(map(_type, outputs))
    return f"pto.{name} ins({', '.join(operands)}{attributes} : {', '.join(types)}) outs({names} : {out_types})"


def _tiles(instructions: tuple[Instruction, ...]) -> list[Tile]:
    found = {t.name: t for i in instructions for t in (i.src, i.tmp, *i.outputs) if t}
    return list(found.values())


def program(case: Case) -> str:
    binds = [f"pto.tassign %{t.name}, @tile({t.address:#x})" for t in _tiles(case.instructions)]
    return "\n".join([*binds, *map(_statement, case.instructions)])


def data(tile: Tile, image: bytes) -> Any:
    """The valid region as an array, cut out of the image an element at a time."""
    rows = [
        [b"".join(image[b : b + 1] for b in tile.element(r, c)) for c in range(tile.valid_cols)]
        for r in range(tile.valid_rows)
    ]
    flat = b"".join(element for row in rows for element in row)
    return np.frombuffer(flat, DTYPES[tile.kind]).reshape(tile.valid_rows, tile.valid_cols)


# --- Comparing


def _bits_of_sums(instruction: Instruction) -> str | None:
    """The type of an output in which any NaN equals any other (decision D-02)."""
    kind = instruction.outputs[0].kind
    return kind if instruction.name == "tcolsum" and kind in reference.MANTISSA_BITS else None


class Watcher:
    """Compares the whole UB after each instruction. A NaN that a sum made is taken over: its bits are anyone's."""

    def __init__(self, case: Case, model: Model) -> None:
        self.case = case
        self.model = model
        self.steps = 0

    def __call__(self, machine: Machine, step: Step) -> None:
        instruction = self.case.instructions[self.steps]
        self.model.execute(self.steps, instruction)
        self.steps += 1
        actual = machine.memory.data.tobytes()
        kind = _bits_of_sums(instruction)
        for place in self.model.sums if kind else []:
            ours, theirs = actual[place.start : place.stop], bytes(self.model.bytes[place.start : place.stop])
            if kind and all(is_nan(int.from_bytes(bits, "little"), kind) for bits in (ours, theirs)):
                self.model.bytes[place.start : place.stop] = ours
        assert actual == bytes(self.model.bytes), _first_difference(actual, bytes(self.model.bytes))
        written = [state in (INPUT, PROGRAM) for state in self.model.state]
        assert (machine.memory.writer > 0).tolist() == written


def _first_difference(actual: bytes, expected: bytes) -> str:
    at = next(k for k in range(UB) if actual[k] != expected[k])
    return f"byte {at:#x} is {actual[at]:#04x}; it must be {expected[at]:#04x}"


_INIT = re.compile(r"%(\w+)\D+(\d+) bytes?\b.* offset (\d+)")


def _reported(diagnostics: list[ptoasm.Diagnostic], case: Case) -> list[Unwritten]:
    found = []
    for d in diagnostics:
        if d.code == "INIT-01":
            match = _INIT.search(d.message)
            assert match and d.span
            line, _ = d.source.position(d.span.start)
            step = line - 1 - len(_tiles(case.instructions))
            found.append(Unwritten(step, match[1], int(match[3]), int(match[2])))
    return found


@examples(400)
@given(cases())
def test_machine_against_bytes(case: Case) -> None:
    model = Model(UB, case.arch)
    inputs = {t.name: data(t, case.image) for t in _tiles(case.instructions) if t.name in case.given}
    for tile in _tiles(case.instructions):
        if tile.name in case.given:
            model.give(tile, case.image)
    watcher = Watcher(case, model)
    try:
        result = ptoasm.run(program(case), inputs, arch=case.arch, ub_size=UB, fill_missing=False, on_step=watcher)
    except ptoasm.PtoError as error:
        assert [d.code for d in error.diagnostics if d.severity == "error"] == ["RUN-01"], error
        source = case.instructions[watcher.steps].src
        assert source and source.name not in case.given and model.lacks_data(source)
        return
    assert watcher.steps == len(case.instructions)
    assert _reported(result.diagnostics, case) == model.unwritten
    assert result.memory.tobytes() == bytes(model.bytes)
