"""Asks the rules about a module.

What a rule says about a shape of operation is asked once a shape; what depends on an operation's literals or addresses
is asked of each operation. The answers of one operation come in the order of the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ptoasm.collector import paused
from ptoasm.diagnostics import Diagnostic, Note, in_source_order
from ptoasm.dialect.base import UNUSED, Instance, Instruction, Rule, Scalar, Tile, whole_valid_region
from ptoasm.dialect.common import (
    ADDRESS_ORDER,
    ARCH,
    FORM_RULES,
    HAZARD_RULES,
    PLACE,
    TILE_RULES,
    Address,
    Form,
)
from ptoasm.ir import HOST, Function, Literal, Module, Operation, Shape, Value
from ptoasm.numbers import integer, is_decimal, largest, literal_number
from ptoasm.placement import place, surely_fits
from ptoasm.regions import Region
from ptoasm.source import Span
from ptoasm.structure import Fault, faults, function_faults
from ptoasm.targets import DEFAULT, TARGETS, Target, known_target, target
from ptoasm.types import INDEX, ElementType, TileType, Type

if TYPE_CHECKING:
    from ptoasm.places import Places

_REMEMBERED = 1 << 10
"""How many answers are kept; the tables are only there to save time."""


class Verdict:
    """What the rules say about a shape on a target.

    ``broken`` lists the broken rules with the instance that breaks them, ``open`` those that a run must answer,
    ``individual`` those that each operation answers. ``askable`` is whether the instruction has rules and its form and
    types are right enough to ask them, ``bad_types`` whether a tile type breaks a TILE rule, ``quiet`` whether there is
    nothing to report. Most shapes of a large program have a verdict that is ``shared``.
    """

    __slots__ = ("askable", "bad_types", "broken", "individual", "open", "quiet", "shared", "typed")

    def __init__(self) -> None:
        self.broken: tuple[tuple[Rule, Any], ...] = ()
        self.open: tuple[Rule, ...] = ()
        self.individual: tuple[Rule, ...] = ()
        self.typed: tuple[tuple[str, str], ...] = ()
        self.askable = False
        self.bad_types = False
        self.quiet = True
        self.shared = False


_NO_RULES = Verdict()
"""The verdict on every shape that no rule is about."""
_NO_RULES.shared = True
_holding: dict[tuple[Rule, ...], Verdict] = {}


def _all_hold_but(individual: tuple[Rule, ...]) -> Verdict:
    """The verdict on every shape of which all rules hold, but for those that each operation answers."""
    found = _holding.get(individual)
    if found is None:
        found = _holding[individual] = Verdict()
        found.askable = found.shared = True
        found.individual = individual
        found.quiet = not individual
    return found


_tables: dict[tuple[Any, ...], dict[str, Verdict]] = {}
"""One table of verdicts by target for all shapes that have the same."""


def choose_target(module: Module, arch: str | None) -> Target:
    """The target that a module is for: ``arch``, else what the module says, else a2a3 (decision D-18)."""
    if arch is not None:
        return known_target(arch)
    named = module.attributes.get("pto.target_arch", "").strip('"')
    return target(named) or DEFAULT


def verify(module: Module, arch: str | None = None, *, ub_size: int | None = None) -> list[Diagnostic]:
    """What is wrong with a module on a target (``a2a3`` or ``a5``), in source order; the module's own faults included.

    ``ub_size`` is the capacity of the UB in bytes, where it is not the target's.
    """
    verifier = Verifier(module, choose_target(module, arch), ub_size)
    with paused():
        verifier.run(arch)
    return in_source_order([*module.diagnostics, *verifier.diagnostics])


def judge(shape: Shape, on: Target) -> Verdict:
    """The verdict on a shape, made once for each target."""
    verdict: Verdict | None = shape.verdicts.get(on.name)
    if verdict is None:
        verdict = _judge(shape, on)
        others = shape.verdicts
        if verdict.shared and (not others or all(other.shared for other in others.values())):
            key = (on.name, verdict, *others.items()) if others else (on.name, verdict)
            table = _tables.get(key)
            if table is None:
                table = _tables[key] = {**others, on.name: verdict}
            shape.verdicts = table
        else:
            shape.verdicts = {**others, on.name: verdict}
    return verdict


def _judge(shape: Shape, on: Target) -> Verdict:
    types = (*shape.input_types, *shape.output_types)
    faulty = [t for t in types if isinstance(t, TileType) and (tile_faults(t) or t.extra)]
    if shape.definition is not None:
        verdict = _judge_instruction(shape, shape.definition, on, types, faulty)
    else:
        verdict = Verdict() if faulty else _NO_RULES
    if faulty:
        verdict.bad_types = True
        verdict.quiet = False
    return verdict


def _judge_instruction(
    shape: Shape, definition: Instruction, on: Target, types: Sequence[Type | None], faulty: list[TileType]
) -> Verdict:
    family = _family(shape, definition, on, types)
    instance = None
    if family.askable and not (faulty and any(rule.id in _UNASKABLE for t in faulty for rule in tile_faults(t))):
        instance = family.instance(types)
        agenda, individual = family.agenda(instance)
        if not (faulty or family.misformed) and _all_hold(agenda, instance):
            return _all_hold_but(individual)
    verdict = Verdict()
    form = Form(shape, definition, len(shape.input_types), len(shape.output_types))
    verdict.broken = tuple([(rule, form) for rule in family.misformed])
    if not family.fitting:
        verdict.typed = tuple(_wrong_operands(shape, definition))
    if instance is not None:
        verdict.askable = True
        _ask(definition.rules, instance, verdict)
    verdict.quiet = not (verdict.broken or verdict.individual or verdict.typed)
    return verdict


def _all_hold(rules: Sequence[Rule], subject: Any) -> bool:
    for rule in rules:  # noqa: SIM110 - a generator costs as much as a rule
        if not rule.holds(subject):
            return False
    return True


_UNASKABLE = ("TILE-01", "TILE-02")
"""Of a tile whose type breaks one of these nothing else is asked (decision D-24)."""


class _Family:
    """What the rules say of all shapes that differ only in what their types say, not in which kinds of types they are.

    ``misformed`` are the FORM rules that they break, ``fitting`` says whether they have tiles and scalars where the
    page has, ``askable`` whether the instruction's own rules can be asked.
    """

    __slots__ = ("_agendas", "_attributes", "_instance", "_scalars", "_tiles", "askable", "fitting", "misformed")

    def __init__(self, shape: Shape, definition: Instruction, on: Target, types: Sequence[Type | None]) -> None:
        n_in = len(shape.input_types)
        named = [*enumerate(shape.input_names[:n_in]), *enumerate(shape.output_names[: len(types) - n_in], n_in)]
        self._instance = definition, shape.form, on
        self._tiles = [(name, at) for at, name in named if isinstance(types[at], TileType)]
        self._scalars = [(name, at) for at, name in named if not isinstance(types[at], TileType)]
        self._attributes = attribute_values(shape, definition)
        self.fitting = not any(_wrong_operands(shape, definition))
        self.misformed = _broken_forms(shape, definition, on) if definition.checked else []
        shaped = not any(rule.id in ("FORM-03", "FORM-04") for rule in self.misformed)
        self.askable = definition.checked and self.fitting and shaped
        self._agendas: dict[tuple[str, ...], tuple[list[Rule], tuple[Rule, ...]]] = {}

    def instance(self, types: Sequence[Type | None]) -> Instance:
        """The instance that these types describe."""
        tiles: dict[str, Tile] = {}
        for name, at in self._tiles:
            type_ = types[at]
            assert isinstance(type_, TileType)
            tiles[name] = Tile(type_, type_.valid_rows, type_.valid_cols)
        scalars = {name: Scalar(types[at], None) for name, at in self._scalars}
        return Instance(*self._instance, tiles, scalars, self._attributes)

    def agenda(self, instance: Instance) -> tuple[list[Rule], tuple[Rule, ...]]:
        """The rules that apply, each behind those that it must wait for, and those that each operation answers."""
        found = self._agendas.get(instance.modes)
        if found is None:
            found = self._agendas[instance.modes] = _agenda(instance)
        return found


def _family(shape: Shape, definition: Instruction, on: Target, types: Sequence[Type | None]) -> _Family:
    key = (on.name, *[t.kind if t.__class__ is TileType else t.__class__ for t in types])
    families = shape.spelling.families
    found: _Family | None = families.get(key)
    if found is None:
        found = families[key] = _Family(shape, definition, on, types)
    return found


def _broken_forms(shape: Shape, definition: Instruction, on: Target) -> list[Rule]:
    form = Form(shape, definition, len(shape.input_types), len(shape.output_types))
    found: list[Rule] = []
    for rule in FORM_RULES:
        asked = on.name in rule.arches and shape.form in rule.forms
        if asked and not {r.id for r in found}.intersection(rule.after) and not rule.holds(form):
            found.append(rule)
    return found


def _wrong_operands(shape: Shape, definition: Instruction) -> Iterable[tuple[str, str]]:
    """Operands that are a tile where the page has a scalar, or the other way round: (name, message)."""
    for at in shape.keywords.get("literals", ()):
        if at < len(definition.inputs) and not (definition.inputs[at].scalar or definition.inputs[at].other):
            name = definition.inputs[at].name
            yield name, f"{name} is a number; it must be a tile"
    for operand, type_ in (
        *zip(definition.inputs, shape.input_types, strict=False),
        *((o, t) for o, t in zip(_outputs(shape, definition), shape.output_types, strict=False)),
    ):
        if type_ is None or operand.other:
            continue
        if operand.scalar and not isinstance(type_, ElementType):
            yield operand.name, f"{operand.name} has type {type_}; it must be a scalar"
        elif not operand.scalar and not isinstance(type_, TileType):
            yield operand.name, f"{operand.name} has type {type_}; it must be a tile{_tile_hint(type_)}"


def _tile_hint(type_: Type) -> str:
    """A guess at a mistyped name of a tile type."""
    from ptoasm.suggest import did_you_mean

    near = did_you_mean(str(type_).partition("<")[0], ("!pto.tile", "!pto.tile_buf"))
    return f"; did you mean '{near}'?" if near else ""


def _outputs(shape: Shape, definition: Instruction) -> list[Any]:
    return [o for o in definition.outputs if o.name in shape.output_names]


def tile_faults(type_: TileType) -> tuple[Rule, ...]:
    """The TILE rules that a tile type breaks."""
    known = _tile_faults.get(type_)
    if known is not None:
        return known
    found: tuple[Rule, ...] = ()
    for rule in TILE_RULES:
        if not rule.holds(type_) and not {r.id for r in found}.intersection(rule.after):
            found += (rule,)
    if len(_tile_faults) > _REMEMBERED:
        _tile_faults.clear()
    _tile_faults[type_] = found
    return found


_tile_faults: dict[TileType, tuple[Rule, ...]] = {}


def attribute_values(shape: Shape, definition: Instruction) -> dict[str, Any]:
    """Every declared attribute, defaults filled in."""
    given = shape.attributes
    return {n: (given[n] == "true" if n in given else d) for n, d in definition.attributes.items()}


def static_instance(shape: Shape, definition: Instruction, on: Target) -> Instance:
    """The instance that the text alone describes."""
    types = (*shape.input_types, *shape.output_types)
    return _family(shape, definition, on, types).instance(types)


def _ask(rules: Iterable[Rule], instance: Instance, verdict: Verdict) -> None:
    for rule, answer in ask(rules, instance):
        if rule.individual:
            verdict.individual += (rule,)
        elif answer is None:
            verdict.open += (rule,)
        elif not answer:
            verdict.broken += ((rule, instance),)


def _agenda(instance: Instance) -> tuple[list[Rule], tuple[Rule, ...]]:
    rules = [rule for rule in instance.instruction.rules if rule.applies(instance)]
    individual = tuple([rule for rule in rules if rule.individual])
    left = {rule.id: rule for rule in rules if not rule.individual}
    agenda: list[Rule] = []
    while left:
        ready = [rule for rule in left.values() if not left.keys() & set(rule.after)]
        agenda += ready
        for rule in ready:
            del left[rule.id]
    return agenda, individual


def ask(rules: Iterable[Rule], instance: Instance) -> list[tuple[Rule, bool | None]]:
    """The rules that apply, in order, each with its answer; those whose ``after`` is broken are left out (D-24)."""
    by_id = {rule.id: rule for rule in rules}
    answers: dict[str, bool | None] = {}
    asked: set[str] = set()

    def answer(rule: Rule) -> bool | None:
        """What dependent rules see: True where the rule does not apply, False also where it cannot be asked."""
        if rule.id not in answers:
            answers[rule.id] = True
            if rule.applies(instance):
                before = [answer(by_id[other]) for other in rule.after if other in by_id]
                if False in before:
                    answers[rule.id] = False
                else:
                    asked.add(rule.id)
                    answers[rule.id] = None if None in before else rule.holds(instance)
        return answers[rule.id]

    return [(rule, found) for rule in rules for found in (answer(rule),) if rule.id in asked]


class Verifier:
    """Verifies one module for one target."""

    def __init__(self, module: Module, on: Target, ub_size: int | None = None) -> None:
        self.module = module
        self.target = on
        self.ub_size = on.ub_size if ub_size is None else ub_size
        self.diagnostics: list[Diagnostic] = []
        self.open: list[tuple[Rule, Operation]] = []
        self._places: Places | None = None
        self.function: Function | None = None
        self._unknown: set[str] = set()
        self._fine: dict[tuple[Shape, tuple[str, ...] | None], tuple[Rule, ...]] = {}

    @property
    def places(self) -> Places:
        """Where things stand in the text; made when the first diagnostic needs it."""
        if self._places is None:
            from ptoasm.places import Places

            self._places = Places(self.module)
        return self._places

    def run(self, arch: str | None) -> None:
        """Asks everything."""
        self._architecture(arch)
        for function in self.module.functions:
            if function.body is not None:
                self.function = function
                self._function(function)

    def _architecture(self, arch: str | None) -> None:
        written = self.module.attributes.get("pto.target_arch")
        if written is None:
            return
        name = written.strip('"')
        span = self.places.dictionary_entry(self.module.span.start, "pto.target_arch") or self.module.span
        if not ARCH.holds(name):
            self._add(Diagnostic("error", ARCH.id, ARCH.message(name), self.module.source, span))
        elif arch is not None and target(name) is not TARGETS[arch]:
            message = f"the module names the target {name}; it is read for {arch}"
            self._add(Diagnostic("remark", "ARCH-02", message, self.module.source, span))

    def _add(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    # --- A function --------------------------------------------------------------------------------

    def _function(self, function: Function) -> None:
        addresses = Addresses()
        seen: set[Value] = set()
        name = self.target.name
        self._argument_types(function, seen)
        bound = addresses.bound
        for op in function.walk():
            shape = op.shape
            verdict = shape.verdicts.get(name)
            if verdict is None:
                verdict = judge(shape, self.target)
            if not verdict.quiet:
                self._operation(op, verdict, seen)
            if verdict.askable:
                values = [*op.inputs, *op.outputs]
                if bound or len(set(values)) < len(values):
                    self._overlap(op, addresses)
            elif shape.form == HOST or shape.name == "pto.tassign":
                self._host(op, addresses)
            if verdict.open:
                self._left_open(op, verdict)
        for fault in function_faults(function):
            self._structure(fault)
        self._placement(function)

    def _argument_types(self, function: Function, seen: set[Value]) -> None:
        if function.flat or function.body is None:
            return
        for value in function.arguments:
            if isinstance(value.type, TileType) and (value.type.extra or tile_faults(value.type)):
                seen.add(value)
                span = self.places.argument_type(function, value) or Span(function.start, function.end)
                self._tile_type(value.type, value, span, None)

    def _operation(self, op: Operation, verdict: Verdict, seen: set[Value]) -> None:
        if verdict.bad_types:
            self._tile_types(op, seen)
        for operand, message in verdict.typed:
            self._report_on(op, "TYPE-03", "error", message, self.places.operand(op, operand), ())
        for rule, subject in verdict.broken:
            self._broken(op, rule, subject)
        if verdict.individual:
            self._individual(op, verdict)

    def _individual(self, op: Operation, verdict: Verdict) -> None:
        """Asks what an operation's numbers (None: not known) decide, once for all of a shape that have the same."""
        numbers = _written_numbers(op)
        left = self._fine.get((op.shape, numbers))
        if left is not None:
            self.open += [(rule, op) for rule in left]
            return
        definition = op.shape.definition
        assert definition is not None
        instance = static_instance(op.shape, definition, self.target)
        found, opened = len(self.diagnostics), len(self.open)
        if self._literals(op, instance):
            self._ask_one(op, verdict.individual, fill_in_scalars(op, instance))
        if len(self.diagnostics) == found:
            if len(self._fine) > _REMEMBERED:
                self._fine.clear()
            self._fine[op.shape, numbers] = tuple([rule for rule, _ in self.open[opened:]])

    def _left_open(self, op: Operation, verdict: Verdict) -> None:
        """Asks what the types leave open with the extents that ``alloc_tile`` gives as constants, as far as it does."""
        definition = op.shape.definition
        assert definition is not None
        tiles = self._allocated(op)
        if not tiles:
            self.open += [(rule, op) for rule in verdict.open]
            return
        instance = static_instance(op.shape, definition, self.target)
        instance.tiles.update(tiles)
        known = {rule.id for rule, _ in verdict.broken}
        for rule, answer in ask(definition.rules, instance):
            if answer is None and not rule.individual:
                self.open.append((rule, op))
            elif answer is False and not rule.individual and rule.id not in known:
                self._broken(op, rule, instance)

    def _allocated(self, op: Operation) -> dict[str, Tile]:
        """An operation's tiles of a dynamic type whose extents are constants of their ``alloc_tile``."""
        found = {}
        for name, value in (
            *zip(op.shape.input_names, op.inputs, strict=False),
            *zip(op.shape.output_names, op.outputs, strict=False),
        ):
            if isinstance(value, Value) and isinstance(value.type, TileType) and value.type.is_dynamic:
                maker = value.definition
                if maker is not None and maker.shape.name == "pto.alloc_tile" and not _is_reshaped(value):
                    rows = _extent(value.type.valid_rows, maker.operand("valid_row"), value.type.rows)
                    cols = _extent(value.type.valid_cols, maker.operand("valid_col"), value.type.cols)
                    if rows is not None or cols is not None:
                        found[name] = Tile(value.type, rows, cols)
        return found

    def _overlap(self, op: Operation, addresses: Addresses) -> None:
        definition = op.shape.definition
        assert definition is not None
        if addresses.apart(op):
            return
        instance = static_instance(op.shape, definition, self.target)
        instance.tiles.update(self._allocated(op))
        rules = [rule for rule in HAZARD_RULES if self.target.name in rule.arches]
        self._ask_one(op, rules, with_regions(instance, addresses.regions(op, instance)))

    def _ask_one(self, op: Operation, rules: Iterable[Rule], instance: Instance) -> None:
        for rule in rules:
            answer = rule.holds(instance)
            if answer is None:
                self.open.append((rule, op))
            elif not answer:
                self._broken(op, rule, instance)

    def _literals(self, op: Operation, instance: Instance) -> bool:
        """Whether the literals in operand position are values of their types; reports those that are not."""
        fit = True
        for name, value in zip(op.shape.input_names, op.inputs, strict=False):
            if isinstance(value, Literal):
                type_ = scalar_type(instance, name)
                if isinstance(type_, ElementType) and literal_number(value.text, type_) is None:
                    fit = False
                    self._report_on(
                        op, "TYPE-02", "error", _misfit(value.text, type_), self.places.operand(op, name), ()
                    )
        return fit

    def _tile_types(self, op: Operation, seen: set[Value]) -> None:
        """Reports wrong tile types, each value's once, at its definition or first use."""
        shape = op.shape
        for values, types, base in (
            (op.inputs, shape.input_types, 0),
            (op.outputs, shape.output_types, len(op.inputs)),
        ):
            for k, (value, type_) in enumerate(zip(values, types, strict=False)):
                if not isinstance(type_, TileType) or not isinstance(value, Value) or value in seen:
                    continue
                seen.add(value)
                if type_.extra or tile_faults(type_):
                    self._tile_type(type_, value, self.places.type_of(op, base + k) or op.span, op)

    def _tile_type(self, type_: TileType, value: Value, span: Span, op: Operation | None) -> None:
        from ptoasm.findings import unknown_parameter, wrong_tile

        assert self.function is not None
        for rule in tile_faults(type_):
            self._add(wrong_tile(self.places, rule, type_, value, span, op, self.function))
        for key, _ in type_.extra:
            if key not in self._unknown:
                self._unknown.add(key)
                self._add(unknown_parameter(self.places, key, span, self.function))

    def _broken(self, op: Operation, rule: Rule, subject: Any) -> None:
        from ptoasm.findings import all_broken

        self.diagnostics += all_broken(self.places, op, rule, subject)

    def _report_on(
        self, op: Operation, code: str, severity: Any, message: str, span: Any, notes: tuple[Note, ...]
    ) -> None:
        name = self.function.name or None if self.function else None
        self._add(Diagnostic(severity, code, message, self.module.source, span, notes, op.shape.short_name, name))

    # --- Addresses ---------------------------------------------------------------------------------

    def _host(self, op: Operation, addresses: Addresses) -> None:
        for fault in faults(op):
            self._structure(fault)
        if op.shape.name == "arith.constant":
            self._constant(op)
            return
        if op.shape.name == "pto.alloc_tile" and len(op.inputs) > ("addr" in op.shape.input_names):
            self._extents(op)
        bound = addresses.bind(op)
        if bound is None:
            return
        value, address = bound
        type_ = value.type
        if not isinstance(type_, TileType) or type_.loc != "vec" or not type_.element.size:
            return
        wrong = tile_faults(type_)
        if wrong and any(rule.id != "TILE-03" for rule in wrong):
            return
        subject = Address(type_, address, self.ub_size, self.target)
        if _all_hold(ADDRESS_ORDER, subject):
            return
        broken_ids: set[str] = set()
        for rule in ADDRESS_ORDER:
            if broken_ids.intersection(rule.after):
                continue
            answer = rule.holds(subject)
            if answer is False:
                broken_ids.add(rule.id)
                from ptoasm.findings import wrong_address

                self._add(wrong_address(self.places, op, rule, subject))
            elif answer is None:
                self.open.append((rule, op))

    def _extents(self, op: Operation) -> None:
        """TILE-02 for the extents that ``alloc_tile`` gets as constants; of others the run asks the same."""
        from ptoasm.findings import wrong_extents

        type_ = op.outputs[0].type if op.outputs else None
        if isinstance(type_, TileType):
            given = [constant(op.operand(name), INDEX) for name in ("valid_row", "valid_col")]
            for name, message in wrong_extents(type_, *given):
                self._report_on(op, "TILE-02", "error", message, self.places.operand(op, name), ())

    def _structure(self, fault: Fault) -> None:
        """Host operations that do not go together with others."""
        op = fault.op
        if op is None:
            assert self.function is not None
            name, span = self.function.name, Span(self.function.start, self.function.end)
            self._add(Diagnostic("error", fault.code, fault.message, self.module.source, span, function=name))
            return
        span = self.places.name(op) if fault.at is None else self.places.nth(op, fault.at)
        self._report_on(op, fault.code, "error", fault.message, span, ())

    def _constant(self, op: Operation) -> None:
        value, type_ = op.inputs[0], op.shape.output_types[0] if op.shape.output_types else None
        if not isinstance(value, Literal) or not isinstance(type_, ElementType) or type_.kind == "other":
            return
        if literal_number(value.text, type_) is None:
            self._report_on(op, "TYPE-02", "error", _misfit(value.text, type_), self.places.nth(op, 0), ())

    def _placement(self, function: Function) -> None:
        if surely_fits(function, self.ub_size):
            return
        placement = place(function, self.ub_size)
        if not PLACE.holds(placement):
            life = placement.unplaced[0]
            op = life.op
            span, note = self.places.value(op, life.value), Note(f"{PLACE.page}: {PLACE.text}")
            self._report_on(op, PLACE.id, PLACE.severity, PLACE.message(placement), span, (note,))


