"""Recording: samplers are replaced wherever they are referred to, and come back afterwards."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from deniable.audit import numpy_samplers
from deniable.audit.recorded import RecordedSampler
from deniable.audit.recorded.recorder import Diverged, Recorder, recording
from deniable.noise import bernoulli, geometric, laplace
from deniable.noise.laplace import sample as taken_by_name

GENERATOR = np.random.default_rng(5)
HERE = sys.modules[__name__]


LEGACY = np.random  # other people's code draws from it


def drawn() -> list[float]:
    return [
        float(np.random.default_rng().normal(1, 2)), float(GENERATOR.laplace(scale=3, size=2)[0]),
        float(LEGACY.laplace(0.5, 1)), float(laplace.sample(scale=2)), float(taken_by_name(scale=2)),
    ]  # fmt: skip


def test_every_reference_is_recorded_and_restored() -> None:
    samplers = (*numpy_samplers(), RecordedSampler(owner=laplace, name="sample", secret=frozenset({"bits"})))
    before = (np.random.default_rng, np.random.laplace, laplace.sample, taken_by_name, GENERATOR)
    first = Recorder()
    with recording(samplers, first):
        found = drawn()
        first.repeat()
        assert drawn() == found
    assert [call.sampler.title for call in first.calls] == [
        "Generator.normal", "Generator.laplace", "random.laplace", "laplace.sample", "laplace.sample"
    ]  # fmt: skip
    assert (np.random.default_rng, np.random.laplace, laplace.sample, taken_by_name, HERE.GENERATOR) == before
    assert drawn() != found


def test_noise_is_added_to_the_new_centre() -> None:
    first = Recorder()
    with recording(numpy_samplers(), first):
        one, many = LEGACY.normal(3.0, 1), LEGACY.normal(np.array([1.0, 2.0]), 1)
        first.repeat()
        assert LEGACY.normal(5.0, 1) == pytest.approx(one + 2)
        assert LEGACY.normal(np.array([1.0, 9.0]), 1) == pytest.approx(many + np.array([0, 7]))
        assert type(one) is float


def test_draws_inside_a_draw_are_its_own_affair() -> None:
    first = Recorder()
    samplers = [RecordedSampler(owner=module, name="sample") for module in (laplace, geometric, bernoulli)]
    with recording(samplers, first):
        laplace.sample(scale=3)
    assert [call.sampler.title for call in first.calls] == ["laplace.sample"]


def test_a_call_that_differs_ends_the_run() -> None:
    for scale, times, said in [(4, 1, "scale of draw 1"), (3, 2, "draw 2, laplace.sample, was asked for")]:
        recorder = Recorder()
        with recording([RecordedSampler(owner=laplace, name="sample")], recorder):
            laplace.sample(scale=3)
            recorder.repeat()
            with pytest.raises(Diverged):
                [laplace.sample(scale=scale) for _ in range(times)]
        assert recorder.diverged is not None
        assert said in recorder.diverged


def test_a_module_that_is_imported_meanwhile_keeps_the_sampler_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "drawn_later.py").write_text("from deniable.noise.laplace import sample\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    first = Recorder()
    with recording([RecordedSampler(owner=laplace, name="sample")], first):
        later = importlib.import_module("drawn_later")
        later.sample(scale=3)
    assert len(first.calls) == 1
    assert later.sample is laplace.sample
    del sys.modules["drawn_later"]
