"""Plant the bugs of tests/mutants/<room>.toml one at a time in a copy of the tree, and print those that no test finds.

`make mutants ROOM=games`, or all rooms without ROOM. Ends with status 1 where fewer than 95% of a room's are found.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).parents[2]
LISTS = TREE / "tests" / "mutants"
ENOUGH = 0.95  # of the bugs of a room
SECONDS = 600  # for the tests of one bug, beyond which it lives


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A bug that would be a hole: `new` in place of the only `old` in a file, and the tests that should find it.

    Args:
        file: below src/deniable; tests: paths below tests, which may go on with ::name.
        why: what the bug would do, or which guard it removes.
    """

    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    why: str

    @property
    def path(self) -> Path:
        return Path("src/deniable", self.file)

    def planted(self, text: str) -> str:
        """The text of the file with the bug.

        Raises: ValueError if the old text does not occur exactly once.
        """
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has {text.count(self.old)} times {self.old!r}, not once")
        return text.replace(self.old, self.new)


def rooms() -> dict[str, list[Mutant]]:
    """The bugs of each room, by the names of its files."""
    return {path.stem: read(path.read_text(encoding="utf-8")) for path in sorted(LISTS.glob("*.toml"))}


def read(text: str) -> list[Mutant]:
    return [Mutant(**{**each, "tests": tuple(each["tests"])}) for each in tomllib.loads(text)["mutant"]]


class Copy:
    """A copy of the tree, in which bugs are planted and taken out again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._planted = folder, 0

    @classmethod
    def of_tree(cls, folder: Path) -> "Copy":
        for name in ("src", "tests", "docs", "benchmarks", "pyproject.toml", "README.md", "CHANGELOG.md", "Makefile"):
            (shutil.copytree if (TREE / name).is_dir() else shutil.copy2)(TREE / name, folder / name)
        return cls(folder)

    def tested(self, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        """Run these tests until one fails, on the copy and not on what is installed."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", "-rN"]
        places = [f"tests/{each}" for each in tests]
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "src"), "NO_COLOR": "1"}
        return subprocess.run(
            [*command, *places],
            check=False,
            cwd=self.folder,
            env=environment,
            timeout=SECONDS,
            capture_output=True,
            text=True,
        )

    def finds(self, mutant: Mutant) -> str:
        """What the tests say to the bug: "found", "lives" or "is broken" (the tests did not start)."""
        path = self.folder / mutant.path
        before, times = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(mutant.planted(before), encoding="utf-8")
        self._planted += 10  # bytecode is known by time and size alone
        os.utime(path, (times.st_atime, times.st_mtime + self._planted))
        try:
            status = self.tested(mutant.tests).returncode
        except subprocess.TimeoutExpired:
            status = 0
        finally:
            path.write_text(before, encoding="utf-8")
            os.utime(path, (times.st_atime, times.st_mtime))
        return {0: "lives", 1: "found"}.get(status, "is broken")


def plant(room: str, mutants: list[Mutant], copy: Copy) -> float:
    """Print what becomes of each bug; return the share that is found."""
    sound = copy.tested(tuple(dict.fromkeys(test for each in mutants for test in each.tests)))
    if sound.returncode:
        raise SystemExit(f"{room}: tests fail without any bug\n{sound.stdout[-3000:]}{sound.stderr[-1000:]}")
    found = 0
    for mutant in mutants:
        verdict = copy.finds(mutant)
        found += verdict == "found"
        if verdict != "found":
            say(f"{room}: {verdict}: {mutant.file}: {mutant.why}\n    {mutant.old}\n    {mutant.new}")
    say(f"{room}: found {found} of {len(mutants)}")
    return found / len(mutants)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(names: list[str]) -> int:
    listed = rooms()
    if unknown := [name for name in names if name not in listed]:
        raise SystemExit(f"no list for {', '.join(unknown)}; there are {', '.join(listed)}")
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy.of_tree(Path(folder))
        shares = [plant(name, listed[name], copy) for name in names or listed]
    return int(min(shares) < ENOUGH)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
