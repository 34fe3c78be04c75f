"""Steps from a question to a priced plan, one theorem a file: bound what a unit can change, split, choose the noise."""

from deniable.query.rules.bound import bound
from deniable.query.rules.price import price

__all__ = ["bound", "price"]
