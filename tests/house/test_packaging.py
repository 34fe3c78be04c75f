"""What is shipped: one version everywhere, all sources, a floor for every package, no archives of others."""

import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import deniable

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_one_version_is_stated() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    assert PROJECT["project"]["version"] == deniable.__version__ == cited[1]


def test_the_source_archive_holds_everything_that_is_tracked_and_nothing_that_others_made() -> None:
    try:
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no checkout")
    files = listed.splitlines()
    shipped = [*PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"], "pyproject.toml", ".gitignore"]
    lost = {name.partition("/")[0] for name in files}
    assert {name for name in lost if not any(fnmatch(name, kept) for kept in shipped)} == set()
    assert [name for name in files if re.search(r"\.(whl|gz|zip|egg)$", name)] == []


def test_every_package_has_a_lowest_version_and_python_too() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    for text in [*PROJECT["project"]["dependencies"], *extras["plot"], *extras["docs"]]:
        assert re.match(r"[\w\[\]-]+>=\d", text), text
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {least}" in PROJECT["project"]["classifiers"]
    assert (Path(deniable.__file__).parent / "py.typed").exists()
