"""The sparse vector technique: published constants, exact output laws by quadrature, broken variants are caught."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, LaplaceLoss, PrivacyLoss, PureLoss
from deniable.privacy.constructors import SparseVectorLoss
from deniable.privacy.losses.bounded import bounded_law
from deniable.privacy.notions.gaussian_dp import gaussian_delta

Array = np.ndarray
GRID = np.linspace(-50.0, 50.0, 20_001)


def survival(x: Array, scale: float) -> Array:
    return np.where(x > 0, np.exp(-np.maximum(x, 0) / scale) / 2, 1 - np.exp(np.minimum(x, 0) / scale) / 2)


def probability(queries: list[float], answers: list[bool], threshold: float, query: float) -> float:
    """P(exactly these answers), threshold 0, by integration over the threshold's noise."""
    density = np.exp(-np.abs(GRID) / threshold) / (2 * threshold)
    for (value, above), count in Counter(zip(queries, answers, strict=True)).items():
        share = survival(GRID - value, query)
        density = density * (share if above else 1 - share) ** count
    return float(density.sum() * (GRID[1] - GRID[0]))


def worst(threshold: float, query: float, answers: int, *, monotone: bool = False, swapped: bool = False) -> float:
    """The greatest log ratio over structured streams: many "below", then `answers` times "above", at several levels."""
    found = 0.0
    for count in (0, 40, 4000):
        for low in (-4.0, 0.0, 4.0):
            for high in (-8.0, 0.0, 8.0):
                before = [low] * count + [high] * answers
                step = 0.0 if monotone and swapped else 1.0
                rise = 1.0 if monotone and swapped else (0.0 if monotone else -1.0)
                after = [low + step] * count + [high + rise] * answers
                pattern = [False] * count + [True] * answers
                ours, theirs = (probability(stream, pattern, threshold, query) for stream in (before, after))
                if min(ours, theirs) > 1e-12:
                    found = max(found, math.log(ours / theirs) if not swapped else math.log(theirs / ours))
    return found


@pytest.mark.parametrize("answers", [1, 3])
def test_no_stream_exceeds_the_stated_epsilon_and_some_come_close(answers: int) -> None:
    """errata.md E64: the version of Lyu, Su, Li stays at its epsilon."""
    loss = SparseVectorLoss.for_budget(threshold_epsilon="1/2", query_epsilon="1/2", answers=answers)
    assert loss.pure_epsilon == 1
    found = worst(float(loss.statement.threshold_multiplier), float(loss.statement.query_multiplier), answers)
    assert found <= 1 + 1e-4
    assert found > 0.9


def test_query_noise_that_forgets_the_answers_fails() -> None:
    """The twin, errata.md E64: noise 4/epsilon whatever the number of answers reaches 2 epsilon at three answers."""
    found = worst(2.0, 4.0, 3)
    assert found > 1.9
    stated = SparseVectorLoss(threshold_multiplier=2, query_multiplier=4, answers=3).pure_epsilon
    assert found <= stated == 2


def test_monotone_queries_cost_half_and_only_they() -> None:
    """errata.md E64: Lap(2c/epsilon) on non-monotone queries is 1.5, on monotone ones 1."""
    general = SparseVectorLoss(threshold_multiplier=2, query_multiplier=2, answers=1)
    monotone = SparseVectorLoss(threshold_multiplier=2, query_multiplier=2, answers=1, monotone=True)
    assert (general.pure_epsilon, monotone.pure_epsilon) == (Fraction(3, 2), 1)
    assert worst(2.0, 2.0, 1) > 1.4
    assert worst(2.0, 2.0, 1, monotone=True) <= 1 + 1e-4


def test_the_two_directions_of_monotone_queries() -> None:
    """More data against less: only "above" answers cost. Less against more: the threshold costs as well."""
    loss = SparseVectorLoss(threshold_multiplier=1, query_multiplier=2, answers=1, monotone=True)
    there, back = loss.statement._greatest_losses
    assert (there, back) == (Fraction(1, 2), Fraction(3, 2))
    more, less = [1.0, 1.0], [0.0, 0.0]
    for pattern in ([True], [False], [False, True]):
        with_unit, without = (probability(stream[: len(pattern)], pattern, 1.0, 2.0) for stream in (more, less))
        assert -float(back) - 1e-4 <= math.log(with_unit / without) <= float(there) + 1e-4
    laws = loss.statement.laws()
    assert laws is not None
    assert (laws.upper[0].highest, laws.upper[1].highest) == (0.5, 1.5)


