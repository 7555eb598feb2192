"""One statement: what Lark's callbacks make of it, and the parser itself.

A statement is places only. What the places mean is looked up once for each shape of statement (``builder.py``).
"""

from __future__ import annotations

import os
from typing import Any, cast

from lark import Lark
from lark.exceptions import UnexpectedInput

from ptoasm.lexer import Chunk, StatementLexer, TextFault, Token
from ptoasm.source import Span

Items = list[tuple[int, int]]


class Statement:
    """The places of a statement's parts, as offsets into the text.

    ``kind`` is the grammar's rule. ``names`` gives, where a syntax has keywords, the keyword of each input.
    ``input_types`` and ``output_types`` are None where the statement writes none. ``arguments`` are the names that a
    region begins with. ``opens`` is whether the statement ends by opening a region. ``modifiers`` are what stands
    between operands and types, ``overflow<nsw>``; ``sizes`` the numbers of a window, which are no operands.
    ``generic`` is whether it was in MLIR's generic form; ``bound`` gives results' addresses, by their numbers.
    """

    __slots__ = (
        "argument_dicts",
        "argument_types",
        "arguments",
        "bound",
        "dicts",
        "generic",
        "input_types",
        "inputs",
        "kind",
        "modifiers",
        "name",
        "names",
        "opens",
        "output_types",
        "outputs",
        "result_dicts",
        "results",
        "sizes",
        "symbol",
        "word",
    )

    def __init__(self, kind: str, name: Token | None = None) -> None:
        self.kind = kind
        self.name = name
        self.results: Token | None = None
        self.inputs: Items = []
        self.names: tuple[str, ...] = ()
        self.outputs: Items = []
        self.input_types: Items | None = None
        self.output_types: Items | None = None
        self.dicts: list[Token] = []
        self.arguments: Items = []
        self.argument_types: list[tuple[int, int] | None] = []
        self.argument_dicts: list[Token | None] = []
        self.result_dicts: list[Token | None] = []
        self.modifiers: tuple[str, ...] = ()
        self.sizes: Items = []
        self.word: Token | None = None
        self.symbol: Token | None = None
        self.opens = False
        self.generic = False
        self.bound: list[tuple[int, tuple[int, int]]] = []


def _last(items: Items, dictionary: Token | None) -> list[Token | None]:
    """A dictionary belongs to the last of the items that stand before it."""
    return [None] * (len(items) - 1) + [dictionary]


def _items(token: Token | None) -> Items:
    return [] if token is None else token.items


