"""Command line: `deniable` and its subcommands, from `init` to `shell`.

Every refusal is one sentence on stderr: exit code 3 if the budget is spent, 2 for anything else that was asked wrongly.
Nothing heavy is imported until a command runs.
"""

import io
import os
import sys
import traceback
from typing import Annotated, Any

import typer
import typer.core

from deniable.app.commands.account import account
from deniable.app.commands.attack import attack
from deniable.app.commands.audit import audit
from deniable.app.commands.budget import budget
from deniable.app.commands.demo import demo
from deniable.app.commands.doctor import doctor
from deniable.app.commands.explain import explain
from deniable.app.commands.hierarchy import hierarchy
from deniable.app.commands.import_ import import_
from deniable.app.commands.init import init
from deniable.app.commands.marginals import marginals
from deniable.app.commands.query import query
from deniable.app.commands.shell import shell
from deniable.app.commands.stream import stream
from deniable.app.commands.synthesize import synthesize
from deniable.app.terminal import complain
from deniable.errors import BudgetExceededError, DeniableError

REFUSED, EXCEEDED, BROKEN = 2, 3, 1
DEBUG = "DENIABLE_TRACEBACK"


class Plain(typer.core.TyperGroup):
    """Group of commands that says errors in plain words.

    A traceback could show private values, so there is none unless the owner asks.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BudgetExceededError as error:
            complain(str(error))
            code = EXCEEDED
        except DeniableError as error:
            complain(str(error))
            code = REFUSED
        except (typer.Exit, typer.Abort, BrokenPipeError, KeyboardInterrupt):
            raise
        except Exception as error:
            if type(error).__module__.startswith(("typer", "click")) or os.environ.get(DEBUG):
                raise
            frame = traceback.extract_tb(error.__traceback__)[-1]
            complain(
                f"this is a defect of deniable: {type(error).__name__} in {frame.name}, line {frame.lineno}. What was "
                f"charged stays charged. Please report it. {DEBUG}=1 shows more, for the owner of the data alone."
            )
            code = BROKEN
        raise typer.Exit(code)


app = typer.Typer(
    cls=Plain,
    help="Ask questions of a private table, within a budget; get noisy answers with error bars.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
)
for command in (
    init,
    import_,
    explain,
    query,
    marginals,
    synthesize,
    hierarchy,
    stream,
    shell,
    budget,
    account,
    doctor,
    demo,
):
    app.command(command.__name__.rstrip("_"))(command)
app.add_typer(attack, name="attack")
app.add_typer(audit, name="audit")


def _version(wanted: bool) -> None:
    if wanted:
        import deniable

        typer.echo(f"deniable {deniable.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Ask questions of a private table, within a budget; answers are noisy.

    They come with error bars.
    """


def main() -> None:
    """Run the command line.

    A stream that cannot show a sign shows its code: a charged answer must not fail on ±.
    """
    for terminal in (sys.stdout, sys.stderr):
        if isinstance(terminal, io.TextIOWrapper):
            terminal.reconfigure(errors="backslashreplace")
    app(prog_name="deniable", args=sys.argv[1:])
