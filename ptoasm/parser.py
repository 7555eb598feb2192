"""Text to a module.

The reader cuts the text where statements can begin, looks each piece up among the templates, and has the grammar read
what is new. A piece that holds less or more than one statement is never a template, so where the cuts fall decides
only how fast the text is read.
"""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedInput

from ptoasm.builder import HOLE, NESTED, Builder, Template, result_names
from ptoasm.collector import paused
from ptoasm.diagnostics import Diagnostic, Note, PtoError, has_errors, in_source_order
from ptoasm.dialect.host import EXISTING, NO_EFFECT
from ptoasm.ignoring import faults
from ptoasm.ir import FLAT, FOREIGN, Function, Module, Operation, Shape, restore_flat
from ptoasm.lexer import NEXT_BEGINNING, Chunk, TextFault, blank_comments
from ptoasm.source import Source, Span
from ptoasm.statements import Statement, parse_chunk
from ptoasm.suggest import did_you_mean
from ptoasm.types import Type


def parse(text: str, filename: str = "<string>", first_line: int = 1, *, memo: bool = True) -> Module:
    """The module that ``text`` holds, wrong or right: what is wrong is in ``module.diagnostics``.

    ``memo=False`` has the grammar read every statement, also those that are written like an earlier one.
    """
    module = Module(Source(text, filename, first_line))
    if not text.strip():
        message = "the file is empty; there is no program in it"
        module.diagnostics.append(Diagnostic("error", "PARSE-07", message, module.source, Span(0, 0)))
        return module
    with paused():
        _Reader(module, memo).read()
    if unclear := faults(module.source):
        module.diagnostics = in_source_order([*module.diagnostics, *unclear])
    return module


def parse_or_raise(text: str, filename: str = "<string>") -> Module:
    """As ``parse``; raises PtoError where the text is not the language or names and types disagree."""
    module = parse(text, filename)
    if has_errors(module.diagnostics):
        raise PtoError(module.diagnostics)
    return module


_LONGEST_PIECE = 1 << 14
"""What is longer is not looked up: most of it would be looked at again for each statement that it holds."""