def _written_numbers(op: Operation) -> tuple[str, ...] | None:
    """The literals of an operation's scalar operands, those of constants included; None where one is not written."""
    texts = []
    for value in op.inputs:
        if value.__class__ is Value and value.type.__class__ is ElementType:
            maker = value.definition
            if maker is None or maker.shape.name != "arith.constant" or not maker.inputs:
                return None
            value = maker.inputs[0]
        if isinstance(value, Literal):
            texts.append(value.text)
    return tuple(texts)


def _misfit(text: str, type_: ElementType) -> str:
    if type_.is_integer and integer(text) is not None:
        low, high = type_.range
        return f"{text} does not fit {type_}; it must be from {low} to {high}"
    if type_.is_float and is_decimal(text):
        return f"{text} does not fit {type_}; the largest value is {largest(type_)}"
    return f"{text} is no value of type {type_}"


def _extent(written: int | None, given: Value | Literal | None, limit: int) -> int | None:
    """A valid extent: the one in the type, else the one that ``alloc_tile`` is given as a fitting constant."""
    found = constant(given, INDEX) if written is None else written
    return found if isinstance(found, int) and 0 <= found <= limit else None


def _is_reshaped(value: Value) -> bool:
    """Whether a ``set_validshape`` may give a tile another extent than its ``alloc_tile``."""
    return any(
        at == 0 and (user.shape.name == "pto.set_validshape" or (user.shape.name == "pto.tassign" and user.outputs))
        for user, at in value.uses
    )


