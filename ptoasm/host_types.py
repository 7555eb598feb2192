"""Which operand or result of a host operation has which of the types that its statement writes.

A host operation writes few types: ``arith.addi`` one for all its operands and its result, ``pto.set_validshape`` only
the tile's. Here the others are filled in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ptoasm.dialect.base import count
from ptoasm.types import I1, I64, INDEX, ElementType, TileType, Type

Types = list[Type | None]


class Written(NamedTuple):
    """A host statement as the grammar reads it.

    ``first`` and ``second`` are the types before and after an arrow, ``keywords`` the keyword of each input (``""``
    for none), ``sizes`` the numbers of a window. ``literal`` is what the first operand is, if it is no value:
    ``number`` or ``bool``.
    """

    name: str
    n_in: int
    n_out: int
    first: list[Type]
    second: list[Type]
    keywords: tuple[str, ...]
    sizes: tuple[int, ...]
    literal: str


class Signature(NamedTuple):
    """The operands' names, the types of operands and results (None: not written), and what is wrong with them."""

    names: tuple[str, ...]
    inputs: Types
    outputs: Types
    fault: str = ""


def signature(kind: str, written: Written) -> Signature:
    """The signature of a statement of the grammar's rule ``kind``."""
    try:
        made = _RULES[kind](written)
    except IndexError:  # generic form can leave out types that the grammar asks for elsewhere
        made = Signature((), [None] * written.n_in, [None] * written.n_out, "has fewer types than it must have")
    fault = made.fault or _miscount("operand", written.n_in, made.inputs)
    if written.n_out:  # results that nobody uses need no names
        fault = fault or _miscount("result", written.n_out, made.outputs)
    return made._replace(fault=fault)


def _miscount(what: str, wanted: int, types: Sequence[Type | None]) -> str:
    if wanted == len(types):
        return ""
    return f"has {count(wanted, what)}, but types for {len(types)}"


def _numbered(name: str, n: int) -> tuple[str, ...]:
    return (name,) * n


def _constant(w: Written) -> Signature:
    fault = "" if w.literal else "has a value where its number stands"
    return Signature(("value",), [None], list(w.second) or [I1 if w.literal == "bool" else I64], fault)


def _compute(w: Written) -> Signature:
    type_ = w.first[-1]
    if w.name == "arith.select":
        condition = w.first[0] if len(w.first) == 2 else I1
        return Signature(("condition", "true", "false"), [condition, type_, type_], [type_], _arity(w, 3))
    names = ("operand",) if w.name == "arith.negf" else ("lhs", "rhs")
    return Signature(names, [type_] * len(names), [type_], _arity(w, len(names)))


def _arity(w: Written, operands: int) -> str:
    return "" if w.n_in == operands else f"has {count(w.n_in, 'operand')}; it must have {operands}"


def _compare(w: Written) -> Signature:
    type_ = w.first[-1]
    answer = I1 if isinstance(type_, ElementType) else None
    return Signature(("lhs", "rhs"), [type_, type_], [answer], _arity(w, 2))


def _cast(w: Written) -> Signature:
    return Signature(("operand",), [w.first[0]], [w.second[0]], _arity(w, 1))


def _leave(w: Written) -> Signature:
    return Signature(_numbered("value", w.n_in), list(w.first), [])


def _condition(w: Written) -> Signature:
    return Signature(("condition", *_numbered("value", w.n_in - 1)), [I1, *w.first], [])


def _call(w: Written) -> Signature:
    return Signature(_numbered("argument", w.n_in), list(w.first), list(w.second))


def _alloc(w: Written) -> Signature:
    return Signature(w.keywords, [None if name == "addr" else INDEX for name in w.keywords], list(w.second))


def _view(w: Written) -> Signature:
    names = ("source", *w.keywords[1:])
    rest: Types = [INDEX] * (w.n_in - 1)
    if w.name == "pto.partition_view":
        # Where it writes no arrow, the type is the source's; the result's is said by its first use.
        return Signature(names, [w.first[0], *rest], list(w.second) or [None])
    return Signature(names, [w.first[0] if w.second else None, *rest], list(w.second or w.first))


def _access(w: Written) -> Signature:
    if w.name == "pto.load_scalar":
        return Signature(("pointer", "offset"), [w.first[0], INDEX], list(w.second))
    pointer = w.first[0]
    value = w.first[1] if len(w.first) == 2 else getattr(pointer, "element", None)
    return Signature(("value", "pointer", "offset"), [value, pointer, INDEX], [])


def _window(w: Written) -> Signature:
    keywords = w.keywords[1:]
    fault = "" if len(w.sizes) == 2 else "needs 'sizes [rows, cols]', two numbers"
    if not fault and (keywords.count("") != 2 or keywords.count("valid") not in (0, 2)):
        fault = "needs two offsets, and two valid extents or none"
    names = ("source", *(name or "offset" for name in keywords))
    derived = None if fault else _part(w.first[0], w.sizes)
    return Signature(names, [w.first[0], *[INDEX] * len(keywords)], [*w.second] or [derived], fault)


def _part(source: Type, sizes: tuple[int, ...]) -> Type | None:
    """The type of a window into a tile whose type is not written: the valid region is said by its first use."""
    if not isinstance(source, TileType) or (source.valid_rows, source.valid_cols) != (source.rows, source.cols):
        return None
    rows, cols = sizes
    return source.with_(rows=rows, cols=cols, valid_rows=rows, valid_cols=cols)


_OPERANDS = {
    "pto.addptr": ("pointer", "offset"),
    "pto.set_validshape": ("tile", "valid_row", "valid_col"),
    "pto.get_tensor_view_dim": ("view", "dimension"),
    "pto.get_tensor_view_stride": ("view", "dimension"),
}


def _operate(w: Written) -> Signature:
    names = _OPERANDS[w.name]
    inputs: Types = [w.first[0], *w.first[1:], *[INDEX] * (len(names) - len(w.first))]
    default = [w.first[0] if w.name == "pto.addptr" else INDEX] if w.n_out else []
    return Signature(names, inputs, list(w.second) or list(default), _arity(w, len(names)))


def _query(w: Written) -> Signature:
    return Signature((), [], list(w.second) or [I64])


def _loop(w: Written) -> Signature:
    carried = w.n_in - 3
    bounds = list(w.first) if len(w.first) == w.n_in else [INDEX, INDEX, INDEX, *w.first]
    return Signature(("lower", "upper", "step", *_numbered("init", carried)), list(bounds), list(w.second))


def _branch(w: Written) -> Signature:
    return Signature(("condition",), [I1], list(w.second))


def _while(w: Written) -> Signature:
    return Signature(_numbered("init", w.n_in), list(w.first), list(w.second))


def _section(w: Written) -> Signature:
    return Signature((), [], [])


HANDED_ON = frozenset({"alloc", "constant"})
"""The rules that hand on the types as they are written, whatever they are."""
_RULES: dict[str, Callable[[Written], Signature]] = {
    "constant": _constant,
    "compute": _compute,
    "compare": _compare,
    "cast": _cast,
    "leave": _leave,
    "condition": _condition,
    "call": _call,
    "alloc": _alloc,
    "view": _view,
    "access": _access,
    "window": _window,
    "operate": _operate,
    "query": _query,
    "loop": _loop,
    "branch": _branch,
    "while_loop": _while,
    "section": _section,
}
