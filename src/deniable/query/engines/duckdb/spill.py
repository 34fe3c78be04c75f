"""Folders for intermediate results that do not fit in memory.

They are private, and gone when nobody uses them any more.
"""

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

LOCKS = find_spec("fcntl") is not None  # not on Windows, where nothing tells whether a folder is still in use
PREFIX = "deniable-spill-"


_FOLDERS: dict[int, str] = {}  # by process: a fork begins with that of its parent, and must not use it


def spill_folder() -> str:
    """Return a new folder of this process alone, removed when it ends.

    Those that earlier processes left are removed now.

    All that a process asks for lie in one folder, locked for as long as the process, or one forked from it, lives,
    however that ends: the system lets go of the lock. What is not locked belongs to nobody. Folders of other people are
    left alone.
    """
    _remove_left()
    process = os.getpid()
    if process not in _FOLDERS or not os.path.isdir(_FOLDERS[process]):
        _FOLDERS[process] = _folder_of_process()
    return tempfile.mkdtemp(dir=_FOLDERS[process])


def _folder_of_process() -> str:
    while True:
        folder = tempfile.mkdtemp(prefix=PREFIX)
        if not LOCKS or _locked(folder) is not None:
            break  # else somebody took it for a folder of nobody before it was locked
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: str, owner: int) -> None:
    """Remove a folder at the end of the process that made it.

    A fork ends without taking its parent's.
    """
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left() -> None:
    if not LOCKS:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            mine = folder.lstat().st_uid == os.getuid()
            lock = _locked(str(folder), wait=False) if mine else None
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _locked(folder: str, *, wait: bool = True) -> int | None:
    """Return a descriptor that holds the lock of a folder until it is closed.

    None if another holds it, or it is gone.
    """
    import fcntl

    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(held), os.stat(folder)):
            return held
    except OSError:
        pass
    os.close(held)
    return None
