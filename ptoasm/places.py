"""Where the parts of a statement stand in the text: found by reading the statement again when a diagnostic needs it."""

from __future__ import annotations

from ptoasm.builder import definition_note, result_names
from ptoasm.diagnostics import Note
from ptoasm.ir import Function, Literal, Module, Operation, Value
from ptoasm.lexer import Chunk, blank_comments
from ptoasm.source import Span
from ptoasm.statements import Statement, parse_chunk, parse_dictionary, span_of
from ptoasm.tile_types import parameter_spans
from ptoasm.types import TileType


class Places:
    """The places of one module's text."""

    def __init__(self, module: Module) -> None:
        self.source = module.source
        self._code: str | None = None

    @property
    def code(self) -> str:
        """The text without its comments."""
        if self._code is None:
            self._code = blank_comments(self.source.text)
        return self._code

    def statement(self, start: int) -> Statement:
        """The statement that starts at this offset."""
        return parse_chunk(Chunk(self.code, start))

    def name(self, op: Operation) -> Span:
        """The operation's name."""
        statement = self.statement(op.start)
        if statement.name is None:
            return op.span
        return Span(*statement.name.items[0])

    def nth(self, op: Operation, at: int) -> Span:
        """The operand or result at this position among the inputs and then the outputs."""
        statement = self.statement(op.start)
        if at < len(statement.inputs):
            return Span(*statement.inputs[at])
        at -= len(op.inputs)
        if statement.kind == "dps":
            return Span(*statement.outputs[at]) if at < len(statement.outputs) else self.name(op)
        names = result_names(statement.results, self.code[op.start : op.end], op.start)
        return names[at][1] if 0 <= at < len(names) else self.name(op)

    def operand(self, op: Operation, name: str) -> Span:
        """What a rule names (see Rule): an operand, a result, an attribute or a list; else the operation's name."""
        if name.startswith("{"):
            return self.dictionary_entry(op.start, name[1:]) or self.name(op)
        if name.startswith(":") or name == "results":
            return self._list(op, name) or self.name(op)
        at = self.index(op, name)
        return self.name(op) if at is None else self.nth(op, at)

    def _list(self, op: Operation, name: str) -> Span | None:
        statement = self.statement(op.start)
        if name == "results":
            return None if statement.results is None else Span(*statement.results.items[0])
        types = statement.input_types
        if name == ":>" and (statement.kind == "dps" or statement.output_types):
            types = statement.output_types
        return span_of(types) if types else None

    @staticmethod
    def index(op: Operation, name: str) -> int | None:
        """The position of an operand among the inputs and then the outputs, by the page's name or as ``#position``."""
        if name.startswith("#"):
            return int(name[1:])
        shape = op.shape
        if name in shape.input_names:
            return shape.input_names.index(name)
        if name in shape.output_names:
            return len(op.inputs) + shape.output_names.index(name)
        return None

    def value(self, op: Operation, value: Value) -> Span:
        """Where an operation names a value."""
        for at, other in enumerate((*op.inputs, *op.outputs)):
            if other is value:
                return self.nth(op, at)
        return self.name(op)

    def type_of(self, op: Operation, at: int) -> Span | None:
        """The type that is written for the operand or result at this position."""
        statement = self.statement(op.start)
        types = statement.input_types or []
        if statement.kind == "sync" and at < len(op.inputs):
            # Scalars have no type in the synchronous form.
            if op.shape.input_types[at] is None or not isinstance(op.shape.input_types[at], TileType):
                return None
            at = sum(isinstance(t, TileType) for t in op.shape.input_types[:at])
        elif at >= len(op.inputs):
            at, types = at - len(op.inputs), statement.output_types or []
            if statement.kind == "sync" and statement.output_types is None:
                types = statement.input_types or []
        if statement.kind == "plain" and len(types) == 1:
            at = 0
        return Span(*types[at]) if 0 <= at < len(types) else None

    def argument_type(self, function: Function, value: Value) -> Span | None:
        """The type that a function's header writes for an argument."""
        statement = self.statement(function.start)
        for item, type_item in zip(statement.arguments, statement.argument_types, strict=False):
            if self.code[item[0] + 1 : item[1]] == value.name and type_item is not None:
                return Span(*type_item)
        return None

    def parameter(self, span: Span, name: str) -> Span:
        """A parameter of the type at ``span``; the whole type where it is not written out."""
        text = self.code[span.start + 1 : span.end]
        found = parameter_spans(text)
        physical = {"dtype": "element", "valid_rows": "rows", "valid_cols": "cols"}
        place = found.get(name) or found.get(physical.get(name, ""))
        return span if place is None else Span(span.start + 1 + place[0], span.start + 1 + place[1])

    def address(self, op: Operation) -> Span:
        """The address operand of an alloc_tile or tassign."""
        if op.shape.name == "pto.alloc_tile":
            return self.operand(op, "addr")
        return self.nth(op, 1)

    def dictionary_entry(self, start: int, key: str) -> Span | None:
        """An attribute of the statement that starts here: the last entry with this name."""
        found = self._dictionary_entries(start, key)
        return found[-1] if found else None

    def _dictionary_entries(self, start: int, key: str) -> list[Span]:
        found = []
        for token in self.statement(start).dicts:
            for name, value in parse_dictionary(token.value):
                if name.value.strip('"') == key:
                    end = name.end if value is None else value.end
                    found.append(Span(token.start + name.start, token.start + end))
        return found

    def earlier_entry(self, op: Operation, name: str) -> tuple[Note, ...]:
        """A note that points at the first of two entries with the name of an attribute (``{name``)."""
        found = self._dictionary_entries(op.start, name[1:]) if name.startswith("{") else []
        return (Note("it is given here first", self.source, found[0]),) if len(found) > 1 else ()

    def origin(self, op: Operation, name: str) -> tuple[Note, ...]:
        """A note that points at where an operand comes from, unless this statement is where."""
        value = op.operand(name)
        if value is None or isinstance(value, Literal) or value.definition is op:
            return ()
        notes = definition_note(value, self.statement)
        return tuple(n for n in notes if n.span is None or not op.start <= n.span.start < op.end)
