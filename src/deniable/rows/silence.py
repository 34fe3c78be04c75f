"""Suppression of warnings while private rows are read.

What Python and numpy warn of may depend on a row.
"""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

_lock = threading.Lock()
_silent: list["warnings.catch_warnings[None]"] = []  # one for each call in here, the first of which counts


@contextmanager
def silence() -> Iterator[None]:
    """Suppress all warnings in the block; as a decorator, in the function.

    The filters of warnings belong to all threads, so the last one that leaves puts them back.
    """
    with _lock:
        if not _silent:
            _silent.append(warnings.catch_warnings(action="ignore"))
            _silent[0].__enter__()
        else:
            _silent.append(_silent[0])
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        with _lock:
            first = _silent.pop()
            if not _silent:
                first.__exit__(None, None, None)
