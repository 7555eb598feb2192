"""Copies a module, changing it on the way: what the conversions have in common.

The copy keeps the places of the operations in the source, so that comments and diagnostics still find them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from ptoasm.diagnostics import Diagnostic, PtoError
from ptoasm.dialect import instruction
from ptoasm.dialect.base import Instruction
from ptoasm.ir import DPS, FOREIGN, HOST, SSA, Block, Function, Literal, Module, Operation, Shape, Value
from ptoasm.types import I64, INDEX, ElementType, TileType, Type

_MENTION = re.compile(r"%((?:[\w.$]|-(?!>))+(?:#[0-9]+)?)")


class Rewriter:
    """Copies a module. ``kind`` is the kind that tile types get (``tile``, ``tile_buf``); None leaves them."""

    kind: str | None = None

    def __init__(self, module: Module) -> None:
        self.source = module.source
        self.old = module
        self.module = Module(module.source)
        self.values: dict[Value, Value] = {}
        self.names: set[str] = set()
        self.free: list[Value] = []
        self._numbers: dict[str, int] = {}
        self.by_name: dict[str, Value] = {}
        self.block: Block = Block(Function(self.module))
        self.function: Function = self.block.function
        self._untyped: dict[tuple[Any, ...], Shape] = {}
        self._shapes: dict[tuple[Any, ...], Shape] = {}
        self._constants: dict[Any, Value] = {}
        self.notes: list[Diagnostic] = []

    # --- What a conversion says --------------------------------------------------------------------------

    def fault(self, op: Operation, message: str) -> PtoError:
        """The error that says why an operation cannot be converted."""
        return PtoError([self._diagnostic("error", "CONV-01", op, message)])

    def note(self, op: Operation, message: str) -> None:
        """Says what gets lost, or comes out otherwise than it was written."""
        self.notes.append(self._diagnostic("remark", "CONV-02", op, message))

    def _diagnostic(self, severity: Any, code: str, op: Operation, message: str) -> Diagnostic:
        name = op.block.function.name or None
        return Diagnostic(severity, code, message, self.source, op.span, (), op.shape.short_name, name)

    # --- Structure ---------------------------------------------------------------------------------------

    def run(self) -> Module:
        """The copy."""
        old, new = self.old, self.module
        new.name, new.wrapped, new.span, new.end = old.name, old.wrapped, old.span, old.end
        new.attributes = old.attributes
        for item in old.items:
            if isinstance(item, Function):
                made = self.copy_function(item)
                new.functions.append(made)
                new.items.append(made)
            else:
                new.items.append(item)
        return new

    def copy_function(self, old: Function) -> Function:
        """A copy of one function."""
        new = Function(self.module, old.name, flat=old.flat, start=old.start, end=old.end)
        new.visibility, new.attributes = old.visibility, old.attributes
        new.argument_attributes, new.result_attributes = old.argument_attributes, old.result_attributes
        new.argument_types = tuple(map(self.type, old.argument_types))
        new.result_types = tuple(map(self.type, old.result_types))
        if old.body is None:
            new.body = None
            return new
        assert new.body is not None
        self.function = new
        self.free = []
        self._numbers = {}
        self.by_name = {value.name: value for value in all_values(old)}
        self.names = set(self.by_name)
        self.begin(old, new)
        self.copy_block(old.body, new.body)
        new.body.free = [v for v in self.free if v.owner is new.body] if old.flat else []
        return new

    def begin(self, old: Function, new: Function) -> None:
        """Called before a function's body is copied."""

    def copy_block(self, old: Block, new: Block) -> None:
        """Copies a block's arguments and operations into ``new``."""
        outer, self.block = self.block, new
        new.start, new.end, new.label = old.start, old.end, old.label
        for argument in old.arguments:
            new.arguments.append(self.bind(argument, Value(argument.name, self.type_of(argument), new)))
        for op in old.operations:
            self.operation(op)
        self.block = outer

    def operation(self, op: Operation) -> None:
        """Converts one operation; here it is copied."""
        self.copy(op)

    def copy(self, op: Operation) -> Operation:
        """Adds a copy of an operation to the current block."""
        if op.shape.form == FOREIGN:
            return self._copy_foreign(op)
        inputs = [self.operand(v) for v in op.inputs]
        made = Operation(op.shape, tuple(inputs), (), self.block, op.start, op.end)
        if op.shape.form == DPS:
            made.outputs = tuple([self.value(v) for v in op.outputs])
        else:
            made.outputs = tuple([self.define(v, made) for v in op.outputs])
        made.shape = self.retyped(op.shape, inputs, made.outputs)
        self.block.operations.append(made)
        for region in op.regions:
            block = Block(self.function, made)
            made.regions += (block,)
            self.copy_block(region, block)
        return made

    def _copy_foreign(self, op: Operation) -> Operation:
        text = op.shape.keywords["text"]
        named = _MENTION.sub(lambda m: f"%{self._current_name(m[1])}", text) if "%" in text else text
        shape = op.shape if named == text else Shape(op.shape.name, FOREIGN, keywords={"text": named})
        made = Operation(shape, (), (), self.block, op.start, op.end)
        made.outputs = tuple([self.define(v, made) for v in op.outputs])
        self.block.operations.append(made)
        return made

    def _current_name(self, name: str) -> str:
        value = self.by_name.get(name)
        return name if value is None else self.value(value).name

    # --- Values ------------------------------------------------------------------------------------------

    def operand(self, value: Value | Literal) -> Value | Literal:
        """What stands for an operand in the copy."""
        return self.value(value) if isinstance(value, Value) else value

    def value(self, old: Value) -> Value:
        """What stands for a value in the copy; one that is named before its definition is made now."""
        found = self.values.get(old)
        if found is None:
            root = self.function.body
            assert root is not None
            found = self.bind(old, self.add_free(Value(old.name, self.type_of(old), root)))
        return found

    def add_free(self, value: Value) -> Value:
        """Takes note of a value that, in a flat program, nothing may come to define."""
        self.free.append(value)
        return value

    def bind(self, old: Value, new: Value) -> Value:
        """Lets ``new`` stand for ``old``."""
        self.values[old] = new
        return new

    def define(self, old: Value, op: Operation) -> Value:
        """The result of the copy that stands for the old result."""
        found = self.values.get(old)
        if found is None or found.owner is not self.function.body:
            found = self.bind(old, Value(old.name, self.type_of(old), op))
        found.owner = op
        return found

    def results_of(self, op: Operation) -> list[Value]:
        """What an operation defines or writes to; results that nobody uses may have no names, here they get some."""
        shape = op.shape
        missing = zip(shape.output_names[len(op.outputs) :], shape.output_types[len(op.outputs) :], strict=False)
        return [*op.outputs, *(Value(self.unused(name), type_, op) for name, type_ in missing)]

    def fresh(self, stem: str) -> str:
        """A name that nothing in the function has: ``stem.1``, ``stem.2``, …"""
        stem = stem.replace("#", ".")
        number = self._numbers.get(stem, 1)
        while (name := f"{stem}.{number}") in self.names:
            number += 1
        self._numbers[stem] = number
        self.names.add(name)
        return name

    def unused(self, name: str) -> str:
        """The name itself where nothing has it yet, else a fresh one."""
        if name in self.names:
            return self.fresh(name)
        self.names.add(name)
        return name

    # --- Types and shapes ---------------------------------------------------------------------------------

    def type(self, type_: Type) -> Type:
        """A type with the kind that tiles have in the copy."""
        if self.kind is not None and isinstance(type_, TileType) and type_.kind != self.kind:
            return type_.with_(kind=self.kind)
        return type_

    def type_of(self, old: Value) -> Type | None:
        """The type of the copy of a value."""
        return None if old.type is None else self.type(old.type)

    def retyped(self, shape: Shape, inputs: Sequence[Value | Literal], outputs: Sequence[Value]) -> Shape:
        """The shape with the types that the values have now."""
        n = len(shape.input_types)
        values = [*zip(shape.input_types, inputs, strict=True), *zip(shape.output_types, outputs, strict=False)]
        after = tuple(_type_now(t, v) for t, v in values)
        after += tuple(None if t is None else self.type(t) for t in shape.output_types[len(outputs) :])
        if after == (*shape.input_types, *shape.output_types):
            return shape
        return self._with_types(shape, after[:n], after[n:])

    def instruction_shape(
        self,
        like: Shape,
        form: str,
        inputs: Iterable[tuple[str, Type | None]],
        outputs: Iterable[tuple[str, Type | None]],
    ) -> Shape:
        """The shape of an instruction in another form; operands and results as (name, type)."""
        given, made = [*zip(*inputs, strict=True)] or [(), ()], [*zip(*outputs, strict=True)] or [(), ()]
        key = (like.name, form, given[0], made[0], like.keywords.get("literals"), *like.attributes.items())
        untyped = self._untyped.get(key)
        if untyped is None:
            untyped = self._untyped[key] = Shape(
                like.name,
                form,
                attributes=like.attributes,
                definition=like.definition,
                input_names=given[0],
                output_names=made[0],
            )
        return self._with_types(untyped, given[1], made[1])

    def _with_types(self, like: Shape, inputs: tuple[Type | None, ...], outputs: tuple[Type | None, ...]) -> Shape:
        """The shape that differs only in its types, one for each."""
        key = (like, inputs, outputs)
        found = self._shapes.get(key)
        if found is None:
            found = self._shapes[key] = like.with_types(inputs, outputs)
        return found

    # --- New operations -----------------------------------------------------------------------------------

    def add(self, shape: Shape, inputs: list[Value | Literal], like: Operation) -> Operation:
        """Adds an operation without results to the current block, at the place of ``like``."""
        made = Operation(shape, tuple(inputs), (), self.block, like.start, like.start)
        self.block.operations.append(made)
        return made

    def add_alloc(self, value: Value, operands: Sequence[tuple[str, Value]], like: Operation) -> Operation:
        """Adds the ``alloc_tile`` that defines ``value``."""
        made = self.add(alloc_shape(value.type, tuple(name for name, _ in operands)), [v for _, v in operands], like)
        made.outputs = (value,)
        value.owner = made
        return made

    def give_address(self, op: Operation, address: int) -> None:
        """Has an ``alloc_tile`` of the current block, the last operation, say where its tile lies."""
        self.block.operations.pop()
        value = self.add_constant(address, I64, op)
        allocate_at(op, value)
        self.block.operations.append(op)

    def add_constant(self, number: int, type_: ElementType, like: Operation) -> Value:
        """The value of an ``arith.constant``, one for each number and block."""
        key = (self.block, number, type_)
        found = self._constants.get(key)
        if found is None:
            made = self.add(constant_shape(type_), [Literal(str(number))], like)
            found = self._constants[key] = Value(self.unused(f"c{number}"), type_, made)
            made.outputs = (found,)
        return found

    def add_binding(self, value: Value, address: Value | Literal, like: Operation) -> Operation:
        """Adds ``pto.tassign %value, @tile(address)``."""
        return self.add(binding_shape(), [value, address], like)


