"""Instructions with their operands where they lie: resolved once, executed as often as they are reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ptoasm.dialect.base import UNUSED, Instance, Instruction, Rule, Scalar, Tile, whole_valid_region
from ptoasm.dialect.common import HAZARD_RULES
from ptoasm.interpreter.dtypes import dtype_of
from ptoasm.interpreter.kernels import Array, Call, Kernel, Spec, lookup
from ptoasm.interpreter.memory import FILL, SPOILED, Memory
from ptoasm.interpreter.tiles import Place, TileRef, Views
from ptoasm.ir import Operation, Value
from ptoasm.regions import Region
from ptoasm.structure import miscount
from ptoasm.targets import Target
from ptoasm.types import ElementType
from ptoasm.verifier import (
    ask,
    attribute_values,
    fill_in_scalars,
    judge,
    operand_regions,
    scalar_type,
    scratch_region,
    with_regions,
)

Kernels = dict[tuple[Any, ...], Kernel]
"""The kernels planned so far, by what they were planned for."""


class CannotRun(Exception):
    """An instruction that cannot be executed; ``code`` is that of the diagnostic."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Slot(NamedTuple):
    """A scalar operand that only the run knows: where it stands among the kernel's inputs, its value, type and name."""

    at: int
    value: Value
    dtype: np.dtype[Any]
    name: str


class Scratch(NamedTuple):
    """The bytes that an instruction spoils: where they are, the bytes themselves, and their writers."""

    region: Region
    data: Array
    writers: Array


class Step:
    """An instruction on tiles at known places: all that executing, tracing and repeating it needs.

    ``tiles`` holds the operands by the page's names, ``reads`` and ``writes`` those that are read and written, with the
    value that stands there. ``inputs`` is what the kernel is given, ``slots`` the scalars among them that the run must
    fill in. ``outputs`` are the elements that are written, ``scratch`` the bytes that are spoiled. ``broken`` are rules
    that these places and extents break, ``open`` those that the values of the scalars decide. ``views`` are the
    operands in global memory.
    """

    __slots__ = (
        "broken",
        "inputs",
        "instance",
        "kernel",
        "op",
        "open",
        "outputs",
        "reads",
        "scratch",
        "slots",
        "tiles",
        "views",
        "writes",
    )

    def __init__(self, op: Operation, instance: Instance, tiles: dict[str, Place]) -> None:
        self.op = op
        self.instance = instance
        self.tiles = tiles
        self.kernel: Kernel | None = None
        self.inputs: list[Any] = []
        self.slots: list[Slot] = []
        self.reads: list[tuple[str, Place]] = []
        self.writes: list[tuple[Value, Place]] = []
        self.outputs: list[Views] = []
        self.scratch: Scratch | None = None
        self.broken: list[tuple[Rule, Instance]] = []
        self.open: list[Rule] = []
        self.views: dict[str, Any] = {}

    @classmethod
    def moving(
        cls,
        op: Operation,
        target: Target,
        refs: Mapping[str, TileRef],
        views: dict[str, Any],
        kernel: Kernel,
        inputs: tuple[Array, ...],
        to: Array,
    ) -> Step:
        """The step that moves data between a tile and global memory, by way of a kernel."""
        definition = op.shape.definition
        assert definition is not None
        instance = _instance(op, definition, target, refs)
        step = cls(op, instance, {name: ref.place() for name, ref in refs.items()})
        step.kernel = kernel
        step.inputs = list(inputs)
        step.outputs = [Views(to, _NO_WRITERS)]
        step.views = views
        return step

    def number(self, name: str, env: Mapping[Value, Any]) -> Any:
        """The value of a scalar operand."""
        known = self.instance.scalars[name].value
        return known if known is not None else next(env[slot.value] for slot in self.slots if slot.name == name)

    def values(self, env: Mapping[Value, Any]) -> Instance:
        """The instance with the values of its scalars."""
        i = self.instance
        scalars = {slot.name: Scalar(i.scalars[slot.name].type, env[slot.value]) for slot in self.slots}
        return Instance(i.instruction, i.form, i.target, i.tiles, i.scalars | scalars, i.attributes, i.regions)

    @property
    def searches_floats(self) -> bool:
        """Whether it searches for an extreme and could meet a NaN (decision D-02)."""
        return self.op.shape.short_name in ("tcolargmin", "tcolargmax") and self.inputs[0].dtype.kind not in "iu"

    def execute(self, env: Mapping[Value, Any]) -> None:
        """Reads the inputs, computes, spoils scratch, writes the outputs (decision D-12)."""
        assert self.kernel is not None
        for slot in self.slots:
            self.inputs[slot.at] = slot.dtype.type(env[slot.value])
        results = self.kernel(*self.inputs)
        if self.scratch is not None:
            self.scratch.data[...] = FILL
            self.scratch.writers[...] = SPOILED
        for (data, _), result in zip(self.outputs, results, strict=True):
            data[...] = result


