"""The least price whose answer is as accurate as asked: from the public laws of the noise alone."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from deniable.errors import InvalidParameterError, UnsupportedQueryError
from deniable.mechanisms.price import Price
from deniable.numbers.rationals import Real, positive_rational, shown
from deniable.privacy import Budget
from deniable.query.aggregates.aggregate import PricedAggregate
from deniable.query.expression import Call, Column, Expression, Literal, columns_of
from deniable.query.plan import PricedPlan, Query
from deniable.query.rules.price import price

_PER_DECADE = 900  # prices of three digits: 1.00, 1.01, ..., 9.99 times a power of ten
_DECADES = (-8, 4)
Target = Real | Mapping[str, Real]


def cheapest(
    query: Query,
    error: Target,
    *,
    confidence: float = 0.95,
    delta: Fraction = Fraction(0),
    budget: Budget | None = None,
) -> PricedPlan:
    """The plan with the least epsilon, to three digits, whose columns are within `error` of the truth.

    Args:
        error: half the width of the interval that a column may have, in its unit; or that of each column that matters.
        confidence: of the intervals.
        delta: of the price; it allows Gaussian noise.
        budget: that will pay; where it counts in rho, the least rho is found.

    Raises: UnsupportedQueryError if the error of a column depends on the answer, as that of an average does.
    """
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise InvalidParameterError(f"confidence must be a number between 0 and 1, got {shown(confidence)}")
    wanted = _wanted(query, error)

    def epsilons(amount: Fraction) -> Price:
        return Price(epsilon=amount, delta=delta)

    def rhos(amount: Fraction) -> Price:
        return Price(rho=amount)

    counts_rhos = budget is not None and budget.rho is not None
    return _least(query, wanted, rhos if counts_rhos else epsilons, confidence, budget)


def _least(
    query: Query,
    wanted: Mapping[str, Fraction],
    currency: Callable[[Fraction], Price],
    confidence: float,
    budget: Budget | None,
) -> PricedPlan:
    low, high = 0, (_DECADES[1] - _DECADES[0]) * _PER_DECADE

    def planned(place: int) -> PricedPlan | None:
        """The plan at one of the prices, if it is accurate enough."""
        decade, digits = divmod(place, _PER_DECADE)
        try:
            plan = price(query, currency((100 + digits) * Fraction(10) ** (decade + _DECADES[0] - 2)), budget)
        except InvalidParameterError:
            return None  # so little that no noise can be drawn for it, or so much
        return plan if all(_half_width(plan, name, confidence) <= most for name, most in wanted.items()) else None

    found = planned(high)
    if found is None:
        raise InvalidParameterError("no price makes the answer so accurate. Ask for a larger error.")
    while low < high:
        middle = (low + high) // 2
        plan = planned(middle)
        if plan is None:
            low = middle + 1
        else:
            high, found = middle, plan
    return found


def _wanted(query: Query, error: Target) -> dict[str, Fraction]:
    """The error that each column may have, exactly."""
    noisy = {output.name: output.expression for output in query.outcome.outputs if any(_bases(output.expression))}
    given = dict(error) if isinstance(error, Mapping) else dict.fromkeys(noisy, error)
    for name in given:
        if name not in noisy:
            raise InvalidParameterError(f"error names {name!r}; the noisy columns are {', '.join(noisy)}")
        if _weights(noisy[name], query) is None:
            raise UnsupportedQueryError(
                f"how far {name!r} is off depends on the answer itself, so no price can be promised for it. Give "
                "error={column: ...} for counts and sums, and look at explain() for the rest."
            )
    if not given:
        raise InvalidParameterError("error names no column. Give a number, or {column: number}.")
    return {name: positive_rational("error", value) for name, value in given.items()}


def _half_width(plan: PricedPlan, name: str, confidence: float) -> float:
    """Half the width of an interval for a column: the sum of those of its parts, which share the doubt evenly."""
    expression = next(output.expression for output in plan.query.outcome.outputs if output.name == name)
    weights = {base: weight for base, weight in (_weights(expression, plan.query) or {}).items() if base and weight}
    level = 1 - (1 - confidence) / max(1, len(weights))
    width = 0.0
    for base, weight in weights.items():
        part = plan.parts[int(base.removeprefix("base "))]
        assert isinstance(part, PricedAggregate)
        width += abs(float(weight)) * part.law.half_width(level)
    return width


def _weights(expression: Expression, query: Query) -> dict[str, Fraction] | None:
    """What a linear expression multiplies each noisy number by, and "" for the constant; None if it is not linear."""
    match expression:
        case Column(name=name) if name.startswith("base ") and query.question.aggregates[int(name[5:])].additive:
            return {name: Fraction(1)}
        case Literal(value=bool() | None):
            return None
        case Literal(value=int() | Fraction() as value):
            return {"": Fraction(value)}
        case Call(operator=operator, arguments=arguments):
            parts = [_weights(argument, query) for argument in arguments]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            return _combined(operator, known)
    return None


def _combined(operator: str, parts: list[dict[str, Fraction]]) -> dict[str, Fraction] | None:
    constants = [part.get("", Fraction(0)) if set(part) <= {""} else None for part in parts]
    match operator, parts, constants:
        case "add" | "subtract", [one, other], _:
            sign = 1 if operator == "add" else -1
            return {name: one.get(name, Fraction(0)) + sign * other.get(name, Fraction(0)) for name in {**one, **other}}
        case "negate", [one], _:
            return {name: -weight for name, weight in one.items()}
        case "multiply", [_, other], [Fraction() as factor, _]:
            return {name: factor * weight for name, weight in other.items()}
        case "multiply", [one, _], [_, Fraction() as factor]:
            return {name: factor * weight for name, weight in one.items()}
        case "divide", [one, _], [_, Fraction() as divisor] if divisor:
            return {name: weight / divisor for name, weight in one.items()}
        case ("to_real", [one], _):
            return one
    return None


def _bases(expression: Expression) -> Iterator[str]:
    return (name for name in columns_of(expression) if name.startswith("base "))
