"""MLIR's generic form: printing it, so that ``mlir-opt --allow-unregistered-dialect`` reads it.

docs/conversion.md says how what generic form has no place for is written. ``generic_syntax.py`` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ptoasm.diagnostics import Diagnostic, PtoError
from ptoasm.dialect.host import SYNTAX
from ptoasm.ir import DPS, FLAT, FOREIGN, HOST, SYNC, Block, Function, Literal, Module, Operation, Value
from ptoasm.printer import (
    COMPACT,
    dictionary_text,
    entry_text,
    is_broken,
    keyword_groups,
    operands_text,
    results_text,
    types_text,
)
from ptoasm.types import ElementType, TileType, Type

INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = [
    "false",
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
    "uno",
    "true",
]
"""The names of comparisons by the number that generic form gives them."""

LITERALS = "pto.literals"
"""The attribute that holds the literals in operand position: {S = "5 : i32"}."""
ADDRESSES = "pto.addresses"
"""The attribute that holds what ``tassign`` binds results to before they are defined: ["0x1000", unit]."""
AT = "pto.at"
"""The attribute of a ``tassign`` that is written with ``@tile(…)``."""
SEGMENTS = "operandSegmentSizes"
NAMES = {"return": "func.return", "call": "func.call", "module": "builtin.module"}
"""Short names and the full ones of generic form."""
CONSTANT = "pto.constant"
"""An ``arith.constant`` of an unsigned type: MLIR's own has none."""
CLAUSES = {"overflow": "overflowFlags", "fastmath": "fastmath"}
"""What stands between operands and types, and the property that it is in generic form."""

_FLOAT = re.compile(r"(-?[0-9]+)([eE][+-]?[0-9]+)?")


def print_generic(module: Module, *, types: str = COMPACT) -> str:
    """The module in MLIR's generic form. PtoError for what has none."""
    printer = GenericPrinter(types)
    printer.module(module)
    return "\n".join(printer.lines) + "\n"


