"""Outcome of an attack, beside a guesser who did not see the release."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deniable import layout
from deniable.attacks.numbers import check_probability
from deniable.errors import InvalidParameterError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOUR_OF_ATTACK = "#b04a3a"
_COLOUR_OF_GUESS = "#9aa5b1"
_COLOUR_OF_WHISKERS = "#223344"


@dataclass(frozen=True, kw_only=True)
class Share:
    """Share of attempts that succeeded, with its Clopper-Pearson interval.

    Args:
        right: number of attempts that succeeded.
        attempts: number of independent attempts, at least 1.
        confidence: of the two-sided interval, in (0, 1).

    >>> from deniable.attacks.result import Share
    >>> print(Share(right=87, attempts=100))
    87.0% (78.8% to 92.9%)
    """

    right: int
    attempts: int
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 0 <= self.right <= self.attempts or self.attempts < 1:
            raise InvalidParameterError(
                f"right must be in 0..attempts, and attempts at least 1, got {self.right} of {self.attempts}"
            )
        check_probability("confidence", self.confidence)

    @property
    def value(self) -> float:
        """Share of attempts that succeeded."""
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
class TheoremBound:
    """Lower bound on the success of an attack, by a theorem.

    Args:
        share: the least share of attempts that succeed, in [0, 1].
        theorem: its statement with the numbers of this case, its condition and its source, in one sentence.

    >>> from deniable.attacks.reconstruction import bound_all_queries
    >>> bound_all_queries(people=500, error=5).share
    0.96
    """

    share: float
    theorem: str


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Line of a picture, or dots if its x do not rise.

    Args:
        label: in the legend.
        x, y: shape (points,); `AttackResult.axes` names them.
    """

    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class AttackResult:
    """Outcome of an attack.

    Args:
        attack: its name, as a title.
        target: of one attempt, in the singular: "secret bit", "person's name".
        success: share of attempts that succeeded.
        baseline: share that a guesser gets right who knows the public facts and did not see the release.
        guess: method of that guesser, in a few words.
        bound: of the theorem about this attack, where one is known.
        learned: shape (attempts,): the values that the attacker now holds; None where there are none to show.
        facts: further numbers for people: "queries", "error of the answers".
        sees: the information of the guesser, to be read after `guess`.
        curves: lines for `plot`; without them it draws success beside the baseline.
        axes: labels of x and y of the curves.

    >>> from deniable import attacks
    >>> result = attacks.isolate_people(lambda groups: groups @ [0, 1, 1, 0], [0, 1, 1, 0])
    >>> result.succeeded, result.success.value, result.baseline
    (False, 1.0, 0.5)
    """

    attack: str
    target: str
    success: Share
    baseline: float
    guess: str
    bound: TheoremBound | None = None
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
        """Outcome in words, for somebody who decides about a release."""
        share = self.success
        got = (
            f"{self.attack} got {share.right:,} of {share.attempts:,} right ({share.value:.1%}; target: {self.target})"
        )
        others = f"{' '.join(filter(None, (self.guess, self.sees)))} gets {self.baseline:.1%}"
        if self.succeeded:
            return f"{got}, where {others}: the release gives this away."
        return f"{got}, where {others}: this attack learned nothing that a guess would not."

    def __repr__(self) -> str:
        return f"<AttackResult: {self.sentence}>"

    def __str__(self) -> str:
        lines = [self.sentence, f"success {self.success}, {self.success.confidence:.0%} interval"]
        if self.bound is not None:
            lines.append(f"theorem: {self.bound.theorem}")
        lines += [f"{name}: {value}" for name, value in (self.facts or {}).items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return layout.headed(str(self))

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON, without the values learned about single people."""
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
        """Return `to_data()` as canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw the curves, or else the success beside the baseline.

        Args:
            ax: matplotlib axes to draw on; None makes new ones.

        Raises: MissingExtraError if matplotlib is not installed.
        """
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
    """Outcomes of one attack on several releases, by name and in order.

    Args:
        results: name of a release -> outcome of the attack; at least one.

    >>> from deniable import attacks
    >>> from deniable.attacks.reconstruction import answer_exactly, answer_unless_small
    >>> secret = [1, 0, 0, 1, 0, 1, 1, 0]
    >>> releases = {"exact": answer_exactly(secret), "withheld": answer_unless_small(secret, below=5)}
    >>> print(attacks.Comparison({name: attacks.isolate_people(one, secret) for name, one in releases.items()}))
    release   attack succeeds           guess
    exact     100.0% (63.1% to 100.0%)  50.0%
    withheld  50.0% (15.7% to 84.3%)    50.0%
    """

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
        """Return the table of outcomes, its heads first."""
        rows = ((name, str(one.success), f"{one.baseline:.1%}") for name, one in self.items())
        return [("release", "attack succeeds", "guess"), *rows]

    def __repr__(self) -> str:
        shares = ", ".join(f"{name} {one.success.value:.1%}" for name, one in self.items())
        return f"<Comparison: {shares}>"

    def __str__(self) -> str:
        return "\n".join(layout.aligned(self._rows()))

    def _repr_html_(self) -> str:
        return layout.table(self._rows())

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw a bar with its interval for each release, and a line at its baseline.

        Args:
            ax: matplotlib axes to draw on; None makes new ones.

        Raises: MissingExtraError if matplotlib is not installed.
        """
        ax = new_axes(ax)
        shares = [one.success for one in self.values()]
        heights = np.array([share.value for share in shares])
        whiskers = np.abs([[share.lower for share in shares], [share.upper for share in shares]] - heights)
        positions = np.arange(len(self))
        ax.bar(
            positions,
            heights,
            yerr=whiskers,
            capsize=4,
            color=_COLOUR_OF_ATTACK,
            ecolor=_COLOUR_OF_WHISKERS,
            label="attack",
        )
        ax.hlines([one.baseline for one in self.values()], positions - 0.45, positions + 0.45, color=_COLOUR_OF_GUESS,
                  linestyle="--", linewidth=2, label="guess without the release")  # fmt: skip
        if len(self) > 5:
            ax.set_xticks(positions, list(self), rotation=45, ha="right", rotation_mode="anchor")
        else:
            ax.set_xticks(positions, [fill(name, 60 // len(self), break_long_words=False) for name in self])
        ax.set_ylim(0, 1.05)
        targets = {one.target for one in self.values()}
        ax.set_ylabel(f"share right: {min(targets)}" if len(targets) == 1 else "share right")
        legend_above(ax)
        return ax


def legend_above(ax: "Axes") -> None:
    """Put the legend above the axes, where it hides nothing."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)


def new_axes(ax: "Axes | None") -> "Axes":
    """Return the axes, or new ones of matplotlib."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError.of("plot", "plot() needs matplotlib") from error
    return plt.subplots(layout="constrained")[1]