def _type_now(written: Type | None, value: Value | Literal) -> Type | None:
    if isinstance(written, TileType) and isinstance(value, Value):
        return value.type
    return written


def all_values(function: Function) -> Iterable[Value]:
    """Every value of a function, some of them more than once."""
    yield from function.arguments
    for op in function.walk():
        yield from op.outputs
        yield from (v for v in op.inputs if isinstance(v, Value))
        for region in op.regions:
            yield from region.arguments


@cache
def alloc_shape(type_: Type | None, names: tuple[str, ...]) -> Shape:
    """The shape of an ``alloc_tile`` with these operands."""
    types = tuple(I64 if name == "addr" else INDEX for name in names)
    return Shape("pto.alloc_tile", HOST, types, (type_,), input_names=names)


@cache
def binding_shape() -> Shape:
    """The shape of ``pto.tassign %x, @tile(…)``."""
    names = ("tile", "address")
    return Shape(
        "pto.tassign",
        SSA,
        (None, None),
        (),
        definition=instruction("tassign"),
        input_names=names,
        keywords={"at": True},
    )


def allocate_at(op: Operation, address: Value) -> None:
    """Gives an ``alloc_tile`` an address operand."""
    shape = op.shape
    op.inputs = (address, *op.inputs)
    op.shape = Shape(
        shape.name,
        HOST,
        (I64, *shape.input_types),
        shape.output_types,
        shape.attributes,
        input_names=("addr", *shape.input_names),
    )


