"""A module to text: every operation in the form that it has, spelled canonically.

What operations of one shape have in common is formatted once and kept with the shape; only names are put in. A tree of
small functions says how each of the grammar's syntaxes is written.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ptoasm.collector import paused
from ptoasm.dialect.host import SYNTAX
from ptoasm.ir import DPS, FOREIGN, HOST, SYNC, Block, Function, Literal, Module, Operation, Shape, Value
from ptoasm.lexer import comment_spans
from ptoasm.types import I1, I64, INDEX, TileType, Type

COMPACT = "compact"
KEYED = "keyed"

_NEVER = 1 << 62
_SYMBOL = re.compile(r"[A-Za-z_][\w.$-]*")
_KEY = re.compile(r"[A-Za-z_][\w.$-]*")
_SPACES = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')
_REMEMBERED = 1 << 10
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


@paused()
def print_module(module: Module, *, types: str = COMPACT, comments: bool = True) -> str:
    """The module's canonical text.

    ``types`` is ``compact`` or ``keyed``. With ``comments`` the comments of the source are kept, and a blank line
    where it had one or more.
    """
    printer = Printer(types)
    printer.follow(module, comments)
    printer.module(module)
    return "\n".join(printer.lines) + "\n" if printer.lines else ""


class Printer:
    """Collects the lines of one module."""

    def __init__(self, types: str = COMPACT) -> None:
        self.types = types
        self.lines: list[str] = []
        self._forms: dict[Shape, Form] = {}
        self._text = ""
        self._comments: list[tuple[int, int]] = []
        self._at = 0
        self._found = 0
        self._next = _NEVER
        self._blanks: list[int] = []
        self._blank_at = 0
        self._fresh = True

    # --- Structure -------------------------------------------------------------------------------

    def module(self, module: Module) -> None:
        """Prints everything that the module holds."""
        if not module.wrapped:
            self._items(module.items, "")
            self._rest("")
            return
        before, inside, after = _around(module)
        self._items(before, "")
        symbol = f" {symbol_text(module.name)}" if module.name else ""
        attributes = f" attributes {dictionary_text(module.attributes)}" if module.attributes else ""
        self._line("", f"module{symbol}{attributes} {{", module.span.start, module.span.end)
        self._fresh = True
        self._items(inside, "  ")
        self._close("", "}", module.end)
        self._items(after, "")
        self._rest("")

    def _items(self, items: Iterable[Function | str], indent: str) -> None:
        for item in items:
            if isinstance(item, Function):
                self._function(item, indent)
            else:
                start = self._found = max(self._text.find(item, self._found), self._found)
                self._line(indent, item, start, start + len(item), whole=True)

    def _function(self, function: Function, indent: str) -> None:
        if function.flat:
            assert function.body is not None
            self._operations(function.body, indent)
            return
        header = f"func.func {function_text(function, self.type_text)}"
        if function.body is None:
            self._line(indent, header, function.start, function.end)
            return
        self._line(indent, f"{header} {{", function.start, function.end)
        self._region(function.body, indent)
        self._close(indent, "}", function.body.end)

    def _region(self, block: Block, indent: str) -> None:
        self._fresh = True
        self._operations(block, f"{indent}  ")

    def _operations(self, block: Block, indent: str) -> None:
        """Prints a block's operations; what most of them need is done here without a call."""
        lines, forms = self.lines, self._forms
        for op in block.operations:
            if op.start >= self._blank_at or op.start >= self._next:
                self._before(op.start, indent, comments=op.start < op.end)
            shape = op.shape
            form = forms.get(shape)
            if form is None:
                form = statement_form(op, self.type_text)
                if len(forms) > _REMEMBERED:
                    forms.clear()
                forms[shape] = form
            outputs = op.outputs
            if form.__class__ is not str or (outputs and "#" in outputs[0].name and shape.form != DPS):
                lines.append(indent + self._unusual(op, form))
            else:
                values = [*op.inputs, *outputs] if shape.form == DPS else [*outputs, *op.inputs]
                names = [f"%{v.name}" if v.__class__ is Value else v.text for v in values]  # type: ignore[union-attr]
                lines.append(indent + form % tuple(names))
            self._fresh = False
            if self._next < _NEVER:
                self._after(op.start, op.end)
            if op.regions:
                self._regions(op, indent)

    def _unusual(self, op: Operation, form: Any) -> str:
        if form.__class__ is str:
            inputs = [operand_text(v) for v in op.inputs]
            results = results_text(op.outputs)
            count = len(op.outputs)
            head = ", ".join(["%s"] * count) + " = "
            assert form.startswith(head)
            return f"{results} = {form[len(head) :] % tuple(inputs)}"
        if form is None:
            self._skip_comments(op.end)
            return op.block.function.module.source.text[op.start : op.end]
        text: str = form(op)
        if op.shape.form == FOREIGN:
            self._skip_comments(op.end)
        return text

    def _regions(self, op: Operation, indent: str) -> None:
        for k, block in enumerate(op.regions):
            if k:
                self._close(indent, f"}} {_CONTINUED.get(op.shape.name, 'else')} {{", block.start)
                if block.arguments:
                    listed = ", ".join(f"%{a.name}: {self.type_text(a.type)}" for a in block.arguments)
                    self.lines.append(f"{indent}^bb0({listed}):")
            self._region(block, indent)
        given = op.shape.attributes if op.shape.name in _ATTRIBUTES_LAST else None
        self._close(indent, f"}} {dictionary_text(given)}" if given else "}", op.regions[-1].end)

    # --- Lines and comments ----------------------------------------------------------------------

    def follow(self, module: Module, comments: bool = True) -> None:
        """Takes comments and blank lines from the module's source."""
        if not comments:
            self._blank_at = _NEVER
            return
        self._text = text = module.source.text
        self._comments = comment_spans(text)
        self._next = self._comments[0][0] if self._comments else _NEVER
        self._blanks = [match.start() for match in _BLANK_LINE.finditer(text)]
        self._blank_at = self._blanks[0] if self._blanks else _NEVER

    def _line(self, indent: str, text: str, start: int, end: int, *, whole: bool = False) -> None:
        self._before(start, indent)
        self.lines.append(indent + text)
        self._fresh = False
        if whole:
            self._skip_comments(end)
        if self._next < _NEVER:
            self._after(start, end)

    def _close(self, indent: str, text: str, end: int) -> None:
        """Prints the line that closes a region, after the comments that stand before it."""
        if self._next < end:
            self._before(end, f"{indent}  ", blank=False)
        self._pass_blanks(end)
        self.lines.append(indent + text)
        self._fresh = False
        if self._next < _NEVER and end:
            self._after(end, end + len(text))

    def _before(self, start: int, indent: str, *, blank: bool = True, comments: bool = True) -> None:
        """Prints the comments and the blank line that stand before ``start``.

        An operation that a conversion adds has no extent: the comments stay with the one that follows it.
        """
        while comments and self._next < start:
            begin, end = self._comments[self._at]
            self._blank_before(begin)
            self.lines.append(indent + self._text[begin:end].rstrip())
            self._fresh = False
            self._advance()
        if blank:
            self._blank_before(start)

    def _blank_before(self, start: int) -> None:
        if start > self._blank_at:
            if not self._fresh:
                self.lines.append("")
            self._pass_blanks(start)

    def _pass_blanks(self, start: int) -> None:
        if start > self._blank_at:
            k = bisect_left(self._blanks, start)
            self._blank_at = self._blanks[k] if k < len(self._blanks) else _NEVER

    def _after(self, start: int, end: int) -> None:
        """Puts the comments within a statement, and those behind it on its last line, at the end of its line."""
        while self._next < _NEVER and start < end:
            if self._next >= end and not self._follows(end):
                return
            begin, stop = self._comments[self._at]
            self.lines[-1] += f"  {self._text[begin:stop].rstrip()}"
            self._pass_blanks(begin)
            self._advance()

    def _follows(self, end: int) -> bool:
        """Whether the next comment stands on the line that ends at ``end``, with nothing between."""
        return self._text.find("\n", end, self._next) < 0 and not self._text[end : self._next].strip()

    def _skip_comments(self, end: int) -> None:
        while self._next < end:
            self._advance()

    def _advance(self) -> None:
        self._at += 1
        self._next = self._comments[self._at][0] if self._at < len(self._comments) else _NEVER

    def _rest(self, indent: str) -> None:
        self._before(_NEVER - 1, indent, blank=False)

    def type_text(self, type_: Type | None) -> str:
        """A type as it is spelled here."""
        if self.types == KEYED and isinstance(type_, TileType):
            return type_.keyed()
        return str(type_)


