"""The machine: runs a function on the simulated UB.

Tiles are places in memory, so two names at one address see each other's data. An instruction reads all its inputs, then
its scratch is overwritten, then its outputs are written (decision D-12). Before it touches memory, the rules that the
text left open are asked with the values of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ptoasm.diagnostics import Diagnostic, Note
from ptoasm.dialect.base import UNUSED, Instance, Instruction, Rule, Scalar, Tile
from ptoasm.dialect.common import ADDRESS_RULES, HAZARD_RULES, INIT, Address, Unwritten
from ptoasm.interpreter.dtypes import dtype_of
from ptoasm.interpreter.kernels import Array, Call, Kernel, Spec, lookup
from ptoasm.interpreter.memory import Memory
from ptoasm.ir import DPS, FOREIGN, Block, Function, Literal, Module, Operation, Value
from ptoasm.numbers import literal_number
from ptoasm.placement import Placement, place, root
from ptoasm.places import Places
from ptoasm.source import Span
from ptoasm.targets import Target
from ptoasm.types import ElementType, TileType
from ptoasm.verifier import Verdict, ask, attribute_values, broken, judge, operand_regions, scalar_type

DEFAULT_STEPS = 10_000_000


class RunFault(Exception):
    """A run that cannot go on; ``diagnostic`` says why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class TileRef:
    """A tile of a run: where it lies and how much of it is valid.

    ``storage`` is the type whose strides it has (a subview has its parent's), ``memory`` the UB or, for a tile that is
    not in the UB, a memory of its own. ``views`` caches its views by address and extent.
    """

    __slots__ = ("address", "cols", "memory", "rows", "storage", "type", "value", "views")

    def __init__(
        self,
        value: Value,
        type_: TileType,
        memory: Memory,
        address: int,
        rows: int,
        cols: int,
        storage: TileType | None = None,
    ) -> None:
        self.value = value
        self.type = type_
        self.memory = memory
        self.address = address
        self.rows = rows
        self.cols = cols
        self.storage = storage or type_
        self.views: dict[tuple[int, int, int], tuple[Array, Array]] = {}

    def view(self, rows: int, cols: int) -> tuple[Array, Array]:
        """The first ``rows`` x ``cols`` elements, and who wrote their bytes. ValueError outside of the memory."""
        key = (self.address, rows, cols)
        found = self.views.get(key)
        if found is None:
            storage = self.storage
            dtype = dtype_of(storage.element)
            assert dtype is not None
            at = (self.address, dtype, storage.rows, storage.cols, rows, cols, storage.blayout == "col_major")
            found = self.views[key] = (self.memory.view(*at), self.memory.bytes_view(*at))
        return found

    def first_unwritten(self, rows: int, cols: int) -> tuple[int, int]:
        """The offset of the first unwritten byte from the tile's address, and how many there are."""
        storage = self.storage
        dtype = dtype_of(storage.element)
        assert dtype is not None
        col_major = storage.blayout == "col_major"
        found = self.memory.first_unwritten(self.address, dtype, storage.rows, storage.cols, rows, cols, col_major)
        return found or (0, 0)


class Write(NamedTuple):
    """A write to a tile: which value, how many rows and columns, and the bytes' writers then."""

    value: Value
    rows: int
    cols: int
    writers: Array


class Step(NamedTuple):
    """What one instruction did, for ``trace`` and for replaying: kernel, views and scratch."""

    op: Operation
    kernel: Kernel
    inputs: tuple[Any, ...]
    scalars: tuple[tuple[int, Value], ...]
    outputs: tuple[Array, ...]
    scratch: tuple[Array, ...]
    refs: tuple[TileRef, ...]
    written: tuple[Array, ...]


Supply = Callable[[Value, TileRef], bool]
"""Puts data into a tile that the program reads before it writes it; False where nobody has any."""


