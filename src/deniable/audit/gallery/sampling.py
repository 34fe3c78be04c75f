"""Amplification that is claimed and not there: sampling, batches, steps."""

import math
from fractions import Fraction
from typing import Any

from deniable.audit.gallery.chances import Chances, above, binomial, event, laplace, normal
from deniable.audit.gallery.specimen import specimen
from deniable.numbers.balls import ball

_TUTORIAL = "a tutorial's DP-SGD program; errata "


@specimen("Poisson sampling under replace", epsilon="0.295395", data=-1, neighbour=1, truth=0.430555,
          source="errata E11")  # fmt: skip
def replaced_record(record: Any) -> Chances:
    """ln(1 + q(e^epsilon - 1)) holds under add/remove; a record that is replaced changes the sample in both worlds."""
    with_it, without = (above(laplace(1), value, 1)[True] for value in (record, 0))
    return event(with_it / 5 + without * 4 / 5)


@specimen("division by the drawn batch size", epsilon="0.1", delta="1e-9", data=1, neighbour=2,
          source=_TUTORIAL + "E58")  # fmt: skip
def drawn_size(size: Any) -> Chances:
    """Noise over the number of sampled records: its scale tells how many there were."""
    chances = binomial(size, Fraction(3, 5))
    cells: dict[Any, Any] = {"no step": chances.pop(0)}
    cells |= dict.fromkeys(range(9), ball(Fraction(0)))
    for batch, chance in chances.items():
        noise = normal(Fraction(50, batch))  # gradients are 0; cells of its size, 10 wide
        for cell in range(9):
            end = 1 if cell == 8 else 1 - 2 * noise(Fraction(-10 * (cell + 1)))
            cells[cell] += ball(chance) * (end - (1 - 2 * noise(Fraction(-10 * cell))))
    return cells


@specimen("no step on an empty batch", epsilon="0.5", delta="1e-6", data=5, neighbour=6, source=_TUTORIAL + "E59")
def empty_batch(size: Any) -> Chances:
    """A batch without records publishes no noise: how often that happens depends on the number of records."""
    return event(Fraction(2, 5) ** size)


@specimen("fixed batches accounted as Poisson", epsilon="1.515", delta="1e-5", data=1, neighbour=0,
          source="Chua et al. (2024), arXiv:2403.17673; errata E69")  # fmt: skip
def fixed_batches(gradient: Any) -> Chances:
    """One epoch at rate 0.01 and noise 0.8: each record is in one of the batches for certain."""
    sigma = Fraction(4, 5)
    return above(normal(sigma), gradient, Fraction("1.515") * sigma**2 + Fraction(1, 2))


@specimen("one record a step with little noise", epsilon=1, delta="1e-6", data=1, neighbour=0, source="errata E35")
def one_record(gradient: Any) -> Chances:
    """sigma = 2 sqrt(2 ln(1/delta))/(n epsilon) is for all n = 1000 records; one is drawn, and shows when it is."""
    noise = normal(Fraction("0.01052"))
    return event((1 - noise(Fraction(1, 2) - gradient)) / 1000 + (1 - noise(Fraction(1, 2))) * 999 / 1000)


@specimen("amplification claimed twice", epsilon=math.log1p(0.25 * (math.e - 1)), data=1, neighbour=0,
          truth=math.log1p(0.5 * (math.e - 1)), source="OpenDP, issues 2932 and 2933")  # fmt: skip
def claimed_twice(bit: Any) -> Chances:
    """One sample of rate 1/2, whose amplification two transformations count."""
    truth = Fraction(731, 1000)
    return event((1 - truth + (truth if bit else 1 - truth)) / 2)


@specimen("Poisson sampling", epsilon="0.295395", data=1, neighbour=0, truth=0.295395, sound=True, source="errata E11")
def sound(record: Any) -> Chances:
    """Nothing: the same mechanism under add/remove."""
    return replaced_record(record)
