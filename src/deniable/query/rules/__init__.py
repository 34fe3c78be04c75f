"""Steps from a question to a priced plan, one theorem a file."""

from deniable.query.rules.price import price, together
from deniable.query.rules.target import cheapest

__all__ = ["cheapest", "price", "together"]