class Machine:
    """Runs one function of a module once.

    ``env`` holds what the values stand for: a TileRef, a number, or what a host operation makes. ``supply`` is asked
    for the data of a tile that is read before anything wrote to it. ``on_step`` is called after each instruction.
    """

    def __init__(
        self,
        module: Module,
        function: Function,
        target: Target,
        *,
        ub_size: int,
        keep: Sequence[Value] = (),
        max_steps: int = DEFAULT_STEPS,
        supply: Supply | None = None,
    ) -> None:
        self.module = module
        self.function = function
        self.target = target
        self.memory = Memory(ub_size)
        self.placement: Placement = place(function, ub_size, keep)
        self.env: dict[Value, Any] = {}
        self.places = Places(module)
        self.diagnostics: list[Diagnostic] = []
        self.max_steps = max_steps
        self.steps = 0
        self.block_index = 0
        self.block_count = 1
        self.events: list[Write | None] = [None]
        self.last_write: dict[Value, int] = {}
        self.instruction_writes: set[Value] = set()
        self.supply = supply
        self.on_step: Callable[[Step], None] | None = None
        self._kernels: dict[tuple[Any, ...], Kernel] = {}
        self._reported: set[tuple[str, int]] = set()
        self._calls: list[str] = []

    # --- Diagnostics

    def fault(self, code: str, message: str, op: Operation | None, span: Span | None = None, *notes: Note) -> RunFault:
        """The exception for a run that cannot go on here."""
        if span is None and op is not None:
            span = self.places.name(op)
        return RunFault(
            Diagnostic(
                "error",
                code,
                message,
                self.module.source,
                span,
                notes,
                op.shape.short_name if op is not None else None,
                self._function_name(op),
            )
        )

    def _function_name(self, op: Operation | None) -> str | None:
        return (op.block.function.name if op is not None else self.function.name) or None

    def remark_once(self, severity: Any, code: str, message: str, op: Operation, at: str, *notes: Note) -> None:
        """A warning or remark about an operation, once however often it runs."""
        if (code, op.start) not in self._reported:
            self._reported.add((code, op.start))
            span = self.places.operand(op, at)
            name = op.shape.short_name
            self.diagnostics.append(
                Diagnostic(severity, code, message, self.module.source, span, notes, name, self._function_name(op))
            )

    # --- Values

    def number(self, operand: Value | Literal, type_: Any = None) -> Any:
        """What a scalar operand is: an int, or a float that its type can hold."""
        if isinstance(operand, Literal):
            return literal_number(operand.text, type_) if isinstance(type_, ElementType) else int(operand.text, 0)
        return self.env[operand]

    def tile(self, value: Value) -> TileRef:
        """The tile that a value names; one that nothing has made yet gets its place now."""
        found = self.env.get(value)
        if found is None:
            found = self.env[value] = self.new_tile(value)
        assert isinstance(found, TileRef)
        return found

    def new_tile(
        self, value: Value, address: int | None = None, rows: int | None = None, cols: int | None = None
    ) -> TileRef:
        """A tile at ``address`` (bytes), else where the placement put it; extents default to the type's."""
        type_ = value.type
        assert isinstance(type_, TileType)
        if rows is None:
            rows = type_.rows if type_.valid_rows is None else type_.valid_rows
        if cols is None:
            cols = type_.cols if type_.valid_cols is None else type_.valid_cols
        memory = self.memory
        if type_.loc != "vec":
            memory, address = Memory(max(type_.size, 1)), 0
        elif address is None:
            address = self.placement.addresses.get(root(value), 0)
        return TileRef(value, type_, memory, address, rows, cols)

    def event(self, write: Write) -> int:
        """Marks bytes as written; gives the event's number."""
        number = len(self.events)
        self.events.append(write)
        write.writers[...] = number
        self.last_write[write.value] = number
        return number

    def is_intact(self, value: Value) -> bool:
        """Whether the bytes of the value's last write are still there (decision D-21)."""
        number = self.last_write.get(value)
        if number is None:
            return False
        write = self.events[number]
        return write is not None and bool((write.writers == number).all())

    # --- Control

    def run(self) -> list[Any]:
        """Runs the function; gives what it returns."""
        assert self.function.body is not None
        return self.run_block(self.function.body)

    def run_block(self, block: Block) -> list[Any]:
        """Runs a block's operations; gives the operands of its terminator."""
        handlers = _handlers()
        for op in block.operations:
            self.steps += 1
            if self.steps > self.max_steps:
                raise self.fault("RUN-07", f"the run has executed {self.max_steps} statements (--max-steps)", op)
            handler = handlers.get(op.shape.name)
            if handler is not None:
                result = handler(self, op)
                if result is not None:
                    return result
            elif op.shape.definition is not None and op.shape.form != FOREIGN:
                self.instruction(op)
            else:
                raise self.fault("RUN-05", f"'{op.shape.name}' is an operation that cannot be run", op)
        return []

    # --- Instructions

    def instruction(self, op: Operation) -> None:
        """Executes a tile instruction."""
        definition = op.shape.definition
        assert definition is not None
        plan = lookup(definition.name)
        if plan is None:
            raise self.fault("RUN-05", f"'{op.shape.name}' is an instruction that cannot be run", op)
        refs = self._refs(op)
        for value in op.inputs:
            if isinstance(value, Value) and isinstance(value.type, TileType):
                self._supply(op, definition, value, refs)
        instance = self._instance(op, definition, refs)
        if definition.checked:
            self._check(op, definition, instance, refs)
        self._execute(op, definition, instance, refs, plan)

    def _refs(self, op: Operation) -> dict[str, TileRef]:
        refs = {}
        shape = op.shape
        for name, value in (
            *zip(shape.input_names, op.inputs, strict=False),
            *zip(shape.output_names, op.outputs, strict=False),
        ):
            if isinstance(value, Value) and isinstance(value.type, TileType):
                if value.type.is_dynamic and shape.form != DPS and value.owner is op:
                    self.env.setdefault(value, self._result_tile(op, value))
                refs[name] = self.tile(value)
        return refs

    def _result_tile(self, op: Operation, value: Value) -> TileRef:
        """A result whose type leaves its extent open gets that of the first tile operand (decision D-25)."""
        type_ = value.type
        assert isinstance(type_, TileType)
        source = next((self.tile(v) for v in op.inputs if isinstance(v, Value) and isinstance(v.type, TileType)), None)
        reduces = type_.rows == 1
        rows = type_.valid_rows if type_.valid_rows is not None else 1 if reduces or source is None else source.rows
        cols = type_.valid_cols if type_.valid_cols is not None else type_.cols if source is None else source.cols
        return self.new_tile(value, None, rows, cols)

    def _supply(self, op: Operation, definition: Instruction, value: Value, refs: dict[str, TileRef]) -> None:
        """A tile that the program reads before it writes it gets its data now."""
        name = next(n for n, v in zip(op.shape.input_names, op.inputs, strict=False) if v is value)
        ref = refs[name]
        if name == definition.scratch or self.supply is None or ref.value in self.instruction_writes:
            return
        self.supply(ref.value, ref)

    def _instance(self, op: Operation, definition: Instruction, refs: dict[str, TileRef]) -> Instance:
        verdict = judge(op.shape, self.target)
        tiles = {name: Tile(ref.type, ref.rows, ref.cols) for name, ref in refs.items()}
        scalars: dict[str, Scalar] = {}
        for name, type_, value in zip(op.shape.input_names, op.shape.input_types, op.inputs, strict=False):
            if name not in tiles:
                scalars[name] = Scalar(type_, None)
                if verdict.instance is not None:
                    scalars[name] = Scalar(type_, self.number(value, scalar_type(verdict.instance, name)))
                elif type_ is not None:
                    scalars[name] = Scalar(type_, self.number(value, type_))
        values = attribute_values(op.shape, definition)
        return Instance(definition, op.shape.form, self.target, tiles, scalars, values)

    def _check(self, op: Operation, definition: Instruction, instance: Instance, refs: dict[str, TileRef]) -> None:
        """Asks the rules that the text left open, and whether the operands overlap."""
        verdict = judge(op.shape, self.target)
        individual = [rule for rule in verdict.individual if rule not in HAZARD_RULES]
        if verdict.open or individual:
            known = {rule.id for rule, _ in verdict.broken}
            for rule, answer in ask(definition.rules, instance):
                if answer is False and rule.id not in known:
                    self._broken(op, rule, instance)
        if len(refs) > 1:
            addresses: dict[str, int | None] = {n: r.address for n, r in refs.items() if r.memory is self.memory}
            placed = Instance(
                definition,
                instance.form,
                instance.target,
                instance.tiles,
                instance.scalars,
                instance.attributes,
                operand_regions(instance, addresses),
            )
            for rule in HAZARD_RULES:
                if rule.holds(placed) is False:
                    self._broken(op, rule, placed)

    def _broken(self, op: Operation, rule: Rule, instance: Instance) -> None:
        if (rule.id, op.start) in self._reported:
            return
        self._reported.add((rule.id, op.start))
        diagnostic = broken(self.places, op, rule, instance)
        if rule.severity == "error":
            raise RunFault(diagnostic)
        self.diagnostics.append(diagnostic)

    def _execute(
        self, op: Operation, definition: Instruction, instance: Instance, refs: dict[str, TileRef], plan: Any
    ) -> None:
        extents = {o.name: definition.written(instance, o.name) for o in definition.outputs if o.name in refs}
        if all(0 in extent for extent in extents.values()):
            return
        inputs, scalars, specs = self._inputs(op, definition, instance, refs)
        outputs = [(refs[n], *extent) for n, extent in extents.items()]
        named = dict(zip(op.shape.output_names, op.outputs, strict=False))
        out_specs = []
        for ref, rows, cols in outputs:
            dtype = dtype_of(ref.type.element)
            if dtype is None:
                raise self.fault("RUN-05", f"elements of type {ref.type.element} cannot be computed with", op)
            out_specs.append(Spec(dtype, rows, cols))
        kernel = self._kernel(op, plan, instance, tuple(specs), tuple(out_specs))
        scratch = self._scratch(definition, instance, refs)
        try:
            views = [ref.view(rows, cols) for ref, rows, cols in outputs]
        except ValueError as error:
            raise self.fault("RUN-11", str(error), op) from None
        results = kernel(*inputs)
        for region in scratch:
            region[...] = FILL_BYTE
        self._mark_scratch(definition, instance, refs)
        for name, (ref, rows, cols), (view, writers), result in zip(extents, outputs, views, results, strict=True):
            view[...] = result
            self.event(Write(named[name], rows, cols, writers))
            self.instruction_writes.add(ref.value)
        self._remark_nan(op, definition, inputs)
        if self.on_step is not None:
            self.on_step(
                Step(
                    op,
                    kernel,
                    tuple(inputs),
                    tuple(scalars),
                    tuple(view for view, _ in views),
                    tuple(scratch),
                    tuple(ref for ref, _, _ in outputs),
                    tuple(writers for _, writers in views),
                )
            )

    def _inputs(
        self, op: Operation, definition: Instruction, instance: Instance, refs: dict[str, TileRef]
    ) -> tuple[list[Any], list[tuple[int, Value]], list[Spec]]:
        """The kernel's inputs: views of the tiles, numbers of their types; checks that all bytes were written."""
        inputs: list[Any] = []
        scalars: list[tuple[int, Value]] = []
        specs: list[Spec] = []
        for name, value in zip(op.shape.input_names, op.inputs, strict=False):
            if name == definition.scratch:
                continue
            if name in refs:
                ref = refs[name]
                dtype = dtype_of(ref.type.element)
                if dtype is None:
                    raise self.fault("RUN-05", f"elements of type {ref.type.element} cannot be computed with", op)
                try:
                    view, writers = ref.view(ref.rows, ref.cols)
                except ValueError as error:
                    raise self.fault("RUN-11", str(error), op) from None
                if not writers.all():
                    offset, missing = ref.first_unwritten(ref.rows, ref.cols)
                    subject = Unwritten(f"%{ref.value.name}", offset, missing)
                    self.remark_once(
                        INIT.severity, INIT.id, INIT.message(subject), op, name, Note(f"{INIT.page}: {INIT.text}")
                    )
                inputs.append(view)
                specs.append(Spec(dtype, ref.rows, ref.cols))
                continue
            element = self._scalar_element(instance, name)
            dtype = dtype_of(element)
            assert dtype is not None
            if isinstance(value, Value):
                scalars.append((len(inputs), value))
            inputs.append(dtype.type(instance.scalars[name].value))
            specs.append(Spec(dtype, 1, 1))
        return inputs, scalars, specs

    @staticmethod
    def _scalar_element(instance: Instance, name: str) -> ElementType:
        type_ = scalar_type(instance, name)
        assert isinstance(type_, ElementType)
        return type_

    def _kernel(
        self, op: Operation, plan: Any, instance: Instance, inputs: tuple[Spec, ...], outputs: tuple[Spec, ...]
    ) -> Kernel:
        key = (op.shape, inputs, outputs)
        kernel = self._kernels.get(key)
        if kernel is None:
            call = Call(self.target.name, _attributes(op, instance), inputs, outputs)
            kernel = self._kernels[key] = plan(call)
        return kernel

    def _scratch(self, definition: Instruction, instance: Instance, refs: dict[str, TileRef]) -> list[Array]:
        """The bytes of scratch that the target uses, as views of the UB."""
        return [data for data, _ in self._scratch_views(definition, instance, refs)]

    def _mark_scratch(self, definition: Instruction, instance: Instance, refs: dict[str, TileRef]) -> None:
        for _, writers in self._scratch_views(definition, instance, refs):
            writers[...] = 0

    def _scratch_views(
        self, definition: Instruction, instance: Instance, refs: dict[str, TileRef]
    ) -> list[tuple[Array, Array]]:
        ref = refs.get(definition.scratch)
        if ref is None or ref.memory is not self.memory:
            return []
        used = definition.scratch_use(instance)
        if used is None or used == UNUSED:
            return []
        rows, run = used
        if rows == 1:
            size = min(run, ref.type.size)
            at = (ref.address, _BYTE, 1, size, 1, size)
        else:
            stride = ref.type.cols * ref.type.element.size
            at = (ref.address, _BYTE, ref.type.rows, stride, min(rows, ref.type.rows), min(run, stride))
        return [(self.memory.view(*at), self.memory.bytes_view(*at))]

    def _remark_nan(self, op: Operation, definition: Instruction, inputs: Sequence[Any]) -> None:
        """Says once that an argmin met a NaN (decision D-02)."""
        if definition.name not in ("tcolargmin", "tcolargmax") or inputs[0].dtype.kind not in "fV":
            return
        columns = int(np.isnan(inputs[0].astype(np.float32, copy=False)).any(axis=0).sum())
        if columns:
            message = f"{columns} {'column has' if columns == 1 else 'columns have'} a NaN; it counts as the minimum"
            self.remark_once("remark", "NAN-01", message, op, "src")

    # --- Addresses

    def check_address(self, op: Operation, type_: TileType, address: int) -> None:
        """Asks the ADDR rules about an address that only the run knows."""
        if type_.loc != "vec":
            return
        subject = Address(type_, address, self.memory.size, self.target)
        for rule in sorted(ADDRESS_RULES, key=lambda r: len(r.after)):
            if not rule.holds(subject):
                raise self.fault(rule.id, rule.message(subject), op, self.places.address(op))


_BYTE = np.dtype(np.uint8)
FILL_BYTE = 0xCD


def _attributes(op: Operation, instance: Instance) -> dict[str, Any]:
    """The attributes for a kernel: the declared ones, and the text of the others."""
    return {**op.shape.attributes, **instance.attributes}


Handler = Callable[[Machine, Operation], "list[Any] | None"]
"""Executes a host operation. A terminator gives the operands that its block ends with, the others None."""

_table: dict[str, Handler] = {}


def _handlers() -> dict[str, Handler]:
    if not _table:
        from ptoasm.interpreter.host import HANDLERS

        _table.update(HANDLERS)
    return _table


def verdict_of(op: Operation, target: Target) -> Verdict:
    """What the rules say about an operation's shape."""
    return judge(op.shape, target)
