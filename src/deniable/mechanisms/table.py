"""The reference table of mechanisms, made from `MECHANISMS`: `python -m deniable.mechanisms.table [FILE]`."""

import argparse
import sys
from dataclasses import fields
from pathlib import Path

from deniable.mechanisms import FAMILIES, Mechanism

_HEADER = """# Mechanisms

<!-- Made by `python -m deniable.mechanisms.table docs/reference/mechanisms.md`. Do not edit. -->

Every mechanism takes integers. Reals are put on a lattice first; its steps are the unit of every parameter. `l1` and
`l2` are the norms of the sensitivity. The last column is the pair of neighbours on which the tests audit the claim; an
asterisk marks a pair that does not attain the whole of it.
"""
_COLUMNS = """
| mechanism | parameters | what it does | guarantee | source | worst case |
|---|---|---|---|---|---|
"""


def table() -> str:
    """The page as Markdown text."""
    return _HEADER + "".join(
        f"\n## {family}\n{_COLUMNS}" + "".join(f"| {' | '.join(_row(mechanism))} |\n" for mechanism in members)
        for family, members in FAMILIES.items()
        if members
    )


def _row(mechanism: type[Mechanism]) -> list[str]:
    worst = mechanism.worst_case()
    parameters = ", ".join(f"`{field.name}`" for field in fields(mechanism))
    tried = ", ".join(f"{field.name} = {getattr(worst.mechanism, field.name)}" for field in fields(mechanism))
    purpose = (mechanism.__doc__ or "").partition("\n")[0].rstrip(".")
    pair = f"{list(worst.exact)} against {list(worst.neighbour)}, {tried}{'' if worst.attains else ' *'}"
    cells = [f"`{mechanism.__name__}`", parameters, purpose, mechanism.guarantee, mechanism.source, pair]
    return [cell.replace("|", r"\|") for cell in cells]


def main(arguments: list[str]) -> None:
    """Write the page to the file named, or to standard output."""
    write(arguments, table(), subject="mechanisms")


def write(arguments: list[str], page: str, *, subject: str) -> None:
    """Write a page about `subject` to the file that the arguments name, or to standard output."""
    parser = argparse.ArgumentParser(
        prog=f"python -m deniable.{subject}.table", description=f"Write the reference table of {subject} as Markdown."
    )
    parser.add_argument("file", type=Path, nargs="?", help="where to write it; standard output if left out")
    file: Path | None = parser.parse_args(arguments).file
    if file:
        file.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)


if __name__ == "__main__":
    main(sys.argv[1:])
