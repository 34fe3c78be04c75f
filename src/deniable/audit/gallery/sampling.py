"""Amplification that is claimed and not there: sampling, batches, steps."""

import math
from fractions import Fraction
from typing import Any

from deniable.audit.gallery.chances import Chances, above, binomial, event, laplace, normal
from deniable.audit.gallery.specimen import hang
from deniable.numbers.balls import ball

_TUTORIAL = "a tutorial's DP-SGD program; errata "

# fmt: off

def replaced_record(record: Any) -> Chances:
    with_it, without = (above(laplace(1), value, 1)[True] for value in (record, 0))
    return event(with_it / 5 + without * 4 / 5)

hang("Poisson sampling under replace",
     "ln(1 + q(e^epsilon - 1)) holds under add/remove; a record that is replaced changes the sample in both worlds.",
     "errata E11", replaced_record, -1, 1, epsilon="0.295395", truth=0.430555)

def drawn_size(size: Any) -> Chances:
    chances = binomial(size, Fraction(3, 5))
    cells: dict[Any, Any] = {"no step": chances.pop(0)}
    cells |= dict.fromkeys(range(9), ball(Fraction(0)))
    for batch, chance in chances.items():
        noise = normal(Fraction(50, batch))  # gradients are 0; cells of its size, 10 wide
        for cell in range(9):
            end = 1 if cell == 8 else 1 - 2 * noise(Fraction(-10 * (cell + 1)))
            cells[cell] += ball(chance) * (end - (1 - 2 * noise(Fraction(-10 * cell))))
    return cells

hang("division by the drawn batch size",
     "Noise over the number of sampled records: its scale tells how many there were.", _TUTORIAL + "E58", drawn_size, 1,
     2, epsilon="0.1", delta="1e-9")
hang("no step on an empty batch",
     "A batch without records publishes no noise: how often that happens depends on the number of records.",
     _TUTORIAL + "E59", lambda size: event(Fraction(2, 5) ** size), 5, 6, epsilon="0.5", delta="1e-6")
hang("fixed batches accounted as Poisson",
     "One epoch at rate 0.01 and noise 0.8: each record is in one of the batches for certain.",
     "Chua et al. (2024), arXiv:2403.17673; errata E69",
     lambda gradient: above(normal(Fraction(4, 5)), gradient, Fraction("1.4696")), 1, 0, epsilon="1.515", delta="1e-5")

def one_record(gradient: Any) -> Chances:
    noise = normal(Fraction("0.01052"))
    return event((1 - noise(Fraction(1, 2) - gradient)) / 1000 + (1 - noise(Fraction(1, 2))) * 999 / 1000)

hang("one record a step with little noise",
     "sigma = 2 sqrt(2 ln(1/delta))/(n epsilon) is for all n = 1000 records; one is drawn, and shows when it is.",
     "errata E35", one_record, 1, 0, delta="1e-6")
hang("amplification claimed twice", "One sample of rate 1/2, whose amplification two transformations count.",
     "OpenDP, issues 2932 and 2933", lambda bit: event((Fraction(269, 1000) + Fraction(731 if bit else 269, 1000)) / 2),
     1, 0, epsilon=math.log1p(0.25 * (math.e - 1)), truth=math.log1p(0.5 * (math.e - 1)))
hang("Poisson sampling", "Nothing: the same mechanism under add/remove.", "errata E11", replaced_record, 1, 0,
     epsilon="0.295395", truth=0.295395)
