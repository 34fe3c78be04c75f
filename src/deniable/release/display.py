"""Text and HTML of a release."""

import html
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from deniable import layout
from deniable.numbers.rationals import decimal_text
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.warning import with_warning
from deniable.release.columns import Bounds, Key

if TYPE_CHECKING:
    from deniable.release.release import Release

_ROWS = 60  # more are counted, not shown
_UNSAFE = "UNSAFE: the noise comes from a test stream. Do not publish."
_BAR = (120, 12)  # width and height of an error bar
_FINEST = 12  # decimal places that are ever shown
_IN_FULL = 1e15  # numbers below are shown without an exponent
_NAMES = 5  # columns that a line names
# Text, links and tables take the colours of the browser, light or dark.
PAGE = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
    "<title>{title}</title><style>body{{font-family:sans-serif;margin:2em auto;max-width:60em;padding:0 1em}}</style>"
    "</head><body>{body}</body></html>\n"
)
# Colours that a light and a dark page both carry: text takes the page's own.
_STYLE = (
    ".deniable .wide{overflow-x:auto}.deniable table{border-collapse:collapse;margin:.4em 0}"
    ".deniable th,.deniable td{padding:2px 10px;border-bottom:1px solid rgba(128,128,128,.35);text-align:left}"
    ".deniable .number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
    ".deniable .small{opacity:.75;font-size:90%}.deniable .unsafe{color:#d22;font-weight:bold}"
)


def printable(text: object) -> str:
    """Return the text on one line, with escapes for control and invisible characters.

    Control characters, line breaks, signs that turn the direction of writing, signs without width and halves of
    surrogate pairs are escaped; letters of every script stay as they are.
    """
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in str(text))


def price(loss: PrivacyLoss, *, every: bool = False) -> str:
    """Return a loss in the first currency that bounds it, or in all, with its warning."""
    costs = list(_costs(loss))
    return with_warning(", ".join(costs) if every else costs[0], loss.charge().warning)


def _costs(loss: PrivacyLoss) -> Iterator[str]:
    charge = loss.charge()
    if charge.epsilon is not None:
        delta = f", delta={decimal_text(charge.delta)}" if charge.delta else ""
        yield f"epsilon={decimal_text(charge.epsilon)}{delta}"
    if charge.rho is not None:
        yield f"rho={decimal_text(charge.rho)}"
    if charge.epsilon is None and charge.rho is None:
        yield str(loss) if charge.mu_squared is None else f"mu={math.sqrt(charge.mu_squared):.6g}"


def charged(release: "Release") -> str:
    """Return the cost of an answer, and the part of it that was charged before."""
    paid, now = price(release.paid), price(release.cost)
    if paid == now:
        return paid
    return f"{paid}, paid before" if not release.cost.charge().epsilon else f"{paid}, {now} of it now"


def provenance_rows(release: "Release") -> Iterator[tuple[str, str]]:
    """Yield what is known of the payment and the policy, as pairs of subject and text."""
    known = release.provenance
    if known is not None:
        numbers = ", ".join(map(str, known.entries))
        yield "paid", f"{price(known.paid, every=True)}, on {known.day}"
        yield "ledger", f"entry {numbers}, " + (f"head {known.head}" if known.head else "kept in memory")
        yield "asked by", known.analyst
        yield "noise", known.mechanisms if isinstance(known.mechanisms, str) else json.dumps(known.mechanisms)
        for word, value in known.policy.items():
            yield word, str(value)
        yield "version", f"deniable {known.version}"


def as_page(release: "Release", *, title: str = "", origin: str = "") -> str:
    """Return a page of HTML that loads nothing.

    Args:
        title: of the page; by default the question.
        origin: a line below the answer.
    """
    written = f'<div class="deniable"><p class="small">{as_markup(origin)}</p></div>' if origin else ""
    body = f"{as_html(release)}{written}"
    return PAGE.format(title=as_markup(title or release.text or "answer"), body=body)


def as_text(release: "Release") -> str:
    """Return an aligned table of values with errors, the cost, and what is left."""
    heads, columns = zip(*_cells(release), strict=True)
    lines = layout.aligned([heads, *zip(*columns, strict=True)], right=_numeric(release), ruled=True)
    return "\n".join([*lines, *_footer(release)])


def as_line(release: "Release") -> str:
    """Return a release on one line: its only number, or its size."""
    if len(release) == 1 and len(release.parts) == 1:
        ((name, (only,)),) = _cells(release)
        content = f"{name} = {only}"
    else:
        names = [printable(name) for name in release.columns]
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        content = f"{len(release):,} row{'s' * (len(release) != 1)} of {', '.join(names[:_NAMES])}{more}"
    unsafe = "" if release.safe else ", safe=False"
    return f"<Release: {content}; cost {charged(release)}{unsafe}>"


def as_html(release: "Release") -> str:
    """Return a small table with error bars.

    Every text is escaped; it loads nothing.
    """
    bounds = _shown(release).intervals(release.level)
    classes = [' class="number"' if right else "" for right in _numeric(release)]
    cells = _cells(release)
    rows: list[list[str]] = [[] for _ in range(1 + min(len(release), _ROWS))]  # heads first
    for part, (name, column), style in zip(release.parts, cells, classes, strict=True):
        rows[0].append(layout.cell(as_markup(name), tag="th", attributes=style))
        for row, text in zip(rows[1:], column, strict=True):
            row.append(layout.cell(as_markup(text), attributes=style))
        if not isinstance(part, Key):
            rows[0].append(layout.cell("", tag="th"))
            for at, row in enumerate(rows[1:]):
                row.append(layout.cell(_bar(release[part.name], bounds[part.name], at)))
    footer = [*_footer(release), *([f"protects {release.protects}"] if release.protects else [])]
    lines = "".join(
        f'<div class="{"unsafe" if line == _UNSAFE else "small"}">{as_markup(line)}</div>' for line in footer
    )
    question = f"<code>{as_markup(release.text)}</code>" if release.text else ""
    table = f'<div class="wide">{layout.assembled(rows)}</div>'
    pairs = [tuple(map(printable, pair)) for pair in provenance_rows(release)]
    details = f"<summary>provenance</summary>{layout.table(pairs, subjects=True)}"
    more = f'<details class="small">{details}</details>' if pairs else ""
    return f'<div class="deniable"><style>{_STYLE}</style>{question}{table}{lines}{more}</div>'


