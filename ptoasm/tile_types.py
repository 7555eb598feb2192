"""The text of a type to a type.

A type is parsed once for each distinct text. One whose parameters were all met before, if with other extents, is put
together from what the grammar made of them then.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from lark.exceptions import UnexpectedInput

from ptoasm.lexer import TextFault, Token
from ptoasm.statements import parse_tile_type
from ptoasm.suggest import did_you_mean
from ptoasm.types import (
    DEFAULT_FRACTAL,
    ELEMENT_NAMES,
    F32,
    LOCATIONS,
    PADS,
    TILE_FIELDS,
    WHOLE,
    OpaqueType,
    PointerType,
    TileType,
    Type,
    ViewType,
    element_type,
    is_element_name,
)

_TILE = re.compile(r"pto\.(tile|tile_buf)\s*(?=<)")
_POINTER = re.compile(r"(?:pto\.ptr\s*)?<\s*(\w+)\s*(?:,\s*([^<>]*?)\s*)?>")
"""``pto.ptr<f32>``, ``pto.ptr<f32, gm>``, and what is left of them where only a pointer can stand: ``<f32, gm>``."""
_VIEW = re.compile(r"pto\.(tensor_view|partition_tensor_view)\s*<\s*((?:(?:[0-9]+|\?)\s*x\s*)+)(\w+)\s*>")
_NUMBERS = re.compile(r"([0-9](?<!\w[0-9])[0-9]*(?:x[0-9]+)*)")
"""Extents; that a word ends before one is looked for behind its first digit, which is found faster."""

_KEYS = {
    "loc": "loc",
    "dtype": "element",
    "rows": "rows",
    "cols": "cols",
    "v_row": "valid_rows",
    "v_col": "valid_cols",
    "valid": "valid",
    "blayout": "blayout",
    "slayout": "slayout",
    "fractal": "fractal",
    "pad": "pad",
}
PARAMETERS = tuple(_KEYS)
"""The names that a parameter can have."""
_LAYOUTS = {
    "row_major": "row_major",
    "rowmajor": "row_major",
    "col_major": "col_major",
    "colmajor": "col_major",
}
_ENUMS: dict[str, dict[str, str]] = {
    "loc": {name: name for name in LOCATIONS} | {"ub": "vec"},
    "blayout": _LAYOUTS,
    "slayout": _LAYOUTS | {"none_box": "none_box", "nonebox": "none_box"},
    "pad": {name: name for name in PADS} | {str(n): name for n, name in enumerate(PADS)},
}
_POSITIONS = ("blayout", "slayout", "fractal", "pad")
_NO_TYPE = "PARSE-03"
EXAMPLE = "!pto.tile<vec, 16x256xf32>"


_interned: dict[str, Type] = {}
"""Types other than tiles, by what they say."""
_REMEMBERED = 1 << 12
"""How many texts are kept: the types themselves are interned by what they say."""


class _Types(dict[str, Type]):
    """Types by their text."""

    def __missing__(self, text: str) -> Type:
        if len(self) > _REMEMBERED:
            self.clear()
        bare = text.removeprefix("!")
        found = self[text] = _from_parts(bare) or _read(bare if "<" in bare else text)  # !f32 is no element type
        return found


_types = _Types()


def read_type(text: str) -> Type:
    """The type that ``text`` spells, with or without the leading ``!``.

    Raises TextFault with offsets into the text behind the ``!``.
    """
    return _types[text]


def _read(text: str) -> Type:
    if len(text) > _LONGEST_NUMBER:
        _refuse_long_numbers(text)
    match = _TILE.match(text)
    if match is not None:
        reader = _TileReader(text, match)
        type_ = TileType.of(kind=match[1], **reader.fields())
        for part, values in reader.taken:
            _remember(part, values)
        return type_
    match = _POINTER.fullmatch(text)
    if match is not None:
        element, space = element_type(match[1]), "" if match[2] in (None, "gm") else f", {match[2]}"
        return _interned.setdefault(f"ptr {element}{space}", PointerType(element, f"!pto.ptr<{element}{space}>"))
    match = _VIEW.fullmatch(text)
    if match is not None:
        shape = tuple(None if n.strip() == "?" else int(n) for n in match[2].split("x")[:-1])
        view = ViewType(match[1], shape, element_type(match[3]))
        return _interned.setdefault(f"view {view.text}", view)
    if text.startswith("pto.") or "<" in text or not re.fullmatch(r"[\w]+", text):
        written = f"!{text}" if text[0].isalpha() and not text.startswith(_BUILTIN) else text
        return _interned.setdefault(f"opaque {written}", OpaqueType(written))
    return element_type(text)


_BUILTIN = ("memref", "vector", "tensor", "tuple", "complex")


# --- Parameters that were met before

Given = tuple[int, tuple[tuple[int, Any], ...]]
"""What a parameter says: which fields it gives, one bit for each, and the fields' numbers with their values."""