def scalar_type(instance: Instance, name: str) -> Type | None:
    """The type of a scalar operand: the one that is written, else the element type of dst (decision D-16)."""
    scalar = instance.scalars.get(name)
    if scalar is None or scalar.type is not None:
        return None if scalar is None else scalar.type
    output = next((o.name for o in instance.instruction.outputs if o.name in instance.tiles), None)
    return None if output is None else instance[output].element


def fill_in_scalars(op: Operation, instance: Instance) -> Instance:
    """Gives an operation's own instance the values of its scalar operands, as far as the text says them."""
    for name, operand in zip(op.shape.input_names, op.inputs, strict=False):
        scalar = instance.scalars.get(name)
        if scalar is not None:
            value = constant(operand, scalar_type(instance, name))
            instance.scalars[name] = Scalar(scalar.type, value)
    return instance


def with_regions(instance: Instance, regions: dict[str, Region | None]) -> Instance:
    """The instance with the places of its tiles."""
    return Instance(
        instance.instruction,
        instance.form,
        instance.target,
        instance.tiles,
        instance.scalars,
        instance.attributes,
        regions,
    )


def constant(operand: Value | Literal | None, type_: Type | None) -> int | float | None:
    """The value of a literal, or of a value that an ``arith.constant`` defines; None where it is not known."""
    if isinstance(operand, Value):
        op = operand.definition
        if op is None or op.shape.name != "arith.constant" or not op.inputs:
            return None
        type_ = operand.type
        operand = op.inputs[0]
    if isinstance(operand, Literal) and isinstance(type_, ElementType):
        return literal_number(operand.text, type_)
    return None


