"""Running a module: inputs in, outputs out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ptoasm import arguments
from ptoasm.diagnostics import Diagnostic, Note, PtoError, has_errors, in_source_order
from ptoasm.dialect.base import count
from ptoasm.interpreter.data import DataFault, Fill, flat_data, scalar_data, shape_text, tile_data
from ptoasm.interpreter.dtypes import dtype_of
from ptoasm.interpreter.global_memory import Buffer, Pointer, reach
from ptoasm.interpreter.kernels import Array
from ptoasm.interpreter.machine import DEFAULT_STEPS, Machine, RunFault
from ptoasm.interpreter.steps import Step
from ptoasm.interpreter.tiles import Place, TileRef
from ptoasm.ir import Function, Module, Value
from ptoasm.placement import address_of, root
from ptoasm.source import Span
from ptoasm.suggest import did_you_mean
from ptoasm.targets import BLOCKS_MOST, Target
from ptoasm.types import INDEX, ElementType, PointerType, TileType
from ptoasm.verifier import choose_target, constant, verify

DEFAULT_FILL = Fill("random")


class Result:
    """What a run gives.

    ``outputs`` maps names (no ``%``) to arrays of the valid region, results and destinations first (decision D-21);
    ``addresses`` where in the UB they lie (bytes); ``filled`` the inputs that were filled because no data was given.
    ``memory`` is the UB afterwards, one byte an element. ``diagnostics`` holds warnings and remarks.
    """

    __slots__ = ("addresses", "diagnostics", "filled", "memory", "outputs", "written")

    def __init__(self, outputs: dict[str, Any], addresses: dict[str, int], machine: Machine, filled: list[str]) -> None:
        self.outputs = outputs
        self.addresses = addresses
        self.filled = filled
        self.memory: Array = machine.memory.data
        self.written: Array = machine.memory.writer > 0
        self.diagnostics: list[Diagnostic] = []


class Session:
    """Runs of one function: takes the inputs, runs the machine, collects the outputs."""

    def __init__(
        self,
        module: Module,
        function: Function,
        target: Target,
        *,
        fill_missing: bool,
        seed: int = 0,
        ub_size: int | None = None,
        keep: Sequence[str] = (),
        max_steps: int = DEFAULT_STEPS,
        blocks: int = 1,
        load_ub: Array | None = None,
    ) -> None:
        self.module = module
        self.function = function
        self.inputs: Mapping[str, Any] = {}
        self.buffers: dict[Value, Buffer] = {}
        self.fill_missing = fill_missing
        self.seed = seed
        self.blocks = blocks
        self.load_ub = load_ub
        self.filled: list[str] = []
        self.names = named_values(function)
        self.keep = [name for name in keep if name in self.names]
        self.data: dict[Value, Array] = {}
        self.loads: dict[int, Value] = {}
        self.settled: set[Value] = set()
        self.fitted: set[Value] = set()
        self.early: dict[Value, Place] = {}
        self.places: dict[str, Place] = {}
        self.machine = Machine(
            module,
            function,
            target,
            ub_size=target.ub_size if ub_size is None else ub_size,
            keep=[self.names[name] for name in self.keep],
            max_steps=max_steps,
            supply=self.supply,
        )
        self.machine.block_count = blocks

    def run(self, inputs: Mapping[str, Any]) -> Result:
        """Runs every block on a UB of its own and gives the result; RunFault where it cannot go on."""
        machine = self.machine
        machine.restart()
        self.inputs = inputs
        self.filled = []
        self.buffers = {}
        self._take_inputs()
        returned: list[Any] = []
        for block in range(self.blocks):
            machine.block_index = block
            self._prepare()
            returned = machine.run()
        return self._result(returned)

    def _fault(self, code: str, message: str, *notes: Note, about: Value | None = None) -> RunFault:
        """The exception for data that does not fit; shown where the value that it is ``about`` is used first."""
        name = self.function.name or None
        span = None if about is None else self._first_use(about)
        return RunFault(Diagnostic("error", code, message, self.module.source, span, notes, None, name))

    def _first_use(self, value: Value) -> Span | None:
        uses = self.function.uses.get(value)
        op = uses[0][0] if uses else value.definition
        return None if op is None else self.machine.places.value(op, value)

    # --- Inputs

    def _take_inputs(self) -> None:
        """Brings the data of tiles into their element types and shapes, so that wrong data is found before the run."""
        self.data = {}
        for name, data in self.inputs.items():
            value = self.names.get(name)
            if value is None:
                near = did_you_mean(name, self.names)
                hint = f"; did you mean '%{near}'?" if near else f"; the program has {_some(self.names)}"
                raise self._fault("RUN-01", f"the program has no value '%{name}'{hint}")
            if isinstance(value.type, TileType):
                tile = self._whole(value)
                self.data[tile] = self._tile_array(tile, value.type, data)
            elif value.definition is not None or value not in self.function.arguments:
                raise self._fault("RUN-01", f"'%{name}' is computed by the program; it takes no data", about=value)

    def check_name(self, name: str) -> Value:
        """The value with a name that somebody asks for; RunFault where there is none."""
        value = self.names.get(name)
        if value is None:
            near = did_you_mean(name, self.names)
            hint = f"; did you mean '%{near}'?" if near else f"; the program has {_some(self.names)}"
            raise self._fault("RUN-01", f"the program has no value '%{name}'{hint}")
        return value

    def _whole(self, value: Value) -> Value:
        """The tile that a name given in the inputs stands for."""
        op = value.definition
        while op is not None and op.shape.name == "pto.tassign" and isinstance(op.inputs[0], Value):
            value = op.inputs[0]
            op = value.definition
        if root(value) is not value:
            message = f"'%{value.name}' is a part of '%{root(value).name}', which takes the data"
            raise self._fault("RUN-01", message, about=value)
        return value

    def _prepare(self) -> None:
        """A new UB, the values of the arguments, and all data whose place is known from the start."""
        machine = self.machine
        machine.clear()
        self.loads.clear()
        self.settled.clear()
        self.fitted.clear()
        self.early.clear()
        self._load_image()
        for value in self.function.arguments:
            if isinstance(value.type, ElementType):
                machine.env[value] = self._scalar(value, value.type)
            elif isinstance(value.type, PointerType):
                machine.env[value] = self._pointer(value, value.type)
        for value, array in self.data.items():
            self._load_early(value, array)

    def _load_image(self) -> None:
        """The bytes that the UB holds from the start; they count as written."""
        if self.load_ub is None:
            return
        memory = self.machine.memory
        size = int(self.load_ub.size)
        if size > memory.size:
            raise self._fault("RUN-02", f"the image of the UB has {count(size, 'byte')}; the UB has {memory.size}")
        memory.data[:size] = self.load_ub
        self.machine.events += 1
        memory.writer[:size] = self.machine.events

    def _load_early(self, value: Value, array: Array) -> None:
        machine = self.machine
        address = self._early_address(value)
        ref = machine.new_tile(value, address, *array.shape)
        if value.definition is None:
            machine.env[value] = ref
        if address is not None:
            self._agree(ref, array)
            self._load(ref, array)
            self.early[value] = ref.place()

    def _early_address(self, value: Value) -> int | None:
        """Where a tile lies from the start; None for one that gets its place, or shares one, later in the run."""
        assert isinstance(value.type, TileType)
        placement = self.machine.placement
        if value.type.loc != "vec":
            return 0 if value.definition is None else None
        first, at = next(iter(self.function.uses.get(value, ())), (None, 0))
        if first is not None and first.shape.name == "pto.tassign" and at == 0:
            return address_of(first.inputs[1])
        if value in placement.addresses:
            return None if placement.reuses else placement.addresses[value]
        op = value.definition
        return address_of(op.operand("addr")) if op is not None and op.shape.name == "pto.alloc_tile" else None

    def _load(self, ref: TileRef, array: Array) -> None:
        """Puts data into a tile."""
        place = ref.place(*array.shape)
        place.views().data[...] = array
        self.loads[self.machine.mark(ref.value, place, place)] = ref.value
        self.settled.add(ref.value)

    def _agree(self, ref: TileRef, array: Array) -> None:
        """Two inputs that disagree about a byte are a fault: neither is there before the other."""
        memory, place = self.machine.memory, ref.place(*array.shape)
        for other, there in self.early.items():
            if there.memory is memory and place.memory is memory and there.region.overlaps(place.region):
                writers = place.views().writers
                shared = writers == self.machine.last_write[other].number
                differs = shared & (place.bytes_of(array) != memory.runs(place.region))
                if differs.any():
                    offset = int(differs.argmax())
                    raise self._fault(
                        "RUN-14",
                        f"the data for '%{other.name}' and for '%{ref.value.name}' disagree about bytes that the two "
                        f"tiles share; the first is byte {offset} of the valid region of '%{ref.value.name}'",
                    )

    def _scalar(self, value: Value, type_: ElementType) -> int | float:
        data = self.inputs.get(value.name)
        if data is None:
            if not self.function.uses.get(value):
                return 0
            data = self._missing(value)
        try:
            data = data(type_) if callable(data) else data
            return scalar_data(data, type_, value.name, self.seed)
        except DataFault as fault:
            raise self._fault("RUN-02", str(fault), about=value) from None

    def _missing(self, value: Value) -> Fill:
        """The fill for an input without data; a fault where some inputs were given and this one was forgotten."""
        if not self.fill_missing:
            message = f"there is no data for '%{value.name}', which the program reads"
            raise self._fault("RUN-01", message, about=value)
        if value.name not in self.filled:
            self.filled.append(value.name)
        return DEFAULT_FILL

    def _tile_array(self, value: Value, type_: TileType, data: Any) -> Array:
        try:
            data = data(type_) if callable(data) else data
            return tile_data(data, type_, value.name, self.seed)
        except DataFault as fault:
            raise self._fault("RUN-02", str(fault), about=value) from None

    def _pointer(self, value: Value, type_: PointerType) -> Pointer:
        """The beginning of the flat array that a pointer argument stands for: one array for all blocks."""
        if value not in self.buffers:
            self.buffers[value] = Buffer(value.name, self._flat_array(value, type_))
        return Pointer(self.buffers[value], 0, value.name)

    def _flat_array(self, value: Value, type_: PointerType) -> Array:
        count = reach(value, lambda operand: constant(operand, getattr(operand, "type", INDEX)))
        data = self.inputs.get(value.name)
        if data is None:
            data = self._missing(value) if count != 0 else Fill("zeros")
        if isinstance(data, Fill) and data.count is None and count is None:
            message = f"the length of '%{value.name}' is not known; a fill names it, as in {data.kind}(4096)"
            raise self._fault("RUN-01", message, about=value)
        try:
            return flat_data(data(type_) if callable(data) else data, type_.element, value.name, self.seed, count)
        except DataFault as fault:
            raise self._fault("RUN-02", str(fault), about=value) from None

    def supply(self, ref: TileRef) -> None:
        """Data for a tile that is about to be read, if it is an input and has none yet (decision D-22)."""
        value = ref.value
        if value in self.machine.touched:
            return
        array = self.data.get(value)
        if array is not None:
            self._fit(ref, array)
        if value not in self.settled:
            self.settled.add(value)
            if array is not None:
                self._load(ref, self.data[value])
            elif ref.rows and ref.cols:
                self._fill(ref)

    def _fit(self, ref: TileRef, array: Array) -> None:
        """Where only the data says how much of a tile is valid, so it is; else data and program must agree."""
        if ref.open:
            ref.resize(*array.shape)
        elif ref.value not in self.fitted and array.shape != (ref.rows, ref.cols):
            if array.shape != (ref.type.rows, ref.type.cols):
                raise self._fault(
                    "RUN-02",
                    f"the array for %{ref.value.name} has shape {shape_text(array.shape)}; the program makes "
                    f"{ref.rows}x{ref.cols} of the tile valid",
                )
            self.data[ref.value] = array[: ref.rows, : ref.cols]
        self.fitted.add(ref.value)

    def _fill(self, ref: TileRef) -> None:
        """Fills the bytes that nothing has written, unless the program wrote some of the others."""
        machine = self.machine
        placement = machine.placement
        place = ref.place()
        writers = place.views().writers
        if placement.reuses and ref.value in placement.addresses:
            bare = np.ones(writers.shape, bool)  # what is there belongs to tiles that are dead by now
        else:
            bare = writers == 0
            if not bare.all() and not (self.fill_missing and bare.any() and self._only_inputs(writers[~bare])):
                return
        type_ = ref.type.with_(valid_rows=ref.rows, valid_cols=ref.cols)
        place.put_where(self._tile_array(ref.value, type_, self._missing(ref.value)), bare)
        self.loads[machine.mark(ref.value, place, place)] = ref.value

    def _only_inputs(self, writers: Array) -> bool:
        """Whether all of these writes put data of inputs into the UB."""
        return set(writers.tolist()) <= self.loads.keys()

    # --- Outputs

    def _result(self, returned: list[Any]) -> Result:
        machine = self.machine
        outputs: dict[str, Any] = {}
        self.places = {}

        def put(name: str, place: Place) -> None:
            outputs[name] = place.views().data.copy()
            self.places[name] = place

        for value, found in zip(self._returned_values(), returned, strict=False):
            if isinstance(found, TileRef):
                put(value.name, found.place())
            elif isinstance(value.type, ElementType):
                outputs[value.name] = _as_scalar(found, value.type)
        results = set(outputs)
        for value, written in sorted(machine.last_write.items(), key=lambda item: item[1].number):
            if value.name not in results and written.number not in self.loads and machine.is_intact(value):
                put(value.name, written.output)
        for name in self.keep:
            found = machine.env.get(self.names[name])
            if name not in outputs and isinstance(found, TileRef) and (found.place().views().writers > 0).any():
                put(name, found.place())
                self._warn_of_other_bytes(self.names[name])
            elif name not in outputs and isinstance(type_ := self.names[name].type, ElementType) and found is not None:
                outputs[name] = _as_scalar(found, type_)
        for value, buffer in self.buffers.items():
            if buffer.stored or value.name in self.keep:
                outputs[value.name] = buffer.array.reshape(buffer.shape).copy()
        addresses = {name: place.address for name, place in self.places.items()}
        result = Result(outputs, addresses, machine, self.filled)
        result.diagnostics = in_source_order(machine.diagnostics)
        return result

    def _warn_of_other_bytes(self, value: Value) -> None:
        """Says that an output that was asked for shows what another tile wrote to the same bytes (decision D-21)."""
        machine = self.machine
        written = machine.last_write.get(value)
        if written is None or machine.is_intact(value):
            return
        others = {w.number for other, w in machine.last_write.items() if root(other) is not root(value)}
        if not others.isdisjoint(np.unique(written.place.views().writers).tolist()):
            message = f"what was written to '%{value.name}' is overwritten at the end; its bytes are shown as they are"
            span = self._first_use(value)
            name = self.function.name or None
            machine.diagnostics.append(
                Diagnostic("warning", "RUN-17", message, self.module.source, span, (), None, name)
            )

    def _returned_values(self) -> list[Value]:
        body = self.function.body
        last = body.operations[-1] if body is not None and body.operations else None
        if last is None or last.shape.name not in ("return", "func.return"):
            return []
        return [v for v in last.inputs if isinstance(v, Value)]


def _as_scalar(number: Any, type_: ElementType) -> Any:
    """A number of a run as a NumPy scalar of its type."""
    dtype = dtype_of(type_)
    return np.asarray(number) if dtype is None else dtype.type(number)


def _some(names: Mapping[str, Any]) -> str:
    shown = [f"%{name}" for name in names][:8]
    return ", ".join(shown) if shown else "no values"


def named_values(function: Function) -> dict[str, Value]:
    """A function's values by name; of several with one name the first."""
    names: dict[str, Value] = {value.name: value for value in function.arguments}
    for op in function.walk():
        for value in op.outputs:
            names.setdefault(value.name, value)
    return names


