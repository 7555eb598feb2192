"""Running a module: inputs in, outputs out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ptoasm.diagnostics import Diagnostic, PtoError, has_errors, in_source_order
from ptoasm.interpreter.data import DataFault, Fill, plain, scalar_data, tile_data
from ptoasm.interpreter.dtypes import dtype_of
from ptoasm.interpreter.kernels import Array
from ptoasm.interpreter.machine import DEFAULT_STEPS, Machine, RunFault, Step, TileRef, Write
from ptoasm.ir import Function, Module, Operation, Value
from ptoasm.parser import parse
from ptoasm.suggest import did_you_mean
from ptoasm.targets import Target
from ptoasm.types import ElementType, PointerType, TileType
from ptoasm.verifier import choose_target, verify

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
        self.written: Array = machine.memory.writer != 0
        self.diagnostics: list[Diagnostic] = []


class Session:
    """One run of one function: takes the inputs, runs the machine, collects the outputs."""

    def __init__(
        self,
        module: Module,
        function: Function,
        target: Target,
        inputs: Mapping[str, Any],
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
        self.inputs = inputs
        self.fill_missing = fill_missing
        self.seed = seed
        self.blocks = blocks
        self.filled: list[str] = []
        self.loaded: dict[Value, Array] = {}
        self.loads: set[int] = set()
        self.reloads = False
        self.names = named_values(function)
        kept = [self.names[name] for name in keep if name in self.names]
        self.machine = Machine(
            module,
            function,
            target,
            ub_size=target.ub_size if ub_size is None else ub_size,
            keep=kept,
            max_steps=max_steps,
            supply=self.supply,
        )
        self.machine.block_count = blocks
        if load_ub is not None:
            self._load_ub(load_ub)

    def _load_ub(self, data: Array) -> None:
        memory = self.machine.memory
        if data.size > memory.size:
            raise RunFault(self._diagnostic("RUN-02", f"the UB image has {data.size} bytes; the UB has {memory.size}"))
        memory.data[: data.size] = data
        memory.writer[: data.size] = self.machine.event(
            Write(_NOBODY, 1, int(data.size), memory.writer[: data.size].reshape(1, -1))
        )
        self.machine.last_write.pop(_NOBODY, None)

    def _diagnostic(self, code: str, message: str) -> Diagnostic:
        return Diagnostic("error", code, message, self.module.source, function=self.function.name or None)

    def run(self) -> Result:
        """Runs every block and gives the result; RunFault where it cannot go on."""
        self._check_names()
        self._load_arguments()
        returned: list[Any] = []
        for block in range(self.blocks):
            self.machine.block_index = block
            returned = self.machine.run()
        return self._result(returned)

    # --- Inputs

    def _check_names(self) -> None:
        for name in self.inputs:
            if name not in self.names:
                near = did_you_mean(name, self.names)
                hint = f"; did you mean '{near}'?" if near else f"; the program has {_some(self.names)}"
                raise RunFault(self._diagnostic("RUN-01", f"the program has no value '%{name}'{hint}"))

    def _load_arguments(self) -> None:
        """Puts what is there from the start into its place; what must wait for its first use comes later."""
        machine = self.machine
        late = machine.placement.reuses
        arguments = self.function.arguments
        for value in reversed(arguments):
            type_ = value.type
            if isinstance(type_, TileType):
                if value.name in self.inputs:
                    array = self._tile_array(value, type_, self.inputs[value.name])
                    self.loaded[value] = array
                    machine.env[value] = machine.new_tile(value, None, *array.shape)
                    self._bind_early(value)
                    if not (late and value in machine.placement.addresses):
                        self._load(value, machine.env[value])
            elif isinstance(type_, ElementType):
                machine.env[value] = self._scalar(value, type_)
            elif isinstance(type_, PointerType):
                machine.env[value] = self.pointer(value, type_)

    def _bind_early(self, value: Value) -> None:
        """A ``tassign`` before the first use says where a tile of a flat program lies from the start."""
        uses = self.function.uses.get(value)
        if uses and uses[0][0].shape.name == "pto.tassign" and uses[0][1] == 0:
            op = uses[0][0]
            ref = self.machine.env[value]
            address = self.machine.number(op.inputs[1]) if not isinstance(op.inputs[1], Value) else None
            if address is not None and ref.type.loc == "vec":
                self.machine.check_address(op, ref.type, address)
                ref.address = address

    def _scalar(self, value: Value, type_: ElementType) -> int | float:
        data = self.inputs.get(value.name)
        if data is None:
            if not self.function.uses.get(value):
                return 0
            data = self._missing(value)
        try:
            return scalar_data(data, type_, value.name, self.seed)
        except DataFault as fault:
            raise self._wrong_data(value, str(fault)) from None

    def _missing(self, value: Value) -> Fill:
        """The fill for an input without data; a fault where some inputs were given and this one was forgotten."""
        if not self.fill_missing:
            raise RunFault(self._diagnostic("RUN-01", f"there is no data for '%{value.name}', which the program reads"))
        if value.name not in self.filled:
            self.filled.append(value.name)
        return DEFAULT_FILL

    def _tile_array(self, value: Value, type_: TileType, data: Any) -> Array:
        try:
            if callable(data) and not isinstance(data, Fill):
                data = data(type_)
            return tile_data(data, type_, value.name, self.seed)
        except DataFault as fault:
            raise self._wrong_data(value, str(fault)) from None

    def _wrong_data(self, value: Value, message: str) -> RunFault:
        return RunFault(self._diagnostic("RUN-02", message))

    def pointer(self, value: Value, type_: PointerType) -> Any:
        """The flat array that a pointer argument stands for."""
        raise RunFault(self._diagnostic("RUN-05", f"'%{value.name}' is a pointer; global memory cannot be run"))

    def supply(self, value: Value, ref: TileRef) -> bool:
        """Data for a tile that is read before an instruction wrote to it."""
        machine = self.machine
        if value in self.loaded:
            view, writers = ref.view(*self.loaded[value].shape)
            mine = machine.last_write.get(value)
            if mine is None or (self._only_inputs(writers) and not (writers == mine).all()):
                self.reloads = self.reloads or mine is not None
                self._load(value, ref)
            return True
        if value.name in self.inputs and isinstance(value.type, TileType):
            array = self._tile_array(value, value.type, self.inputs[value.name])
            if value.type.is_dynamic:
                ref.rows, ref.cols = array.shape
            self.loaded[value] = array
            self._load(value, ref)
            return True
        _, writers = ref.view(ref.rows, ref.cols)
        if writers.any() or ref.rows == 0 or ref.cols == 0:
            return False
        assert isinstance(value.type, TileType)
        shape = value.type.with_(valid_rows=ref.rows, valid_cols=ref.cols)
        self.loaded[value] = self._tile_array(value, shape, self._missing(value))
        self._load(value, ref)
        return True

    def _only_inputs(self, writers: Array) -> bool:
        """Whether all that was written there came from inputs."""
        return all(int(number) == 0 or int(number) in self.loads for number in np.unique(writers))

    def _load(self, value: Value, ref: TileRef) -> None:
        array = self.loaded[value]
        view, writers = ref.view(*array.shape)
        view[...] = array
        self.loads.add(self.machine.event(Write(value, *array.shape, writers)))

    # --- Outputs

    def _result(self, returned: list[Any]) -> Result:
        machine = self.machine
        outputs: dict[str, Any] = {}
        addresses: dict[str, int] = {}
        for value, found in zip(self._returned_values(), returned, strict=False):
            if isinstance(found, TileRef):
                outputs[value.name] = self._array(found)
                addresses[value.name] = found.address
            elif isinstance(value.type, ElementType):
                dtype = dtype_of(value.type)
                outputs[value.name] = np.asarray(found) if dtype is None else dtype.type(found)
        for value, number in machine.last_write.items():
            if value.name in outputs or number in self.loads or not machine.is_intact(value):
                continue
            ref = machine.env.get(value)
            if isinstance(ref, TileRef):
                write = machine.events[number]
                assert write is not None
                outputs[value.name] = self._array(ref, write)
                addresses[value.name] = ref.address
        self.add_outputs(outputs)
        result = Result(outputs, addresses, machine, self.filled)
        result.diagnostics = in_source_order(machine.diagnostics)
        return result

    def add_outputs(self, outputs: dict[str, Any]) -> None:
        """Adds what the program stored to global memory."""

    def _returned_values(self) -> list[Value]:
        body = self.function.body
        last = body.operations[-1] if body is not None and body.operations else None
        if last is None or last.shape.name not in ("return", "func.return"):
            return []
        return [v for v in last.inputs if isinstance(v, Value)]

    def _array(self, ref: TileRef, write: Write | None = None) -> Array:
        """A copy of the valid region; of a sequence, what was written, whatever its valid rows say."""
        rows, cols = ref.rows, ref.cols
        if write is not None and (rows == 0 or cols == 0):
            rows, cols = max(rows, write.rows), max(cols, write.cols)
        return ref.view(rows, cols)[0].copy()


_NOBODY = Value("", None, Function.__new__(Function))  # type: ignore[arg-type]


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


def checked(module: Module, arch: str | None, ub_size: int | None = None) -> list[Diagnostic]:
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
    target), ``ub_size`` the UB's capacity in bytes. PtoError for a wrong program, wrong data or a run that cannot go on.
    """
    module = parse(program) if isinstance(program, str) else program
    warnings = checked(module, arch, ub_size)
    function = choose_function(module, func)
    missing = not inputs if fill_missing is None else fill_missing
    try:
        session = _session_class()(
            module,
            function,
            choose_target(module, arch),
            inputs or {},
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
        result = session.run()
    except RunFault as fault:
        raise PtoError([*warnings, fault.diagnostic]) from None
    result.diagnostics = _merged(warnings, result.diagnostics)
    return result


def _session_class() -> type[Session]:
    return Session


def _merged(first: list[Diagnostic], second: list[Diagnostic]) -> list[Diagnostic]:
    """The verifier's and the run's diagnostics, each rule and place once."""
    seen = {(d.code, d.span) for d in first}
    return in_source_order([*first, *(d for d in second if (d.code, d.span) not in seen)])


# --- Plan once, run many times


class _Plan:
    """A recorded run: where the inputs go, what is executed, where the outputs are."""

    __slots__ = ("inputs", "outputs", "scalars", "steps")

    def __init__(
        self,
        inputs: list[tuple[str, tuple[int, ...], np.dtype[Any], Array]],
        scalars: list[tuple[str, Value]],
        steps: list[Callable[[dict[str, Any]], None]],
        outputs: list[tuple[str, Array]],
    ) -> None:
        self.inputs = inputs
        self.scalars = scalars
        self.steps = steps
        self.outputs = outputs


class Kernel:
    """A function that is planned once for each set of input shapes and then only moves data and runs kernels.

    ``diagnostics`` holds the warnings of verification and of the first run of each plan.
    """

    def __init__(self, module: Module, arch: str | None = None, func: str | None = None) -> None:
        self.diagnostics = checked(module, arch)
        self.module = module
        self.target = choose_target(module, arch)
        self.function = choose_function(module, func)
        self._replayable = all(_is_simple(op) for op in self.function.walk())
        self._plan: _Plan | None = None

    def __call__(self, **inputs: Any) -> dict[str, Any]:
        """Runs it with arrays and numbers by name (no ``%``); gives the outputs as fresh arrays."""
        plan = self._plan
        if plan is None or len(inputs) != len(plan.inputs) + len(plan.scalars):
            return self._first(inputs)
        for name, shape, dtype, view in plan.inputs:
            array = inputs.get(name)
            if array.__class__ is not np.ndarray or array.shape != shape or array.dtype != dtype:
                return self._first(inputs)
            view[...] = array
        numbers: dict[str, Any] = {}
        for name, value in plan.scalars:
            if name not in inputs or not isinstance(value.type, ElementType):
                return self._first(inputs)
            numbers[name] = scalar_data(inputs[name], value.type, name)
        for step in plan.steps:
            step(numbers)
        return {name: view.copy() for name, view in plan.outputs}

    def _first(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """A run on a machine of its own, recorded where a later one can repeat it."""
        session = _session_class()(self.module, self.function, self.target, inputs, fill_missing=False)
        steps: list[Step] = []
        session.machine.on_step = steps.append
        try:
            result = session.run()
        except RunFault as fault:
            raise PtoError([fault.diagnostic]) from None
        self.diagnostics = _merged(self.diagnostics, result.diagnostics)
        if self._replayable and not any(d.code == "INIT-01" for d in result.diagnostics):
            self._plan = self._record(session, steps, inputs, result)
        return result.outputs

    def _record(self, session: Session, steps: list[Step], inputs: dict[str, Any], result: Result) -> _Plan | None:
        machine = session.machine
        places = []
        for name, given in inputs.items():
            value = session.names[name]
            if value not in session.loaded:
                continue
            if not isinstance(given, np.ndarray) or given.shape != session.loaded[value].shape or session.reloads:
                return None
            view, _ = machine.env[value].view(*given.shape)
            places.append((name, given.shape, given.dtype, view))
        scalars = [(n, session.names[n]) for n in inputs if isinstance(session.names[n].type, ElementType)]
        touched = [array for step in steps for array in (*step.inputs, *step.outputs) if isinstance(array, np.ndarray)]
        outputs = []
        for name in result.outputs:
            ref = machine.env[session.names[name]]
            if not isinstance(ref, TileRef):
                return None
            outputs.append((name, ref.view(*result.outputs[name].shape)[0]))
        return _Plan(places, scalars, [_replay(step, touched) for step in steps], outputs)


def _is_simple(op: Operation) -> bool:
    """Whether an operation does the same on every run with inputs of the same shapes."""
    if op.shape.definition is not None and op.shape.name != "pto.tassign":
        return op.shape.definition.name not in ("tload", "tstore")
    if op.shape.name in ("arith.constant", "return", "func.return"):
        return True
    constant_operands = all(
        not isinstance(v, Value) or (v.definition is not None and v.definition.shape.name == "arith.constant")
        for v in op.inputs
        if not (isinstance(v, Value) and isinstance(v.type, TileType))
    )
    return op.shape.name in ("pto.alloc_tile", "pto.tassign") and constant_operands


def _replay(step: Step, touched: list[Array]) -> Callable[[dict[str, Any]], None]:
    """The step as a function of the numbers. Scratch that nobody else looks at need not be overwritten."""
    kernel, inputs, outputs = step.kernel, step.inputs, step.outputs
    scratch = [s for s in step.scratch if any(np.may_share_memory(s, other) for other in touched)]
    if step.scalars or scratch or len(outputs) > 1:
        return _general_replay(step, scratch)
    view = outputs[0]

    if len(inputs) == 1:
        source = inputs[0]

        def simple(numbers: dict[str, Any]) -> None:
            view[...] = kernel(source)[0]

        return simple

    def several(numbers: dict[str, Any]) -> None:
        view[...] = kernel(*inputs)[0]

    return several


def _general_replay(step: Step, scratch: list[Array]) -> Callable[[dict[str, Any]], None]:
    def replay(numbers: dict[str, Any]) -> None:
        inputs = list(step.inputs)
        for at, value in step.scalars:
            if value.name in numbers:
                inputs[at] = inputs[at].dtype.type(numbers[value.name])
        results = step.kernel(*inputs)
        for region in scratch:
            region[...] = 0xCD
        for view, result in zip(step.outputs, results, strict=True):
            view[...] = result

    return replay


def compile(module: Module | str, arch: str | None = None, func: str | None = None) -> Kernel:
    """A kernel to call many times: ``kernel(src=array)`` gives a dict of outputs. PtoError for a wrong program."""
    return Kernel(parse(module) if isinstance(module, str) else module, arch, func)


__all__ = ["Kernel", "Result", "Session", "choose_function", "compile", "plain", "run"]
