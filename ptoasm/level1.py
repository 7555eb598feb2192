"""To level 1 and to the synchronous form: what an instruction writes becomes a value."""

from __future__ import annotations

from typing import NamedTuple

from ptoasm.buffers import BIND, WRITE, Buffer, buffer_root, chain, find_buffers
from ptoasm.dialect.base import Instruction
from ptoasm.ir import DPS, SSA, SYNC, Block, Function, Literal, Module, Operation, Value
from ptoasm.level2 import Extent, extents, inferred, needs_scratch, scalar_types, scratch_type
from ptoasm.placement import address_of
from ptoasm.rewrite import Rewriter, is_instruction, move_shape, part_shape, scratch_of
from ptoasm.types import INDEX, TileType, Type

__all__ = ["NeedsAddressesError", "ToValues"]

_STAYS = frozenset({"treshape", "tprint"})
"""Instructions that have no result of their own at any level."""


class NeedsAddressesError(Exception):
    """A function's buffers need addresses before its writes can be values."""


class _Plan(NamedTuple):
    """What is known of a function before its operations are converted."""

    buffers: dict[Value, Buffer]
    others: set[Value]
    kept: set[Operation]
    rebound: set[Operation]
    gone: set[Value]
    last: set[tuple[Operation, Value]]
    visible: set[str]


