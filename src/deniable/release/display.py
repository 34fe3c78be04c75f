"""A release as text and as HTML."""

import html
import math
from typing import TYPE_CHECKING

import numpy as np

from deniable.privacy.exact import decimal_text
from deniable.privacy.loss import PrivacyLoss
from deniable.release.columns import Bounds, Key

if TYPE_CHECKING:
    from deniable.release.release import Release

_LEVEL = 0.95
_ROWS = 60  # more are counted, not shown
_UNSAFE = "UNSAFE: the noise comes from a test stream. Do not publish."
_BAR = (120, 12)  # width and height of an error bar


def price(loss: PrivacyLoss) -> str:
    """What a loss costs, in the first currency that knows it."""
    charge = loss.charge()
    if charge.epsilon is not None:
        delta = f", delta={decimal_text(charge.delta)}" if charge.delta else ""
        return f"epsilon={decimal_text(charge.epsilon)}{delta}"
    if charge.rho is not None:
        return f"rho={decimal_text(charge.rho)}"
    if charge.mu_squared is not None:
        return f"mu={math.sqrt(charge.mu_squared):.6g}"
    return str(loss)


def as_text(release: "Release") -> str:
    """An aligned table; each noisy value with its error, and below it the cost and what is left."""
    columns = [[name, *cells] for name, cells in _cells(release).items()]
    widths = [max(map(len, column)) for column in columns]
    numeric = {measure.name for measure in release.measures}
    lines = []
    for row in zip(*columns, strict=True):
        padded = [
            cell.rjust(width) if name in numeric else cell.ljust(width)
            for cell, width, name in zip(row, widths, release.columns, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*lines, *_footer(release)])


def as_html(release: "Release") -> str:
    """A small table with error bars. Every text is escaped; it loads nothing."""
    cells, bounds = _cells(release), _shown(release).intervals(_LEVEL)
    numeric = {measure.name for measure in release.measures}
    style = "padding:2px 10px;border-bottom:1px solid #ddd;"
    rows = ["<tr>" + "".join(f'<th style="{style}text-align:left">{_safe(name)}</th>' for name in cells) + "</tr>"]
    for at in range(min(len(release), _ROWS)):
        row = []
        for name, column in cells.items():
            align = "right;white-space:nowrap;font-variant-numeric:tabular-nums" if name in numeric else "left"
            bar = f" {_bar(release[name], bounds[name], at)}" if name in numeric else ""
            row.append(f'<td style="{style}text-align:{align}">{_safe(column[at])}{bar}</td>')
        rows.append("<tr>" + "".join(row) + "</tr>")
    lines = "".join(
        f'<div style="color:{"#b00" if line == _UNSAFE else "#555"};font-size:90%">{_safe(line)}</div>'
        for line in _footer(release)
    )
    question = f"<code>{_safe(release.text)}</code>" if release.text else ""
    return f'<div>{question}<table style="border-collapse:collapse">{"".join(rows)}</table>{lines}</div>'


def number(value: float, spread: float, digits: int | None = None) -> str:
    """A value with as many decimals as its error leaves meaning in."""
    if not math.isfinite(value):
        return str(value)
    if not math.isfinite(spread) or spread <= 0:
        return f"{value:.6g}"
    decimals = min(max(0, 1 - math.floor(math.log10(spread))), 12)
    return f"{value:.{decimals if digits is None else max(0, min(decimals, digits))}f}"


def cell(value: float, lower: float, upper: float, *, digits: int | None = None) -> str:
    """`value ± error` for a symmetric interval, else `value [lower, upper]`; the value alone if there is none."""
    if math.isnan(value):
        return "undefined"
    if math.isnan(lower) and math.isnan(upper):
        return f"{value:.6g}" if digits is None else f"{value:.{digits}f}"
    below, above = value - lower, upper - value
    spread = max(below, above) if math.isfinite(below + above) else min(abs(below), abs(above))
    if math.isfinite(below + above) and abs(above - below) <= 0.05 * spread:
        return f"{number(value, spread, digits)} ± {number(spread, spread, digits)}"
    ends = f"{number(lower, spread, digits)}, {number(upper, spread, digits)}"
    return f"{number(value, spread, digits)} [{ends}]"


def _shown(release: "Release") -> "Release":
    """The rows that are shown; intervals of the others are not worth their time."""
    return release if len(release) <= _ROWS else release.take(np.arange(_ROWS))


def _cells(release: "Release") -> dict[str, list[str]]:
    """The shown rows as text, by column."""
    release = _shown(release)
    bounds, shown = release.intervals(_LEVEL), len(release)
    table = {}
    for part in release.parts:
        if not isinstance(part, Key):
            values = release[part.name]
            digits = 0 if values.dtype.kind in "iu" else part.digits
            ends = zip(values[:shown].tolist(), *(end[:shown].tolist() for end in bounds[part.name]), strict=True)
            table[part.name] = [cell(float(value), lower, upper, digits=digits) for value, lower, upper in ends]
        else:
            table[part.name] = ["NULL" if value is None else _one_line(value) for value in part.values[:shown]]
    return table


def _footer(release: "Release") -> list[str]:
    hidden = len(release) - _ROWS
    left = "" if release.budget_left is None else f"; left {release.budget_left}"
    steps = [f"{measure.name}: {measure.post_processing}" for measure in release.measures if measure.post_processing]
    return [
        *([f"... and {hidden} more rows"] if hidden > 0 else []),
        *([_UNSAFE] if not release.safe else []),
        f"{_LEVEL:.0%} intervals; cost {price(release.cost)}{left}",
        *(["after the noise: " + "; ".join(steps)] if steps else []),
        *release.notes,
    ]


def _one_line(value: object) -> str:
    text = str(value)
    return text if text.isprintable() else repr(value)


def _safe(text: object) -> str:
    return html.escape(str(text), quote=True)


def _bar(values: "np.ndarray[tuple[int], np.dtype[np.float64]]", bounds: Bounds, at: int) -> str:
    """A dot with its interval, on one scale for the whole column."""
    known = np.concatenate([values, *bounds]).astype(np.float64)
    known = known[np.isfinite(known)]
    if known.size == 0 or known.min() == known.max() or math.isnan(values[at]):
        return ""
    width, height = _BAR
    scale = (width - 8) / (known.max() - known.min())

    def place(x: float) -> float:
        return float(4 + (np.clip(x, known.min(), known.max()) - known.min()) * scale)

    left, middle, right = place(bounds.lower[at]), place(float(values[at])), place(bounds.upper[at])
    return (
        f'<svg width="{width}" height="{height}" style="vertical-align:middle">'
        f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{height / 2}" y2="{height / 2}" stroke="#4477aa"/>'
        f'<circle cx="{middle:.1f}" cy="{height / 2}" r="3" fill="#4477aa"/></svg>'
    )