def test_the_curve_holds_exact_output_laws() -> None:
    """All answer sequences of three queries, one of which may be above: the hockey stick of the whole transcript."""
    loss = SparseVectorLoss.for_budget(threshold_epsilon=1, query_epsilon=1, answers=1)
    threshold, query = float(loss.statement.threshold_multiplier), float(loss.statement.query_multiplier)
    transcripts = [[True], [False, True], [False, False, True], [False, False, False]]
    for before, after in (([0, 0, 1], [1, 1, 0]), ([0, 2, 0], [1, 1, 1]), ([0, 0, 0], [1, 1, 1])):
        p, q = (
            np.array([probability(stream[: len(t)], t, threshold, query) for t in transcripts])
            for stream in (before, after)
        )
        assert p.sum() == pytest.approx(1, abs=1e-4)
        for epsilon in (0.0, 0.5, 1.5):
            for a, b in ((p, q), (q, p)):
                assert np.maximum(a - math.exp(epsilon) * b, 0).sum() <= loss.delta(epsilon).upper


@pytest.mark.parametrize(("threshold", "query"), [(1, 3), (4, "3/2"), (2, 2), ("1/3", 5)])
@pytest.mark.parametrize("answers", [1, 2])
def test_the_lower_end_is_at_least_what_one_answer_reveals(threshold: object, query: object, answers: int) -> None:
    loss = SparseVectorLoss(threshold_multiplier=threshold, query_multiplier=query, answers=answers)
    scales = float(loss.statement.threshold_multiplier), float(loss.statement.query_multiplier)
    for epsilon in (0.0, 0.1):
        ours, theirs = (probability([place], [True], *scales) for place in (0.5, -0.5))
        found = loss.delta(epsilon)
        assert ours - math.exp(epsilon) * theirs <= found.lower * (1 + 5e-4) <= found.upper
    assert loss.delta(loss.pure_epsilon / 10).lower > 0
    assert 0 < (loss * 3).delta(0).lower < (loss * 3).delta(0).upper


def test_monotone_questions_reveal_less_in_both_orders() -> None:
    """The lower end of each order is below the upper end of its own, and general questions reveal more."""
    kinds = [SparseVectorLoss(threshold_multiplier=2, query_multiplier=2, answers=2, monotone=m) for m in (False, True)]
    general, monotone = (kind.statement.laws() for kind in kinds)
    assert general.lower[0] is general.lower[1]
    for above, below in zip(monotone.upper, monotone.lower, strict=True):
        assert below.highest <= above.highest
        assert below.lowest >= above.lowest
    assert kinds[1].delta("0.2").lower < kinds[0].delta("0.2").lower < kinds[1].delta("0.2").upper


def test_a_symmetric_bound_is_the_pure_loss() -> None:
    loss = SparseVectorLoss.for_budget(threshold_epsilon="0.3", query_epsilon="0.5", answers=4)
    pure = PureLoss("0.8")
    assert loss.delta("0.2").upper == pure.delta("0.2").upper
    assert (loss * 3).epsilon("1e-6").upper == pytest.approx((pure * 3).epsilon("1e-6").upper, rel=2e-3)
    assert loss.rho == pure.rho


def test_rho_and_mu_of_a_lopsided_loss() -> None:
    loss = SparseVectorLoss.for_budget(threshold_epsilon=1, query_epsilon=1, answers=2, monotone=True)
    assert (loss.pure_epsilon, loss.rho) == (2, Fraction(9, 8))
    law = bounded_law(*(float(greatest) for greatest in loss.statement._greatest_losses)).atoms()
    assert law is not None
    for order in (1.2, 2.0, 8.0):
        for a, b in ((law.p, law.q), (law.q, law.p)):
            assert math.log(float((a**order * b ** (1 - order)).sum())) / (order - 1) <= order * float(loss.rho)
    for epsilon in (Fraction(0), Fraction(1)):
        assert loss.delta(epsilon).upper <= gaussian_delta(loss.mu_squared, epsilon).upper


def test_numeric_answers_are_added_with_noise_of_their_own() -> None:
    both = SparseVectorLoss.for_budget(threshold_epsilon="0.5", query_epsilon="0.5", answers=2) + LaplaceLoss(4) * 2
    assert both.pure_epsilon == Fraction(3, 2)
    assert both.epsilon(0).upper == pytest.approx(1.5)


def test_json_repr_relations_refusals() -> None:
    loss = SparseVectorLoss(threshold_multiplier="2/3", query_multiplier=3, answers=5, monotone=True)
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert eval(repr(loss)) == loss
    assert loss.relations == frozenset({AddRemove})
    arguments: dict[str, object] = {"threshold_multiplier": 1, "query_multiplier": 1, "answers": 1}
    bad: list[tuple[str, object]] = [
        ("threshold_multiplier", 0),
        ("query_multiplier", -1),
        ("answers", 0),
        ("monotone", 1),
    ]
    for name, value in bad:
        with pytest.raises(InvalidParameterError, match=name):
            SparseVectorLoss(**(arguments | {name: value}))  # type: ignore[arg-type]
    make: Callable[..., PrivacyLoss] = SparseVectorLoss.for_budget
    with pytest.raises(InvalidParameterError, match="query_epsilon"):
        make(threshold_epsilon=1, query_epsilon=0, answers=1)