@cache
def move_shape(form: str, source: Type | None, target: Type | None) -> Shape:
    """The shape of ``tmov``."""
    definition = instruction("tmov")
    return Shape(
        "pto.tmov", form, (source,), (target,), definition=definition, input_names=("src",), output_names=("dst",)
    )


@cache
def part_shape(whole: Type | None, part: TileType) -> Shape:
    """The shape of a ``subview`` of two offsets and two valid extents."""
    names = ("source", "offset", "offset", "valid", "valid")
    sizes = {"sizes": (part.rows, part.cols)}
    return Shape("pto.subview", HOST, (whole, *(INDEX,) * 4), (part,), input_names=names, keywords=sizes)


@cache
def constant_shape(type_: ElementType) -> Shape:
    """The shape of ``arith.constant``."""
    return Shape("arith.constant", HOST, (None,), (type_,), input_names=("value",))


def is_instruction(op: Operation) -> bool:
    """Whether it is a tile instruction that takes part in conversions (``tassign`` only binds)."""
    shape = op.shape
    return shape.definition is not None and shape.form != FOREIGN and shape.name != "pto.tassign"


def tile_outputs(op: Operation) -> list[Value]:
    """The tiles that an instruction writes."""
    return [v for v in op.outputs if isinstance(v.type, TileType)]


def scratch_of(op: Operation) -> tuple[int, Value] | None:
    """The position and the value of an instruction's scratch operand."""
    definition: Instruction | None = op.shape.definition
    if definition is None or definition.scratch not in op.shape.input_names:
        return None
    at = op.shape.input_names.index(definition.scratch)
    value = op.inputs[at]
    return (at, value) if isinstance(value, Value) else None