class GenericPrinter:
    """Collects the lines of one module."""

    def __init__(self, types: str = COMPACT) -> None:
        self.types = types
        self.lines: list[str] = []
        self.bound: dict[Value, str] = {}

    def type_text(self, type_: Type | None) -> str:
        """A type as it is spelled here."""
        return type_.keyed() if self.types != COMPACT and isinstance(type_, TileType) else str(type_)

    # --- Structure

    def module(self, module: Module) -> None:
        """Prints a module: generic form always has one."""
        for item in module.items:
            if not isinstance(item, Function):
                self.lines.append(item)
        properties = f' <{{sym_name = "{module.name}"}}>' if module.name else ""
        self.lines.append(f'"builtin.module"(){properties} ({{')
        for function in module.functions:
            self.function(function, "  ")
        attributes = f" {dictionary_text(module.attributes)}" if module.attributes else ""
        self.lines.append(f"}}){attributes} : () -> ()")

    def function(self, function: Function, indent: str) -> None:
        """Prints a function; a flat program is one without a name."""
        arguments = [a.type for a in function.arguments] if function.body else list(function.argument_types)
        self.lines.append(f'{indent}"func.func"() <{{{self._properties(function, arguments)}}}> ({{')
        attributes = dict(function.attributes)
        if function.body is not None:
            self.bound = {}
            given = function.arguments
            self._block(function.body, given, indent, "func.return")
        if function.flat:
            attributes[FLAT] = ""
        text = f" {dictionary_text(attributes)}" if attributes else ""
        self.lines.append(f"{indent}}}){text} : () -> ()")

    def _properties(self, function: Function, arguments: Sequence[Type | None]) -> str:
        listed = ", ".join(map(self.type_text, arguments))
        results = types_text(function.result_types, self.type_text)
        entries = [f"function_type = ({listed}) -> {results}"]
        for name, given, count in (
            ("arg_attrs", function.argument_attributes, len(arguments)),
            ("res_attrs", function.result_attributes, len(function.result_types)),
        ):
            if any(given):
                padded = [*given, *({} for _ in range(count - len(given)))]
                entries.append(f"{name} = [{', '.join(map(dictionary_text, padded))}]")
        entries.append(f'sym_name = "{function.name or "main"}"')
        if function.visibility:
            entries.append(f'sym_visibility = "{function.visibility}"')
        return ", ".join(entries)

    def _block(self, block: Block, arguments: Sequence[Value], indent: str, terminator: str) -> None:
        if arguments:
            listed = ", ".join(f"%{a.name}: {self.type_text(a.type)}" for a in arguments)
            self.lines.append(f"{indent}^bb0({listed}):")
        inner = f"{indent}  "
        for op in block.operations:
            self._operation(op, inner)
        last = block.operations[-1].shape.name if block.operations else ""
        if terminator and NAMES.get(last, last) not in ("func.return", "scf.yield", "scf.condition"):
            self.lines.append(f'{inner}"{terminator}"() : () -> ()')

    def _operation(self, op: Operation, indent: str) -> None:
        shape = op.shape
        if shape.form == FOREIGN:
            self._foreign(op, indent)
        elif self._binds_early(op):
            return
        else:
            properties, attributes = parts_of(op)
            addresses = self._addresses(op)
            if addresses:
                attributes[ADDRESSES] = addresses
            self._print(op, indent, properties, attributes)

    def _binds_early(self, op: Operation) -> bool:
        """Whether it is a ``tassign`` that stands before the definition: that becomes an attribute there."""
        if op.shape.name != "pto.tassign" or op.outputs:
            return False
        tile, address = op.inputs
        assert isinstance(tile, Value)
        definition = tile.definition
        if definition is None or definition.start < op.start or (definition.start, definition.end) == (0, 0):
            return False
        if definition.start == op.start and not _follows(op, definition):
            return False
        if not isinstance(address, Literal):
            raise _fault(op, f"'%{tile.name}' is bound before it is defined to an address that only a run knows")
        self.bound[tile] = address.text
        return True

    def _addresses(self, op: Operation) -> str:
        bound = [self.bound.get(v) for v in op.results]
        if not any(bound):
            return ""
        return f"[{', '.join('unit' if a is None else quoted(a) for a in bound)}]"

    def _foreign(self, op: Operation, indent: str) -> None:
        text: str = op.shape.keywords["text"]
        if not text.startswith('"'):
            raise _fault(op, f"'{op.shape.name}' is written in a syntax of its own; it has no generic form here")
        results = f"{results_text(op.outputs)} = " if op.outputs else ""
        self.lines.append(f"{indent}{results}{text}")

    def _print(self, op: Operation, indent: str, properties: dict[str, str], attributes: dict[str, str]) -> None:
        values = [v for v in op.inputs if isinstance(v, Value)]
        if op.shape.form == DPS:
            values += op.outputs
        head = f"{results_text(op.results)} = " if op.results else ""
        name = NAMES.get(op.shape.name, op.shape.name)
        if op.shape.form == SYNC:
            name = op.shape.short_name
        if name == "arith.constant" and _is_unsigned(op.outputs[0].type):
            name, attributes, properties = CONSTANT, properties | attributes, {}
        text = f'{indent}{head}"{name}"({operands_text(values)})'
        text += f" <{dictionary_text(properties)}>" if properties else ""
        given = [] if op.shape.form == DPS else op.shape.output_types
        results = types_text([v.type for v in op.results] or given, self.type_text)
        types = f"({', '.join(self.type_text(v.type) for v in values)}) -> {results}"
        tail = f"{f' {dictionary_text(attributes)}' if attributes else ''} : {types}"
        if not op.regions:
            self.lines.append(f"{text}{tail}")
            return
        self.lines.append(f"{text} ({{")
        self._regions(op, indent)
        self.lines.append(f"{indent}}}){tail}")

    def _regions(self, op: Operation, indent: str) -> None:
        terminator = "scf.yield" if op.shape.name.startswith("scf.") else ""
        for k, block in enumerate(op.regions):
            if k:
                self.lines.append(f"{indent}}}, {{")
            self._block(block, block.arguments, indent, terminator)
        if op.shape.name == "scf.if" and len(op.regions) == 1:
            self.lines.append(f"{indent}}}, {{")


def _follows(op: Operation, definition: Operation) -> bool:
    """Whether ``definition`` stands behind ``op`` in the same block."""
    operations = op.block.operations
    return definition.block is op.block and operations.index(op) < operations.index(definition)


def _fault(op: Operation, message: str) -> PtoError:
    source = op.block.function.module.source
    name = op.block.function.name or None
    return PtoError([Diagnostic("error", "CONV-01", message, source, op.span, (), op.shape.short_name, name)])


def _is_unsigned(type_: Type | None) -> bool:
    return isinstance(type_, ElementType) and type_.kind == "uint"


def quoted(text: str) -> str:
    """A string attribute."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- What stands beside the operands: (properties, attributes)


Parts = tuple[dict[str, str], dict[str, str]]


def parts_of(op: Operation) -> Parts:
    """The inherent properties of MLIR's own operations, and all other attributes."""
    shape = op.shape
    if is_broken(op):
        raise _fault(op, "the statement is not well-formed; it has no generic form")
    attributes = dict(shape.attributes)
    if shape.form != HOST:
        return {}, attributes | _instruction_parts(op)
    made = _PARTS.get(SYNTAX.get(shape.name, ""))
    if made is None:
        return {}, attributes
    properties, more = made(op)
    return properties, attributes | more


