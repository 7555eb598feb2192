"""``ptoasm explain``"""

from __future__ import annotations

import click


@click.command("explain")
@click.argument("codes", nargs=-1, metavar="CODE…")
@click.option("--list", "list_", is_flag=True, help="Print all codes and what they stand for.")
def command(codes: tuple[str, ...], list_: bool) -> None:
    """Say what a diagnostic means: the rule, where it is stated, a program that breaks it and one that holds it.

    For example: ptoasm explain CAM-12
    """
    from ptoasm.catalog import entries, explanation, find, listing
    from ptoasm.render import printable

    if not codes and not list_:
        raise click.UsageError("Give a CODE such as CAM-12, or --list.")
    if list_:
        click.echo(listing())
    texts = []
    for code in codes:
        entry = find(code)
        if entry is None:
            from ptoasm.suggest import did_you_mean

            near = did_you_mean(code.upper(), [known.id for known in entries()])
            hint = f" Did you mean '{near}'?" if near else " 'ptoasm explain --list' shows them all."
            raise click.UsageError(f"There is no code '{printable(code)}'.{hint}")
        texts.append(explanation(entry))
    if texts:
        click.echo("\n\n".join(texts))
