"""The commands around evaluation. `tunix-rt eval MODEL` is short for `tunix-rt eval run MODEL`."""

from typing import Any

import typer
from typer.core import TyperGroup


class DefaultToRun(TyperGroup):
    """A group whose first word may also be the first argument of `run`."""

    default_command = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` in front of what is no command, and no call for help."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.default_command, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=DefaultToRun,
    help="Evaluate: `tunix-rt eval MODEL` is `tunix-rt eval run MODEL`.",
    no_args_is_help=True,
)
