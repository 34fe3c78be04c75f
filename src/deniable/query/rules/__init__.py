"""Steps from a question to a priced plan, one theorem a file."""

from deniable.query.rules.price import price

__all__ = ["price"]
