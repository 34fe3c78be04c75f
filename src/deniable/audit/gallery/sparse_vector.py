"""Sparse vector techniques: noisy answers to "is it above the threshold?", four of six published ones wrong."""

import math
from fractions import Fraction
from typing import Any

from deniable.audit.gallery.chances import Chances, event, laplace, threshold_answers
from deniable.audit.gallery.specimen import specimen

_SURVEY = "Lyu, Su, Li (2017), arXiv:1603.01699; errata E64"


@specimen("sparse vector of Stoddard et al.", data=(0, 1), neighbour=(1, 0), truth=math.inf, source=_SURVEY)
def stoddard(answers: Any) -> Chances:
    """The threshold is noisy and the answers are not: one noise cannot hide two of them."""
    low, high = answers  # the event is (below, above): the threshold lies between them
    cells = laplace(2)
    return event(cells(Fraction(high)) - cells(Fraction(low)) if high > low else Fraction(0))


@specimen("sparse vector of Lee and Clifton", data=(0,) * 8 + (1,), neighbour=(1,) * 8 + (0,), truth=1.75,
          source=_SURVEY)  # fmt: skip
def lee_clifton(answers: Any) -> Chances:
    """The noise of the answers forgets how often one may say "above", and that both directions can move."""
    pattern = [False] * 8 + [True]
    return event(threshold_answers(answers, pattern, threshold_scale=4, query_scale=Fraction(4, 3)))


@specimen("sparse vector of Chen et al.", data=(0,) * 8, neighbour=(1, 1, 1, 1, -1, -1, -1, -1), truth=math.inf,
          source=_SURVEY)  # fmt: skip
def chen(answers: Any) -> Chances:
    """One may say "above" without limit; epsilon grows with the stream."""
    return event(threshold_answers(answers, [False] * 4 + [True] * 4, threshold_scale=2, query_scale=2))


@specimen("sparse vector of Roth's lecture notes", data=(0,) * 6 + (1,), neighbour=(1,) * 6 + (0,), truth=math.inf,
          source=_SURVEY)  # fmt: skip
def lecture_notes(answers: Any) -> Chances:
    """The noisy answer that was compared is printed too, which tells how high the threshold at most was."""
    pattern = [False] * 6 + [True]
    return event(threshold_answers(answers, pattern, threshold_scale=2, query_scale=2, value=(-1, 0)))


@specimen("sparse vector without its factor c", data=(0,) * 8 + (1,) * 3, neighbour=(1,) * 8 + (0,) * 3, truth=2.0,
          source="errata E64")  # fmt: skip
def without_count(answers: Any) -> Chances:
    """Three answers "above" are allowed with the noise of one."""
    return event(threshold_answers(answers, [False] * 8 + [True] * 3, threshold_scale=2, query_scale=4))


@specimen("sparse vector with monotone noise", data=(0,) * 8 + (1,), neighbour=(1,) * 8 + (0,), truth=1.5,
          source="errata E64")  # fmt: skip
def monotone_noise(answers: Any) -> Chances:
    """The answers have half of the noise, which is enough for counts alone, and these move up and down."""
    return event(threshold_answers(answers, [False] * 8 + [True], threshold_scale=2, query_scale=2))


@specimen("sparse vector", data=(0,) * 8 + (1,), neighbour=(1,) * 8 + (0,), truth=1.0, sound=True, source=_SURVEY)
def sound(answers: Any) -> Chances:
    """Nothing: algorithm 1 of the survey, with one answer "above"."""
    return event(threshold_answers(answers, [False] * 8 + [True], threshold_scale=2, query_scale=4))
