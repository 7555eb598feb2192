"""Statements to IR.

A statement that is written like an earlier one, up to names, literals and types, is not parsed again: what the grammar
made of the first is kept as a template, and the parts that differ (the *holes*) are put into it. A template exists only
for text that the grammar has read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from ptoasm.diagnostics import Diagnostic, Note
from ptoasm.dialect import instruction
from ptoasm.host_types import HANDED_ON, Signature, Written, signature
from ptoasm.ir import DPS, HOST, SSA, SYNC, Block, Function, Literal, Module, Operation, Shape, Value
from ptoasm.lexer import Chunk, TextFault, Token
from ptoasm.numbers import integer
from ptoasm.source import Span
from ptoasm.statements import Statement, parse_chunk, parse_dictionary
from ptoasm.suggest import did_you_mean
from ptoasm.tile_types import parameter_spans, read_type
from ptoasm.types import INDEX, TILE_FIELDS, TileType, Type

HOLE = re.compile(
    # Known characters begin what is looked for, and what may stand before them is looked for behind them: such a
    # pattern is found two to three times as fast.
    r"([%!0-9-](?:"
    r"(?<=%)(?:[\w.$]|-(?!>))[\w.$]*(?:-(?!>)[\w.$]*)*(?:\#[0-9]+)?"  # a value
    r"|(?<=!)pto\.\w+<[^<>]*>"  # a type
    r"|(?<=[0-9])(?<![\w.%@\"\#-].)(?:(?<=0)x[0-9A-Fa-f]+|[0-9]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)(?![\w.])"  # a number
    r"|(?<=-)[0-9](?<![\w.%@\"\#-]..)(?:(?<=0)x[0-9A-Fa-f]+|[0-9]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)(?![\w.])))"
)
"""What two statements of one template may differ in."""

NESTED = "nested module"
_MODULES = ("module_header", NESTED)
_DEEPEST = 100
"""How deep regions may be nested: those who walk the IR go into each by a call."""
_REMEMBERED = 1 << 9
"""How many shapes a template keeps at hand; operations keep their own."""


class Template:
    """A statement with holes.

    Its parts are numbered: the holes in their order, then what stands in no hole (``true``), whose texts are ``rest``.
    ``inputs`` are the operands and ``outputs`` the results or destinations; ``used`` are those of both that are not
    defined here. ``types`` are the parts that are types, ``typed`` those of them that are
    holes, on which the shape depends, and ``shapes`` the shapes made so far. ``names`` and ``literals`` are the holes
    that must hold a value's name and a literal. ``fixed`` are holes that must have the text they had (numbers in
    attributes): ``variants`` holds a template for each. ``frame`` is what the shapes have in common.
    """

    __slots__ = (
        "fixed",
        "frame",
        "inputs",
        "key",
        "literals",
        "names",
        "outputs",
        "rest",
        "shapes",
        "statement",
        "stray",
        "text",
        "typed",
        "types",
        "used",
        "variants",
    )

    def __init__(self, statement: Statement, text: str, start: int) -> None:
        holes = {match.span(): k for k, match in enumerate(HOLE.finditer(text))}
        self.rest: list[str] = []

        def part(at: int, end: int) -> int:
            hole = holes.get((at - start, end - start))
            return other(text[at - start : end - start]) if hole is None else hole

        def other(text: str) -> int:
            self.rest.append(text)
            return len(holes) + len(self.rest) - 1

        destinations = statement.kind == "dps"
        named = result_names(statement.results, text, start)
        self.statement = statement
        self.text = text
        self.inputs = [(text[at - start] == "%", part(at, end)) for at, end in statement.inputs]
        if destinations:
            self.outputs = [part(*span) for span in statement.outputs]
        else:
            self.outputs = [other(f"%{name}") if "#" in name else part(*span) for name, span in named]
        self.used = [*(k for _, k in self.inputs), *(self.outputs if destinations else ())]
        self.stray = [name for name, _ in named] if destinations else []
        self.types = [part(*span) for span in (*(statement.input_types or ()), *(statement.output_types or ()))]
        self.names = [k for k in (*(k for is_name, k in self.inputs if is_name), *self.outputs) if k < len(holes)]
        self.literals = [k for is_name, k in self.inputs if not is_name and k < len(holes)]
        self.typed = [k for k in self.types if k < len(holes)]
        self.key: Callable[[list[str]], Any] = itemgetter(*self.typed) if self.typed else _no_key
        self.fixed = tuple(sorted({*range(len(holes))}.difference(self.names, self.literals, self.typed)))
        self.shapes: dict[Any, Shape] = {}
        self.frame: _Frame | None = None
        self.variants: dict[tuple[str, ...], Template] | None = None


_MISMATCH = TextFault("the statement is not written like the template", 0, 0)


def _no_key(holes: list[str]) -> tuple[str, ...]:
    return ()


_MOST_RESULTS = 1000
_RESULT = re.compile(r"%((?:[\w.$]|-(?!>))+)(?::([0-9]+))?")


def result_names(token: Token | None, text: str, start: int) -> list[tuple[str, Span]]:
    """The names that a statement defines, ``%a:2`` as ``a#0`` and ``a#1``, each with its place."""
    if token is None:
        return []
    names = []
    for match in _RESULT.finditer(text, token.start - start, token.end - start):
        span = Span(match.start() + start, match.end() + start)
        if match[2] is None:
            names.append((match[1], span))
        elif int(match[2]) > _MOST_RESULTS:
            raise TextFault(f"'{match.group()}' stands for more than {_MOST_RESULTS} results", *span)
        else:
            names += [(f"{match[1]}#{k}", span) for k in range(int(match[2]))]
    return names


