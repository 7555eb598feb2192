"""The machine: runs a function on the simulated UB.

Tiles are places in memory, so two names at one address see each other's data. An instruction reads all its inputs, then
its scratch is overwritten, then its outputs are written (decision D-12). Before it touches memory, the rules that the
text left open are asked with the values of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ptoasm.diagnostics import Diagnostic, Note
from ptoasm.dialect.base import Instance, Rule, count
from ptoasm.dialect.common import ADDRESS_RULES, INIT, PLACE, Address, Unwritten
from ptoasm.dialect.host import NO_EFFECT
from ptoasm.findings import broken
from ptoasm.interpreter.kernels import Array, Kernel
from ptoasm.interpreter.memory import Memory
from ptoasm.interpreter.steps import CannotRun, Kernels, Step, nan_columns, operand_values, resolve, settle_open
from ptoasm.interpreter.tiles import Place, TileRef, Views
from ptoasm.ir import FOREIGN, Block, Function, Literal, Module, Operation, Shape, Value
from ptoasm.numbers import integer, literal_number
from ptoasm.placement import Placement, root
from ptoasm.placement import place as place_tiles
from ptoasm.places import Places
from ptoasm.source import Span
from ptoasm.targets import Target
from ptoasm.types import ElementType, TileType
from ptoasm.verifier import ask

DEFAULT_STEPS = 10_000_000


class RunFault(Exception):
    """A run that cannot go on; ``diagnostic`` says why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Written(NamedTuple):
    """A write to a tile: the number of the event, the bytes that were written, and the tile's valid region then."""

    number: int
    place: Place
    valid: Place

    @property
    def output(self) -> Place:
        """The valid region; of a sequence, what was written, whatever its valid rows say (decision D-06)."""
        rows, cols = max(self.valid.rows, self.place.rows), max(self.valid.cols, self.place.cols)
        return self.valid._replace(rows=rows, cols=cols)


Supply = Callable[[TileRef], None]
"""Puts data into a tile, a whole one, that an instruction is about to read, where the tile is an input."""


