"""A Spark on this machine, started once: a minute, so `make spark` brings it and the gate does not."""

import os
import shutil
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of two threads."""
    for missing in (shutil.which("java") is None and "a Java runtime", find_spec("pyspark") is None and "pyspark"):
        if missing:
            (pytest.fail if os.environ.get("NEED_SPARK") else pytest.skip)(f"needs {missing}: make spark brings it")
    from deniable.query.engines.spark.runner import local_session

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that pandas is newer than pyspark knows
        session = local_session(threads=2)
    yield session
    session.stop()
