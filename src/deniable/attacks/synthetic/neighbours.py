"""Linkage and inference through the synthetic rows nearest to a person."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.attacks.frames import read_names
from deniable.attacks.numbers import real, start_dice, whole
from deniable.attacks.result import AttackResult, Comparison
from deniable.attacks.synthetic.risk import judge
from deniable.attacks.synthetic.singling_out import single_out
from deniable.attacks.synthetic.tables import CodedTable, nearest, read_tables
from deniable.errors import InvalidParameterError


def link_halves(
    original: Any,
    synthetic: Any,
    control: Any,
    *,
    left: Sequence[str],
    right: Sequence[str],
    attacks: int = 500,
    seed: int = 0,
) -> AttackResult:
    """Link two halves of a person's record through the nearest synthetic row.

    They are linked if the same synthetic row is nearest to both.

    Args:
        original: frame of pandas, Polars or Arrow: the people whom the synthesiser has seen.
        synthetic: likewise; its columns are the ones used.
        control: likewise: people whom the synthesiser has not seen.
        left: columns of the first half.
        right: columns of the second half, none of them in the first.
        attacks: largest number of people, in each of the original and the control.
        seed: of the draw of people.

    Raises: InvalidParameterError for tables or columns that do not fit.
    Source: Giomi, Boenisch, Wehmeyer, Tasnadi (2023), arXiv:2211.10459.

    >>> import polars as pl
    >>> people = pl.DataFrame({"age": range(40), "pay": range(40)})
    >>> others = pl.DataFrame({"age": range(40), "pay": reversed(range(40))})
    >>> link_halves(people, people, others, left=["age"], right=["pay"]).success.value
    1.0
    """
    tables = read_tables(original, synthetic, control)
    left = read_names(left, role="left")
    right = read_names(right, role="right")
    if set(left) & set(right):
        raise InvalidParameterError("left and right must not name a column in both")
    halves = [tables[1].indices(list(names)) for names in (left, right)]
    rows = [[nearest(one, tables[1], half) for half in halves] for one in _drawn(tables, attacks, seed)]
    inside, outside = (first == second for first, second in rows)
    chance = 1 / len(tables[1])
    return judge("Linkage of two halves", "two halves of one person", right=inside, control=outside, chance=chance)


def infer_from_synthetic(
    original: Any,
    synthetic: Any,
    control: Any,
    *,
    secret: str,
    known: Sequence[str] | None = None,
    tolerance: float = 0.05,
    attacks: int = 500,
    seed: int = 0,
) -> AttackResult:
    """Infer a person's secret from the nearest synthetic row.

    It is nearest in the columns known.

    A label or a missing value must be equal to be right. A number is right if |guess - secret| <= tolerance |secret|,
    so that a secret 0 must be guessed exactly; a time, which has no zero, within tolerance times the synthetic range.

    Args:
        original, synthetic, control, attacks, seed: as for `link_halves`.
        secret: column to infer.
        known: columns that the attacker knows; None takes all others.
        tolerance: relative, at least 0.

    Raises: InvalidParameterError for tables or columns that do not fit.
    Source: Giomi, Boenisch, Wehmeyer, Tasnadi (2023), arXiv:2211.10459.

    >>> import polars as pl
    >>> people = pl.DataFrame({"age": range(40), "debt": [-7.0 * age for age in range(40)]})
    >>> others = pl.DataFrame({"age": range(40), "debt": [3.0] * 40})
    >>> infer_from_synthetic(people, people, others, secret="debt").facts["success on the control"]
    '4.4% (0.0% to 8.8%)'
    """
    tables = read_tables(original, synthetic, control)
    if not real("tolerance", tolerance) >= 0:
        raise InvalidParameterError(f"tolerance must be >= 0, got {tolerance}")
    names = [name for name in tables[1].names if name != secret] if known is None else read_names(known, role="known")
    if not names or secret in names:
        raise InvalidParameterError("known must name at least one column, and not the secret one")
    column = tables[1].indices([secret])[0]
    compared = tables[1].indices(names)
    kind = tables[1].kinds[column]
    pool = tables[1].rows[:, column]

    def right(truth: Any, guess: Any) -> NDArray[np.bool_]:
        same = (guess == truth) | (np.isnan(guess) & np.isnan(truth))
        if kind == "label":
            return np.asarray(same)
        if kind == "number":
            scale = np.abs(truth)
        else:
            known = pool[~np.isnan(pool)]
            scale = np.ptp(known) if len(known) else 0
        return np.asarray(same | (np.abs(guess - truth) <= tolerance * scale))

    people, others = _drawn(tables, attacks, seed)
    inside, outside = (
        right(table.rows[:, column], pool[nearest(table, tables[1], compared)]) for table in (people, others)
    )
    values, counts = np.unique(pool, return_counts=True)
    blind = float(np.mean(right(people.rows[:, column], values[counts.argmax()])))  # the commonest value for everybody
    return judge(f"Inference of {secret}", f"a person's {secret}", right=inside, control=outside, chance=blind)


def _drawn(tables: tuple[CodedTable, CodedTable, CodedTable], attacks: int, seed: int) -> list[CodedTable]:
    """Draw people from the original and from the control."""
    dice = start_dice(seed)
    return [table.draw(whole("attacks", attacks), dice) for table in (tables[0], tables[2])]


def measure_synthetic_risk(
    original: Any, synthetic: Any, control: Any, *, attacks: int = 500, seed: int = 0
) -> Comparison:
    """Run every attack on a synthetic table.

    The attacks are singling out, linkage of two halves of the columns, and inference of each column.

    Args:
        original, synthetic, control, attacks, seed: as for `link_halves`; the first half of the columns is
            linked with the second.

    Returns: name of an attack -> result. An attack that finds no predicate is left out.

    Raises: InvalidParameterError for tables that do not fit.

    >>> import polars as pl
    >>> people = pl.DataFrame({"age": range(40), "pay": range(40)})
    >>> others = pl.DataFrame({"age": range(40), "pay": reversed(range(40))})
    >>> list(measure_synthetic_risk(people, people, others))
    ['singling out, 1 column', 'singling out, 2 columns', 'linkage', 'inference of age', 'inference of pay']
    """
    tables: tuple[Any, ...] = (original, synthetic, control)
    names = list(read_tables(*tables)[1].names)
    settings: Any = {"attacks": whole("attacks", attacks), "seed": seed}
    start_dice(seed)
    results: dict[str, AttackResult] = {}
    for columns in dict.fromkeys((1, min(4, len(names)))):
        with suppress(InvalidParameterError):  # no predicate singles out one row
            result = single_out(*tables, columns=columns, **settings)
            results[f"singling out, {columns} column{'s' if columns > 1 else ''}"] = result
    if len(names) > 1:
        half = (len(names) + 1) // 2
        results["linkage"] = link_halves(*tables, left=names[:half], right=names[half:], **settings)
        results |= {f"inference of {name}": infer_from_synthetic(*tables, secret=name, **settings) for name in names}
    return Comparison(results)
