"""Private matching: never above supply, all through the posts, welfare between a measured one and the dual bound."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.games import PrivateMatching
from deniable.games.counters import Counters
from deniable.ledger import Ledger
from deniable.noise.bits import DeterministicBits
from deniable.numbers.rationals import decimal_text
from deniable.privacy import Budget, PrivacyUnit, Replace

LARGE = PrivateMatching(players=10**4, goods=3, supply=3000, top=10, step=1, epsilon=2, delta="1e-6")
SMALL = PrivateMatching(
    players=120, goods=2, supply=50, top=8, step="0.5", epsilon=100, delta="0.1", passes=2, batches=8
)
DRAWN = np.random.default_rng(1)


def values(made: PrivateMatching) -> list[np.ndarray]:
    return [DRAWN.integers(0, 1 + int(made.top), made.players) for _ in range(made.goods)]


def test_a_thousand_runs_never_give_out_more_than_there_is() -> None:
    bits = DeterministicBits(2)
    for _ in range(1000):
        found = SMALL.release(values(SMALL), bits=bits)
        assert np.bincount(found.goods[found.goods >= 0], minlength=2).max() <= 50
        assert found.cut == 0


def test_not_even_with_extreme_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a reserve the noise lets too many hold a good; the last of them get nothing, and are counted."""
    made = PrivateMatching(players=60, goods=2, supply=30, top=8, step=1, epsilon=100, delta="0.1", passes=3, batches=1)
    rough = Counters(players=60, cells=2, passes=3, batches=8, rho="0.03")
    made.__dict__.update(reserve=0, counters=rough)
    found = [made.release([[8] * 60, [1] * 60], bits=DeterministicBits(seed)) for seed in range(20)]
    assert all(np.bincount(one.goods[one.goods >= 0], minlength=2).max(initial=0) <= 30 for one in found)
    assert sum(one.cut for one in found) > 0


def test_everything_flows_through_the_posts() -> None:
    """Goods are made again from the own row and the posts; another row of one player changes nothing else."""
    secret = values(SMALL)
    found = SMALL.release(secret, bits=DeterministicBits(3))
    rows = list(enumerate(zip(*(column.tolist() for column in secret), strict=True)))
    assert found.board.per_player(SMALL.assigned, rows) == tuple(found.goods)
    before, after = found.board.replay(SMALL.assigned, rows, player=7, row=(7, (0, 0)))
    assert before == found.goods[7]
    assert after == -1


def test_welfare_is_near_the_best_where_there_are_many_copies() -> None:
    secret = values(LARGE)
    found = LARGE.release(secret, bits=DeterministicBits(1))
    got, most = LARGE.welfare(secret, found)
    assert 0.8 * most < got <= most
    assert found.cut == 0


def test_the_dual_bound_is_above_the_best_matching() -> None:
    secret = values(SMALL)
    got, most = SMALL.welfare(secret, SMALL.release(secret, bits=DeterministicBits(5)))
    table = np.repeat(np.stack(secret, axis=1), SMALL.supply, axis=1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    best = table[rows, columns].sum()
    assert got <= best <= most <= 2 * best


def test_values_are_read_one_by_one_in_steps() -> None:
    spoilt = [["1.24", None, -3, "x", *[0] * 116], [Fraction(9, 2), 99, float("nan"), 8, *[0] * 116]]
    assert SMALL._table(spoilt)[:4].tolist() == [[2, 9], [0, 16], [0, 0], [0, 16]]  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="2 columns of 120"):
        SMALL.release([[1] * 120])
    with pytest.raises(InvalidParameterError, match="2 columns of 120"):
        SMALL.release([[1] * 120, [1] * 119])


def test_a_matching_is_paid_as_one_pair() -> None:
    ledger = Ledger.open(
        None, budget=Budget(epsilon=100, delta="0.1"), relation=Replace, unit=PrivacyUnit(), dataset="values"
    )
    with pytest.raises(InvalidParameterError, match="2 columns of 120"):
        SMALL.release([[1] * 119] * 2, ledger=ledger)
    assert ledger.spent().epsilon == 0
    assert not SMALL.release(values(SMALL), ledger=ledger, bits=DeterministicBits(1)).board.safe
    assert (ledger.spent().epsilon, ledger.spent().delta) == (100, Fraction(1, 10))
    with pytest.raises(BudgetExceededError):
        SMALL.release(values(SMALL), ledger=ledger)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"supply": 400}, "reserve of 420 copies"),
        ({"delta": 0}, "delta"),
        ({"step": 11}, "step"),
        ({"batches": 3}, "power of two"),
        ({"players": 0}, "players"),
    ],
    ids=str,
)
def test_settings_in_which_nothing_can_be_promised_are_refused(given: dict[str, object], words: str) -> None:
    fine = {"players": 10**4, "goods": 3, "supply": 3000, "top": 10, "step": 1, "epsilon": 2, "delta": "1e-6"}
    with pytest.raises(InvalidParameterError, match=words):
        PrivateMatching(**fine | given)  # type: ignore[arg-type]


def test_a_matching_prints_prices_and_nobodys_good() -> None:
    matched = SMALL.release(values(SMALL), bits=DeterministicBits(1))
    prices = ", ".join(map(decimal_text, matched.prices))
    assert repr(matched).startswith(f"<Matched: 120 players; prices {prices}; cost epsilon=100, delta=0.1")
    assert repr(matched).endswith(", safe=False>")
