"""To level 2: what an instruction gives becomes a buffer that it writes to."""

from __future__ import annotations

from ptoasm.buffers import buffer_root, instance_of
from ptoasm.dialect.base import UNUSED, whole_valid_region
from ptoasm.dialect.common import SCRATCH_IS_NAMED
from ptoasm.ir import DPS, SYNC, Function, Literal, Module, Operation, Value
from ptoasm.placement import address_of
from ptoasm.rewrite import Rewriter, is_instruction
from ptoasm.types import TileType, Type

Extent = int | Value | None
"""How many rows or columns are valid: a number, the value that says it, or None where only a run knows."""


def extents(value: Value) -> tuple[Extent, Extent]:
    """The valid rows and columns of a tile, as far as the text says them."""
    type_ = value.type
    if not isinstance(type_, TileType):
        return None, None
    rows, cols = type_.valid_rows, type_.valid_cols
    if rows is not None and cols is not None:
        return rows, cols
    op = value.definition
    if op is None or any(user.shape.name == "pto.set_validshape" for user, _ in _uses(value)):
        return rows, cols
    if op.shape.name in ("pto.subview", "pto.subset"):
        valid = [v for n, v in zip(op.shape.input_names, op.inputs, strict=False) if n == "valid"]
        given = [_known(v) for v in valid] or [None, None]
        return _either(rows, given[0]), _either(cols, given[1])
    if op.shape.name == "pto.alloc_tile":
        return _either(rows, _given(op, "valid_row")), _either(cols, _given(op, "valid_col"))
    if not is_instruction(op):
        return rows, cols
    return inferred(op, type_)


def inferred(op: Operation, type_: TileType) -> tuple[Extent, Extent]:
    """The valid region of an output about which nothing else says it: what is written to it (decision D-25)."""
    definition = op.shape.definition
    assert definition is not None
    sources = [v for n, v in zip(op.shape.input_names, op.inputs, strict=False) if n != definition.scratch]
    first = next((v for v in sources if isinstance(v, Value) and isinstance(v.type, TileType)), None)
    rows, cols = (type_.rows, type_.cols) if first is None else extents(buffer_root(first))
    if definition.written is not whole_valid_region:
        at = len(op.shape.output_names) - 1
        written = definition.written(instance_of(op, definition), op.shape.output_names[at])
        rows, cols = 1 if definition.checked else _either(written[0], rows), _either(written[1], cols)
    return _either(type_.valid_rows, rows), _either(type_.valid_cols, cols)


def _uses(value: Value) -> list[tuple[Operation, int]]:
    return value.block.function.uses.get(value, [])


def _number(extent: Extent) -> int | None:
    return extent if isinstance(extent, int) else None


def _either(known: int | None, otherwise: Extent) -> Extent:
    return otherwise if known is None else known


def _given(op: Operation, name: str) -> Extent:
    operand = op.operand(name)
    return None if operand is None else _known(operand)


def _known(operand: Value | Literal) -> Extent:
    known = address_of(operand)
    return operand if known is None and isinstance(operand, Value) else known


def needs_scratch(op: Operation) -> bool:
    """Whether an instruction without a scratch operand works with one, or has to name one at levels 1 and 2."""
    definition = op.shape.definition
    if definition is None or not definition.scratch:
        return False
    return definition.name in SCRATCH_IS_NAMED or definition.scratch_use(instance_of(op, definition)) != UNUSED


def scratch_type(op: Operation) -> TileType:
    """The type of the scratch that an instruction needs (decision D-17)."""
    definition = op.shape.definition
    assert definition is not None
    found = definition.scratch_type(instance_of(op, definition))
    assert found is not None
    return found


def scalar_types(op: Operation) -> list[Type | None]:
    """The operands' types; of a scalar without one that of the result's elements (decision D-16)."""
    shape = op.shape
    definition = shape.definition
    assert definition is not None
    element = next((t.element for t in shape.output_types if isinstance(t, TileType)), None)
    return [element if t is None else t for t in shape.input_types]


class ToBuffers(Rewriter):
    """Converts a module to level 2."""

    kind = "tile_buf"

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.bindings: dict[Value, list[Operation]] = {}

    def copy_function(self, old: Function) -> Function:
        self.bindings = {}
        return super().copy_function(old)

    def operation(self, op: Operation) -> None:
        if op.shape.name == "pto.tassign" and self._is_early(op):
            tile = op.inputs[0]
            assert isinstance(tile, Value)
            self.bindings.setdefault(tile, []).append(op)
        elif is_instruction(op) and op.shape.form != DPS:
            self._instruction(op)
        else:
            self.copy(op)

    def _is_early(self, op: Operation) -> bool:
        """Whether a ``tassign`` names a result that is only defined later, and that will have to be allocated."""
        tile = op.inputs[0]
        if not isinstance(tile, Value) or op.outputs or tile in self.values:
            return False
        definition = tile.definition
        return definition is not None and _allocated(definition)

    def _instruction(self, op: Operation) -> None:
        shape = op.shape
        definition = shape.definition
        assert definition is not None
        inputs = [self.operand(v) for v in op.inputs]
        named = [
            (n, v.type if isinstance(v, Value) and isinstance(v.type, TileType) else t)
            for n, t, v in zip(shape.input_names, scalar_types(op), inputs, strict=True)
        ]
        if shape.form == SYNC and definition.scratch not in shape.input_names and needs_scratch(op):
            at = [o.name for o in definition.inputs].index(definition.scratch)
            scratch = self._scratch(op)
            inputs.insert(at, scratch)
            named.insert(at, (definition.scratch, scratch.type))
        outputs = [self._buffer(op, v) for v in self.results_of(op)]
        made = self.add(
            self.instruction_shape(shape, DPS, named, zip(shape.output_names, (v.type for v in outputs), strict=True)),
            inputs,
            op,
        )
        made.length = op.length
        made.outputs = tuple(outputs)

    def _scratch(self, op: Operation) -> Value:
        root = self.function.body
        assert root is not None
        value = Value(self.unused("tmp"), scratch_type(op).with_(kind="tile_buf"), root)
        if self.function.flat and self.block is root:
            self.add_free(value)
        else:
            self.add_alloc(value, [], op)
        return value

    def _buffer(self, op: Operation, old: Value) -> Value:
        """The destination that stands for a result."""
        if not _allocated(op):
            return self.value(old)
        root = self.function.body
        assert root is not None
        type_, operands = old.type, []
        if isinstance(type_, TileType) and type_.is_dynamic:
            rows, cols = inferred(op, type_)
            type_ = type_.with_(valid_rows=_number(rows), valid_cols=_number(cols))
            named = ("valid_row", rows), ("valid_col", cols)
            operands = [(name, self.value(extent)) for name, extent in named if isinstance(extent, Value)]
        made = self.bind(old, Value(old.name, None if type_ is None else self.type(type_), root))
        self.add_alloc(made, operands, op)
        for binding in self.bindings.pop(old, ()):
            self.copy(binding)
        return made


def _allocated(op: Operation) -> bool:
    """Whether a result needs an ``alloc_tile``: at the top of a flat program an unknown name is a buffer too."""
    function = op.block.function
    return not function.flat or op.block is not function.body
