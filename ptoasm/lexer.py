"""Text to tokens, for Lark's ``lexer=`` option.

The patterns of the terminals stand in the grammar; this file knows what the patterns cannot say: which bracket closes a
type, what kind of operation a name is, and where a statement ends. Comments are blanked out before (same length, so
that offsets stay true).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lark.lexer import Lexer

from ptoasm.dialect import syntax_class

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|%[\w.$-]+#[0-9]+|//[^\n]*|#(?![A-Za-z_])[^\n]*')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NAME = re.compile(r"[A-Za-z_][\w$]*(?:\.[\w$]+)*")
_SPACE = re.compile(r"\s*")
_COMMA = re.compile(r"\s*,\s*")
_BINDING = re.compile(r"\s*=(?!=)")
_DICT = re.compile(r'\{\s*(?:\}|(?!(?:func\.)?return\b|\w+\.yield\b)(?:[A-Za-z_][\w.$-]*|"(?:[^"\\]|\\.)*")\s*[=,}])')
_BRACKETS = re.compile(r'->|[][(){}<>]|"(?:[^"\\]|\\.)*"')
_ALIAS = re.compile(r"[#!][\w.$]+\s*=(?!=)")
_DEFINITION = r"%(?:[\w.$]|-(?!>))+(?::[0-9]+)?(?:\s*,\s*%(?:[\w.$]|-(?!>))+(?::[0-9]+)?)*\s*=(?!=)"
_BEGINNING = rf'{_DEFINITION}|[A-Za-z_][\w$]*\.[\w$.]+|(?:return|module)\b|call(?=\s*@)|[}}"^]|[#!][\w.$]+\s*=(?!=)'
BEGINNING = re.compile(_BEGINNING)
"""What a statement begins with. The same pattern decides where a statement ends: before the next one begins."""
NEXT_BEGINNING = re.compile(rf"\n\s*(?={_BEGINNING})")
"""A line end before the beginning of a statement: where the reader may cut the text."""

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OPENS_REGION = {"MODULE", "FUNC", "LOOP", "BRANCH", "WHILE", "SECTION", "RBRACE"}
_ELEMENTS = re.compile(r'\s*(?:dense|sparse|array|unit|[#"\[@])')
"""What an ``arith.constant`` of something that is no number begins with."""
_OPERANDS = re.compile(r"\s*\(")
_GOES_ON = re.compile(r"\s*(?:[:,({\[<]|->|(?:ins|outs)\s*\()")
"""What no statement begins with."""


class TextFault(Exception):
    """Text that no terminal describes: ``message`` says what is wrong with characters ``start`` to ``end - 1``."""

    def __init__(self, message: str, start: int, end: int, code: str = "PARSE-02") -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end
        self.code = code


class Token:
    """A terminal's kind and place. ``items`` holds the places of the members of a list."""

    __slots__ = ("end", "items", "start", "type", "value")

    # What Lark copies to its end token; places are offsets here, so none of it is used.
    start_pos = end_pos = line = column = end_line = end_column = 0

    def __init__(
        self, type_: str, value: str, start: int, end: int, items: list[tuple[int, int]] | None = None
    ) -> None:
        self.type = type_
        self.value = value
        self.start = start
        self.end = end
        self.items = items or [(start, end)]


class Chunk:
    """One statement to be read: the text and where it starts. The lexer leaves its end in ``end``."""

    __slots__ = ("code", "end", "start")

    def __init__(self, code: str, start: int = 0) -> None:
        self.code = code
        self.start = start
        self.end = start


def blank_comments(text: str) -> str:
    """The text with every comment replaced by spaces (decision D-23: ``#`` before a letter is no comment)."""
    if "//" not in text and "#" not in text:
        return text

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        return found if found[0] in '"%' else " " * len(found)

    return _COMMENT.sub(blank, text)


def comment_spans(text: str) -> list[tuple[int, int]]:
    """Where the comments stand."""
    if "//" not in text and "#" not in text:
        return []
    return [match.span() for match in _COMMENT.finditer(text) if match.group()[0] not in '"%']


def closing_bracket(code: str, start: int) -> int:
    """The offset just after the bracket that closes the one at ``start``."""
    expected: list[str] = []
    for match in _BRACKETS.finditer(code, start):
        mark = match.group()
        if mark in _CLOSING:
            expected.append(_CLOSING[mark])
        elif mark in ")]}>":
            if mark != expected[-1]:
                if mark == ">":
                    continue
                break
            expected.pop()
            if not expected:
                return match.end()
    raise TextFault(f"'{code[start]}' is never closed", start, start + 1)


