"""The typed IR: a module holds functions, a function a block, a block operations, an operation values.

Text is read into it and printed from it; nothing in it knows how. An operation's *shape* is what it shares with every
other operation that is written the same way up to names, literals and places: its name, its form, its types and its
attributes. What is asked of one shape (which rules hold, how it prints) is answered once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ptoasm.source import Source, Span
from ptoasm.types import Type

if TYPE_CHECKING:
    from ptoasm.diagnostics import Diagnostic
    from ptoasm.dialect.base import Instruction

SYNC = "sync"
SSA = "ssa"
DPS = "dps"
HOST = "host"
FOREIGN = "foreign"

FLAT = "pto.flat"
"""The attribute of a function that stands for a flat program in MLIR's generic form."""


class Literal:
    """A number or ``true``/``false`` in operand position, as it is written."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


class Value:
    """What a name stands for. ``name`` has no ``%``.

    ``owner`` is the operation that defines it, or the block that it is an argument of or, in a flat program, an input
    of. ``type`` is None only until the first statement says it (a ``tassign`` can name a value before that).
    """

    __slots__ = ("name", "owner", "type")

    def __init__(self, name: str, type: Type | None, owner: Operation | Block) -> None:
        self.name = name
        self.type = type
        self.owner = owner

    @property
    def definition(self) -> Operation | None:
        """The operation that defines it; None for an argument and for a free name of a flat program."""
        return self.owner if isinstance(self.owner, Operation) else None

    @property
    def block(self) -> Block:
        """The block that it belongs to."""
        return self.owner.block if isinstance(self.owner, Operation) else self.owner

    @property
    def uses(self) -> list[tuple[Operation, int]]:
        """The operations that use it, with the position among their inputs and then their destinations."""
        return self.block.function.uses.get(self, [])

    def __repr__(self) -> str:
        return f"%{self.name}"


_EMPTY: dict[str, Any] = {}
"""Shared by all shapes that have no attributes, keywords or verdicts; never changed, only replaced."""


class Spelling(NamedTuple):
    """What shapes share that differ only in their types.

    ``attributes`` maps names to parsed values, ``keywords`` holds what a host operation's own syntax adds.
    ``input_names`` and ``output_names`` name the operands and results as the page does. ``duplicates`` lists attribute
    names given twice, ``type_counts`` says how many types more than operands and than results are written.
    ``families`` keeps what the verifier found.
    """

    attributes: dict[str, Any]
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    keywords: dict[str, Any]
    duplicates: tuple[str, ...]
    type_counts: tuple[int, int]
    families: dict[Any, Any]


class Shape:
    """What operations that are written alike share.

    ``name`` is the full name (``pto.tcolsum``), ``form`` one of ``sync``, ``ssa``, ``dps``, ``host``, ``foreign``.
    ``input_types`` and ``output_types`` have None where the form writes no type. ``spelling`` is shared with shapes
    that have other types. ``verdicts`` keeps what the verifier found.
    """

    __slots__ = ("definition", "form", "input_types", "name", "output_types", "spelling", "verdicts")

    def __init__(
        self,
        name: str,
        form: str,
        input_types: tuple[Type | None, ...] = (),
        output_types: tuple[Type | None, ...] = (),
        attributes: dict[str, Any] | None = None,
        *,
        definition: Instruction | None = None,
        input_names: tuple[str, ...] = (),
        output_names: tuple[str, ...] = (),
        keywords: dict[str, Any] | None = None,
        duplicates: tuple[str, ...] = (),
        type_counts: tuple[int, int] = (0, 0),
    ) -> None:
        self.name = name
        self.form = form
        self.definition = definition
        self.input_types = input_types
        self.output_types = output_types
        self.verdicts: dict[str, Any] = _EMPTY
        self.spelling = Spelling(
            attributes or _EMPTY, input_names, output_names, keywords or _EMPTY, duplicates, type_counts, {}
        )

    def with_types(self, inputs: tuple[Type | None, ...], outputs: tuple[Type | None, ...]) -> Shape:
        """A shape that differs only in its types."""
        made = Shape.__new__(Shape)
        made.name = self.name
        made.form = self.form
        made.definition = self.definition
        made.input_types = inputs
        made.output_types = outputs
        made.verdicts = _EMPTY
        made.spelling = self.spelling
        return made

    def add_attributes(self, more: dict[str, Any]) -> None:
        """Adds attributes to this shape alone."""
        self.spelling = self.spelling._replace(attributes=self.attributes | more, families={})

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes as they are written, defaults not filled in."""
        return self.spelling.attributes

    @property
    def keywords(self) -> dict[str, Any]:
        """What a host operation's own syntax adds."""
        return self.spelling.keywords

    @property
    def input_names(self) -> tuple[str, ...]:
        """The page's names of the operands."""
        return self.spelling.input_names

    @property
    def output_names(self) -> tuple[str, ...]:
        """The page's names of the results."""
        return self.spelling.output_names

    @property
    def duplicates(self) -> tuple[str, ...]:
        """The names of attributes that are given more than once."""
        return self.spelling.duplicates

    @property
    def type_counts(self) -> tuple[int, int]:
        """How many types more than operands and than results are written."""
        return self.spelling.type_counts

    @property
    def short_name(self) -> str:
        """The name without ``pto.``, as the pages write it."""
        return self.name.removeprefix("pto.")


