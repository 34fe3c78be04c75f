"""`%%dpsql`, a cell of SQL in a notebook.

`%load_ext deniable`, then `%%dpsql db epsilon=0.5` above a SELECT.
"""

from typing import Any

from deniable.app.commands.shell import price_of
from deniable.errors import InvalidParameterError


def register(ipython: Any) -> None:
    """Let cells begin with `%%dpsql DATABASE epsilon=0.5`.

    `explain` asks for the cost, `as NAME` keeps the answer.
    """

    def dpsql(line: str, cell: str) -> object:
        from deniable.query.database import Database

        words = line.split()
        name = words.pop() if words[-2:-1] == ["as"] else None
        first, *rest = [word for word in words if word not in ("as", "explain")] or [""]
        database = ipython.user_ns.get(first)
        if not isinstance(database, Database):
            raise InvalidParameterError(
                f"%%dpsql begins with the name of a database, as from dn.connect, got {first!r}."
            )
        ask: Any = database.explain if "explain" in words else database.sql
        answer: object = ask(cell, **price_of(rest))
        if name is not None:
            ipython.user_ns[name] = answer
        return answer

    ipython.register_magic_function(dpsql, "cell", "dpsql")