# --- Where tiles lie, as far as the text says


class Addresses:
    """The addresses that ``alloc_tile`` and ``tassign`` have bound so far. None: bound to an address not known."""

    def __init__(self) -> None:
        self.bound: dict[Value, int | None] = {}
        self.same: dict[Value, Value] = {}
        self.loops: dict[Operation, bool] = {}

    def bind(self, op: Operation) -> tuple[Value, int | None] | None:
        """Takes note of an operation that binds an address; gives the tile and the address."""
        name = op.shape.name
        if name == "pto.alloc_tile" and "addr" in op.shape.input_names and op.outputs:
            value = op.outputs[0]
            operand = op.operand("addr")
        elif name == "pto.tassign" and len(op.inputs) == 2 and isinstance(op.inputs[0], Value):
            value, operand = self.root(op.inputs[0]), op.inputs[1]
            for result in op.outputs:
                if result is not value:
                    self.same[result] = value
        else:
            return None
        address = _address(operand)
        known = address if not (name == "pto.tassign" and op.block.parent is not None) else None
        self.bound[value] = known
        return value, address

    def root(self, value: Value) -> Value:
        """The tile that a value is another name of."""
        while value in self.same:
            value = self.same[value]
        return value

    def apart(self, op: Operation) -> bool:
        """Whether no two of an operation's tiles can overlap: all are different, and at most one has an address."""
        bound, same = self.bound, self.same
        values = [v for v in (*op.inputs, *op.outputs) if v.__class__ is Value]
        if same:
            values = [self.root(v) for v in values]
        return len(set(values)) == len(values) and sum([v in bound for v in values]) < 2

    def regions(self, op: Operation, instance: Instance) -> dict[str, Region | None]:
        """Where an operation's tiles lie; those without an address lie apart from everything."""
        apart: dict[Value, int] = {}
        addresses: dict[str, int | None] = {}
        for name, operand in (
            *zip(op.shape.input_names, op.inputs, strict=False),
            *zip(op.shape.output_names, op.outputs, strict=False),
        ):
            if isinstance(operand, Value) and name in instance.tiles:
                root = self.root(operand)
                if root in self.bound:
                    addresses[name] = self.bound[root]
                else:
                    addresses[name] = apart.setdefault(root, (len(apart) + 1) << 40)
        return operand_regions(instance, addresses)


