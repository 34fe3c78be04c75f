"""Report on a loss in plain words: guarantee, assumptions, power of attackers."""

import html
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable import layout
from deniable.numbers.interval import Interval, round_down, round_up
from deniable.numbers.rationals import Real, decimal_text, positive_integer, probability, quotient_text
from deniable.privacy.notions.tradeoff import TradeOff
from deniable.privacy.relation import Relation
from deniable.privacy.reports.comparison import Account, accounts
from deniable.privacy.statement import Statement
from deniable.privacy.warning import warning_about

if TYPE_CHECKING:
    from deniable.privacy.loss import PrivacyLoss

ALARMS = (0.001, 0.01, 0.1)  # false positive rates in a report
PRIORS = (Fraction(1, 100), Fraction(1, 2))  # prior beliefs in a report

_MEANING = {
    Relation.ADD_REMOVE: "data sets with all rows of one unit and without them (add/remove)",
    Relation.REPLACE: "data sets in which the rows of one unit are exchanged for any others (replace)",
}
_OF_POISSON_SAMPLES = (
    "each unit joins each sample by a coin of its own (Poisson sampling), and nobody sees who did. Shuffled batches of "
    "a fixed size are another mechanism, which can cost far more."
)
_OF_REAL_NOISE = "the noise is a real number. What floating point adds, in a program that draws it, is not counted."
_OF_COMPOSITION = "the number of runs and all settings were chosen before the first answer was seen."
_ASSUMPTIONS = {  # by kind of statement
    "poisson_sampled": _OF_POISSON_SAMPLES,
    "poisson_replaced": _OF_POISSON_SAMPLES,
    "capped_poisson": _OF_POISSON_SAMPLES,
    "subset_sampled": "each sample is a set of a fixed, public size, drawn evenly and anew; nobody sees who is in it.",
    "randomly_allocated": "each unit is put into evenly drawn runs, and nobody sees into which.",
    "last_iterate": "the loss functions are as smooth and convex as stated, and only the last iterate is seen.",
    "parallel": "all data of a unit lie in one part.",
    "shuffled": "reports are shuffled by a party that is trusted, and arrive without names or times.",
    "gaussian": _OF_REAL_NOISE,
    "laplace": _OF_REAL_NOISE,
    "gaussian_mixture": _OF_REAL_NOISE,
    "truncated_laplace": _OF_REAL_NOISE,
}


