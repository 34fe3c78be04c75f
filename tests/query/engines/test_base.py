"""Every engine keeps the contract of `Engine`."""

import inspect

from deniable.query.engines.base import Engine
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.engines.remote import RemoteEngine


def test_engines_have_three_doors_to_the_rows() -> None:
    assert Engine.__abstractmethods__ == {"schema", "check", "exact", "keys", "columns"}
    for engine in (DuckDBEngine, RemoteEngine):
        assert issubclass(engine, Engine)
        for name in Engine.__abstractmethods__:
            wanted = list(inspect.signature(getattr(Engine, name)).parameters)
            assert list(inspect.signature(getattr(engine, name)).parameters) == wanted
