"""Policy file of the command line, and what a command needs of it."""

from pathlib import Path
from typing import TYPE_CHECKING

from deniable.errors import CatalogError, redacted

if TYPE_CHECKING:
    from deniable.ledger import Ledger
    from deniable.ledger.source import Source
    from deniable.query.database import Database
    from deniable.query.policy import Policy


def read(path: Path) -> "Policy":
    """Return a policy, checked.

    Raises: CatalogError, also if the file is something else, such as the data.
    """
    from deniable.query.policy import read_policy

    if path.suffix != ".toml":
        raise CatalogError(
            f"the first argument is a policy, a file that ends in .toml, got {redacted(path)!r}. "
            f"Make one from your data: deniable init {redacted(path).rpartition('/')[2]} > policy.toml"
        )
    return read_policy(path)


def never_replaced(policy: "Policy", path: Path) -> tuple[Path, ...]:
    """Return the files that no output may replace.

    The data, the ledger and the policy itself.
    """
    sources = [Path(each.source) for each in policy.several.values() or (policy,)]
    return (*sources, Path(policy.ledger), path)


def open_ledger(policy: "Policy", source: "Source | None" = None, *, moved: bool = False) -> "Ledger":
    """Return the ledger of a policy.

    A ledger in memory stands for one that nothing was written to yet, and makes no file.
    """
    from deniable.ledger import Ledger

    return Ledger.open(
        policy.ledger if Ledger.exists(policy.ledger) else None,
        budget=policy.budget,
        relation=policy.relation,
        unit=policy.unit,
        dataset=policy.name,
        source=source,
        moved=moved,
    )


def for_reading(policy: "Policy", *, moved: bool = False, analyst: str | None = None) -> "Database":
    """Return a database to plan with.

    It makes no file, and nothing that it answers would be remembered: ask it nothing.
    """
    from deniable.query.database import Database
    from deniable.query.source import open_policy

    engine, tables, source = open_policy(policy)
    ledger = open_ledger(policy, source, moved=moved)
    return Database(engine, tables, ledger if analyst is None else ledger.asked_by(analyst))
