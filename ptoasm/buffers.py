"""How a function uses its buffers: what decides how a level-2 program is said with values.

A buffer is a tile that instructions write to. At level 1 each write defines a value of its own, a *version* of the
buffer. Versions need no common memory where each write defines all that is read of it later (the buffer is *plain*);
otherwise all versions are bound to the buffer's address.
"""

from __future__ import annotations

from typing import NamedTuple

from ptoasm.dialect.base import Instance, Instruction
from ptoasm.ir import DPS, Block, Function, Operation, Value
from ptoasm.rewrite import is_instruction, scratch_of
from ptoasm.structure import miscount
from ptoasm.targets import A2A3
from ptoasm.types import TileType, ViewType
from ptoasm.verifier import static_instance

READ, WRITE, SCRATCH, BIND, ESCAPE = "read", "write", "scratch", "bind", "escape"

PARTS = ("pto.subview", "pto.subset", "pto.set_validshape", "pto.treshape")
"""Operations that make another name for a part of a tile, or change how much of it is valid."""


class Event(NamedTuple):
    """Something that an operation does to a buffer. ``full``: a write that defines the whole valid region."""

    what: str
    op: Operation
    value: Value
    full: bool = False


class Buffer:
    """A buffer and what happens to it, in program order.

    ``plain``: its versions need no common memory. ``handle``: a read comes before any write that surely happened, so
    the buffer itself stays. ``kept``: its writes stay as they are.
    """

    __slots__ = ("events", "handle", "kept", "plain", "value")

    def __init__(self, value: Value) -> None:
        self.value = value
        self.events: list[Event] = []
        self.plain = False
        self.handle = False
        self.kept = False

    @property
    def writes(self) -> list[Event]:
        """The writes, in program order."""
        return [e for e in self.events if e.what == WRITE]

    @property
    def is_given(self) -> bool:
        """Whether it is an argument, or a name that a flat program does not define."""
        return isinstance(self.value.owner, Block)

    @property
    def bound(self) -> bool:
        """Whether the program says where it lies."""
        op = self.value.definition
        allocated = op is not None and op.shape.name == "pto.alloc_tile" and "addr" in op.shape.input_names
        return allocated or any(e.what == BIND for e in self.events)


def buffer_root(value: Value) -> Value:
    """The tile that a value is another name of: a ``tassign`` with a result gives the same tile a second name."""
    while (op := value.definition) is not None and op.shape.name == "pto.tassign" and isinstance(op.inputs[0], Value):
        value = op.inputs[0]
    return value


def find_buffers(function: Function) -> dict[Value, Buffer]:
    """The buffers of a function that level-2 statements write to, by their values."""
    buffers: dict[Value, Buffer] = {}
    for op in function.walk():
        if op.shape.form == DPS and is_instruction(op):
            for value in op.outputs:
                if isinstance(value.type, TileType):
                    root = buffer_root(value)
                    buffers.setdefault(root, Buffer(root))
    if buffers:
        _note_events(function, buffers)
        for buffer in buffers.values():
            _judge(buffer)
    return buffers


def _note_events(function: Function, buffers: dict[Value, Buffer]) -> None:
    for op in function.walk():
        instruction = is_instruction(op)
        scratch = scratch_of(op) if instruction else None
        for at, value in enumerate(op.inputs):
            if not isinstance(value, Value):
                continue
            buffer = buffers.get(buffer_root(value))
            if buffer is None:
                continue
            if instruction:
                what = SCRATCH if scratch is not None and scratch[0] == at else READ
            elif op.shape.name == "pto.tassign":
                what = BIND
            else:
                what = READ if op.shape.name in ("return", "func.return") else ESCAPE
            buffer.events.append(Event(what, op, value))
        for value in op.outputs if instruction else ():
            buffer = buffers.get(buffer_root(value))
            if buffer is not None:
                buffer.events.append(Event(WRITE, op, value, writes_all(op, value)))


def chain(op: Operation) -> list[Block]:
    """The blocks that an operation stands in, from the outermost to its own."""
    blocks: list[Block] = []
    block: Block | None = op.block
    while block is not None:
        blocks.append(block)
        block = None if block.parent is None else block.parent.block
    return blocks[::-1]


def _scope(buffer: Buffer) -> Block:
    """The innermost block that holds all events."""
    common = chain(buffer.events[0].op)
    for event in buffer.events[1:]:
        other = chain(event.op)
        n = next((k for k, (a, b) in enumerate(zip(common, other, strict=False)) if a is not b), None)
        common = common[: min(len(common), len(other)) if n is None else n]
    return common[-1]


def _judge(buffer: Buffer) -> None:
    events = [e for e in buffer.events if e.what != BIND]
    scope = _scope(buffer)
    first = events[0]
    home = buffer.value.block
    own = scope is home and not (isinstance(buffer.value.owner, Block) and buffer.value.owner.parent is not None)
    writes = [e for e in events if e.what == WRITE]
    later = writes if first.what != WRITE else writes[1:]
    escaped = False
    plain = all(e.op.block is scope for e in writes) and all(e.full for e in later)
    plain = plain and (own or first.what == WRITE)
    for event in events:
        if event.what == WRITE and escaped:
            plain = False
        escaped = escaped or event.what == ESCAPE
    buffer.plain = plain
    buffer.handle = _needs_handle(buffer)


def _needs_handle(buffer: Buffer) -> bool:
    """Whether something reads the buffer where no write is sure to have happened before."""
    written: list[Block] = []
    for event in buffer.events:
        if event.what == BIND:
            continue
        if event.what == WRITE:
            written.append(event.op.block)
        elif not any(block in written for block in chain(event.op)):
            return True
    return False


def writes_all(op: Operation, value: Value) -> bool:
    """Whether an instruction surely defines the whole valid region of an output."""
    shape = op.shape
    definition = shape.definition
    type_ = value.type
    assert definition is not None
    if not isinstance(type_, TileType) or type_.is_dynamic:
        return False
    if not definition.checked and miscount(shape, definition):
        return False  # a form that nothing here knows
    if definition.name == "tload":
        view = shape.input_types[0]
        return isinstance(view, ViewType) and view.shape[-2:] == (type_.valid_rows, type_.valid_cols)
    name = shape.output_names[op.outputs.index(value)]
    rows, cols = definition.written(instance_of(op, definition), name)
    if definition.checked:
        # A rule says that as many columns are written as are valid; rows that depend on the run may be none.
        cols = type_.valid_cols
    return (rows, cols) == (type_.valid_rows, type_.valid_cols)


def instance_of(op: Operation, definition: Instruction) -> Instance:
    """The operation as the rules see it."""
    return static_instance(op.shape, definition, A2A3)
