"""Secret records in order, and the loss of a unit that owns several."""

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.rationals import exact_rational, shown
from deniable.privacy import AddRemove, PrivacyLoss, Relation, Replace, Sensitivity
from deniable.privacy.composition.group import MAX_MEMBERS
from deniable.rows import left_out, replaced


def loss_of_rows(
    loss: PrivacyLoss,
    sensitivity: Sensitivity,
    *,
    proved: frozenset[Relation] = frozenset({Replace}),
    counted: bool = True,
) -> PrivacyLoss:
    """Return the loss of a unit with several records, from that of one record.

    Args:
        loss: of one record.
        sensitivity: of the number of records: of_count(rows=..., groups=1, cells=1, relation=...).
        proved: the relations for which the loss of one record is proved.
        counted: the loss of one record under replace is that of tables with the same number of records.

    Raises: UnprovedError for several records under replace where they are counted. A sensitivity says "at most so
        many", so that a unit may exchange one record for two, which is not a group of exchanges: `SmoothTrimmedMean` of
        one record against two loses seven times what a group of one is said to at epsilon = 0.1, and
        `ProposeTestRelease` of [15] against [0, 0] ten times its delta.
    """
    records = records_of(sensitivity, proved=proved)
    if counted and records > 1 and sensitivity.relation is Replace:
        raise UnprovedError(
            f"this mechanism is proved for one record a unit under replace, got up to {records}. Cut every unit to one "
            "record, or use AddRemove with a mechanism that is proved for it, such as SmoothMedian."
        )
    if records > MAX_MEMBERS:
        raise InvalidParameterError(f"a unit may own at most {MAX_MEMBERS} records here, got l1={records}")
    return (loss.group(records) if records > 1 else loss).under(sensitivity.relation)


def records_of(sensitivity: Sensitivity, *, proved: frozenset[Relation]) -> int:
    """Return the number of records that a unit owns.

    Args:
        sensitivity: of the number of records: of_count(rows=..., groups=1, cells=1, relation=...).
        proved: the relations for which the loss of one record is proved.

    Raises: UnprovedError for another relation.
    """
    if sensitivity.relation not in proved:
        other = " See InverseMedian, SmoothMedian, SmoothCentralMean." if sensitivity.relation is AddRemove else ""
        raise UnprovedError(
            f"this mechanism is proved for {', '.join(map(str, proved))}, not for {sensitivity.relation}.{other}"
        )
    if sensitivity.l1.denominator != 1:
        raise InvalidParameterError(
            f"a unit owns a whole number of records, got l1={sensitivity.l1}. "
            "Pass of_count(rows=..., groups=1, cells=1, relation=...)."
        )
    return max(int(sensitivity.l1), 1)


def clamped_records(exact: ArrayLike, lower: int, upper: int, *, relation: Relation) -> NDArray[np.int64]:
    """Return the records in order, clamped to public bounds.

    Their number, which may be private, is in no message.

    Entries that are not numbers are left out under add/remove, and count as the middle of the bounds under replace.

    Raises: InvalidParameterError if there is no record under replace, where their number is public.
    """
    if relation is AddRemove:
        return np.sort(left_out("exact", exact, lower=lower, upper=upper))
    records = replaced("exact", exact, by=(lower + upper) // 2, lower=lower, upper=upper)
    if not records.size:
        raise InvalidParameterError("there must be at least one record, got none")
    return np.sort(records)


def checked_quantile(name: str, quantile: object) -> Fraction:
    """Return a number of [0, 1], exact."""
    value = exact_rational(name, quantile)
    if not 0 <= value <= 1:
        raise InvalidParameterError(f"{name} must be in [0, 1], got {shown(quantile)}")
    return value


def rank_of(quantile: Fraction, count: int) -> int:
    """Return the rank ceil(quantile count), and 1 for the quantile 0."""
    return max(-(-quantile.numerator * count // quantile.denominator), 1)