def _around(module: Module) -> tuple[list[Function | str], list[Function | str], list[Function | str]]:
    """What stands before the module's header, inside of it and behind its end: aliases stand outside."""
    places = []
    at = 0
    for item in module.items:
        at = item.start if isinstance(item, Function) else max(module.source.text.find(item, at), at)
        places.append(at)
    before = [item for item, at in zip(module.items, places, strict=True) if at < module.span.start]
    after = [item for item, at in zip(module.items, places, strict=True) if at > module.end > 0]
    inside = [item for item in module.items if item not in before and item not in after]
    return before, inside, after


_CONTINUED = {"scf.while": "do"}
_ATTRIBUTES_LAST = frozenset({"scf.for", "scf.if", "scf.while"})
"""Operations that have their attributes after the end of their regions."""

TypeText = Callable[[Type | None], str]


# --- Small parts -------------------------------------------------------------------------------------


def operand_text(value: Value | Literal) -> str:
    """An operand: ``%name``, or a literal as it is written."""
    return f"%{value.name}" if isinstance(value, Value) else value.text


def operands_text(values: Iterable[Value | Literal]) -> str:
    """Operands with commas between them."""
    return ", ".join(map(operand_text, values))


def results_text(values: Sequence[Value]) -> str:
    """The names that a statement defines; ``a#0`` and ``a#1`` are written ``%a:2``."""
    parts: list[str] = []
    groups: dict[str, int] = {}
    for value in values:
        base, mark, _ = value.name.partition("#")
        if not mark:
            parts.append(f"%{base}")
        elif base in groups:
            groups[base] += 1
        else:
            groups[base] = 1
            parts.append(f"%{base}:")
    return ", ".join(f"{p}{groups[p[1:-1]]}" if p.endswith(":") else p for p in parts)