_AT = {name: at for at, name in enumerate(TILE_FIELDS)}
_NEEDED = 1 << _AT["element"] | 1 << _AT["rows"] | 1 << _AT["cols"]


def _defaults(kind: str) -> list[Any]:
    """The fields of a type that says nothing; those for the element type, rows and columns are always replaced."""
    fields: list[Any] = [*TileType.of(F32, 1, 1, kind=kind)]
    fields[_AT["valid_rows"]] = fields[_AT["valid_cols"]] = WHOLE
    return fields


_DEFAULTS = {f"pto.{kind}": _defaults(kind) for kind in ("tile", "tile_buf")}
_LONGEST_NUMBER = 18
"""Digits: no extent of any memory is longer."""


class _Parts(dict[str, Given]):
    """What parameters say, by their text; one that differs from an earlier one only in its extents is filled in.

    The text of a type's first parameter has the ``<`` before it: what a word says depends on where it stands.
    """

    def __missing__(self, part: str) -> Given:
        match = _EXTENTS.fullmatch(part)
        if match is None:
            raise KeyError(part)
        before, first, second, behind = match.groups()
        which, fields, rest = _numbered[before, second is None, behind]
        if len(self) > _REMEMBERED:
            self.clear()
            self.update(_taught)
        if second is None:
            given = self[part] = which, ((fields[0], int(first)), *rest)
        else:
            given = self[part] = which, ((fields[0], int(first)), (fields[1], int(second)), *rest)
        return given


_parts = _Parts()
"""Parameters that say the same wherever they stand: ``rows=16``, ``16x256xf32``; and words that are the first."""
_taught: dict[str, Given] = {}
"""Those of them that the grammar read."""
_EXTENTS = re.compile(
    rf"([^0-9]*)([0-9]{{1,{_LONGEST_NUMBER}}})(?:x([0-9]{{1,{_LONGEST_NUMBER}}}))?((?:[^0-9].*)?)", re.S
)
_numbered: dict[tuple[str, bool, str], tuple[int, tuple[int, ...], tuple[tuple[int, Any], ...]]] = {}
"""By what stands before and behind a number or two (and whether it is one): all fields that the parameter gives, the
numbers of those that have these values, and what else it says."""


def _remember(part: str, values: dict[str, Any]) -> None:
    """Takes note of what the grammar found a parameter to say."""
    given = tuple([(_AT[name], value) for name, value in values.items()])
    which = sum([1 << at for at, _ in given])
    if len(_taught) > _REMEMBERED:
        _taught.clear()
    _parts[part] = _taught[part] = which, given
    match = _EXTENTS.fullmatch(part)
    numbered = [(at, value) for at, value in given if isinstance(value, int)]
    if match is not None and [value for _, value in numbered] == [int(n) for n in match.group(2, 3) if n is not None]:
        rest = tuple([one for one in given if one not in numbered])
        _numbered[match[1], match[3] is None, match[4]] = which, tuple([at for at, _ in numbered]), rest


def _from_parts(text: str) -> TileType | None:
    """The tile type with this text; None where a parameter is new, given twice or missing, or it is none."""
    at = text.find("<")
    defaults = _DEFAULTS.get(text[:at])
    if defaults is None or text[-1] != ">":
        return None
    fields = defaults.copy()
    found = 0
    try:
        for part in text[at:-1].split(","):
            which, given = _parts[part]
            if found & which:
                return None
            found |= which
            for field, value in given:
                fields[field] = value
    except KeyError:
        return None
    return TileType.from_fields(fields) if found & _NEEDED == _NEEDED else None


def _refuse_long_numbers(text: str) -> None:
    match = _LONG_NUMBER.search(text)
    if match is not None:
        digits = len(match.group())
        message = f"a number of a tile type has at most {_LONGEST_NUMBER} digits; this one has {digits}"
        raise TextFault(message, *match.span())


_LONG_NUMBER = re.compile(rf"[0-9]{{{_LONGEST_NUMBER + 1},}}")
_Parameter = tuple[str, "Token | None", Token]
_PLAIN = re.compile(r"<[^][<>\"(){}#!]*>")
_known_parts: dict[tuple[str | int, ...], tuple[str, str]] = {}
"""What the grammar made of a parameter, by its text without the numbers: the rule, and its value's terminal."""