class Attributes:
    """Attribute dictionaries: texts to names and values, once for each text."""

    def __init__(self) -> None:
        self._known: dict[str, list[tuple[str, str]]] = {}

    def read(self, token: Token) -> list[tuple[str, str]]:
        """The entries of ``{…}`` in order, as (name, text of the value); a unit attribute has the text ``""``."""
        text = token.value
        found = self._known.get(text)
        if found is None:
            try:
                entries = parse_dictionary(text)
            except TextFault as fault:
                raise TextFault(fault.message, fault.start + token.start, fault.end + token.start) from None
            found = [(key.value.strip('"'), "" if value is None else value.value) for key, value in entries]
            self._known[text] = found
        return found


class _FirstUses:
    """The operation that first uses each of the names that are not defined by then; few are ever asked for."""

    def __init__(self) -> None:
        self._values: list[Value] = []
        self._users: list[Operation] = []
        self._known: dict[Value, Operation] = {}

    def add(self, value: Value, user: Operation) -> None:
        self._values.append(value)
        self._users.append(user)

    def get(self, value: Value) -> Operation | None:
        """Its first use; None where it was defined before."""
        if self._values:
            self._known.update(zip(self._values, self._users, strict=True))
            self._values.clear()
            self._users.clear()
        return self._known.get(value)