def _instruction_parts(op: Operation) -> dict[str, str]:
    shape = op.shape
    parts: dict[str, str] = {}
    values = [v for v in op.inputs if isinstance(v, Value)]
    if "at" in shape.keywords:
        parts[AT] = ""
    if shape.form == DPS:
        parts[SEGMENTS] = _array(len(values), len(op.outputs))
    literals = [
        (n, v.text if t is None else f"{v.text} : {t}")
        for n, v, t in zip(shape.input_names, op.inputs, shape.input_types, strict=False)
        if isinstance(v, Literal)
    ]
    if literals:
        parts[LITERALS] = f"{{{', '.join(entry_text(n, quoted(text)) for n, text in literals)}}}"
    return parts


def _array(*numbers: int) -> str:
    return f"array<i32: {', '.join(map(str, numbers))}>"


def _constant(op: Operation) -> Parts:
    value = op.inputs[0]
    type_ = op.outputs[0].type if op.outputs else op.shape.output_types[0]
    assert isinstance(value, Literal)
    if value.text in ("true", "false"):
        return {"value": value.text}, {}
    text = value.text
    if isinstance(type_, ElementType) and (type_.is_float or type_.text == "f64"):
        text = _FLOAT.sub(r"\1.0\2", text) if _FLOAT.fullmatch(text) else text
    return {"value": f"{text} : {type_}"}, {}


def _compute(op: Operation) -> Parts:
    properties = {}
    for clause in op.shape.keywords.get("modifiers", ()):
        name, _, value = clause.partition("<")
        properties[CLAUSES.get(name, name)] = f"#arith.{name}<{value}"
    word = op.shape.keywords.get("word")
    if word is not None:
        predicates: Sequence[str] = FLOAT_PREDICATES if op.shape.name == "arith.cmpf" else INTEGER_PREDICATES
        if word not in predicates:
            raise _fault(op, f"'{word}' is no comparison")
        properties["predicate"] = f"{predicates.index(word)} : i64"
    return properties, {}


def _call(op: Operation) -> Parts:
    return {"callee": f"@{op.shape.keywords['symbol']}"}, {}


def _alloc(op: Operation) -> Parts:
    names = op.shape.input_names
    given = [v for v in op.inputs if isinstance(v, Value)]
    literals = {n: v.text for n, v in zip(names, op.inputs, strict=True) if isinstance(v, Literal)}
    attributes = {}
    if given:
        present = [int(n in names and n not in literals) for n in ("addr", "valid_row", "valid_col")]
        attributes[SEGMENTS] = _array(*present)
    if literals:
        attributes[LITERALS] = f"{{{', '.join(entry_text(n, quoted(t)) for n, t in literals.items())}}}"
    return {}, attributes


def _no_literals(op: Operation) -> None:
    literal = next((v for v in op.inputs if isinstance(v, Literal)), None)
    if literal is not None:
        raise _fault(
            op, f"the operand {literal.text} must be a value in generic form; an arith.constant gives it a name"
        )


def _view(op: Operation) -> Parts:
    _no_literals(op)
    return {}, {SEGMENTS: _array(1, *(n for _, n in keyword_groups(op.shape.input_names[1:])))}


def _window(op: Operation) -> Parts:
    _no_literals(op)
    names = op.shape.input_names
    counts = 1, names.count("offset"), names.count("valid")
    return {}, {SEGMENTS: _array(*counts), "sizes": f"[{', '.join(map(str, op.shape.keywords['sizes']))}]"}


def _plain(op: Operation) -> Parts:
    _no_literals(op)
    return {}, {}


def _loop(op: Operation) -> Parts:
    if "word" in op.shape.keywords:
        raise _fault(op, f"an {op.shape.keywords['word']} loop has no generic form in this version of MLIR")
    return _plain(op)


_PARTS: dict[str, Callable[[Operation], Parts]] = {
    "CONSTANT": _constant,
    "COMPUTE": _compute,
    "COMPARE": _compute,
    "CAST": _compute,
    "CALL": _call,
    "ALLOC": _alloc,
    "VIEW": _view,
    "WINDOW": _window,
    "LOOP": _loop,
    "BRANCH": _plain,
    "WHILE": _plain,
    "ACCESS": _plain,
    "OPERATE": _plain,
    "LEAVE": _plain,
    "CONDITION": _plain,
}


def parts(op: Operation) -> dict[str, Any]:
    """Properties and attributes together."""
    properties, attributes = parts_of(op)
    return properties | attributes
