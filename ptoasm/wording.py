"""What a syntax error says: what was expected and what was found, in words of the language."""

from __future__ import annotations

from typing import NamedTuple

from lark.exceptions import UnexpectedInput

from ptoasm.dialect import instruction_names
from ptoasm.dialect.host import SYNTAX
from ptoasm.lexer import TextFault, Token
from ptoasm.source import Span
from ptoasm.statements import parse_dictionary
from ptoasm.suggest import did_you_mean

WORDS = {
    "VALUES": "an operand such as %a",
    "SYMBOL": "a name such as @kernel",
    "AT_TILE": "'@tile('",
    "INS": "'ins('",
    "OUTS": "'outs('",
    "EQUAL": "'='",
    "COMMA": "','",
    "COLON": "':'",
    "__ANON_0": "'->'",
    "TO": "'to'",
    "STEP": "'step'",
    "ITER_ARGS": "'iter_args('",
    "TYPES": "a type such as !pto.tile<vec, 16x256xf32>",
    "LPAR": "'('",
    "LSQB": "'['",
    "RPAR": "')'",
    "RSQB": "']'",
    "ATTRIBUTES": "'attributes'",
    "LBRACE": "'{'",
    "DICT": "an attribute dictionary {…}",
    "WORD": "a keyword",
    "RBRACE": "'}'",
    "$END": "the end of the statement",
}
"""The terminals that a message can name, in the order in which it names them."""
NEVER_NAMED = frozenset({"ARGUMENTS", "LOC", "FOREIGN", "ALIAS", "LABEL", "CLAUSE", "RESULTS", "NAME"})
"""Terminals that are rare or have no spelling of their own."""
_KEYWORDS = {
    "INS": "ins",
    "OUTS": "outs",
    "AT_TILE": "@tile",
    "ATTRIBUTES": "attributes",
    "TO": "to",
    "STEP": "step",
    "ITER_ARGS": "iter_args",
}
_LEADING = ("COLON", "__ANON_0", "EQUAL", "COMMA")
"""What was forgotten where what it leads to stands at once."""
_MOST_WORDS = 5


class Wording(NamedTuple):
    """A syntax error: its code, what it says, and where."""

    code: str
    message: str
    span: Span


def describe(error: UnexpectedInput, code: str, start: int, end: int) -> Wording:
    """The wording for the statement that begins at ``start`` and was read up to ``end``."""
    token = getattr(error, "token", None)
    accepted: set[str] = set(getattr(error, "accepts", None) or getattr(error, "expected", None) or ())
    if not isinstance(token, Token) or token.type == "$END":
        place = Span(max(end - 1, start), max(end, start + 1))
        return Wording("PARSE-01", f"the statement stops here; expected {_wanted(accepted)}", place)
    place = Span(token.start, max(token.end, token.start + 1))
    if accepted >= {"SYNC_NAME", "PTO_NAME"}:
        return _no_beginning(token, accepted, place)
    line = code[token.start : code.find("\n", token.start) + 1 or None]
    if token.type == "LBRACE" and "DICT" in accepted and "}" in line:
        return _no_dictionary(line[: line.index("}") + 1], place)
    leading = next((name for name in _LEADING if name in accepted and token.type in ("TYPES", "VALUES")), None)
    wanted = WORDS[leading] if leading else _wanted(accepted)
    found = _shortened(code[token.start : token.end])
    near = did_you_mean(found, [_KEYWORDS[name] for name in sorted(accepted) if name in _KEYWORDS])
    hint = f"; did you mean '{near}'?" if near else ""
    return Wording("PARSE-01", f"expected {wanted}, found '{found}'{hint}", place)


def _no_beginning(token: Token, accepted: set[str], place: Span) -> Wording:
    """Something else where a statement, or the operation behind ``%a =``, begins."""
    if token.type == "WORD":
        near = did_you_mean(token.value, [name.removeprefix("pto.") for name in known_operations()])
        hint = f"; did you mean '{near}'?" if near else ""
        return Wording("PARSE-04", f"'{token.value}' is no instruction{hint}", place)
    found = _shortened(token.value)
    if token.type == "VALUES" and "RESULTS" in accepted:
        return Wording("PARSE-01", f"expected a statement, found '{found}'; results are written '%a, %b ='", place)
    return Wording("PARSE-01", f"expected {_wanted(accepted)}, found '{found}'", place)


def _no_dictionary(text: str, place: Span) -> Wording:
    """A ``{…}`` that is no attribute dictionary, where there could be one."""
    try:
        parse_dictionary(text)
    except TextFault as fault:
        return Wording("PARSE-02", fault.message, Span(place.start + fault.start, place.start + fault.end))
    return Wording("PARSE-01", "an attribute dictionary has no place here", place)


def _wanted(accepted: set[str]) -> str:
    if accepted >= {"SYNC_NAME", "PTO_NAME"}:
        return "a statement" if "MODULE" in accepted else "an instruction"
    words = [word for name, word in WORDS.items() if name in accepted][:_MOST_WORDS]
    if not words:
        return "something else"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:37]}..."


def known_operations() -> list[str]:
    """The full names of every operation that the project knows."""
    return [f"pto.{name}" for name in instruction_names()] + [name for name in SYNTAX if "." in name]
