"""Compiled kernels: a function is planned once, and then a call only moves data and runs kernels.

The first call with inputs of some shapes is an ordinary run, which is recorded. On each later call with these shapes
the same instructions come in the same order, at the same addresses and with the same extents; so do the bytes that are
written and read, and the rules about memory have the answers that they had. What depends on the numbers, and only that,
is asked again by a kernel that was compiled with ``checked``.

Scalars that are only operands of instructions may change from call to call. Those that decide about anything else (a
bound of a loop, an address, an extent) are part of what a plan is made for, as the shapes are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ptoasm import arguments
from ptoasm.diagnostics import Diagnostic, PtoError
from ptoasm.dialect.host import NO_EFFECT
from ptoasm.interpreter.data import DataFault, plain, scalar_data
from ptoasm.interpreter.dtypes import dtype_of
from ptoasm.interpreter.kernels import Array, one_at_a_time
from ptoasm.interpreter.machine import RunFault
from ptoasm.interpreter.memory import FILL
from ptoasm.interpreter.run import Result, Session, choose_function, merged, verified
from ptoasm.interpreter.steps import Scratch, Slot, Step, nan_columns
from ptoasm.interpreter.tiles import Place
from ptoasm.ir import FOREIGN, Function, Module, Operation, Value
from ptoasm.regions import Region
from ptoasm.types import ElementType, PointerType, TileType
from ptoasm.verifier import ask, choose_target

_PLANS = 64
_STEPS = 20_000
"""So many plans, and so many instructions in one, are kept at most."""


class Entry(NamedTuple):
    """An instruction of a recorded run, with the values that its scalars had."""

    step: Step
    numbers: tuple[Any, ...]


class Target(NamedTuple):
    """Where an input array goes: its name, what it must be like, the elements of the tile, and which of its own."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    elements: Array
    window: tuple[slice, slice] | None


class Number(NamedTuple):
    """A scalar that may change from call to call: its name, and what brings its data into its type."""

    name: str
    value: Value
    take: Callable[[Any], Any]


Numbers = dict[Value, Any]
Action = Callable[[], None]
Question = Callable[[], bool]
"""Whether there is nothing to report about an instruction, with the numbers and the data of this call."""


class Plan(NamedTuple):
    """A recorded run: where the inputs go, what is executed, where the outputs are.

    ``actions`` and ``questions`` belong together; a question is None where nothing depends on numbers. ``numbers``
    holds the scalars of the call. An output has a name and what copies it; ``single`` is the only one, if there is just
    one, because a loop costs more than the copy. ``diagnostics`` are those of every call.
    """

    targets: list[Target]
    scalars: list[Number]
    numbers: Numbers
    actions: list[Action]
    questions: list[Question | None]
    outputs: list[tuple[str, Callable[[], Array]]]
    diagnostics: list[Diagnostic]
    single: tuple[str, Callable[[], Array]] | None
    count: int  # type: ignore[assignment]  # hides a method of tuple that is of no use here