class Builder:
    """Puts statements into a module, keeping track of names and regions."""

    def __init__(self, module: Module, code: str) -> None:
        self.module = module
        self.source = module.source
        self.code = code
        self.attributes = Attributes()
        self.flat = Function(module, flat=True)
        self.names: dict[str, Value] = {}
        self.aliases: dict[str, str] = {}
        assert self.flat.body is not None
        self.block: Block = self.flat.body
        self.lenient = True
        self._open: list[tuple[str, Span, Any]] = []
        self._defined: list[str] = []
        self.broken: list[Function] = []
        self._first = _FirstUses()
        self._typed: dict[Value, Operation] = {}
        self._only_bound: set[Value] = set()
        self._missing: dict[Value, int] = {}
        self._gone: dict[str, Value] = {}

    # --- Diagnostics -------------------------------------------------------------------------------

    def report(self, code: str, message: str, span: Span, *notes: Note, severity: Any = "error") -> None:
        """Adds a diagnostic about this place."""
        function = self.block.function.name or None
        self.module.diagnostics.append(Diagnostic(severity, code, message, self.source, span, notes, None, function))

    # --- Operations --------------------------------------------------------------------------------

    def operation(self, template: Template, holes: list[str], start: int, end: int) -> Operation:
        """Adds the operation that the template makes with these holes.

        TextFault, and nothing is added, where a hole holds another kind of thing, or a type that is none.
        """
        shape = template.shapes.get(template.key(holes))
        for hole in template.names:
            if holes[hole][0] != "%":
                raise _MISMATCH
        for hole in template.literals:
            if holes[hole][0] in "%!":
                raise _MISMATCH
        if shape is None:
            shape = self._shape(template, holes)
        parts = holes + template.rest if template.rest else holes
        names = self.names
        values: list[Any] = []
        op = Operation(shape, (), (), self.block, start, end)
        destinations = shape.form == DPS
        types = shape.input_types + shape.output_types if destinations else shape.input_types
        for part, type_ in zip(template.used, types, strict=True):
            text = parts[part]
            if text[0] != "%":
                values.append(Literal(text))
                continue
            name = text[1:]
            value = names.get(name)
            if value is None:
                value = self._undefined(name, type_, op, len(values))
            elif value.type is not type_ and type_ is not None:
                op.inputs = tuple(values)  # a note may point at one of them
                self._settle(value, type_, op, len(values))
            values.append(value)
        if destinations:
            op.inputs = tuple(values[: len(template.inputs)])
            op.outputs = tuple(values[len(template.inputs) :])
        else:
            op.inputs = tuple(values)
            if template.outputs:
                self._define(op, template, parts)
        for name in template.stray:
            names.setdefault(name, Value(name, None, op))
        self.block.operations.append(op)
        if self._only_bound and shape.name != _TASSIGN:
            self._only_bound.difference_update(op.inputs, op.outputs)
        return op

    def _define(self, op: Operation, template: Template, parts: list[str]) -> None:
        """The results of an operation."""
        names, nested = self.names, self.block.parent is not None
        values: list[Value] = []
        for part, type_ in zip(template.outputs, op.shape.output_types, strict=False):
            name = parts[part][1:]
            if name in names:
                value = self._redefined(name, type_, op, self._result_place(op, len(values)))
            else:
                value = names[name] = Value(name, type_, op)
                if nested:
                    self._defined.append(name)
            values.append(value)
        op.outputs = tuple(values)

    def define_results(self, statement: Statement, op: Operation) -> None:
        """Defines the results of an operation that is kept verbatim: their types are not known."""
        text = self.source.text[op.start : op.end]
        for name, span in result_names(statement.results, text, op.start):
            if name in self.names:
                value = self.names[name] = self._redefined(name, None, op, span)
            else:
                value = self.names[name] = Value(name, None, op)
            self._defined.append(name)
            op.outputs += (value,)

    def _undefined(self, name: str, type_: Type | None, op: Operation, at: int) -> Value:
        """A name that nothing defines: an input of a flat program, else a fault."""
        root = self.block.function.body
        assert root is not None
        value = self.names[name] = Value(name, type_, root)
        self._first.add(value, op)
        binds = op.shape.name == _TASSIGN and at == 0
        if binds and type_ is not None:
            self._only_bound.add(value)
        if self.lenient or binds:
            root.free.append(value)
        else:
            self._missing[value] = len(self.module.diagnostics)
            self._report_undefined(value, self._place(op, at))
        return value

    def _report_undefined(self, value: Value, span: Span) -> None:
        """Says that a name is not defined, and what may have been meant."""
        gone = self._gone.get(value.name)
        if gone is not None:
            note = self._definition_note(gone)
            self.report(
                "NAME-01", f"'%{value.name}' is not defined here, outside of the region that defines it", span, *note
            )
            return
        near = None
        if len(self._missing) <= _MOST_GUESSES:
            near = did_you_mean(value.name, self.names.keys() - {value.name})
        hint = f"; did you mean '%{near}'?" if near else ""
        self.report("NAME-01", f"'%{value.name}' is not defined{hint}", span)

    def _redefined(self, name: str, type_: Type | None, op: Operation, span: Span) -> Value:
        """The value of a name that this operation defines, although it was met before."""
        value = self.names[name]
        first = self._first.get(value)
        if first is None or not isinstance(value.owner, Block):
            self.report("NAME-02", f"'%{name}' is defined twice", span, *self._definition_note(value))
            return self._again(name, type_, op)
        if value in self._missing:
            at = self._missing.pop(value)
            note = Note("it is defined here", self.source, span)
            message = f"'%{name}' is used before it is defined"
            found = self.module.diagnostics[at]
            self.module.diagnostics[at] = found._replace(code="NAME-03", message=message, notes=(note,))
        elif value.type is not None and value not in self._only_bound:
            user = self._typed.get(value, first)
            note = Note("it is used here", self.source, self._name_span(user, value))
            self.report("NAME-03", f"'%{name}' is used before this statement defines it", span, note)
            return self._again(name, type_, op)
        value.owner = op
        value.type = type_
        if self.block.parent is not None:
            self._defined.append(name)
        return value

    def _again(self, name: str, type_: Type | None, op: Operation) -> Value:
        """A second value with a name: what follows means this one, so that one fault does not bring others."""
        value = self.names[name] = Value(name, type_, op)
        return value

    def _settle(self, value: Value, type_: Type, op: Operation, at: int) -> None:
        """A value gets its type from its first use; a later use must agree."""
        if value.type is None:
            value.type = type_
            self._typed[value] = op
            if op.shape.name == _TASSIGN and self._first.get(value) is not None:
                self._only_bound.add(value)
            return
        self.report(
            "TYPE-01",
            f"'%{value.name}' has type {value.type}; here it is used as {type_}",
            self._differing(value.type, type_, self._type_place(op, at)),
            *self._definition_note(value),
        )

    def _differing(self, known: Type, given: Type, span: Span) -> Span:
        """The parameter in which two tile types differ, where it is one and written out; else the whole type."""
        if not isinstance(known, TileType) or not isinstance(given, TileType):
            return span
        different = [name for name in TILE_FIELDS if getattr(known, name) != getattr(given, name)]
        found = parameter_spans(self.source.text[span.start + 1 : span.end])
        if "rows" in different and "valid_rows" not in found:
            different = [name for name in different if name != "valid_rows"]
        if "cols" in different and "valid_cols" not in found:
            different = [name for name in different if name != "valid_cols"]
        place = found.get(different[0]) if len(different) == 1 else None
        return span if place is None else Span(span.start + 1 + place[0], span.start + 1 + place[1])

    # --- Places, found by reading the statement again

    def layout(self, start: int) -> Statement:
        """The statement that starts here, with the places of its parts."""
        return parse_chunk(Chunk(self.code, start))

    def _place(self, op: Operation, at: int) -> Span:
        statement = self.layout(op.start)
        items = statement.inputs + statement.outputs
        return Span(*items[at]) if at < len(items) else op.span

    def _result_place(self, op: Operation, at: int) -> Span:
        statement = self.layout(op.start)
        items = result_names(statement.results, self.source.text[op.start : op.end], op.start)
        return items[at][1] if at < len(items) else op.span

    def _type_place(self, op: Operation, at: int) -> Span:
        statement = self.layout(op.start)
        types = statement.input_types or []
        if at >= len(statement.inputs):
            at, types = at - len(statement.inputs), statement.output_types or []
        return Span(*types[at]) if at < len(types) else self._place(op, at)

    def _name_span(self, op: Operation, value: Value) -> Span:
        for at, other in enumerate((*op.inputs, *op.outputs)):
            if other is value:
                return self._place(op, at)
        return op.span

    def _definition_note(self, value: Value) -> tuple[Note, ...]:
        return definition_note(value, self.layout, self._first.get(value))

    # --- Shapes ------------------------------------------------------------------------------------

    def _shape(self, template: Template, holes: list[str]) -> Shape:
        """The shape of the template with these types; raises TextFault for a text that is no type."""
        for hole in template.typed:
            if holes[hole][0] != "!":
                raise _MISMATCH
        parts = holes + template.rest
        types = [self.read_type(parts[part]) for part in template.types]
        if template.frame is not None:
            shape = template.frame.shape(types)
        else:
            given = len(template.statement.input_types or ())
            shape = self._make_shape(template, types[:given], types[given:])
        if len(template.shapes) > _REMEMBERED:
            template.shapes.clear()
        template.shapes[template.key(holes)] = shape
        return shape

    def read_type(self, text: str) -> Type:
        """The type that ``text`` (with or without the ``!``) spells, in this module."""
        if self.aliases:
            text = self.aliases.get(text.removeprefix("!"), text)
        return read_type(text)

    def _make_shape(self, template: Template, first: list[Type], second: list[Type]) -> Shape:
        statement = template.statement
        attributes, duplicates = self.read_attributes(statement)
        assert statement.name is not None
        name = statement.name.value
        if statement.kind in ("sync", "ssa", "dps", "assign_at"):
            full = name if name.startswith("pto.") else f"pto.{name}"
            template.frame = _instruction_frame(template, full, len(first), len(second), attributes, duplicates)
            return template.frame.shape([*first, *second])
        text = self.source.text
        sizes = tuple(integer(text[start:end]) or 0 for start, end in statement.sizes)
        if statement.kind not in HANDED_ON or statement.generic:
            return _host_shape(template, name, first, second, sizes, attributes, duplicates)
        before: list[Type] = [Type() for _ in first]
        behind: list[Type] = [Type() for _ in second]
        untyped = _host_shape(template, name, before, behind, sizes, attributes, duplicates)
        template.frame = _Frame.of(untyped, [*before, *behind])
        return template.frame.shape([*first, *second])

    def read_attributes(self, statement: Statement) -> tuple[dict[str, str], tuple[str, ...]]:
        """The attributes of a statement's dictionaries, and the names that are given more than once."""
        attributes: dict[str, str] = {}
        duplicates = []
        for token in statement.dicts:
            for key, value in self.attributes.read(token):
                if key in attributes:
                    duplicates.append(key)
                attributes[key] = value
        return attributes, tuple(duplicates)

    def dictionary(self, token: Token | None) -> dict[str, Any]:
        """The entries of one dictionary."""
        return {} if token is None else dict(self.attributes.read(token))

    # --- Regions -----------------------------------------------------------------------------------

    def begin(
        self, statement: Statement, op: Operation | None, span: Span, text: Callable[[tuple[int, int]], str]
    ) -> None:
        """Opens the region that a header's ``{`` begins."""
        hidden = self._hide(op)
        self._open.append((statement.kind, span, (self.block, self._defined, self.lenient, self.names, hidden)))
        depth = sum([kind not in _MODULES for kind, _, _ in self._open])
        if depth == _DEEPEST + 1:
            self.report("PARSE-08", f"regions are nested deeper than {_DEEPEST}", span)
        if op is None or depth > _DEEPEST:
            return
        block = Block(self.block.function, op)
        op.regions += (block,)
        self.block = block
        self._defined = []
        for item, type_item in zip(statement.arguments, statement.argument_types, strict=False):
            type_ = INDEX if type_item is None else self.read_type(text(type_item))
            self.argument(text(item)[1:], type_, Span(*item))

    def finish_generic(self, op: Operation, template: Template, statement: Statement, types: list[Type]) -> None:
        """Gives an operation in generic form its types: they stand behind its regions."""
        given = len(statement.input_types or ())
        first = [] if template.statement.kind in ("branch", "section") else types[:given]
        template.statement.dicts += statement.dicts
        template.statement.opens = False
        op.shape = self._make_shape(template, first, types[given:])
        for value, type_ in zip(op.outputs, op.shape.output_types, strict=False):
            value.type = type_
        if op.shape.name in ("scf.for", "scf.if"):
            for block in op.regions:
                if block.operations and _is_empty_yield(block.operations[-1]):
                    block.operations.pop()
        if op.shape.name == "scf.if" and len(op.regions) == 2 and not op.regions[1].operations:
            op.regions = op.regions[:1]

    def bind_result(self, name: str, address: str, span: Span) -> None:
        """Adds the ``tassign`` that generic form has as an attribute of the definition."""
        from ptoasm.rewrite import binding_shape

        op = Operation(binding_shape(), (), (), self.block, span.start, span.start)
        value = self.names.get(name) or self._undefined(name, None, op, 0)
        op.inputs = (value, Literal(address))
        self.block.operations.append(op)

    def _hide(self, op: Operation | None) -> dict[str, Value]:
        """Takes an operation's results out of sight: its own regions do not see them."""
        results = [] if op is None else op.outputs
        return {v.name: self.names.pop(v.name) for v in results if self.names.get(v.name) is v}

    def argument(self, name: str, type_: Type, span: Span, label: Operation | None = None) -> None:
        """Adds an argument to the current block, or to one that a ``label`` within it begins."""
        value = Value(name, type_, self.block if label is None else label)
        if name in self.names:
            self.report("NAME-02", f"'%{name}' is defined twice", span, *self._definition_note(self.names[name]))
        else:
            self._defined.append(name)
        self.names[name] = value
        if label is None:
            self.block.arguments.append(value)

    @property
    def innermost(self) -> str:
        """The kind of header that opened the innermost region."""
        return self._open[-1][0] if self._open else ""

    def end(self, statement: Statement, span: Span) -> None:
        """Closes the innermost region."""
        if not self._open:
            self.report("PARSE-06", "this '}' closes nothing", span)
            return
        kind, header, (block, defined, lenient, names, hidden) = self._open.pop()
        if kind == "module_header":
            self.module.end = span.start
        elif block is not self.block:
            self.block.end = span.start
        if kind == "func_header":
            self.check_bound()
        for name in self._defined:
            gone = self.names.pop(name, None)
            if gone is not None:
                self._gone[name] = gone
        parent = self.block.parent
        if block is not self.block and parent is not None and statement.opens:
            self._open.append((kind, header, (block, defined, lenient, names, hidden)))
            self._defined = []
            self._continue(parent, kind, statement, span)
            return
        if parent is not None and block is not self.block and statement.dicts:
            attributes, _ = self.read_attributes(statement)
            parent.shape.add_attributes(attributes)
        self.block, self._defined, self.lenient, self.names = block, defined, lenient, names
        self.names.update(hidden)

    def _continue(self, parent: Operation, kind: str, statement: Statement, span: Span) -> None:
        """Opens the next region of an operation: after ``} else {`` or ``} do {``."""
        word = None if statement.word is None else statement.word.value
        if statement.generic:
            word = _NEXT_REGION.get(kind)
        if word != _NEXT_REGION.get(kind) or len(parent.regions) > 1:
            self.report("PARSE-06", f"'{parent.shape.name}' has no region here", span)
        self.block = Block(parent.block.function, parent)
        self.block.start = span.start
        parent.regions += (self.block,)

    def enter_function(self, function: Function, statement: Statement, span: Span) -> None:
        """Opens a function's body."""
        self._open.append((statement.kind, span, (self.block, self._defined, self.lenient, self.names, {})))
        assert function.body is not None
        self.block = function.body
        self.lenient = False
        self.names = {}
        self._gone = {}
        self._defined = []

    def enter_broken(self, span: Span) -> None:
        """Opens the region of a header that could not be read: its statements are still looked at."""
        self._open.append(("broken", span, (self.block, self._defined, self.lenient, self.names, {})))
        function = Function(self.module, flat=True)
        self.broken.append(function)
        assert function.body is not None
        self.block, self.lenient, self.names, self._defined = function.body, True, {}, []

    def check_bound(self) -> None:
        """Forgets names that got a definition after all; those that only a ``tassign`` mentions have none at all."""
        body = self.block.function.body
        if body is None or not body.free:
            return
        body.free[:] = [value for value in body.free if value.owner is body]
        for value in body.free:
            if value.type is not None and self.lenient:
                continue
            first = self._first.get(value)
            assert first is not None
            definition = first.shape.definition
            checked = definition is not None and definition.checked  # then FORM-04 says that a type is missing
            if (value.type is None and not checked) or (first.shape.name == _TASSIGN and not self.lenient):
                self._report_undefined(value, self._name_span(first, value))

    def finish(self, end: int) -> None:
        """The text is over."""
        for kind, header, _ in reversed(self._open):
            if kind != "broken":
                self.report("PARSE-06", "the region that begins here is never closed", header)
        while self._open:
            self.end(Statement("region_end"), Span(end, end))
        self.check_bound()


