"""Legal programs of several instructions, in all forms, flat and in functions.

A program is put together from motifs: what real kernels do with a few statements each. Every program verifies without
an error on both targets, and what it computes does not depend on memory that nothing wrote.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from hypothesis import strategies as st

BYTES = {"i16": 2, "ui16": 2, "f16": 2, "i32": 4, "ui32": 4, "f32": 4}
SUMMABLE = ("f16", "f32", "i16", "i32")
COMPARABLE = ("f16", "f32", "ui16", "ui32")
SEQUENCES = ("i16", "ui16", "i32", "ui32")
INDEX_TYPES = {2: ("ui16", "i16"), 4: ("ui32", "i32")}
ADDRESSES = 0x10000  # where tiles with addresses begin; what has none finds its place below or above


class Tile(NamedTuple):
    """A tile type without its kind; a valid extent of None is a ``?``."""

    element: str
    rows: int
    cols: int
    valid_rows: int | None
    valid_cols: int | None

    @property
    def size(self) -> int:
        return self.rows * self.cols * BYTES[self.element]


class Named(NamedTuple):
    """A value and its type."""

    name: str
    type: Tile


class Program:
    """A program that is being written, in one form and layout."""

    def __init__(self, rng: random.Random, form: str, layout: str) -> None:
        self.rng = rng
        self.form = form
        self.flat = layout == "flat"
        self.kind = "tile_buf" if form == "dps" else "tile"
        self.lines: list[str] = []
        self.arguments: list[str] = []
        self.sources: list[Named] = []
        self.buffers: list[Named] = []
        self.fresh: set[str] = set()
        self.depth = 0
        self.count = 0
        self.next_address = ADDRESSES
        self.indices: dict[int, str] = {}

    # --- Text

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def spell(self, tile: Tile) -> str:
        valid = f", valid={_extent(tile.valid_rows)}x{_extent(tile.valid_cols)}"
        full = (tile.valid_rows, tile.valid_cols) == (tile.rows, tile.cols)
        return f"!pto.{self.kind}<vec, {tile.rows}x{tile.cols}x{tile.element}{'' if full else valid}>"

    def text(self) -> str:
        body = "\n".join(self.lines)
        if self.flat:
            return f"{body}\n"
        indented = "\n".join(f"    {line}" for line in self.lines)
        return f"module {{\n  func.func @k({', '.join(self.arguments)}) {{\n{indented}\n    return\n  }}\n}}\n"

    # --- Values

    def address(self, size: int) -> int:
        at = self.next_address
        self.next_address += -(-size // 32) * 32 + 32 * self.rng.randrange(3)
        return at

    def bind(self, name: str, address: int) -> None:
        self.line(f"pto.tassign %{name}, @tile({address:#x})")

    def number(self, value: int) -> str:
        """An index constant."""
        if value not in self.indices or self.depth:
            name = self.name("c")
            self.line(f"%{name} = arith.constant {value} : index")
            if self.depth:
                return name
            self.indices[value] = name
        return self.indices[value]

    def alloc(self, name: str, tile: Tile, rows: str | None = None, cols: str | None = None) -> None:
        operands = ""
        if self.rng.random() < 0.3:
            address = self.name("a")
            self.line(f"%{address} = arith.constant {self.address(tile.size)} : i64")
            operands = f" addr = %{address}"
        operands += f" valid_row = %{rows}" if rows is not None else ""
        operands += f" valid_col = %{cols}" if cols is not None else ""
        self.line(f"%{name} = pto.alloc_tile{operands} : {self.spell(tile)}")

    def source(self, tile: Tile) -> Named:
        """A tile that holds data: one that there is, or a new input."""
        known = [v for v in self.sources if v.type == tile]
        if known and self.rng.random() < 0.6:
            return self.rng.choice(known)
        value = Named(self.name("src"), tile)
        if not self.flat:
            self.arguments.append(f"%{value.name}: {self.spell(tile)}")
        if self.rng.random() < 0.3 and not self.depth:
            self.bind(value.name, self.address(tile.size))
        self.sources.append(value)
        return value

    def scratch(self, tile: Tile) -> Named | None:
        """A scratch tile; the synchronous form has none."""
        if self.form == "sync":
            return None
        value = Named(self.name("tmp"), tile)
        if not self.flat or self.depth:
            self.alloc(value.name, tile)
        elif self.rng.random() < 0.3:
            self.bind(value.name, self.address(tile.size))
        return value

    def destination(self, tile: Tile, *used: Named) -> Named:
        """Where a result goes: at level 2 often a buffer that was written before."""
        if self.form != "dps":
            value = Named(self.name("v"), tile)
            if self.rng.random() < 0.3:
                self.bind(value.name, self.address(tile.size))
            return value
        known = [v for v in self.buffers if v.type == tile and v not in used]
        if known and self.rng.random() < 0.5:
            value = self.rng.choice(known)
            if self.rng.random() < 0.2 and not self.depth:
                self.bind(value.name, self.address(tile.size))
            return value
        value = Named(self.name("d"), tile)
        choice = self.rng.random()
        if self.flat and not self.depth:
            if choice < 0.3:
                self.bind(value.name, self.address(tile.size))
        elif choice < 0.3:
            self.arguments.append(f"%{value.name}: {self.spell(tile)}")
        else:
            self.alloc(value.name, tile)
        return value

    def emit(
        self,
        op: str,
        inputs: list[tuple[str, str]],
        scratch: Named | None,
        outputs: list[Named],
        attribute: str = "",
    ) -> None:
        """One instruction; inputs are (operand, type), a scalar's type is an element type."""
        attributes = f" {{{attribute}}}" if attribute else ""
        names = [n for n, _ in inputs]
        types = [t for _, t in inputs]
        if self.form == "sync":
            types = [t for t in types if t.startswith("!")]
        elif scratch is not None:
            names.append(f"%{scratch.name}")
            types.append(self.spell(scratch.type))
        results = ", ".join(f"%{v.name}" for v in outputs)
        result_types = [self.spell(v.type) for v in outputs]
        if self.form == "dps":
            joined = ", ".join(types)
            self.line(
                f"pto.{op} ins({', '.join(names)}{attributes} : {joined}) outs({results} : {', '.join(result_types)})"
            )
        elif self.form == "ssa":
            arrow = f"({', '.join(types)}) -> ({', '.join(result_types)})"
            self.line(f"{results} = pto.{op} {', '.join(names)}{attributes} : {arrow}")
        else:
            before = f"{', '.join(types)} -> " if types else ""
            self.line(f"{results} = {op} {', '.join(names)}{attributes} : {before}{', '.join(result_types)}")
        for value in outputs:
            if not self.depth:
                if value not in self.sources:
                    self.sources.append(value)
                if self.form == "dps" and value not in self.buffers:
                    self.buffers.append(value)

    def operand(self, value: Named) -> tuple[str, str]:
        return f"%{value.name}", self.spell(value.type)


