"""Record and replay finds what no statistics over outputs would, and nothing where there is nothing."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deniable.audit import AuditResult, numpy_samplers, replay
from deniable.audit.recorded import RecordedSampler
from deniable.audit.recorded.samplers import Arguments
from deniable.errors import InvalidParameterError
from deniable.privacy import PrivacyLoss, PureLoss

Rows = list[float]
ROWS: Rows = [0.2, 0.7, 0.4, 0.9]
NOISE = np.random.default_rng(3)


def laplace_loss(mine: Arguments, theirs: Arguments) -> PrivacyLoss | None:
    change = float(np.abs(np.subtract(mine.get("loc", 0), theirs.get("loc", 0))).sum())
    return PureLoss(epsilon=change / mine["scale"]) if change else None


SAMPLERS = numpy_samplers(laplace_loss)


def bounded_sum(rows: Rows) -> float:
    return float(np.clip(np.nan_to_num(rows), 0, 1).sum() + NOISE.laplace(scale=1.0))


def noisy_histogram(rows: Rows) -> dict[str, float]:
    counts = np.histogram(rows, bins=[0, 0.5, 1])[0]
    return dict(zip(("low", "high"), NOISE.laplace(counts, 1.0), strict=True))


def leaky_count(rows: Rows) -> float:
    return float(np.mean(rows)) + NOISE.laplace(scale=1 / len(rows))


def found_domain(rows: Rows) -> dict[float, float]:
    return {float(key): 1 + NOISE.laplace(scale=1.0) for key in np.unique(rows)}


def found_types(rows: Rows) -> np.ndarray:
    return np.asarray([len(rows) if max(rows) > 1 else 0.5]) + NOISE.integers(0, 5, size=1)


def unclipped_sum(rows: Rows) -> float:
    return float(np.sum(rows) + NOISE.laplace(scale=1.0))


def exact_sum(rows: Rows) -> float:
    return float(np.clip(rows, 0, 1).sum())


def without_noise(rows: Rows) -> float:
    return float(np.clip(rows, 0, 1).sum() + NOISE.normal(0.0, 0.0))


def missing_through_clip(rows: Rows) -> float:
    return float(np.clip(rows, 0, 1).sum() + NOISE.laplace(scale=1.0))


def telling_error(rows: Rows) -> float:
    if max(rows) > 1:
        raise ValueError("a value is above 1")
    return bounded_sum(rows)


def telling_warning(rows: Rows) -> float:
    if max(rows) > 1:
        warnings.warn("a value is above 1", stacklevel=1)
    return bounded_sum(rows)


def extra_draw(rows: Rows) -> float:
    return bounded_sum(rows) + (NOISE.normal(0, 1.0) if max(rows) > 1 else 0.0)


def other_draw(rows: Rows) -> float:
    return float(NOISE.normal(0, 1.0) if max(rows) > 1 else NOISE.laplace(0, 1.0))


def spent_twice(rows: Rows) -> tuple[float, float]:
    total = float(np.clip(rows, 0, 1).sum())
    return NOISE.laplace(total, 1.0), NOISE.laplace(total, 1.0)


def found_of(run: Callable[[Rows], Any], neighbour: Rows, **options: Any) -> AuditResult:
    return replay(run, ROWS, neighbour, samplers=SAMPLERS, **{"epsilon": 1, "sensitivity": 1, **options})


@pytest.mark.parametrize("neighbour", [ROWS[:-1], [*ROWS, 1e308], [*ROWS, math.nan], [*ROWS, 0.1]])
@pytest.mark.parametrize("run", [bounded_sum, noisy_histogram])
def test_what_is_right_raises_no_alarm(run: Callable[[Rows], object], neighbour: Rows) -> None:
    found = found_of(run, neighbour)
    assert found.epsilon == 0
    assert not found.violated
    assert "the same on both inputs" in found.event
    assert not replay(run, [0.5], [], samplers=SAMPLERS, epsilon=1, sensitivity=1).violated


@pytest.mark.parametrize(
    ("run", "neighbour", "said"),
    [
        (leaky_count, ROWS[:-1], "the value of scale of draw 1"),
        (found_domain, [*ROWS, 0.5], "draw 5, Generator.laplace, was asked for on one input only"),
        (found_domain, [0.2, 0.7, 0.4, 0.8], "the names of the output"),
        (found_types, [*ROWS, 7.0], "the dtype of the output"),
        (unclipped_sum, [*ROWS, 7.0], "move by more than 1"),
        (exact_sum, ROWS[:-1], "no sampler was called"),
        (without_noise, ROWS[:-1], "scale of draw 1, Generator.normal, is not above 0"),
        (missing_through_clip, [*ROWS, math.nan], "finite"),
        (telling_error, [*ROWS, 7.0], "error"),
        (telling_warning, [*ROWS, 7.0], "the warnings"),
        (extra_draw, [*ROWS, 7.0], "draw 2, Generator.normal, was asked for on one input only"),
        (other_draw, [*ROWS, 7.0], "draw 1 comes from Generator.laplace on one input and"),
    ],
)
def test_a_leak_is_found_and_told_by_its_place(run: Callable[[Rows], object], neighbour: Rows, said: str) -> None:
    """Each is a mistake that a library made; no value of a row is in what is told."""
    for one, other in ((ROWS, neighbour), (neighbour, ROWS)):
        found = replay(run, one, other, samplers=SAMPLERS, sensitivity=1, epsilon=1)
        assert found.epsilon == math.inf
        assert found.violated
    assert said in found_of(run, neighbour).event
    assert not any(str(row) in found.event for row in [*ROWS, 7.0])


def test_spending_twice_is_found_by_the_losses_of_the_draws() -> None:
    found = found_of(spent_twice, [*ROWS, 1.0], sensitivity=2)
    assert found.epsilon == pytest.approx(2)
    assert found.violated
    assert not found_of(spent_twice, [*ROWS, 1.0], sensitivity=2, epsilon=2).violated


def test_numbers_are_compared_only_where_it_is_asked_for() -> None:
    assert not found_of(unclipped_sum, [*ROWS, 7.0], sensitivity=None).violated
    assert found_of(bounded_sum, [*ROWS, 1.0], sensitivity=0).violated
    with pytest.raises(InvalidParameterError, match="sensitivity"):
        found_of(bounded_sum, ROWS, sensitivity=-1)


def test_an_error_on_both_inputs_is_the_same_output() -> None:
    def broken(rows: Rows) -> float:
        raise ValueError("this always fails")

    assert not found_of(broken, ROWS[:-1]).violated


def test_a_sampler_may_protect_an_argument() -> None:
    def choose(scores: Rows) -> int:
        return int(np.argmax(np.asarray(scores) + NOISE.gumbel(size=len(scores))))

    vars(np.random)["_choose"] = choose  # a sampler of somebody's library
    try:
        for shaped, violated in (("", False), ("scores", True)):
            sampler = RecordedSampler(
                owner=np.random, name="_choose", secret=frozenset({"scores"}), shaped=frozenset(shaped.split())
            )
            found = replay(lambda rows: np.random._choose(rows), ROWS, ROWS[:-1], samplers=[sampler], sensitivity=0,  # type: ignore[attr-defined]
                           epsilon=1)  # fmt: skip
            assert found.violated is violated
    finally:
        del vars(np.random)["_choose"]
