"""Journeys by their budget: what is paid, when, how often, and that it is enough, by enumeration."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.ledger import Ledger
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Replace
from deniable.variants import Journey, Kernel, Metric, PlanarLaplace

CITY = PlanarLaplace(epsilon="0.01", step=10, bounds=((0, 0), (20_000, 20_000)), unit="m")
LINE = Kernel.exponential([(0,), (1,), (3,)], epsilon="0.8", metric=Metric(norm="l1", unit="km"))
LOCATIONS = Path(__file__).parents[3] / "shared" / "data" / "locations.npz"


def opened(path: Path | None, mechanism: Any = CITY, **facts: Any) -> Ledger:
    usual = {"budget": Budget(epsilon="0.03"), "relation": Replace, "unit": Journey.unit_of(mechanism)}
    return Ledger.open(path, **{**usual, **facts}, dataset="phone")


def test_a_journey_ends_when_its_budget_does() -> None:
    journey = Journey(CITY, budget="0.03")
    for k in range(3):
        assert journey.report((k * 10, 50)).value.shape == (2,)
    assert journey.spent.epsilon == Fraction(3, 100)
    with pytest.raises(BudgetExceededError, match=r"only epsilon=0 of the budget epsilon=0\.03 is left"):
        journey.report((0, 0))
    assert journey.spent.epsilon == Fraction(3, 100)


def test_a_ledger_outlives_the_program_and_one_point_is_paid_once(tmp_path: Path) -> None:
    path = tmp_path / "journey.ledger"
    first = Journey(CITY, ledger=opened(path)).report((500, 500), at="8:00").value
    again = Journey(CITY, ledger=opened(path))
    assert (again.report((9000, 9000), at="8:00").value == first).all()
    assert again.spent.epsilon == Fraction(1, 100)
    again.report((500, 500), at="8:05")
    found: list[Any] = []
    ask = lambda: found.append(Journey(CITY, ledger=opened(path)).report((1, 1), at="8:10").value.tolist())  # noqa: E731
    threads = [Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert found[1:] == found[:-1]
    assert again.spent.epsilon == Fraction(3, 100)
    with pytest.raises(BudgetExceededError):
        again.report((0, 0), at="8:15")
    assert (again.report((0, 0), at="8:00").value == first).all()  # what was said stays free
    opened(path).verify()


def test_a_report_that_was_never_made_is_paid_all_the_same() -> None:
    class Cut(PlanarLaplace):
        def release(self, places: object, *, bits: Any = None) -> Any:
            raise RuntimeError("the program ends here")

    cut = Cut(epsilon="0.01", step=10, bounds=((0, 0), (20_000, 20_000)), unit="m")
    journey = Journey(cut, budget="0.015")
    with pytest.raises(RuntimeError):
        journey.report((0, 0), at="8:00")
    assert journey.spent.epsilon == Fraction(1, 100)
    with pytest.raises(BudgetExceededError):
        journey.report((0, 0), at="8:00")


def test_it_is_paid_before_the_place_is_read() -> None:
    """A place that notes what was spent when somebody looks at it."""

    class Place(tuple[int, int]):
        def __len__(self) -> int:
            seen.append(journey.spent.epsilon)
            return 2

    seen: list[Fraction] = []
    journey = Journey(CITY, budget=1)
    assert journey.report(Place((3, 4))).value.shape == (2,)
    assert set(seen) == {Fraction(1, 100)}


def test_a_prediction_that_holds_costs_a_test_alone(tmp_path: Path) -> None:
    bits = DeterministicBits(1)
    ledger = opened(tmp_path / "journey.ledger", budget=Budget(epsilon=1))
    still = Journey(CITY, ledger=ledger, test="0.001", tolerance=20_000)
    first = still.report((5000, 5000), at="a", bits=bits).value
    for journey in (still, still, Journey(CITY, ledger=ledger, test="0.001", tolerance=20_000)):
        assert (journey.report((5000, 5000), at="b", bits=bits).value == first).all()
        assert still.spent.epsilon == Fraction(11, 1000)
    gone = Journey(CITY, budget=2, test=1, tolerance=1)
    gone.report((0, 0), bits=bits)
    gone.report((20_000, 20_000), bits=bits)
    assert gone.spent.epsilon == Fraction(102, 100)
    tight = Journey(CITY, budget="0.02", test="0.001", tolerance=1)
    tight.report((0, 0))
    with pytest.raises(BudgetExceededError, match=r"cost epsilon=0\.011, and 0\.01 is left"):
        tight.report((0, 0))
    assert tight.spent.epsilon == Fraction(1, 100)


@pytest.mark.parametrize(("mechanism", "place", "last"), [(CITY, (300, 0), [0, 0]), (LINE, 2, 0)])
def test_a_noisy_test_has_the_law_that_its_price_assumes(mechanism: Any, place: Any, last: Any) -> None:
    """P[passes] for a gap of tolerance + 1 / test is 1 / (2 e); 1,000 tests, standard error 0.012."""
    far = 100 if mechanism is CITY else 1
    journey = Journey(mechanism, budget=1, test=1 / Fraction(far), tolerance=2 * far)
    bits = DeterministicBits(9)
    passed = [journey._is_close(place, np.array(last), bits) for _ in range(1000)]
    assert np.mean(passed) == pytest.approx(1 / (2 * math.e), abs=0.048)


def test_what_is_paid_is_enough_and_less_is_not() -> None:
    """All sequences of two steps, with their laws, for all pairs of journeys on three points; the test costs 0.4."""
    test, near, laws = 0.4, 1.0, LINE.weights / LINE.total
    price = float(LINE.privacy_loss.epsilon)

    def law(journey: tuple[int, int]) -> dict[tuple[int, int], float]:
        found = {}
        for z, again in product(range(3), range(4)):  # 3: the first report was repeated
            room = near - float(LINE.gap(journey[1], z))
            passes = 1 - math.exp(-test * room) / 2 if room > 0 else math.exp(test * room) / 2
            found[z, again] = laws[journey[0], z] * (passes if again == 3 else (1 - passes) * laws[journey[1], again])
        return found

    def excess(paid: Callable[[int], float]) -> float:
        journeys = {journey: law(journey) for journey in product(range(3), repeat=2)}
        return max(
            math.log(p / journeys[y][out]) - paid(out[1]) * max(abs((0, 1, 3)[a] - (0, 1, 3)[b]) for a, b in zip(x, y))  # noqa: B905
            for x in journeys
            for y in journeys
            for out, p in journeys[x].items()
        )

    assert sum(law((0, 2)).values()) == pytest.approx(1)
    assert excess(lambda again: price + test + (again != 3) * price) <= 1e-12
    assert excess(lambda again: price + (again != 3) * price) > 0.1  # the twin: a test for nothing


def test_a_kernel_reports_cells() -> None:
    journey = Journey(LINE, budget=2)
    reports = [int(journey.report(place).value) for place in (0, 2)]
    assert set(reports) <= {0, 1, 2}
    assert journey.spent == LINE.privacy_loss * 2


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: Journey(CITY, budget=1, test=1), "both test and tolerance"),
        (lambda: Journey(CITY), "a budget or a ledger"),
        (lambda: Journey(CITY, budget=1, ledger=opened(None)), "a budget or a ledger"),
        (lambda: Journey(CITY, budget=math.nan), "budget"),
        (lambda: Journey("city", budget=1), "mechanism must be"),
        (lambda: Journey(CITY, ledger="x.ledger"), "ledger must be"),
        (lambda: Journey(CITY, ledger=opened(None, unit=PrivacyUnit())), "Open another ledger"),
        (lambda: Journey(CITY, ledger=opened(None, relation=AddRemove)), "Open another ledger"),
        (lambda: Journey(CITY, ledger=opened(None, budget=Budget(rho=1))), "Open another ledger"),
        (lambda: Journey(CITY, ledger=opened(None, LINE)), r"up to 1 km \(l1\)"),
        (lambda: Journey(CITY, budget=1, test="1e-12", tolerance=1), "test times tolerance"),
        (lambda: Journey(CITY, budget=1).report((0, 0), at=8), "at must be text"),
    ],
)
def test_bad_input_is_refused(wrong: Callable[[], object], says: str) -> None:
    with pytest.raises(InvalidParameterError, match=says):
        wrong()


@pytest.mark.skipif(not LOCATIONS.exists(), reason="needs the shared data")
def test_journeys_of_taxis_stay_in_their_budget() -> None:
    """The file holds counts only: a taxi starts in a cell drawn from them, and moves to busy cells nearby."""
    counts = np.load(LOCATIONS)["BEIJING_CABS_E"].reshape(16, 16, 16, 16).sum(axis=(1, 3))
    cells, draw = np.argwhere(counts > 0), np.random.default_rng(7)
    mechanism = PlanarLaplace(epsilon="1/2", step="1/8", bounds=((0, 0), (15, 15)), unit="cell")
    busy = counts[tuple(cells.T)] / counts.sum()
    place, errors = cells[draw.choice(len(cells), p=busy)], []
    journey, bits = Journey(mechanism, budget=6, test="1/8", tolerance=6), DeterministicBits(4)
    while True:
        try:
            errors.append(math.dist(place, journey.report(place, bits=bits).value))
        except BudgetExceededError:
            break
        near = np.abs(cells - place).max(axis=1) <= 1
        place = cells[draw.choice(len(cells), p=busy * near / (busy * near).sum())]
    assert Fraction(6) - Fraction(5, 8) < journey.spent.epsilon <= 6
    assert len(errors) > 12  # what reports without predictions would get
    assert np.mean(errors) < 12


def test_a_test_with_another_distance_is_another_question() -> None:
    """Its stored answer holds for the distance that it was asked for."""
    for changed in ({"tolerance": 30_000}, {"test": "0.002"}):
        ledger, given = opened(None, budget=Budget(epsilon=1)), {"test": "0.001", "tolerance": 20_000}
        for facts in (given, {**given, **changed}):
            journey = Journey(CITY, ledger=ledger, **facts)  # type: ignore[arg-type]
            journey.report((5000, 5000), bits=DeterministicBits(1))
            spent = journey.spent.epsilon
            journey.report((5000, 5000), at="b", bits=DeterministicBits(1))
            assert journey.spent.epsilon > spent


def test_names_in_ledgers_stay_so_that_stored_reports_are_recalled() -> None:
    city = PlanarLaplace(epsilon="0.01", step=10, bounds=((0, 0), (20_000, "20000.5")), unit="m")
    region = "lower=(0, 0), upper=(20000, '20000.5'), unit='m'"
    name = f"PlanarLaplace(epsilon=Fraction(1, 100), step=Fraction(10, 1), {region})"
    assert city.name_in_ledgers == name
    kernel = Kernel.exponential([(0, 0), (1, "1/3")], epsilon=1, metric=Metric(unit="km"))
    assert kernel.name_in_ledgers == "Kernel(2 points, 2 outputs, 7e3691c974cf09fe)"
    journey = Journey(city, budget=1, test="0.001", tolerance=600)
    payment = journey._payment("test", "8:00", DeterministicBits(1))
    assert payment.text == f"test of a journey for epsilon=1/1000, near=600 at '8:00', {name}"
