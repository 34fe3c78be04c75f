"""Journeys: the reports of one moving person, within a budget that a ledger keeps."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment, check_ledger
from deniable.mechanisms.base import Released
from deniable.noise import rounded
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_rational, shown, strict_rational
from deniable.privacy import Budget, PrivacyUnit, Replace
from deniable.variants.kernel import Kernel
from deniable.variants.metric import MetricLoss
from deniable.variants.places import PlanarLaplace

_FINE = 1024  # steps of the noisy test's grid in `near`


class Journey:
    """The reports of one moving person; each is paid from a budget before the place is read.

    Args:
        mechanism: a PlanarLaplace or a Kernel, for each report that is drawn anew.
        budget: epsilon per unit of distance for the whole journey, kept in memory. Or leave it out, and give
        ledger: one that was opened with Budget(epsilon=...) per unit of distance, Replace, and `unit_of(mechanism)`. It
            keeps payments and reports when the program ends or is killed.
        test: None for independent reports; else epsilon per unit of distance of the noisy test of whether the place is
            still `near` the last report in the maximum norm. If so, that report is repeated at no further cost.

    Guarantee: two journeys never further apart than r are told apart by at most `budget` times r. Proof:
        docs/theory/variants/places.md.
    Source: Chatzikokolakis, Palamidessi, Stronati (2014), arXiv:1311.4008, for the predictive mechanism.

    >>> from deniable.variants import Journey, PlanarLaplace
    >>> mechanism = PlanarLaplace(epsilon="0.01", step=10, lower=(0, 0), upper=(20_000, 20_000), unit="m")
    >>> journey = Journey(mechanism, budget="0.05", test="0.001", near=600)
    >>> report = journey.report((4_120, 7_300), at="8:00").value
    >>> journey.spent.epsilon
    Fraction(1, 100)
    """

    def __init__(
        self,
        mechanism: PlanarLaplace | Kernel,
        *,
        budget: Real | None = None,
        ledger: Ledger | None = None,
        test: Real | None = None,
        near: Real | None = None,
    ) -> None:
        if not isinstance(mechanism, PlanarLaplace | Kernel):
            raise InvalidParameterError(f"mechanism must be a PlanarLaplace or a Kernel, got {shown(mechanism)}")
        if (budget is None) == (ledger is None) or (test is None) != (near is None):
            raise InvalidParameterError("give a budget or a ledger, and both test and near or neither of them")
        self.mechanism, self._metric, self._test = mechanism, mechanism.loss.metric, None
        if test is not None and near is not None:
            self._test = MetricLoss(epsilon=positive_rational("test", test), metric=self._metric)
            self._near = positive_rational("near", near)
            strict_rational(
                "test times near", self._test.epsilon * self._near, lower=Fraction(1, 10**9), upper=Fraction(10**9)
            )
        if budget is not None:
            limit, unit = Budget(epsilon=positive_rational("budget", budget)), self.unit_of(mechanism)
            ledger = Ledger.open(None, budget=limit, relation=Replace, unit=unit, dataset="journey")
        self._ledger: Ledger = _checked(ledger, self.unit_of(mechanism))
        self._last: Released[NDArray[Any]] | None = None

    @staticmethod
    def unit_of(mechanism: PlanarLaplace | Kernel) -> PrivacyUnit:
        """What a ledger of journeys hides: that every place was moved by one unit of distance or less."""
        return mechanism.loss.privacy_unit

    @property
    def spent(self) -> MetricLoss:
        """What everything that the ledger paid for reveals."""
        return MetricLoss(epsilon=self._ledger.spent().epsilon or 0, metric=self._metric)

    def report(self, place: object, *, at: str | None = None, bits: Bits = SECURE) -> Released[NDArray[Any]]:
        """The next report: x and y, or the index of a kernel's output.

        Args:
            place: x and y, or the index of a kernel's point; read after the payment.
            at: public name of this point of the journey, such as its time. A point that this mechanism reported before,
                in any process with this ledger, gets the same report again at no cost. None: a new point.
            bits: leave it out, except in tests.

        Raises: BudgetExceededError if a test and a new report exceed what is left; then nothing is spent.
        """
        if at is not None and not isinstance(at, str):
            raise InvalidParameterError(f"at must be text such as a time, or None, got {shown(at)}")
        answer = self._stored(at, bits) or self._new(place, at, bits)
        self._last = Released(np.array(json.loads(answer)), bits.safe)
        return self._last

    def _new(self, place: object, at: str | None, bits: Bits) -> str:
        last = self._last if self._last is not None and self._last.safe == bits.safe else None
        test, loss = self._test, self.mechanism.loss
        if test is not None and last is not None:
            cost, left = (loss + test).epsilon, self._ledger.left().epsilon or Fraction(0)
            if cost > left:
                raise BudgetExceededError(
                    f"a report may cost epsilon={float(cost):.4g}; {float(left):.4g} is left. End the journey."
                )
            old = json.dumps(last.value.tolist())
            near = self._paid("test", test, at, bits, lambda: old if self._is_near(place, last.value, bits) else "null")
            if near != "null":
                return near
        return self._paid(
            "report", loss, at, bits, lambda: json.dumps(self.mechanism.release([place], bits=bits).value[0].tolist())
        )

    def _stored(self, at: str | None, bits: Bits) -> str | None:
        """The report of this point as JSON, if it has one: of a test that it passed, or its own."""
        kinds = () if at is None else ("test", "report")
        found = (self._ledger.recall(self._payment(kind, at, bits).question, safe=bits.safe) for kind in kinds)
        return next((answer for answer in found if answer not in (None, "null")), None)

    def _paid(self, kind: str, loss: MetricLoss, at: str | None, bits: Bits, compute: Callable[[], str]) -> str:
        entry = self._payment(kind, at, bits).entry(loss.booked)
        return self._ledger.answer(entry, compute, fresh=at is None)[0]

    def _payment(self, kind: str, at: str | None, bits: Bits) -> Payment:
        of = f" for epsilon={self._test.epsilon}, near={self._near}" if kind == "test" and self._test else ""
        return Payment(self._ledger, text=f"{kind} of a journey{of} at {at!r}, {self.mechanism}", bits=bits)

    def _is_near(self, place: object, last: NDArray[Any], bits: Bits) -> bool:
        """The noisy test, on exact rationals and a fine grid."""
        assert self._test is not None
        grid = self._near / _FINE
        centre, scale = self.mechanism.gap(place, last) / grid, 1 / (self._test.epsilon * grid)
        noisy = rounded.sample(rounded.Laplace(), centre=centre, scale=scale, lower=-(2**20), upper=2**20, bits=bits)
        return bool(noisy <= _FINE)


def _checked(ledger: object, unit: PrivacyUnit) -> Ledger:
    known = check_ledger(ledger, unit)
    if known.budget.epsilon is None or known.budget.delta:
        raise InvalidParameterError(
            f"this ledger has the {known.budget}; a journey needs one with Budget(epsilon=...). Open another ledger."
        )
    return known
