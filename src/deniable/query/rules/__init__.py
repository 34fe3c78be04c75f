"""Rules of the planner, one a file, each from plan to plan.

They lead from a question to its price; `planner.RULES` has them in order.
"""

from deniable.query.rules.price import price, together
from deniable.query.rules.target import cheapest

__all__ = ["cheapest", "price", "together"]