@dataclass(frozen=True, repr=False)
class Report:
    """Report on a loss at one delta: print it, or take `to_data()`.

    It is returned by `loss.report(delta=...)` and shows as HTML in notebooks.

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
            lines += ["", f"Other accountants at delta = {self._at}"]
            lines += [f"  {line}" for line in layout.aligned(self._table())]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the report as HTML for notebooks; text is escaped, nothing is loaded."""
        safe = html.escape

        def listed(texts: tuple[str, ...]) -> str:
            return "<ul>" + "".join(f"<li>{safe(text)}</li>" for text in texts) + "</ul>"

        return (
            f"<p><b>{safe(self._guarantee())}</b></p><p>Counted: <code>{safe(self._counted)}</code></p>"
            f"<p>Proved for:</p>{listed(self.assumptions)}"
            f"<p>What an attacker can learn, knowing everybody else's data:</p>{listed(tuple(self._meanings()))}"
            f"<p>Other accountants at delta = {safe(self._at)}:</p>{layout.table(self._table())}"
        )

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON; rationals as text, an infinite end as null."""
        return {
            "loss": self.loss.to_data(),
            "delta": quotient_text(self.delta),
            "epsilon": as_data(self.epsilon),
            "advantage": as_data(self.advantage),
            "true_positive_rates": [{"false_positive_rate": rate, **as_data(bound)} for rate, bound in self.hits],
            "beliefs": [{"before": quotient_text(prior), **as_data(bound)} for prior, bound in self.beliefs],
            "assumptions": list(self.assumptions),
            "accountants": [
                {"name": account.name, "epsilon": account.epsilon, "bound": account.bound, "source": account.source}
                for account in self.accounts
            ],
        }

    def to_json(self) -> str:
        """Return the JSON text of `to_data`."""
        return json.dumps(self.to_data(), indent=2)

    @property
    def _counted(self) -> str:
        return self.counted or repr(self.loss)

    @property
    def _at(self) -> str:
        return self.at or decimal_text(self.delta)

    def _guarantee(self) -> str:
        """Return the guarantee as a sentence, with a warning if there is one."""
        if math.isinf(self.epsilon.upper):
            return f"No epsilon is proved at delta = {self._at}: take a larger delta."
        warning = warning_about(epsilon=Fraction(self.epsilon.upper), delta=self.delta, population=self.population)
        return (
            f"({certified(self.epsilon.upper)}, {self._at})-differentially private; "
            f"the smallest true epsilon lies in {self.epsilon}.{f' Caution: {warning}.' if warning else ''}"
        )

    def _meanings(self) -> Iterator[str]:
        """Yield what attackers can learn, as sentences."""
        except_for = f", except with probability {self._at}" if self.delta else ""
        for prior, bound in self.beliefs:
            yield (
                f"someone who was {percent(prior)} sure that a unit is in the data is at most "
                f"{percent_above(bound.upper)} sure afterwards{except_for}"
            )
        for rate, bound in self.hits:
            yield f"a test with {percent(rate)} false alarms finds at most {percent_above(bound.upper)} of the members"
        yield (
            f"a guess whether a unit is in the data, at even odds before, is right with probability at most "
            f"{percent_above((1 + self.advantage.upper) / 2 + 1e-15)} instead of 50%"
        )

    def _table(self) -> list[tuple[str, str]]:
        """Return the rows of other accountants, and that of this report."""
        rows = [(account.name, _shown(account)) for account in self.accounts]
        return [*rows, ("this report, certified", certified(self.epsilon.upper))]


def report(loss: "PrivacyLoss", delta: Real, *, population: int | None, tolerance: float) -> Report:
    """Return the report on `loss` at `delta`: the guarantee and its meaning.

    Args:
        population: number of units in the data, where it is public.
        tolerance: of epsilon; rates and beliefs are found to a relative hundredth where that is possible.

    Raises: InvalidParameterError if the widths cannot be reached.
    """
    share = probability("delta", delta)
    epsilon = loss.epsilon(share, tolerance=tolerance)  # before the curve is refined: the number that others get
    curve = TradeOff(loss)
    power = curve.true_positive_rates(ALARMS)
    return Report(
        loss=loss,
        delta=share,
        epsilon=epsilon,
        advantage=curve.advantage(),
        hits=tuple(
            (rate, Interval(float(lower), float(upper)))
            for rate, lower, upper in zip(ALARMS, power.lower, power.upper, strict=True)
        ),
        beliefs=_beliefs(curve, share),
        assumptions=tuple(assumptions(loss)),
        accounts=accounts(loss.statement, share) if share else (),
        at=delta if isinstance(delta, str) else "",
        population=None if population is None else positive_integer("population", population),
    )


def _beliefs(curve: TradeOff, failure: Fraction) -> tuple[tuple[Fraction, Interval], ...]:
    """Return the belief after the release, with bounds, for each belief before it.

    The first is computed; the odds of the others grow by the same factor.
    """
    known = curve.posterior(PRIORS[0], failure=failure)
    lower_odds, upper_odds = (
        Fraction(end) / (1 - Fraction(end)) if end < 1 else None for end in (known.lower, known.upper)
    )

    def after(prior: Fraction, known_odds: Fraction | None) -> Fraction:
        if known_odds is None:
            return Fraction(1)
        grown = known_odds * (1 - PRIORS[0]) / PRIORS[0] * prior / (1 - prior)
        return grown / (1 + grown)

    def interval(prior: Fraction) -> Interval:
        return Interval(round_down(after(prior, lower_odds)), round_up(after(prior, upper_odds)))

    rest = [(prior, interval(prior)) for prior in PRIORS[1:]]
    return ((PRIORS[0], known), *rest)


def assumptions(loss: "PrivacyLoss") -> Iterator[str]:
    """Yield the assumptions of the guarantee of `loss`, as sentences."""
    for relation in Relation:
        if relation in loss.relations:
            yield f"pairs of {_MEANING[relation]}"
    kinds = {node.kind for node in _nodes(loss.statement)}
    yield from dict.fromkeys(text for kind, text in _ASSUMPTIONS.items() if kind in kinds)
    if sum(count for _, count in loss.composition) > 1:
        yield _OF_COMPOSITION


def _nodes(thing: object) -> Iterator[Statement]:
    """Yield every statement in a value and in its fields."""
    if isinstance(thing, Statement):
        yield thing
        for value in vars(thing).values():
            yield from _nodes(value)
    elif isinstance(thing, tuple):
        for value in thing:
            yield from _nodes(value)


def as_data(interval: Interval) -> dict[str, float | None]:
    """Return both ends for JSON; an infinite one is null."""
    ends = {"lower": interval.lower, "upper": interval.upper}
    return {name: end if math.isfinite(end) else None for name, end in ends.items()}


def above(value: float) -> str:
    """Return four significant digits, rounded up."""
    return _digits_above(Decimal(value), 4)


def certified(value: float) -> str:
    """Return an upper end with the six digits of an interval, rounded up."""
    return "-" if math.isinf(value) else _digits_above(Decimal(value), 6)


def _shown(account: Account) -> str:
    if account.epsilon is None:
        return "-"
    return above(account.epsilon) if account.bound else f"about {account.epsilon:.4g} (no bound)"


def percent_above(value: float) -> str:
    """Return a probability as a percentage, rounded up to three significant digits.

    Above 99%, two significant digits of what is missing from 100% are kept.
    """
    if value > 0.99:
        missing = Context(prec=2, rounding=ROUND_FLOOR).create_decimal(100 - 100 * Decimal(value))
        return f"{100 - max(missing, Decimal(0)):f}%"
    return f"{_digits_above(Decimal(value) * 100, 3)}%"


def percent(value: Fraction | float) -> str:
    """Return a round share as a percentage."""
    return f"{float(value) * 100:g}%"


def _digits_above(value: Decimal, digits: int) -> str:
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(value)
    return f"{rounded:f}" if not rounded or abs(rounded) >= Decimal("1e-4") else f"{rounded:g}"
