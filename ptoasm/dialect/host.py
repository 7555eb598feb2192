"""The operations around the tile instructions: which of the grammar's forms each is written in."""

from __future__ import annotations

_BINARY = (
    "addi subi muli divsi divui remsi remui ceildivsi ceildivui floordivsi shli shrsi shrui andi ori xori "
    "maxsi maxui minsi minui addf subf mulf divf remf maximumf minimumf maxnumf minnumf"
)
_CASTS = "extsi extui trunci extf truncf sitofp uitofp fptosi fptoui index_cast index_castui bitcast"


def _all(names: str, syntax: str, dialect: str) -> dict[str, str]:
    return {f"{dialect}.{name}": syntax for name in names.split()}


SYNTAX: dict[str, str] = {
    "module": "MODULE",
    "builtin.module": "MODULE",
    "func.func": "FUNC",
    "func.call": "CALL",
    "call": "CALL",
    "func.return": "LEAVE",
    "return": "LEAVE",
    "arith.constant": "CONSTANT",
    **_all(f"{_BINARY} negf select", "COMPUTE", "arith"),
    **_all("cmpi cmpf", "COMPARE", "arith"),
    **_all(_CASTS, "CAST", "arith"),
    "scf.for": "LOOP",
    "scf.if": "BRANCH",
    "scf.while": "WHILE",
    "scf.yield": "LEAVE",
    "scf.condition": "CONDITION",
    "pto.section.vector": "SECTION",
    "pto.alloc_tile": "ALLOC",
    **_all("make_tensor_view partition_view", "VIEW", "pto"),
    **_all("load_scalar store_scalar", "ACCESS", "pto"),
    **_all("subview subset", "WINDOW", "pto"),
    **_all("addptr set_validshape get_tensor_view_dim get_tensor_view_stride", "OPERATE", "pto"),
    **_all("get_block_idx get_block_num get_subblock_idx get_subblock_num", "QUERY", "pto"),
}
"""An operation's full name to the terminal that stands for it in the grammar."""

_ORDERING = (
    "barrier barrier_sync set_flag wait_flag set_flag_dyn wait_flag_dyn record_event wait_event "
    "get_buf rls_buf tsync syncall sync.set sync.wait fence.barrier_all"
)
_NOT_OURS = (
    "tand tands tor tors txor txors tnot tshl tshls tshr tshrs trem trems tfmod tfmods tpow tpows taxpy "
    "taddc taddsc tsubc tsubsc tcmp tcmps tsel tsels trelu tlrelu tprelu tpartadd tpartmul tpartmax tpartmin "
    "trowargmax trowargmin tcolexpandexpdif trowexpandexpdif tgetval tsetval ttrans textract tinsert tfillpad "
    "tgather tgatherb tscatter mgather mscatter tsort32 tmrgsort tquant tdequant ttri thistogram tprefetch "
    "tmatmul tgemv timg2col tpush tpop tfree talloc get_validshape castptr ptrtoint inttoptr bitcast load store "
    "print trap vadd vsub vmul vdiv vmax vmin vexp vabs vneg vsqrt"
)
EXISTING = frozenset(f"pto.{name}" for name in _NOT_OURS.split())
"""Operations of the instruction set that the project does not know: they are no misspellings of those that it does."""

NO_EFFECT = frozenset(f"pto.{name}" for name in _ORDERING.split())
"""Operations that order what runs at the same time: kept as they are written, nothing to do on a sequential machine."""
