import math
from fractions import Fraction

import numpy as np
import pytest

from deniable import Budget, Ledger, PrivacyUnit
from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.learning import Vote, VoteAccount
from deniable.learning.pate.account import divergences, log_wrong, raised
from deniable.noise.bits import Bits, DeterministicBits
from deniable.privacy import AddRemove
from deniable.privacy.notions.conversion import renyi_epsilon
from tests.learning.pate.laws import gaussian_law, laplace_law, neighbours, renyi
from tests.mechanisms.drawn import drawn_loss

SOME = [(0, 0, 20), (2, 17, 1), (8, 12, 0), (7, 7, 6), (15, 5, 0), (0, 1, 19), (10, 10, 0)]


def gaps_of(votes: tuple[int, ...]) -> np.ndarray:
    ranked = sorted(votes, reverse=True)
    return np.array([[ranked[0] - other for other in ranked[1:]]])


def test_published_chance_of_a_wrong_answer() -> None:
    """Votes 240, 5, 5 at sigma 40 give log q = -10.330116 by the formula for real noise, half a vote further off."""
    found = log_wrong(gaps_of((240, 5, 5)) + 0.5, Vote.gnmax(sigma=40).choice)
    assert found[0] == pytest.approx(-10.330116, abs=1e-6)


def test_the_bound_is_above_the_true_chance_of_a_wrong_answer() -> None:
    """By enumeration. The twin without half a vote for ties is below the truth somewhere."""
    broken = False
    for votes in SOME:
        for sigma in (2, 3, 5):
            wrong = 1 - gaussian_law(votes, sigma)[np.argmax(votes)]
            assert math.exp(log_wrong(gaps_of(votes), Vote.gnmax(sigma=sigma).choice)[0]) >= wrong - 1e-15
            broken |= math.exp(log_wrong(gaps_of(votes) + 0.5, Vote.gnmax(sigma=sigma).choice)[0]) < wrong - 1e-12
        for gamma in (Fraction(1, 4), Fraction(1)):
            wrong = 1 - laplace_law(votes, gamma)[np.argmax(votes)]
            assert math.exp(log_wrong(gaps_of(votes), Vote.lnmax(gamma=gamma).choice)[0]) >= wrong - 1e-12
    assert broken


def test_the_divergence_is_above_the_true_one_for_every_neighbour() -> None:
    """By enumeration; below the worst one where teachers agree. The twin with a tenth of q is below the truth."""
    better = broken = False
    for votes in SOME:
        for order in (1.5, 2.0, 4.0, 8.0):
            for vote, law in (
                (Vote.gnmax(sigma=2), lambda v: gaussian_law(v, 2)),
                (Vote.gnmax(sigma=4), lambda v: gaussian_law(v, 4)),
                (Vote.lnmax(gamma="1/2"), lambda v: laplace_law(v, Fraction(1, 2))),
            ):
                logs = log_wrong(gaps_of(votes), vote.choice)
                bound = divergences(logs, vote.choice, order)[0]
                worst = divergences(np.zeros(1), vote.choice, order)[0]
                truth = max(renyi(law(votes), law(other), order) for other in neighbours(votes))
                assert truth <= bound * (1 + 1e-9) + 1e-12
                better |= bound < worst / 10
                broken |= truth > divergences(logs - math.log(10), vote.choice, order)[0] + 1e-9
    assert better
    assert broken


def test_no_row_moves_the_raised_divergence_by_more_than_stated() -> None:
    """Brute force over neighbours of votes of forty teachers; without raising, one of them moves it further."""
    vote, order, unit = Vote.gnmax(sigma=2), 4.0, 4 / 4 / 1000
    table, slope = raised(vote.choice, order, unit, 30, shape=(41, 2))
    plain = divergences(log_wrong(np.repeat(np.arange(41), 2).reshape(41, 2), vote.choice), vote.choice, order)
    assert (table * unit >= plain).all()
    further = False
    for votes in ((40, 0, 0), *((rest, 40 - rest, 0) for rest in range(20, 40))):
        for other in neighbours(votes):
            if sum(other) <= 40:
                here, there = (int(gaps_of(each)[0, 0]) for each in (votes, other))
                assert abs(int(table[here]) - int(table[there])) <= 2 * slope
                further |= abs(plain[here] - plain[there]) / unit > 2 * slope
    assert further