class ToValues(Rewriter):
    """Converts a module to level 1 (``form`` is ``ssa``) or to the synchronous form.

    ``addresses`` gives the places of the tiles that have none, where the conversion needs them.
    """

    kind = "tile"

    def __init__(self, module: Module, form: str, addresses: dict[Value, int] | None = None) -> None:
        super().__init__(module)
        self.form = form
        self.addresses = addresses or {}
        self.current: dict[Value, Value] = {}
        self.bound: dict[Value, Value | Literal] = {}
        self.plan = _Plan({}, set(), set(), set(), set(), set(), set())
        self.called = {op.shape.keywords.get("symbol") for f in module.functions for op in f.walk()}
        self._noted: set[Value] = set()

    # --- Functions -----------------------------------------------------------------------------------------

    def copy_function(self, old: Function) -> Function:
        self.current, self.bound = {}, {}
        self.plan = self._plan(old)
        if old.body is None:
            return super().copy_function(old)
        written = [b for b in self.plan.buffers.values() if b.is_given and not old.flat]
        new = super().copy_function(old)
        self._drop_arguments(old, new)
        if written:
            self._add_results(new, written)
        return new

    def _drop_arguments(self, old: Function, new: Function) -> None:
        """A destination that nothing reads before it is written is no argument any more."""
        gone = [self._is_destination(v) for v in old.arguments]
        if not old.flat and new.body is not None and any(gone):
            kept = [k for k, dropped in enumerate(gone) if not dropped]
            new.body.arguments = [new.body.arguments[k] for k in kept]
            given = old.argument_attributes
            new.argument_attributes = [given[k] for k in kept if k < len(given)]

    def _is_destination(self, value: Value) -> bool:
        buffer = self.plan.buffers.get(value)
        return buffer is not None and not buffer.handle

    def _add_results(self, new: Function, written: list[Buffer]) -> None:
        """What a function fills at level 2 it returns at level 1."""
        assert new.body is not None
        operations = new.body.operations
        final = operations[-1] if operations and operations[-1].shape.name in ("return", "func.return") else None
        if final is None:
            return
        more = [self.current[b.value] for b in written if self.current[b.value] not in final.inputs]
        final.inputs += tuple(more)
        final.shape = self.instruction_shape(
            final.shape, final.shape.form, [("value", self._type(v)) for v in final.inputs], []
        )
        new.result_types = final.shape.input_types  # type: ignore[assignment]
        if new.result_attributes:
            new.result_attributes = [*new.result_attributes, *({} for _ in more)]

    @staticmethod
    def _type(value: Value | Literal) -> Type | None:
        return value.type if isinstance(value, Value) else None

    def begin(self, old: Function, new: Function) -> None:
        assert old.body is not None and new.body is not None
        self.block = new.body
        for value in old.arguments:
            if self._is_destination(value):
                continue
            buffer = self.plan.buffers.get(value)
            if buffer is not None:
                self.current[value] = self.bind(value, Value(value.name, self.type_of(value), new.body))
                self.note(
                    buffer.writes[0].op,
                    f"'%{value.name}' is read and written: its last value is '%{value.name}' no more",
                )
            if value in self.addresses and old.body.operations:
                self.add_binding(self.value(value), Literal(hex(self.addresses[value])), old.body.operations[0])

    def copy_block(self, old: Block, new: Block) -> None:
        current, bound = dict(self.current), dict(self.bound)
        super().copy_block(old, new)
        if old.parent is not None:
            self.current, self.bound = current, bound

    # --- Before ---------------------------------------------------------------------------------------------

    def _plan(self, function: Function) -> _Plan:
        buffers = find_buffers(function)
        others = {value for value in buffers if self._is_other_name(function, value)}
        kept = {op for op in function.walk() if op.shape.form == DPS and is_instruction(op) and self._stays(op, others)}
        for value in others:
            del buffers[value]
        for buffer in list(buffers.values()):
            staying = [e.op in kept for e in buffer.writes]
            if all(staying):
                del buffers[buffer.value]
            elif any(staying):
                buffer.handle, buffer.plain = True, False
        for buffer in buffers.values():
            self._check(buffer)
        gone = self._unused_scratch(function) if self.form == SYNC else set()
        visible = {b.value.name for b in buffers.values() if b.is_given and b.handle}
        return _Plan(buffers, others, kept, _rebound(buffers), gone, _last_writes(buffers), visible)

    def _is_other_name(self, function: Function, value: Value) -> bool:
        """Whether it stands for memory that has another name too: a part of a tile, what a region or a call passes."""
        if isinstance(value.owner, Block):
            return value.owner.parent is not None or (not function.flat and function.name in self.called)
        return value.owner.shape.name != "pto.alloc_tile" and not is_instruction(value.owner)

    def _stays(self, op: Operation, others: set[Value]) -> bool:
        """Whether an operation stays at level 2: what it writes is no tile, or cannot be said with a value."""
        definition = op.shape.definition
        assert definition is not None
        if definition.name in _STAYS or any(not isinstance(v.type, TileType) for v in op.outputs):
            return True
        return not definition.checked and any(
            buffer_root(v) in others or self._result_type(op, v) is None for v in op.outputs
        )

    def _check(self, buffer: Buffer) -> None:
        """Raises where what a buffer is cannot be said with values, or it has no address and needs one."""
        value = buffer.value
        for event in buffer.events:
            if event.what == BIND and event.op.block is not value.block:
                others = [chain(e.op) for e in buffer.events]
                if event is not buffer.events[0] or any(event.op.block not in blocks for blocks in others):
                    raise self.fault(event.op, f"the address of '%{value.name}' is changed within a region")
        if not buffer.plain and not buffer.bound and value not in self.addresses:
            raise NeedsAddressesError

    def _unused_scratch(self, function: Function) -> set[Value]:
        """Tiles that are nothing but scratch: the synchronous form has none."""
        scratch: set[Value] = set()
        others: set[Value] = set()
        for op in function.walk():
            found = scratch_of(op)
            for at, value in enumerate((*op.inputs, *op.outputs)):
                if not isinstance(value, Value):
                    continue
                root = buffer_root(value)
                if found is not None and at == found[0] and is_instruction(op):
                    scratch.add(root)
                elif op.shape.name not in ("pto.tassign", "pto.alloc_tile"):
                    others.add(root)
        return scratch - others

    # --- Operations --------------------------------------------------------------------------------------------

    def operation(self, op: Operation) -> None:
        name = op.shape.name
        if name == "pto.tassign":
            self._tassign(op)
        elif name == "pto.alloc_tile":
            self._alloc(op)
        elif is_instruction(op) and op not in self.plan.kept and op.shape.output_types:
            self._instruction(op)
        else:
            self.copy(op)

    def value(self, old: Value) -> Value:
        root = buffer_root(old)
        if root in self.plan.buffers:
            return self.current[root]
        return super().value(old)

    def _current_name(self, name: str) -> str:
        """A buffer that nothing has written to yet has no value that could stand for it in a foreign text."""
        value = self.by_name.get(name)
        root = None if value is None else buffer_root(value)
        return name if root in self.plan.buffers and root not in self.current else super()._current_name(name)

    def _alloc(self, op: Operation) -> None:
        value = op.outputs[0]
        if value in self.plan.gone:
            return
        buffer = self.plan.buffers.get(value)
        address = op.operand("addr")
        if buffer is None or buffer.handle:
            copied = self.copy(op)
            made = copied.outputs[0]
            if buffer is not None:
                made.name = self.fresh(value.name)
                self.current[value] = made
            if value in self.addresses:
                self.give_address(copied, self.addresses[value])
        if buffer is not None and address is not None:
            self.bound[value] = address

    def _tassign(self, op: Operation) -> None:
        tile, address = op.inputs[0], op.inputs[1]
        assert isinstance(tile, Value)
        root = buffer_root(tile)
        if root in self.plan.gone:
            return
        if root not in self.plan.buffers:
            self.copy(op)
            return
        self.bound[root] = address
        if root in self.current and op in self.plan.rebound:
            self.add_binding(self.current[root], self._address(address), op)

    def _address(self, address: Value | Literal) -> Value | Literal:
        known = address_of(address)
        return self.operand(address) if known is None else Literal(hex(known))

    def _instruction(self, op: Operation) -> None:
        shape = op.shape
        definition = shape.definition
        assert definition is not None
        names, types = list(shape.input_names), scalar_types(op)
        inputs = [self.operand(v) for v in op.inputs]
        scratch = scratch_of(op)
        if self.form == SYNC and scratch is not None:
            self._note_scratch(op, scratch[1])
            for part in (names, types, inputs):
                del part[scratch[0]]
        elif self.form == SSA and shape.form == SYNC and needs_scratch(op):
            self._add_scratch(op, definition, names, types, inputs)
        named_results = self.results_of(op)
        results = [self._result(op, v) for v in named_results]
        outputs = [v for v, _ in results]
        made = Operation(shape, tuple(inputs), tuple(outputs), self.block, op.start, op.end)
        for value in outputs:
            value.owner = made
        named = [
            (n, v.type if isinstance(v, Value) and isinstance(v.type, TileType) else t)
            for n, t, v in zip(names, types, inputs, strict=True)
        ]
        made.shape = self.instruction_shape(
            shape, self.form, named, zip(shape.output_names, (v.type for v in outputs), strict=True)
        )
        self._check_scalars(op, definition, made)
        self.block.operations.append(made)
        for (value, narrow), old in zip(results, named_results, strict=True):
            if narrow is not None or buffer_root(old) in self.plan.others:
                self._settle(op, old, value if narrow is None else self._part(op, old, value, narrow))

    def _check_scalars(self, op: Operation, definition: Instruction, made: Operation) -> None:
        """The synchronous form writes no type of a scalar: it is the result's element type."""
        if self.form != SYNC:
            return
        element = getattr(made.outputs[0].type, "element", None)
        for operand, type_ in zip(definition.inputs, made.shape.input_types, strict=False):
            if operand.scalar and type_ is not None and type_ is not element:
                raise self.fault(op, f"{operand.name} has type {type_}; the synchronous form takes it as {element}")

    def _add_scratch(
        self,
        op: Operation,
        definition: Instruction,
        names: list[str],
        types: list[Type | None],
        inputs: list[Value | Literal],
    ) -> None:
        type_ = scratch_type(op).with_(kind="tile")
        root = self.function.body
        assert root is not None
        value = Value(self.unused("tmp"), type_, root)
        if self.function.flat and self.block is root:
            self.add_free(value)
        else:
            self.add_alloc(value, [], op)
        at = [o.name for o in definition.inputs].index(definition.scratch)
        names.insert(at, definition.scratch)
        types.insert(at, type_)
        inputs.insert(at, value)

    def _note_scratch(self, op: Operation, value: Value) -> None:
        root = buffer_root(value)
        if root in self._noted:
            return
        self._noted.add(root)
        definition = root.definition
        uses = root.block.function.uses
        bound = any(user.shape.name == "pto.tassign" and at == 0 for user, at in uses.get(root, ()))
        if bound or (definition is not None and definition.operand("addr") is not None):
            self.note(op, f"the synchronous form has no scratch: '%{root.name}' is left out, with its address")
        elif root not in self.plan.gone and isinstance(definition, Operation):
            self.note(op, f"the synchronous form has no scratch: what is left in '%{root.name}' is not said")

    # --- Results -------------------------------------------------------------------------------------------------

    def _result(self, op: Operation, old: Value) -> tuple[Value, TileType | None]:
        """The value that an output becomes, bound to its address where it has to lie somewhere.

        With it comes the type of its valid part, where that is not all of the value.
        """
        root = buffer_root(old)
        assert self.function.body is not None
        if root in self.plan.buffers or root in self.plan.others:
            type_ = self._result_type(op, old)
            if type_ is not None and root in self.plan.buffers:
                return self._version(op, old, type_), None
            whole, part = (type_, None) if type_ is not None else self._whole_and_part(op, old)
            return Value(self.fresh(old.name), whole, self.function.body), part
        known = self.values.get(old)
        made = self.bind(old, Value(old.name, self.type_of(old), op.block)) if known is None else known
        if old in self.addresses:
            self.add_binding(made, Literal(hex(self.addresses[old])), op)
        return made, None

    def _version(self, op: Operation, old: Value, type_: TileType) -> Value:
        """A new version of a buffer."""
        root = buffer_root(old)
        assert self.function.body is not None
        made = Value(self._name(op, old), type_, self.function.body)
        address = self._home(root)
        if address is not None:
            self.add_binding(made, address, op)
        self.current[root] = made
        return made

    def _whole_and_part(self, op: Operation, old: Value) -> tuple[TileType, TileType]:
        """The type of a row of which only the run knows how much is valid: all of it, and the valid part."""
        type_ = old.type
        assert isinstance(type_, TileType)
        type_ = type_.with_(kind="tile")
        if type_.rows != 1 or not isinstance(extents(buffer_root(old))[1], Value):
            raise self.fault(op, f"the valid region of '%{old.name}' is known only at run time; no result says it")
        return type_.with_(valid_rows=1, valid_cols=type_.cols), type_.with_(valid_rows=1, valid_cols=None)

    def _part(self, op: Operation, old: Value, whole: Value, type_: TileType) -> Value:
        """The valid part of a row: a subview that begins where the row begins."""
        _, cols = extents(buffer_root(old))
        assert isinstance(cols, Value)
        zero, one = self.add_constant(0, INDEX, op), self.add_constant(1, INDEX, op)
        shape = part_shape(whole.type, type_)
        made = self.add(shape, [whole, zero, zero, one, self.value(cols)], op)
        made.outputs = (Value(self.fresh(old.name), type_, made),)
        return made.outputs[0]

    def _settle(self, op: Operation, old: Value, value: Value) -> None:
        """Moves what was computed to where it belongs."""
        root = buffer_root(old)
        if root in self.plan.others:
            self.note(op, f"'%{old.name}' is another name of a tile; the result is computed first and moved there")
            target = self.value(old)
            moved = self.add(move_shape(DPS, value.type, target.type), [value], op)
            moved.outputs = (target,)
            return
        self.note(
            op, f"only the run knows how much of '%{old.name}' is valid; the valid part of a whole row is moved there"
        )
        assert isinstance(value.type, TileType)
        version = self._version(op, old, value.type)
        moved = self.add(move_shape(self.form, value.type, version.type), [value], op)
        moved.outputs, version.owner = (version,), moved

    def _name(self, op: Operation, old: Value) -> str:
        """The name of a new version: the buffer's own where nothing that sees it is written later."""
        last = (op, old) in self.plan.last and not self._is_visible(old.name)
        return old.name if last else self.fresh(old.name)

    def _is_visible(self, name: str) -> bool:
        """Whether an argument or input that stays has this name."""
        return name in self.plan.visible

    def _home(self, root: Value) -> Value | Literal | None:
        if root in self.bound:
            return self._address(self.bound[root])
        return Literal(hex(self.addresses[root])) if root in self.addresses else None

    def _result_type(self, op: Operation, value: Value) -> TileType | None:
        """The type of a result that has the valid region of the destination; None where no type says that.

        What a type leaves open, a result takes from the first tile operand (decision D-25).
        """
        type_ = value.type
        assert isinstance(type_, TileType)
        type_ = type_.with_(kind="tile")
        if not type_.is_dynamic:
            return type_
        definition = op.shape.definition
        assert definition is not None
        actual = extents(buffer_root(value))
        if _is_open(value):
            return type_
        rows, cols = (e if isinstance(e, int) else None for e in actual)
        if rows is None and definition.name in ("tcolargmin", "tcolargmax"):
            rows = 1
        type_ = type_.with_(valid_rows=rows, valid_cols=cols)
        given = inferred(op, type_)
        rows_fit = rows is not None or type_.rows == 1 or _same(actual[0], given[0])
        reduces = definition.checked and definition.name != "tci"
        return type_ if rows_fit and (cols is not None or reduces or _same(actual[1], given[1])) else None


