"""Amounts are exact, one currency at a time, and say so in words."""

import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import (
    AddRemove,
    Budget,
    of_count,
)

ONE = of_count(rows=1, groups=1, relation=AddRemove)


@pytest.mark.parametrize(
    "budget",
    [
        Budget(epsilon=1),
        Budget(epsilon=0.1, delta=1e-6),
        Budget(rho="1/3"),
        Budget(mu=2),
        Budget(renyi="0.5", order=8),
        Budget(epsilon=1, delta="1e-6", order=32, failure="1e-8"),
        Budget(rho=1, failure="1e-9"),
    ],
)
def test_budgets_survive_json(budget: Budget) -> None:
    assert Budget.from_json(budget.to_json()) == budget
    assert eval(repr(budget)) == budget


def test_budgets_print_in_the_users_words() -> None:
    assert str(Budget(epsilon=1)) == "epsilon=1"
    assert str(Budget(epsilon=0.5, delta=1e-6)) == "epsilon=0.5, delta=1e-06"


@pytest.mark.parametrize(
    "fields",
    [
        *({}, {"delta": 0.1}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": 0.1}, {"mu": 1, "rho": 1}),
        *({"epsilon": 0}, {"epsilon": -1}, {"epsilon": True}, {"epsilon": "much"}, {"epsilon": 1, "delta": 1}),
        *({"epsilon": float("inf")}, {"rho": 0}, {"mu": 0}, {"renyi": 1}, {"order": 2}, {"renyi": 1, "order": 1}),
        *({"mu": 1, "failure": 0.1}, {"epsilon": 1, "failure": 0.1}, {"epsilon": 1, "delta": 0.1, "failure": 0.1}),
        *(
            {"rho": 1, "failure": 0},
            {"epsilon": "0.1", "delta": "1e-9", "order": 2},
            {"epsilon": 1, "delta": 0, "order": 2},
        ),
        *({"renyi": 0, "order": 2}, {"epsilon": 1, "order": 2}, {"renyi": 1, "order": 2, "delta": 0.1}),
    ],
)
def test_bad_budgets_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        Budget(**fields)
