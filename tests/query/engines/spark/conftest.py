"""A Spark on this machine, started once: a minute, so `make spark` brings it and the gate does not."""

import shutil
import warnings
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of two threads."""
    if shutil.which("java") is None:
        pytest.skip("needs a Java runtime: `make spark` installs one on Debian")
    pytest.importorskip("pyspark", minversion="4.0", reason="needs pyspark: `make spark` installs it")
    from deniable.query.engines.spark.runner import local_session

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that pandas is newer than pyspark knows
        session = local_session(threads=2)
    yield session
    session.stop()
