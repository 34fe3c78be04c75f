"""Every mechanism makes the same draws on neighbouring inputs, or is listed here with the reason."""

from typing import Any

import pytest

from deniable.audit import replay
from deniable.mechanisms import MECHANISMS
from deniable.noise.bits import DeterministicBits
from tests.audit.draws import NOISE
from tests.mechanisms.laws import input_of

_RANKS = "an exact sampler of several draws: pieces and their unit follow the number of records; ranks.md has the law"
BY_DESIGN = {
    "exponential_quantile": _RANKS,
    "joint_quantiles": _RANKS,
    "matched_quantile": _RANKS,
    "permute_and_flip_quantile": _RANKS,
    "quartiles": _RANKS,
    "recursive_quantiles": _RANKS,
    "propose_test_release": "answers None where the noisy test fails; its delta pays for it",
    "stable_selection": "answers None where the noisy test fails; its delta pays for it",
}


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_draws_do_not_depend_on_the_exact_input(name: str) -> None:
    case = MECHANISMS[name].worst_case()
    pair = [input_of(name, exact) for exact in (case.exact, case.neighbour)]

    def release(exact: Any) -> object:
        return case.mechanism.release(exact, bits=DeterministicBits(3))

    both = [replay(release, *order, samplers=NOISE, epsilon=1) for order in (pair, pair[::-1])]
    assert any(found.violated for found in both) == (name in BY_DESIGN), [found.event for found in both]
