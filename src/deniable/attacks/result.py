"""What an attack got out of a release, beside what a guesser gets who saw nothing."""

import html
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deniable.attacks.numbers import check_probability
from deniable.errors import InvalidParameterError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FOUND, _GUESSED, _EDGE = "#b04a3a", "#9aa5b1", "#223344"


@dataclass(frozen=True, kw_only=True)
class Share:
    """Share of at least one attempt that succeeded, with the Clopper-Pearson interval of independent attempts.

    >>> print(Share(right=87, attempts=100))
    87.0% (78.8% to 92.9%)
    """

    right: int
    attempts: int
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 0 <= self.right <= self.attempts or self.attempts < 1:
            raise InvalidParameterError(
                f"a share needs at least one attempt, and right in 0..attempts, got {self.right} of {self.attempts}"
            )
        check_probability("confidence", self.confidence)

    @property
    def value(self) -> float:
        """Right over attempts."""
        return self.right / self.attempts

    @property
    def lower(self) -> float:
        """Lower end of the two-sided interval."""
        from scipy.stats import binomtest

        return float(binomtest(self.right, self.attempts).proportion_ci(self.confidence, method="exact").low)

    @property
    def upper(self) -> float:
        """Upper end of the two-sided interval."""
        return 1 - Share(right=self.attempts - self.right, attempts=self.attempts, confidence=self.confidence).lower

    def __str__(self) -> str:
        return f"{self.value:.1%} ({self.lower:.1%} to {self.upper:.1%})"


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What a theorem says of an attack before it is run.

    Args:
        share: the least share of attempts that succeed, in [0, 1].
        theorem: its statement with the numbers of this case, its condition and its source, in one sentence.
    """

    share: float
    theorem: str


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One line of a picture, or dots if its x do not rise, shape (points,); `AttackResult.axes` names x and y."""

    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class AttackResult:
    """Outcome of one attack.

    Args:
        attack: its name, as a title.
        target: what one attempt tries to learn, in the singular: "secret bit", "person's name".
        success: share of attempts that succeeded.
        baseline: share that a guesser gets right who knows the public facts and did not see the release.
        guess: how that guesser decides, in a few words.
        sees: what the guesser goes by, to be read after `guess`.
        bound: the theorem about this attack, where one is known.
        learned: what the attacker now holds, one entry an attempt; None where there is nothing to show.
        facts: further numbers for people: "queries", "error of the answers".
        curves: lines for `plot`; without them it draws success beside the baseline.
        axes: labels of x and y of the curves.
    """

    attack: str
    target: str
    success: Share
    baseline: float
    guess: str
    bound: Bound | None = None
    learned: NDArray[Any] | None = None
    facts: Mapping[str, object] | None = None
    sees: str = "without the release"
    curves: tuple[Curve, ...] = ()
    axes: tuple[str, str] = ("", "")

    def __post_init__(self) -> None:
        if not 0 <= self.baseline <= 1 or math.isnan(self.baseline):
            raise InvalidParameterError(f"baseline must be in [0, 1], got {self.baseline}")

    @property
    def succeeded(self) -> bool:
        """Whether the interval of the success lies above the baseline."""
        return self.success.lower > self.baseline

    @property
    def sentence(self) -> str:
        """The outcome in words, for somebody who decides about a release."""
        share = self.success
        got = (
            f"{self.attack} got {share.right:,} of {share.attempts:,} right ({share.value:.1%}; target: {self.target})"
        )
        others = f"{' '.join(filter(None, (self.guess, self.sees)))} gets {self.baseline:.1%}"
        if self.succeeded:
            return f"{got}, where {others}: the release gives this away."
        return f"{got}, where {others}: this attack learned nothing that a guess would not."

    def __str__(self) -> str:
        lines = [self.sentence, f"success {self.success}, {self.success.confidence:.0%} interval"]
        if self.bound is not None:
            lines.append(f"theorem: {self.bound.theorem}")
        lines += [f"{name}: {value}" for name, value in (self.facts or {}).items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        first, *others = (html.escape(line) for line in str(self).splitlines())
        return f"<p><b>{first}</b></p><p>{'<br>'.join(others)}</p>"

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON, without what was learned about single people."""
        return {
            "attack": self.attack,
            "target": self.target,
            "right": self.success.right,
            "attempts": self.success.attempts,
            "share": self.success.value,
            "interval": [self.success.lower, self.success.upper],
            "confidence": self.success.confidence,
            "baseline": self.baseline,
            "succeeded": self.succeeded,
            "sentence": self.sentence,
            "bound": None if self.bound is None else {"share": self.bound.share, "theorem": self.bound.theorem},
            "facts": {name: str(value) for name, value in (self.facts or {}).items()},
        }

    def to_json(self) -> str:
        """The same as canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw the curves, or else the success beside the baseline, on these matplotlib axes or new ones."""
        if not self.curves:
            return Comparison({self.attack: self}).plot(ax=ax)
        ax = new_axes(ax)
        for curve in self.curves:
            last = len(self.curves) > 1 and curve is self.curves[-1]  # a guess, or theory
            style = "--" if last else "-" if (np.diff(curve.x) >= 0).all() else "."
            ax.plot(curve.x, curve.y, style, label=curve.label)
        ax.set_xlabel(fill(self.axes[0], 70))
        ax.set_ylabel(self.axes[1])
        ax.set_title(fill(self.attack, 70), fontsize="medium")
        if len(self.curves) > 1:
            ax.legend()
        return ax


class Comparison(Mapping[str, AttackResult]):
    """The same question put to several releases: name of each -> what the attack got out of it, in order."""

    def __init__(self, results: Mapping[str, AttackResult]) -> None:
        if not results:
            raise InvalidParameterError("a comparison needs at least one result")
        self._results = dict(results)

    def __getitem__(self, name: str) -> AttackResult:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = ((name, str(one.success), f"{one.baseline:.1%}") for name, one in self.items())
        return [("release", "attack succeeds", "guess"), *rows]

    def __str__(self) -> str:
        return as_text(self._rows())

    def _repr_html_(self) -> str:
        return as_html(self._rows())

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw one bar a release, with its interval, and a line at the baseline of each, on these axes or new ones."""
        ax = new_axes(ax)
        shares = [one.success for one in self.values()]
        heights = np.array([share.value for share in shares])
        whiskers = np.abs([[share.lower for share in shares], [share.upper for share in shares]] - heights)
        places = np.arange(len(self))
        ax.bar(places, heights, yerr=whiskers, capsize=4, color=_FOUND, ecolor=_EDGE, label="attack")
        ax.hlines([one.baseline for one in self.values()], places - 0.45, places + 0.45, color=_GUESSED,
                  linestyle="--", linewidth=2, label="guess without the release")  # fmt: skip
        if len(self) > 5:
            ax.set_xticks(places, list(self), rotation=45, ha="right", rotation_mode="anchor")
        else:
            ax.set_xticks(places, [fill(name, 60 // len(self), break_long_words=False) for name in self])
        ax.set_ylim(0, 1.05)
        targets = {one.target for one in self.values()}
        ax.set_ylabel(f"share right: {min(targets)}" if len(targets) == 1 else "share right")
        legend_above(ax)
        return ax


def legend_above(ax: "Axes") -> None:
    """Put the legend above the axes, where it hides nothing."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)


def as_text(rows: Sequence[Sequence[str]]) -> str:
    """Rows of a table in columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def as_html(rows: Sequence[Sequence[str]]) -> str:
    """Rows of a table for a notebook."""
    cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


def new_axes(ax: "Axes | None") -> "Axes":
    """Axes to draw on: those given, or new ones of matplotlib."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError.of("plot", "plot() needs matplotlib") from error
    return plt.subplots(layout="constrained")[1]