def _extent(value: int | None) -> str:
    return "?" if value is None else str(value)


def _columns(rng: random.Random, element: str) -> tuple[int, int]:
    """Physical and valid columns."""
    block = 32 // BYTES[element]
    cols = block * rng.choice((1, 1, 2, 3))
    return cols, rng.choice((cols, cols, cols - 1, rng.randint(1, cols)))


# --- Motifs


def column_sum(p: Program) -> None:
    element = p.rng.choice(SUMMABLE)
    cols, valid = _columns(p.rng, element)
    rows = p.rng.choice((1, 2, 3, 5, 8))
    src = p.source(Tile(element, rows, cols, p.rng.randint(1, rows), valid))
    binary = p.rng.random() < 0.4
    scratch = p.scratch(Tile(element, rows, cols, rows, cols)) if binary or p.rng.random() < 0.2 else None
    dst = p.destination(Tile(element, 1, cols, 1, valid), src)
    value = "true" if binary else "false"
    attribute = f"isBinary = {value}" if binary or p.rng.random() < 0.5 else ""
    p.emit("tcolsum", [p.operand(src)], scratch, [dst], attribute)


def column_argmin(p: Program) -> None:
    element = p.rng.choice(COMPARABLE)
    cols, valid = _columns(p.rng, element)
    rows = p.rng.choice((1, 2, 4, 7))
    src = p.source(Tile(element, rows, cols, rows, valid))
    block = 256 // BYTES[element]
    scratch = p.scratch(Tile(element, 1, 3 * block, 1, 3 * block))
    index = p.destination(
        Tile(p.rng.choice(INDEX_TYPES[BYTES[element]]), 1, cols, 1, valid),
        src,
    )
    outputs = [index]
    if p.rng.random() < 0.4:
        outputs.insert(0, p.destination(Tile(element, 1, cols, 1, valid), src, index))
    p.emit("tcolargmin", [p.operand(src)], scratch, outputs)


