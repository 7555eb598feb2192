"""Standard input has one name, whichever command reads it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from ptoasm.cli import cli

WRONG = "%a = tcj 1 : !pto.tile<vec, 1x8xi32>\n"
COMMANDS = (["check"], ["fmt", "--check"], ["convert", "--to", "dps"], ["map"], ["run"], ["verify"])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command[0]))
def test_the_name_of_standard_input(command: list[str]) -> None:
    for text in (WRONG, ""):
        result = CliRunner().invoke(cli, [*command, "-"], input=text)
        assert result.exit_code == 1
        assert "<stdin>:1:" in result.output
        assert not any(line.startswith("-:") for line in result.output.splitlines())
