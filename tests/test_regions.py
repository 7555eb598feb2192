"""Overlap of strided byte ranges, against sets of bytes."""

from functools import partial

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from ptoasm.regions import Region
from tests.work import calls


def byte_set(region: Region) -> set[int]:
    starts = [region.start + i * region.stride for i in range(region.count)]
    return {start + byte for start in starts for byte in range(region.run)}


@st.composite
def regions(draw: st.DrawFn) -> Region:
    run = draw(st.integers(0, 12))
    return Region(draw(st.integers(0, 150)), run, run + draw(st.integers(0, 40)), draw(st.integers(0, 12)))


@settings(max_examples=1000, deadline=None)
@given(regions(), regions())
@example(Region(0, 4, 8, 4), Region(4, 4, 8, 4))  # interleaved
@example(Region(0, 4, 8, 4), Region(4, 5, 9, 1))
@example(Region(50, 2, 10, 2), Region(20, 9, 42, 2))  # one run before, one right behind
def test_overlap_against_sets(one: Region, other: Region) -> None:
    expected = not byte_set(one).isdisjoint(byte_set(other))
    assert one.overlaps(other) == other.overlaps(one) == expected
    assert one.bytes() == len(byte_set(one))
    assert one.end == max(byte_set(one), default=one.start - 1) + 1


def test_huge_regions_take_no_more_work_than_small_ones() -> None:
    evens = Region(0, 1, 2, 10**6)
    # 2i = 6k + 100001 has no solution, 2i = 7k + 100001 has.
    for other, meets in (
        (Region(1, 1, 2, 10**6), False),
        (Region(1, 1, 6, 10**5), False),
        (Region(1, 1, 3, 10**5), True),
        (Region(100001, 1, 6, 10**5), False),
        (Region(100001, 1, 7, 10**5), True),
    ):
        assert evens.overlaps(other) == meets
        assert calls(partial(evens.overlaps, other)) < 200


@pytest.mark.parametrize(
    ("arguments", "region"),
    [
        ((64, 4, 16, 256, 16, 256, False), Region(64, 16384, 16384, 1)),
        ((64, 4, 16, 256, 4, 256, False), Region(64, 4096, 4096, 1)),
        ((64, 4, 16, 256, 16, 255, False), Region(64, 1020, 1024, 16)),
        ((64, 4, 16, 256, 1, 255, False), Region(64, 1020, 1020, 1)),
        ((64, 2, 16, 8, 5, 3, True), Region(64, 10, 32, 3)),
        ((64, 2, 16, 8, 16, 3, True), Region(64, 96, 96, 1)),
    ],
)
def test_region_of_a_tile(arguments: tuple[int, int, int, int, int, int, bool], region: Region) -> None:
    assert Region.of_tile(*arguments) == region


def test_empty_regions_overlap_nothing() -> None:
    whole = Region(0, 100, 100, 1)
    for empty in (Region.of_tile(8, 4, 4, 8, 0, 8), Region.of_tile(8, 4, 4, 8, 3, 0)):
        assert empty.bytes() == 0
        assert not empty.overlaps(whole)
        assert not whole.overlaps(empty)
        assert not empty.overlaps(empty)
