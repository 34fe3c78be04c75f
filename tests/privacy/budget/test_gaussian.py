"""Sums of squared mu lose nothing for Gaussian noise."""

from deniable.privacy import Budget, GaussianLoss


def test_gaussian_noise_loses_nothing_to_adaptivity() -> None:
    """Nine steps at noise multiplier 3 have mu = 1: the rule admits nine and promises the curve of all nine."""
    rule, step = Budget(mu=1).rule(), GaussianLoss(3).charge()
    assert rule.admits(step * 9)
    assert rule.left(step * 9).mu_squared == 0
    assert not rule.admits(step * 9 + GaussianLoss(1000).charge())
    assert rule.delta(1) == (GaussianLoss(3) * 9).delta(1)