def _address(operand: Value | Literal | None) -> int | None:
    if isinstance(operand, Literal):
        return integer(operand.text)
    found = constant(operand, operand.type) if operand is not None else None
    return found if isinstance(found, int) else None


def operand_regions(instance: Instance, addresses: dict[str, int | None]) -> dict[str, Region | None]:
    """The bytes that an instruction touches: valid ones of inputs, written ones of outputs, used ones of scratch."""
    instruction = instance.instruction
    regions: dict[str, Region | None] = {}
    for operand in (*instruction.inputs, *instruction.outputs):
        name = operand.name
        if name not in addresses or instance[name].type.loc != "vec":
            continue
        address = addresses[name]
        if name == instruction.scratch:
            used = instruction.scratch_use(instance)
            if used is None or address is None:
                regions[name] = None
            elif used != UNUSED:
                regions[name] = scratch_region(instance[name].type, address, *used)
            continue
        is_output = operand in instruction.outputs
        extent = instruction.written(instance, name) if is_output else whole_valid_region(instance, name)
        regions[name] = tile_region(instance[name].type, address, *extent)
    return regions


def scratch_region(type_: TileType, address: int, rows: int, run: int) -> Region:
    """The bytes of scratch that an instruction uses, at most the tile: ``rows`` times ``run`` bytes."""
    if rows == 1:
        size = min(run, type_.size)
        return Region(address, size, size, 1)
    stride = type_.cols * type_.element.size
    return Region(address, min(run, stride), stride, min(rows, type_.rows))


def tile_region(type_: TileType, address: int | None, rows: int | None, cols: int | None) -> Region | None:
    """The bytes of a tile's first ``rows`` x ``cols`` elements; None where something is not known."""
    if address is None or rows is None or cols is None:
        return None
    return Region.of_tile(address, type_.element.size, type_.rows, type_.cols, rows, cols, type_.blayout == "col_major")
