"""Output for people: plain text for pipes, boxes and colours on a terminal."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from deniable.layout import aligned

if TYPE_CHECKING:
    from rich.panel import Panel

    from deniable.release import Release

MARGIN = 4  # columns that a box takes


def say(text: str) -> None:
    """Print lines to stdout, each without characters that could steer a terminal."""
    typer.echo("\n".join(map(printable, text.splitlines())))


def complain(text: str) -> None:
    """Print a message to stderr."""
    typer.echo(f"deniable: {printable(text)}", err=True)


def hint(text: str) -> None:
    """Print advice to stderr, for a person at a terminal only."""
    if sys.stderr.isatty():
        typer.echo(printable(text), err=True)


def printable(text: str) -> str:
    """Return the text on one line, with escapes for what is not printable.

    As in every form of a release.
    """
    from deniable.release.display import printable as escaped

    return escaped(text)


@contextmanager
def waiting(what: str) -> Iterator[Callable[[float], None] | None]:
    """Turn a spinner on stderr while the body runs, on a terminal only.

    A bar stands beside it once a share is known.

    Yields what takes the share that is done; None where there is no terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

    shown = Progress(SpinnerColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True)
    task = shown.add_task(what, total=None)

    def tell(share: float) -> None:
        if len(shown.columns) == 2:
            shown.columns = (*shown.columns, BarColumn(), TaskProgressColumn())
        shown.update(task, total=1, completed=share)

    with shown:
        yield tell


def show_release(release: "Release") -> None:
    """Print an answer: in a box on a terminal, as plain text otherwise."""
    text = str(release)
    if not sys.stdout.isatty():
        say(text)
        return
    from rich.console import Console

    console = Console()
    if max(map(len, text.splitlines())) + MARGIN > console.width:
        say(text)
    else:
        console.print(boxed(release))


def boxed(release: "Release", title: str = "") -> "Panel":
    """Return an answer in a box, with errors emphasised and small print dimmed."""
    from rich.panel import Panel
    from rich.text import Text

    text = Text("\n".join(map(printable, str(release).splitlines())))
    text.highlight_regex(r"±[^\n]*?(?=  |\n|$)", "cyan")
    text.highlight_regex(r"(?m)^([0-9.]+% intervals; )?cost .*$", "dim")
    text.highlight_regex(r"(?m)^UNSAFE.*$", "bold red")
    return Panel(text, title=printable(title) or None, title_align="left", expand=False, border_style="blue")


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: frozenset[str] = frozenset()) -> None:
    """Print a table; the columns named in `right` are aligned there."""
    cells = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _rich_table(header, cells, right)
        return
    for line in aligned([header, *cells], right=[name in right for name in header], ruled=True):
        typer.echo(line)


def show_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print subjects and what is said about them."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        for subject, said in pairs:
            table.add_row(Text(printable(subject), style="bold"), Text(printable(said)))
        Console().print(table)
        return
    for line in aligned([(printable(subject), printable(said)) for subject, said in pairs]):
        typer.echo(line)


def _rich_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD)
    for name in header:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