def sequence(p: Program) -> None:
    element = p.rng.choice(SEQUENCES)
    cols, valid = _columns(p.rng, element)
    if p.rng.random() < 0.5 or p.form == "sync":
        start = str(p.rng.randint(100, 200)), element
    else:
        start = f"%{p.name('s')}", element
        if not p.flat:
            p.arguments.append(f"{start[0]}: {element}")
    words = 192 if BYTES[element] == 4 else 448
    scratch = p.scratch(Tile("f32", 1, words, 1, words)) if p.rng.random() < 0.3 else None
    dst = p.destination(Tile(element, 1, cols, 1, valid))
    p.emit("tci", [start], scratch, [dst], p.rng.choice(("", "descending = false", "descending = true")))


def stacked_rows(p: Program) -> None:
    """Rows that are written one by one and read together through another name."""
    element = p.rng.choice(("i16", "i32"))
    cols = 32 // BYTES[element]
    base = p.address(cols * BYTES[element] * 2)
    rows = [Named(p.name("row"), Tile(element, 1, cols, 1, cols)) for _ in range(2)]
    both = Named(p.name("both"), Tile(element, 2, cols, 2, cols))
    for k, row in enumerate(rows):
        if p.form == "dps" and not (p.flat and not p.depth):
            p.line(f"%{row.name} = pto.alloc_tile : {p.spell(row.type)}")
        p.bind(row.name, base + 32 * k)
    if not (p.flat and not p.depth):
        p.line(f"%{both.name} = pto.alloc_tile : {p.spell(both.type)}")
    p.bind(both.name, base)
    for k, row in enumerate(rows):
        p.emit("tci", [(str(k + 1), element)], None, [row])
    total = p.destination(Tile(element, 1, cols, 1, cols), *rows)
    p.emit("tcolsum", [p.operand(both)], None, [total])
    p.sources = [v for v in p.sources if v not in rows]
    p.buffers = [v for v in p.buffers if v not in rows]


def dynamic_sum(p: Program) -> None:
    """A source and a destination of which only the run knows the extents."""
    element = p.rng.choice(SUMMABLE)
    cols = 32 // BYTES[element]
    width = p.rng.randint(1, cols)
    rows = p.rng.randint(1, 4)
    r, c = p.number(rows), p.number(width)
    src = Named(p.name("dyn"), Tile(element, 4, cols, None, None))
    p.alloc(src.name, src.type, r, c)
    dst = Named(p.name("dd"), Tile(element, 1, cols, p.rng.choice((1, None)), p.rng.choice((width, None))))
    if p.form == "dps":
        p.alloc(
            dst.name,
            dst.type,
            p.number(1) if dst.type.valid_rows is None else None,
            c if dst.type.valid_cols is None else None,
        )
    p.emit("tcolsum", [p.operand(src)], None, [dst])
    if not p.depth:
        p.sources.remove(dst)
        if p.form == "dps":
            p.buffers.remove(dst)


def dynamic_sequence(p: Program) -> None:
    """A sequence of which only the run knows the length: level 2 says it with an operand."""
    if p.form != "dps":
        return
    element = p.rng.choice(SEQUENCES)
    cols = 32 // BYTES[element]
    dst = Named(p.name("ds"), Tile(element, 1, cols, 1, None))
    if p.flat:
        width = p.number(p.rng.randint(1, cols))
    else:
        width = p.name("n")
        p.arguments.append(f"%{width}: index")
        bound = p.name("w")
        p.line(f"%{bound} = arith.minui %{width}, %{p.number(cols)} : index")
        width = bound
    p.alloc(dst.name, dst.type, None, width)
    p.emit("tci", [("7", element)], None, [dst])
    if not p.depth:
        p.sources.remove(dst)
        p.buffers.remove(dst)


