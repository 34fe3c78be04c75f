"""Spark Connect: a process without a Java machine asks the same questions of the same cluster."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SHARED = (  # tests that hold there too
    "test_engine.py::test_trouble_of_spark_is_told_and_charged_as_on_other_engines",
    "test_engine.py::test_text_that_is_no_utf8_is_missing_and_counted",
    "test_views.py::test_frames_of_spark_are_understood_or_refused",
    "test_runner.py::test_a_failure_has_one_constant_text",
    "test_runner.py::test_what_cannot_be_opened_is_said",
    "test_executors.py::test_spark_writes_every_group_once_and_pays_first",
    "test_executors.py::test_what_is_refused_on_spark_leaves_no_folder",
    "test_executors.py::test_spark_finds_keys_and_counts_in_them",
)


@pytest.mark.skipif("SPARK_REMOTE" in os.environ, reason="this is the test that starts it")
def test_spark_connect_answers_and_refuses_alike(spark: Any, connect_port: int) -> None:
    if missing := [name for name in ("grpc", "grpc_status") if find_spec(name) is None]:
        (pytest.fail if os.environ.get("NEED_SPARK") else pytest.skip)(f"needs {missing}: pip install pyspark[connect]")
    environment = {**os.environ, "SPARK_REMOTE": f"sc://127.0.0.1:{connect_port}", "NEED_SPARK": "1"}
    options = ["-q", "-p", "no:cacheprovider", "-W", "ignore:unclosed <socket.socket:ResourceWarning"]
    command = [sys.executable, "-m", "pytest", *options, *(str(HERE / name) for name in SHARED)]
    done = subprocess.run(
        command, cwd=HERE.parents[3], env=environment, timeout=900, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed in " in done.stdout  # and none was skipped