def symbol_text(name: str) -> str:
    """``@name``, in quotes where it has to be."""
    return f"@{name}" if _SYMBOL.fullmatch(name) else f'@"{name}"'


def value_text(text: str) -> str:
    """An attribute's value on one line."""
    return _SPACES.sub(lambda m: m[1] or " ", text) if "\n" in text or "  " in text else text


def entry_text(key: str, value: str) -> str:
    """One entry of an attribute dictionary; a unit attribute is its name alone."""
    name = key if _KEY.fullmatch(key) else f'"{key}"'
    return f"{name} = {value_text(value)}" if value else name


def dictionary_text(attributes: dict[str, Any]) -> str:
    """``{a = 1, b}``."""
    return f"{{{', '.join(entry_text(k, v) for k, v in attributes.items())}}}"


def types_text(types: Iterable[Type | None], text: TypeText) -> str:
    """Types with commas between them, in parentheses unless there is exactly one."""
    written = [text(t) for t in types]
    return written[0] if len(written) == 1 else f"({', '.join(written)})"


def function_text(function: Function, text: TypeText) -> str:
    """The header of a function, without ``func.func`` and the brace."""
    dictionaries = [f" {dictionary_text(d)}" if d else "" for d in function.argument_attributes]
    if function.body is None:
        arguments = [text(t) for t in function.argument_types]
    else:
        arguments = [f"%{a.name}: {text(a.type)}" for a in function.arguments]
    dictionaries += [""] * (len(arguments) - len(dictionaries))
    parts = [f"{function.visibility} " if function.visibility else "", symbol_text(function.name)]
    parts.append(f"({', '.join(map(''.join, zip(arguments, dictionaries, strict=False)))})")
    if function.result_types:
        parts.append(f" -> {_function_results(function, text)}")
    if function.attributes:
        parts.append(f" attributes {dictionary_text(function.attributes)}")
    return "".join(parts)


