"""Answers that are randomised by the people who give them."""

import math
from fractions import Fraction
from typing import Any

from deniable.audit.gallery.chances import Chances, event, independent
from deniable.audit.gallery.specimen import specimen


@specimen("randomised response as 4 gamma", epsilon="1.2", data=1, neighbour=0, truth=2 * math.atanh(0.6),
          source="errata E03")  # fmt: skip
def four_gamma(bit: Any) -> Chances:
    """The truth with probability 1/2 + gamma, for gamma = 0.3: epsilon is 2 atanh(2 gamma), which is more."""
    return event(Fraction(4, 5) if bit else Fraction(1, 5))


@specimen("ten answers accounted as two", epsilon=math.log(1.5), data=3, neighbour=4, truth=math.log(13.5),
          source="Kairouz, Bonawitz, Ramage (2016), arXiv:1602.07387, for the formula of k answers")  # fmt: skip
def many_answers(answer: Any) -> Chances:
    """The truth with probability 0.6: its odds are against one other answer, and not against all nine."""
    return {one: Fraction(3, 5) if one == answer else Fraction(2, 45) for one in range(10)}


@specimen("one-hot bits accounted as one", epsilon=math.log(4), data=0, neighbour=1, truth=2 * math.log(4),
          source="Wang, Blocki, Li, Jha (2017), for the formula of two bits")  # fmt: skip
def one_hot(answer: Any) -> Chances:
    """Each of three bits tells the truth with probability 0.8; two answers differ in two bits."""
    return independent([event(Fraction(4, 5) if bit == answer else Fraction(1, 5)) for bit in range(3)])


@specimen("pointwise privacy", epsilon=0, delta="0.01", data=0, neighbour=1, truth=math.inf,
          source="Kamath, CS 860, lecture 5")  # fmt: skip
def pointwise(record: Any) -> Chances:
    """The record beside a number out of 100: each output has probability 0.01, and all of them tell the record."""
    return {(record, number): Fraction(1, 100) for number in range(100)}


@specimen("tail of the loss as delta", epsilon=0, delta="0.09", data=0, neighbour=1, source="errata E07")
def moved_tenth(bit: Any) -> Chances:
    """Total variation 0.1 needs delta 0.1 at epsilon 0."""
    return event(Fraction(55, 100) if bit else Fraction(45, 100))


@specimen("total variation", epsilon=0, delta="0.1", data=0, neighbour=1, sound=True, source="errata E07")
def sound(bit: Any) -> Chances:
    """Nothing, though the loss is above 0 with probability 1."""
    return moved_tenth(bit)


@specimen("randomised response", epsilon=math.log(4) * (1 + 1e-12), data=1, neighbour=0, truth=math.log(4), sound=True,
          source="Warner (1965)")  # fmt: skip
def warner(bit: Any) -> Chances:
    """Nothing: the truth with probability 0.8."""
    return four_gamma(bit)


@specimen("all or nothing", epsilon=0, delta="0.01", data=0, neighbour=1, truth=0.0, sound=True,
          source="Vadhan (2017), section 1.6")  # fmt: skip
def all_or_nothing(record: Any) -> Chances:
    """Nothing, by the definition: everything is shown with probability delta."""
    return {"nothing": Fraction(99, 100), record: Fraction(1, 100)}