class Actions:
    """Lark's callbacks: a method a rule, called with the rule's children (None for an optional part left out)."""

    def chunk(self, children: list[Any]) -> Statement:
        return cast(Statement, children[0])

    def _common(self, kind: str, results: Token | None, name: Token, *dicts: Token | None) -> Statement:
        statement = Statement(kind, name)
        statement.results = results
        statement.dicts = [d for d in dicts if d is not None]
        return statement

    def _form(self, kind: str, children: list[Any]) -> Statement:
        results, name, values, dictionary, signature, _ = children
        statement = self._common(kind, results, name, dictionary)
        statement.inputs = _items(values)
        if signature is not None:
            statement.input_types, statement.output_types = signature
        return statement

    def sync(self, children: list[Any]) -> Statement:
        return self._form("sync", children)

    def ssa(self, children: list[Any]) -> Statement:
        return self._form("ssa", children)

    def dps(self, children: list[Any]) -> Statement:
        results, name, _, values, first, types, _, outs, out_types, second, _ = children
        statement = self._common("dps", results, name, first, second)
        statement.inputs = _items(values)
        statement.outputs = _items(outs)
        statement.input_types = _items(types)
        statement.output_types = _items(out_types)
        return statement

    def function_signature(self, children: list[Any]) -> tuple[Items, Items | None]:
        return children[0], children[1]

    def plain_signature(self, children: list[Any]) -> tuple[Items, Items | None]:
        return children[0], None

    def bare_types(self, children: list[Any]) -> Items:
        return _items(children[0])

    def assign_at(self, children: list[Any]) -> Statement:
        results, name, value, _, address, dictionary, _ = children
        statement = self._common("assign_at", results, name, dictionary)
        statement.inputs = value.items + address.items
        return statement

    def constant(self, children: list[Any]) -> Statement:
        results, name, dictionary, value, types, _ = children
        statement = self._common("constant", results, name, dictionary)
        statement.inputs = value.items
        statement.output_types = None if types is None else types.items
        return statement

    def modifier(self, children: list[Any]) -> str:
        return cast(str, children[0].value)

    def compute(self, children: list[Any]) -> Statement:
        results, name, values, *modifiers, dictionary, types, _ = children
        statement = self._common("compute", results, name, dictionary)
        statement.inputs = values.items
        statement.modifiers = tuple(modifiers)
        statement.input_types = types.items
        return statement

    def compare(self, children: list[Any]) -> Statement:
        results, name, word, *others = children
        statement = self.compute([results, name, *others])
        statement.kind = "compare"
        statement.word = word
        return statement

    def cast(self, children: list[Any]) -> Statement:
        *others, source, target, loc = children
        statement = self.compute([*others, source, loc])
        statement.kind = "cast"
        statement.output_types = target.items
        return statement

    def leave(self, children: list[Any]) -> Statement:
        name, values, dictionary, types, _ = children
        statement = self._common("leave", None, name, dictionary)
        statement.inputs = _items(values)
        statement.input_types = _items(types)
        return statement

    def condition(self, children: list[Any]) -> Statement:
        name, condition, *others = children
        statement = self.leave([name, *others])
        statement.kind = "condition"
        statement.inputs = condition.items + statement.inputs
        return statement

    def call(self, children: list[Any]) -> Statement:
        results, name, symbol, values, dictionary, signature, _ = children
        statement = self._common("call", results, name, dictionary)
        statement.symbol = symbol
        statement.inputs = _items(values)
        statement.input_types, statement.output_types = signature
        return statement

    def keyword(self, children: list[Any]) -> tuple[Token, Items]:
        return children[0], children[1].items

    def keyword_list(self, children: list[Any]) -> tuple[Token, Items]:
        return children[0], _items(children[1])

    def alloc(self, children: list[Any]) -> Statement:
        results, name, *keywords, dictionary, types, _ = children
        statement = self._common("alloc", results, name, dictionary)
        self._add_keywords(statement, keywords)
        statement.output_types = types.items
        return statement

    def view(self, children: list[Any]) -> Statement:
        results, name, values, *keywords, dictionary, types, _ = children
        statement = self._common("view", results, name, dictionary)
        self._add_keywords(statement, [(None, values.items), *keywords])
        statement.input_types, statement.output_types = types
        return statement

    def access(self, children: list[Any]) -> Statement:
        results, name, values, offset, dictionary, types, _ = children
        statement = self._common("access", results, name, dictionary)
        statement.inputs = values.items + offset.items
        statement.input_types, statement.output_types = types
        return statement

    def extents(self, children: list[Any]) -> tuple[Token, Items]:
        return children[0], children[1].items

    def window(self, children: list[Any]) -> Statement:
        results, name, source, offsets, *clauses, dictionary, types, _ = children
        statement = self._common("window", results, name, dictionary)
        statement.sizes = [item for word, items in clauses if word.value == "sizes" for item in items]
        statement.modifiers = tuple(word.value for word, _ in clauses)
        others = [(word, items) for word, items in clauses if word.value != "sizes"]
        self._add_keywords(statement, [(None, source.items), (None, offsets.items), *others])
        statement.input_types, statement.output_types = types
        return statement

    def operate(self, children: list[Any]) -> Statement:
        results, name, values, dictionary, types, _ = children
        statement = self._common("operate", results, name, dictionary)
        statement.inputs = values.items
        statement.input_types, statement.output_types = types
        return statement

    def query(self, children: list[Any]) -> Statement:
        results, name, dictionary, types, _ = children
        statement = self._common("query", results, name, dictionary)
        statement.output_types = None if types is None else types.items
        return statement

    @staticmethod
    def _add_keywords(statement: Statement, keywords: list[tuple[Token | None, Items]]) -> None:
        for word, items in keywords:
            statement.inputs = statement.inputs + items
            statement.names += ("" if word is None else word.value,) * len(items)

    def binding(self, children: list[Any]) -> tuple[Items, Items]:
        return children[0].items, children[1].items

    def bindings(self, children: list[Any]) -> tuple[list[tuple[Items, Items]], Items]:
        return children[:-1], children[-1]

    def loop(self, children: list[Any]) -> Statement:
        results, name, word, index, low, high, step, bound, types, _ = children
        statement = self._common("loop", results, name)
        statement.word = word
        statement.inputs = low.items + high.items + step.items
        statement.arguments = list(index.items)
        statement.argument_types = [None if types is None else types.items[0]]
        counted = [] if types is None else types.items * 3
        pairs, carried = bound or ([], [])
        self._bind(statement, pairs, carried)
        statement.input_types = counted + carried
        statement.output_types = carried
        statement.opens = True
        return statement

    @staticmethod
    def _bind(statement: Statement, pairs: list[tuple[Items, Items]], types: Items) -> None:
        """The names that a region begins with and the values that they have at first."""
        for argument, initial in pairs:
            statement.arguments = statement.arguments + argument
            statement.inputs = statement.inputs + initial
        statement.argument_types = [*statement.argument_types, *types]

    def while_loop(self, children: list[Any]) -> Statement:
        results, name, *pairs, (first, second), _ = children
        statement = self._common("while_loop", results, name)
        self._bind(statement, [pair for pair in pairs if pair is not None], first)
        statement.input_types = first
        statement.output_types = second or []
        statement.opens = True
        return statement

    def section(self, children: list[Any]) -> Statement:
        name, _, dictionary, _ = children
        statement = self._common("section", None, name, dictionary)
        statement.opens = True
        return statement

    def branch(self, children: list[Any]) -> Statement:
        results, name, condition, types, _ = children
        statement = self._common("branch", results, name)
        statement.inputs = condition.items
        statement.input_types = []
        statement.output_types = types or []
        statement.opens = True
        return statement

    def module_header(self, children: list[Any]) -> Statement:
        name, symbol, _, dictionary, _ = children
        statement = self._common("module_header", None, name, dictionary)
        statement.symbol = symbol
        statement.opens = True
        return statement

    def argument(self, children: list[Any]) -> tuple[Items, Items, Token | None]:
        return children[0].items, children[1].items, children[2]

    def plain_arguments(self, children: list[Any]) -> tuple[Items, Items, Token | None]:
        items = children[0].items
        return items[::2], items[1::2], None

    def unnamed_arguments(self, children: list[Any]) -> tuple[Items, Items, Token | None]:
        return [], children[0].items, children[1]

    def arguments(self, children: list[Any]) -> list[tuple[Items, Items, Token | None]]:
        return children

    def result(self, children: list[Any]) -> tuple[Items, Token | None]:
        return children[0].items, children[1]

    def results(self, children: list[Any]) -> tuple[Items, list[Token | None]]:
        given = [child for child in children if child is not None]
        return [i for items, _ in given for i in items], [d for items, token in given for d in _last(items, token)]

    def func_header(self, children: list[Any]) -> Statement:
        name, word, symbol, arguments, results, _, dictionary, brace, _ = children
        statement = self._common("func_header", None, name, dictionary)
        statement.word = word
        statement.symbol = symbol
        self._add_arguments(statement, arguments)
        statement.output_types, statement.result_dicts = results if isinstance(results, tuple) else (results or [], [])
        statement.opens = brace is not None
        return statement

    @staticmethod
    def _add_arguments(statement: Statement, arguments: list[tuple[Items, Items, Token | None]] | None) -> None:
        for names, types, token in arguments or []:
            statement.arguments += names
            statement.argument_types += types
            statement.argument_dicts += _last(types, token)

    def label(self, children: list[Any]) -> Statement:
        statement = Statement("label", children[0])
        self._add_arguments(statement, children[1])
        return statement

    def region_end(self, children: list[Any]) -> Statement:
        name, word, dictionary, brace, _ = children
        statement = self._common("region_end", None, name, dictionary)
        statement.word = word
        statement.opens = brace is not None
        return statement

    def next_region(self, children: list[Any]) -> Statement:
        statement = self._common("region_end", None, children[0])
        statement.opens = statement.generic = True
        return statement

    def last_region(self, children: list[Any]) -> Statement:
        name, dictionary, (first, second), _ = children
        statement = self._common("region_end", None, name, dictionary)
        statement.input_types, statement.output_types = first, second or []
        statement.generic = True
        return statement

    def generic(self, children: list[Any]) -> Statement:
        results, name, values, properties, dictionary, (first, second), _ = children
        statement = self._common("generic", results, name, properties, dictionary)
        statement.inputs = _items(values)
        statement.input_types, statement.output_types = first, second or []
        return statement

    def generic_header(self, children: list[Any]) -> Statement:
        results, name, values, properties, _ = children
        statement = self._common("generic", results, name, properties)
        statement.inputs = _items(values)
        statement.opens = True
        return statement

    def alias(self, children: list[Any]) -> Statement:
        return Statement("alias", children[0])

    def foreign(self, children: list[Any]) -> Statement:
        return self._common("foreign", children[0], children[1])

    # --- The inside of types and dictionaries

    def tile_type(self, children: list[Any]) -> list[tuple[str, Token | None, Token]]:
        return children

    def tile_type__keyed(self, children: list[Any]) -> tuple[str, Token | None, Token]:
        return "keyed", children[0], children[1]

    def tile_type__shaped(self, children: list[Any]) -> tuple[str, Token | None, Token]:
        return "shaped", None, children[0]

    def tile_type__word(self, children: list[Any]) -> tuple[str, Token | None, Token]:
        return "word", None, children[0]

    def tile_type__integer(self, children: list[Any]) -> tuple[str, Token | None, Token]:
        return "integer", None, children[0]

    def tile_type__dots(self, children: list[Any]) -> tuple[str, Token | None, Token]:
        return "dots", None, children[0]

    def dictionary(self, children: list[Any]) -> list[tuple[Token, Token | None]]:
        return [child for child in children if child is not None]

    def entry(self, children: list[Any]) -> tuple[Token, Token | None]:
        return children[0], children[1]


