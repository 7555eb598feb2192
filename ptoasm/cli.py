"""The command line. Each command stands in ``commands/`` and is imported when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from ptoasm import __version__

COMMANDS = {
    "run": "Run a program on the simulated UB and print what it computes.",
    "verify": "Check programs against every documented rule.",
    "convert": "Print a program in another form.",
    "map": "Show who lives where in the UB.",
    "explain": "Say what a diagnostic means.",
    "check": "Run the expectations written in the comments of files.",
    "fmt": "Print programs in canonical form, comments kept.",
}


class Commands(click.Group):
    """Finds a command's file by its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f"ptoasm.commands.{cmd_name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # The list is printed without importing any command.
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from ptoasm.suggest import did_you_mean

            near = did_you_mean(args[0], COMMANDS)
            hint = f" Did you mean '{near}'?" if near else ""
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ptoasm")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal fault.")
def cli(debug: bool) -> None:
    """Parse, verify and run PTO tile programs: no NPU, no vendor SDK, no LLVM.

    For example: ptoasm run samples/tcolsum_sync.pto
    """
