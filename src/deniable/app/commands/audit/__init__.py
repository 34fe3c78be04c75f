"""`deniable audit`: measure any mechanism against its claim.

One file per subcommand.
"""

from typing import Any

import typer
import typer.core

from deniable.app.commands.audit.canaries import canaries
from deniable.app.commands.audit.exact import exact
from deniable.app.commands.audit.function import function


class Shortened(typer.core.TyperGroup):
    """Takes what does not begin with a subcommand as the arguments of the first one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {*self.commands, *ctx.help_option_names}
        first = [] if not args or args[0] in known else [next(iter(self.commands))]
        return super().parse_args(ctx, [*first, *args])


audit = typer.Typer(
    cls=Shortened,
    help="Measure a mechanism, anybody's, against its claim. `deniable audit MODULE:FUNCTION` is short for "
    "`deniable audit function MODULE:FUNCTION`.",
    no_args_is_help=True,
)
for command in (function, exact, canaries):
    audit.command(command.__name__)(command)