def number(value: float, spread: float, digits: int | None = None) -> str:
    """Return a value in groups of three digits, as precise as its error allows.

    The error keeps two significant digits, three if the first is 1; the value ends where its error does.
    """
    if not math.isfinite(value):
        return str(value)
    if not math.isfinite(spread) or spread <= 0:
        return _bare(value)
    exponent = math.floor(math.log10(spread))
    decimals = 1 - exponent + (spread < 2 * 10.0**exponent)
    if digits is not None:
        decimals = min(decimals, digits)
    return f"{round(value, min(decimals, _FINEST)) + 0.0:,.{min(max(decimals, 0), _FINEST)}f}"


def cell(value: float, lower: float, upper: float, *, digits: int | None = None) -> str:
    """Return `value ± error`, or `value [lower, upper]` for unequal sides.

    The value alone if there is no interval.
    """
    if math.isnan(value):
        return "undefined"
    if math.isnan(lower) and math.isnan(upper):
        return _bare(value) if digits is None else f"{value:,.{digits}f}"
    below, above = value - lower, upper - value
    spread = max(below, above) if math.isfinite(below + above) else min(abs(below), abs(above))
    if math.isfinite(below + above) and abs(above - below) <= 0.05 * spread:
        return f"{number(value, spread, digits)} ± {number(spread, spread, digits)}"
    ends = f"{number(lower, spread, digits)}, {number(upper, spread, digits)}"
    return f"{number(value, spread, digits)} [{ends}]"


def _bare(value: float) -> str:
    """Return a value without an error: whole numbers in full, others with six digits."""
    if abs(value) < _IN_FULL and (value == int(value) or abs(value) >= 10**5):
        return f"{value:,.0f}"
    return f"{value:,.6g}"


def intervals(release: "Release", level: float) -> str:
    """Return at which level intervals are shown, if there are any."""
    bounds = _shown(release).intervals(level).values()
    none = bool(bounds) and all(np.isnan(end).all() for pair in bounds for end in pair) and len(release) > 0
    return "" if none else f"{100 * level:g}% intervals; "


def _shown(release: "Release") -> "Release":
    """Return the rows that are shown; intervals of the others are not computed."""
    return release if len(release) <= _ROWS else release.take(np.arange(_ROWS))


def _numeric(release: "Release") -> list[bool]:
    """Whether each column holds numbers, which end below each other."""
    return [not isinstance(part, Key) or all(map(_is_number, part.values)) for part in release.parts]


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float | np.number) and not isinstance(value, bool))


def _cells(release: "Release") -> list[tuple[str, list[str]]]:
    """Return the name and the shown rows of every column, as text."""
    release = _shown(release)
    bounds = release.intervals(release.level)
    table = []
    for part in release.parts:
        if isinstance(part, Key):
            cells = ["NULL" if value is None else printable(value) for value in part.values]
        else:
            values = release[part.name]
            digits = 0 if values.dtype.kind in "iu" else part.digits
            ends = zip(values.tolist(), *(end.tolist() for end in bounds[part.name]), strict=True)
            cells = [cell(float(value), lower, upper, digits=digits) for value, lower, upper in ends]
        table.append((printable(part.name), cells))
    return table


def _footer(release: "Release") -> list[str]:
    hidden = len(release) - _ROWS
    left = "" if release.budget_left is None else f"; left {release.budget_left}"
    steps = [f"{measure.name}: {measure.post_processing}" for measure in release.measures if measure.post_processing]
    return [
        *([f"... and {hidden:,} more rows"] if hidden > 0 else []),
        *([_UNSAFE] if not release.safe else []),
        f"{intervals(release, release.level)}cost {charged(release)}{left}",
        *(["after the noise: " + printable("; ".join(steps))] if steps else []),
        *map(printable, release.notes),
    ]


def as_markup(text: object) -> str:
    """Return the text as `printable` shows it, for a page."""
    return html.escape(printable(text), quote=True)


def _bar(values: "np.ndarray[tuple[int], np.dtype[np.float64]]", bounds: Bounds, at: int) -> str:
    """Return a dot with its interval, on one scale for the whole column."""
    known = np.concatenate([values, *bounds]).astype(np.float64)
    known = known[np.isfinite(known)]
    if known.size == 0 or known.min() == known.max() or math.isnan(values[at]):
        return ""
    width, height = _BAR
    scale = (width - 8) / (known.max() - known.min())

    def across(x: float) -> float:
        return float(4 + (np.clip(x, known.min(), known.max()) - known.min()) * scale)

    left, middle, right = across(bounds.lower[at]), across(float(values[at])), across(bounds.upper[at])
    return (
        f'<svg width="{width}" height="{height}" style="vertical-align:middle" aria-hidden="true">'
        f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{height / 2}" y2="{height / 2}" stroke="#5588cc"/>'
        f'<circle cx="{middle:.1f}" cy="{height / 2}" r="3" fill="#5588cc"/></svg>'
    )
