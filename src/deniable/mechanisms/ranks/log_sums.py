"""Sums of exponentials in logarithms, never below the truth and hardly above it.

Guarantee: the results bound ln sum exp(h) from above for the floats h as they are given. exp and log are those with a
proved error; the one running sum of the C library, which has none, is lifted a little, and then each of its steps is
checked with a proved exp.
"""

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.numbers.certified import exp_of_minus, log

_STEP = 2.0**-36  # by which running sums are lifted at every step
_ROUNDING = 2.0**-40  # above the errors of exp_of_minus, of its argument up to 700, and of a sum of two
_LARGEST_TERMS = 2.0**12


def total(terms: Floats) -> Floats:
    """Return ln sum exp(terms) along the first axis, of at most 2^12 terms each."""
    assert len(terms) <= _LARGEST_TERMS
    highest = terms.max(axis=0)
    top = np.where(np.isfinite(highest), highest, 0.0)
    sums = exp_of_minus(top - terms).sum(axis=0)
    return np.where(np.isfinite(highest), _lifted(top + log(sums), _ROUNDING * 2), -np.inf)


def running(terms: Floats) -> Floats:
    """Return ln of the running sums of exp(terms) along the last axis."""
    sums: Floats = np.logaddexp.accumulate(terms, axis=-1)
    steps = 1 + np.arange(terms.shape[-1])
    known = np.isfinite(sums)
    largest_exponent = float(np.abs(sums[known]).max(initial=1.0))
    sums = sums + steps * (_STEP + largest_exponent * 2.0**-50)
    _check(sums, terms)
    return sums


def sliding(terms: Floats, length: int) -> Floats:
    """Return ln of the sums of exp(terms) over each window [i, i + length)."""
    count = terms.size - length + 1
    blocks = -(-terms.size // length)
    padded = np.full(blocks * length, -np.inf)
    padded[: terms.size] = terms
    cut = padded.reshape(blocks, length)
    ahead = running(cut).ravel()  # from the start of a block
    behind = running(cut[:, ::-1])[:, ::-1].ravel()  # to its end
    first = np.arange(count)
    both = total(np.stack([behind[first], ahead[first + length - 1]]))
    return np.where(first % length == 0, behind[first], both)


def _check(sums: Floats, terms: Floats) -> None:
    """Each step of a running sum holds the one before it and its own term."""
    before = np.concatenate([np.full((*sums.shape[:-1], 1), -np.inf), sums[..., :-1]], axis=-1)
    top = np.where(np.isfinite(sums), sums, 0.0)
    held = exp_of_minus(np.maximum(top - before, 0.0)) + exp_of_minus(np.maximum(top - terms, 0.0))
    short = (held > 1 - _ROUNDING) | (before > sums) | (terms > sums)
    if np.any(short & np.isfinite(sums)) or np.any(np.isfinite(terms) & ~np.isfinite(sums)):
        raise ArithmeticError("the logarithms of this machine are off by more than 2^-36")


def _lifted(values: Floats, relative: float) -> Floats:
    """A little above, in proportion and absolutely."""
    return values + relative * (1 + np.abs(values) * 2.0**-8)
