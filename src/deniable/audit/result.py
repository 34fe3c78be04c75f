"""Outcome of an audit: a lower bound on epsilon, its event, and the claim."""

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable import layout
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import exact_rational, probability, shown
from deniable.privacy import ApproximateLoss, PrivacyLoss, PureLoss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Number = int | float | str


def read_claim(claim: PrivacyLoss | None, *, epsilon: Number | None = None, delta: Number = 0) -> PrivacyLoss | None:
    """Return the claim of a mechanism as a loss; None if there is none.

    Args:
        claim: a loss; then epsilon must not be given.
        epsilon: at least 0; infinity claims nothing.
        delta: in [0, 1).

    Raises: InvalidParameterError if both are given.
    """
    if claim is not None:
        if epsilon is not None:
            raise InvalidParameterError("give the claim as a loss or as epsilon and delta, not as both")
        return claim
    if epsilon is None or epsilon == math.inf:
        return None
    return ApproximateLoss(epsilon=epsilon, delta=delta) if probability("delta", delta) else PureLoss(epsilon=epsilon)


def read_failure(confidence: object) -> float:
    """Return 1 - confidence, for a confidence in (0, 1)."""
    level = exact_rational("confidence", confidence)
    if not 0 < level < 1:
        raise InvalidParameterError(f"confidence must be in (0, 1), got {shown(confidence)}")
    return float(1 - level)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Upper confidence bounds on the error rates of an attacker.

    Args:
        false_positive, false_negative: shape (points,), in [0, 1].
    """

    false_positive: NDArray[np.float64]
    false_negative: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """Outcome of an audit: a lower bound on epsilon, beside the claim.

    An audit never shows that a mechanism is private. It shows that a claim is false, or that this search found no
    violation.

    Args:
        claim: claimed loss; None if there is none.
        epsilon: lower bound: with probability `confidence` no mechanism with a smaller epsilon at `delta` behaves so.
            Infinite where outputs are possible on one input only, with more than delta in all.
        delta: at which epsilon is bounded.
        confidence: of the bound; 1 where it was computed and not sampled.
        event: the outputs that show it, in words.
        runs: number of runs of the mechanism, on all inputs together; 0 where it was computed.
        tried: kinds of events and pairs of inputs that were searched.
        limits: questions that this audit cannot decide, and why: too few runs, outputs that could not be read.
        measured: error rates of attacks, for `plot`.
        inconclusive: reason why no mechanism could have failed this audit; empty if some could.

    >>> from deniable.audit import audit_counts
    >>> result = audit_counts(950, 30, runs_with=1000, runs_without=1000, epsilon=2)
    >>> result.violated, result.claimed, round(result.epsilon, 2)
    (True, 2.0, 3.09)
    """

    claim: PrivacyLoss | None
    epsilon: float
    delta: float
    confidence: float
    event: str
    runs: int
    tried: tuple[str, ...]
    limits: tuple[str, ...] = ()
    measured: Measured | None = None
    inconclusive: str = ""

    @property
    def claimed(self) -> float:
        """Upper end of the claimed epsilon at `delta`; infinite without a claim."""
        return math.inf if self.claim is None else float(self.claim.epsilon(float(self.delta)).upper)

    @property
    def violated(self) -> bool:
        """Whether the claim is false, at the stated confidence."""
        return self.epsilon > self.claimed

    @property
    def sentence(self) -> str:
        """Outcome in words."""
        sure = "certainly" if self.confidence == 1 else f"at confidence {self.confidence:.10g}"
        at = f" at delta={self.delta:.6g}" if self.delta else ""
        bound = "infinite" if math.isinf(self.epsilon) else f"at least {self.epsilon:.4g}"
        if self.violated:
            if f"{self.epsilon:.4g}" == f"{self.claimed:.4g}" or self.epsilon < 1e-300:
                bound = "larger"
            return f"The claim of epsilon={self.claimed:.4g}{at} is false: epsilon is {bound}, {sure}."
        if self.inconclusive:
            what = f"epsilon={self.claimed:.4g}{at}" if self.claim is not None else "epsilon"
            return f"Nothing can be concluded about {what}: {self.inconclusive}."
        if self.claim is None:
            return f"Epsilon is {bound}{at}, {sure}."
        return f"No violation found of epsilon={self.claimed:.4g}{at}: epsilon is {bound}, {sure}."

    def __repr__(self) -> str:
        return f"<AuditResult: {self.sentence}>"

    def __str__(self) -> str:
        lines = [
            self.sentence,
            f"event: {self.event}" if self.event else "",
            f"tried: {'; '.join(self.tried)}" if self.tried else "",
        ]
        lines += [f"runs: {self.runs:,}" if self.runs else "", *(f"cannot conclude: {limit}" for limit in self.limits)]
        return "\n".join(line for line in lines if line)

    def _repr_html_(self) -> str:
        return layout.headed(str(self))

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON; an infinite epsilon as null."""
        return {
            "claim": None if self.claim is None else self.claim.to_data(),
            "claimed": self.claimed if math.isfinite(self.claimed) else None,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "infinite": math.isinf(self.epsilon),
            "delta": self.delta,
            "confidence": self.confidence,
            "violated": self.violated,
            "inconclusive": self.inconclusive or None,
            "event": self.event,
            "runs": self.runs,
            "tried": list(self.tried),
            "limits": list(self.limits),
            "sentence": self.sentence,
        }

    def to_json(self) -> str:
        """Return `to_data()` as canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw the measured error rates against the claimed trade-off curve.

        Points below the curve show a violation.

        Args:
            ax: matplotlib axes to draw on; None makes new ones.

        Raises: InvalidParameterError without a claim and without measured rates; MissingExtraError without matplotlib.
        """
        if self.claim is None and self.measured is None:
            raise InvalidParameterError("this audit has neither a claim nor measured error rates to draw")
        claim = PureLoss(epsilon=0) if self.claim is None else self.claim
        ax = claim.tradeoff().plot(ax=ax)
        if self.measured is not None:
            ax.plot(self.measured.false_positive, self.measured.false_negative, "o", color="#b04a3a", markersize=3,
                    label="attacks found")  # fmt: skip
            ax.legend()
        return ax
