"""Picture of a release; needs matplotlib."""

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, MissingExtraError
from deniable.release.columns import Key
from deniable.release.display import charged, intervals, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from deniable.release.release import Release

_BAR, _WHISKER = "#88aacc", "#223344"
_LINE = 60  # letters of a title on one line
_SHADES = 10  # groups of bars that have colours of their own
_TURNED = 60  # letters below an axis from which labels are turned
_LABELS = 40  # labels that are written below an axis


def draw(release: "Release", measure: str | None, *, level: float, ax: "Axes | None") -> "Axes":
    """Draw bars with the intervals at `level`.

    Bars stand between the edges of their bins, or in groups over two key columns.

    Without a key column, and over three or more, each value is a point.

    Args:
        measure: the name of a noisy column; None for the first.
        ax: matplotlib axes to draw on; None makes new ones.

    Raises: MissingExtraError if matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError.of("plot", "plot() needs matplotlib") from error

    names = [part.name for part in release.measures]
    if not names or (measure is not None and measure not in names):
        if not names:
            raise InvalidParameterError("measure is a column of noisy numbers; there is none here")
        raise InvalidParameterError(f"measure must be one of {names}, got {measure!r}")
    name = names[0] if measure is None else measure
    values = release[name].astype(np.float64)
    bounds = release.intervals(level)[name]
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    # An unbounded side has no whisker; matplotlib does not draw NaN.
    whiskers = np.stack([values - bounds.lower, bounds.upper - values])
    whiskers = np.where(np.isfinite(whiskers), np.maximum(whiskers, 0.0), np.nan)
    keys = release.keys
    edges = {key.edge: key for key in release.keys}
    if len(keys) == 2 and {"lower", "upper"} <= set(edges):
        _bins(ax, edges["lower"], edges["upper"], values, whiskers)
    elif len(keys) == 1:
        indices = np.arange(len(release))
        ax.bar(indices, values, yerr=whiskers, capsize=3, color=_BAR, ecolor=_WHISKER)
        _label(ax, indices, [_text(value) for value in keys[0].values])
        ax.set_xlabel(_plain(keys[0].name))
    elif len(keys) == 2 and len({_text(value) for value in keys[1].values}) <= _SHADES:
        _groups(ax, keys[0], keys[1], values, whiskers)
    else:
        indices = np.arange(len(release))
        ax.errorbar(indices, values, yerr=whiskers, fmt="o", capsize=3, color="#4477aa", ecolor=_WHISKER)
        rows = zip(*(key.values for key in keys), strict=True)
        _label(ax, indices, [" / ".join(map(_text, row)) for row in rows] or [""] * len(release))
    ax.set_ylabel(_plain(name))
    ax.set_title(_title(release, level), fontsize="medium")
    return ax


def _bins(ax: "Axes", lower: Key, upper: Key, values: NDArray[Any], whiskers: NDArray[Any]) -> None:
    """Draw a bar between the edges of each bin; rows in no bin stand behind the last."""
    ends = [(low, high) for low, high in zip(lower.values, upper.values, strict=True) if low is not None]
    starts, stops = (np.array(side, dtype=np.float64) for side in (zip(*ends, strict=True) if ends else ((), ())))
    inside = np.array([low is not None for low in lower.values], dtype=bool)
    middles = (starts + stops) / 2
    ax.bar(starts, values[inside], width=stops - starts, align="edge", color=_BAR, edgecolor="white")
    ax.errorbar(middles, values[inside], yerr=whiskers[:, inside], fmt="none", capsize=3, ecolor=_WHISKER)
    ax.set_xlabel("value")
    if not inside.all() and ends:
        width = float(np.median(stops - starts))
        position = float(stops.max()) + width
        ax.bar([position], values[~inside], yerr=whiskers[:, ~inside], width=width, capsize=3, color="#cccccc",
               ecolor=_WHISKER, label="in no bin")  # fmt: skip
        ax.legend()


def _groups(ax: "Axes", outer: Key, inner: Key, values: NDArray[Any], whiskers: NDArray[Any]) -> None:
    """Draw bars side by side: one position per first key, one colour per second key."""
    from matplotlib import colormaps

    firsts, seconds = (list(dict.fromkeys(map(_text, key.values))) for key in (outer, inner))
    positions, shade = (
        np.array([listed.index(_text(value)) for value in key.values], dtype=np.int64)
        for listed, key in ((firsts, outer), (seconds, inner))
    )
    width = 0.8 / max(len(seconds), 1)
    colours = colormaps["tab10"].colors  # type: ignore[attr-defined]
    for index, label in enumerate(seconds):
        rows = shade == index
        middles = positions[rows] + width * (index - (len(seconds) - 1) / 2)
        ax.bar(middles, values[rows], width, yerr=whiskers[:, rows], capsize=2, color=(*colours[index], 0.7),
               ecolor=_WHISKER, label=_plain(label))  # fmt: skip
    _label(ax, np.arange(len(firsts)), firsts)
    ax.set_xlabel(_plain(outer.name))
    ax.legend(title=_plain(inner.name), loc="upper left", bbox_to_anchor=(1.0, 1.0))  # beside the bars


def _label(ax: "Axes", indices: NDArray[np.int64], labels: list[str]) -> None:
    """Write as many labels below the axis as there is room for."""
    step = max(1, -(-len(labels) // _LABELS))
    turned = len("".join(labels[::step])) > _TURNED
    shown = [_plain(label) for label in labels[::step]]
    ax.set_xticks(indices[::step], shown, rotation=45 if turned else 0, ha="right" if turned else "center")


def _text(value: object) -> str:
    return "NULL" if value is None else printable(value)


def _title(release: "Release", level: float) -> str:
    """Return the question, the level of the intervals, the cost and the unit."""
    unsafe = "" if release.safe else "UNSAFE test noise. Do not publish.\n"
    asked = textwrap.shorten(printable(release.text), 3 * _LINE, placeholder=" ...")
    small = f"{intervals(release, level)}cost {charged(release)}"
    protects = f"; protects {printable(release.protects)}" if release.protects else ""
    return unsafe + _plain("\n".join([*textwrap.wrap(asked, _LINE), *textwrap.wrap(small + protects, _LINE)]))


def _plain(text: object) -> str:
    """Return text that matplotlib shows as it is: a dollar sign would begin a formula."""
    return printable_lines(str(text)).replace("$", r"\$")


def printable_lines(text: str) -> str:
    """Return the text in its lines, with escapes for other invisible characters."""
    return "\n".join(map(printable, text.split("\n")))
