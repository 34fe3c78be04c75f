"""One run with canaries: bounds near the truth, never above it, and no alarm without a reason."""

import numpy as np
import pytest

from deniable.audit import audit_one_run
from deniable.audit.canaries.counting import by_count
from deniable.audit.canaries.one_run import GuessingMethod
from deniable.errors import InvalidParameterError
from deniable.privacy import GaussianDPLoss, PureLoss


def told(mu: float, canaries: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Scores of canaries, each told by its own Gaussian noise, and the coins."""
    dice = np.random.default_rng(seed)
    coins = dice.random(canaries) < 0.5
    return dice.normal(size=canaries) + mu * coins, coins


@pytest.mark.parametrize(
    ("method", "shift", "published", "truth"),
    [("bets", 1, 1.13, 4.887), ("count", 1, 1.13, 4.887), ("gaussian", 2, 4.72, 11.0),
     ("claim", 1, 1.13, 4.887)],
)  # fmt: skip
def test_bounds_exceed_the_published_ones_and_not_the_truth(
    method: GuessingMethod, shift: int, published: float, truth: float
) -> None:
    """The example of jax_privacy's tests: 20,000 canaries told by Gaussian noise, level 5%, delta 1e-6."""
    scores, coins = told(shift, 20_000)
    found = audit_one_run(scores, coins, claim=GaussianDPLoss(shift), delta=1e-6, method=method)
    assert published < found.epsilon <= truth
    assert not found.violated
    assert "surest guesses right" in found.event


@pytest.mark.parametrize("method", ["bets", "count"])
def test_a_run_that_says_nothing_raises_no_alarm(method: GuessingMethod) -> None:
    """100 runs at nominal 5%: more than 14 alarms have chance 2e-4."""
    alarms = sum(
        audit_one_run(*told(0, 100, seed=seed), epsilon=0, method=method).violated for seed in range(100)
    )  # fmt: skip
    assert alarms <= 14


def test_both_ends_show_more_than_one() -> None:
    scores, coins = told(2, 4000)
    both, top = (audit_one_run(scores, coins, both_ends=ends).epsilon for ends in (True, False))
    assert both > top > 2


def test_a_claim_that_is_too_small_is_false() -> None:
    scores, coins = told(2, 4000)
    for method in ("bets", "gaussian", "claim"):
        assert audit_one_run(scores, coins, claim=GaussianDPLoss("0.5"), delta=1e-5, method=method).violated
    assert audit_one_run(coins, coins, claim=PureLoss(epsilon=5), guesses=2000, method="count").violated


def test_what_cannot_be_concluded_is_said() -> None:
    coins = [True, False] * 10
    few = audit_one_run(coins, coins, epsilon=8)
    assert not few.violated
    assert "above 1." in few.sentence
    assert "exactly half" in few.limits[0]
    assert "allow 0.1 of failures" in audit_one_run(coins, coins, epsilon=1, delta="0.01").sentence
    assert "another shape" in audit_one_run(coins, coins, epsilon=8, method="claim").limits[-1]
    assert "not Gaussian" in audit_one_run(coins, coins, delta=1e-5, method="gaussian").limits[-1]


def test_bad_requests_are_refused() -> None:
    coins = [True, False] * 10
    for said, given in [
        ("confidence", {"confidence": 1}), ("method", {"method": "magic"}), ("needs a claim", {"method": "claim"}),
        ("delta must be > 0", {"method": "gaussian"}), ("guesses", {"guesses": 21}), ("guesses", {"guesses": 2.5}),
        ("delta", {"delta": 1}),
    ]:  # fmt: skip
        with pytest.raises(InvalidParameterError, match=said):
            audit_one_run(coins, coins, **given)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="one number for each canary"):
        audit_one_run(["high"] * 20, coins)


def test_the_best_of_several_numbers_of_guesses_is_paid_for_with_the_level() -> None:
    """64, 32, 16 and 8 guesses, all of them right: one in four of the level for each, or all for a number that was
    named."""
    coins = np.arange(64) % 2 == 0
    for guesses, level in ((None, 0.05 / 4), (64, 0.05)):
        found = audit_one_run(coins.astype(float), coins, method="count", guesses=guesses, confidence=0.95).epsilon
        assert found == pytest.approx(by_count(64, 64, 64, level=level, delta=0.0))
