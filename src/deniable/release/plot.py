"""A release as a picture; needs matplotlib."""

from typing import TYPE_CHECKING

import numpy as np

from deniable.errors import InvalidParameterError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from deniable.release.release import Release


def draw(release: "Release", measure: str | None, *, level: float, ax: "Axes | None") -> "Axes":
    """Bars over one key column, points otherwise, with the intervals at `level`.

    Args:
        measure: the name of a noisy column; None for the first.
        ax: matplotlib axes to draw on; None makes new ones.

    Raises: MissingExtraError if matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError("plot() needs matplotlib. Install it: pip install 'deniable[plot]'") from error

    names = [part.name for part in release.measures]
    if not names or (measure is not None and measure not in names):
        raise InvalidParameterError(f"measure must be one of {names}, got {measure!r}")
    name = names[0] if measure is None else measure
    values, bounds = release[name].astype(np.float64), release.intervals(level)[name]
    places = np.arange(len(release))
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    # An unbounded side has no whisker; matplotlib does not draw NaN.
    whiskers = np.stack([values - bounds.lower, bounds.upper - values])
    whiskers = np.where(np.isfinite(whiskers), np.maximum(whiskers, 0.0), np.nan)
    if len(release.keys) == 1:
        ax.bar(places, values, yerr=whiskers, capsize=3, color="#88aacc", ecolor="#223344")
        ax.set_xlabel(_plain(release.keys[0].name))
    else:
        ax.errorbar(places, values, yerr=whiskers, fmt="o", capsize=3, color="#4477aa", ecolor="#223344")
    labels = [_plain(" / ".join(str(value) for value in row)) for row in zip(*_keys(release), strict=True)]
    ax.set_xticks(places, labels or [""] * len(release), rotation=45 if len("".join(labels)) > 60 else 0)
    ax.set_ylabel(_plain(name))
    ax.set_title(_title(release, level))
    return ax


def _keys(release: "Release") -> list[list[object]]:
    return [["NULL" if value is None else value for value in key.values] for key in release.keys]


def _title(release: "Release", level: float) -> str:
    from deniable.release.display import price

    unsafe = "" if release.safe else "UNSAFE test noise; "
    return f"{unsafe}{100 * level:g}% intervals, cost {price(release.cost)}"


def _plain(text: str) -> str:
    """Text that matplotlib shows as it is: a dollar sign would begin a formula."""
    return text.replace("$", r"\$")
