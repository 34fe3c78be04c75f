"""Attacks on implementations: floats, generators, sums, clocks, errors, repeats.

Each breaks textbook code whose formula is right, and treats that code as a black box.
"""

from deniable.attacks.implementation.failures import tell_apart_by_failure
from deniable.attacks.implementation.precision import CENTERS, addable, grain, read_precision, tell_apart_by_precision
from deniable.attacks.implementation.repeats import average_repeats, overspend
from deniable.attacks.implementation.sums import tell_apart_by_sum
from deniable.attacks.implementation.support import BOX_MULLER, LAPLACE, FloatSampler, reachable
from deniable.attacks.implementation.support import tell_apart_by_support as tell_apart_by_support
from deniable.attacks.implementation.timing import measure_work, tell_noise_by_time
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
    "BOX_MULLER", "CENTERS", "LAPLACE", "MT19937", "MT19937_64", "FloatSampler", "Twister", "addable",
    "average_repeats", "grain", "laplace_of_words", "measure_work", "overspend", "predict_words", "reachable",
    "read_precision", "recover_seed", "recover_state", "tell_apart_by_failure", "tell_apart_by_precision",
    "tell_apart_by_sum", "tell_apart_by_support", "tell_noise_by_time",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
