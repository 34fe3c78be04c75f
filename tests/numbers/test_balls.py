from fractions import Fraction

from flint import arb, ctx

from deniable.numbers.balls import ball, certified, certified_floor
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
