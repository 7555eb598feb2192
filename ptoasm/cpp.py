"""A program as C++ calls of the built-in APIs, as the pages write them.

Only what the pages say how to call is printed, with the arithmetic, loops and branches around it; anything else is an
error. See docs/conversion.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from ptoasm.buffers import buffer_root
from ptoasm.diagnostics import Diagnostic, PtoError
from ptoasm.ir import Block, Function, Literal, Module, Operation, Value
from ptoasm.numbers import literal_number
from ptoasm.placement import address_of
from ptoasm.types import DEFAULT_FRACTAL, ElementType, TileType, Type

FLAT_NAME = "program"
"""The name of the function that a flat program becomes."""

_ELEMENTS = {
    "i1": "bool",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "ui8": "uint8_t",
    "ui16": "uint16_t",
    "ui32": "uint32_t",
    "ui64": "uint64_t",
    "f16": "half",
    "bf16": "bfloat16_t",
    "f32": "float",
    "index": "int64_t",
}
_INFIX = {
    "addi": "+",
    "subi": "-",
    "muli": "*",
    "divsi": "/",
    "remsi": "%",
    "andi": "&",
    "ori": "|",
    "xori": "^",
    "shli": "<<",
    "addf": "+",
    "subf": "-",
    "mulf": "*",
    "divf": "/",
}
_CHOICE = {"minsi": "<", "maxsi": ">"}
_COMPARISONS = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_WORDS = """
    alignas alignof and asm auto bool break case catch char class const continue default delete do double else
    enum explicit export extern false float for friend goto half if inline int long mutable namespace new not
    operator or private protected public register return short signed sizeof static struct switch template this
    throw true try typedef typename union unsigned using virtual void volatile while xor