_TASSIGN = "pto.tassign"
_MOST_GUESSES = 100
"""Each guess at a mistyped name looks at every name there is: more than these help nobody."""


def _is_empty_yield(op: Operation) -> bool:
    return op.shape.name == "scf.yield" and not op.inputs


_NEXT_REGION = {"branch": "else", "while_loop": "do"}
"""The word before the second region of an operation, by the grammar's rule."""


def definition_note(
    value: Value, layout: Callable[[int], Statement], first: Operation | None = None
) -> tuple[Note, ...]:
    """A note that points at where a value comes from: its definition, else its first use (``first``, where known)."""
    source = value.block.function.module.source
    op = value.definition
    if op is not None:
        statement = layout(op.start)
        names = result_names(statement.results, source.text[op.start : op.end], op.start)
        at = next((k for k, v in enumerate(op.outputs) if v is value), 0)
        span = names[at][1] if at < len(names) else op.span
        return (Note(f"'%{value.name}' is defined here", source, span),)
    assert isinstance(value.owner, Block)
    if value in value.owner.arguments:
        if value.owner.parent is None and value.block.function.flat:
            return ()  # of a label: there is no header to point at
        return (_argument_note(value, value.owner, layout),)
    if first is None and value.uses:
        first = value.uses[0][0]
    if first is None:
        return ()
    statement = layout(first.start)
    items = statement.inputs + statement.outputs
    at = next((k for k, v in enumerate((*first.inputs, *first.outputs)) if v is value), 0)
    span = Span(*items[at]) if at < len(items) else first.span
    return (Note(f"'%{value.name}' is first used here", source, span),)


