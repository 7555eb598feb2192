"""The near relatives of the three instructions: what real kernels put around them. Their numbers only, no rules.

No page of theirs is normative here, so nothing about them is checked but names and types; ``tcolargmax`` is
``tcolargmin`` with the maximum and has its rules, under the same ids.
"""

from __future__ import annotations

from ptoasm.dialect import tcolargmin
from ptoasm.dialect.base import Instance, Instruction, Operand

_SRC, _SRC0, _SRC1, _DST = Operand("src"), Operand("src0"), Operand("src1"), Operand("dst")
_SCALAR = Operand("scalar", scalar=True)
_EITHER0, _EITHER1 = Operand("src0", other=True), Operand("src1", other=True)
_VIEW = Operand("view", other=True)
_TMP = Operand("tmp", optional=True)
_BINARY = ("add", "sub", "mul", "div", "max", "min")

Extent = tuple[int | None, int | None]


def _first_column(instance: Instance, name: str) -> Extent:
    return instance["src"].valid_rows, 1


def _first_row(instance: Instance, name: str) -> Extent:
    return 1, instance["src"].valid_cols


def _made(names: str, *inputs: Operand, **options: object) -> list[Instruction]:
    return [Instruction(name, inputs, (_DST,), scratch="tmp", **options) for name in names.split()]  # type: ignore[arg-type]


INSTRUCTIONS = (
    *_made("texpands", _SCALAR),
    *_made("tadds tsubs tmuls tmaxs tmins", _SRC, _SCALAR),
    *_made("tdivs", _EITHER0, _EITHER1),
    *_made("tadd tsub tmul tdiv tmax tmin", _SRC0, _SRC1),
    *_made("tneg tabs texp tlog tsqrt trsqrt trecip tmov", _SRC),
    *_made("tcvt", _SRC, _TMP),
    *_made("tcolexpand trowexpand", _SRC),
    *_made(" ".join(f"tcolexpand{name}" for name in _BINARY), _SRC0, _SRC1),
    *_made(" ".join(f"trowexpand{name}" for name in _BINARY), _SRC0, _SRC1, _TMP),
    *_made("trowsum trowmax trowmin trowprod", _SRC, _TMP, written=_first_column),
    *_made("tcolmax tcolmin tcolprod", _SRC, written=_first_row),
    tcolargmin.INSTRUCTIONS[0].renamed("tcolargmax"),
    Instruction("tload", (_VIEW,), (_DST,)),
    Instruction("tstore", (_SRC, Operand("preQuantScalar", scalar=True, optional=True)), (_VIEW,)),
    Instruction("treshape", (_SRC,), (_DST,)),
    Instruction("tprint", (Operand("src", other=True),), ()),
)
