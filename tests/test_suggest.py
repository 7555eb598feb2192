"""Suggestions for mistyped words."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptoasm.suggest import did_you_mean

OPS = ["tcolsum", "tcolargmin", "tci", "tassign", "alloc_tile"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("tcolsun", "tcolsum"),  # replaced
        ("tcolsm", "tcolsum"),  # deleted
        ("tcollsum", "tcolsum"),  # inserted
        ("tcoslum", "tcolsum"),  # swapped: one edit, not two
        ("tcoslun", "tcolsum"),  # two edits
        ("tcoslunn", None),  # three
        ("TCOLSUM", "tcolsum"),  # case does not count
        ("TcolArgMax", "tcolargmin"),
        ("tcolargmim", "tcolargmin"),
        ("tic", "tci"),  # one edit is fewer than half of three
        ("ti", None),  # one edit is half of two
        ("tcix", "tci"),
        ("tcixx", "tci"),  # two edits are fewer than half of five …
        ("tixx", None),  # … and half of four
        ("x", None),
        ("", None),
        ("add", None),
    ],
)
def test_nearest_operation(word: str, meant: str | None) -> None:
    assert did_you_mean(word, OPS) == meant


def test_a_word_is_no_suggestion_for_itself() -> None:
    assert did_you_mean("abcdef", ["abcdef"]) is None
    assert did_you_mean("abcdef", ["abcdef", "abcdeg"]) == "abcdeg"


def test_nearer_wins_over_earlier() -> None:
    assert did_you_mean("source", ["aource1", "sourcf"]) == "sourcf"


@pytest.mark.parametrize("candidates", list(permutations(["sourca", "sourcb", "sourcc"])))
def test_the_order_of_candidates_does_not_matter(candidates: tuple[str, ...]) -> None:
    assert did_you_mean("source", candidates) == "sourca"


def test_nothing_to_choose_from() -> None:
    assert did_you_mean("source", []) is None


def test_very_long_words_are_quick() -> None:
    assert did_you_mean("a" * 100, ["a" * 99 + "b"]) == "a" * 99 + "b"
    assert did_you_mean("ab" * 20_000, ["ab" * 19_999 + "ac", "a"]) is None


def reference_distance(a: str, b: str) -> int:
    """The textbook table, all of it."""
    table = [[i + j if i * j == 0 else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            replaced = table[i - 1][j - 1] + (a[i - 1] != b[j - 1])
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, replaced)
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


words = st.text(alphabet="abc", max_size=8)


@given(words, st.sets(words, max_size=6))
def test_agrees_with_the_definition(word: str, candidates: set[str]) -> None:
    near = sorted((reference_distance(word, c), c) for c in candidates - {word})
    near = [(distance, c) for distance, c in near if distance <= 2 and 2 * distance < len(word)]
    assert did_you_mean(word, candidates) == (near[0][1] if near else None)