class Machine:
    """Runs one function of a module once.

    ``env`` holds what the values stand for: a TileRef, a number, or what a host operation makes. ``supply`` is asked
    for the data of each tile before it is read. ``on_step`` is called after each instruction.
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
        self.placement: Placement = place_tiles(function, ub_size, keep)
        self.env: dict[Value, Any] = {}
        self.places = Places(module)
        self.diagnostics: list[Diagnostic] = []
        self.max_steps = max_steps
        self.steps = 0
        self.block_index = 0
        self.block_count = 1
        self.events = 0
        self.last_write: dict[Value, Written] = {}
        self.touched: set[Value] = set()
        self.supply = supply
        self.on_step: Callable[[Step], None] | None = None
        self._steps: dict[tuple[Any, ...], Step | None] = {}
        self._kernels: Kernels = {}
        self._reported: set[tuple[str, int]] = set()
        self.subblock_count = 1
        self.functions: dict[Shape, Callable[..., Any]] = {}
        self.calls: list[Function] = [function]
        self.entered: dict[Function, int] = {}
        if not PLACE.holds(self.placement):
            op = self.placement.unplaced[0].op
            raise self.fault(PLACE.id, PLACE.message(self.placement), op)

    def clear(self) -> None:
        """Back to a new UB, in which nothing has been placed or written."""
        self.memory.reset()
        self.env.clear()
        self.last_write.clear()
        self.touched.clear()
        self.events = 0

    def restart(self) -> None:
        """Back to the beginning, for another run of the same function."""
        self.clear()
        self.steps = 0
        self.diagnostics = []
        self._reported.clear()

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

    def remark(self, op: Operation, message: str, at: str) -> None:
        """What a program says while it runs, each time that it does."""
        span, name = self.places.operand(op, at), op.shape.short_name
        self.diagnostics.append(
            Diagnostic("remark", "RUN-13", message, self.module.source, span, (), name, self._function_name(op))
        )

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
            return literal_number(operand.text, type_) if isinstance(type_, ElementType) else integer(operand.text)
        return self.env[operand]

    def operands(self, op: Operation) -> list[Any]:
        """What an operation's operands are: numbers, tiles, and what host operations make."""
        env = self.env
        return [env[v] if v in env else self._operand(op, at, v) for at, v in enumerate(op.inputs)]  # type: ignore[index]

    def _operand(self, op: Operation, at: int, operand: Value | Literal) -> Any:
        """An operand that nothing has made: a literal, or a tile."""
        if isinstance(operand, Literal):
            return self.number(operand, op.shape.input_types[at])
        if isinstance(operand.type, TileType):
            return self.tile(operand)
        raise self.fault("RUN-05", f"'%{operand.name}' has no value here", op, self.places.nth(op, at))

    def tile(self, value: Value) -> TileRef:
        """The tile that a value names; one that nothing has made yet gets its place now."""
        found = self.env.get(value)
        if found is None and isinstance(value.type, TileType):
            found = self.env[value] = self.new_tile(value)
        if not isinstance(found, TileRef):
            raise self.fault("RUN-05", f"'%{value.name}' is no tile", value.definition)
        return found

    def new_tile(
        self, value: Value, address: int | None = None, rows: int | None = None, cols: int | None = None
    ) -> TileRef:
        """A tile at ``address`` (bytes), else where the placement put it; extents default to the type's."""
        type_ = value.type
        assert isinstance(type_, TileType)
        is_open = (rows is None and type_.valid_rows is None) or (cols is None and type_.valid_cols is None)
        if rows is None:
            rows = type_.rows if type_.valid_rows is None else type_.valid_rows
        if cols is None:
            cols = type_.cols if type_.valid_cols is None else type_.valid_cols
        memory = self.memory
        if type_.loc != "vec":
            memory, address = Memory(max(type_.size, 1)), 0
        elif address is None:
            address = self.placement.addresses.get(root(value), 0)
        ref = TileRef(value, type_, memory, address, rows, cols)
        ref.open = is_open
        return ref

    # --- Memory

    def mark(self, value: Value, place: Place, valid: Place) -> int:
        """Remembers that the elements at a place were written under a value's name; gives the event's number.

        ``valid`` is the valid region of the tile then.
        """
        self.events += 1
        self.last_write[value] = Written(self.events, place, valid)
        place.views().writers[...] = self.events
        return self.events

    def is_intact(self, value: Value) -> bool:
        """Whether the bytes of the value's last write are still there (decision D-21)."""
        written = self.last_write.get(value)
        return written is not None and bool((written.place.views().writers == written.number).all())

    def read(self, op: Operation, name: str, ref: TileRef, rows: int | None = None, cols: int | None = None) -> Array:
        """The valid region of an operand, or its first ``rows`` x ``cols`` elements, for an operation to read."""
        if self.supply is not None:
            self.supply(ref.whole)
        place = ref.place(rows, cols)
        data = self._views(op, place).data
        self._check_written(op, name, place)
        return data

    def write(self, op: Operation, value: Value, ref: TileRef, array: Array) -> Place:
        """Writes an array to the first elements of an operation's output."""
        place = ref.place(*array.shape)
        self._views(op, place).data[...] = array
        self.mark(value, place, ref.place())
        self.touched.add(ref.whole.value)
        return place

    def moved(
        self,
        op: Operation,
        refs: dict[str, TileRef],
        views: dict[str, Any],
        kernel: Kernel,
        inputs: tuple[Array, ...],
        to: Array,
    ) -> None:
        """Tells who listens that an operation moved data between a tile and a view of global memory.

        What is at ``to`` is what the kernel makes of the inputs.
        """
        if self.on_step is not None:
            self.on_step(Step.moving(op, self.target, refs, views, kernel, inputs, to))

    def _views(self, op: Operation, place: Place) -> Views:
        try:
            return place.views()
        except ValueError as error:
            raise self.fault("RUN-11", str(error), op) from None

    def _check_written(self, op: Operation, name: str, place: Place) -> None:
        """INIT-01"""
        if not place.views().written:
            offset, missing = place.first_unwritten()
            value = op.operand(name)
            subject = Unwritten(f"%{value.name if isinstance(value, Value) else value}", offset, missing)
            if INIT.holds(subject):
                return
            note = Note(f"{INIT.page}: {INIT.text}")
            self.remark_once(INIT.severity, INIT.id, INIT.message(subject), op, name, note)

    # --- Control

    def run(self) -> list[Any]:
        """Runs the function; gives what it returns."""
        assert self.function.body is not None
        return self.run_block(self.function.body)

    def count(self, op: Operation) -> None:
        """One more statement, or turn of a loop, is executed."""
        self.steps += 1
        if self.steps > self.max_steps:
            limit = count(self.max_steps, "statement")
            raise self.fault("RUN-07", f"the run has executed {limit} (--max-steps)", op)

    def run_block(self, block: Block) -> list[Any]:
        """Runs a block's operations; gives the operands of its terminator."""
        handlers = _handlers()
        for op in block.operations:
            self.count(op)
            shape = op.shape
            handler = handlers.get(shape.name)
            if handler is not None and (shape.form != FOREIGN or shape.name in NO_EFFECT):
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
        refs = self._refs(op)
        key = (op, *[ref.place() for ref in refs.values()])
        if key not in self._steps:
            if len(self._steps) >= _REMEMBERED:
                self._steps.clear()
            self._steps[key] = self._resolve(op, refs)
        step = self._steps[key]
        if step is not None:
            self._execute(step, refs)

    def _refs(self, op: Operation) -> dict[str, TileRef]:
        """The tiles of an operation by the page's names, inputs with their data."""
        definition = op.shape.definition
        assert definition is not None
        refs = {}
        for name, value in operand_values(op):
            if isinstance(value, Value) and isinstance(value.type, TileType):
                refs[name] = ref = self.tile(value)
                if self.supply is not None and name != definition.scratch and name in op.shape.input_names:
                    self.supply(ref.whole)
        settle_open(op, self.target, refs)
        return refs

    def _resolve(self, op: Operation, refs: dict[str, TileRef]) -> Step | None:
        try:
            step = resolve(op, self.target, refs, self.memory, self._kernels)
        except CannotRun as error:
            raise self.fault(error.code, str(error), op) from None
        except ValueError as error:
            raise self.fault("RUN-11", str(error), op) from None
        if step is not None:
            for rule, instance in step.broken:
                self._broken(op, rule, instance)
        return step

    def _broken(self, op: Operation, rule: Rule, instance: Instance) -> None:
        if (rule.id, op.start) in self._reported:
            return
        self._reported.add((rule.id, op.start))
        diagnostic = broken(self.places, op, rule, instance)
        if rule.severity == "error":
            raise RunFault(diagnostic)
        self.diagnostics.append(diagnostic)

    def _execute(self, step: Step, refs: dict[str, TileRef]) -> None:
        op = step.op
        if step.open:
            instance = step.values(self.env)
            for rule, answer in ask(step.open, instance):
                if answer is False:
                    self._broken(op, rule, instance)
        if step.kernel is None:
            return
        for name, place in step.reads:
            self._check_written(op, name, place)
        columns = nan_columns(step) if step.searches_floats else 0
        try:
            step.execute(self.env)
        except ArithmeticError as error:
            raise self.fault("RUN-08", str(error), op) from None
        for name, (value, place) in zip(op.shape.output_names, step.writes, strict=True):
            self.mark(value, place, step.tiles[name])
            self.touched.add(refs[name].whole.value)
        if columns:
            self._remark_nan(op, columns)
        if self.on_step is not None:
            self.on_step(step)

    def _remark_nan(self, op: Operation, columns: int) -> None:
        """Says once that an argmin met a NaN (decision D-02)."""
        extreme = "maximum" if op.shape.short_name == "tcolargmax" else "minimum"
        message = f"{columns} {'column has' if columns == 1 else 'columns have'} a NaN; it counts as the {extreme}"
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


_REMEMBERED = 4096


Handler = Callable[[Machine, Operation], "list[Any] | None"]
"""Executes a host operation. A terminator gives the operands that its block ends with, the others None."""

_table: dict[str, Handler] = {}


def _handlers() -> dict[str, Handler]:
    if not _table:
        from ptoasm.interpreter.host import HANDLERS

        _table.update(HANDLERS)
    return _table
