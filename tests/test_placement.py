"""Placement: aligned, inside the UB, apart from what is live at the same time."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptoasm.ir import Value
from ptoasm.parser import parse
from ptoasm.placement import Placement, place, surely_fits
from tests.programs import FORMS, LAYOUTS, generate


def placed(text: str, ub_size: int) -> tuple[Placement, dict[str, int]]:
    module = parse(text)
    assert not module.diagnostics
    placement = place(module.functions[0], ub_size)
    return placement, {value.name: address for value, address in placement.addresses.items()}


def sums(*pairs: tuple[str, str]) -> str:
    """A sum of each source (256 bytes) into a destination (32 bytes)."""
    return "\n".join(
        f"pto.tcolsum ins(%{a} : !pto.tile_buf<vec, 8x8xf32>) outs(%{b} : !pto.tile_buf<vec, 1x8xf32>)"
        for a, b in pairs
    )


def test_tiles_lie_side_by_side_in_order_of_their_first_use() -> None:
    _, addresses = placed(sums(("a", "b"), ("c", "d")), 4096)
    assert addresses == {"a": 0, "b": 256, "c": 288, "d": 544}


def test_memory_is_reused_only_where_not_all_fit() -> None:
    _, addresses = placed(sums(("a", "b"), ("c", "d")), 512)
    assert addresses == {"a": 0, "b": 256, "c": 0, "d": 256}


def test_an_address_of_the_program_is_kept_free() -> None:
    _, addresses = placed("pto.tassign %b, @tile(0x0)\n" + sums(("a", "b"), ("c", "d")), 4096)
    assert addresses == {"a": 32, "c": 288, "d": 544}


def test_what_does_not_fit_is_named_with_what_is_in_its_way() -> None:
    placement, _ = placed(sums(("a", "b")), 256)
    assert [life.value.name for life in placement.unplaced] == ["b"]
    assert placement.explanation() == "%b (32 bytes) does not fit into the UB of 256 bytes beside %a (256 bytes)"


def test_a_tile_used_in_a_loop_lives_through_all_of_it() -> None:
    placement, addresses = placed(
        """func.func @k(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %kept = pto.alloc_tile : !pto.tile_buf<vec, 8x8xf32>
  scf.for %i = %c0 to %n step %c1 {
    %one = pto.alloc_tile : !pto.tile_buf<vec, 1x8xf32>
    pto.tcolsum ins(%kept : !pto.tile_buf<vec, 8x8xf32>) outs(%one : !pto.tile_buf<vec, 1x8xf32>)
    %two = pto.alloc_tile : !pto.tile_buf<vec, 1x8xf32>
    pto.tcolsum ins(%one : !pto.tile_buf<vec, 1x8xf32>) outs(%two : !pto.tile_buf<vec, 1x8xf32>)
  }
  return
}""",
        320,
    )
    assert not placement.unplaced
    assert addresses == {"kept": 0, "one": 256, "two": 288}


names = st.integers(0, 9).map("t{}".format)


@given(
    st.lists(st.tuples(names, names, st.integers(1, 6)), min_size=1, max_size=20),
    st.sampled_from([1024, 2048, 4096]),
    st.dictionaries(names, st.integers(0, 20).map(lambda n: 32 * n), max_size=2),
)
@settings(max_examples=200, deadline=None)
def test_tiles_that_are_live_together_are_apart(
    steps: list[tuple[str, str, int]], ub_size: int, bound: dict[str, int]
) -> None:
    sizes: dict[str, int] = {}
    lines = [f"pto.tassign %{name}, @tile({address})" for name, address in bound.items()]
    uses: dict[str, list[int]] = {}
    for a, b, rows in steps:
        for name in (a, b):
            sizes.setdefault(name, rows)
            uses.setdefault(name, []).append(len(lines))
        types = [f"!pto.tile_buf<vec, {sizes[name]}x8xf32>" for name in (a, b)]
        lines.append(f"pto.tcolsum ins(%{a} : {types[0]}) outs(%{b} : {types[1]})")
    lines = [line for line in lines if "tassign" not in line or line.split("%")[1].split(",")[0] in uses]
    module = parse("\n".join(lines))
    function = module.functions[0]
    placement = place(function, ub_size)
    lives = {life.value: life for life in placement.lives}
    if surely_fits(function, ub_size):
        assert not placement.reuses
        assert not placement.unplaced

    def block(value: Value) -> tuple[int, int]:
        start = placement.addresses.get(value, bound.get(value.name, 0))
        return start, start + lives[value].size

    for value, address in placement.addresses.items():
        assert address % 32 == 0
        assert address + lives[value].size <= ub_size
        for other in lives:
            if other is value or (other not in placement.addresses and other.name not in bound):
                continue
            together = lives[value].first <= lives[other].last and lives[other].first <= lives[value].last
            (start, end), (other_start, other_end) = block(value), block(other)
            assert not together or end <= other_start or other_end <= start


ALLOCATED = """func.func @k() {{
  %address = arith.constant {address} : i64
  %a = pto.alloc_tile : !pto.tile_buf<vec, 8x8xf32>
  %b = pto.alloc_tile addr = %address : !pto.tile_buf<vec, 1x8xf32>
  pto.tcolsum ins(%a : !pto.tile_buf<vec, 8x8xf32>) outs(%b : !pto.tile_buf<vec, 1x8xf32>)
  return
}}"""


def test_sizes_alone_tell_what_surely_fits() -> None:
    flat = parse(sums(("a", "b"), ("a", "c"))).functions[0]
    assert surely_fits(flat, 320)
    assert not surely_fits(flat, 319)
    for address, expected in ((256, True), (255, False), (-32, False)):
        assert surely_fits(parse(ALLOCATED.format(address=address)).functions[0], 4096) is expected


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_surely_fits_is_placed_side_by_side(form: str, layout: str) -> None:
    fitting = 0
    for seed in range(30):
        for function in parse(generate(random.Random(seed), form, layout)).functions:
            for ub_size in (2048, 8192, 1 << 18):
                if surely_fits(function, ub_size):
                    fitting += 1
                    placement = place(function, ub_size)
                    assert not placement.reuses
                    assert not placement.unplaced
    assert fitting
