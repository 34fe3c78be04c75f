"""What all tests share."""

import gc
import hashlib
import itertools
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

from deniable.ledger import ledger
from deniable.noise import bits
from tests import postgres as servers

# `make test` draws the same examples everywhere and measures no time; `make fuzz` draws new ones, and many.
# A test names a number of its own only where one example is slow. What fails in the gate is not made smaller, which
# takes minutes where examples ask a database: make fuzz does it.
_UNTIMED = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
_FOUND = (Phase.explicit, Phase.generate, Phase.target)
settings.register_profile("gate", derandomize=True, max_examples=50, phases=_FOUND, **_UNTIMED)
settings.register_profile("fuzz", derandomize=False, max_examples=1000, print_blob=True, **_UNTIMED)
settings.load_profile("gate")

os.environ["MPLBACKEND"] = "Agg"  # no windows

_BEGINNINGS: dict[int, tuple[np.random.Generator, Any]] = {}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collecting makes two million objects that stay to the end, so the collector of garbage need not visit them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Names of tests must be the same in every process, or several cannot share them out."""
    if changing := sorted({item.nodeid.split("[")[0] for item in items if " at 0x" in item.nodeid}):
        raise pytest.UsageError(f"names of tests hold addresses; give ids to {', '.join(changing)}")


def pytest_collection_finish() -> None:
    """Remember where the generators of all test modules begin."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tests."):
            for value in vars(module).values():
                if isinstance(value, np.random.Generator):
                    _BEGINNINGS[id(value)] = (value, value.bit_generator.state)


def key_noise(name: str, patch: pytest.MonkeyPatch) -> None:
    """Key the noise of releases, and the keys of ledgers, by a name, unless `make fuzz` wants new ones.

    Threads and processes that a test starts still ask the operating system.
    """
    if settings.get_current_profile_name() == "fuzz":
        return
    stream = bits._Stream()
    stream._secret[:] = hashlib.sha512(name.encode()).digest()[: len(stream._secret)]
    bits.SECURE._idle[:] = [stream]
    keys = itertools.count()
    patch.setattr(
        ledger.secrets, "token_bytes", lambda size: hashlib.shake_256(f"{name} {next(keys)}".encode()).digest(size)
    )


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[Any]:
    """A fixture that several tests share draws the same, whichever of them asks for it first."""
    with pytest.MonkeyPatch.context() as patch:
        if fixturedef.scope != "function":
            key_noise(f"{fixturedef.argname} {request.node.nodeid}", patch)
        return (yield)


@pytest.fixture(autouse=True)
def same_draws_in_any_order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that runs alone, in another order or beside others draws the same numbers."""
    for generator, beginning in _BEGINNINGS.values():
        generator.bit_generator.state = beginning
    key_noise(request.node.nodeid, monkeypatch)


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    """pyplot keeps every figure, and warns of the twenty-first."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[servers.Server]:
    """A PostgreSQL server of this process of the tests."""
    if reason := servers.missing():
        (pytest.fail if os.environ.get("NEED_POSTGRES") else pytest.skip)(reason)
    folder = servers.programs()
    assert folder is not None
    server = servers.Server(folder)
    yield server
    server.remove()


@pytest.fixture(scope="session", params=[1])
def pooler(postgres_server: servers.Server, request: pytest.FixtureRequest) -> Iterator[servers.Pooler]:
    """A pooler in transaction mode before that server, of one connection for each role in a database, or as asked."""
    program = servers.pooler_program()
    if program is None:
        reason = "needs pgbouncer: `make postgres` installs it on Debian"
        (pytest.fail if os.environ.get("NEED_POSTGRES") else pytest.skip)(reason)
    pooler = servers.Pooler(postgres_server, program, size=request.param)
    yield pooler
    pooler.remove()


@pytest.fixture
def postgres(postgres_server: servers.Server) -> Iterator[str]:
    """The URL of an empty database on that server."""
    with postgres_server.database() as url:
        yield url
