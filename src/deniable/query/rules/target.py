"""The least price whose answer is as accurate as asked.

It follows from the public laws of the noise alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np

from deniable.errors import BudgetExceededError, InvalidParameterError, UnsupportedQueryError
from deniable.mechanisms.price import Price
from deniable.numbers.rationals import Real, nonnegative_rational, positive_rational, shown
from deniable.privacy import Budget, compose
from deniable.privacy.deadline import with_checkpoints
from deniable.query.aggregates.aggregate import PricedAggregate
from deniable.query.effort import limited_time
from deniable.query.evaluate import evaluate, numbers
from deniable.query.expression import Call, Column, Expression, Literal, bases_of
from deniable.query.plan import PricedPlan, Query
from deniable.query.rules.plan import Target
from deniable.query.rules.price import price
from deniable.release import Release

_PER_DECADE = 900  # prices of three digits: 1.00, 1.01, ..., 9.99 times a power of ten
_DECADES = (-8, 4)
_FIRST = Fraction(1, 32)  # of the most that an answer may cost, or less, to learn how large its numbers are
_PER_DOUBLING = 8  # prices of further answers: few, so that another call finds the answers of this one
_SEARCHED = 8  # doublings below the most that an answer may cost, in which an earlier call may have begun
_MAX_ANSWERS = 8
_LEAST_SHARE = 1e-9  # of an answer: no price buys less, and floats could not show it


def cheapest(
    query: Query,
    error: Target,
    *,
    confidence: float = 0.95,
    delta: Fraction = Fraction(0),
    budget: Budget | None = None,
) -> PricedPlan:
    """Return the plan with the least epsilon whose columns are within `error`.

    Epsilon has three digits; the error is the distance from the truth.

    Args:
        error: half the width of the interval that a column may have, in its unit; or that of each column that matters.
        confidence: of the intervals.
        delta: of the price; it allows Gaussian noise.
        budget: that will pay; where it counts in rho, the least rho is found.

    Raises: UnsupportedQueryError if the error of a column depends on the answer, as that of an average does.
    """
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise InvalidParameterError(f"confidence must be a number between 0 and 1, got {shown(confidence)}")
    columns = _columns(query, error, lambda expression: _is_linear(expression, query))
    wanted = {name: positive_rational("error", value) for name, value in columns.items()}
    counts_rhos = budget is not None and budget.rho is not None

    def planned(index: int) -> PricedPlan | None:
        """The plan at one of the prices, if it is accurate enough."""
        decade, digits = divmod(index, _PER_DECADE)
        amount = (100 + digits) * Fraction(10) ** (decade + _DECADES[0] - 2)
        try:
            plan = price(query, Price(rho=amount) if counts_rhos else Price(epsilon=amount, delta=delta), budget)
        except InvalidParameterError:
            return None  # so little that no noise can be drawn for it, or so much
        accurate = all(_half_width(plan, name, confidence) <= width for name, width in with_checkpoints(wanted.items()))
        return plan if accurate else None

    low, high = 0, (_DECADES[1] - _DECADES[0]) * _PER_DECADE
    cheapest_plan = planned(high)
    if cheapest_plan is None:
        raise InvalidParameterError("no price makes the answer so accurate. Ask for a larger error.")
    while low < high:
        middle = (low + high) // 2
        plan = planned(middle)
        if plan is None:
            low = middle + 1
        else:
            high, cheapest_plan = middle, plan
    return cheapest_plan


def is_relative(error: Target | None) -> bool:
    """Whether an error is a share of the answer, such as "5%".

    All of them are, or none.

    Raises: InvalidParameterError if only some are.
    """
    every = list(error.values()) if isinstance(error, Mapping) else [error]
    shares = [isinstance(each, str) and each.strip().endswith("%") for each in every]
    if any(shares) and not all(shares):
        raise InvalidParameterError("error takes shares, such as '5%', of all columns that it names, or of none.")
    for each in every if any(shares) else ():
        _share(str(each))
    return any(shares)


def _share(error: str) -> float:
    """A share, from a text such as "5%".

    Raises: InvalidParameterError unless it is above 0% and below 100%.
    """
    said = error.strip()[:-1].strip()
    share = 0.0 if said.startswith("-") else float(nonnegative_rational("error", said)) / 100
    if not _LEAST_SHARE <= share < 1:
        raise InvalidParameterError(f"error is a share from {100 * _LEAST_SHARE:g}% to below 100%, got {shown(error)}.")
    return share


def first_step(maximum: Price) -> Price:
    """Return the price of the first answer of `approached`."""
    return _at(maximum, _prices(_amount(maximum) * _FIRST / 2, _amount(maximum) * _FIRST)[-1])


def approached(
    plan: PricedPlan,
    ask: Callable[[Price], Release],
    maximum: Price,
    error: Target,
    *,
    confidence: float = 0.95,
    stored: Callable[[Price], bool] = lambda _: False,
    check: Callable[[Price], None] = lambda _: None,
) -> Release:
    """Return answers at growing prices, until numbers are known to within a share.

    The share is one of the truth.

    The first answer says how large the numbers are; each later price follows from the intervals before it, which are
    public. Those of the k-th answer hold with probability 1 - (1 - confidence) w(k) each, where the w(k) of `_level`
    add up to 1. So a number is outside of any of its intervals with probability 1 - confidence at most, whichever
    answer is the last; and if it is inside, and the interval that narrow, it is within the share. The answer shows the
    intervals by which this was decided.

    All prices are on one grid, and answers that earlier calls paid for come first, from the least price on, so that a
    number has one place among the answers in this call and later ones.

    Args:
        plan: of the first answer.
        most: what all answers together may cost, those that were paid before among them.
        stored: whether there is an answer at a price.
        check: raises if the rest of the price cannot be paid; called before the first new answer.

    Raises: UnsupportedQueryError or InvalidParameterError, before anything is asked.
    """
    if not isinstance(confidence, float) or not 0 < confidence <= 0.996:
        raise InvalidParameterError(f"confidence must be a number above 0 and at most 0.996, got {shown(confidence)}")
    known = plan.query.question.aggregates
    columns = _columns(plan.query, error, lambda each: all(known[int(base[5:])].additive for base in bases_of(each)))
    shares = {name: _share(str(each)) for name, each in columns.items()}
    rest = _amount(maximum)
    further = 1 if maximum.rho is None else 2
    with limited_time():
        paid = [price for price in _prices(rest / 2**_SEARCHED, rest) if stored(_at(maximum, price))]
    steps: list[Release] = []
    price = paid[0] if paid else _amount(first_step(maximum))
    checked = False
    while True:
        if price not in paid and not checked:
            with limited_time():
                check(_at(maximum, rest, answers=_MAX_ANSWERS - len(steps)))
            checked = True
        steps.append(ask(_at(maximum, price)))
        rest -= price
        level, following = (_level(len(steps) + more, confidence) for more in (0, 1))
        times = _too_wide(steps[-1], shares, level)
        if not times:
            break
        needed = price * Fraction(max(1.0, _too_wide(steps[-1], shares, min(following, 0.9999))) ** further)
        wanted = _prices(max(2 * price, needed * Fraction(6, 5)), None)[0]
        if following > 0.9999 or len(steps) == _MAX_ANSWERS:
            break
        later = [each for each in paid if price < each <= rest] or [
            each for each in _prices(price, rest) if price < each and needed <= each
        ]
        if not later:
            break
        price = later[0] if later[0] in paid else min(wanted, later[-1])
    said = " and ".join(f"{100 * share:.3g}% of {name}" for name, share in shares.items())
    note = f"The truth of every number is within {said} with {confidence:.0%} confidence each."
    if times:
        note = _unmet(said, maximum, wanted, spent=_amount(maximum) - rest, check=check)
    return _together(steps, note, level)


def _unmet(said: str, maximum: Price, wanted: Fraction, *, spent: Fraction, check: Callable[[Price], None]) -> str:
    """Return the note of answers that are not as accurate as asked.

    Args:
        said: the shares of the truth, in words.
        maximum: what all answers together could cost.
        wanted: about the price that the next answer needs.
        spent: on the answers so far.
        check: raises if a price cannot be paid.
    """
    word = "epsilon" if maximum.rho is None else "rho"
    more, whole, before = (f"{word}={_up(amount)}" for amount in (wanted, spent + wanted, spent))
    note = (
        f"Not all numbers are known to be within {said}. That needs about {more} more: ask again with {whole}, "
        f"which counts the {before} that was paid, or for a larger error."
    )
    try:
        check(_at(maximum, wanted))
    except BudgetExceededError:
        note += " The budget has less than that left."
    return note


def _together(steps: Sequence[Release], note: str, level: float) -> Release:
    """The last of several answers, with the price and the payments of all."""
    last = steps[-1]
    known = [each.provenance for each in steps if each.provenance is not None]
    if last.provenance is not None:
        entries = tuple(number for each in known for number in each.entries)
        paid = compose([each.paid for each in known])
        last = replace(last, provenance=replace(last.provenance, paid=paid, entries=entries))
    return replace(last, cost=compose([each.cost for each in steps]), notes=(*last.notes, note), level=level)


def _level(answer: int, confidence: float) -> float:
    """The level of the intervals of an answer, counted from 1.

    Of the doubt the first one, which is cheap, takes 0.05, the second 0.6, the third 0.175, and each later one half of
    what the one before it takes: 0.05 + 0.6 + 0.175 (1 + 1/2 + ...) = 1.
    """
    weight = {1: 0.05, 2: 0.6}.get(answer, 0.175 / 2.0 ** (answer - 3))
    return 1 - (1 - confidence) * weight


def _up(amount: Fraction) -> str:
    """An amount with four digits, not less than it is."""
    rounded = Context(prec=4, rounding=ROUND_CEILING).divide(Decimal(amount.numerator), Decimal(amount.denominator))
    return f"{rounded.normalize():f}"


def _amount(price: Price) -> Fraction:
    amount = price.epsilon if price.rho is None else price.rho
    assert amount is not None
    return amount


def _at(maximum: Price, amount: Fraction, *, answers: int = 1) -> Price:
    """Return a price for some answers.

    Each has the same part of the delta, whatever it costs.
    """
    if maximum.rho is not None:
        return Price(rho=amount)
    return Price(epsilon=amount, delta=maximum.delta * answers / _MAX_ANSWERS)


def _prices(lowest: Fraction, highest: Fraction | None) -> list[Fraction]:
    """Return the prices of the grid from `lowest` to `highest`, ascending.

    The first one alone if there is no upper end.
    """
    prices: list[Fraction] = []
    power = lowest.numerator.bit_length() - lowest.denominator.bit_length() - 1
    while True:
        for eighths in range(_PER_DOUBLING, 2 * _PER_DOUBLING):
            price = Fraction(eighths, _PER_DOUBLING) * Fraction(2) ** power
            if highest is not None and price > highest:
                return prices
            if price >= lowest:
                prices.append(price)
                if highest is None:
                    return prices
        power += 1


def _too_wide(release: Release, shares: Mapping[str, float], level: float) -> float:
    """Return about how many times too wide the widest interval is for its share.

    0 if every number is within its own.
    """
    worst = 0.0
    ends = release.intervals(level)
    for name, share in shares.items():
        values = np.asarray(release[name], dtype=np.float64)
        for end in ends[name]:
            far = np.abs(values - end)
            nearest = np.where(end * values > 0, np.abs(end), 0.0)
            with np.errstate(invalid="ignore"):
                times = np.fmax(far / (share * np.fmax(np.abs(values), far)), 1.001)
            wide = np.nan_to_num(times, nan=1 / share)[~(far <= share * nearest)]
            worst = max(worst, float(wide.max(initial=0.0)))
    return worst


def _columns(query: Query, error: Target, promised: Callable[[Expression], bool]) -> dict[str, Real | str]:
    """Return the wanted error of each noisy column for which one can be promised."""
    noisy = {output.name: output.expression for output in query.outcome.outputs if bases_of(output.expression)}
    given: dict[str, Real | str] = dict(error) if isinstance(error, Mapping) else dict.fromkeys(noisy, error)
    for name in given:
        if name not in noisy:
            raise InvalidParameterError(f"error names {name!r}; the noisy columns are {', '.join(noisy)}")
        if not promised(noisy[name]):
            raise UnsupportedQueryError(
                f"how far {name!r} is off depends on the answer itself, so no price can be promised for it. Give "
                "error={column: ...} for counts and sums, or '5%' for averages too, and look at explain() for the rest."
            )
    if not given:
        raise InvalidParameterError("error names no column. Give a number, or {column: number}.")
    return given


def _half_width(plan: PricedPlan, name: str, confidence: float) -> float:
    """Return half the width of an interval for a column.

    The sum of those of its parts, which share the doubt evenly.
    """
    expression = next(output.expression for output in plan.query.outcome.outputs if output.name == name)
    bases = bases_of(expression)
    at = np.eye(len(bases), len(bases) + 1)  # each total once, and at last none
    moved = numbers(evaluate(expression, dict(zip(bases, at, strict=True))))
    weights = {base: weight for base, weight in zip(bases, np.abs(moved[:-1] - moved[-1]), strict=True) if weight}
    level = 1 - (1 - confidence) / max(1, len(weights))
    width = 0.0
    for base, weight in weights.items():
        part = plan.parts[int(base[5:])]
        assert isinstance(part, PricedAggregate)
        width += float(weight) * part.law.half_width(level)
    return width


def _is_linear(expression: Expression, query: Query) -> bool:
    """Whether a column is a sum of totals, each times a number that is known."""
    match expression:
        case Column(name=name):
            return name.startswith("base ") and query.question.aggregates[int(name[5:])].additive
        case Literal(value=value):
            return isinstance(value, int | Fraction) and not isinstance(value, bool)
        case Call(operator=operator, arguments=arguments):
            noisy = [bool(bases_of(argument)) for argument in arguments]
            fixed = operator == "multiply" and sum(noisy) < 2
            fixed |= operator == "divide" and not noisy[1] and bool(numbers(evaluate(arguments[1], {})) != 0)
            linear = operator in ("add", "subtract", "negate", "to_real")
            return (linear or fixed) and all(_is_linear(argument, query) for argument in arguments)