def operand_values(op: Operation) -> list[tuple[str, Any]]:
    """The operands and results by the page's names, inputs first."""
    shape = op.shape
    return [
        *zip(shape.input_names, op.inputs, strict=False),
        *zip(shape.output_names, op.outputs, strict=False),
    ]


def settle_open(op: Operation, target: Target, refs: Mapping[str, TileRef]) -> None:
    """Says how much of the outputs is valid where nothing else does: what is written to them (decision D-25)."""
    names = [name for name in op.shape.output_names if name in refs and refs[name].open]
    if not names:
        return
    definition = op.shape.definition
    assert definition is not None
    instance = _instance(op, definition, target, refs)
    source = next((refs[n] for n in op.shape.input_names if n in refs and n != definition.scratch), None)
    for name in names:
        ref = refs[name]
        if definition.written is whole_valid_region:
            rows, cols = (ref.rows, ref.cols) if source is None else (source.rows, source.cols)
        elif source is not None and 0 in (source.rows, source.cols):
            rows, cols = 1, source.cols  # nothing is written to the row that the result would be
        else:
            rows, cols = definition.written(instance, name)  # type: ignore[assignment]
        given = ref.type.valid_rows, ref.type.valid_cols
        ref.rows = min(rows, ref.type.rows) if given[0] is None else given[0]
        ref.cols = min(cols, ref.type.cols) if given[1] is None else given[1]


def resolve(op: Operation, target: Target, refs: Mapping[str, TileRef], ub: Memory, kernels: Kernels) -> Step | None:
    """The step; None where it would read and write nothing. CannotRun or ValueError where it cannot be executed."""
    definition = op.shape.definition
    assert definition is not None
    check_counts(op)
    instance = _instance(op, definition, target, refs)
    step = Step(op, instance, {name: ref.place() for name, ref in refs.items()})
    if definition.checked:
        _ask_rules(step, definition, ub)
    if not _find_outputs(step, definition, refs):
        return None if not (step.broken or step.open) else step
    input_specs = _find_inputs(step, definition, refs)
    output_specs = [_spec(place) for _, place in step.writes]
    step.kernel = _kernel(step, tuple(input_specs), tuple(output_specs), kernels)
    step.outputs = [place.views() for _, place in step.writes]
    step.scratch = _find_scratch(step, definition, refs, ub)
    return step


def check_counts(op: Operation) -> None:
    """CannotRun where an instruction without rules has a form that nothing here knows."""
    definition = op.shape.definition
    if definition is not None and not definition.checked:
        wrong = miscount(op.shape, definition)
        if wrong:
            raise CannotRun("RUN-05", f"this form cannot be run: {wrong}")


def _instance(op: Operation, definition: Instruction, target: Target, refs: Mapping[str, TileRef]) -> Instance:
    """The instance as far as it is known before the run's scalars are."""
    tiles = {name: Tile(ref.type, ref.rows, ref.cols) for name, ref in refs.items()}
    shape = op.shape
    scalars = {
        name: Scalar(type_, None)
        for name, type_ in zip(shape.input_names, shape.input_types, strict=False)
        if name not in tiles
    }
    values = attribute_values(shape, definition)
    return fill_in_scalars(op, Instance(definition, shape.form, target, tiles, scalars, values))


def _ask_rules(step: Step, definition: Instruction, ub: Memory) -> None:
    """Asks the rules that the text left open, and whether the operands overlap."""
    instance = step.instance
    verdict = judge(step.op.shape, instance.target)
    if verdict.open or any(rule not in HAZARD_RULES for rule in verdict.individual):
        known = {rule.id for rule, _ in verdict.broken}
        for rule, answer in ask(definition.rules, instance):
            if answer is None:
                step.open.append(rule)
            elif not answer and rule.id not in known:
                step.broken.append((rule, instance))
    if len(step.tiles) > 1:
        addresses: dict[str, int | None] = {n: p.address for n, p in step.tiles.items() if p.memory is ub}
        placed = with_regions(instance, operand_regions(_as_stored(step, instance), addresses))
        asked = [rule for rule in HAZARD_RULES if instance.target.name in rule.arches]
        step.broken += [(rule, placed) for rule in asked if rule.holds(placed) is False]


