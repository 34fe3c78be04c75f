"""Sums of epsilons."""

from deniable.privacy import ApproximateLoss, Budget, PureLoss


def test_ten_tenths_fit_in_one_and_an_eleventh_does_not() -> None:
    rule, tenth = Budget(epsilon=1).rule(), PureLoss(0.1).charge()
    assert rule.admits(tenth * 10)
    assert not rule.admits(tenth * 11)


def test_a_delta_never_fits() -> None:
    rule, charge = Budget(epsilon=1).rule(), ApproximateLoss("0.1", "1e-300").charge()
    assert not rule.admits(charge)
    assert not rule.proves(charge)
