"""Reading MLIR's generic form: a statement in generic form to the statement that it stands for.

Only places are moved about: the result is what the grammar would have made of the operation's own syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ptoasm.dialect import instruction, syntax_class
from ptoasm.generic import (
    ADDRESSES,
    AT,
    CLAUSES,
    CONSTANT,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
    LITERALS,
    SEGMENTS,
)
from ptoasm.lexer import TextFault, Token, closing_bracket
from ptoasm.numbers import integer
from ptoasm.statements import Items, Statement, parse_dictionary

_SHORT = {"func.return": "return", CONSTANT: "arith.constant"}
_KINDS = {
    "PTO_NAME": "ssa",
    "SYNC_NAME": "sync",
    "MODULE": "module_header",
    "FUNC": "func_header",
    "WHILE": "while_loop",
}
_LITERAL = re.compile(r'"?\s*(true|false|-?[\w.+-]+)(?:\s*:\s*([\w.]+))?')
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"|unit')


class Entry:
    """An attribute: where its value stands, and its text without the quotes of a string."""

    __slots__ = ("end", "start", "text")

    def __init__(self, start: int, text: str) -> None:
        inner = text[1:-1] if text.startswith('"') else text
        self.start = start + text.startswith('"')
        self.text = inner
        self.end = self.start + len(inner)

    @property
    def span(self) -> tuple[int, int]:
        """The place of the text."""
        return self.start, self.end

    @property
    def numbers(self) -> list[int]:
        """The numbers of an array. ValueError where one of them is too large to count anything."""
        found = re.findall(r"-?[0-9]+", self.text.partition(":")[2] or self.text)
        if max(map(len, found), default=0) > _LONGEST:
            raise ValueError(self.text)
        return [int(n) for n in found]


_LONGEST = 4
"""The digits of a number of operands."""


class Entries:
    """The properties and attributes of a statement; what is taken is left out of what remains."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.found: dict[str, Entry] = {}
        self.taken: set[str] = set()
        self._parts: list[tuple[Token, list[tuple[str, int, int]]]] = []
        for token in tokens:
            parts = []
            for key, value in parse_dictionary(token.value):
                name = key.value.strip('"')
                end = key.end if value is None else value.end
                parts.append((name, key.start, end))
                self.found[name] = Entry(
                    token.start + (end if value is None else value.start), value.value if value else ""
                )
            self._parts.append((token, parts))

    def take(self, name: str) -> Entry | None:
        """The attribute, which from then on is not among those that remain."""
        self.taken.add(name)
        return self.found.get(name)

    def rest(self) -> list[Token]:
        """The dictionaries without what was taken, at the same places."""
        tokens = []
        for token, parts in self._parts:
            kept = [part for part in parts if part[0] not in self.taken]
            if kept:
                text = [" "] * len(token.value)
                text[0], text[-1] = "{", "}"
                for k, (_, start, end) in enumerate(kept):
                    text[start:end] = token.value[start:end]
                    if k + 1 < len(kept):
                        text[end] = ","
                tokens.append(Token("DICT", "".join(text), token.start, token.end))
        return tokens


def native(statement: Statement, code: str) -> Statement:
    """The statement that one in generic form stands for."""
    quoted = statement.name
    assert quoted is not None
    full = quoted.value.strip('"')
    name = _SHORT.get(full, full)
    kind = syntax_class(name) or ""
    entries = Entries(statement.dicts)
    statement.kind = _KINDS.get(kind, kind.lower())
    statement.name = Token(kind, name, quoted.start + 1, quoted.end - 1)
    statement.generic = True
    handler = _HANDLERS.get(kind)
    if handler is not None:
        try:
            handler(statement, entries, code)
        except (IndexError, ValueError):  # whoever wrote the properties, it was no printer
            raise _fault(statement, "has properties or types that do not go together") from None
    statement.dicts = entries.rest()
    return statement


def _fault(statement: Statement, message: str) -> TextFault:
    name = statement.name
    assert name is not None
    return TextFault(f"'{name.value}' {message}", name.start, name.end)


def _word(text: str, entry: Entry) -> Token:
    return Token("WORD", text, entry.start, entry.end)


# --- Instructions


def _instruction(statement: Statement, entries: Entries, code: str) -> None:
    segments = entries.take(SEGMENTS)
    at = entries.take(AT)
    assert statement.name is not None
    if segments is not None:
        statement.kind = "dps"
        n = segments.numbers[0]
        _split(statement, n)
    literals = _literals(entries)
    bound = entries.take(ADDRESSES)
    if bound is not None:
        statement.bound = [
            (k, (bound.start + m.start(1), bound.start + m.end(1)))
            for k, m in enumerate(_TEXT.finditer(bound.text))
            if m[1] is not None
        ]
    if at is not None:
        statement.kind = "assign_at"
        statement.input_types = statement.output_types = None
    if literals or statement.kind == "sync":
        _insert(statement, literals)
    if at is not None and len(statement.inputs) != 2:
        raise _fault(statement, "binds a tile to no address")
    if statement.name.value == "pto.tassign" and statement.results is not None:
        statement.input_types = (statement.input_types or [])[:1]


