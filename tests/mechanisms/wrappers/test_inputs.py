"""What releases of wrappers take: what the mechanisms inside them take."""

from fractions import Fraction
from typing import Any

import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import (
    BestOf,
    BestOfPoisson,
    ContinuousExponential,
    Grouped,
    Laplace,
    Mechanism,
    Mixed,
    PoissonSampled,
    PostProcessed,
    SampleAndAggregate,
)
from deniable.mechanisms.wrappers.answers import answer_of
from deniable.mechanisms.wrappers.inputs import required, signature_of
from deniable.noise.bits import DeterministicBits

QUIET = Laplace(scale=Fraction(1, 1000))
POINT = ContinuousExponential(rate=Fraction(100), lower=0, upper=10)
BLOCKS = SampleAndAggregate(inner=QUIET, blocks=1, lower=-9, upper=9)
BASES: list[tuple[Mechanism, Any, dict[str, Any], int]] = [
    (POINT, [3, 4], {"scores": [0, 5, 0]}, 3),
    (BLOCKS, [1, 2, 3], {"function": sum}, 6),
]


@pytest.mark.parametrize(("base", "exact", "inputs", "answer"), BASES, ids=["breaks", "rows"])
def test_other_inputs_reach_the_mechanism_inside(base: Mechanism, exact: Any, inputs: Any, answer: int) -> None:
    """All of them could be made, and none of them released."""
    wrapped: list[Any] = [
        Grouped(base=base, size=2),
        PostProcessed(base=base, function="absolute"),
        Mixed(parts=(("1/2", base), ("1/2", base))),  # type: ignore[arg-type]
        BestOf(base=base, stop=Fraction(1, 2)),
        Grouped(base=BestOf(base=Grouped(base=base, size=2), stop=Fraction(1, 2)), size=2),
    ]
    name = next(iter(inputs))
    for mechanism in wrapped:
        assert answer_of(mechanism.release(exact, **inputs, bits=DeterministicBits(1))) == answer
        assert required(mechanism) == {name}
        with pytest.raises(InvalidParameterError, match=f"release needs {name}"):
            mechanism.release(exact)
        with pytest.raises(InvalidParameterError, match=f"release takes no {name}s. Did you mean {name}"):
            mechanism.release(exact, **{f"{name}s": 1})


def test_the_score_of_a_choice_inside_is_reached() -> None:
    inside = BestOf(base=QUIET, stop=Fraction(1, 2))
    seen: list[object] = []

    def score(release: object) -> float:
        seen.append(release)
        return 0.0

    for mechanism in (Grouped(base=inside, size=2), PoissonSampled(base=inside, rate=Fraction(1, 2), columns=1)):
        assert "score" in signature_of(mechanism).parameters
        seen.clear()
        mechanism.release([3], score=score)
        assert seen


def test_a_mixture_is_of_mechanisms_with_the_same_inputs() -> None:
    with pytest.raises(InvalidParameterError, match="parts must take the same inputs, got some with function"):
        Mixed(parts=(("1/2", BLOCKS), ("1/2", QUIET)))  # type: ignore[arg-type]
    inside = BestOf(base=QUIET, stop=Fraction(1, 2))
    mixed = Mixed(parts=(("999999/1000000", inside), ("1/1000000", QUIET)))  # type: ignore[arg-type]
    mixed.release([3])
    with pytest.raises(InvalidParameterError, match="release takes no score"):  # whichever part is drawn
        mixed.release([3], score=float)
    unknown = BestOfPoisson(base=QUIET, mean=Fraction(1, 10**6))
    with pytest.raises(InvalidParameterError, match="release takes no rows"):
        unknown.release([3], rows=[3])
