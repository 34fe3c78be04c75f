"""A standalone cluster on this machine: a master and workers, each with the processes that it starts."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

OWN = "127.0.0.1"
WORKERS = ("one", "other")
SECONDS = 240  # to wait for anything, at most


def free_port() -> int:
    with socket.socket() as one:
        one.bind((OWN, 0))
        return int(one.getsockname()[1])


def wait_for(what: Callable[[], Any], name: str) -> Any:
    end = time.monotonic() + SECONDS
    while not (found := what()):
        assert time.monotonic() < end, f"waited {SECONDS} s in vain for {name}"
        time.sleep(0.05)
    return found


def _end_with_parent() -> None:
    """Have Linux end this process when the tests are killed."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Cluster:
    """Workers of one core each, as processes that can be killed with all that they started."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._master = folder, f"{OWN}:{free_port()}"
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        host, _, port = self._master.partition(":")
        self._start("master", "master.Master", "--host", host, "--port", port)
        for name in WORKERS:
            self.start_worker(name)

    @property
    def url(self) -> str:
        return f"spark://{self._master}"

    def start_worker(self, name: str) -> None:
        place = str(self._folder / name)
        self._start(name, "worker.Worker", "--host", OWN, "--cores", "1", "--memory", "1g", "-d", place, self.url)

    def _start(self, name: str, what: str, *arguments: str) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        own = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": OWN, "SPARK_DAEMON_MEMORY": "256m"}
        own |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}", "--webui-port", "0"]
        with (self._folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [*command, *arguments],
                env={**os.environ, **own},
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - no other thread runs Python here
            )

    def lost(self) -> set[str]:
        return set(WORKERS) - set(self._running)

    def kill(self, name: str) -> None:
        """As if its machine were gone."""
        process = self._running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)

    def worker_of(self, working_folder: str) -> str:
        """The worker whose executor works in a folder."""
        return Path(working_folder).relative_to(self._folder).parts[0]

    @contextmanager
    def stopped_at_the_end(self) -> Iterator["Cluster"]:
        try:
            yield self
        finally:
            for name in list(self._running):
                self.kill(name)