def _part_key(part: str) -> tuple[str | int, ...]:
    """What decides how a parameter is read: its text, and of its numbers only how many extents they have."""
    pieces: list[str | int] = list(_NUMBERS.split(part))
    pieces[1::2] = [str(number).count("x") for number in pieces[1::2]]
    return tuple(pieces)


def _read_parts(code: str) -> list[_Parameter] | None:
    """The parameters of ``<…>``, each read like an earlier one; None where one is new."""
    found: list[_Parameter] = []
    at = 1
    for part in code[1:-1].split(","):
        known = _known_parts.get(_part_key(part))
        if known is None:
            return None
        text = part.strip()
        start = at + len(part) - len(part.lstrip())
        end = start + len(text)
        key = None
        if known[0] == "keyed":
            name, _, text = text.partition("=")
            key = Token("tile_type__TYPE_WORD", name.rstrip(), start, start + len(name.rstrip()))
            text = text.lstrip()
        found.append((known[0], key, Token(known[1], text, end - len(text), end)))
        at += len(part) + 1
    return found


def parameter_spans(text: str) -> dict[str, tuple[int, int]]:
    """Where the parameters stand in the text of a tile type: offsets by field name, as in TileType.

    ``kind`` is the type's own name; a parameter that is none of ours is found as ``key=``.
    """
    head = _TILE.match(text)
    if head is None:
        return {}
    reader = _TileReader(text, head)
    with suppress(TextFault):
        reader.fields()
    return {**reader.spans, "kind": head.span()}


def _valid(text: str) -> int | None:
    """A valid extent; ``?`` and ``-1`` are known at run time only."""
    number = None if text == "?" else int(text)
    return None if number == -1 else number


def _pieces(token: Token, *texts: str) -> list[Token]:
    """The parts of ``16x256xf32``, each with its place."""
    parts = []
    at = token.start
    for text in texts:
        parts.append(Token(token.type, text, at, at + len(text)))
        at += len(text) + 1
    return parts


