"""The page docs/reference/mechanisms.md, made from `MECHANISMS`."""

import re
from dataclasses import fields
from inspect import cleandoc

from deniable.mechanisms import FAMILIES, Mechanism

HEADER = """# Mechanisms

<!-- Made by `make pages`. Do not edit. -->

Every mechanism takes integers. Reals are put on a lattice first, whose steps are the unit of every parameter. `l1`,
`l2` and `linf` are the norms of the sensitivity, and guarantees are for one release.
[The Python reference](api/mechanisms.md) has the parameters of each, and [the guide](../guide/mechanisms.md) helps to
choose.
"""
COLUMNS = "| mechanism | what it does | guarantee | source |\n|---|---|---|---|\n"
AUDITED = """
## Audited neighbours

The pair of neighbours on which the tests audit each claim. Where the pair does not attain the whole loss, the last
column says so.

| mechanism | parameters | neighbours | attained |
|---|---|---|---|
"""


def page() -> str:
    """The page as Markdown text."""
    families = "".join(
        f"\n## {family}\n\n{COLUMNS}" + "".join(map(_row, members)) for family, members in FAMILIES.items() if members
    )
    return HEADER + families + AUDITED + "".join(_audited(one) for members in FAMILIES.values() for one in members)


def _row(mechanism: type[Mechanism]) -> str:
    text = cleandoc(mechanism.__doc__ or "")
    purpose = text.partition("\n")[0].rstrip(".")
    return cells(f"`{mechanism.__name__}`", purpose, _section(text, "Guarantee"), _section(text, "Source"))


def _section(text: str, title: str) -> str:
    """A section of a docstring as one line, without the pages that it refers to."""
    found = re.search(rf"^{title}: (.*?)(?=^\w+: |\Z)", text, re.DOTALL | re.MULTILINE)
    line = " ".join(found[1].split()) if found else ""
    return re.split(r"[;.] (?:Proof: |[^;.]*docs/theory)", line)[0].rstrip(".")


def _audited(mechanism: type[Mechanism]) -> str:
    worst = mechanism.worst_case()
    tried = ", ".join(f"{field.name} = {getattr(worst.mechanism, field.name)}" for field in fields(mechanism))
    pair = f"{list(worst.exact)} against {list(worst.neighbour)}"
    return cells(f"`{mechanism.__name__}`", tried, pair, "yes" if worst.attains else "in part")


def cells(*texts: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in texts)} |\n"