_lark: Lark | None = None


def _cache_file() -> str | bool:
    """Where the parse tables are kept between runs; False where no place can be written."""
    from ptoasm import __version__

    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(base, "ptoasm")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return False
    return os.path.join(folder, f"grammar-{__version__}.lark") if os.access(folder, os.W_OK) else False


def _parser() -> Lark:
    global _lark
    if _lark is None:
        _lark = Lark.open(
            os.path.join(os.path.dirname(__file__), "grammar", "pto.lark"),
            parser="lalr",
            lexer=StatementLexer,
            start=["chunk", "tile_type", "dictionary"],
            maybe_placeholders=True,
            transformer=Actions(),
            cache=_cache_file(),
        )
    return _lark


def parse_chunk(chunk: Chunk) -> Statement:
    """The statement that starts at ``chunk.start``; its end is left in ``chunk.end``."""
    statement = cast(Statement, _parser().parse(cast(Any, chunk), start="chunk"))
    if statement.kind == "generic":
        from ptoasm.generic_syntax import native

        return native(statement, chunk.code)
    return statement


def parse_tile_type(code: str) -> list[tuple[str, Token | None, Token]]:
    """The parameters between a tile type's brackets: (kind, key, value)."""
    return cast("list[tuple[str, Token | None, Token]]", _parser().parse(cast(Any, Chunk(code)), start="tile_type"))


def parse_dictionary(code: str) -> list[tuple[Token, Token | None]]:
    """The entries of an attribute dictionary: (key, value or None). TextFault, offsets into ``code``, if it is none."""
    try:
        return cast("list[tuple[Token, Token | None]]", _parser().parse(cast(Any, Chunk(code)), start="dictionary"))
    except UnexpectedInput as error:
        token = getattr(error, "token", None)
        span = (token.start, token.end) if isinstance(token, Token) and token.end > token.start else (0, 1)
        raise TextFault("a dictionary has 'name = value' or names alone, with commas between them", *span) from None


def span_of(items: Items) -> Span:
    """From the start of the first item to the end of the last."""
    return Span(items[0][0], items[-1][1])