def _argument_note(value: Value, block: Block, layout: Callable[[int], Statement]) -> Note:
    """A note that points at an argument in the header of its function or region."""
    source = block.function.module.source
    holder = block.function if block.parent is None else block.parent
    what = f"'@{block.function.name}'" if block.parent is None else f"'{block.parent.shape.name}'"
    span = Span(holder.start, holder.end)
    for item in layout(holder.start).arguments:
        if source.text[item[0] + 1 : item[1]] == value.name:
            span = Span(*item)
    return Note(f"'%{value.name}' is an argument of {what}", source, span)


# --- What the types of a statement belong to


_Pick = Callable[[Sequence[Any]], tuple[Any, ...]]


def _picker(positions: Sequence[int]) -> _Pick:
    """What takes these members out of a list."""
    if len(positions) > 1:
        return itemgetter(*positions)
    if not positions:
        return lambda members: ()
    position = positions[0]
    return lambda members: (members[position],)


class _Frame:
    """The shape of a statement without its types, and which of the types its operands and results have.

    ``inputs`` and ``outputs`` have for each the number of the type as it is written, or a type that none is written
    for. The operands ``scalars`` have the element type of the written type ``element_of``.
    """

    __slots__ = ("_inputs", "_others", "_outputs", "element_of", "scalars", "untyped")

    def __init__(
        self,
        untyped: Shape,
        written: int,
        inputs: Sequence[int | Type | None],
        outputs: Sequence[int | Type | None],
        element_of: int | None = None,
        scalars: Sequence[int] = (),
    ) -> None:
        self.untyped = untyped
        self.element_of = element_of
        self.scalars = scalars
        self._others: list[Type | None] = []
        self._inputs = _picker([self._at(one, written) for one in inputs])
        self._outputs = _picker([self._at(one, written) for one in outputs])

    def _at(self, one: int | Type | None, written: int) -> int:
        if isinstance(one, int):
            return one
        self._others.append(one)
        return written + len(self._others) - 1

    @classmethod
    def of(cls, shape: Shape, stand_ins: list[Type]) -> _Frame:
        """The frame of a shape with ``stand_ins`` for the types that are written."""
        at: dict[Type | None, int] = {type_: k for k, type_ in enumerate(stand_ins)}
        inputs, outputs = ([at.get(t, t) for t in types] for types in (shape.input_types, shape.output_types))
        return cls(shape, len(stand_ins), inputs, outputs)

    def shape(self, types: list[Type]) -> Shape:
        """The shape with the types that are written."""
        known = types + self._others if self._others else types
        inputs = self._inputs(known)
        if self.scalars and self.element_of is not None:
            element = getattr(types[self.element_of], "element", None)
            inputs = tuple([element if k in self.scalars else type_ for k, type_ in enumerate(inputs)])
        return self.untyped.with_types(inputs, self._outputs(known))


