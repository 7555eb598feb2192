"""Deterministic generators of large, legal PTO programs.

A program is planned once, as blocks of statements over typed values, and then written in the form that
was asked for, so that `dps(n, seed=s)` and `generic(n, seed=s)` hold the same operations on values of the
same types. What is planned breaks no rule on either target, and its tiles fit into the UB of the smaller
one: few inputs, everything else lives briefly.

`n` counts the instructions (tcolargmin, tci, tcolsum); the bindings, constants and allocations that they
need come on top.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Literal, NamedTuple

Style = Literal["compact", "keyed"]
Variety = Literal["few", "distinct"]
Layout = Literal["flat", "func"]
Form = Literal["dps", "ssa", "sync"]

BLOCK = 16  # statements in a block; in the layout "func" a block is a function
SOURCE_BYTES = 8192  # of a source whose type is its own
BOUND_REGION = 0x10000  # where bound sources lie; what has no address finds its place above
ADDRESSED = range(0x20000, 0x30000)  # where a function's addressed buffers lie
BYTES = {"i16": 2, "ui16": 2, "f16": 2, "i32": 4, "ui32": 4, "f32": 4}


class Tile(NamedTuple):
    """A tile type, apart from its spelling."""

    element: str
    rows: int
    cols: int
    v_rows: int
    v_cols: int
    col_major: bool = False
    fractal: int = 512
    pad: int = 0

    @property
    def size(self) -> int:
        return self.rows * self.cols * BYTES[self.element]


class Value(NamedTuple):
    """A name and its type as it is spelled wherever the name is used."""

    name: str
    type: str
    size: int = 0  # in the UB; a scalar has none


class Statement(NamedTuple):
    op: str
    source: Value
    tmp: Value | None
    outputs: tuple[Value, ...]
    attribute: str  # "isBinary = true", or empty
    trailing: bool  # the attribute stands after outs(…), not inside ins(…)


class Block(NamedTuple):
    number: int
    sources: list[Value]  # tiles that nothing in the program writes
    scalars: list[Value]
    scratch: list[Value]
    outputs: list[Value]
    statements: list[Statement]
    bindings: list[tuple[Value, int]]  # sources that would not fit side by side, with their addresses


class _Shape(NamedTuple):
    """A statement without names."""

    op: str
    source: Tile | str  # a tile, or the type of a scalar
    tmp: Tile | None
    outputs: tuple[tuple[str, Tile], ...]  # (stem of the name, type)
    attribute: str = ""
    trailing: bool = False
    chained: bool = False  # reads what an earlier statement of the block wrote
    weight: int = 1


# The statements of the variety "few".
_SEQUENCE = Tile("i32", 1, 64, 1, 64)
SHAPES = (
    _Shape(
        "tcolargmin",
        Tile("f32", 16, 256, 16, 255),
        Tile("f32", 1, 64, 1, 64),
        (("idx", Tile("ui32", 1, 256, 1, 255)),),
        weight=3,
    ),
    _Shape(
        "tcolargmin",
        Tile("f16", 32, 128, 32, 128),
        Tile("f16", 1, 256, 1, 256),
        (("val", Tile("f16", 1, 128, 1, 128)), ("pos", Tile("ui16", 1, 128, 1, 128))),
    ),
    _Shape(
        "tcolargmin",
        Tile("ui16", 16, 64, 9, 64),
        Tile("ui16", 1, 192, 1, 192),
        (("at", Tile("i16", 1, 64, 1, 64, pad=1)),),
    ),
    _Shape("tcolsum", Tile("f32", 16, 256, 16, 255), None, (("acc", Tile("f32", 1, 256, 1, 255)),), weight=5),
    _Shape(
        "tcolsum",
        Tile("f16", 64, 64, 63, 64),
        Tile("f16", 32, 64, 32, 64),
        (("total", Tile("f16", 1, 64, 1, 64)),),
        "isBinary = true",
    ),
    _Shape(
        "tcolsum",
        Tile("i16", 8, 128, 8, 100),
        Tile("i16", 8, 128, 8, 128),
        (("count", Tile("i16", 1, 128, 1, 100)),),
        "isBinary = false",
        trailing=True,
    ),
    _Shape("tci", "i32", None, (("seq", _SEQUENCE),), "descending = false", weight=8),
    _Shape("tci", "i16", None, (("ramp", Tile("i16", 1, 128, 1, 128)),), "descending = true", True, weight=5),
    _Shape(
        "tci",
        "ui16",
        Tile("f32", 1, 512, 1, 512),
        (("steps", Tile("ui16", 1, 256, 1, 250)),),
        "descending = false",
        weight=2,
    ),
    _Shape("tcolsum", _SEQUENCE, None, (("copy", Tile("i32", 1, 64, 1, 64, pad=1)),), chained=True, weight=5),
)


def dps(n: int, style: Style = "keyed", variety: Variety = "few", layout: Layout = "flat", seed: int = 0) -> str:
    """Level 2: `pto.tcolsum ins(%src : …) outs(%dst : …)`."""
    return _text(n, "dps", style, variety, layout, seed)


def ssa(n: int, style: Style = "compact", variety: Variety = "few", layout: Layout = "flat", seed: int = 0) -> str:
    """Level 1: `%dst = pto.tcolsum %src : … -> …`."""
    return _text(n, "ssa", style, variety, layout, seed)


def sync(n: int, style: Style = "compact", variety: Variety = "few", layout: Layout = "flat", seed: int = 0) -> str:
    """The synchronous form: `%dst = tcolsum %src : … -> …`."""
    return _text(n, "sync", style, variety, layout, seed)


def generic(
    n: int,
    style: Style = "keyed",
    variety: Variety = "few",
    layout: Layout = "flat",
    seed: int = 0,
    instructions: bool = True,
) -> str:
    """The operations of `dps` in MLIR's generic form, for tools that take unregistered operations.

    A flat program becomes one region whose arguments are its values, so that each is declared exactly
    once, which is the cheapest way there is. Without `instructions` only these declarations are written.
    """
    lines = ['"builtin.module"() ({']
    blocks = plan(n, "dps", style, variety, layout, seed)
    if layout == "func":
        for block in blocks:
            lines += _generic_function(
                f"kernel_{block.number}", block if instructions else block._replace(statements=[])
            )
    else:
        arguments: dict[str, Value] = {}
        body: list[str] = []
        for block in blocks:
            for values in (block.sources, block.scalars, block.scratch, block.outputs):
                arguments.update((value.name, value) for value in values)
            if not instructions:
                continue
            body.append(f"  // block {block.number}")
            body += (
                f'  "pto.tassign"({value.name}) {{address = {address} : i64}} : ({value.type}) -> ()'
                for value, address in block.bindings
            )
            body += map(_generic_statement, block.statements)
        lines += [
            '"pto.program"() ({',
            _generic_arguments(arguments.values()),
            *body,
            '  "pto.end"() : () -> ()',
        ]
        lines.append("}) : () -> ()")
    lines.append("}) : () -> ()")
    return "\n".join(lines) + "\n"


def kernel(n: int) -> str:
    """A function of `n` loops that stream a matrix from global memory through the UB and back."""
    whole = "!pto.tensor_view<?x?xf32>"
    places = "!pto.tensor_view<?x?xi32>"
    tile = "!pto.tile_buf<vec, 16x256xf32>"
    row = "!pto.tile_buf<vec, 1x256xf32>"
    indices = "!pto.tile_buf<vec, 1x256xi32>"
    lines = [
        "module {",
        "  func.func @stream(%in: !pto.ptr<f32>, %sums: !pto.ptr<f32>, %places: !pto.ptr<i32>) {",
        *(f"    %c{i} = arith.constant {i} : index" for i in (0, 1, 16, 64, 256)),
        *(f"    %a{i} = arith.constant {i} : i64" for i in (0x0, 0x4000, 0x5000, 0x6000)),
    ]
    for name, pointer, kind in (("m", "in", whole), ("s", "sums", whole), ("p", "places", places)):
        lines.append(
            f"    %{name} = pto.make_tensor_view %{pointer}, shape = [%c64, %c256], strides = [%c256, %c1]"
            f" {{layout = #pto.layout<nd>}} : {kind}"
        )
    for name, address, kind in (
        ("t", 0, tile),
        ("sum", 0x4000, row),
        ("idx", 0x5000, indices),
        ("tmp", 0x6000, row),
    ):
        lines.append(f"    %{name} = pto.alloc_tile addr = %a{address} : {kind}")
    for k in range(n):

        def view(name: str, of: str, kind: str, rows: int, element: str, k: int = k) -> str:
            return (
                f"      %{name}{k} = pto.partition_view %{of}, offsets = [%i{k}, %c0],"
                f" sizes = [%c{rows}, %c256] : {kind} -> !pto.partition_tensor_view<{rows}x256x{element}>"
            )

        lines += [
            f"    scf.for %i{k} = %c0 to %c64 step %c16 {{",
            view("mp", "m", whole, 16, "f32"),
            view("sp", "s", whole, 1, "f32"),
            view("pp", "p", places, 1, "i32"),
            f"      pto.tload ins(%mp{k} : !pto.partition_tensor_view<16x256xf32>) outs(%t : {tile})",
            f"      pto.tcolsum ins(%t : {tile}) outs(%sum : {row})",
            f"      pto.tcolargmin ins(%t, %tmp : {tile}, {row}) outs(%idx : {indices})",
            f"      pto.tstore ins(%sum : {row}) outs(%sp{k} : !pto.partition_tensor_view<1x256xf32>)",
            f"      pto.tstore ins(%idx : {indices}) outs(%pp{k} : !pto.partition_tensor_view<1x256xi32>)",
            "    }",
        ]
    return "\n".join([*lines, "    return", "  }", "}"]) + "\n"


# What the program is.


def plan(n: int, form: Form, style: Style, variety: Variety, layout: Layout, seed: int) -> Iterator[Block]:
    """The blocks of a program of `n` instructions."""
    rng = random.Random(f"{n} {style} {variety} {layout} {seed}")
    weights = [shape.weight for shape in SHAPES]
    kind = "!pto.tile_buf" if form == "dps" else "!pto.tile"
    numbers: Counter[str] = Counter()
    pool: dict[tuple[str, object], list[Value]] = {}  # sources and scratch of the variety "few"

    def value(stem: str, tile: Tile) -> Value:
        number = numbers[stem]
        numbers[stem] += 1
        separator = "." if stem in ("acc", "val") else "_"
        name = f"%{stem}{separator}{number}" if number else f"%{stem}"
        return Value(name, f"{kind}<{spell(tile, style, rng if variety == 'distinct' else None)}>", tile.size)

    def shared(stem: str, tile: Tile, width: int) -> Value:
        values = pool.setdefault((stem, tile), [])
        if len(values) < width:
            values.append(value(stem, tile))
        return rng.choice(values)

    for number in count():
        todo = min(BLOCK, n - number * BLOCK)
        if todo <= 0:
            return
        block = Block(number, [], [], [], [], [], [])
        local: dict[tuple[str, Tile], list[Value]] = {}
        for _ in range(todo):
            shape = rng.choices(SHAPES, weights)[0] if variety == "few" else _random_shape(rng)
            source: Value
            written = local.get(("seq", _SEQUENCE)) if shape.chained else None
            if isinstance(shape.source, str):
                start = 5000 if shape.attribute.endswith("true") else 0
                source = Value(f"%c{start}_{shape.source}", shape.source)
                _add(block.scalars, source)
            elif written:
                source = rng.choice(written)
            elif variety == "few":
                source = shared("src", shape.source, 2)
                _add(block.sources, source)
            else:
                source = value("src", shape.source)
                block.sources.append(source)
                if layout == "flat":
                    room = BOUND_REGION - source.size
                    block.bindings.append((source, rng.randrange(0, room, 32)))
            tmp = None
            if shape.tmp and form != "sync":
                tmp = shared("tmp", shape.tmp, 1) if variety == "few" else value("tmp", shape.tmp)
                _add(block.scratch, tmp)
            outputs = []
            for stem, tile in shape.outputs:
                known = local.setdefault((stem, tile), [])
                if form == "dps" and len(known) > 1 and rng.random() < 0.7:  # write it once more
                    outputs.append(rng.choice(known))
                    continue
                known.append(value(stem, tile))
                outputs.append(known[-1])
                block.outputs.append(known[-1])
            statement = Statement(shape.op, source, tmp, tuple(outputs), shape.attribute, shape.trailing)
            block.statements.append(statement)
        yield block


def _add(values: list[Value], value: Value) -> None:
    if value not in values:
        values.append(value)


def _random_shape(rng: random.Random) -> _Shape:
    """A legal statement whose types hardly ever occur twice."""
    trailing = rng.random() < 0.5
    choice = rng.random()
    if choice < 0.3:
        element = rng.choice(("i16", "ui16", "i32", "ui32"))
        dst = _random_row(rng, element, rng.randint(1, 512))
        tmp = None
        if rng.random() < 0.25:
            tmp = _random_row(rng, rng.choice(("f32", "i32", "ui32")), rng.randint(448, 1024))
        descending = rng.choice(("", "descending = false", "descending = true"))
        return _Shape("tci", element, tmp, (("seq", dst),), descending, trailing)
    if choice < 0.7:
        src = _random_source(rng, rng.choice(("f16", "f32", "i16", "i32")))
        tmp, binary = None, ""
        if rng.random() < 0.35:
            tmp = _random_row(rng, src.element, src.v_cols, rows=(src.v_rows + 1) // 2 + rng.randint(0, 3))
            binary = rng.choice(("", "isBinary = false", "isBinary = true"))
        dst = _random_row(rng, src.element, src.v_cols)
        return _Shape("tcolsum", src, tmp, (("acc", dst),), binary, trailing)
    src = _random_source(rng, rng.choice(("f16", "f32", "ui16", "ui32")), column_major=rng.random() < 0.2)
    both = rng.random() < 0.4
    tmp = _random_row(rng, src.element, scratch(src, both) + rng.randint(0, 64))
    if both:
        index = rng.choice(("ui16", "i16") if BYTES[src.element] == 2 else ("ui32", "i32"))
        outputs: tuple[tuple[str, Tile], ...] = (
            ("val", _random_row(rng, src.element, src.v_cols)),
            ("idx", _random_row(rng, index, src.v_cols)),
        )
    else:
        index = rng.choice(("ui16", "i16", "ui32", "i32"))
        outputs = (("idx", _random_row(rng, index, src.v_cols)),)
    return _Shape("tcolargmin", src, tmp, outputs)


def _random_source(rng: random.Random, element: str, column_major: bool = False) -> Tile:
    step = 32 // BYTES[element]  # the contiguous run is a multiple of 32 bytes
    room = SOURCE_BYTES // BYTES[element]
    run = step * rng.randint(1, room // step // 4)
    other = rng.randint(2, max(2, min(64, room // run)))
    rows, cols = (run, other) if column_major else (other, run)
    valid = rng.randint(1, rows), rng.randint(1, cols)
    return Tile(element, rows, cols, *valid, column_major, rng.choice((512, 512, 1024)), rng.randrange(4))


def _random_row(rng: random.Random, element: str, valid: int, rows: int = 1) -> Tile:
    step = 32 // BYTES[element]
    cols = step * (-(-valid // step) + rng.randint(0, 4))
    return Tile(element, rows, cols, rows, valid, False, rng.choice((512, 512, 512, 1024, 32)), rng.randrange(4))


def scratch(src: Tile, value_and_index: bool) -> int:
    """Elements of tmp with which tcolargmin is content on a2a3, warnings included."""
    per_repeat, per_block = 256 // BYTES[src.element], 32 // BYTES[src.element]
    gap = per_repeat if src.v_cols >= per_repeat else -(-src.v_cols // per_block) * per_block
    if BYTES[src.element] == 4:
        return gap
    if value_and_index:
        return 2 * gap
    repeats = -(-src.v_cols // per_repeat)
    stride = -(-repeats * 2 // per_block) * per_block + -(-repeats // per_block) * per_block
    return max(3 * gap, stride)


# How it is written.

_ORDERS = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    (1, 2, 3, 0, 4, 5, 9, 6, 7, 8),
    (2, 3, 4, 5, 1, 0, 6, 7, 9, 8),
    (0, 1, 9, 8, 7, 6, 5, 4, 3, 2),
    (6, 7, 0, 1, 3, 2, 5, 4, 8, 9),
)
_PADS = ("null", "zero", "max", "min")


def spell(tile: Tile, style: Style, rng: random.Random | None = None) -> str:
    """The inside of a tile type; with a generator the order of the keys and what is left out vary."""
    element, rows, cols, v_rows, v_cols, col_major, fractal, pad = tile
    layout = "col_major" if col_major else "row_major"
    if style == "keyed":
        keys = [
            "loc=vec",
            f"dtype={element}",
            f"rows={rows}",
            f"cols={cols}",
            f"v_row={v_rows}",
            f"v_col={v_cols}",
            f"blayout={layout}",
            "slayout=none_box",
            f"fractal={fractal}",
            f"pad={pad}",
        ]
        dull = not (col_major or pad) and fractal == 512
        if rng is None:
            return ", ".join(keys[:6] if dull and (rows == 1 or (v_rows, v_cols) == (rows, cols)) else keys)
        short = dull and rng.random() < 0.7
        return ", ".join([keys[key] for key in rng.choice(_ORDERS) if key < 6 or not short])
    keys = []
    if (v_rows, v_cols) != (rows, cols):
        keys.append(f"valid={v_rows}x{v_cols}")
    if col_major or (rng and rng.random() < 0.1):
        keys.append(f"blayout={layout}")
    if fractal != 512 or (rng and rng.random() < 0.1):
        keys.append(f"fractal={fractal}")
    if pad:
        keys.append(f"pad={_PADS[pad] if rng and rng.random() < 0.5 else pad}")
    if rng:
        rng.shuffle(keys)
    return ", ".join([f"vec, {rows}x{cols}x{element}", *keys])


def _text(n: int, form: Form, style: Style, variety: Variety, layout: Layout, seed: int) -> str:
    lines: list[str] = ["module {"] if layout == "func" else []
    for block in plan(n, form, style, variety, layout, seed):
        if layout == "func":
            lines += _function(block, form)
            continue
        lines.append(f"// block {block.number}")
        lines += (f"pto.tassign {value.name}, @tile({address:#x})" for value, address in block.bindings)
        lines += (_statement(statement, form) for statement in block.statements)
    if layout == "func":
        lines.append("}")
    return "\n".join(lines) + "\n"


def _statement(statement: Statement, form: Form) -> str:
    op, source, tmp, outputs, attribute, trailing = statement
    operands, types = source.name, source.type
    if tmp:
        operands, types = f"{operands}, {tmp.name}", f"{types}, {tmp.type}"
    names = ", ".join([value.name for value in outputs])
    results = ", ".join([value.type for value in outputs])
    inside = after = ""
    if attribute:
        inside, after = ("", f" {{{attribute}}}") if trailing and form == "dps" else (f" {{{attribute}}}", "")
    if form == "dps":
        return f"pto.{op} ins({operands}{inside} : {types}) outs({names} : {results}){after}"
    if form == "sync":
        types = "" if op == "tci" else f"{types} -> "
        return f"{names} = {op} {operands}{inside} : {types}{results}"
    if tmp:
        types = f"({types})"
    if len(outputs) > 1:
        results = f"({results})"
    return f"{names} = pto.{op} {operands}{inside} : {types} -> {results}"


def _is_constant(value: Value) -> bool:
    return not value.type.startswith("ui")


def _allocations(block: Block, form: Form) -> list[tuple[Value, int | None]]:
    """The buffers of a function; every third one has an address, and none of these overlap."""
    buffers = block.scratch + (block.outputs if form == "dps" else [])
    placed: list[tuple[Value, int | None]] = []
    free = ADDRESSED.start
    for i, value in enumerate(buffers):
        if i % 3 == 0 and free + value.size <= ADDRESSED.stop:
            placed.append((value, free))
            free += value.size
        else:
            placed.append((value, None))
    return placed


def _function(block: Block, form: Form) -> list[str]:
    arguments = block.sources + [value for value in block.scalars if not _is_constant(value)]
    if form == "sync":  # the start of a sequence has no type of its own there
        arguments = block.sources + block.scalars
    signature = ", ".join([f"{value.name}: {value.type}" for value in arguments])
    lines = [f"  func.func @kernel_{block.number}({signature}) {{"]
    if form != "sync":
        lines += (
            f"    {value.name} = arith.constant {value.name[2:].partition('_')[0]} : {value.type}"
            for value in block.scalars
            if _is_constant(value)
        )
    for value, address in _allocations(block, form):
        if address is None:
            lines.append(f"    {value.name} = pto.alloc_tile : {value.type}")
        else:
            lines.append(f"    %addr_{address} = arith.constant {address} : i64")
            lines.append(f"    {value.name} = pto.alloc_tile addr = %addr_{address} : {value.type}")
    lines += (f"    {_statement(statement, form)}" for statement in block.statements)
    return [*lines, "    return", "  }"]


def _generic_statement(statement: Statement) -> str:
    op, source, tmp, outputs, attribute, _ = statement
    values = (source, tmp, *outputs) if tmp else (source, *outputs)
    names = ", ".join([value.name for value in values])
    types = ", ".join([value.type for value in values])
    return f'  "pto.{op}"({names}) {"{" + attribute + "} " if attribute else ""}: ({types}) -> ()'


def _generic_arguments(values: Iterable[Value]) -> str:
    return f"^bb0({', '.join([f'{value.name}: {value.type}' for value in values])}):"


def _generic_function(name: str, block: Block) -> list[str]:
    arguments = block.sources + [value for value in block.scalars if not _is_constant(value)]
    body = [
        f'  {value.name} = "arith.constant"() <{{value = {value.name[2:].partition("_")[0]} : {value.type}}}>'
        f" : () -> {value.type}"
        for value in block.scalars
        if _is_constant(value)
    ]
    for value, address in _allocations(block, "dps"):
        if address is None:
            body.append(f'  {value.name} = "pto.alloc_tile"() : () -> {value.type}')
        else:
            constant = f'"arith.constant"() <{{value = {address} : i64}}> : () -> i64'
            body.append(f"  %addr_{address} = {constant}")
            body.append(f'  {value.name} = "pto.alloc_tile"(%addr_{address}) : (i64) -> {value.type}')
    body += map(_generic_statement, block.statements)
    types = ", ".join([value.type for value in arguments])
    return [
        f'"func.func"() <{{function_type = ({types}) -> (), sym_name = "{name}"}}> ({{',
        _generic_arguments(arguments),
        *body,
        '  "func.return"() : () -> ()',
        "}) : () -> ()",
    ]
