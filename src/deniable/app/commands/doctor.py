"""`deniable doctor`: exact counts of odd rows, for the owner of the data alone."""

from typing import Annotated

import typer

from deniable.app.opening import read
from deniable.app.options import Memory, PolicyFile, Threads
from deniable.app.terminal import say, show_table, waiting


def doctor(
    policy: PolicyFile,
    everything: Annotated[bool, typer.Option("--all", help="Also show what is in order.")] = False,
    memory: Memory = None,
    threads: Threads = None,
) -> None:
    """Count exactly what the policy leaves out or changes; for the owner alone.

    The numbers are not private.

    Charges nothing and writes nothing.
    """
    declared = read(policy)
    from deniable.query.engines.doctor import ALL_WELL, WARNING, Doctor
    from deniable.query.source import open_policy

    engine, tables, _ = open_policy(declared, memory=memory, threads=threads)
    doctor = Doctor(engine)
    with waiting("counting..."):
        findings = [finding for table in tables.values() for finding in doctor.examine(table)]
    say(WARNING)
    shown = [finding for finding in findings if everything or finding.odd or finding.normal is None]
    show_table(
        ("about", "what", "count"),
        [(finding.subject, finding.what, "-" if finding.count is None else f"{finding.count:,}") for finding in shown],
        right=frozenset({"count"}),
    )
    if not any(finding.odd for finding in findings):
        say(ALL_WELL)
