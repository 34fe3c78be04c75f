"""Sparse vector technique: queries compared with a noisy threshold."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import positive_integer, positive_rational
from deniable.privacy.losses.bounded import bounded_delta, bounded_law
from deniable.privacy.losses.sparse_streams import EventStreams, streams
from deniable.privacy.notions.gaussian_dp import mu_squared_of_pure
from deniable.privacy.pld.law import Pairs
from deniable.privacy.relation import AddRemove, Relation
from deniable.privacy.statement import Statement


@dataclass(frozen=True, init=False, repr=False)
class SparseVectorStatement(Statement):
    """Loss of AboveThreshold, which stops after `answers` answers "above".

    One Laplace draw is added to the threshold and kept; each query gets a fresh Laplace draw. Queries may depend on
    earlier answers, and there may be any number of them. Noisy values of the queries found above are not included: add
    `LaplaceLoss(m) * answers` for them, with fresh noise.

    Args:
        threshold_multiplier: scale of the threshold's noise over the sensitivity of a query.
        query_multiplier: scale of each query's noise over the same.
        answers: how often "above" may be said before it stops.
        monotone: under add/remove, adding a unit never lowers any query (counts, for example).

    Guarantee: with t = 1/threshold_multiplier and a = answers/query_multiplier, every loss is at most t + 2 a. For
        monotone queries it is at most a with the unit against without it, and t + a the other way round. The upper end
        of the curve is that of the worst pair with such losses; the lower end, what the best of some hundred events of
        some streams of questions reveal, is far below: the proof looks at the rarest transcript. By the same pair it
        may run side by side with other mechanisms (concurrent composition).
    Source: Lyu, Su, Li (2017), arXiv:1603.01699; Dwork, Roth (2014), section 3.6; Vadhan, Zhang (2023),
        arXiv:2207.08335; proof in docs/theory/privacy/losses.md.
    """

    kind: ClassVar[str] = "sparse_vector"
    threshold_multiplier: Annotated[Fraction, positive_rational]
    query_multiplier: Annotated[Fraction, positive_rational]
    answers: Annotated[int, positive_integer]
    monotone: bool

    def __init__(
        self, *, threshold_multiplier: object, query_multiplier: object, answers: object, monotone: bool = False
    ) -> None:
        if not isinstance(monotone, bool):
            raise InvalidParameterError(f"monotone must be True or False, got {monotone!r}")
        read_fields(
            self,
            threshold_multiplier=threshold_multiplier,
            query_multiplier=query_multiplier,
            answers=answers,
            monotone=monotone,
        )

    @classmethod
    def for_budget(
        cls, *, threshold_epsilon: object, query_epsilon: object, answers: object, monotone: bool = False
    ) -> "SparseVectorStatement":
        """Return the loss of noise that costs threshold_epsilon + query_epsilon in total.

        Scales over the sensitivity: 1 / threshold_epsilon, and 2 answers / query_epsilon (half of it when monotone).
        """
        share = positive_rational("query_epsilon", query_epsilon)
        count = positive_integer("answers", answers)
        return cls(
            threshold_multiplier=1 / positive_rational("threshold_epsilon", threshold_epsilon),
            query_multiplier=(1 if monotone is True else 2) * count / share,
            answers=count,
            monotone=monotone,
        )

    @property
    def _greatest_losses(self) -> tuple[Fraction, Fraction]:
        """Greatest loss with the unit against without it, and in reverse."""
        threshold = 1 / self.threshold_multiplier
        queries = self.answers / self.query_multiplier
        return (queries, threshold + queries) if self.monotone else (threshold + 2 * queries,) * 2

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta of the worst pair, and of the best event below."""
        there, back = self._greatest_losses
        upper = max(bounded_delta(there, back, epsilon).upper, bounded_delta(back, there, epsilon).upper)
        lower = max(streams.delta(epsilon) for streams in self._streams)
        return Interval(min(lower, upper), upper)

    def laws(self) -> Pairs:
        """Return the worst pair, and the law of one event below."""
        there, back = (float(loss) for loss in self._greatest_losses)
        attained = [streams.law() for streams in self._streams]
        if there == back:
            return Pairs.symmetric(bounded_law(there, back), attained[0])
        return Pairs((bounded_law(there, back), bounded_law(back, there)), (attained[0], attained[-1]))

    @property
    def _streams(self) -> list[EventStreams]:
        """Streams of queries that reveal much, for both orders.

        One list for both where they are alike.
        """
        ways = [frozenset({-1}), frozenset({1})] if self.monotone else [frozenset({-1, 1})]
        return [streams((self.threshold_multiplier, self.query_multiplier), self.answers, shifts) for shifts in ways]

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset({AddRemove}) if self.monotone else frozenset(Relation)

    @property
    def failing_epsilon(self) -> Fraction:
        """Greatest loss in either direction."""
        return max(self._greatest_losses)

    @property
    def failing_rho(self) -> Fraction:
        """Value r^2/8 of a loss that lies in an interval of length r."""
        return sum(self._greatest_losses, Fraction(0)) ** 2 / 8

    @property
    def mu_squared(self) -> Fraction:
        """Value of mu^2 of r/2-DP, for a loss that lies in an interval of length r."""
        return mu_squared_of_pure(sum(self._greatest_losses, Fraction(0)) / 2)
