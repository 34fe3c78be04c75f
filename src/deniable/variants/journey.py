"""Journeys: reports of one moving person, within a budget that a ledger keeps."""

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
from deniable.variants.locations import PlanarLaplace
from deniable.variants.metric import MetricLoss

_STEPS_IN_TOLERANCE = 1024  # of the noisy test's grid: rounding moves the threshold by 0.1% at most


class Journey:
    """Reports of one moving person, each charged before the location is read.

    Args:
        mechanism: a PlanarLaplace or a Kernel, for each report that is drawn anew.
        budget: epsilon per unit of distance for the whole journey, kept in memory. Leave it out to give a ledger.
        ledger: one that was opened with Budget(epsilon=...) per unit of distance, Replace, and `unit_of(mechanism)`. It
            keeps charges and reports when the program ends or is killed.
        test: None for independent reports; else epsilon per unit of distance of a noisy test: whether the location is
            still within the tolerance of the last report. If so, that report is repeated at no further cost.
        tolerance: of that test, in the unit of distance and the maximum norm.

    Guarantee: two journeys that are never further apart than r have a loss of at most `budget` times r. Proof:
        docs/theory/variants/locations.md.
    Source: Chatzikokolakis, Palamidessi, Stronati (2014), arXiv:1311.4008, for the predictive mechanism.

    >>> from deniable.variants import Journey, PlanarLaplace
    >>> city = ((0, 0), (20_000, 20_000))
    >>> mechanism = PlanarLaplace(epsilon="0.01", step=10, bounds=city, unit="m")
    >>> journey = Journey(mechanism, budget="0.05", test="0.001", tolerance=600)
    >>> report = journey.report((4_120, 7_300), at="8:00").value
    >>> journey.spent.epsilon
    0.01
    """

    def __init__(
        self,
        mechanism: PlanarLaplace | Kernel,
        *,
        budget: Real | None = None,
        ledger: Ledger | None = None,
        test: Real | None = None,
        tolerance: Real | None = None,
    ) -> None:
        if not isinstance(mechanism, PlanarLaplace | Kernel):
            raise InvalidParameterError(f"mechanism must be a PlanarLaplace or a Kernel, got {shown(mechanism)}")
        if (budget is None) == (ledger is None) or (test is None) != (tolerance is None):
            raise InvalidParameterError("give a budget or a ledger, and both test and tolerance or neither of them")
        self.mechanism = mechanism
        self._metric = mechanism.privacy_loss.metric
        self._test = None
        if test is not None and tolerance is not None:
            self._test = MetricLoss(epsilon=positive_rational("test", test), metric=self._metric)
            self._tolerance = positive_rational("tolerance", tolerance)
            strict_rational(
                "test times tolerance",
                self._test.epsilon * self._tolerance,
                lower=Fraction(1, 10**9),
                upper=Fraction(10**9),
            )
        if budget is not None:
            limit = Budget(epsilon=positive_rational("budget", budget))
            unit = self.unit_of(mechanism)
            ledger = Ledger.open(None, budget=limit, relation=Replace, unit=unit, dataset="journey")
        self._ledger: Ledger = _checked(ledger, self.unit_of(mechanism))
        self._last: Released[NDArray[Any]] | None = None

    @staticmethod
    def unit_of(mechanism: PlanarLaplace | Kernel) -> PrivacyUnit:
        """Return the unit that a ledger of journeys needs.

        It hides that every location was moved by one unit of distance or less.

        Args:
            mechanism: of the journeys.
        """
        return mechanism.privacy_loss.privacy_unit

    @property
    def spent(self) -> MetricLoss:
        """Loss of everything that was charged to the ledger."""
        return MetricLoss(epsilon=self._ledger.spent().epsilon or 0, metric=self._metric)

    def report(self, location: object, *, at: str | None = None, bits: Bits = SECURE) -> Released[NDArray[Any]]:
        """Return the next report: x and y, or the index of a kernel's output.

        Args:
            location: x and y, or the index of a kernel's point; read after it is charged.
            at: public name of this point of the journey, such as its time. A point that this mechanism reported before,
                in any process with this ledger, gets that report again at no cost. None: a new point.
            bits: leave it out, except in tests.

        Raises: BudgetExceededError if a test and a new report exceed what is left; then nothing is charged.
        """
        if at is not None and not isinstance(at, str):
            raise InvalidParameterError(f"at must be text such as a time, or None, got {shown(at)}")
        answer = self._stored(at, bits) or self._new(location, at, bits)
        self._last = Released(np.array(json.loads(answer)), bits.safe)
        return self._last

    def _new(self, location: object, at: str | None, bits: Bits) -> str:
        """Return a new report as JSON, or the last one if the test finds it close enough."""
        last = self._last if self._last is not None and self._last.safe == bits.safe else None
        test = self._test
        loss = self.mechanism.privacy_loss
        if test is not None and last is not None:
            cost = (loss + test).epsilon
            left = self._ledger.left().epsilon or Fraction(0)
            if cost > left:
                raise BudgetExceededError(
                    f"a report may cost epsilon={float(cost):.4g}, and {float(left):.4g} is left. End the journey."
                )
            old = json.dumps(last.value.tolist())

            def repeat() -> str:
                return old if self._is_close(location, last.value, bits) else "null"

            repeated = self._charged("test", test, at, bits, repeat)
            if repeated != "null":
                return repeated

        def draw() -> str:
            return json.dumps(self.mechanism.release([location], bits=bits).value[0].tolist())

        return self._charged("report", loss, at, bits, draw)

    def _stored(self, at: str | None, bits: Bits) -> str | None:
        """Return the stored report of this point as JSON, if it has one.

        It comes from a test that passed, or from a draw.
        """
        kinds = () if at is None else ("test", "report")
        stored = (self._ledger.recall(self._payment(kind, at, bits).question, safe=bits.safe) for kind in kinds)
        return next((answer for answer in stored if answer not in (None, "null")), None)

    def _charged(self, kind: str, loss: MetricLoss, at: str | None, bits: Bits, compute: Callable[[], str]) -> str:
        """Charge for a test or a report, and return its answer as JSON."""
        entry = self._payment(kind, at, bits).entry(loss.charged)
        return self._ledger.answer(entry, compute, fresh=at is None)[0]

    def _payment(self, kind: str, at: str | None, bits: Bits) -> Payment:
        """Return the payment of a test or a report.

        Ledgers hold its text, which must not change.
        """
        setting = ""
        if kind == "test" and self._test:
            setting = f" for epsilon={Fraction(self._test.epsilon)}, near={Fraction(self._tolerance)}"
        text = f"{kind} of a journey{setting} at {at!r}, {self.mechanism.name_in_ledgers}"
        return Payment(self._ledger, text=text, bits=bits)

    def _is_close(self, location: object, last: NDArray[Any], bits: Bits) -> bool:
        """Run the noisy test, on exact rationals and a fine grid."""
        assert self._test is not None
        grid = self._tolerance / _STEPS_IN_TOLERANCE
        centre = self.mechanism.gap(location, last) / grid
        scale = 1 / (self._test.epsilon * grid)
        noisy = rounded.sample(
            rounded.StandardLaplace(), centre=centre, scale=scale, lower=-(2**20), upper=2**20, bits=bits
        )
        return bool(noisy <= _STEPS_IN_TOLERANCE)


def _checked(ledger: object, unit: PrivacyUnit) -> Ledger:
    """Return the ledger if its budget and unit fit a journey."""
    known = check_ledger(ledger, unit)
    if known.budget.epsilon is None or known.budget.delta:
        raise InvalidParameterError(
            f"a journey needs a ledger with Budget(epsilon=...), and this one has {known.budget}. Open another ledger."
        )
    return known
