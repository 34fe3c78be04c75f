"""Identity of the process that answers a question.

Others who ask the same may wait for its answer instead of charging the ledger too.

A reservation names its process. It is in progress as long as that process lives and has not given it up; a process that
was killed gives up all of its reservations, because its number and the time of its birth do not come again together.
"""

import os
import platform
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

Process: TypeAlias = dict[str, str | int | None]

_IN_PROGRESS: set[tuple[str, int]] = set()  # of this process: ledgers and numbers of reservations
_LOCK = threading.Lock()


def this_process() -> Process:
    """Return what identifies this process among all of this host."""
    return {"host": platform.node(), "pid": os.getpid(), "born": _born(os.getpid())}


def begin(ledger: str, number: int) -> None:
    """Note that this process answers a reservation."""
    with _LOCK:
        _IN_PROGRESS.add((ledger, number))


def end(ledger: str, number: int) -> None:
    """Note that it has answered, or given up."""
    with _LOCK:
        _IN_PROGRESS.discard((ledger, number))


def in_progress(process: object, ledger: str, number: int) -> bool:
    """Whether the process that made a reservation is still at work on it.

    False for a process of another host.
    """
    if not isinstance(process, dict) or process.get("host") != platform.node():
        return False
    if process.get("pid") == os.getpid():
        with _LOCK:
            return (ledger, number) in _IN_PROGRESS
    born = process.get("born")
    return born is not None and _born(process.get("pid")) == born


def _born(process: object) -> str | None:
    """Return when a process began, in the unit of the system; None if unknown."""
    if not isinstance(process, int):
        return None
    if Path("/proc/self/stat").exists():
        with suppress(OSError, IndexError):
            state, *rest = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            return None if state in "ZX" else rest[18]  # a zombie has ended
        return None
    with suppress(OSError, subprocess.SubprocessError):
        command = ["ps", "-o", "lstart=", "-p", str(process)]
        listing = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)  # noqa: S603
        return listing.stdout.strip() or None
    return None
