"""Data-dependent privacy losses of votes: as secret as the votes."""

import math
from fractions import Fraction

import numpy as np
from scipy.special import log_ndtr, logsumexp

from deniable.errors import InvalidParameterError
from deniable.learning.pate.vote import Vote, Votes
from deniable.ledger.payment import Payer, Payment
from deniable.mechanisms import Gaussian, Laplace, NoisyMax
from deniable.mechanisms.tested.distance import of_steps
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, probability, whole_number
from deniable.privacy import Relation
from deniable.privacy.notions.conversion import ORDERS, checked_order, renyi_epsilon
from deniable.release import Release
from deniable.release.columns import Estimate

_LATTICE_STEPS = 2**16  # of the lattice, to the largest divergence of one query
Choice = NoisyMax | Gaussian


class VoteAccount:
    """Data-dependent Rényi divergences of votes: SECRET.

    No ledger counts them. `divergence` and `epsilon` are doubles for those who may see the rows; `sanitise` releases a
    bound that may be published.

    Args:
        teachers: their number.
        relation: AddRemove or Replace.

    Source: Papernot et al. (2018), arXiv:1802.08908, Theorem 6; (2017), arXiv:1610.05755; docs/theory/learning/pate.md.

    >>> from deniable.privacy import AddRemove
    >>> account = VoteAccount(100, AddRemove)
    >>> account.add(Vote.gnmax(sigma=10), 3, np.array([[90, 10], [80, 20], [85, 15]]))
    >>> account.divergence(2) <= 3 * 2 / 10**2  # at most that of the worst votes
    True
    """

    def __init__(self, teachers: int, relation: Relation) -> None:
        self._teachers, self._relation = teachers, relation
        self._asked: list[tuple[Vote, int, Votes]] = []

    def add(self, vote: Vote, queries: int, votes: Votes) -> None:
        """Count the votes of the answered ones among these queries."""
        ranked = -np.sort(-votes, axis=1)
        self._asked.append((vote, queries, ranked[:, :1] - ranked[:, 1:]))

    def divergence(self, order: Real) -> float:
        """Bound the Rényi divergence of all answers: SECRET.

        From those on any neighbouring table.
        """
        a = float(checked_order(order))
        return self._of_checks(a) + sum(
            float(divergences(log_wrong(gaps, vote.choice), vote.choice, a).sum()) for vote, _, gaps in self._asked
        )

    def epsilon(self, delta: Real) -> float:
        """Return the data-dependent epsilon at delta: SECRET."""
        return min(renyi_epsilon(order, Fraction(self.divergence(order)), delta) for order in ORDERS)

    def sanitise(
        self, *, epsilon: Real, delta: Real, order: Real | None = None, spread: int | None = None,
        failure: Real = Fraction(1, 1000), ledger: Payer | None = None, bits: Bits = SECURE,
    ) -> Release:  # fmt: skip
        """Release an upper bound on the data-dependent epsilon.

        It has Laplace noise on a sum that no row moves far.

        Of each query the gap between its two largest numbers of votes counts, which a row moves by 2 at most. The
        divergence that a gap implies is raised until a step of the gap moves it by at most the largest over `spread`.

        Args:
            epsilon, delta: what the release may cost; at which the released epsilon is stated.
            order, spread: public; by default the best for the worst votes, and two fifths of the teachers.
            failure: the chance that noise makes the bound too small, below 1/2.
            ledger, bits: as for labels.
        """
        missed, share = probability("failure", failure), probability("delta", delta)
        width = max(2 * self._teachers // 5, 1) if spread is None else whole_number("spread", spread, lower=1)
        if not sum(len(gaps) for *_, gaps in self._asked) or not 0 < missed < Fraction(1, 2):
            raise InvalidParameterError("sanitise() needs answers, and a failure between 0 and 1/2. Call label first.")
        best = checked_order(order) if order is not None else min(ORDERS, key=lambda o: self._publicly(o, share))
        a = float(best)
        unit = max(_worst(vote.choice, a) for vote, *_ in self._asked) / _LATTICE_STEPS
        tables, moved = self._raised_tables(a, unit, width)
        noise = Laplace.calibrated(of_steps(moved, self._relation), epsilon=epsilon)
        cost = noise.privacy_loss(of_steps(moved, self._relation))
        text = f"epsilon of votes by order {a:g} and {noise}"
        left = Payment(ledger, text=text, bits=bits).charge(cost)
        total = sum(int(table[gaps[:, 0]].sum()) for table, (*_, gaps) in zip(tables, self._asked, strict=True))
        noisy = int(noise.release([total], bits=bits).value[0]) + noise.half_width(1 - 2 * missed)
        bound = renyi_epsilon(best, Fraction(unit) * max(noisy, 0) + Fraction(self._of_checks(a)), share)
        note = f"An upper bound at delta={float(share):g}, except with probability {float(missed):g}, for these rows "
        parts = (Estimate(name="epsilon", estimates=np.array([min(bound, self._publicly(best, share))])),)
        notes = (note + "and no other table. The ledger keeps the certified loss.",)
        return Release(parts=parts, cost=cost, budget_left=left, text=text, safe=bits.safe, notes=notes)

    def _raised_tables(self, order: float, unit: float, spread: int) -> tuple[list[Votes], int]:
        """Return raised divergences by gap, and the most that a row moves their sum.

        They are tables of units, one for each question. Nothing private is read: the number of answers is public.
        """
        tables = []
        moved = 0
        for vote, _, gaps in self._asked:
            table, slope = raised(vote.choice, order, unit, spread, (self._teachers + 1, gaps.shape[1]))
            tables.append(table)
            moved += 2 * slope * len(gaps)
        return tables, moved

    def _publicly(self, order: Fraction, delta: Fraction) -> float:
        """Epsilon of the worst votes."""
        worst = sum(len(gaps) * _worst(vote.choice, float(order)) for vote, _, gaps in self._asked)
        return renyi_epsilon(order, Fraction(worst + self._of_checks(float(order))), delta)

    def _of_checks(self, order: float) -> float:
        return sum(
            order * asked / (2 * float(vote.check.sigma_squared)) for vote, asked, _ in self._asked if vote.check
        )

    def __repr__(self) -> str:
        return "VoteAccount(secret: sanitise it before anything of it is published)"


def log_wrong(gaps: Floats | Votes, choice: Choice) -> Floats:
    """Bound the logarithm of the probability that another class is chosen.

    By the gaps of the class with most votes to all others.

    Guarantee: sums of (2 + rate gap) / (4 e^(rate gap)), of Gaussian noise Phi(-(gap - 1/2) / (sqrt(2) sigma)), where
        all gaps are at least sqrt(2) sigma + 1/2 and sigma at least 2.
    """
    if isinstance(choice, NoisyMax):
        behind = float(choice.rate) * gaps
        return np.asarray(np.minimum(logsumexp(np.log(2 + behind) - math.log(4) - behind, axis=1), 0.0))
    behind = (gaps - 0.5) / math.sqrt(2 * choice.sigma_squared)
    logs = np.minimum(logsumexp(log_ndtr(-behind), axis=1), 0.0)
    return np.where((behind >= 1).all(axis=1) & (choice.sigma_squared >= 4), logs, 0.0)


def divergences(logs: Floats, choice: Choice, order: float) -> Floats:
    """Return Rényi divergences of choices that nearly always are one class.

    Other classes have the probability e^logs; at most the worst divergence.
    """
    worst = _worst(choice, order)
    less = order - 1
    with np.errstate(all="ignore"):
        right = np.log1p(-np.exp(logs))
        if isinstance(choice, NoisyMax):
            limit = 2 * float(choice.rate)
            proved = logs < -np.logaddexp(limit, 0.0)
            usual = right - np.log1p(-np.exp(limit + logs))
            seldom = np.full(len(logs), limit)
        else:
            variance = float(choice.sigma_squared)
            second = np.sqrt(-logs * variance)
            first = second + 1
            once, twice = first / variance, second / variance
            room = (second - 1) * twice - second * (np.log(first / (first - 1)) + np.log(second / (second - 1)))
            proved = (order < first) & (second > 1) & (logs + twice < 0) & (logs <= room)
            usual = right - np.log1p(-np.exp((logs + twice) * (second - 1) / second))
            seldom = once - logs / (first - 1)
        mixed = np.logaddexp(right + less * usual, logs + less * seldom) / less
    return np.where(proved & (mixed < worst), mixed, worst)


def raised(choice: Choice, order: float, unit: float, width: int, shape: tuple[int, int]) -> tuple[Votes, int]:
    """Return raised divergences for each gap, and their largest fall.

    They are units above the divergence, for each gap from 0 on; the fall is from one to the next.

    `shape` is that of a table of such gaps, one a row, to all classes but the first.
    """
    gaps = np.arange(shape[0])
    steps = np.ceil(divergences(log_wrong(np.broadcast_to(gaps[:, np.newaxis], shape), choice), choice, order) / unit)
    falling = np.maximum.accumulate(steps.astype(np.int64)[::-1] + 1)[::-1]
    slope = math.ceil(falling[0] / width)
    return np.asarray(np.maximum.accumulate(falling + slope * gaps) - slope * gaps), slope


def _worst(choice: Choice, order: float) -> float:
    """The Rényi divergence of one answer, whatever the votes are."""
    if isinstance(choice, NoisyMax):
        return min(2 * float(choice.rate), 2 * order * float(choice.rate) ** 2)
    return order / float(choice.sigma_squared)