"""
_KEYWORDS = frozenset(_WORDS.split())
"""What no variable can be called."""
_CAMEL = re.compile(r"(?:^|_|\.)+(\w)")


def to_cpp(module: Module) -> str:
    """The C++ text of a module at level 2. PtoError for what the pages do not say how to call."""
    functions = "\n\n".join(_Function(f).text() for f in module.functions if f.body is not None)
    return f"#include <pto/pto-inst.hpp>\n\nusing namespace pto;\n\n{functions}\n"


def tile_text(type_: TileType) -> str:
    """``Tile<TileType::Vec, float, 16, 256, BLayout::RowMajor, -1, -1>``: what is left open is -1."""
    rows, cols = (-1 if v is None else v for v in (type_.valid_rows, type_.valid_cols))
    parts = [f"TileType::{type_.loc.capitalize()}", _ELEMENTS[type_.element.name], str(type_.rows), str(type_.cols)]
    boxed = (type_.slayout, type_.fractal, type_.pad) != ("none_box", DEFAULT_FRACTAL, "null")
    if boxed or type_.blayout != "row_major" or (rows, cols) != (type_.rows, type_.cols):
        parts += [f"BLayout::{_camel(type_.blayout)}", str(rows), str(cols)]
    if boxed:
        parts += [f"SLayout::{_camel(type_.slayout)}", str(type_.fractal), f"PadValue::{_camel(type_.pad)}"]
    return f"Tile<{', '.join(parts)}>"


def _camel(name: str) -> str:
    return _CAMEL.sub(lambda m: m[1].upper(), name)


class _Function:
    """Prints one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.lines: list[str] = []
        self.aliases: dict[tuple[TileType, str], str] = {}
        self.names: dict[Value, str] = {}
        self.used: set[str] = set()
        self.declared: set[Value] = set()
        self.depth = 1
        self.results: list[Value] = []

    def fault(self, op: Operation, message: str) -> PtoError:
        """The error for what has no C++."""
        source = self.function.module.source
        name = self.function.name or None
        return PtoError([Diagnostic("error", "CONV-01", message, source, op.span, (), op.shape.short_name, name)])

    def text(self) -> str:
        """The function's definition, behind the aliases that its parameters need."""
        function = self.function
        assert function.body is not None
        last = function.body.operations[-1] if function.body.operations else None
        returned = last.inputs if last is not None and last.shape.name in ("return", "func.return") else []
        self.results = [v for v in returned if isinstance(v, Value) and isinstance(v.type, TileType)]
        parameters = [self._parameter(v) for v in self._parameters()]
        before, self.lines = self.lines, []
        result = next((v for v in returned if isinstance(v, Value) and isinstance(v.type, ElementType)), None)
        kind = "void" if result is None else self._element(result.type, None)
        if function.flat:
            self._declare_given(function.body)
        self._block(function.body)
        head = f"{kind} {_identifier(function.name or FLAT_NAME)}({', '.join(parameters)}) {{"
        return "\n".join([*before, head, *self.lines, "}"])

    def _parameters(self) -> list[Value]:
        """What comes from outside: arguments, and the tiles that the function returns."""
        function = self.function
        given = [v for v in function.arguments if not (function.flat and isinstance(v.type, TileType))]
        return [*given, *(v for v in dict.fromkeys(map(buffer_root, self.results)) if v not in function.arguments)]

    def _parameter(self, value: Value) -> str:
        self.declared.add(value)
        if isinstance(value.type, TileType):
            return f"{self._alias(value, 0)} &{self._name(value)}"
        if not isinstance(value.type, ElementType):
            op = next((user for user, _ in value.uses), None) or next(self.function.walk())
            raise self.fault(op, f"'%{value.name}' is a {value.type}; global memory has no C++ here")
        return f"{self._element(value.type, None)} {self._name(value)}"

    def _element(self, type_: Type | None, op: Operation | None) -> str:
        found = _ELEMENTS.get(str(type_))
        if found is None:
            raise self.fault(op or next(self.function.walk()), f"the type {type_} has no C++ here")
        return found

    def line(self, text: str) -> None:
        """Adds a line at the current depth."""
        self.lines.append("  " * self.depth + text)

    # --- Tiles

    def _alias(self, value: Value, depth: int | None = None) -> str:
        """The alias of a tile's type: one for each type and kind of name, declared where it is first used."""
        type_ = value.type
        assert isinstance(type_, TileType)
        stem = _camel(re.sub(r"[0-9_.#-]+$", "", value.name) or "v")
        key = (type_.with_(kind="tile_buf"), stem)
        name = self.aliases.get(key)
        if name is None:
            self._element(type_.element, value.definition)
            used = set(self.aliases.values())
            candidates = (f"{stem[:1].upper()}{stem[1:]}{n or ''}T" for n in range(len(used) + 1))
            name = self.aliases[key] = next(c for c in candidates if c not in used)
            self._declare_alias(f"using {name} = {tile_text(type_)};", depth)
        return name

    def _declare_alias(self, text: str, depth: int | None) -> None:
        self.lines.append("  " * (self.depth if depth is None else depth) + text)

    def _declare_given(self, body: Block) -> None:
        """The tiles of a flat program: all aliases, then all tiles, as on the pages."""
        tiles = [v for v in body.free if isinstance(v.type, TileType)]
        for value in tiles:
            self._alias(value)
        for value in tiles:
            self._declare(value, [])

    def _declare(self, value: Value, extents: list[str]) -> None:
        self.declared.add(value)
        arguments = f"({', '.join(extents)})" if extents else ""
        self.line(f"{self._alias(value)} {self._name(value)}{arguments};")

    def _name(self, value: Value) -> str:
        root = buffer_root(value)
        found = self.names.get(root)
        if found is None:
            base = _identifier(root.name)
            found = self.names[root] = base if base not in self.used else f"{base}_{len(self.used)}"
            self.used.add(found)
        return found

    def _operand(self, op: Operation, value: Value | Literal, type_: Type | None = None) -> str:
        """An operand as an expression: a constant is its number."""
        if isinstance(value, Value):
            definition = value.definition
            if definition is None or definition.shape.name != "arith.constant" or not definition.inputs:
                return self._name(value)
            type_, literal = value.type, definition.inputs[0]
            assert isinstance(literal, Literal)
            return self._number(op, literal, type_)
        return self._number(op, value, type_)

    def _number(self, op: Operation, literal: Literal, type_: Type | None) -> str:
        number = literal_number(literal.text, type_) if isinstance(type_, ElementType) else None
        if number is None:
            return literal.text
        if isinstance(number, float) and not math.isfinite(number):
            raise self.fault(op, f"{literal.text} has no literal in C++")
        if literal.text in ("true", "false"):
            return literal.text
        return f"{number!r}f" if isinstance(number, float) else str(number)

    # --- Operations

    def _block(self, block: Block) -> None:
        operations = block.operations
        at = 0
        while at < len(operations):
            group = self._allocations(operations, at)
            if group:
                at += len(group)
                continue
            self._operation(operations[at])
            at += 1

    def _allocations(self, operations: list[Operation], at: int) -> list[Operation]:
        """Neighbouring allocations: all aliases, then all tiles, as on the pages."""
        group = []
        for op in operations[at:]:
            if op.shape.name not in ("pto.alloc_tile", "arith.constant"):
                break
            group.append(op)
        tiles = [op for op in group if op.shape.name == "pto.alloc_tile"]
        for op in tiles:
            if op.outputs[0] not in self.declared:
                self._alias(op.outputs[0])
        for op in tiles:
            self._alloc(op)
        return group

    def _alloc(self, op: Operation) -> None:
        value = op.outputs[0]
        type_ = value.type
        assert isinstance(type_, TileType)
        if value not in self.declared:
            extents = []
            for name, known in (("valid_row", type_.valid_rows), ("valid_col", type_.valid_cols)):
                operand = op.operand(name)
                if known is None:
                    extent = type_.rows if name == "valid_row" else type_.cols
                    extents.append(str(extent) if operand is None else self._operand(op, operand))
            self._declare(value, extents)
        address = op.operand("addr")
        if address is not None:
            self._assign(op, value, address)

    def _assign(self, op: Operation, value: Value, address: Value | Literal) -> None:
        if isinstance(address, Literal):
            text = address.text
        else:
            known = address_of(address)
            text = self._name(address) if known is None else f"0x{known:X}"
        self.line(f"TASSIGN({self._name(value)}, {text});")

    def _operation(self, op: Operation) -> None:
        name = op.shape.name
        if name == "pto.tassign":
            tile = op.inputs[0]
            assert isinstance(tile, Value)
            self._assign(op, tile, op.inputs[1])
            return
        handler = _HANDLERS.get(name) or _HANDLERS.get(name.partition(".")[0])
        if handler is None:
            raise self.fault(op, f"no page says how '{name}' is called from C++")
        handler(self, op)

    def argmin(self, op: Operation) -> None:
        """``TCOLARGMIN(dstVal, dstIdx, src, tmp)``"""
        self.line(f"TCOLARGMIN({', '.join(self._operand(op, v) for v in (*op.outputs, *op.inputs))});")

    def sum(self, op: Operation) -> None:
        """``TCOLSUM(dst, src)``, with tmp ``TCOLSUM(dst, src, tmp, /*isBinary=*/true)``"""
        arguments = [self._operand(op, v) for v in (*op.outputs, *op.inputs)]
        if len(op.inputs) > 1:
            arguments.append(f"/*isBinary=*/{op.attributes.get('isBinary', 'false')}")
        self.line(f"TCOLSUM({', '.join(arguments)});")

    def sequence(self, op: Operation) -> None:
        """``TCI<TileT, int32_t, /*descending=*/1>(dst, S)``, with tmp ``TCI<TileT, TmpT, …>(dst, S, tmp)``"""
        dst = op.outputs[0]
        start, *scratch = op.inputs
        assert isinstance(dst.type, TileType)
        element = dst.type.element
        descending = int(op.attributes.get("descending") == "true")
        tiles = [v for v in (dst, *scratch) if isinstance(v, Value)]
        types = [self._alias(buffer_root(v)) for v in tiles]
        parameters = [*types, self._element(element, op), f"/*descending=*/{descending}"]
        number = f"/*S=*/{self._operand(op, start, element)}"
        arguments = [self._name(dst), number, *(self._operand(op, v) for v in scratch)]
        self.line(f"TCI<{', '.join(parameters)}>({', '.join(arguments)});")

    def arithmetic(self, op: Operation) -> None:
        """A constant is written where it is used; anything else is a variable."""
        if op.shape.name == "arith.constant":
            return
        result = op.outputs[0] if op.outputs else None
        if result is not None:
            kind = self._element(result.type, op)
            self.line(f"const {kind} {self._name(result)} = {self._expression(op, kind)};")

    def _expression(self, op: Operation, kind: str) -> str:
        name = op.shape.name.removeprefix("arith.")
        operands = [self._operand(op, v) for v in op.inputs]
        if name in _INFIX:
            return f"{operands[0]} {_INFIX[name]} {operands[1]}"
        if name in _CHOICE:
            return f"{operands[0]} {_CHOICE[name]} {operands[1]} ? {operands[0]} : {operands[1]}"
        if name == "select":
            return f"{operands[0]} ? {operands[1]} : {operands[2]}"
        word = op.shape.keywords.get("word", "")
        if name == "cmpi" and word in _COMPARISONS:
            return f"{operands[0]} {_COMPARISONS[word]} {operands[1]}"
        if name in ("index_cast", "extsi", "trunci", "sitofp", "fptosi", "extf", "truncf"):
            return f"static_cast<{kind}>({operands[0]})"
        raise self.fault(op, f"'{op.shape.name}' has no C++ here")

    def loop(self, op: Operation) -> None:
        """``scf.for``"""
        if len(op.inputs) > 3 or "word" in op.shape.keywords:
            raise self.fault(op, "a loop that carries values has no C++ here")
        index = op.regions[0].arguments[0]
        lower, upper, step = (self._operand(op, v) for v in op.inputs)
        name = self._name(index)
        kind = self._element(index.type, op)
        self.line(f"for ({kind} {name} = {lower}; {name} < {upper}; {name} += {step}) {{")
        self._nested(op.regions[0])
        self.line("}")

    def branch(self, op: Operation) -> None:
        """``scf.if``"""
        if op.shape.output_types:
            raise self.fault(op, "a branch that gives values has no C++ here")
        self.line(f"if ({self._operand(op, op.inputs[0])}) {{")
        for k, region in enumerate(op.regions):
            if k:
                self.line("} else {")
            self._nested(region)
        self.line("}")

    def _nested(self, block: Block) -> None:
        aliases = dict(self.aliases)
        self.depth += 1
        self._block(block)
        self.depth -= 1
        self.aliases = aliases

    def leave(self, op: Operation) -> None:
        """``return`` of a scalar; tiles are parameters."""
        scalars = [v for v in op.inputs if not (isinstance(v, Value) and isinstance(v.type, TileType))]
        if len(scalars) > 1 or any(v.definition is not None and v.definition.regions for v in self.results):
            raise self.fault(op, "what it returns has no C++ here")
        if scalars:
            self.line(f"return {self._operand(op, scalars[0])};")

    def call(self, op: Operation) -> None:
        """``func.call``"""
        if len(op.outputs) > 1 or any(isinstance(t, TileType) for t in op.shape.output_types):
            raise self.fault(op, "a call that gives tiles or several values has no C++ here")
        arguments = ", ".join(self._operand(op, v) for v in op.inputs)
        text = f"{_identifier(op.shape.keywords['symbol'])}({arguments});"
        if op.outputs:
            text = f"const {self._element(op.outputs[0].type, op)} {self._name(op.outputs[0])} = {text}"
        self.line(text)


def _identifier(name: str) -> str:
    """A name that C++ takes."""
    text = re.sub(r"\W", "_", name)
    if not text or text[0].isdigit():
        text = f"v{text}"
    return f"{text}_" if text in _KEYWORDS else text


_HANDLERS: dict[str, Callable[[_Function, Operation], None]] = {
    "pto.tcolargmin": _Function.argmin,
    "pto.tcolsum": _Function.sum,
    "pto.tci": _Function.sequence,
    "arith": _Function.arithmetic,
    "scf.for": _Function.loop,
    "scf.if": _Function.branch,
    "scf.yield": lambda function, op: None,
    "return": _Function.leave,
    "func.return": _Function.leave,
    "func.call": _Function.call,
    "call": _Function.call,
}