class _TileReader:
    """Reads the parameters of one tile type. ``taken`` holds those that a memo can keep: text and what it says."""

    def __init__(self, text: str, head: re.Match[str]) -> None:
        self.text = text
        self.kind = head[1]
        self.offset = head.end()
        self.values: dict[str, Any] = {}
        self.extra: list[tuple[str, str]] = []
        self.spans: dict[str, tuple[int, int]] = {}
        self.positions = iter(_POSITIONS)
        self.taken: list[tuple[str, dict[str, Any]]] = []

    def fields(self) -> dict[str, Any]:
        parameters = self._parameters()
        code = self.text[self.offset :]
        texts = code[:-1].split(",") if _PLAIN.fullmatch(code) else [""] * len(parameters)
        for text, (kind, key, value) in zip(texts, parameters, strict=True):
            before = len(self.values)
            self._take(kind, key, value)
            given = dict([*self.values.items()][before:])
            if text and given and (kind in ("keyed", "shaped") or text[0] == "<"):
                self.taken.append((text, given))
        missing = [name for name in ("element", "rows", "cols") if name not in self.values]
        if missing:
            named = {"element": "an element type", "rows": "rows", "cols": "columns"}
            raise TextFault(
                f"a tile type has an element type, rows and columns, as in {EXAMPLE}; "
                f"this one has no {' and no '.join(named[n].removeprefix('an ') for n in missing)}",
                0,
                len(self.text),
                _NO_TYPE,
            )
        return {**self.values, "extra": tuple(self.extra)}

    def _parameters(self) -> list[tuple[str, Token | None, Token]]:
        code = self.text[self.offset :]
        plain = _PLAIN.fullmatch(code) is not None
        known = _read_parts(code) if plain else None
        if known is not None:
            return known
        try:
            found = parse_tile_type(code)
            if plain:
                for part, (kind, _, value) in zip(code[1:-1].split(","), found, strict=True):
                    _known_parts[_part_key(part)] = kind, value.type
            return found
        except TextFault as fault:
            raise self._fault(fault.message, fault.start, fault.end) from None
        except UnexpectedInput as error:
            token = getattr(error, "token", None)
            if not isinstance(token, Token):
                raise self._fault("the tile type stops in the middle", len(code) - 1, len(code)) from None
            if "..." in code:
                raise self._dots(code.index("..."), code.index("...") + 3) from None
            if token.value in (",", ">"):
                message = f"a parameter is missing before '{token.value}'; parameters look like those of {EXAMPLE}"
                raise self._fault(message, token.start, token.end) from None
            raise self._fault(
                f"'{token.value}' is no parameter of a tile type; parameters look like those of {EXAMPLE}",
                token.start,
                token.end,
            ) from None

    def _fault(self, message: str, start: int, end: int) -> TextFault:
        return TextFault(message, start + self.offset, end + self.offset, _NO_TYPE)

    def _dots(self, start: int, end: int) -> TextFault:
        example = f"!pto.{self.kind}<vec, 16x256xf32>"
        return self._fault(
            f"'...' stands for \"some type\" on the pages; write the type out, for example {example}", start, end
        )

    def _take(self, kind: str, key: Token | None, value: Token) -> None:
        if kind == "dots":
            raise self._dots(value.start, value.end)
        if kind == "keyed":
            assert key is not None
            self._keyed(key, value)
        elif kind == "shaped":
            rows, cols, element = value.value.split("x", 2)
            parts = _pieces(value, rows, cols, element)
            self._set("rows", self._physical(value, rows), parts[0])
            self._set("cols", self._physical(value, cols), parts[1])
            self._set("element", element_type(element), parts[2])
        elif kind == "integer":
            self._integer(value)
        else:
            self._word(value)

    def _keyed(self, key: Token, value: Token) -> None:
        field = _KEYS.get(key.value)
        if field is None:
            self.extra.append((key.value, value.value))
            self.spans[f"{key.value}="] = (key.start + self.offset, value.end + self.offset)
        elif field == "valid":
            if value.type != "tile_type__EXTENTS":
                raise self._fault(
                    f"valid={value.value} must be rows and columns, as in valid=16x255",
                    value.start,
                    value.end,
                )
            rows, cols = value.value.split("x")
            parts = _pieces(value, rows, cols)
            self._set("valid_rows", _valid(rows), parts[0])
            self._set("valid_cols", _valid(cols), parts[1])
        elif field in ("rows", "cols", "valid_rows", "valid_cols"):
            dynamic = field.startswith("valid")
            if value.type != "tile_type__INTEGER" and not (dynamic and value.value == "?"):
                wanted = "a number or ?" if dynamic else "a number"
                raise self._fault(f"{key.value}={value.value} must be {wanted}", value.start, value.end)
            self._set(field, _valid(value.value) if dynamic else int(value.value), value)
        elif field == "element":
            self._set(field, element_type(value.value), value)
        else:
            self._set(field, self._enum(field, value), value)

    def _physical(self, token: Token, text: str) -> int:
        if text == "?":
            raise self._fault(
                f"'{token.value}' has a ? in the physical shape, which must be numbers; "
                "the valid region can be known at run time only, as in valid=?x?",
                token.start,
                token.end,
            )
        return int(text)

    def _integer(self, value: Token) -> None:
        for field in ("rows", "cols"):
            if field not in self.values:
                self._set(field, int(value.value), value)
                return
        self._positional(value)

    def _word(self, value: Token) -> None:
        word = value.value
        if word in _ENUMS["loc"] and "loc" not in self.values and "rows" not in self.values:
            self._set("loc", _ENUMS["loc"][word], value)
        elif "element" not in self.values and "rows" not in self.values:
            if not is_element_name(word) and (near := did_you_mean(word, (*LOCATIONS, *ELEMENT_NAMES))):
                raise self._fault(
                    f"'{word}' is neither a location nor an element type; did you mean '{near}'?",
                    value.start,
                    value.end,
                )
            self._set("element", element_type(word), value)
        else:
            self._positional(value)

    def _positional(self, value: Token) -> None:
        field = next(self.positions, None)
        if field is None:
            raise self._fault(f"'{value.value}' has no place in a tile type", value.start, value.end)
        self._set(field, self._enum(field, value), value)

    def _enum(self, field: str, value: Token) -> Any:
        word = value.value
        if field == "fractal":
            if value.type == "tile_type__INTEGER":
                return int(word)
            return DEFAULT_FRACTAL if word == "None" else word
        known = _ENUMS[field]
        found = known.get(word if field == "loc" else word.lower())
        if found is None:
            near = did_you_mean(word, known)
            hint = f"; did you mean '{near}'?" if near else f"; it can be {', '.join(dict.fromkeys(known.values()))}"
            raise self._fault(f"'{word}' is no {field}{hint}", value.start, value.end)
        return found

    def _set(self, field: str, value: Any, token: Token) -> None:
        if field in self.values:
            what = "the element type" if field == "element" else field.replace("_", " ")
            raise self._fault(f"{what} is given twice", token.start, token.end)
        if field == "element" and value.text in ("true", "false"):
            raise self._fault(f"'{value.text}' is a value; it is no element type", token.start, token.end)
        self.values[field] = value
        self.spans[field] = (token.start + self.offset, token.end + self.offset)