def account_of(votes: np.ndarray, vote: Vote) -> VoteAccount:
    found = VoteAccount(1000, AddRemove)
    found.add(vote, len(votes), votes)
    return found


def agreed(queries: int) -> np.ndarray:
    return np.tile([960, 30, 10], (queries, 1))


def test_sanitised_bounds_are_above_the_secret_ones() -> None:
    """A failure of 1/10: of 200 releases at most 40 lie below, except with probability 1e-5; far more if no width is
    added."""
    found = account_of(agreed(50), Vote.gnmax(sigma=100))
    table, _ = raised(Vote.gnmax(sigma=100).choice, 16, 16 / 1e4 / 2**16, 400, shape=(1001, 2))
    raised_sum = 50 * int(table[930]) * 16 / 1e4 / 2**16
    assert found.divergence(16) <= raised_sum < 50 * 16 / 1e4 / 5
    low, bits = 0, DeterministicBits(3)
    for _ in range(200):
        told = found.sanitise(epsilon=1, delta="1e-5", order=16, failure="1/10", bits=bits)
        low += told["epsilon"][0] < raised_sum + math.log(1 - 1 / 16) - math.log(16e-5) / 15
    assert low <= 40
    assert not told.safe
    assert "no other table" in str(told)


@pytest.mark.parametrize("vote", [Vote.gnmax(sigma=100), Vote.lnmax(gamma="1/50")], ids=str)
def test_the_noise_that_was_drawn_proves_what_was_paid(vote: Vote) -> None:
    """One teacher changes all votes, at every gap of which the raised divergence may fall: half the scale is not."""

    def run(votes: np.ndarray, bits: Bits) -> object:
        return account_of(votes, vote).sanitise(epsilon=1, delta="1e-5", order=16, spread=60, bits=bits)

    losses = [
        drawn_loss(run, np.tile([first, 1000 - first, 0], (3, 1)), there, relation=AddRemove).epsilon(0).upper
        for first in range(502, 1000, 5)
        for there in (np.tile([first - 1, 1001 - first, 0], (3, 1)),)
    ]
    assert 0.8 < max(losses) <= 1


def test_the_sanitised_bound_can_be_far_below_the_certified_epsilon() -> None:
    vote = Vote.gnmax(sigma=100)
    found = account_of(agreed(2000), vote)
    told = found.sanitise(epsilon="1/2", delta="1e-5", bits=DeterministicBits(1))["epsilon"][0]
    assert found.epsilon("1e-5") < told < vote.privacy_loss(2000).epsilon("1e-5").lower / 1.3


def test_no_noise_makes_the_bound_worse_than_that_of_the_worst_votes() -> None:
    vote = Vote.gnmax(sigma=100)
    one = account_of(agreed(1), vote)
    told = [one.sanitise(epsilon="1/100", delta="1e-5", order=16, bits=DeterministicBits(seed)) for seed in range(20)]
    worst = renyi_epsilon(16, Fraction(16, 100**2), "1e-5")
    assert max(each["epsilon"][0] for each in told) == pytest.approx(worst)


def test_checks_count_in_the_account_too() -> None:
    vote = Vote.confident_gnmax(sigma=100, check_sigma=200, threshold=600, max_answers=50)
    plain = account_of(agreed(50), Vote.gnmax(sigma=100))
    assert account_of(agreed(50), vote).divergence(8) - plain.divergence(8) == pytest.approx(8 * 50 / (2 * 200**2))


def test_nothing_is_released_unless_it_is_paid() -> None:
    ledger = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="votes")
    found = account_of(agreed(50), Vote.gnmax(sigma=100))
    told = found.sanitise(epsilon="3/4", delta="1e-5", ledger=ledger)
    assert told.cost.epsilon(0).upper == pytest.approx(0.75)
    assert told.safe
    with pytest.raises(BudgetExceededError):
        found.sanitise(epsilon="3/4", delta="1e-5", ledger=ledger)


def test_the_account_shows_nothing_and_refuses_before_there_are_answers() -> None:
    assert repr(account_of(agreed(50), Vote.gnmax(sigma=100))).startswith("VoteAccount(secret:")
    empty = VoteAccount(10, AddRemove)
    for wrong in ({}, {"failure": "1/2"}):
        with pytest.raises(InvalidParameterError, match="needs answers"):
            empty.sanitise(epsilon=1, delta="1e-5", **wrong)  # type: ignore[arg-type]
