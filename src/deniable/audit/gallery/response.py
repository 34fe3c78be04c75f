"""Answers that are randomised by the people who give them."""

import math
from fractions import Fraction
from math import inf
from typing import Any

from deniable.audit.gallery.chances import Chances, event
from deniable.audit.gallery.specimen import hang
from deniable.audit.laws import combine_laws

# fmt: off

def four_gamma(bit: Any) -> Chances:
    return event(Fraction(4, 5) if bit else Fraction(1, 5))

hang("randomised response as 4 gamma",
     "The truth with probability 1/2 + gamma, for gamma = 0.3: epsilon is 2 atanh(2 gamma), which is more.",
     "errata E03", four_gamma, 1, 0, epsilon="1.2", truth=2 * math.atanh(0.6))
hang("ten answers accounted as two",
     "The truth with probability 0.6: its odds are against one other answer, and not against all nine.",
     "Kairouz, Bonawitz, Ramage (2016), arXiv:1602.07387, for the formula of k answers",
     lambda answer: {one: Fraction(3, 5) if one == answer else Fraction(2, 45) for one in range(10)}, 3, 4,
     epsilon=math.log(1.5), truth=math.log(13.5))
hang("one-hot bits accounted as one",
     "Each of three bits tells the truth with probability 0.8; two answers differ in two bits.",
     "Wang, Blocki, Li, Jha (2017), for the formula of two bits",
     lambda answer: combine_laws([event(Fraction(4, 5) if bit == answer else Fraction(1, 5)) for bit in range(3)]), 0,
     1, epsilon=math.log(4), truth=2 * math.log(4))
hang("pointwise privacy",
     "The record beside a number out of 100: each output has probability 0.01, and all of them tell the record.",
     "Kamath, CS 860, lecture 5", lambda record: {(record, number): Fraction(1, 100) for number in range(100)}, 0, 1,
     epsilon=0, delta="0.01", truth=inf)

def moved_tenth(bit: Any) -> Chances:
    return event(Fraction(55, 100) if bit else Fraction(45, 100))

hang("tail of the loss as delta", "Total variation 0.1 needs delta 0.1 at epsilon 0.", "errata E07", moved_tenth, 0, 1,
     epsilon=0, delta="0.09")
hang("total variation", "Nothing, though the loss is above 0 with probability 1.", "errata E07", moved_tenth, 0, 1,
     epsilon=0, delta="0.1")
hang("randomised response", "Nothing: the truth with probability 0.8.", "Warner (1965)", four_gamma, 1, 0,
     epsilon=math.log(4) * (1 + 1e-12), truth=math.log(4))
