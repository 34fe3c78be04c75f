"""Federated rounds whose failures reveal an empty sample or a failing row."""

from fractions import Fraction
from math import inf
from typing import Any

from deniable.audit.gallery.chances import Chances, above, binomial, normal
from deniable.audit.gallery.specimen import hang
from deniable.numbers.balls import ball

_RATE = Fraction(1, 4)
_SIGMA = 4
_CLAIM: dict[str, Any] = {"epsilon": "0.284", "delta": "1e-5"}  # of a Poisson sample
_BEFORE = "this library before 2026-11-28"

# fmt: off

def with_noise(rows: int) -> Chances:
    """Return whether a noisy sum over a Poisson sample of unit gradients exceeds 9."""
    cells: dict[Any, Any] = dict.fromkeys((True, False), ball(Fraction(0)))
    for size, chance in binomial(rows, _RATE).items():
        for seen, part in above(normal(_SIGMA), size, 9).items():
            cells[seen] += ball(chance) * part
    return cells

def raising(rows: int) -> Chances:
    missing = binomial(rows, _RATE)[0]
    silent = above(normal(_SIGMA), 0, 9)
    cells = {seen: chance - ball(missing) * silent[seen] for seen, chance in with_noise(rows).items()}
    return {"error": missing, **cells}

hang("round that raises on an empty sample",
     "The gradients of no rows were an error, which the server sees: it tells a client without rows from one with one.",
     _BEFORE, raising, 1, 0, **_CLAIM, truth=inf)
hang("client that drops out where its work fails",
     "One row makes the work of a client raise, and who does not answer is seen without noise.", _BEFORE,
     lambda fails: {"no answer": Fraction(1)} if fails else with_noise(1), True, False, **_CLAIM, truth=inf)
hang("round with noise on an empty sample", "Nothing: an empty sum has its noise, as any other.",
     "Abadi et al. (2016), arXiv:1607.00133", with_noise, 1, 0, **_CLAIM)