def _as_stored(step: Step, instance: Instance) -> Instance:
    """The instance with the types in whose strides the tiles lie: those of the wholes that they are parts of."""
    scratch = instance.instruction.scratch
    tiles = {
        name: tile if name == scratch else Tile(step.tiles[name].storage, tile.valid_rows, tile.valid_cols)
        for name, tile in instance.tiles.items()
    }
    return Instance(instance.instruction, instance.form, instance.target, tiles, instance.scalars, instance.attributes)


def _find_outputs(step: Step, definition: Instruction, refs: Mapping[str, TileRef]) -> bool:
    """Where the outputs are written; whether anything is."""
    for operand, value in zip(step.op.shape.output_names, step.op.outputs, strict=False):
        if operand in refs:
            rows, cols = definition.written(step.instance, operand)
            ref = refs[operand]
            assert rows is not None and cols is not None
            if rows > ref.type.rows or cols > ref.type.cols:
                raise CannotRun(
                    "RUN-12", f"{operand} has {ref.type.rows}x{ref.type.cols} elements; {rows}x{cols} are written"
                )
            step.writes.append((value, ref.place(rows, cols)))
    return any(place.rows and place.cols for _, place in step.writes)


def _find_inputs(step: Step, definition: Instruction, refs: Mapping[str, TileRef]) -> list[Spec]:
    """The kernel's inputs, views of the tiles and numbers of their types, and what they look like."""
    specs = []
    for name, value in zip(step.op.shape.input_names, step.op.inputs, strict=False):
        if name == definition.scratch:
            continue
        if name in refs:
            place = refs[name].place()
            specs.append(_spec(place))
            step.reads.append((name, place))
            step.inputs.append(place.views().data)
            continue
        dtype, number = _scalar(step, name)
        specs.append(Spec(dtype, 1, 1))
        if number is None:
            if not isinstance(value, Value):
                raise CannotRun("RUN-12", f"{value} is no value of the type {dtype.name}")
            step.slots.append(Slot(len(step.inputs), value, dtype, name))
        step.inputs.append(None if number is None else dtype.type(number))
    return specs


def _scalar(step: Step, name: str) -> tuple[np.dtype[Any], Any]:
    """A scalar operand's type, and its value where the text says it."""
    type_ = scalar_type(step.instance, name)
    dtype = dtype_of(type_) if isinstance(type_, ElementType) else None
    if dtype is None:
        raise CannotRun("RUN-05", f"a scalar of type {type_} cannot be computed with")
    return dtype, step.instance.scalars[name].value


def _spec(place: Place) -> Spec:
    dtype = dtype_of(place.storage.element)
    if dtype is None:
        raise CannotRun("RUN-05", f"elements of type {place.storage.element} cannot be computed with")
    return Spec(dtype, place.rows, place.cols, place.storage.blayout == "col_major")


def _kernel(step: Step, inputs: tuple[Spec, ...], outputs: tuple[Spec, ...], kernels: Kernels) -> Kernel:
    shape = step.op.shape
    key = (shape, step.instance.target, inputs, outputs)
    kernel = kernels.get(key)
    if kernel is None:
        plan = lookup(step.instance.instruction.name)
        if plan is None:
            raise CannotRun("RUN-05", f"'{shape.name}' is an instruction that cannot be run")
        attributes = {**shape.attributes, **step.instance.attributes}
        try:
            kernel = kernels[key] = plan(Call(step.instance.target.name, attributes, inputs, outputs))
        except ValueError as error:
            raise CannotRun("RUN-12", str(error)) from None
    return kernel


def _find_scratch(step: Step, definition: Instruction, refs: Mapping[str, TileRef], ub: Memory) -> Scratch | None:
    """The bytes of scratch that the target uses (decision D-11)."""
    ref = refs.get(definition.scratch)
    used = definition.scratch_use(step.instance)
    if ref is None or ref.memory is not ub or used is None or used == UNUSED:
        return None
    region = scratch_region(ref.type, ref.address, *used)
    return Scratch(region, ub.runs(region), ub.writers(region))


def nan_columns(step: Step) -> int:
    """How many columns of the source have a NaN."""
    source = step.inputs[0]
    return int(np.isnan(source).any(axis=0).sum()) if _has_nan(source) else 0


def _has_nan(array: Array) -> bool:
    if array.dtype == np.float16:  # as integers they compare many at a time
        return bool((array.view(np.int16) & np.int16(0x7FFF)).max() > _HALF_INFINITY)
    return bool(np.isnan(array).any())


_HALF_INFINITY = 0x7C00
_NO_WRITERS = np.empty((0, 0), np.int32)