def choose_function(module: Module, name: str | None) -> Function:
    """The function to run: the one with this name, else the only one with a body, else the only public one."""
    bodies = [f for f in module.functions if f.body is not None]
    if name is not None:
        arguments.text("func", name)
        found = next((f for f in bodies if f.name == name.removeprefix("@")), None)
        if found is None:
            near = did_you_mean(name, [f.name for f in bodies])
            hint = f"; did you mean '{near}'?" if near else ""
            raise PtoError(
                [Diagnostic("error", "RUN-01", f"there is no function '@{name}' to run{hint}", module.source)]
            )
        return found
    public = [f for f in bodies if f.visibility != "private"] if len(bodies) > 1 else bodies
    if len(public) == 1:
        return public[0]
    message = "there is nothing to run"
    if public:
        listed = ", ".join(f"@{f.name}" if f.name else "flat statements" for f in public)
        message = f"there are several functions ({listed}); --func chooses one"
    raise PtoError([Diagnostic("error", "RUN-01", message, module.source)])


def verified(module: Module, arch: str | None, ub_size: int | None = None) -> list[Diagnostic]:
    """The verifier's warnings and remarks; PtoError where there is an error."""
    found = verify(module, arch, ub_size=ub_size)
    if has_errors(found):
        raise PtoError(found)
    return found


