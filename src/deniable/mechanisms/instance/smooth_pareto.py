"""Smooth sensitivity with pure differential privacy: noise near Laplace, with tails no heavier than they must be."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.instance.smooth import SmoothNoise, shift_below
from deniable.noise import rounded
from deniable.privacy import PureLoss, Replace, of_count
from deniable.privacy.exact import positive_rational
from deniable.privacy.profile import ball


@dataclass(frozen=True, kw_only=True)
class SmoothPareto(SmoothNoise):
    """Add noise of scale S / shift with density proportional to (1 + |z| / g)^-g, g = 1 + epsilon / beta.

    S is a beta-smooth bound of the sensitivity. The tails fall as |z|^-g, as slowly as beta asks for; as beta goes
    to 0 this is Laplace noise of scale S / epsilon. Take it with a small beta where the bound hardly depends on beta.

    Guarantee: epsilon-DP with shift the lesser of g (e^(epsilon / g) - 1) and e^beta g (e^((epsilon - beta) / g) - 1);
        exact.
    Source: docs/theory/smooth_sensitivity.md; compare the PolyPlace noise of Hladík, Tětek (2025), arXiv:2407.05067.
    """

    kind: ClassVar[str] = "smooth_pareto"
    guarantee: ClassVar[str] = (
        "epsilon-DP, g = 1 + epsilon / beta, shift = min over b = 0, beta of e^b g (e^((epsilon - b) / g) - 1)"
    )
    source: ClassVar[str] = "compare Hladík, Tětek (2025)"

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_rational("epsilon", self.epsilon))
        super().__post_init__()

    @classmethod
    def calibrated(cls, *, epsilon: object, lower: int, upper: int, beta: object = None) -> "SmoothPareto":
        """The noise for epsilon; beta is epsilon / 4 unless it is given, for tails that fall as |z|^-5."""
        target = positive_rational("epsilon", epsilon)
        smooth = target / 4 if beta is None else positive_rational("beta", beta)
        return cls(epsilon=target, beta=smooth, lower=lower, upper=upper)

    @property
    def tail(self) -> Fraction:
        """P(|noise| > z) falls as z^-tail: moments below it exist."""
        return self.epsilon / self.beta

    @cached_property
    def shift(self) -> Fraction:
        return min(self._shift_at(Fraction(0)), self._shift_at(self.beta))

    def _shift_at(self, b: Fraction) -> Fraction:
        """The largest one for a neighbour whose noise is larger by e^b."""
        g = self.tail + 1
        return shift_below(lambda: ball(b).exp() * ball(g) * ball((self.epsilon - b) / g).expm1())

    def _law(self) -> rounded.Pareto:
        return rounded.Pareto(self.tail)

    def _loss(self) -> PureLoss:
        return PureLoss(self.epsilon)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """A statistic that moves by its sensitivity, 6. Rounding hides the point at which the loss is attained."""
        return WorstCase(
            mechanism=cls.calibrated(epsilon=3, lower=-20, upper=26),
            sensitivity=of_count(rows=1, groups=1, cells=1, relation=Replace),
            exact=(6, 6),
            neighbour=(0, 6),
            attains=False,
        )
