"""How the kernel of an instruction is found."""

import pytest

from ptoasm.interpreter.kernels import lookup
from ptoasm.interpreter.kernels import tcolsum as module


def test_finds_a_plan() -> None:
    assert lookup("tcolsum") is module.plan
    assert lookup("tcolargmin") is not None
    assert lookup("tci") is not None


JUNK = [
    "",
    ".",
    "..",
    "tcolsum.plan",
    "TCOLSUM",
    "__init__",
    "os",
    "../tcolsum",
    "tci\0",
    "pto.tci",
    "é",
    "x" * 9999,
]


@pytest.mark.parametrize("name", JUNK)
def test_junk_has_no_kernel(name: str) -> None:
    assert lookup(name) is None


def test_finds_a_plan_in_the_table_of_a_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLANS", {"tcolfamily": module.plan}, raising=False)
    assert lookup("tcolfamily") is module.plan
    lookup.cache_clear()
