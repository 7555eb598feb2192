"""Whether two modules hold the same program, up to the names of values."""

from __future__ import annotations

from ptoasm.ir import FOREIGN, HOST, Block, Function, Literal, Module, Operation, Value
from ptoasm.numbers import literal_number
from ptoasm.types import ElementType

NAMES = {"func.return": "return", "call": "func.call"}


def dump(module: Module) -> list[str]:
    """The program, a line an operation, values by number.

    What generic form does not keep apart is made alike: the order of attributes, how a number is spelled (an attribute
    without a type is an i64), where a
    ``tassign`` stands that precedes the definition, a terminator without operands.
    """
    lines = [f"module {module.name} {sorted(module.attributes.items())}"]
    for function in module.functions:
        lines += _Dump(function).lines
    return lines


class _Dump:
    def __init__(self, function: Function) -> None:
        self.lines: list[str] = []
        self.numbers: dict[Value, int] = {}
        self.early: dict[Value, str] = {}
        attributes = {k: v for k, v in function.attributes.items() if k != "pto.flat"}
        types = [a.type for a in function.arguments] if function.body else list(function.argument_types)
        self.lines.append(
            f"{'flat' if function.flat else function.name} {function.visibility} {types} {function.result_types} "
            f"{sorted(attributes.items())} {_given(function.argument_attributes)} {_given(function.result_attributes)}"
        )
        if function.body is not None:
            for argument in function.arguments:
                self.number(argument)
            self.block(function.body, 1)

    def number(self, value: Value) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def block(self, block: Block, depth: int) -> None:
        for op in block.operations:
            self.operation(op, depth)

    def operation(self, op: Operation, depth: int) -> None:
        shape = op.shape
        name = NAMES.get(shape.name, shape.name)
        if name == "scf.yield" and not op.inputs:
            return
        if name == "pto.tassign" and not op.outputs and self._is_early(op):
            return
        inputs = [str(self.number(v)) if isinstance(v, Value) else self.literal(op, v) for v in op.inputs]
        early = [self.early.get(v) for v in op.results]
        unnamed = [Value("", t, op) for t in shape.output_types[len(op.outputs) :]]
        outputs = [f"{self.number(v)}: {v.type}" for v in (*op.outputs, *unnamed)]
        attributes = sorted((k, "".join(v.split()).removesuffix(":i64")) for k, v in shape.attributes.items())
        keywords = [] if shape.form == FOREIGN else sorted(shape.keywords.items())
        types = [] if shape.form == HOST or name == "pto.tassign" else list(shape.input_types)
        self.lines.append(
            f"{'  ' * depth}{name} {shape.form} ({inputs}) -> {outputs} {types} {attributes} {keywords} "
            f"{early if any(early) else ''} {shape.input_names}"
        )
        for k, region in enumerate(op.regions):
            if k and shape.name == "scf.if" and not region.operations:
                continue
            self.lines.append(f"{'  ' * depth}^{[f'{self.number(a)}: {a.type}' for a in region.arguments]}")
            self.block(region, depth + 1)

    def _is_early(self, op: Operation) -> bool:
        tile, address = op.inputs
        if not isinstance(tile, Value) or tile in self.numbers or not isinstance(address, Literal):
            return False
        self.early[tile] = address.text
        return True

    @staticmethod
    def literal(op: Operation, literal: Literal) -> str:
        type_ = op.outputs[0].type if op.shape.name == "arith.constant" and op.outputs else None
        if isinstance(type_, ElementType):
            return repr(literal_number(literal.text, type_))
        return literal.text


def _given(attributes: list[dict[str, str]]) -> list[dict[str, str]]:
    return attributes if any(attributes) else []
