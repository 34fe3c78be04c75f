"""A loss in plain words: what is guaranteed, what it was proved for, and what an attacker can still learn."""

import html
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.numbers.interval import Interval, round_down, round_up
from deniable.numbers.rationals import Real, decimal_text, positive_integer, probability
from deniable.privacy.caution import caution
from deniable.privacy.notions.tradeoff import TradeOff
from deniable.privacy.relation import Relation
from deniable.privacy.reports.comparison import Account, accounts
from deniable.privacy.statement import Statement

if TYPE_CHECKING:
    from deniable.privacy.loss import PrivacyLoss

ALARMS = (0.001, 0.01, 0.1)  # false positive rates of the report
PRIORS = (Fraction(1, 100), Fraction(1, 2))

_MEANING = {
    Relation.ADD_REMOVE: "data sets with all rows of one unit and without them (add/remove)",
    Relation.REPLACE: "data sets in which the rows of one unit are exchanged for any others (replace)",
}
_COIN = (
    "each unit joins each sample by a coin of its own (Poisson sampling), and nobody sees who did. Shuffled batches of "
    "a fixed size are another mechanism, which can cost far more."
)
_REAL = "the noise is a real number. What floating point adds, in a program that draws it, is not counted."
_PLAN = "the number of runs and all settings were chosen before the first answer was seen."
_ASSUMED = {  # kind of a loss: what its guarantee rests on
    "poisson_sampled": _COIN,
    "poisson_replaced": _COIN,
    "capped_poisson": _COIN,
    "subset_sampled": "each sample is a set of a fixed, public size, drawn evenly and anew; nobody sees who is in it.",
    "randomly_allocated": "each unit is put into evenly drawn runs, and nobody sees into which.",
    "last_iterate": "the loss functions are as smooth and convex as stated, and only the last iterate is seen.",
    "parallel": "all data of a unit lie in one part.",
    "shuffled": "reports are shuffled by a party that is trusted, and arrive without names or times.",
    "gaussian": _REAL,
    "laplace": _REAL,
    "gaussian_mixture": _REAL,
    "truncated_laplace": _REAL,
}


