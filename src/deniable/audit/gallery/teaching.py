"""Mechanisms that keep (0, delta)-DP and publish rows all the same.

Their claims are true, so no audit accuses them; no ledger accepts them, because their losses are `TeachingLoss`.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import compress, product

from deniable.audit.gallery.chances import Chances
from deniable.audit.gallery.specimen import hang
from deniable.privacy import ApproximateLoss, PrivacyLoss
from deniable.privacy.constructors import TeachingLoss

DELTA = Fraction(1, 100)


def name_and_shame(records: Sequence[int], delta: Fraction = DELTA) -> Chances:
    """Return the distribution of records, each published with probability `delta`.

    (0, delta)-DP for units of one record, and (0, 1 - (1 - delta)^k)-DP for units of k records. At least one of n
    records is published with probability 1 - (1 - delta)^n: delta must be far below 1 / n.
    """
    law: Chances = {}
    for heads in product((False, True), repeat=len(records)):
        shown = tuple(compress(records, heads))
        chance = delta ** sum(heads) * (1 - delta) ** (len(records) - sum(heads))
        law[shown] = law.get(shown, Fraction(0)) + chance
    return law


def all_or_nothing(records: Sequence[int], delta: Fraction = DELTA) -> Chances:
    """Return the distribution of all records with probability `delta`, else nothing.

    It is (0, delta)-DP for any group."""
    return {(): 1 - delta, tuple(records): delta}


def random_record(records: Sequence[int], chance: Fraction = Fraction(1)) -> Chances:
    """Return the distribution of one random record with probability `chance`.

    Else nothing is published.

    The number n of records is public: (0, chance / n)-DP under replace.
    """
    share = chance / len(records)
    law = {(record,): share * records.count(record) for record in records}
    return law if chance == 1 else {(): 1 - chance, **law}


def _true_claim(delta: Fraction) -> PrivacyLoss:
    """Return the loss (0, delta), which no ledger accepts."""
    return TeachingLoss(ApproximateLoss(0, delta))


# fmt: off
hang("name and shame", "Nothing, by the definition: each row is published as it is with probability delta.",
     "Smith (2020), lecture notes", name_and_shame, (1, 2), (0, 2), claim=_true_claim(DELTA), truth=0.0)
hang("all or nothing", "Nothing, by the definition: the whole table is published with probability delta.",
     "Vadhan (2017), section 1.6", all_or_nothing, (1, 2), (0, 2), claim=_true_claim(DELTA), truth=0.0)
hang("one random record", "Nothing, by the definition: one of ten persons is exposed with certainty; delta is 1/10.",
     "Dwork, Roth (2014), section 2.3", random_record, (1,) + 9 * (0,), 10 * (0,), claim=_true_claim(Fraction(1, 10)),
     truth=0.0)
hang("one random record, rarely", "Nothing: a random record of ten, published with probability 1/100, costs 1/1000.",
     "errata E61", lambda records: random_record(records, DELTA), (1,) + 9 * (0,), 10 * (0,),
     claim=_true_claim(DELTA / 10), truth=0.0)
