"""The shape of what an audit returns."""

import json
import math
from typing import Any

import numpy as np
import pytest

from deniable.audit import AuditResult, audit_counts, estimate_divergences, search_sensitivity
from deniable.audit.result import Measured, read_claim
from deniable.audit.universe import Universe
from deniable.errors import InvalidParameterError
from deniable.privacy import ApproximateLoss, PureLoss, Replace


def result(epsilon: float, **other: Any) -> AuditResult:
    given = {
        "claim": PureLoss(epsilon=1), "delta": 0.0, "confidence": 0.99, "event": "outputs above 3", "runs": 1000,
        "tried": ("thresholds",), **other,
    }  # fmt: skip
    return AuditResult(epsilon=epsilon, **given)


def test_claims_are_read_as_losses() -> None:
    assert read_claim(None, epsilon=1) == PureLoss(epsilon=1)
    assert read_claim(None, epsilon=1, delta="1e-6") == ApproximateLoss(epsilon=1, delta="1e-6")
    assert read_claim(PureLoss(epsilon=2)) == PureLoss(epsilon=2)
    assert read_claim(None) is None
    assert read_claim(None, epsilon=math.inf) is None
    assert read_claim(None, epsilon=0) == PureLoss(epsilon=0)
    with pytest.raises(InvalidParameterError, match="not as both"):
        read_claim(PureLoss(epsilon=2), epsilon=1)
    with pytest.raises(InvalidParameterError, match="epsilon"):
        read_claim(None, epsilon=-1)


def test_a_violation_is_a_bound_above_the_claim() -> None:
    assert not result(0.9).violated
    assert result(0.9).sentence.startswith("No violation found of epsilon=1")
    assert result(1.1).violated
    assert result(1 + 1e-9).sentence == "The claim of epsilon=1 is false: epsilon is larger, at confidence 0.99."
    assert "is at least 1.1, at confidence 0.99" in result(1.1).sentence
    assert "epsilon is infinite, certainly" in result(math.inf, confidence=1.0).sentence
    assert result(3, claim=None).sentence == "Epsilon is at least 3, at confidence 0.99."
    assert not result(math.inf, claim=None).violated
    assert result(math.inf, claim=None).sentence == "Epsilon is infinite, at confidence 0.99."


@pytest.mark.parametrize("epsilon", [0.5, 2.0, math.inf])
def test_no_form_of_a_result_says_private(epsilon: float) -> None:
    one = result(epsilon, limits=("few runs",))
    for text in (str(one), one._repr_html_(), one.to_json()):
        assert "private" not in text
        assert "few runs" in text
    assert json.loads(one.to_json())["infinite"] == math.isinf(epsilon)


def test_a_plot_shows_what_was_measured_below_what_was_claimed() -> None:
    pytest.importorskip("matplotlib")
    rates = Measured(false_positive=np.array([0.1]), false_negative=np.array([0.2]))
    drawn = result(2.0, measured=rates).plot()
    assert "attacks found" in [line.get_label() for line in drawn.lines]
    with pytest.raises(InvalidParameterError, match="neither"):
        result(2.0, claim=None).plot()


def test_the_least_number_above_a_claim_of_0_is_said_in_words() -> None:
    found = AuditResult(claim=PureLoss(epsilon=0), epsilon=5e-324, delta=0, confidence=0.99, event="", runs=9, tried=())
    assert found.sentence == "The claim of epsilon=0 is false: epsilon is larger, at confidence 0.99."


def test_results_print_as_one_line() -> None:
    result = audit_counts(95, 3, runs_with=100, runs_without=100, epsilon=9)
    assert repr(result) == f"<AuditResult: {result.sentence}>"
    change = search_sensitivity(sum, Universe(values=(0, 3), rows=2), relation=Replace)
    assert repr(change) == f"<LargestChange: l1 3, l2 3, linf 3 under {Replace}>"
    noise = np.random.default_rng(1)
    estimated = estimate_divergences(
        lambda exact, runs: exact + noise.normal(size=runs), 0, 1, epsilons=[1], batched=True, runs=100,
        log_density=lambda outputs, exact: -((outputs - exact) ** 2) / 2,
    )  # fmt: skip
    low, high = estimated.delta_lower[0], estimated.delta_upper[0]
    assert repr(estimated) == f"<Divergences: delta in [{low:.4g}, {high:.4g}] at epsilon=1 (99%)>"
