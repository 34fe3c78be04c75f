"""The page docs/reference/gallery.md, made from `GALLERY`."""

import importlib
import math
from itertools import groupby

from mechanism_table import cells

from deniable.audit import GALLERY, Specimen

HEADER = """# Gallery of broken mechanisms

<!-- Made by `make pages`. Do not edit. -->

What was claimed of each, and what an exact audit certifies on one pair of neighbours: its epsilon is at least that, at
the delta that is named. `deniable.audit.GALLERY[name].audit()` shows the event. Sound mechanisms stand among them as
controls. "errata E64" is an entry in the list of errors of the documents that this library began from.
"""
COLUMNS = "| mechanism | claimed | epsilon is at least | what is wrong | source |\n|---|---|---|---|---|\n"


def page() -> str:
    """The page as Markdown text."""
    rooms = groupby(sorted(GALLERY.values(), key=_module), key=_module)
    return HEADER + "".join(
        f"\n## {_title(room)}\n\n{COLUMNS}" + "".join(map(_row, members)) for room, members in rooms
    )


def _module(one: Specimen) -> str:
    return one.chances.__module__


def _title(module: str) -> str:
    """The first line of the file, up to a colon."""
    return (importlib.import_module(module).__doc__ or "").partition("\n")[0].rstrip(".")


def _row(one: Specimen) -> str:
    found = one.audit()
    if one.claim.statement.response is None:
        claimed = f"`{one.claim}`, that is {found.claimed:.4g}"
    else:
        epsilon, delta = map(float, one.claim.statement.response)
        claimed = f"{epsilon:.4g}" + (f", delta {delta:.4g}" if delta else "")
    least = "infinite" if math.isinf(found.epsilon) else f"{found.epsilon:.4g}"
    at = f" at delta {found.delta:.4g}" if found.delta else ""
    flaw = one.flaw.rstrip(".")
    return cells(f"{one.name} (sound)" if one.sound else one.name, claimed, f"{least}{at}", flaw, one.source)