def _split(statement: Statement, n: int) -> None:
    """Tells the operands of a level-2 statement from its destinations."""
    types = statement.input_types or []
    statement.inputs, statement.outputs = statement.inputs[:n], statement.inputs[n:]
    statement.input_types, statement.output_types = types[:n], types[n:]


def _literals(entries: Entries) -> dict[str, tuple[tuple[int, int], tuple[int, int] | None]]:
    """The literals in operand position: the places of the number and of its type."""
    entry = entries.take(LITERALS)
    if entry is None:
        return {}
    found: dict[str, tuple[tuple[int, int], tuple[int, int] | None]] = {}
    for key, value in parse_dictionary(entry.text):
        match = _LITERAL.match(value.value) if value is not None else None
        if value is None or match is None:
            continue
        base = entry.start + value.start
        type_ = None if match[2] is None else (base + match.start(2), base + match.end(2))
        found[key.value.strip('"')] = (base + match.start(1), base + match.end(1)), type_
    return found


def _insert(statement: Statement, literals: dict[str, tuple[tuple[int, int], tuple[int, int] | None]]) -> None:
    """Puts literals at their places among the operands; the synchronous form has no types of scalars."""
    name = statement.name
    assert name is not None
    definition = instruction(name.value.removeprefix("pto."))
    assert definition is not None
    given: list[tuple[int, int] | None] = []
    given += statement.input_types or [None] * len(statement.inputs)
    values = list(zip(statement.inputs, given, strict=False))
    inputs: Items = []
    types: list[tuple[int, int] | None] = []
    for operand in definition.inputs:
        if operand.name in literals:
            place, type_ = literals[operand.name]
        elif values:
            place, type_ = values.pop(0)
        else:
            continue
        inputs.append(place)
        if statement.kind != "sync" or not (operand.scalar or operand.name in literals):
            types.append(type_)
    statement.inputs = inputs + [place for place, _ in values]
    if statement.input_types is not None:
        statement.input_types = [t for t in (*types, *(t for _, t in values)) if t is not None]


# --- Host operations


def _constant(statement: Statement, entries: Entries, code: str) -> None:
    value = entries.take("value")
    match = None if value is None else _LITERAL.match(value.text)
    if value is None or match is None:
        raise _fault(statement, "has no value")
    statement.inputs = [(value.start + match.start(1), value.start + match.end(1))]


def _compute(statement: Statement, entries: Entries, code: str) -> None:
    for clause, key in CLAUSES.items():
        entry = entries.take(key)
        match = None if entry is None else re.search(r"<(.*)>", entry.text)
        if match is not None and match[1] != "none":
            statement.modifiers += (f"{clause}<{match[1]}>",)
    statement.input_types = (statement.input_types or [])[-1:]
    statement.output_types = None


def _compare(statement: Statement, entries: Entries, code: str) -> None:
    _compute(statement, entries, code)
    entry = entries.take("predicate")
    assert statement.name is not None
    names = FLOAT_PREDICATES if statement.name.value == "arith.cmpf" else INTEGER_PREDICATES
    number = integer(entry.text.partition(":")[0].strip()) if entry is not None else None
    if entry is None or number is None or not 0 <= number < len(names):
        raise _fault(statement, "has no predicate")
    statement.word = _word(names[number], entry)


def _cast(statement: Statement, entries: Entries, code: str) -> None:
    types = statement.output_types
    _compute(statement, entries, code)
    statement.output_types = types


def _leave(statement: Statement, entries: Entries, code: str) -> None:
    statement.output_types = None


def _condition(statement: Statement, entries: Entries, code: str) -> None:
    statement.input_types = (statement.input_types or [])[1:]
    statement.output_types = None


def _call(statement: Statement, entries: Entries, code: str) -> None:
    callee = entries.take("callee")
    if callee is None:
        raise _fault(statement, "has no callee")
    statement.symbol = Token("SYMBOL", callee.text, callee.start, callee.end)


def _alloc(statement: Statement, entries: Entries, code: str) -> None:
    segments = entries.take(SEGMENTS)
    present = segments.numbers if segments is not None else [0, 0, 0]
    literals = _literals(entries)
    values = list(statement.inputs)
    inputs: Items = []
    names: list[str] = []
    for name, given in zip(("addr", "valid_row", "valid_col"), present, strict=False):
        if name in literals or (given and values):
            inputs.append(literals[name][0] if name in literals else values.pop(0))
            names.append(name)
    statement.inputs, statement.names = inputs, tuple(names)
    statement.input_types = None