class Kernel:
    """A function that is planned once for each set of input shapes and then only moves data and runs kernels.

    ``diagnostics`` holds the warnings and remarks of verification and of the call that made the plan; with ``checked``
    those of the last call, which are the ones that ``run`` gives. A kernel is not for several threads at once.
    """

    def __init__(
        self, module: Module, arch: str | None = None, func: str | None = None, *, checked: bool = False
    ) -> None:
        self.diagnostics = self._verified = verified(module, arch)
        self._checked = checked
        function = choose_function(module, func)
        self._session = Session(module, function, choose_target(module, arch), fill_missing=False)
        self._replayable = all(_is_simple(op) for op in function.walk())
        self._free = _free_scalars(function)
        self._plans: dict[tuple[Any, ...], Plan] = {}
        self._plan: Plan | None = None

    def __call__(self, /, **inputs: Any) -> dict[str, Any]:
        """Runs it with arrays and numbers by name (no ``%``); gives the outputs as fresh arrays."""
        plan = self._plan
        if plan is None or len(inputs) != plan.count:
            return self._otherwise(inputs)
        for name, shape, dtype, elements, window in plan.targets:
            array = inputs.get(name)
            if array.__class__ is not np.ndarray or array.shape != shape or array.dtype is not dtype:
                return self._otherwise(inputs)
            elements[...] = array if window is None else array[window]
        if plan.scalars or self._checked:
            return self._with_numbers(plan, inputs)
        for action in plan.actions:
            action()
        if plan.single is not None:
            name, copy = plan.single
            return {name: copy()}
        return {name: copy() for name, copy in plan.outputs}

    def _with_numbers(self, plan: Plan, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The rest of a call that has scalars, or that is checked."""
        for name, value, take in plan.scalars:
            if name not in inputs:
                return self._otherwise(inputs)
            try:
                plan.numbers[value] = take(inputs[name])
            except DataFault:
                return self._run(inputs).outputs
        if not self._checked:
            for action in plan.actions:
                action()
        else:
            for question, action in zip(plan.questions, plan.actions, strict=True):
                if question is not None and not question():
                    return self._run(inputs).outputs
                action()
            self.diagnostics = plan.diagnostics
        if plan.single is not None:
            name, copy = plan.single
            return {name: copy()}
        return {name: copy() for name, copy in plan.outputs}

    def _otherwise(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """A call with inputs of other shapes than the last one's."""
        key = self._key(inputs) if self._replayable else None
        if key is None:
            return self._run(inputs).outputs
        plan = self._plans.get(key)
        if plan is None:
            return self._first(inputs, key)
        self._plan = plan
        for target in plan.targets:
            target.elements[...] = inputs[target.name][target.window or ...]
        return self._with_numbers(plan, inputs)

    def _key(self, inputs: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """What a plan is made for; None where the inputs are not arrays and numbers."""
        parts: list[tuple[Any, ...]] = []
        for name, given in sorted(inputs.items()):
            value = self._session.names.get(name)
            if value is None:
                return None
            if isinstance(value.type, TileType | PointerType):
                if given.__class__ is not np.ndarray:
                    return None
                parts.append((name, given.shape, given.dtype))
            elif value in self._free:
                parts.append((name,))
            elif isinstance(given, int | float | np.generic):
                parts.append((name, type(given), given))
            else:
                return None
        return tuple(parts)

    def _run(self, inputs: Mapping[str, Any]) -> Result:
        """An ordinary run."""
        try:
            result = self._session.run(inputs)
        except RunFault as fault:
            found = merged(self._verified, self._session.machine.diagnostics)
            raise PtoError([*found, fault.diagnostic]) from None
        self.diagnostics = merged(self._verified, result.diagnostics)
        return result

    def _first(self, inputs: Mapping[str, Any], key: tuple[Any, ...]) -> dict[str, Any]:
        """An ordinary run that is recorded."""
        machine = self._session.machine
        entries: list[Entry] = []

        def record(step: Step) -> None:
            if len(entries) <= _STEPS:
                entries.append(Entry(step, tuple(machine.env[slot.value] for slot in step.slots)))

        machine.on_step = record
        try:
            result = self._run(inputs)
        finally:
            machine.on_step = None
        if len(self._plans) >= _PLANS:
            self._plans.clear()
        plan = self._record(entries, inputs, result)
        if plan is not None:
            self._plan = self._plans[key] = plan
        return result.outputs

    # --- Making a plan

    def _record(self, entries: list[Entry], inputs: Mapping[str, Any], result: Result) -> Plan | None:
        """The plan; None where a call with other data could come out differently or cannot be repeated by steps."""
        session = self._session
        tiles = {name: place.views() for name, place in session.places.items()}
        outputs = {name: views.data for name, views in tiles.items()}
        outputs |= {b.name: b.array.reshape(b.shape) for b in session.buffers.values() if b.name in result.outputs}
        if (
            len(entries) > _STEPS
            or len(outputs) != len(result.outputs)
            or not all(views.written for views in tiles.values())
            or any(d.code == "INIT-01" for d in result.diagnostics)
        ):
            return None
        targets = self._targets(inputs)
        if targets is None:
            return None
        names = [n for n in inputs if session.names[n] in self._free]
        scalars = [Number(n, session.names[n], _taker(session.names[n])) for n in names]
        free = {number.value for number in scalars}
        places = [place for entry in entries for place in _looked_at(entry.step)] + list(session.places.values())
        regions = {place.region for place in places if place.memory is session.machine.memory}
        spoils = _Spoils(regions)
        numbers: Numbers = {}
        copies: list[tuple[str, Callable[[], Array]]] = [(name, array.copy) for name, array in outputs.items()]
        return Plan(
            targets,
            scalars,
            numbers,
            [_action(entry, free, numbers, spoils) for entry in entries],
            [_question(entry, free, numbers) for entry in entries],
            copies,
            [d for d in self.diagnostics if not _is_about_numbers(d, entries, free)],
            copies[0] if len(copies) == 1 else None,
            len(targets) + len(scalars),
        )

    def _targets(self, inputs: Mapping[str, Any]) -> list[Target] | None:
        """Where the arrays go; None where one is not there from the start or shares bytes with another."""
        session = self._session
        targets = []
        regions: list[Region] = []
        for name, given in inputs.items():
            value = session.names[name]
            if value in session.buffers:
                buffer = session.buffers[value]
                targets.append(Target(name, given.shape, given.dtype, buffer.array.reshape(buffer.shape), None))
            if not isinstance(value.type, TileType):
                continue
            place = session.early.get(value)
            if place is None:
                return None
            elements = place.views().data
            window = None
            if given.ndim == 1:
                elements = elements[0]
            elif given.shape != elements.shape:
                window = (slice(place.rows), slice(place.cols))
            targets.append(Target(name, given.shape, given.dtype, elements, window))
            if place.memory is session.machine.memory:
                regions.append(place.region)
        return None if any(a.overlaps(b) for a, b in combinations(regions, 2)) else targets


_STRUCTURE = ["return", "func.return", "scf.yield", "scf.for", "scf.if", "pto.section.vector"]
_TILES = ["alloc_tile", "tassign", "subview", "subset", "set_validshape", "treshape"]
_GLOBAL = ["addptr", "make_tensor_view", "partition_view", "get_tensor_view_dim", "get_tensor_view_stride"]
_QUERIES = ["get_block_idx", "get_block_num", "get_subblock_idx", "get_subblock_num"]
_SIMPLE = {*_STRUCTURE, *(f"pto.{name}" for name in (*_TILES, *_GLOBAL, *_QUERIES)), *NO_EFFECT}
"""What does the same on every run with the same shapes and scalars; not what reads a scalar from memory, or prints."""


def _is_simple(op: Operation) -> bool:
    name = op.shape.name
    if op.shape.form == FOREIGN:
        return name in NO_EFFECT
    return name in _SIMPLE or name.startswith("arith.") or (_is_instruction(op) and name != "pto.tprint")


def _free_scalars(function: Function) -> set[Value]:
    """The scalar arguments that are only operands of instructions: nothing but numbers depends on them."""
    scalars = [v for v in function.arguments if isinstance(v.type, ElementType) and dtype_of(v.type) is not None]
    return {v for v in scalars if all(_is_instruction(op) for op, _ in function.uses.get(v, ()))}


def _is_instruction(op: Operation) -> bool:
    return op.shape.definition is not None and op.shape.name not in _SIMPLE


def _taker(value: Value) -> Callable[[Any], Any]:
    """What brings the data of a scalar into its type, as ``scalar_data`` does, and is quick about the usual data."""
    type_ = value.type
    assert isinstance(type_, ElementType)
    dtype = dtype_of(type_)
    assert dtype is not None
    scalar = dtype.type
    low, high = type_.range if type_.is_integer else (0, -1)

    def take(data: Any) -> Any:
        if data.__class__ is scalar and data == data:  # a NaN may be a signalling one, which an ordinary run quiets
            return data
        return scalar(data if data.__class__ is int and low <= data <= high else scalar_data(data, type_, value.name))

    return take


def _looked_at(step: Step) -> Iterator[Place]:
    """What an instruction reads and writes, scratch left out."""
    yield from (place for name, place in step.tiles.items() if name != step.instance.instruction.scratch)
    yield from (place for _, place in step.writes)


class _Spoils:
    """The scratch that must be overwritten as in a run: that which somebody else looks at."""

    def __init__(self, looked_at: set[Region]) -> None:
        self.looked_at = looked_at
        self.known: dict[Region, bool] = {}

    def of(self, scratch: Scratch | None) -> Array | None:
        """The bytes to overwrite; None where it makes no difference."""
        if scratch is None:
            return None
        region = scratch.region
        if region not in self.known:
            self.known[region] = any(region.overlaps(other) for other in self.looked_at)
        return scratch.data if self.known[region] else None


def _action(entry: Entry, free: set[Value], numbers: Numbers, spoils: _Spoils) -> Action:
    """The instruction, with the numbers of the call."""
    step = entry.step
    assert step.kernel is not None
    kernel = one_at_a_time(step.kernel)
    inputs = list(step.inputs)
    slots: list[Slot] = []
    for slot, number in zip(step.slots, entry.numbers, strict=True):
        inputs[slot.at] = slot.dtype.type(number)
        if slot.value in free:
            slots.append(slot)
    scratch = spoils.of(step.scratch)
    outputs = [views.data for views in step.outputs]
    if scratch is not None or len(outputs) != 1 or len(inputs) != 1:

        def general() -> None:
            for at, value, _, _ in slots:
                inputs[at] = numbers[value]
            results = kernel(*inputs)
            if scratch is not None:
                scratch[...] = FILL
            for output, result in zip(outputs, results, strict=True):
                output[...] = result

        return general

    (output,), (source,) = outputs, inputs
    if slots:
        number = slots[0].value

        def with_number() -> None:
            output[...] = kernel(numbers[number])[0]

        return with_number

    def simple() -> None:
        output[...] = kernel(source)[0]

    return simple


def _question(entry: Entry, free: set[Value], numbers: Numbers) -> Question | None:
    """What must be asked on each call before an instruction: the rules about its numbers, and about NaN."""
    step = entry.step
    if step.open and any(slot.value in free for slot in step.slots):
        known = {slot.value: number for slot, number in zip(step.slots, entry.numbers, strict=True)}
        changing = [slot.value for slot in step.slots if slot.value in free]
        answers: dict[tuple[Any, ...], bool] = {}

        def rules_hold() -> bool:
            key = tuple([numbers[value] for value in changing])
            if key not in answers:
                if len(answers) >= _PLANS:
                    answers.clear()
                values = known | {value: plain(number) for value, number in zip(changing, key, strict=True)}
                answers[key] = all(answer is not False for _, answer in ask(step.open, step.values(values)))
            return answers[key]

        return rules_hold
    if step.searches_floats:
        return lambda: not nan_columns(step)
    return None


def _is_about_numbers(diagnostic: Diagnostic, entries: Sequence[Entry], free: set[Value]) -> bool:
    """Whether a diagnostic of the recorded run depends on the numbers of that call."""
    if diagnostic.code == "NAN-01":
        return True
    return diagnostic.span is not None and any(
        diagnostic.code == rule.id and step.op.start <= diagnostic.span.start < step.op.end
        for step, _ in entries
        if any(slot.value in free for slot in step.slots)
        for rule in step.open
    )


def compile(module: Module | str, arch: str | None = None, func: str | None = None, *, checked: bool = False) -> Kernel:
    """A kernel of a module or a text, to call many times: ``kernel(src=array)`` gives a dict of outputs.

    PtoError for a wrong program.
    With ``checked`` each call reports what ``run`` would: the rules that depend on its numbers are asked again.
    """
    return Kernel(arguments.module_of(module), arch, func, checked=checked)