class Operation:
    """One statement. ``inputs`` are what it reads, ``outputs`` its results or, at level 2, its destinations.

    Its text begins at offset ``start`` and has ``length`` characters.
    """

    __slots__ = ("block", "inputs", "length", "outputs", "regions", "shape", "start")

    def __init__(
        self,
        shape: Shape,
        inputs: tuple[Value | Literal, ...],
        outputs: tuple[Value, ...],
        block: Block,
        start: int = 0,
        end: int = 0,
        regions: tuple[Block, ...] = (),
    ) -> None:
        self.shape = shape
        self.inputs = inputs
        self.outputs = outputs
        self.block = block
        self.start = start
        self.length = end - start
        self.regions = regions

    @property
    def name(self) -> str:
        """The full name, ``pto.tcolsum``."""
        return self.shape.name

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes as they are written, defaults not filled in. Shared: never change it."""
        return self.shape.attributes

    @property
    def results(self) -> tuple[Value, ...]:
        """The values that it defines: none at level 2, where the outputs are destinations."""
        return () if self.shape.form == DPS else self.outputs

    @property
    def end(self) -> int:
        """The offset behind its text."""
        return self.start + self.length

    @property
    def span(self) -> Span:
        """Its place in the source; a region is not part of it, only the header is."""
        return Span(self.start, self.end)

    def operand(self, name: str) -> Value | Literal | None:
        """The operand or result with the page's name (``src``, ``tmp``, ``dstIdx``), or None."""
        shape = self.shape
        if name in shape.input_names:
            at = shape.input_names.index(name)
            return self.inputs[at] if at < len(self.inputs) else None
        if name in shape.output_names:
            at = shape.output_names.index(name)
            return self.outputs[at] if at < len(self.outputs) else None
        return None

    def __repr__(self) -> str:
        return f"<{self.shape.name} {self.inputs} -> {self.outputs}>"


class Block:
    """Operations in order, with the arguments of their region. ``free`` holds a flat program's undefined names.

    ``start`` and ``end`` are the offsets of the text that begins a second region (``} else {``) and of the ``}``.
    """

    __slots__ = ("arguments", "end", "free", "function", "label", "operations", "parent", "start")

    def __init__(self, function: Function, parent: Operation | None = None) -> None:
        self.function = function
        self.parent = parent
        self.start = 0
        self.end = 0
        self.label: str | None = None
        self.arguments: list[Value] = []
        self.free: list[Value] = []
        self.operations: list[Operation] = []

    def walk(self) -> Iterator[Operation]:
        """Every operation, those of nested regions after the one that holds them."""
        for op in self.operations:
            yield op
            for region in op.regions:
                yield from region.walk()


class Function:
    """A ``func.func``; ``name`` is empty for the statements of a flat program. A declaration has no ``body``."""

    __slots__ = (
        "_uses",
        "argument_attributes",
        "argument_types",
        "attributes",
        "body",
        "end",
        "flat",
        "module",
        "name",
        "result_attributes",
        "result_types",
        "start",
        "visibility",
    )

    def __init__(self, module: Module, name: str = "", *, flat: bool = False, start: int = 0, end: int = 0) -> None:
        self.module = module
        self.name = name
        self.flat = flat
        self.start = start
        self.end = end
        self.visibility = ""
        self.body: Block | None = Block(self)
        self.argument_types: tuple[Type, ...] = ()
        self.result_types: tuple[Type, ...] = ()
        self.attributes: dict[str, Any] = {}
        self.argument_attributes: list[dict[str, Any]] = []
        self.result_attributes: list[dict[str, Any]] = []
        self._uses: dict[Value, list[tuple[Operation, int]]] | None = None

    @property
    def arguments(self) -> list[Value]:
        """Its arguments; for a flat program the names that no statement defines."""
        if self.body is None:
            return []
        return self.body.free if self.flat else self.body.arguments

    @property
    def uses(self) -> dict[Value, list[tuple[Operation, int]]]:
        """Who uses what; computed when first asked for."""
        if self._uses is None:
            uses: dict[Value, list[tuple[Operation, int]]] = {}
            self._uses = uses
            for op in self.walk():
                used = [*op.inputs, *op.outputs] if op.shape.form == DPS else op.inputs
                for at, value in enumerate(used):
                    if isinstance(value, Value):
                        uses.setdefault(value, []).append((op, at))
        return self._uses

    def walk(self) -> Iterator[Operation]:
        """Every operation of the body in source order."""
        if self.body is not None:
            yield from self.body.walk()


class Module:
    """A program. ``items`` holds its functions and, verbatim, what else stands at the top, in source order.

    ``diagnostics`` holds what reading the text found: syntax, names and types. ``wrapped`` is whether the text had a
    ``module {…}`` around it, ``span`` is its header and ``end`` the offset of its ``}``.
    """

    __slots__ = ("attributes", "diagnostics", "end", "functions", "items", "name", "source", "span", "wrapped")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.name = ""
        self.wrapped = False
        self.span = Span(0, 0)
        self.end = 0
        self.attributes: dict[str, Any] = {}
        self.functions: list[Function] = []
        self.items: list[Function | str] = []
        self.diagnostics: list[Diagnostic] = []

    def function(self, name: str) -> Function | None:
        """The function with this name (no ``@``)."""
        return next((f for f in self.functions if f.name == name), None)


def restore_flat(module: Module) -> None:
    """Makes functions with the attribute ``pto.flat`` the flat programs again that they stand for."""
    for function in module.functions:
        body = function.body
        if body is not None and function.attributes.pop(FLAT, None) is not None:
            function.flat, function.name, function.argument_types = True, "", ()
            body.free, body.arguments = body.arguments, []
            if body.operations and body.operations[-1].shape.name == "return" and not body.operations[-1].inputs:
                body.operations.pop()
    if not module.name and not module.attributes and all(function.flat for function in module.functions):
        module.wrapped = False
