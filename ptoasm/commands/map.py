"""``ptoasm map``"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from ptoasm.commands.common import Whole, arch_option, show, ub_size_option
from ptoasm.diagnostics import Diagnostic, PtoError, has_errors
from ptoasm.programs import Program, read_programs
from ptoasm.regions import address_text
from ptoasm.render import printable
from ptoasm.source import Source

if TYPE_CHECKING:
    from ptoasm.ubmap import Overlap, Resident, UbMap


class Mapped(NamedTuple):
    """A function's map, and what it is the map of."""

    title: str
    map: UbMap


@click.command("map")
@click.argument("file", metavar="FILE")
@arch_option()
@click.option("--func", metavar="NAME", help="Only this function.")
@click.option("--part", type=Whole(min=1), metavar="N", help="Only the Nth program of the file.")
@ub_size_option
@click.option("--svg", metavar="OUT", help="Draw address over program order into this file.")
def command(
    file: str, arch: str | None, func: str | None, part: int | None, ub_size: int | None, svg: str | None
) -> None:
    """Show who lives where in the UB: addresses, first and last uses, what is free, and who shares bytes with whom.

    For example: ptoasm map samples/tcolsum_manual.pto
    """
    try:
        programs = read_programs(file)
        if part is not None:
            programs = programs[part - 1 : part]
        found: list[Diagnostic] = []
        maps = [one for program in programs for one in _maps(program, arch, func, ub_size, found)]
        if not maps and not found:
            raise PtoError([_about(file, "there is nothing to map" if part is None else f"there is no program {part}")])
        for one in maps:
            click.echo("\n".join(_lines(one)))
        show(found)
        if svg is not None and maps:
            _draw(file, maps, svg)
    except PtoError as error:
        show(error.diagnostics)
        sys.exit(1)
    sys.exit(1 if has_errors(found) else 0)


def _about(file: str, message: str) -> Diagnostic:
    return Diagnostic("error", "RUN-01", message, Source("", file))


def _maps(
    program: Program, arch: str | None, func: str | None, ub_size: int | None, found: list[Diagnostic]
) -> Iterator[Mapped]:
    """The maps of a program's functions; what is wrong with its text, addresses or placement goes to ``found``."""
    from ptoasm.ubmap import UbMap
    from ptoasm.verifier import choose_target, verify

    module = program.parse()
    if has_errors(module.diagnostics):
        found += module.diagnostics
        return
    target = choose_target(module, arch)
    found += [d for d in verify(module, arch, ub_size=ub_size) if d.code.startswith(("ADDR-", "PLACE-", "TILE-"))]
    part = "" if program.part is None else f", program {program.part}"
    for function in module.functions:
        if function.body is not None and func in (None, function.name):
            name = f", @{function.name}" if function.name else ""
            title = f"{program.filename}{part}{name}, {target.name}"
            yield Mapped(title, UbMap(function, target.ub_size if ub_size is None else ub_size))


# --- Text


def _lines(one: Mapped) -> Iterator[str]:
    ubmap = one.map
    yield printable(f"{one.title}: {_count(len(ubmap.residents), 'tile')} in a UB of {ubmap.ub_size:,} bytes")
    yield from _table([_row(ubmap, resident) for resident in ubmap.residents])
    peak, at = ubmap.peak
    where = "" if at is None else f" (line {ubmap.line(at)})"
    share = 100 * ubmap.occupied / ubmap.ub_size
    yield (
        f"{ubmap.occupied:,} bytes are taken ({share:.1f} %), {ubmap.ub_size - ubmap.occupied:,} are free; "
        f"at most {peak:,} are live at one time{where}"
    )
    for overlap in ubmap.overlaps:
        yield _overlap(overlap)
    if ubmap.more:
        yield f"… and more pairs that share bytes: {len(ubmap.overlaps)} of them are listed"


_HEAD = ("name", "address", "end", "bytes", "type", "lines", "address from")


def _row(ubmap: UbMap, resident: Resident) -> tuple[str, ...]:
    shape = str(resident.type).partition("vec, ")[2].removesuffix(">")
    lines = "not used"
    if resident.first is not None and resident.last is not None:
        first, last = ubmap.line(resident.first), ubmap.line(resident.last)
        lines = str(first) if first == last else f"{first}-{last}"
    where = "no room" if not resident.given else "known to a run"
    address, end = where, ""
    if resident.address is not None and resident.end is not None:
        address, end = address_text(resident.address), address_text(resident.end)
    by = "program" if resident.given else "placement"
    return f"%{resident.name}", address, end, str(resident.size), shape, lines, by


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Columns as wide as they must be; numbers to the right."""
    everything = [_HEAD, *rows]
    widths = [max(len(row[k]) for row in everything) for k in range(len(_HEAD))]
    for row in everything:
        cells = [
            cell.rjust(width) if _HEAD[k] in ("address", "end", "bytes") else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  " + "  ".join(cells).rstrip()


def _overlap(overlap: Overlap) -> str:
    when = "both live at one time" if overlap.live else "one after the other"
    bytes_ = _count(overlap.end - overlap.start, "byte")
    return (
        f"%{overlap.first.name} and %{overlap.second.name} share {bytes_}, "
        f"{address_text(overlap.start)} to {address_text(overlap.end)}: {when}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# --- Picture


def _draw(file: str, maps: list[Mapped], path: str) -> None:
    if len(maps) > 1:
        raise PtoError([_about(file, f"there are {len(maps)} maps; --part and --func choose the one to draw")])
    from ptoasm.files import write_text
    from ptoasm.svg import draw

    write_text(path, draw(maps[0].map, maps[0].title))