def _instruction_frame(
    template: Template,
    name: str,
    n_first: int,
    n_second: int,
    attributes: dict[str, str],
    duplicates: tuple[str, ...],
) -> _Frame:
    statement = template.statement
    definition = instruction(name[4:])
    assert definition is not None
    form = {"sync": SYNC, "dps": DPS}.get(statement.kind, SSA)
    n_in, n_out = len(template.inputs), len(template.outputs)
    tiles = list(range(n_in))
    scalars: list[int] = []
    if form == SYNC:
        known = list(enumerate(definition.inputs[:n_in]))
        others = [k for k, o in known if o.scalar or (o.other and not template.inputs[k][0])]
        tiles = [k for k in tiles if k not in others]
        scalars = [k for k in others if template.inputs[k][0]]
        if statement.output_types is None and not tiles:
            n_first, n_second = 0, n_first
    declared = definition.outputs
    if n_out < len(declared):
        declared = tuple(o for o in declared if not o.optional)
    keywords: dict[str, Any] = (
        {"at": True} if statement.kind == "assign_at" else {"results": True} if template.stray else {}
    )
    literals = tuple(k for k, (is_name, _) in enumerate(template.inputs) if not is_name)
    if literals:
        keywords["literals"] = literals
    untyped = Shape(
        name,
        form,
        attributes=attributes,
        definition=definition,
        input_names=tuple(o.name for o in definition.inputs[:n_in]),
        output_names=tuple(o.name for o in declared[:n_out]),
        keywords=keywords,
        duplicates=duplicates,
        type_counts=(0, 0) if statement.kind == "assign_at" else (n_first - len(tiles), n_second - n_out),
    )
    typed = dict(zip(tiles, range(n_first), strict=False))
    inputs = [typed.get(k) for k in range(n_in)]
    outputs = [n_first + k if k < n_second else None for k in range(n_out)]
    return _Frame(untyped, n_first + n_second, inputs, outputs, n_first if n_second else None, scalars)


