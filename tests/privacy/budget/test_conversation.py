"""Random mechanisms, random filters, the worst analyst: the promise holds in every case that is played."""

import math
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deniable.privacy import AddRemove, FiniteLoss
from deniable.privacy.budget.additive import ApproximateFilter, ConcentratedFilter, GaussianFilter, PureFilter
from deniable.privacy.budget.advanced import AdvancedFilter
from deniable.privacy.budget.filter import Filter
from deniable.privacy.budget.renyi import RenyiFilter
from tests.privacy.budget.conversation import Mechanism, failing, response, worst_delta, worst_value

masses = st.lists(st.integers(1, 12), min_size=3, max_size=3).map(
    lambda found: [Fraction(n, sum(found)) for n in found]
)


@st.composite
def finite(draw: st.DrawFn) -> Mechanism:
    """Any two laws on three outcomes that do not differ too much, so that a few fit into a budget."""
    q, other, share = draw(masses), draw(masses), draw(st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(1)]))
    p = [(1 - share) * a + share * b for a, b in zip(q, other, strict=True)]
    return Mechanism(FiniteLoss(p, q, relation=AddRemove), [(float(a), float(b)) for a, b in zip(p, q, strict=True)])


filters = st.one_of(
    st.builds(lambda e: PureFilter(epsilon=e, relation=AddRemove), st.sampled_from(["1", "2"])),
    st.builds(lambda r: ConcentratedFilter(rho=r, relation=AddRemove), st.sampled_from(["1/5", "1"])),
    st.builds(lambda m: GaussianFilter(mu=m, relation=AddRemove), st.sampled_from(["1", "2"])),
    st.builds(
        lambda a, r: RenyiFilter(order=a, limit=r, relation=AddRemove),
        st.sampled_from(["3/2", "4"]),
        st.sampled_from(["1/2", "3/2"]),
    ),
    st.builds(lambda e: AdvancedFilter(epsilon=e, delta="1/5", relation=AddRemove), st.sampled_from(["1/2", "3/2"])),
    st.builds(
        lambda e: ApproximateFilter(epsilon=e, delta="1/20", relation=AddRemove), st.sampled_from(["1/2", "3/2"])
    ),
)


@given(st.lists(finite(), min_size=2, max_size=2), filters, st.sampled_from([0.0, 0.3, 1.0, 2.0]))
@settings(max_examples=150, deadline=None)
def test_no_analyst_beats_a_filter(menu: list[Mechanism], rule: Filter, epsilon: float) -> None:
    """Both orders of the neighbours; a response that is always small enough keeps the game alive."""
    menu = [*menu, response("1/5")]
    assume(any(rule.admits(mechanism.loss) for mechanism in menu))
    promised = rule.delta(epsilon).upper
    for way in (menu, [Mechanism(m.loss, [(b, a) for a, b in m.outcomes]) for m in menu]):
        assert worst_delta(way, rule, epsilon, 3) <= promised * (1 + 1e-9) + 1e-12


def test_the_game_finds_what_a_filter_without_limits_lets_out() -> None:
    """The twin: four responses at 1/2 have epsilon 2, and the recursion attains it."""
    menu = [response("1/2"), failing("0", "1/100")]
    found = worst_value(menu, 0, lambda done, _index: done + 1, 1.0, 4)
    p = 1 / (1 + math.exp(-0.5))
    fixed = sum(
        math.comb(4, k) * max(p**k * (1 - p) ** (4 - k) - math.e * (1 - p) ** k * p ** (4 - k), 0.0) for k in range(5)
    )
    assert found > fixed > 0.08
