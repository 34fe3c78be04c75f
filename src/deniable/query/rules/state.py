"""Rule `state`: the public facts, the limits and the price of one question.

Its arguments and its OPTIONS say them.
"""

from collections.abc import Mapping
from dataclasses import replace

from deniable.errors import InvalidParameterError
from deniable.mechanisms.price import Price
from deniable.query.declared import stated
from deniable.query.frames import Ask
from deniable.query.options import stricter, without_options
from deniable.query.rules.plan import Plan, Request
from deniable.query.rules.target import first_step, is_relative


def state(plan: Plan) -> Plan:
    """Return the plan with the tables and the price that the question states.

    Raises: InvalidParameterError if it states two prices, or an error without a price that it may cost;
        UnsupportedQueryError or CatalogError if its OPTIONS, columns or limits cannot be taken.
    """
    request = plan.request
    assert request is not None
    options: Mapping[str, str] = {}
    text = request.question
    if not isinstance(text, Ask):
        text, options = without_options(text)
    if options:
        if (request.epsilon, request.delta, request.rho, request.error) != (None, None, None, None):
            raise InvalidParameterError("the price stands in OPTIONS already: leave epsilon=... out.")
        request = replace(request, epsilon=options["epsilon"], delta=options.get("delta"))
    tables = stricter(stated(plan.tables, request.columns), options, request.limits)
    return replace(plan, text=text, tables=tables, price=_price(request), weights=request.weights or {})


def _price(request: Request) -> Price:
    """Return the price of the answer.

    Where an error decides it, one that says which delta or notion is meant.
    """
    relative = is_relative(request.error)
    priced = request.epsilon is not None or request.rho is not None
    if request.error is not None and not relative and priced:
        percent = ""
        if str(request.error).isdecimal():
            percent = f" A share of the answer is written error='{request.error}%'."
        raise InvalidParameterError(
            f"say what the answer may cost, or how far it may be off (error=), not both.{percent}"
        )
    if relative and not priced:
        raise InvalidParameterError(
            f"an error of {request.error!r} needs a price, the most that it may cost: epsilon=0.5."
        )
    if request.error is not None and not relative:
        return Price.of(1, request.delta, None)
    price = Price.of(request.epsilon, request.delta, request.rho)
    return first_step(price) if relative else price
