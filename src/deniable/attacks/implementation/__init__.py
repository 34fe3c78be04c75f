"""Attacks on implementations: floats, generators, sums, clocks, errors, repeats.

Each breaks textbook code whose formula is right, and treats that code as a black box.
"""

from deniable.attacks.implementation.failures import distinguish_by_failure
from deniable.attacks.implementation.precision import CENTERS, addable, distinguish_by_precision, grain, read_precision
from deniable.attacks.implementation.repeats import average_repeats, overspend
from deniable.attacks.implementation.sums import distinguish_by_sum
from deniable.attacks.implementation.support import BOX_MULLER, LAPLACE, FloatSampler, reachable
from deniable.attacks.implementation.support import distinguish_by_support as distinguish_by_support
from deniable.attacks.implementation.timing import guess_noise_by_time, measure_work
from deniable.attacks.implementation.twister import (
    MT19937,
    MT19937_64,
    Twister,
    laplace_of_words,
    predict_words,
    recover_seed,
    recover_state,
)

__all__ = [
    "BOX_MULLER",
    "CENTERS",
    "LAPLACE",
    "MT19937",
    "MT19937_64",
    "FloatSampler",
    "Twister",
    "addable",
    "average_repeats",
    "distinguish_by_failure",
    "distinguish_by_precision",
    "distinguish_by_sum",
    "distinguish_by_support",
    "grain",
    "guess_noise_by_time",
    "laplace_of_words",
    "measure_work",
    "overspend",
    "predict_words",
    "reachable",
    "read_precision",
    "recover_seed",
    "recover_state",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