def _host_shape(
    template: Template,
    name: str,
    first: list[Type],
    second: list[Type],
    sizes: tuple[int, ...],
    attributes: dict[str, str],
    duplicates: tuple[str, ...],
) -> Shape:
    statement = template.statement
    n_in, n_out = len(template.inputs), len(template.outputs)
    is_value, part = template.inputs[0] if n_in else (True, 0)
    is_word = part not in template.literals and template.rest[:1] in (["true"], ["false"])
    literal = "" if is_value else "bool" if is_word else "number"
    written = Written(name, n_in, n_out, first, second, statement.names, sizes, literal)
    open_ended = statement.generic and statement.opens
    found = Signature((), [None] * n_in, [None] * n_out) if open_ended else signature(statement.kind, written)
    keywords = {
        "word": statement.word and statement.word.value,
        "symbol": statement.symbol and statement.symbol.value[1:].strip('"'),
        "modifiers": statement.modifiers,
        "sizes": sizes,
        "fault": found.fault,
    }
    return Shape(
        name,
        HOST,
        _padded(found.inputs, n_in),
        _padded(found.outputs, n_out or len(found.outputs)),
        attributes,
        input_names=found.names[:n_in],
        keywords={key: value for key, value in keywords.items() if value},
        duplicates=duplicates,
    )


def _padded(types: list[Type | None], n: int) -> tuple[Type | None, ...]:
    """As many types as there are values, whatever is written."""
    return tuple(types[k] if k < len(types) else None for k in range(n))
