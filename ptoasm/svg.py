"""The map of the UB as a picture: addresses upwards, the program from left to right.

A tile is a box from its first to its last use. Where bytes are used again there are boxes side by side at one height;
what two tiles share while both are live is hatched. The scale is linear, except that a box is never too flat to be read
and that ranges which no tile uses are cut short.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from ptoasm.ir import Value
from ptoasm.regions import address_text
from ptoasm.types import TileType
from ptoasm.ubmap import Overlap, Resident, UbMap

_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 24, 58, 96
_WIDTH, _HEIGHT = 860, 440
_FLATTEST, _GAP = 18.0, 22.0
_COLORS = ("#8dc6e8", "#f7c98b", "#b5d99c", "#e3b3d6", "#c9c1ec", "#f2e08a", "#9fded0", "#e9b7a8")
_MOST_TICKS = 40
_LETTER, _LINE = 6.6, 14.0


class _Scale:
    """Where addresses are drawn: the boundaries of tiles with their heights above the bottom line."""

    def __init__(self, residents: list[Resident]) -> None:
        places = [(r.address, r.address + r.size) for r in residents if r.address is not None]
        self.edges = sorted({0, *(edge for place in places for edge in place)})
        changes = dict.fromkeys(self.edges, 0)
        for start, end in places:
            changes[start] += 1
            changes[end] -= 1
        tiles = list(accumulate(changes[edge] for edge in self.edges))
        sizes = [b - a for a, b in pairwise(self.edges)]
        total = sum(size for size, used in zip(sizes, tiles, strict=False) if used) or 1
        flattest = min(_FLATTEST, 4000 / max(len(sizes), 1))
        self.heights = [0.0]
        self.gaps: list[float] = []
        for size, used in zip(sizes, tiles, strict=False):
            height = max(flattest, _HEIGHT * size / total) if used else _GAP
            if not used:
                self.gaps.append(self.heights[-1] + height / 2)
            self.heights.append(self.heights[-1] + height)

    @property
    def height(self) -> float:
        """The height of the whole drawing."""
        return max(self.heights[-1], _FLATTEST)

    def at(self, address: int) -> float:
        """The height of a boundary."""
        return self.heights[bisect_left(self.edges, address)]


class _Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float


class _Picture:
    """One map, ready to be drawn."""

    def __init__(self, ubmap: UbMap, title: str) -> None:
        self.map = ubmap
        self.title = title
        self.drawn = [r for r in ubmap.residents if r.address is not None and r.first is not None]
        self.scale = _Scale(self.drawn)
        self.columns = [k for k, op in enumerate(ubmap.operations) if _names_a_tile([*op.inputs, *op.outputs])]
        first = min((r.first for r in self.drawn if r.first is not None), default=0)
        self.columns = [k for k in self.columns if k >= first] or [0]
        self.step = _WIDTH / len(self.columns)
        self.bottom = _TOP + self.scale.height

    def box(self, first: int, last: int, start: int, end: int) -> _Box:
        """The box of the operations ``first`` to ``last`` and the bytes ``start`` to ``end``."""
        left = bisect_left(self.columns, first)
        right = max(bisect_right(self.columns, last), left + 1)
        low, high = self.scale.at(start), self.scale.at(end)
        return _Box(_LEFT + left * self.step, self.bottom - high, (right - left) * self.step, high - low)

    def text(self) -> Iterator[str]:
        width, height = _LEFT + _WIDTH + _RIGHT, self.bottom + _BOTTOM
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}" '
            f'viewBox="0 0 {width} {height:.0f}" font-family="sans-serif" font-size="11">'
        )
        yield f"<title>{escape(self.title)}</title>"
        yield (
            '<defs><pattern id="shared" width="7" height="7" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="7" stroke="#c62828" stroke-width="2.4"/>'
            "</pattern></defs>"
        )
        yield f'<rect width="{width}" height="{height:.0f}" fill="white"/>'
        yield f'<text x="{_LEFT}" y="22" font-size="14" font-weight="bold">{escape(self.title)}</text>'
        yield f'<text x="{_LEFT}" y="40" fill="#555">{escape(self._summary())}</text>'
        yield from self._axes()
        for number, resident in enumerate(self.drawn):
            yield from self._resident(resident, _COLORS[number % len(_COLORS)])
        for overlap in self.map.overlaps:
            yield from self._overlap(overlap)
        yield from self._labels()
        yield "</svg>"

    def _summary(self) -> str:
        shared = sum(overlap.live for overlap in self.map.overlaps)
        reused = len(self.map.overlaps) - shared
        least = "at least " if self.map.more else ""
        return (
            f"{self.map.occupied:,} of {self.map.ub_size:,} bytes taken, at most {self.map.peak[0]:,} live at one "
            f"time; pairs that share bytes: {least}{reused} one after the other, {shared} at one time (hatched)"
        )

    def _axes(self) -> Iterator[str]:
        """Addresses at the left, operations below."""
        right = _LEFT + _WIDTH
        previous = -100.0
        for address, height in zip(self.scale.edges, self.scale.heights, strict=True):
            y = self.bottom - height
            yield f'<line class="edge" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#e2e2e2"/>'
            if height - previous >= 11:
                written = address_text(address)
                yield f'<text class="address" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{written}</text>'
                previous = height
        for height in self.scale.gaps:
            y = self.bottom - height + 4
            yield f'<text class="gap" x="{_LEFT - 8}" y="{y:.1f}" text-anchor="end" fill="#999">⋮ free</text>'
        yield f'<text x="{_LEFT - 8}" y="{_TOP - 12}" text-anchor="end" fill="#555">address</text>'
        every = -(-len(self.columns) // _MOST_TICKS)
        for at in range(0, len(self.columns), every):
            x = _LEFT + (at + 0.5) * self.step
            operation = self.columns[at]
            name = self.map.operations[operation].shape.short_name if self.map.operations else ""
            label = escape(f"{self.map.line(operation)} {name}") if self.map.operations else ""
            y = self.bottom + 12
            yield (
                f'<text class="operation" x="{x:.1f}" y="{y:.1f}" text-anchor="end" '
                f'transform="rotate(-45 {x:.1f} {y:.1f})">{label}</text>'
            )
        yield (f'<path d="M{_LEFT} {_TOP}V{self.bottom:.1f}H{right}" fill="none" stroke="#333"/>')

    def _resident(self, resident: Resident, color: str) -> Iterator[str]:
        assert resident.address is not None and resident.first is not None and resident.last is not None
        end = resident.address + resident.size
        box = self.box(resident.first, resident.last, resident.address, end)
        where = f"{address_text(resident.address)} to {address_text(end)}"
        about = f"%{resident.name}: {where}, {resident.size:,} bytes, {resident.type}"
        yield (
            f'<g class="tile" data-name={quoteattr(resident.name)}><title>{escape(about)}</title>'
            f'<rect x="{box.x + 1:.1f}" y="{box.y + 0.5:.1f}" width="{max(box.width - 2, 1):.1f}" '
            f'height="{max(box.height - 1, 0.5):.1f}" rx="2" fill="{color}" fill-opacity="0.85" stroke="#444"/>'
        )
        yield "</g>"

    def _labels(self) -> Iterator[str]:
        """The names, over everything else, each at a corner of its box where no other name is."""
        taken: list[_Box] = []
        for r in self.drawn:
            assert r.address is not None and r.first is not None and r.last is not None
            box = self.box(r.first, r.last, r.address, r.address + r.size)
            name = _fitting(f"%{r.name}", box.width - 10)
            if name and box.height >= _LINE - 2:
                place = _free_place(box, len(name) * _LETTER, taken)
                taken.append(place)
                yield (
                    f'<text class="name" x="{place.x:.1f}" y="{place.y + _LINE - 3:.1f}" stroke="white" '
                    f'stroke-width="2.5" paint-order="stroke">{escape(name)}</text>'
                )

    def _overlap(self, overlap: Overlap) -> Iterator[str]:
        """Hatches what two tiles share while both are live."""
        a, b = overlap.first, overlap.second
        if overlap.live and None not in (a.first, b.first, a.last, b.last):
            first, last = max(a.first, b.first), min(a.last, b.last)  # type: ignore[type-var]
            box = self.box(first, last, overlap.start, overlap.end)  # type: ignore[arg-type]
            where = f"{address_text(overlap.start)} to {address_text(overlap.end)}"
            pair = escape(f"%{a.name} and %{b.name} share {where} while both are live")
            yield (
                f'<rect class="shared" x="{box.x + 1:.1f}" y="{box.y + 0.5:.1f}" width="{max(box.width - 2, 1):.1f}" '
                f'height="{max(box.height - 1, 0.5):.1f}" fill="url(#shared)" stroke="#c62828">'
                f"<title>{pair}</title></rect>"
            )


def _names_a_tile(values: list[object]) -> bool:
    return any(isinstance(v, Value) and isinstance(v.type, TileType) and v.type.loc == "vec" for v in values)


def _free_place(box: _Box, width: float, taken: list[_Box]) -> _Box:
    """Where in a box a name can stand: at the top or the bottom, from left to right; at the top left if it is full."""
    x, steps = box.x + 6, max(int((box.width - 10 - width) / (width + 6)), 0)
    places = [
        _Box(x + k * (width + 6), y, width, _LINE)
        for k in range(steps + 1)
        for y in (box.y + 1, box.y + box.height - _LINE - 1)
    ]
    return next((p for p in places if not any(_touch(p, other) for other in taken)), places[0])


def _touch(a: _Box, b: _Box) -> bool:
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def _fitting(name: str, width: float) -> str:
    """A name as far as there is room for it."""
    room = int(width / _LETTER)
    if len(name) <= room:
        return name
    return f"{name[: room - 1]}…" if room >= 4 else ""


def draw(ubmap: UbMap, title: str) -> str:
    """The map as the text of an SVG file."""
    return "\n".join(_Picture(ubmap, title).text()) + "\n"