def run(
    program: str | Module,
    inputs: Mapping[str, Any] | None = None,
    *,
    arch: str | None = None,
    func: str | None = None,
    seed: int = 0,
    ub_size: int | None = None,
    fill_missing: bool | None = None,
    keep: Sequence[str] = (),
    max_steps: int = DEFAULT_STEPS,
    blocks: int = 1,
    load_ub: Array | None = None,
    on_step: Callable[[Machine, Step], None] | None = None,
) -> Result:
    """Verifies and runs a program.

    ``inputs`` maps names (no ``%``) to arrays of the tile's element type and valid or physical shape, nested lists,
    numbers (fill a tile, or are a scalar's value) or fills. Without any inputs all are filled deterministically from
    ``seed``; with some, each that the program reads must be there. ``arch`` is ``a2a3`` or ``a5`` (else the module's
    target), ``ub_size`` the UB's capacity in bytes. The tiles named in ``keep`` stay live to the end; names that the
    program does not have are passed over. PtoError for a wrong program, wrong data or a run that cannot end.
    """
    module = arguments.module_of(program)
    _check_arguments(inputs, keep, load_ub)
    seed = arguments.whole("seed", seed, 0)
    max_steps = arguments.whole("max_steps", max_steps, 1)
    blocks = arguments.whole("blocks", blocks, 1, BLOCKS_MOST)
    ub_size = arguments.ub_capacity(ub_size)
    warnings = verified(module, arch, ub_size)
    function = choose_function(module, func)
    missing = not inputs if fill_missing is None else fill_missing
    session = None
    try:
        session = Session(
            module,
            function,
            choose_target(module, arch),
            fill_missing=missing,
            seed=seed,
            ub_size=ub_size,
            keep=keep,
            max_steps=max_steps,
            blocks=blocks,
            load_ub=load_ub,
        )
        if on_step is not None:
            session.machine.on_step = lambda step: on_step(session.machine, step)
        result = session.run(inputs or {})
    except RunFault as fault:
        found = warnings if session is None else merged(warnings, session.machine.diagnostics)
        raise PtoError([*found, fault.diagnostic]) from None
    result.diagnostics = merged(warnings, result.diagnostics)
    return result


def _check_arguments(inputs: Any, keep: Any, load_ub: Any) -> None:
    """TypeError where an argument of ``run`` is not what it takes; the data itself is looked at by the session."""
    if not isinstance(inputs, Mapping | None):
        raise TypeError(f"inputs is of type {type(inputs).__name__}; it must map names to data")
    if isinstance(keep, str) or not isinstance(keep, Iterable):
        raise TypeError(f"keep is {keep!r}; it must be a list of names")
    for name in (*(inputs or ()), *keep):
        arguments.text("the name of a value", name)
    is_bytes = isinstance(load_ub, np.ndarray) and load_ub.dtype == np.uint8 and load_ub.ndim == 1
    if load_ub is not None and not is_bytes:
        raise TypeError("load_ub must be an array of uint8 of one dimension")


def merged(first: list[Diagnostic], second: list[Diagnostic]) -> list[Diagnostic]:
    """The verifier's and the run's diagnostics, each rule and place once."""
    seen = {(d.code, d.span) for d in first}
    return in_source_order([*first, *(d for d in second if (d.code, d.span) not in seen)])
