"""Answers that are kept, and reports that start from them."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from deniable.audit.gallery.chances import Chances
from deniable.audit.gallery.specimen import hang

_KEPT = Fraction(3, 4)  # of permanent answers, and of reports, that are true: epsilon is ln 3

# fmt: off

def kept_bits(history: Sequence[int], truthful: Fraction = Fraction(1)) -> Chances:
    """Return the distribution of bits that report one kept answer for each value.

    A bit is the kept answer with probability `truthful`.
    """
    values = sorted(set(history))
    chances = dict.fromkeys(product((0, 1), repeat=len(history)), Fraction(0))
    for answers in product((0, 1), repeat=len(values)):
        chance = math.prod((_KEPT if bit == value else 1 - _KEPT for bit, value in zip(answers, values, strict=True)),
                           start=Fraction(1))
        known = dict(zip(values, answers, strict=True))
        for sent in chances:
            same = sum(bit == known[value] for bit, value in zip(sent, history, strict=True))
            chances[sent] += chance * truthful**same * (1 - truthful)**(len(history) - same)
    return {sent: chance for sent, chance in chances.items() if chance}

_OURS = "this library before 2026-11-28, of the clients of arXiv:1712.01524"

hang("kept bits of a value that changes",
     "Three days were said to cost 3 epsilon; bits of one value never differ, and those of two values do.", _OURS,
     kept_bits, (0, 0, 0), (0, 0, 1), epsilon=3 * math.log(3), truth=math.inf)
hang("kept bits, told with noise",
     "Two answers were charged for ten days; the more reports start from each, the surer it is that they differ.",
     "this library before 2026-11-28, of the clients of arXiv:1407.6981",
     lambda history: kept_bits(history, Fraction(9, 10)), (0,) * 10, (0,) * 5 + (1,) * 5, epsilon=2 * math.log(3))
hang("kept bits of a value that stays", "Nothing: all reports are one answer.",
     "Ding, Kulkarni, Yekhanin (2017), arXiv:1712.01524", kept_bits, (0, 0, 0), (1, 1, 1),
     epsilon=math.log(3) * (1 + 1e-12), truth=math.log(3))
