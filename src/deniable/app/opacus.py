"""History of a training with Opacus, from JSON or a checkpoint of torch.

Neither package is needed.

A checkpoint is read without running anything that is in it: of its objects only lists, tuples, dictionaries, texts and
numbers come out; all else, tensors among them, becomes `Nothing`.
"""

import io
import json
import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path

from deniable.errors import SourceError, redacted

_LARGEST = 2**30  # bytes of the part of a checkpoint that holds its structure


class Nothing:
    """Placeholder for everything in a checkpoint that is not a plain value.

    It takes any call and keeps nothing.
    """

    def __new__(cls, *arguments: object, **named: object) -> "Nothing":
        return super().__new__(cls)

    def __setstate__(self, state: object) -> None: ...
    def __setitem__(self, key: object, value: object) -> None: ...
    def append(self, value: object) -> None: ...
    def extend(self, values: object) -> None: ...


class _Plain(pickle.Unpickler):
    """Reader of plain values; classes and functions of a file are never looked up."""

    def find_class(self, module: str, name: str) -> type:
        return dict if (module, name) == ("collections", "OrderedDict") else Nothing

    def persistent_load(self, pid: object) -> object:
        return Nothing()


def read_history(file: Path) -> object:
    """Return the state of an accountant, as `of_opacus` takes it.

    A checkpoint of a `PrivacyEngine` holds one too.

    Raises: SourceError if the file is something else.
    """
    try:
        content = file.read_bytes()
        state = _checkpoint(content) if zipfile.is_zipfile(io.BytesIO(content)) else json.loads(content)
    except OSError as error:
        raise SourceError(f"{redacted(file)!r} cannot be read ({type(error).__name__}).") from None
    except Exception:  # a broken file breaks its reader in any way it likes
        state = None
    if isinstance(state, Mapping) and "privacy_accountant_state_dict" in state:
        state = state["privacy_accountant_state_dict"]
    if not (isinstance(state, list) or (isinstance(state, Mapping) and "history" in state)):
        raise SourceError(
            f"{redacted(file)!r} holds no history of Opacus. Write one: torch.save(accountant.state_dict(), file), or "
            "as JSON with json.dump(accountant.history, stream), a list of [noise multiplier, sample rate, steps]."
        )
    return state


def _checkpoint(content: bytes) -> object:
    """Return the structure of a file that torch.save wrote, without its tensors."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/data.pkl"))
        if archive.getinfo(name).file_size > _LARGEST:
            raise ValueError("too large")
        return _Plain(io.BytesIO(archive.read(name))).load()