def _function_results(function: Function, text: TypeText) -> str:
    given = function.result_attributes
    if not any(given):
        return types_text(function.result_types, text)
    dictionaries = [f" {dictionary_text(d)}" if d else "" for d in given]
    return f"({', '.join(text(t) + d for t, d in zip(function.result_types, dictionaries, strict=True))})"


# --- Statements: a pattern with %s for each name, a function, or None for the source as it is -------------


Form = str | Callable[[Operation], str] | None


def statement_form(op: Operation, text: TypeText) -> Form:
    """How operations of this shape are printed."""
    shape = op.shape
    if shape.form == FOREIGN:
        return _foreign
    if is_broken(op):
        return None
    if shape.form == HOST:
        form = _HOST_FORMS.get(SYNTAX.get(shape.name, ""))
        return None if form is None else form(op, text)
    if "at" in shape.keywords:
        return f"{shape.name} %s, @tile(%s){_attributes(shape)}"
    if shape.form == DPS:
        return _dps(op, text)
    return _sync(op, text) if shape.form == SYNC else _ssa(op, text)


def is_broken(op: Operation) -> bool:
    """Whether the text says what the shape does not hold: only the text itself says it again."""
    shape = op.shape
    return bool(shape.duplicates) or "fault" in shape.keywords or _is_miscounted(op)


def _is_miscounted(op: Operation) -> bool:
    """Whether there are too many types or too few; a scalar may go without one where it is no matter of rules."""
    shape = op.shape
    inputs, outputs = shape.type_counts
    if shape.name == "pto.tassign" or inputs == outputs == 0:
        return False
    untyped = [t is None for t in shape.input_types]
    literals = [isinstance(v, Literal) for v in op.inputs]
    return outputs != 0 or inputs != -sum(untyped) or untyped != literals


def _foreign(op: Operation) -> str:
    results = f"{results_text(op.outputs)} = " if op.outputs else ""
    text: str = op.shape.keywords["text"]
    return results + text


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _attributes(shape: Shape) -> str:
    return f" {_escaped(dictionary_text(shape.attributes))}" if shape.attributes else ""


def _names(count: int) -> str:
    return ", ".join(["%s"] * count)


def _listed(types: Iterable[Type | None], text: TypeText) -> str:
    return _escaped(", ".join(text(t) for t in types))


def _head(op: Operation) -> str:
    return f"{_names(len(op.outputs))} = " if op.outputs else ""


def _dps(op: Operation, text: TypeText) -> str:
    shape = op.shape
    inputs = f"{_names(len(op.inputs))}{_attributes(shape)}"
    inputs += _typed(shape.input_types, text)
    outputs = f"{_names(len(op.outputs))}{_typed(shape.output_types, text)}"
    outs = f" outs({outputs})" if op.outputs else ""
    return f"{shape.name} ins({inputs.strip()}){outs}"


def _ssa(op: Operation, text: TypeText) -> str:
    shape = op.shape
    inputs = f" {_names(len(op.inputs))}" if op.inputs else ""
    given = [t for t in shape.input_types if t is not None]
    if shape.output_types:
        colon = f" : {_escaped(types_text(given, text))} -> {_escaped(types_text(shape.output_types, text))}"
    else:
        colon = _typed(given, text)
    return f"{_head(op)}{shape.name}{inputs}{_attributes(shape)}{colon}"


def _sync(op: Operation, text: TypeText) -> str:
    shape = op.shape
    definition = shape.definition
    assert definition is not None
    tiles = [
        type_
        for operand, type_, value in zip(definition.inputs, shape.input_types, op.inputs, strict=False)
        if not (operand.scalar or (operand.other and isinstance(value, Literal)))
    ]
    inputs = f" {_names(len(op.inputs))}" if op.inputs else ""
    listed = [_listed(types, text) for types in (tiles, shape.output_types) if types]
    colon = f" : {' -> '.join(listed)}" if listed else ""
    return f"{_head(op)}{shape.short_name}{inputs}{_attributes(shape)}{colon}"