def branch(p: Program) -> None:
    """Both branches write the same buffer, which is read afterwards; elsewhere each has a value of its own."""
    if p.depth or p.flat:
        return
    tile = Tile("i32", 1, 8, 1, 8)
    flag = p.name("p")
    p.arguments.append(f"%{flag}: i1")
    dst = Named(p.name("br"), tile)
    if p.form == "dps":
        p.alloc(dst.name, tile)
        p.line(f"scf.if %{flag} {{")
    else:
        p.line(f"%{dst.name} = scf.if %{flag} -> ({p.spell(tile)}) {{")
    p.depth += 1
    for start in ("3", "5"):
        value = dst if p.form == "dps" else Named(p.name("v"), tile)
        p.emit("tci", [(start, "i32")], None, [value])
        if p.form != "dps":
            p.line(f"scf.yield %{value.name} : {p.spell(tile)}")
        if start == "3":
            p.depth -= 1
            p.line("} else {")
            p.depth += 1
    p.depth -= 1
    p.line("}")
    p.sources.append(dst)


def loop(p: Program) -> None:
    """A loop that accumulates into a buffer, or carries a value."""
    if p.depth or p.flat:
        return
    tile = Tile("i32", 1, 8, 1, 8)
    acc = Named(p.name("acc"), tile)
    start = p.destination(tile)
    p.emit("tci", [(str(p.rng.randint(0, 9)), "i32")], None, [start])
    low, high, step, variable = p.number(0), p.number(p.rng.randint(0, 3)), p.number(1), p.name("i")
    if p.form == "dps":
        p.alloc(acc.name, tile)
        p.emit("tmov", [p.operand(start)], None, [acc])
        p.line(f"scf.for %{variable} = %{low} to %{high} step %{step} {{")
        p.depth += 1
        p.emit("tadd", [p.operand(acc), p.operand(start)], None, [acc])
    else:
        carried, new = p.name("x"), Named(p.name("y"), tile)
        p.line(
            f"%{acc.name} = scf.for %{variable} = %{low} to %{high} step %{step} "
            f"iter_args(%{carried} = %{start.name}) -> ({p.spell(tile)}) {{"
        )
        p.depth += 1
        p.emit("tadd", [(f"%{carried}", p.spell(tile)), p.operand(start)], None, [new])
        p.line(f"scf.yield %{new.name} : {p.spell(tile)}")
    p.depth -= 1
    p.line("}")
    p.sources.append(acc)


def in_place(p: Program) -> None:
    """Elementwise on what was computed before; at level 2 in its own place."""
    results = [v for v in p.sources if v.type.element in ("i32", "f32") and None not in v.type and v.name[0] != "s"]
    if not results:
        return
    value = p.rng.choice(results)
    dst = value if p.form == "dps" else p.destination(value.type, value)
    p.emit("tadds", [p.operand(value), ("1", value.type.element)], None, [dst])


MOTIFS: tuple[Callable[[Program], None], ...] = (
    column_sum,
    column_argmin,
    sequence,
    column_sum,
    column_argmin,
    sequence,
    stacked_rows,
    dynamic_sum,
    dynamic_sequence,
    branch,
    loop,
    in_place,
)


def generate(rng: random.Random, form: str, layout: str) -> str:
    """The text of a program."""
    program = Program(rng, form, layout)
    for _ in range(rng.randint(1, 6)):
        rng.choice(MOTIFS)(program)
    if not program.lines:
        sequence(program)
    return program.text()


FORMS = ("dps", "ssa", "sync")
LAYOUTS = ("flat", "func")


def programs() -> st.SearchStrategy[str]:
    """Legal programs in any form and layout."""
    return st.builds(generate, st.randoms(use_true_random=False), st.sampled_from(FORMS), st.sampled_from(LAYOUTS))
