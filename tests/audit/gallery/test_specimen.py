"""The gallery as a whole: what hangs in it, and what an auditor sees who only runs it."""

import math

import pytest

from deniable.audit import measure
from deniable.audit.gallery import GALLERY
from deniable.errors import InvalidParameterError


def test_the_gallery_has_broken_specimens_and_controls() -> None:
    sound = [one for one in GALLERY.values() if one.sound]
    assert len(GALLERY) - len(sound) >= 60
    assert len(sound) >= 10
    assert all(one.flaw.startswith("Nothing") == one.sound for one in GALLERY.values())
    assert all(one.name == name for name, one in GALLERY.items())


@pytest.mark.parametrize("name", GALLERY)
def test_every_specimen_is_judged_rightly(name: str) -> None:
    """A broken mechanism is caught for certain, a sound one is not, and nothing is found above the known truth."""
    one = GALLERY[name]
    found = one.audit()
    assert found.violated != one.sound, found.sentence
    assert found.confidence == 1
    assert one.flaw.endswith(".")
    assert one.source
    if one.truth is not None:
        assert found.epsilon <= one.truth * (1 + 1e-9)
        if one.sound:
            assert one.truth <= found.claimed * (1 + 1e-9)


def test_outputs_follow_the_law() -> None:
    one = GALLERY["randomised response"]
    drawn = one.outputs(one.data, runs=10_000, seed=3)
    assert drawn.count(True) / 10_000 == pytest.approx(0.8, abs=5 * 0.4 / 100)
    with pytest.raises(InvalidParameterError):
        one.outputs(one.data, runs=0)


@pytest.mark.parametrize("name", [
    "sparse vector of Stoddard et al.", "histogram with scale epsilon", "one-hot bits accounted as one", "two counts",
    "threshold that lets equals pass", "not a number through a clip", "randomised response", "twenty counts",
])  # fmt: skip
def test_an_auditor_that_only_runs_them_agrees(name: str) -> None:
    """Wrong with probability 1% for a sound one; the broken ones are caught with this seed and many others."""
    one, seeds = GALLERY[name], iter(range(100))
    epsilon, delta = map(float, one.claim.statement.response or ())
    found = measure(
        lambda data, runs: one.outputs(data, runs=runs, seed=next(seeds)),
        one.data, one.neighbour, epsilon=epsilon, delta=delta, batched=True, runs=20_000,
    )  # fmt: skip
    assert found.violated != one.sound, found.sentence
    assert found.epsilon <= (math.inf if one.truth is None else one.truth)
