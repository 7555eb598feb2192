"""Guesses what a mistyped word was meant to be."""

from __future__ import annotations

from collections.abc import Iterable

_FARTHEST = 2
_LONGEST = 100  # what is longer than any name was not mistyped, and would take long to compare


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate nearest to a word, or None where none is near enough to be a likely slip.

    Near means at most two edits (insert, delete, replace, swap two neighbours) and fewer than half the word's
    length. Upper and lower case count as the same. Of candidates equally near, the first in alphabetical
    order is taken, whatever order they come in. A word of more than a hundred characters has none.
    """
    if len(word) > _LONGEST:
        return None
    limit = min(_FARTHEST, (len(word) - 1) // 2)
    folded = word.casefold()
    best: tuple[int, str] | None = None
    for candidate in candidates:
        if candidate == word:
            continue
        found = (_distance(folded, candidate.casefold(), limit), candidate)
        if found[0] <= limit and (best is None or found < best):
            best = found
    return best[1] if best else None


def _distance(a: str, b: str, limit: int) -> int:
    """The edits between two words (optimal string alignment); anything over ``limit`` is ``limit + 1``."""
    if a == b:
        return 0
    over = limit + 1
    if abs(len(a) - len(b)) > limit:
        return over
    before: list[int] = []
    row = [min(j, over) for j in range(len(b) + 1)]
    for i in range(1, len(a) + 1):
        before, row = row, _next_row(a, b, i, before, row, over)
        if min(row) >= over:
            return over
    return row[-1]


def _next_row(a: str, b: str, i: int, before: list[int], row: list[int], over: int) -> list[int]:
    """Row ``i`` of the table. Only cells within the limit of the diagonal matter; the rest stay ``over``."""
    result = [over] * len(row)
    result[0] = min(i, over)
    for j in range(max(1, i - over + 1), min(len(b), i + over - 1) + 1):
        cost = min(row[j] + 1, result[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            cost = min(cost, before[j - 2] + 1)
        result[j] = min(cost, over)
    return result
