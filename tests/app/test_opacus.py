"""Histories of Opacus come out of JSON and of files of torch; nothing in such a file runs."""

import io
import json
import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from deniable.app.opacus import read_history
from deniable.errors import SourceError
from deniable.privacy import GaussianLoss
from deniable.privacy.reports.imports import of_opacus

STATE = {"history": [(1.1, 0.004, 100), (0.9, 0.004, 5)], "mechanism": "rdp"}
LOSS = GaussianLoss("1.1").poisson_sampled(rate="0.004") * 100 + GaussianLoss("0.9").poisson_sampled(rate="0.004") * 5


class Tensor:
    """Rebuilt by a call with a storage of its own, as torch does it."""

    def __reduce__(self) -> Any:
        return os.path.join, ("a", "b"), {"some": "state"}, iter([1]), iter([(1, 2)])


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("broken-in",)


class Saver(pickle.Pickler):
    """Leaves storages to the archive, as torch does."""

    def persistent_id(self, found: object) -> object:
        return ("storage", 0) if isinstance(found, bytes) else None


def torch_file(place: Path, content: object) -> Path:
    """A file like those of torch.save: a zip with a pickle whose storages lie outside it."""
    stream = io.BytesIO()
    Saver(stream, protocol=2).dump(content)
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("archive/data.pkl", stream.getvalue())
        archive.writestr("archive/data/0", b"weights")
    return place


@pytest.mark.parametrize(
    "content",
    [
        STATE,
        OrderedDict(STATE),
        {"module_state_dict": OrderedDict(w=[Tensor(), b"1"]), "privacy_accountant_state_dict": STATE},
    ],
    ids=["state", "ordered", "checkpoint"],
)
def test_a_file_of_torch_gives_the_history(tmp_path: Path, content: object) -> None:
    assert of_opacus(read_history(torch_file(tmp_path / "run.pt", content))) == of_opacus(STATE)


@pytest.mark.parametrize("content", [STATE, STATE["history"], {"privacy_accountant_state_dict": STATE}])
def test_json_gives_the_history(tmp_path: Path, content: object) -> None:
    (tmp_path / "run.json").write_text(json.dumps(content))
    loss = of_opacus(read_history(tmp_path / "run.json"))
    assert loss.epsilon("1e-5").upper == LOSS.epsilon("1e-5").upper


def test_nothing_in_a_file_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = torch_file(tmp_path / "run.pt", {**STATE, "evil": Evil()})
    assert of_opacus(read_history(place)) == of_opacus(STATE)
    assert not (tmp_path / "broken-in").exists()
    with zipfile.ZipFile(place) as archive:  # the twin: the usual reader falls for it
        pickle.loads(archive.read("archive/data.pkl"))
    assert (tmp_path / "broken-in").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"3", b"{}", b"PK\x05\x06" + bytes(18), b"\x80\x02]."])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.pt").write_bytes(content)
    with pytest.raises(SourceError, match="holds no history of Opacus"):
        read_history(tmp_path / "run.pt")
    with pytest.raises(SourceError, match="cannot be read"):
        read_history(tmp_path / "nowhere.pt")