# --- Host operations, by the grammar's syntax --------------------------------------------------------------


def _modifiers(shape: Shape) -> str:
    return "".join(f" {_escaped(m)}" for m in shape.keywords.get("modifiers", ()))


def _typed(types: Iterable[Type | None], text: TypeText) -> str:
    listed = _listed(types, text)
    return f" : {listed}" if listed else ""


def _arrow(source: Type | None, results: Sequence[Type | None], text: TypeText) -> str:
    known = [t for t in results if t is not None]
    types = [t for t in (source, *known) if t is not None]
    return f" : {_escaped(' -> '.join(text(t) for t in types))}"


def _constant(op: Operation, text: TypeText) -> str:
    shape = op.shape
    value = op.inputs[0]
    bare = shape.output_types == (I1,) and isinstance(value, Literal) and value.text in ("true", "false")
    return f"{_head(op)}{shape.name}{_attributes(shape)} %s" + ("" if bare else _typed(shape.output_types, text))


def _compute(op: Operation, text: TypeText) -> str:
    shape = op.shape
    word = f" {shape.keywords['word']}," if "word" in shape.keywords else ""
    types = [shape.input_types[-1]]
    if shape.name == "arith.select" and shape.input_types[0] is not I1:
        types.insert(0, shape.input_types[0])
    names = _names(len(op.inputs))
    return f"{_head(op)}{shape.name}{word} {names}{_modifiers(shape)}{_attributes(shape)}{_typed(types, text)}"


def _cast(op: Operation, text: TypeText) -> str:
    shape = op.shape
    types = _escaped(f"{text(shape.input_types[0])} to {text(shape.output_types[0])}")
    return f"{_head(op)}{shape.name} %s{_modifiers(shape)}{_attributes(shape)} : {types}"


def _leave(op: Operation, text: TypeText) -> str:
    shape = op.shape
    names = f" {_names(len(op.inputs))}" if op.inputs else ""
    return f"{shape.name}{names}{_attributes(shape)}{_typed(shape.input_types, text)}"


def _condition(op: Operation, text: TypeText) -> str:
    shape = op.shape
    names = f" {_names(len(op.inputs) - 1)}" if len(op.inputs) > 1 else ""
    return f"{shape.name}(%s){names}{_attributes(shape)}{_typed(shape.input_types[1:], text)}"


def _call(op: Operation, text: TypeText) -> str:
    shape = op.shape
    symbol = _escaped(symbol_text(shape.keywords["symbol"]))
    types = f"({_listed(shape.input_types, text)}) -> {_escaped(types_text(shape.output_types, text))}"
    return f"{_head(op)}{shape.name} {symbol}({_names(len(op.inputs))}){_attributes(shape)} : {types}"


def _alloc(op: Operation, text: TypeText) -> str:
    shape = op.shape
    keywords = "".join(f" {name} = %s" for name in shape.input_names)
    return f"{_head(op)}{shape.name}{keywords}{_attributes(shape)}{_typed(shape.output_types, text)}"


def keyword_groups(names: Sequence[str]) -> list[tuple[str, int]]:
    """Neighbouring operands of one name, as (name, how many)."""
    groups: list[tuple[str, int]] = []
    for name in names:
        if groups and groups[-1][0] == name:
            groups[-1] = name, groups[-1][1] + 1
        else:
            groups.append((name, 1))
    return groups


def _view(op: Operation, text: TypeText) -> str:
    shape = op.shape
    lists = "".join(f", {name} = [{_names(n)}]" for name, n in keyword_groups(shape.input_names[1:]))
    types = _arrow(shape.input_types[0], shape.output_types, text)
    return f"{_head(op)}{shape.name} %s{lists}{_attributes(shape)}{types}"


def _access(op: Operation, text: TypeText) -> str:
    shape = op.shape
    if op.outputs:
        types = _arrow(shape.input_types[0], shape.output_types, text)
        return f"{_head(op)}{shape.name} %s[%s]{_attributes(shape)}{types}"
    value, pointer, _ = shape.input_types
    return f"{shape.name} %s, %s[%s]{_attributes(shape)}{_typed((pointer, value), text)}"