def _is_open(value: Value) -> bool:
    """Whether what writes a buffer says how much of it is valid: nothing else does."""
    op = buffer_root(value).definition
    return op is None or (
        op.shape.name == "pto.alloc_tile" and not {"valid_row", "valid_col"} & {*op.shape.input_names}
    )


def _same(a: Extent, b: Extent) -> bool:
    return a is not None and (a is b or a == b)


def _rebound(buffers: dict[Value, Buffer]) -> set[Operation]:
    """The operations that give a buffer a new address when something reads it there before it is written again."""
    found = set()
    for buffer in buffers.values():
        for event, following in zip(buffer.events, buffer.events[1:], strict=False):
            overwritten = following.what == WRITE and following.op.block is event.op.block
            if event.what == BIND and not overwritten:
                found.add(event.op)
    return found


def _last_writes(buffers: dict[Value, Buffer]) -> set[tuple[Operation, Value]]:
    """The writes after which nothing that sees them writes the buffer again: these keep its name."""
    found: set[tuple[Operation, Value]] = set()
    for buffer in buffers.values():
        later: list[list[Block]] = []
        for event in reversed(buffer.events):
            if event.what == WRITE:
                if not any(event.op.block in blocks for blocks in later):
                    found.add((event.op, event.value))
                later.append(chain(event.op))
    return found