_KEYWORDS = {
    "pto.make_tensor_view": ("", "shape", "strides"),
    "pto.partition_view": ("", "offsets", "sizes"),
    "pto.subview": ("", "", "valid"),
    "pto.subset": ("", "", "valid"),
}


def _view(statement: Statement, entries: Entries, code: str) -> None:
    segments = entries.take(SEGMENTS)
    assert statement.name is not None
    if segments is None:
        raise _fault(statement, f"has no {SEGMENTS}")
    keywords = _KEYWORDS[statement.name.value]
    counted = zip(keywords, segments.numbers, strict=False)
    statement.names = tuple(name for name, n in counted for _ in range(n))
    statement.input_types = (statement.input_types or [])[:1]


def _window(statement: Statement, entries: Entries, code: str) -> None:
    _view(statement, entries, code)
    sizes = entries.take("sizes")
    if sizes is not None:
        found = re.finditer(r"[0-9]+", sizes.text)
        statement.sizes = [(sizes.start + m.start(), sizes.start + m.end()) for m in found]
    statement.modifiers = ("sizes", "valid") if "valid" in statement.names else ("sizes",)


def _access(statement: Statement, entries: Entries, code: str) -> None:
    types = statement.input_types or []
    if statement.results is not None:
        statement.input_types = types[:1]
    else:
        statement.input_types, statement.output_types = [types[1], types[0]], None


def _operate(statement: Statement, entries: Entries, code: str) -> None:
    statement.input_types = (statement.input_types or [])[:1]
    statement.output_types = statement.output_types or None


# --- Functions and modules


def _module(statement: Statement, entries: Entries, code: str) -> None:
    symbol = entries.take("sym_name")
    if symbol is not None:
        statement.symbol = Token("SYMBOL", f"@{symbol.text}", symbol.start, symbol.end)


def _function(statement: Statement, entries: Entries, code: str) -> None:
    symbol, signature = entries.take("sym_name"), entries.take("function_type")
    visibility = entries.take("sym_visibility")
    if symbol is None or signature is None:
        raise _fault(statement, "has no sym_name or no function_type")
    statement.symbol = Token("SYMBOL", f"@{symbol.text}", symbol.start, symbol.end)
    if visibility is not None:
        statement.word = _word(visibility.text, visibility)
    arguments, end = _types(code, signature.start)
    arrow = code.index("->", end) + 2
    statement.argument_types = list(arguments)
    statement.output_types, _ = _types(code, arrow)
    statement.argument_dicts = _dictionaries(entries, "arg_attrs")
    statement.result_dicts = _dictionaries(entries, "res_attrs")


def _types(code: str, at: int) -> tuple[Items, int]:
    """The places of one type or of a list in parentheses, and the end."""
    while code[at].isspace():
        at += 1
    if code[at] != "(":
        end = _end_of_type(code, at)
        return [(at, end)], end
    close = closing_bracket(code, at) - 1
    at += 1
    items: Items = []
    while at < close:
        if code[at].isspace() or code[at] == ",":
            at += 1
            continue
        end = _end_of_type(code, at)
        items.append((at, end))
        at = end
    return items, close + 1


_TYPE_HEAD = re.compile(r"!?[\w.$]+\s*")


def _end_of_type(code: str, at: int) -> int:
    match = _TYPE_HEAD.match(code, at)
    end = at + 1 if match is None else match.end()
    if code[end : end + 1] == "<":
        return closing_bracket(code, end)
    return at + len(code[at:end].rstrip())


def _dictionaries(entries: Entries, name: str) -> list[Token | None]:
    entry = entries.take(name)
    tokens: list[Token | None] = []
    at = 1
    while entry is not None and (at := entry.text.find("{", at)) >= 0:
        end = closing_bracket(entry.text, at)
        tokens.append(Token("DICT", entry.text[at:end], entry.start + at, entry.start + end))
        at = end
    return tokens


_HANDLERS: dict[str, Callable[[Statement, Entries, str], None]] = {
    "PTO_NAME": _instruction,
    "SYNC_NAME": _instruction,
    "CONSTANT": _constant,
    "COMPUTE": _compute,
    "COMPARE": _compare,
    "CAST": _cast,
    "LEAVE": _leave,
    "CONDITION": _condition,
    "CALL": _call,
    "ALLOC": _alloc,
    "VIEW": _view,
    "WINDOW": _window,
    "ACCESS": _access,
    "OPERATE": _operate,
    "MODULE": _module,
    "FUNC": _function,
}