def _window(op: Operation, text: TypeText) -> str:
    shape = op.shape
    groups = keyword_groups(shape.input_names[2:])
    sizes = f" sizes [{', '.join(map(str, shape.keywords['sizes']))}]"
    offsets = shape.input_names.count("offset")
    valid = f" valid [{_names(len(op.inputs) - 1 - offsets)}]" if groups and groups[-1][0] == "valid" else ""
    types = _arrow(shape.input_types[0], shape.output_types, text)
    return f"{_head(op)}{shape.name} %s[{_names(offsets)}]{sizes}{valid}{_attributes(shape)}{types}"


def _operate(op: Operation, text: TypeText) -> str:
    shape = op.shape
    results = shape.output_types if shape.output_types != (INDEX,) else ()
    names = _names(len(op.inputs))
    return f"{_head(op)}{shape.name} {names}{_attributes(shape)}{_arrow(shape.input_types[0], results, text)}"


def _query(op: Operation, text: TypeText) -> str:
    shape = op.shape
    types = shape.output_types if shape.output_types != (I64,) else ()
    return f"{_head(op)}{shape.name}{_attributes(shape)}{_typed(types, text)}"


def _results_of(op: Operation, text: TypeText) -> str:
    return f" -> ({', '.join(map(text, op.shape.output_types))})" if op.shape.output_types else ""


def _loop(op: Operation, text: TypeText) -> Callable[[Operation], str]:
    shape = op.shape
    word = f" {shape.keywords['word']}" if "word" in shape.keywords else ""
    counter = shape.input_types[0]
    types = f"{_results_of(op, text)}{'' if counter is INDEX else f' : {text(counter)}'}"

    def form(op: Operation) -> str:
        index, *carried = op.regions[0].arguments
        lower, upper, step, *initial = map(operand_text, op.inputs)
        bound = f" iter_args({_bindings(carried, initial)})" if carried else ""
        return f"{_given(op)}{shape.name}{word} %{index.name} = {lower} to {upper} step {step}{bound}{types} {{"

    return form


def _given(op: Operation) -> str:
    return f"{results_text(op.outputs)} = " if op.outputs else ""


def _bindings(arguments: Sequence[Value], initial: Sequence[str]) -> str:
    return ", ".join(f"%{a.name} = {i}" for a, i in zip(arguments, initial, strict=False))


def _branch(op: Operation, text: TypeText) -> Callable[[Operation], str]:
    types = _results_of(op, text)
    return lambda op: f"{_given(op)}{op.shape.name} {operand_text(op.inputs[0])}{types} {{"


def _while(op: Operation, text: TypeText) -> Callable[[Operation], str]:
    shape = op.shape
    types = f"({', '.join(map(text, shape.input_types))}) -> {types_text(shape.output_types, text)}"

    def form(op: Operation) -> str:
        initial = [operand_text(v) for v in op.inputs]
        bound = f" ({_bindings(op.regions[0].arguments, initial)})" if initial else ""
        return f"{_given(op)}{shape.name}{bound} : {types} {{"

    return form


def _section(op: Operation, text: TypeText) -> Callable[[Operation], str]:
    shape = op.shape
    attributes = f" attributes {dictionary_text(shape.attributes)}" if shape.attributes else ""
    return lambda op: f"{shape.name}{attributes} {{"


_HOST_FORMS: dict[str, Callable[[Operation, TypeText], str | Callable[[Operation], str]]] = {
    "CONSTANT": _constant,
    "COMPUTE": _compute,
    "COMPARE": _compute,
    "CAST": _cast,
    "LEAVE": _leave,
    "CONDITION": _condition,
    "CALL": _call,
    "ALLOC": _alloc,
    "VIEW": _view,
    "ACCESS": _access,
    "WINDOW": _window,
    "OPERATE": _operate,
    "QUERY": _query,
    "LOOP": _loop,
    "BRANCH": _branch,
    "WHILE": _while,
    "SECTION": _section,
}