@dataclass(frozen=True, repr=False)
class Report:
    """What `loss.report(delta=...)` says; print it, show it in a notebook, or take `to_data()`.

    Args:
        epsilon: at `delta`.
        advantage: the largest difference between hits and false alarms of a test.
        hits: (false positive rate, true positive rate of the best test).
        beliefs: (belief before, least bound on the belief after that holds except with probability `delta`).
        assumptions: what the numbers were proved for.
        accounts: what other accountants prove at the same delta.
        counted: what was counted, in the caller's words; empty: as the loss is written.
        at: delta, as the caller wrote it.
        population: number of units in the data, where it is public.
    """

    loss: "PrivacyLoss"
    delta: Fraction
    epsilon: Interval
    advantage: Interval
    hits: tuple[tuple[float, Interval], ...]
    beliefs: tuple[tuple[Fraction, Interval], ...]
    assumptions: tuple[str, ...]
    accounts: tuple[Account, ...]
    counted: str = ""
    at: str = ""
    population: int | None = None

    def __repr__(self) -> str:
        return f"<Report: epsilon <= {certified(self.epsilon.upper)} at delta = {self._at}>"

    def __str__(self) -> str:
        lines = [self._guarantee(), "", "What was counted", f"  {self._counted}", "", "What it is proved for"]
        lines += [f"  - {text}" for text in self.assumptions]
        lines += ["", "What an attacker can learn, knowing everybody else's data"]
        lines += [f"  - {text}" for text in self._meanings()]
        if self.accounts:
            rows = self._table()
            width = max(len(name) for name, _ in rows)
            lines += ["", f"Other accountants at delta = {self._at}"]
            lines += [f"  {name:<{width}}  {value}" for name, value in rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same for notebooks; every text is escaped and nothing is loaded."""
        safe = html.escape

        def listed(texts: tuple[str, ...]) -> str:
            return "<ul>" + "".join(f"<li>{safe(text)}</li>" for text in texts) + "</ul>"

        table = "".join(f"<tr><td>{safe(name)}</td><td>{safe(value)}</td></tr>" for name, value in self._table())
        return (
            f"<p><b>{safe(self._guarantee())}</b></p><p>Counted: <code>{safe(self._counted)}</code></p>"
            f"<p>Proved for:</p>{listed(self.assumptions)}"
            f"<p>What an attacker can learn, knowing everybody else's data:</p>{listed(tuple(self._meanings()))}"
            f"<p>Other accountants at delta = {safe(self._at)}:</p><table>{table}</table>"
        )

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON; rationals as text, an infinite end as null."""
        return {
            "loss": self.loss.to_data(),
            "delta": str(self.delta),
            "epsilon": as_data(self.epsilon),
            "advantage": as_data(self.advantage),
            "true_positive_rates": [{"false_positive_rate": rate, **as_data(found)} for rate, found in self.hits],
            "beliefs": [{"before": str(prior), **as_data(found)} for prior, found in self.beliefs],
            "assumptions": list(self.assumptions),
            "accountants": [
                {"name": account.name, "epsilon": account.epsilon, "bound": account.bound, "source": account.source}
                for account in self.accounts
            ],
        }

    def to_json(self) -> str:
        """JSON text of `to_data`."""
        return json.dumps(self.to_data(), indent=2)

    @property
    def _counted(self) -> str:
        return self.counted or repr(self.loss)

    @property
    def _at(self) -> str:
        return self.at or decimal_text(self.delta)

    def _guarantee(self) -> str:
        if math.isinf(self.epsilon.upper):
            return f"No epsilon is proved at delta = {self._at}: take a larger delta."
        doubt = caution(epsilon=Fraction(self.epsilon.upper), delta=self.delta, population=self.population)
        return (
            f"({certified(self.epsilon.upper)}, {self._at})-differentially private; "
            f"the smallest true epsilon lies in {self.epsilon}.{f' Caution: {doubt}.' if doubt else ''}"
        )

    def _meanings(self) -> Iterator[str]:
        except_for = f", except with probability {self._at}" if self.delta else ""
        for prior, found in self.beliefs:
            yield (
                f"someone who was {percent(prior)} sure that a unit is in the data is at most "
                f"{percent_above(found.upper)} sure afterwards{except_for}"
            )
        for rate, found in self.hits:
            yield f"a test with {percent(rate)} false alarms finds at most {percent_above(found.upper)} of the members"
        yield (
            f"a guess whether a unit is in the data, after a toss of a coin, is right with at most "
            f"{percent_above((1 + self.advantage.upper) / 2 + 1e-15)} instead of 50%"
        )

    def _table(self) -> list[tuple[str, str]]:
        rows = [(account.name, _shown(account)) for account in self.accounts]
        return [*rows, ("this report, certified", certified(self.epsilon.upper))]


def report(loss: "PrivacyLoss", delta: Real, *, population: int | None, tolerance: float) -> Report:
    """What `loss` guarantees at `delta`, and what that means.

    Args:
        population: number of units in the data, where it is public.
        tolerance: of epsilon; rates and beliefs are found to a relative hundredth where that is possible.

    Raises: InvalidParameterError if the widths cannot be reached.
    """
    share = probability("delta", delta)
    epsilon = loss.epsilon(share, tolerance=tolerance)  # before the curve is refined: the number that others get
    curve = TradeOff(loss)
    found = curve.true_positive_rates(ALARMS)
    return Report(
        loss=loss,
        delta=share,
        epsilon=epsilon,
        advantage=curve.advantage(),
        hits=tuple(
            (rate, Interval(float(lower), float(upper)))
            for rate, lower, upper in zip(ALARMS, found.lower, found.upper, strict=True)
        ),
        beliefs=_beliefs(curve, share),
        assumptions=tuple(assumptions(loss)),
        accounts=accounts(loss.statement, share) if share else (),
        at=delta if isinstance(delta, str) else "",
        population=None if population is None else positive_integer("population", population),
    )


def _beliefs(curve: TradeOff, failure: Fraction) -> tuple[tuple[Fraction, Interval], ...]:
    """Beliefs after, for each belief before: the first is computed, and odds grow as its odds do."""
    known = curve.posterior(PRIORS[0], failure=failure)
    least, most = (Fraction(end) / (1 - Fraction(end)) if end < 1 else None for end in (known.lower, known.upper))

    def after(prior: Fraction, odds: Fraction | None) -> Fraction:
        if odds is None:
            return Fraction(1)
        grown = odds * (1 - PRIORS[0]) / PRIORS[0] * prior / (1 - prior)
        return grown / (1 + grown)

    rest = [(prior, Interval(round_down(after(prior, least)), round_up(after(prior, most)))) for prior in PRIORS[1:]]
    return ((PRIORS[0], known), *rest)


def assumptions(loss: "PrivacyLoss") -> Iterator[str]:
    """What the guarantee of `loss` rests on, in sentences."""
    for relation in Relation:
        if relation in loss.relations:
            yield f"pairs of {_MEANING[relation]}"
    kinds = {node.kind for node in _nodes(loss.statement)}
    yield from dict.fromkeys(text for kind, text in _ASSUMED.items() if kind in kinds)
    if sum(count for _, count in loss.composition) > 1:
        yield _PLAN


def _nodes(thing: object) -> Iterator[Statement]:
    """Every statement in a value and in its fields."""
    if isinstance(thing, Statement):
        yield thing
        for value in vars(thing).values():
            yield from _nodes(value)
    elif isinstance(thing, tuple):
        for value in thing:
            yield from _nodes(value)


def as_data(found: Interval) -> dict[str, float | None]:
    """Both ends, for JSON; an infinite one is null."""
    ends = {"lower": found.lower, "upper": found.upper}
    return {name: end if math.isfinite(end) else None for name, end in ends.items()}


def above(value: float) -> str:
    """Four significant digits, rounded up."""
    return _digits_above(Decimal(value), 4)


def certified(value: float) -> str:
    """An upper end with the six digits of an interval, rounded up."""
    return "-" if math.isinf(value) else _digits_above(Decimal(value), 6)


def _shown(account: Account) -> str:
    if account.epsilon is None:
        return "-"
    return above(account.epsilon) if account.bound else f"about {account.epsilon:.4g} (no bound)"


def percent_above(value: float) -> str:
    """A probability as a percentage, rounded up to three significant digits, or to two of what is missing from 100."""
    if value > 0.99:
        missing = Context(prec=2, rounding=ROUND_FLOOR).create_decimal(100 - 100 * Decimal(value))
        return f"{100 - max(missing, Decimal(0)):f}%"
    return f"{_digits_above(Decimal(value) * 100, 3)}%"


def percent(value: Fraction | float) -> str:
    """A round share as a percentage."""
    return f"{float(value) * 100:g}%"


def _digits_above(value: Decimal, digits: int) -> str:
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(value)
    return f"{rounded:f}" if not rounded or abs(rounded) >= Decimal("1e-4") else f"{rounded:g}"
