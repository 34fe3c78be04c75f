"""The reference table of mechanisms, made from `MECHANISMS`: `python -m deniable.mechanisms.table [FILE]`."""

import sys
from dataclasses import fields
from pathlib import Path

from deniable.mechanisms import MECHANISMS

_HEADER = """# Mechanisms

<!-- Made by `python -m deniable.mechanisms.table docs/reference/mechanisms.md`. Do not edit. -->

Every mechanism adds noise to integers. Reals are put on a lattice first; its steps are the unit of every parameter.
`l1` and `l2` are the norms of the sensitivity. The last column is the pair of neighbours that attains the loss, on
which the tests audit the claim.

| mechanism | parameters | what it does | guarantee | source | worst case |
|---|---|---|---|---|---|
"""


def table() -> str:
    """The page as Markdown text."""
    return _HEADER + "".join(f"| {' | '.join(_row(name))} |\n" for name in sorted(MECHANISMS))


def _row(name: str) -> list[str]:
    mechanism = MECHANISMS[name]
    worst = mechanism.worst_case()
    parameters = ", ".join(f"`{field.name}`" for field in fields(mechanism))
    tried = ", ".join(f"{field.name} = {getattr(worst.mechanism, field.name)}" for field in fields(mechanism))
    purpose = (mechanism.__doc__ or "").partition("\n")[0].rstrip(".")
    pair = f"{list(worst.exact)} against {list(worst.neighbour)}, {tried}"
    return [
        f"`{mechanism.__name__}`",
        parameters,
        purpose.replace("|", r"\|"),
        mechanism.guarantee,
        mechanism.source,
        pair,
    ]


def main(arguments: list[str]) -> None:
    """Write the page to the file named, or to standard output."""
    if arguments:
        Path(arguments[0]).write_text(table(), encoding="utf-8")
    else:
        sys.stdout.write(table())


if __name__ == "__main__":
    main(sys.argv[1:])
