from fractions import Fraction

from flint import arb, ctx

from deniable.numbers.balls import ball, certified, certified_floor, certified_masses, exp_below
from deniable.numbers.interval import Interval


def test_a_formula_that_cancels_gets_more_bits() -> None:
    """e^x - 1 with x = 10^-40 loses 133 bits at once."""
    precisions = []

    def formula() -> arb:
        precisions.append(ctx.prec)
        return ball(Fraction(1, 10**40)).exp() - 1

    value = certified(formula)
    assert value.contains(Fraction(1, 10**40) + Fraction(1, 2 * 10**80))
    assert value.width < 2e-55
    assert len(precisions) > 1


def test_what_is_lost_to_cancellation_is_won_back_by_every_probability_of_a_law() -> None:
    """1/3 + x - 1/3 with x = 2^-lost has 96 - lost bits at the first precision; beside it stands 1/3, which has all."""
    third = Fraction(1, 3)
    for lost in (20, 39, 41, 70, 95, 140):
        small = Fraction(1, 2**lost)
        found = certified(lambda small=small: ball(third + small) - ball(third))
        law = certified_masses(lambda small=small: {0: ball(third), 1: ball(third + small) - ball(third), 2: small})
        assert law[1] == found
        assert found.contains(small)
        assert found.width <= 1e-14 * found.upper, lost
        assert law[2] == small


def test_powers_of_e_are_bounded_from_below_as_closely_as_said() -> None:
    for exponent in (Fraction(0), Fraction(1, 3), Fraction(-7), Fraction(20)):
        for bits in (0, 1, 10, 80):
            below = exp_below(exponent, bits)
            assert (below * 2**bits).denominator == 1
            with ctx.workprec(400):
                assert ball(below) <= ball(exponent).exp()
                assert ball(below + Fraction(1, 2**bits)) > ball(exponent).exp()


def test_a_formula_without_a_value_gives_the_domain() -> None:
    assert certified(lambda: arb("nan")) == Interval(0.0, 1.0)


def test_certified_floor_near_an_integer() -> None:
    for offset in (Fraction(0), Fraction(1, 2**500), Fraction(1, 3)):
        assert certified_floor(lambda offset=offset: ball(7 + offset)) == 7
    assert certified_floor(lambda: ball(7 - Fraction(1, 2**500))) == 6
    assert certified_floor(lambda: ball(Fraction(-1, 3))) == -1


def test_a_ball_holds_its_rational() -> None:
    from flint import arb

    assert (ball(Fraction(10**40, 3)) * 3).contains(arb(10**40))
