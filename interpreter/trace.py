"""What a run does, an instruction a line: where its operands lie, and a digest of what it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptoasm.interpreter.kernels import Array
from ptoasm.interpreter.machine import Machine
from ptoasm.interpreter.report import element_name, plain_number, plain_values
from ptoasm.interpreter.steps import Step
from ptoasm.interpreter.tiles import Place
from ptoasm.ir import Value

FIRST = 4
"""So many of the values that were written are shown."""


class Trace:
    """Counts the instructions of a run and describes each."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.number = 0

    def record(self, step: Step) -> dict[str, Any]:
        """The instruction that was just executed, for a program to read."""
        self.number += 1
        op = step.op
        line, _ = self.machine.module.source.position(op.start)
        outputs = op.shape.output_names
        found: dict[str, Any] = {"step": self.number, "line": line, "op": op.shape.short_name}
        if self.machine.block_count > 1:
            found["block"] = self.machine.block_index
        found["operands"] = [one for name, one in self._operands(step) if name not in outputs]
        found["written"] = [
            one | digest(views.data)
            for (_, one), views in zip(
                ((n, o) for n, o in self._operands(step) if n in outputs), step.outputs, strict=True
            )
        ]
        return found

    def line(self, step: Step) -> str:
        """The instruction that was just executed, for people to read."""
        found = self.record(step)
        block = f"  block {found['block']}" if "block" in found else ""
        read = ", ".join(_operand_text(one) for one in found["operands"])
        wrote = "; ".join(f"{_operand_text(one)}: {_digest_text(one)}" for one in found["written"])
        return f"{found['step']:5}{block}  line {found['line']:<4} {found['op']:<11} {read} -> {wrote}"

    def _operands(self, step: Step) -> Iterator[tuple[str, dict[str, Any]]]:
        """The operands by the page's names: tiles with their places, views as text, scalars with their values."""
        shape = step.op.shape
        for name, value in (
            *zip(shape.input_names, step.op.inputs, strict=False),
            *zip(shape.output_names, step.op.outputs, strict=False),
        ):
            one: dict[str, Any] = {"name": name}
            if isinstance(value, Value):
                one["value"] = value.name
            if name in step.tiles:
                yield name, one | _place(step.tiles[name], self.machine)
            elif name in step.views:
                yield name, one | _view(step.views[name], step.outputs[0].data)
            else:
                yield name, one | {"number": plain_number(step.number(name, self.machine.env))}


def _place(place: Place, machine: Machine) -> dict[str, Any]:
    found = {"address": place.address, "shape": [place.rows, place.cols], "dtype": place.storage.element.name}
    return found if place.memory is machine.memory else found | {"loc": place.storage.loc}


def _view(view: Any, moved: Array) -> dict[str, Any]:
    """The array behind a view, the index of the view's first element there, and how much of it was moved."""
    element = element_name(view.buffer.array.dtype)
    return {"of": f"%{view.buffer.name}[{view.start}]", "shape": list(moved.shape), "dtype": element}


def digest(array: Array) -> dict[str, Any]:
    """The first values, the least, the greatest, and how many are NaN."""
    found: dict[str, Any] = {"first": plain_values(array.reshape(-1)[:FIRST])}
    if array.dtype.kind in "iu":
        return found | {"min": int(array.min()), "max": int(array.max())} if array.size else found
    nan = np.isnan(array)
    rest = array[~nan]
    if rest.size:
        found |= {"min": plain_number(rest.min()), "max": plain_number(rest.max())}
    return found | {"nan": int(nan.sum())}


def _operand_text(one: dict[str, Any]) -> str:
    name = f"{one['name']} %{one['value']}" if "value" in one else one["name"]
    if "number" in one:
        return f"{name} = {one['number']}"
    where = one.get("of") or f"{one.get('loc', '')}{one['address']:#x}"
    return f"{name} {where} {'x'.join(map(str, one['shape']))}x{one['dtype']}"


def _digest_text(one: dict[str, Any]) -> str:
    size = int(np.prod(one["shape"]))
    parts = [" ".join(_short(v) for v in one["first"]) + (" …" if size > len(one["first"]) else "")]
    if "min" in one:
        parts.append(f"min {_short(one['min'])}, max {_short(one['max'])}")
    if one.get("nan"):
        parts.append(f"{one['nan']} NaN")
    return ", ".join(part for part in parts if part)


def _short(number: Any) -> str:
    return number if isinstance(number, str) else f"{number:.6g}" if isinstance(number, float) else str(number)