class _Reader:
    """Reads one text."""

    def __init__(self, module: Module, memo: bool) -> None:
        self.module = module
        self.code = blank_comments(module.source.text)
        self.templates: dict[tuple[str, ...], Template] = {}
        self.closings: dict[str, Statement] = {}
        self.generic: dict[Operation, Template] = {}
        self.memo = memo
        self.builder = Builder(module, self.code)
        self.functions = [self.builder.flat]
        self._guesses: dict[str, str | None] = {}
        self.starts: list[int] = []
        self.scopes = [0]
        self.scope_of: dict[Function, int] = {}

    def read(self) -> None:
        code = self.code
        at = len(code) - len(code.lstrip())
        for match in NEXT_BEGINNING.finditer(code, max(at - 1, 0)):
            at = self._read_until(at, match.start(), match.end())
        self._read_until(at, len(code), len(code))
        self._finish()

    def _read_until(self, at: int, end: int, following: int) -> int:
        """Reads the statements that begin in ``at … end - 1``; gives the beginning of the next one."""
        while at < end:
            if end - at > _LONGEST_PIECE:
                at = self._read_new(at, 0, [])
                continue
            piece = self.code[at:end].rstrip()
            if not piece:
                break
            parts = HOLE.split(piece)
            template = self.templates.get(tuple(parts[::2]))
            if template is not None and template.variants is not None:
                holes = parts[1::2]
                template = template.variants.get(tuple([holes[k] for k in template.fixed]))
            if template is not None:
                try:
                    self.builder.operation(template, parts[1::2], at, at + len(piece))
                    break
                except TextFault:
                    pass  # a type that is none: read again for the place
            at = self._read_new(at, len(piece), parts)
        return max(at, following)

    def _read_new(self, at: int, size: int, parts: list[str]) -> int:
        """Has the grammar read the statement at ``at``; gives the place after it and the space behind it."""
        closing = self.closings.get(self.code[at : at + size])
        if closing is not None:
            self._add_region_end(closing, Span(at, at + size))
            return self._skip_space(at + size)
        chunk = Chunk(self.code, at)
        try:
            statement = parse_chunk(chunk)
            span = Span(at, chunk.end)
            template = self._add(statement, span)
        except TextFault as fault:
            self._report_text(fault)
            return self._recover(at, fault.start)
        except UnexpectedInput as error:
            return self._recover(at, self._report_syntax(error, at, chunk.end))
        if self.memo and span.end - at == size:
            if template is not None:
                self._remember(template, parts)
            elif statement.kind == "region_end" and not (statement.opens or statement.dicts or statement.generic):
                self.closings[self.code[at : at + size]] = statement
        return self._skip_space(chunk.end)

    def _remember(self, template: Template, parts: list[str]) -> None:
        key = tuple(parts[::2])
        if not template.fixed:
            self.templates[key] = template
            return
        holes = parts[1::2]
        family = self.templates.setdefault(key, template)
        if family.variants is None:
            family.variants = {}
        family.variants[tuple([holes[k] for k in template.fixed])] = template

    def _skip_space(self, at: int) -> int:
        code = self.code
        while at < len(code) and code[at].isspace():
            at += 1
        return at

    # --- Statements --------------------------------------------------------------------------------

    def _text(self, item: tuple[int, int]) -> str:
        return self.code[item[0] : item[1]]

    def _add(self, statement: Statement, span: Span) -> Template | None:
        """Adds the statement to the module; gives its template where others may be written alike."""
        kind = statement.kind
        if kind in ("func_header", "module_header", "region_end", "label", "alias", "foreign"):
            getattr(self, f"_add_{kind}")(statement, span)
            return None
        template = Template(statement, self.code[span.start : span.end], span.start)
        names = result_names(statement.results, template.text, span.start) if statement.bound else []
        for at, item in statement.bound:
            if at >= len(names):
                raise TextFault("there are more addresses than results", *item)
        for at, item in statement.bound:
            self.builder.bind_result(names[at][0], self._text(item), span)
        holes = HOLE.split(template.text)[1::2]
        try:
            op = self.builder.operation(template, holes, span.start, span.end)
        except TextFault as fault:
            raise self._placed(fault, statement) from None
        if statement.opens:
            self.builder.begin(statement, op, span, self._text)
            if statement.generic:
                self.generic[op] = template
            return None
        return None if statement.bound else template

    def _placed(self, fault: TextFault, statement: Statement) -> TextFault:
        """The fault of a type with its place in the whole text."""
        for item in (*(statement.input_types or ()), *(statement.output_types or ())):
            text = self._text(item)
            try:
                self.builder.read_type(text)
            except TextFault as found:
                offset = item[0] + text.startswith("!")
                return TextFault(found.message, found.start + offset, found.end + offset, found.code)
        return fault

    def _types(self, items: list[tuple[int, int]]) -> list[Type]:
        types = []
        for item in items:
            text = self._text(item)
            offset = item[0] + text.startswith("!")
            try:
                types.append(self.builder.read_type(text))
            except TextFault as fault:
                raise TextFault(fault.message, fault.start + offset, fault.end + offset, fault.code) from None
        return types

    def _add_func_header(self, statement: Statement, span: Span) -> None:
        builder = self.builder
        assert statement.symbol is not None
        function = Function(self.module, statement.symbol.value[1:].strip('"'), start=span.start, end=span.end)
        types = self._types([item for item in statement.argument_types if item is not None])
        function.result_types = tuple(self._types(statement.output_types or []))
        function.attributes, _ = builder.read_attributes(statement)
        function.argument_attributes = [builder.dictionary(token) for token in statement.argument_dicts]
        function.result_attributes = [builder.dictionary(token) for token in statement.result_dicts]
        function.visibility = statement.word.value if statement.word is not None else ""
        self._add_item(function, span)
        self.scope_of[function] = self.scopes[-1]
        self.functions.append(function)
        if not statement.opens or statement.generic:
            function.argument_types = tuple(types)
        if not statement.opens:
            function.body = None
            return
        builder.enter_function(function, statement, span)
        for item, type_ in zip(statement.arguments, types, strict=False):
            builder.argument(self._text(item)[1:], type_, Span(*item))

    def _add_module_header(self, statement: Statement, span: Span) -> None:
        module = self.module
        if module.wrapped:
            self._add_nested_module(statement, span)
            return
        module.wrapped = True
        module.span = span
        module.attributes, _ = self.builder.read_attributes(statement)
        if statement.symbol is not None:
            module.name = statement.symbol.value[1:].strip('"')
        self.builder.begin(statement, None, span, self._text)

    def _add_nested_module(self, statement: Statement, span: Span) -> None:
        """Keeps the header of a further module, and its end: its functions are those of the one module that is read."""
        self._add_item(self.module.source.text[span.start : span.end], span)
        self.scopes.append(len(self.starts))
        statement.kind = NESTED
        self.builder.begin(statement, None, span, self._text)

    def _add_region_end(self, statement: Statement, span: Span) -> None:
        if self.builder.innermost == NESTED:
            self._add_item("}", span)
            self.scopes.pop()
        if statement.generic and not statement.opens:
            self._finish_generic(statement)
        self.builder.end(statement, span)

    def _finish_generic(self, statement: Statement) -> None:
        """What generic form says behind the regions: attributes, and the types of operands and results."""
        kind, function = self.builder.innermost, self.builder.block.function
        attributes, _ = self.builder.read_attributes(statement)
        if kind == "module_header":
            self.module.attributes |= attributes
        elif kind == "func_header":
            function.attributes |= attributes
            if function.body is not None and not (function.body.operations or function.body.arguments):
                function.body = None
        elif self.builder.block.parent in self.generic:
            op = self.builder.block.parent
            assert op is not None
            types = self._types([*(statement.input_types or []), *(statement.output_types or [])])
            self.builder.finish_generic(op, self.generic.pop(op), statement, types)

    def _add_label(self, statement: Statement, span: Span) -> None:
        """The label of a region's first block gives it arguments; a later one begins a block that nothing enters."""
        types = self._types([item for item in statement.argument_types if item is not None])
        block = self.builder.block
        later: Operation | None = None
        if block.operations or block.label is not None or (block.arguments and statement.arguments):
            assert statement.name is not None
            later = self._verbatim(self._text(statement.name.items[0]), span, span.start)
            block.operations.append(later)
        else:
            block.label = self._text((span.start, span.end))
        for item, type_ in zip(statement.arguments, types, strict=False):
            self.builder.argument(self._text(item)[1:], type_, Span(*item), later)

    def _add_item(self, item: Function | str, span: Span) -> None:
        self.module.items.append(item)
        self.starts.append(span.start)

    def _add_alias(self, statement: Statement, span: Span) -> None:
        text = self.module.source.text[span.start : span.end]
        self._add_item(text, span)
        if text[0] == "!":
            name, _, type_ = text.partition("=")
            self.builder.aliases[name[1:].strip()] = type_.strip().removeprefix("!")

    def _verbatim(self, name: str, span: Span, start: int) -> Operation:
        """An operation that is kept as it is written, from ``start`` on."""
        shape = Shape(name, FOREIGN, keywords={"text": self.module.source.text[start : span.end]})
        return Operation(shape, (), (), self.builder.block, span.start, span.end)

    def _add_foreign(self, statement: Statement, span: Span) -> None:
        assert statement.name is not None
        start, end = statement.name.items[0]
        name = self.code[start:end].strip('"')
        op = self._verbatim(name, span, start)
        self.builder.define_results(statement, op)
        self.builder.block.operations.append(op)
        near = self._near(name)
        if near is not None:
            self.builder.report(
                "NAME-04",
                f"'{name}' is not known; did you mean '{near}'?",
                Span(start, end),
                severity="warning",
            )

    def _near(self, name: str) -> str | None:
        """The known operation that an unknown one is nearly called like."""
        if name not in self._guesses:
            self._guesses[name] = None if name in NO_EFFECT or name in EXISTING else self._guess(name)
        return self._guesses[name]

    @staticmethod
    def _guess(name: str) -> str | None:
        from ptoasm.wording import known_operations

        if not name.startswith("pto."):
            return did_you_mean(name, known_operations())
        # The letters of the dialect do not make short names alike.
        near = did_you_mean(name[4:], [known[4:] for known in known_operations() if known.startswith("pto.")])
        return None if near is None else f"pto.{near}"

    # --- Faults ------------------------------------------------------------------------------------

    def _report_text(self, fault: TextFault) -> None:
        self.builder.report(fault.code, fault.message, Span(fault.start, fault.end))

    def _report_syntax(self, error: UnexpectedInput, at: int, end: int) -> int:
        """Says what was expected; gives the place of the fault."""
        from ptoasm.wording import describe

        found = describe(error, self.code, at, end)
        self.builder.report(found.code, found.message, found.span)
        return found.span.start

    def _recover(self, at: int, fault: int) -> int:
        """Where to go on after a statement that could not be read: at the next line that begins one."""
        resume = len(self.code)
        for match in NEXT_BEGINNING.finditer(self.code, at):
            if match.end() <= at:
                continue
            if match.end() > fault and resume <= fault:
                break
            resume = match.end()
            if resume > fault:
                break
        skipped = _BRACES.findall(self.code[at:resume])
        depth = skipped.count("{") - skipped.count("}")
        for _ in range(depth):
            self.builder.enter_broken(Span(at, at + 1))
        for _ in range(-depth):
            self.builder.end(Statement("region_end"), Span(at, at + 1))
        return max(resume, at + 1)

    def _finish(self) -> None:
        self.builder.finish(len(self.code))
        module = self.module
        self._place_flat()
        self._check_function_names()
        module.functions = [*self.functions, *self.builder.broken]
        if any(FLAT in function.attributes for function in self.functions):
            restore_flat(module)
        module.diagnostics = in_source_order(module.diagnostics)

    def _place_flat(self) -> None:
        """Puts the statements outside of functions where they stand; those that are only kept are no function."""
        items, flat = self.module.items, self.builder.flat
        operations = flat.body.operations if flat.body is not None else []
        others = len(self.functions) > 1
        added: list[tuple[int, Function | str]] = [(operations[0].start, flat)] if operations else []
        if others and all(op.shape.form == FOREIGN for op in operations):
            added = [(op.start, self.module.source.text[op.start : op.end]) for op in operations]
        if not any(item is flat for _, item in added):
            self.functions.remove(flat)
        placed = [*zip(self.starts, items, strict=True), *added]
        items[:] = [item for _, item in sorted(placed, key=lambda one: one[0])]

    def _check_function_names(self) -> None:
        seen: dict[tuple[int, str], Function] = {}
        for function in self.functions:
            first = seen.setdefault((self.scope_of.get(function, 0), function.name), function)
            if first is not function:
                self.module.diagnostics.append(
                    Diagnostic(
                        "error",
                        "NAME-02",
                        f"'@{function.name}' is defined twice",
                        self.module.source,
                        Span(function.start, function.end),
                        (Note("it is defined here", self.module.source, Span(first.start, first.end)),),
                    )
                )


_BRACES = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}]')
