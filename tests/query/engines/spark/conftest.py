"""A Spark on this machine, started once: a minute, so `make spark` brings it and the gate does not."""

import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest

from tests.query.engines.spark.cluster import OWN, Cluster, free_port, wait_for

EXECUTORS = 2


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two worker processes of one core each."""
    for missing in (shutil.which("java") is None and "a Java runtime", find_spec("pyspark") is None and "pyspark"):
        if missing:
            (pytest.fail if os.environ.get("NEED_SPARK") else pytest.skip)(f"needs {missing}: make spark brings it")
    with Cluster(tmp_path_factory.mktemp("cluster")).stopped_at_the_end() as running:
        yield running


@pytest.fixture(scope="session")
def connect_port() -> int:
    """The port at which the driver of the session serves Spark Connect."""
    return free_port()


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The session of all tests: on the cluster, where slow tasks have twins; or the one that SPARK_REMOTE names."""
    if "SPARK_REMOTE" in os.environ:
        with _opened() as session:
            yield session
        return
    cluster = request.getfixturevalue("cluster")
    own = {"spark.executor.memory": "700m", "spark.task.maxFailures": "3", "spark.speculation": "true"}
    own |= {"spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin"}
    own |= {"spark.connect.grpc.binding.port": str(request.getfixturevalue("connect_port"))}
    own |= {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    with started(cluster.url, **own) as session:
        wait_for(lambda: executors(session) == EXECUTORS, "two executors")
        yield session


@contextmanager
def started(master: str = "local[2,3]", **more: str) -> Iterator[Any]:
    """A session of two threads, where a task may fail twice."""
    from deniable.query.engines.spark.runner import SETTINGS

    os.environ["PYSPARK_PYTHON"] = sys.executable  # what executors run
    own = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": OWN}
    # Plans, which would fill the driver's memory.
    kept = ("sql.ui.retainedExecutions", "ui.retainedJobs", "ui.retainedStages")
    own |= {f"spark.{each}": "20" for each in kept}
    own |= {"spark.driver.memory": "3g"}  # of thousands of plans of a fuzz
    own |= {"spark.driver.bindAddress": OWN, "spark.sql.shuffle.partitions": "3", **SETTINGS, **more}
    with _opened({"spark.master": master, "spark.app.name": "deniable", **own}) as session:
        yield session


@contextmanager
def _opened(settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """A session with these settings, closed at the end."""
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that pandas is newer than pyspark knows
        session = SparkSession.builder.config(map=dict(settings or {})).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def executors(session: Any) -> int:
    """How many the driver has now, beside itself."""
    return len(session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1