def end_of_foreign(code: str, start: int) -> int:
    """Where an operation in unknown syntax ends: at the end of the line on which its brackets balance (D-20).

    A line that ends in a comma, or a next one that begins with ``outs(``, goes on.
    """
    depth = 0
    for match in _FOREIGN_MARKS.finditer(code, start):
        mark = match.group()
        if mark == "\n":
            if depth == 0 and not _goes_on(code, match.start()):
                return match.start()
        elif mark in "([{":
            depth += 1
        elif mark in ")]}":
            if depth == 0:
                return match.start()
            depth -= 1
    if depth:
        raise TextFault("the operation's brackets are never closed", start, start + 1)
    return len(code)


_FOREIGN_MARKS = re.compile(r'[][(){}\n]|"(?:[^"\\]|\\.)*"')


def _goes_on(code: str, line_end: int) -> bool:
    """Whether an operation goes on after the end of a line: the line or the next one is no complete statement."""
    if NEXT_BEGINNING.match(code, line_end):
        return False
    line = code[code.rfind("\n", 0, line_end) + 1 : line_end].rstrip()
    return line.endswith((",", ":", "->")) or _GOES_ON.match(code, line_end) is not None


class StatementLexer(Lexer):
    """The lexer of the three start rules; see the grammar for the terminals."""

    __future_interface__ = 2

    def __init__(self, lexer_conf: Any) -> None:
        groups: dict[str, list[str]] = {"": [], "tile_type__": []}
        keywords: dict[str, str] = {}
        for terminal in lexer_conf.terminals:
            pattern = terminal.pattern.to_regexp()
            if re.fullmatch(r"\w+", pattern):
                keywords[pattern] = terminal.name
            prefix = "tile_type__" if terminal.name.startswith("tile_type__") else ""
            if terminal.name not in ("KEY", "ARGUMENTS"):
                groups[prefix].append(f"(?P<{terminal.name}>{pattern})")
            if not prefix and re.fullmatch(r"\\?[<>,=]", pattern):
                groups["tile_type__"].append(f"(?P<{terminal.name}>{pattern})")
        self._statement = re.compile("|".join(groups[""]))
        self._type = re.compile("|".join(groups["tile_type__"]))
        self._keywords = keywords
        self._types_again = re.compile(rf"\s*,\s*(?={self._pattern(lexer_conf, 'TYPES')})")
        self._types_head = re.compile(self._pattern(lexer_conf, "TYPES"))
        self._values = re.compile(self._pattern(lexer_conf, "VALUES"))
        self._arguments = re.compile(self._pattern(lexer_conf, "ARGUMENTS"))
        self._key = re.compile(self._pattern(lexer_conf, "KEY"))

    @staticmethod
    def _pattern(lexer_conf: Any, name: str) -> str:
        pattern: str = next(t for t in lexer_conf.terminals if t.name == name).pattern.to_regexp()
        return pattern

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Token]:  # type: ignore[override]
        """The tokens of a chunk, for the start rule that the parser is in."""
        chunk: Chunk = lexer_state.text
        start = parser_state.parse_conf.start
        if start == "tile_type":
            return self._lex_type(chunk)
        if start == "dictionary":
            return self._lex_dictionary(chunk)
        return self.statement(chunk)

    def _lex_type(self, chunk: Chunk) -> Iterator[Token]:
        code, at, end = chunk.code, chunk.start, len(chunk.code)
        while (at := _SPACE.match(code, at).end()) < end:  # type: ignore[union-attr]
            match = self._type.match(code, at)
            if match is None or match.lastgroup is None:
                raise TextFault(f"{code[at]!r} has no place in a tile type", at, at + 1)
            at = match.end()
            yield Token(match.lastgroup, match.group(), match.start(), at)

    def _lex_dictionary(self, chunk: Chunk) -> Iterator[Token]:
        code, at, end = chunk.code, chunk.start, len(chunk.code)
        after_equals = False
        while (at := _SPACE.match(code, at).end()) < end:  # type: ignore[union-attr]
            mark = code[at]
            if after_equals:
                stop = self._end_of_value(code, at)
                token = Token("ATTRIBUTE_VALUE", code[at:stop].rstrip(), at, at + len(code[at:stop].rstrip()))
                after_equals, at = False, stop
            elif mark in "{},=":
                after_equals = mark == "="
                token = Token(_PUNCTUATION[mark], mark, at, at + 1)
                at += 1
            else:
                match = self._key.match(code, at)
                if match is None:
                    raise TextFault("an attribute is 'name = value' or a name alone", at, at + 1)
                at = match.end()
                token = Token("KEY", match.group(), match.start(), at)
            yield token

    @staticmethod
    def _end_of_value(code: str, at: int) -> int:
        """The end of an attribute's value: the next comma or brace outside of brackets."""
        while at < len(code):
            mark = code[at]
            if mark in ",}":
                break
            if mark == '"':
                match = _STRING.match(code, at)
                if match is None:
                    raise TextFault("this string is never closed", at, at + 1)
                at = match.end()
            elif mark in "([{" or (mark == "<" and code[at - 1 : at].strip()):
                at = closing_bracket(code, at)
            else:
                at += 1
        return at

    def statement(self, chunk: Chunk) -> Iterator[Token]:
        """The tokens of one statement, or of one header or closing line of a region."""
        code, at, size = chunk.code, chunk.start, len(chunk.code)
        depth = 0
        first = previous = None
        while (at := _SPACE.match(code, at).end()) < size:  # type: ignore[union-attr]
            if depth <= 0 and first is not None and self._begins(code, at, first, previous):
                return
            token = self._token(code, at, previous, first, depth)
            kind = token.type
            if kind in ("LPAR", "LSQB", "INS", "OUTS", "AT_TILE"):
                depth += 1
            elif kind in ("RPAR", "RSQB"):
                depth -= 1
            chunk.end = at = token.end + (kind == "PROPERTIES")
            if first is None or first == "RESULTS":
                first = kind
            previous = token
            yield token
            if kind in ("LBRACE", "FOREIGN", "ALIAS"):
                return

    @staticmethod
    def _begins(code: str, at: int, first: str, previous: Token | None) -> bool:
        """Whether a new statement begins here, outside of brackets and after ``previous``."""
        if first == "LOOP" and previous is not None and previous.type == "WORD":
            return False
        if previous is not None and previous.type in ("RESULTS", "LOOP", "COMMA", "TO", "STEP"):
            return False
        if code[at] in "%#!" or code[at] not in '}^"':
            return BEGINNING.match(code, at) is not None
        return True

    def _token(self, code: str, at: int, previous: Token | None, first: str | None, depth: int) -> Token:
        mark = code[at]
        if (mark.isascii() and mark.isalpha()) or mark == "_":
            return self._word(code, at, previous)
        if mark == "%" and first in ("FUNC", "LABEL") and (match := self._arguments.match(code, at)):
            return self._list_of_arguments(code, match)
        if mark == "{":
            return self._brace(code, at, previous, first, depth)
        if mark == '"':
            return self._quoted(code, at, previous)
        if mark == "<" and code.startswith("<{", at):
            end = closing_bracket(code, at)
            return Token("PROPERTIES", code[at + 1 : end - 1], at + 1, end - 1)
        if mark == "<" and previous is not None and previous.value in (":", "->"):
            return Token("TYPES", "", at, closing_bracket(code, at))
        if previous is None and mark in "#!" and _ALIAS.match(code, at):
            end = end_of_foreign(code, at)
            return Token("ALIAS", code[at:end].rstrip(), at, at + len(code[at:end].rstrip()))
        match = self._statement.match(code, at)
        if match is None or match.lastgroup is None:
            message, end = _unexpected(code, at)
            raise TextFault(message, at, end)
        kind = match.lastgroup
        if kind == "RESULTS":
            if previous is None:
                return Token(kind, match.group(), at, match.end())
            match = self._values.match(code, at)
            assert match is not None
            kind = "VALUES"
        if kind == "VALUES":
            return self._list_of_values(code, match)
        if kind == "TYPES":
            return self._list_of_types(code, at)
        return Token(kind, match.group(), at, match.end())

    @staticmethod
    def _quoted(code: str, at: int, previous: Token | None) -> Token:
        """An operation's name in generic form. What is not known is kept as it is written, regions and all."""
        match = _STRING.match(code, at)
        if match is None:
            message, end = _unexpected(code, at)
            raise TextFault(message, at, end)
        end = match.end()
        name = match.group()[1:-1]
        begins = previous is None or previous.type == "RESULTS"
        if not begins or syntax_class(name) is not None or name == "pto.constant":
            return Token("QUOTED", match.group(), at, end)
        if not _OPERANDS.match(code, end):
            raise TextFault(f"behind {match.group()} stand the operands of the operation, in brackets", at, end)
        stop = at + len(code[at : end_of_foreign(code, end)].rstrip())
        return Token("FOREIGN", code[at:stop], at, stop, [(at, end)])

    def _word(self, code: str, at: int, previous: Token | None) -> Token:
        match = self._statement.match(code, at)
        if match is not None and match.lastgroup == "TYPES":
            return self._list_of_types(code, at)
        if match is not None and match.lastgroup == "VALUES":
            return self._list_of_values(code, match)
        match = _NAME.match(code, at)
        assert match is not None
        name, end = match.group(), match.end()
        begins = previous is None or previous.type == "RESULTS"
        if begins:
            kind = syntax_class(name)
            if kind == "CONSTANT" and _ELEMENTS.match(code, end):
                kind = None
            if kind is None and "." in name:
                stop = at + len(code[at : end_of_foreign(code, end)].rstrip())
                return Token("FOREIGN", code[at:stop], at, stop, [(at, end)])
            return Token(kind or "WORD", name, at, end)
        following = _SPACE.match(code, end).end()  # type: ignore[union-attr]
        if code[following : following + 1] == "(":
            if name in ("ins", "outs"):
                return Token(name.upper(), name, at, following + 1)
            if name == "loc":
                stop = closing_bracket(code, following)
                return Token("LOC", code[at:stop], at, stop)
        if name == "attributes":
            return Token("ATTRIBUTES", name, at, end)
        if code[following : following + 1] == "<":
            stop = closing_bracket(code, following)
            return Token("CLAUSE", code[at:stop], at, stop)
        return Token(self._keywords.get(name, "WORD"), name, at, end)

    @staticmethod
    def _brace(code: str, at: int, previous: Token | None, first: str | None, depth: int) -> Token:
        kind = None if previous is None else previous.type
        region = first in _OPENS_REGION and depth == 0 and kind not in ("ATTRIBUTES", "RBRACE")
        generic = (first, kind) in (("QUOTED", "LPAR"), ("RBRACE", "COMMA"))
        if region or generic or _DICT.match(code, at) is None:
            return Token("LBRACE", "{", at, at + 1)
        end = closing_bracket(code, at)
        return Token("DICT", code[at:end], at, end)

    def _list_of_values(self, code: str, match: re.Match[str] | None) -> Token:
        assert match is not None
        start = match.start()
        items = [match.span()]
        end = match.end()
        while (comma := _COMMA.match(code, end)) and (match := self._values.match(code, comma.end())):
            if _BINDING.match(code, match.end()):
                break
            end = match.end()
            items.append(match.span())
        return Token("VALUES", code[start:end], start, end, items)

    def _list_of_arguments(self, code: str, match: re.Match[str] | None) -> Token:
        """Arguments that have nothing but a name and a type: ``items`` has the two of each."""
        assert match is not None
        start, items = match.start(), []
        while match is not None:
            items += [match.span(1), match.span(2)]
            end = match.end()
            comma = _COMMA.match(code, end)
            match = None if comma is None else self._arguments.match(code, comma.end())
        return Token("ARGUMENTS", code[start:end], start, end, items)

    def _list_of_types(self, code: str, start: int) -> Token:
        items = []
        at = start
        while True:
            match = self._types_head.match(code, at)
            assert match is not None
            end = match.end()
            bracket = _SPACE.match(code, end).end()  # type: ignore[union-attr]
            if code[bracket : bracket + 1] == "<":
                end = closing_bracket(code, bracket)
            items.append((at, end))
            comma = self._types_again.match(code, end)
            if comma is None:
                return Token("TYPES", code[start:end], start, end, items)
            at = comma.end()


_PUNCTUATION = {"{": "LBRACE", "}": "RBRACE", ",": "COMMA", "=": "EQUAL"}


_NUMBER = re.compile(r"[-+]?[0-9][\w.]*")


def _unexpected(code: str, at: int) -> tuple[str, int]:
    """What to say about a character that begins no terminal, and where the text at fault ends."""
    if code[at] == '"':
        string = _STRING.match(code, at)
        if string is None:
            return "this string is never closed", at + 1
        return "this string has no place here", string.end()
    number = _NUMBER.match(code, at)
    if number is not None:
        return f"'{number.group()}' is no number", number.end()
    shown = code[at] if code[at].isprintable() else f"\\x{ord(code[at]):02x}"
    return f"'{shown}' has no place here", at + 1
