"""Sparse vector techniques, four of six published ones wrong.

They give noisy answers to "is it above the threshold?".
"""

from collections.abc import Sequence
from fractions import Fraction
from math import inf

from deniable.audit.gallery.chances import Chances, event, laplace, threshold_answers
from deniable.audit.gallery.specimen import hang

_SURVEY = "Lyu, Su, Li (2017), arXiv:1603.01699; errata E64"


def _last_above(
    answers: Sequence[int],
    threshold: Fraction | int,
    query: Fraction | int,
    last: int = 1,
    value: tuple[int, int] | None = None,
) -> Chances:
    """Whether only the last answers are above, with noise of these scales."""
    pattern = [False] * (len(answers) - last) + [True] * last
    return event(threshold_answers(answers, pattern, threshold_scale=threshold, query_scale=query, value=value))


# fmt: off
hang("sparse vector of Stoddard et al.",
     "The threshold is noisy and the answers are not: one noise cannot hide two of them.", _SURVEY,
     lambda answers: event(laplace(2)(Fraction(1)) - laplace(2)(Fraction(0)) if answers == (0, 1) else Fraction(0)),
     (0, 1), (1, 0), truth=inf)
hang("sparse vector of Lee and Clifton",
     'The noise of the answers forgets how often one may say "above", and that both directions can move.', _SURVEY,
     lambda answers: _last_above(answers, 4, Fraction(4, 3)), (0,) * 8 + (1,), (1,) * 8 + (0,), truth=1.75)
hang("sparse vector of Chen et al.", 'One may say "above" without limit; epsilon grows with the stream.', _SURVEY,
     lambda answers: _last_above(answers, 2, 2, last=4), (0,) * 8, (1, 1, 1, 1, -1, -1, -1, -1), truth=inf)
hang("sparse vector of Roth's lecture notes",
     "The noisy answer that was compared is printed too, which tells how high the threshold at most was.", _SURVEY,
     lambda answers: _last_above(answers, 2, 2, value=(-1, 0)), (0,) * 6 + (1,), (1,) * 6 + (0,), truth=inf)
hang("sparse vector without its factor c", 'Three answers "above" are allowed with the noise of one.', "errata E64",
     lambda answers: _last_above(answers, 2, 4, last=3), (0,) * 8 + (1,) * 3, (1,) * 8 + (0,) * 3, truth=2.0)
hang("sparse vector with monotone noise",
     "The answers have half of the noise, which is enough for counts alone, and these move up and down.", "errata E64",
     lambda answers: _last_above(answers, 2, 2), (0,) * 8 + (1,), (1,) * 8 + (0,), truth=1.5)
hang("sparse vector", 'Nothing: algorithm 1 of the survey, with one answer "above".', _SURVEY,
     lambda answers: _last_above(answers, 2, 4), (0,) * 8 + (1,), (1,) * 8 + (0,), truth=1.0)
