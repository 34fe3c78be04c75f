"""Report about synthetic rows: one page of text and pictures that loads nothing."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from deniable import layout
from deniable.release.display import PAGE
from deniable.release.display import price as price_text
from deniable.synthesis.rows import levels_of_rows

if TYPE_CHECKING:
    from deniable.numbers.arrays import Floats
    from deniable.synthesis.synthesis import Distance, Synthesis

WARNING = (
    "Synthetic rows are not data of people: intervals and tests computed from them as if they were are too narrow. "
    "Pairs of columns are near what was measured; anything about three columns or more is the model's."
)
WIDTH, HEIGHT = 640, 120
MAX_BARS = 128
WORST_SHOWN = 15
STYLE = """<style>
table { border-collapse: collapse; } td, th { padding: 2px 10px; text-align: left; }
td + td { text-align: right; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: auto; }
.rows { fill: #4a7fb5; } .band { stroke: currentColor; stroke-width: 1.2; }
figure { margin: 1.2em 0; } figcaption { font-size: 90%; }
</style>"""


def page(made: Synthesis) -> str:
    """Return the whole page. Every text in it is escaped."""
    levels = levels_of_rows(made.measured, made.model, made.size, seed=0)
    distances = list(made._distances(levels))
    singles = [each for each in distances if len(each.columns) == 1]
    pairs = sorted((each for each in distances if len(each.columns) == 2), key=lambda each: -each.lower)
    body = [
        STYLE,
        "<h1>Synthetic rows</h1>",
        f"<p>{escape(str(made)).replace(chr(10), '<br>')}</p>",
        f"<p>The tables cost {escape(price_text(made.paid))}. A distance is the share of rows that would have to be "
        "others for two tables to be equal; intervals hold with 95% probability over the noise.</p>",
        "<h2>Single columns</h2><p>Bars: synthetic rows. Lines: the noisy counts, 95% intervals.</p>",
    ]
    for attribute, column, counts, deviation, distance in zip(
        made.domain.attributes, levels, made.measured.counts, made.measured.deviations, singles, strict=True
    ):
        table = np.bincount(column, minlength=counts.size) / max(1, made.size)
        picture = bars(table, counts / made.measured.total, 1.96 * float(deviation) / made.measured.total)
        ends = f"{attribute.shown(0)} ... {attribute.shown(attribute.size - 2)}, missing"
        said = f"{attribute.name}: {ends}; distance {distance.lower:.3f} to {distance.upper:.3f}"
        body.append(f"<figure>{picture}<figcaption>{escape(said)}</figcaption></figure>")
    if pairs:
        body += ["<h2>Pairs of columns, on bins</h2>", _pairs_table(pairs[:WORST_SHOWN], len(pairs))]
    body += ["<h2>What this does not say</h2>", f"<p>{escape(WARNING)}</p>"]
    return PAGE.format(title="Synthetic rows", body="".join(body))


def bars(shares: Floats, measured: Floats, half_width: float) -> str:
    """Return a picture of synthetic shares of levels, with intervals of measured ones."""
    step = -(-shares.size // MAX_BARS)
    if step > 1:  # neighbours share a bar
        starts = np.arange(0, shares.size, step)
        shares, measured = np.add.reduceat(shares, starts), np.add.reduceat(measured, starts)
        half_width *= step**0.5
    top = max(float(shares.max()), float(measured.max()) + half_width, 1e-9)
    width = WIDTH / shares.size
    parts = []
    for index, (share, value) in enumerate(zip(shares.tolist(), measured.tolist(), strict=True)):
        height = share / top * HEIGHT
        low, high = (HEIGHT - np.clip([value - half_width, value + half_width], 0, top) / top * HEIGHT).tolist()
        middle = (index + 0.5) * width
        parts.append(
            f'<rect class="rows" x="{index * width + 0.1 * width:.2f}" y="{HEIGHT - height:.2f}" '
            f'width="{0.8 * width:.2f}" height="{height:.2f}"/>'
            f'<line class="band" x1="{middle:.2f}" x2="{middle:.2f}" y1="{low:.2f}" y2="{high:.2f}"/>'
        )
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="shares of levels">{"".join(parts)}</svg>'


def _pairs_table(pairs: list[Distance], number: int) -> str:
    heads = ("columns", "cells", "distance at least", "at most")
    rows = [(" x ".join(each.columns), f"{each.cells}", f"{each.lower:.3f}", f"{each.upper:.3f}") for each in pairs]
    said = f"<p>The {len(pairs)} of {number} pairs that are surely farthest away.</p>"
    return said + layout.table(rows, heads=heads)
