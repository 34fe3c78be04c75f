"""The rules of the house: which room imports which, what is public, and what start-up may load."""

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import deniable

SOURCE = Path(deniable.__file__).parent
# A room imports only what its line names, and what all may import. docs/architecture.md shows the same table.
MAY_IMPORT = {
    "errors": set(),
    "arguments": set(),
    "layout": set(),
    "numbers": set(),
    "privacy": set(),
    "noise": set(),
    "rows": set(),
    "files": {"rows"},
    "mechanisms": {"privacy", "noise", "rows"},
    "release": {"privacy"},
    "statistics": {"privacy", "noise", "rows", "mechanisms", "release", "ledger"},
    "ledger": {"privacy"},
    "query": {
        "privacy",
        "noise",
        "rows",
        "files",
        "mechanisms",
        "release",
        "statistics",
        "ledger",
        "synthesis",
        "stream",
    },
    "synthesis": {"privacy", "noise", "rows", "mechanisms", "release", "statistics", "ledger"},
    "stream": {"privacy", "noise", "rows", "mechanisms", "release", "ledger"},
    "limits": {"privacy"},
    "learning": {"privacy", "noise", "rows", "mechanisms", "release", "statistics", "ledger"},
    "local": {"privacy", "noise", "rows", "mechanisms", "release", "ledger", "limits"},
    "variants": {"privacy", "noise", "rows", "mechanisms", "release", "ledger"},
    "games": {"privacy", "noise", "rows", "mechanisms", "release", "ledger"},
    "adaptive": {"privacy", "noise", "rows", "mechanisms", "release", "ledger"},
    "attacks": set(),
    "audit": {"privacy", "mechanisms"},
    "app": {
        "attacks",
        "audit",
        "datasets",
        "privacy",
        "noise",
        "rows",
        "files",
        "mechanisms",
        "release",
        "statistics",
        "ledger",
        "query",
        "synthesis",
        "stream",
        "learning",
        "local",
    },
}
FILES = sorted(SOURCE.rglob("*.py"))
FOR_ALL = {"errors", "arguments", "layout", "numbers"}
HOUSED = [path for path in FILES if path.parent != SOURCE or path.stem in FOR_ALL]


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute in this house"
            names = [node.module or ""]
            if node.module == "deniable":
                names = [f"deniable.{alias.name}" for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("deniable.")}
    return rooms


def imports_of_files(*, inside_functions: bool = False) -> dict[str, set[str]]:
    """The files of ours that each file imports, types aside; or those that it imports inside a function alone."""
    names = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in FILES
    }
    found: dict[str, set[str]] = {name: set() for name in names}

    def read(name: str, node: ast.AST, inside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.ImportFrom) and (inside or not inside_functions):
                for alias in child.names:
                    longer = f"{child.module}.{alias.name}"
                    found[name] |= {each for each in (longer if longer in names else child.module,) if each in names}
            read(name, child, inside or isinstance(child, ast.FunctionDef | ast.Lambda))

    for name, path in names.items():
        read(name, ast.parse(path.read_text(encoding="utf-8")), False)
        found[name].discard(name)
    return found


def test_no_two_files_import_each_other() -> None:
    """A circle is a noun that is missing."""
    try:
        TopologicalSorter(imports_of_files()).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_a_circle_of_files_is_seen() -> None:
    with pytest.raises(CycleError):
        TopologicalSorter(imports_of_files() | {"deniable.errors": {"deniable.privacy"}}).prepare()


def test_privacy_imports_nothing_of_ours_inside_a_function() -> None:
    hidden = {name: files for name, files in imports_of_files(inside_functions=True).items() if files}
    assert [name for name in hidden if name.startswith("deniable.privacy")] == []
    assert hidden  # other rooms load some of theirs late, to start quickly


@pytest.mark.parametrize("path", HOUSED, ids=str)
def test_rooms_import_only_what_their_line_names(path: Path) -> None:
    room = room_of(path)
    assert imported_rooms(path) - {room} - FOR_ALL <= MAY_IMPORT[room]


def test_every_room_has_a_line() -> None:
    rooms = {room_of(path) for path in HOUSED}
    assert rooms == set(MAY_IMPORT)


def test_only_the_noise_room_touches_entropy() -> None:
    """Attackers roll dice too, in rooms that nothing which releases may import."""
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        if room_of(path) not in ("noise", "attacks", "audit"):
            found = re.search(r"\b(np|numpy)\.random\b|\bimport random\b|\bdefault_rng\b|\burandom\b", text)
            assert found is None, f"{path} mentions {found and found.group()}"


def files_that_write_into_frozen_values(files: dict[str, str]) -> set[str]:
    return {name for name, text in files.items() if re.search(r"object\.__setattr__|__dict__(\.update|\[)", text)}


def test_frozen_values_are_built_in_one_place() -> None:
    """`read_fields` sets fields; `state` puts a model that is not ours back as it was."""
    files = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in FILES}
    assert files_that_write_into_frozen_values(files) == {"arguments.py", "learning/torch/state.py"}


@pytest.mark.parametrize("line", ['object.__setattr__(self, "x", 1)', "self.__dict__.update(x=1)"])
def test_another_way_to_build_frozen_values_is_seen(line: str) -> None:
    assert files_that_write_into_frozen_values({"a.py": line, "b.py": "read_fields(self, x=1)"}) == {"a.py"}


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) == "attacks"], ids=str)
def test_attacks_know_nothing_of_our_insides(path: Path) -> None:
    assert imported_rooms(path) <= {"attacks", "errors", "layout"}


def test_public_names_are_these() -> None:
    assert set(deniable.__all__) == {
        "AddRemove",
        "Boolean",
        "Budget",
        "Csv",
        "CsvColumn",
        "Database",
        "Date",
        "Keys",
        "Ledger",
        "Number",
        "PrivacyUnit",
        "Release",
        "Replace",
        "Text",
        "Timestamp",
        "__version__",
        "adaptive",
        "attacks",
        "audit",
        "col",
        "connect",
        "datasets",
        "each_row",
        "games",
        "guess_csv",
        "import_csv",
        "learning",
        "limits",
        "lit",
        "local",
        "mechanisms",
        "privacy",
        "statistics",
        "stream",
        "variants",
        "when",
    }
    for name in deniable.__all__:
        assert getattr(deniable, name) is not None


@pytest.mark.parametrize("room", ["", *(f".{name}" for name in deniable._ROOMS if name != "datasets")])
def test_a_room_shows_its_public_names_and_nothing_else(room: str) -> None:
    module = importlib.import_module(f"deniable{room}")
    assert dir(module) == sorted(module.__all__) == sorted(set(module.__all__))
    assert all(hasattr(module, name) for name in module.__all__)


def test_privacy_has_no_more_names_than_a_person_can_hold() -> None:
    assert len(deniable.privacy.__all__) <= 40


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = deniable.nothing


HEAVY = {"torch", "sklearn", "pandas", "polars", "pyspark", "matplotlib", "statsmodels", "scipy", "numpy", "duckdb"}


def test_importing_deniable_loads_nothing_heavy() -> None:
    code = "import sys, deniable; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY & {name.split(".")[0] for name in loaded}


def test_a_query_loads_no_frame_library_and_no_plot(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    deniable.import_csv(tmp_path / "t.csv", deniable.Csv())
    code = (
        "import sys, deniable as dn\n"
        f"db = dn.connect({str(tmp_path / 't.csv')!r}, unit=dn.each_row(), budget=dn.Budget(epsilon=1))\n"
        "print(db.sql('SELECT COUNT(*) FROM t', epsilon=1), file=sys.stderr)\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "sklearn", "pandas", "polars", "matplotlib"} & {name.split(".")[0] for name in loaded}


def test_every_file_has_its_tests() -> None:
    tests = Path(__file__).parents[1]
    for path in FILES:
        if path.name not in ("__init__.py", "__main__.py") and path.name != "errors.py":
            relative = path.relative_to(SOURCE)
            assert (tests / relative.parent / f"test_{relative.name}").exists(), f"no tests for {relative}"


def test_no_file_asks_for_a_second_noun() -> None:
    long = {str(path.relative_to(SOURCE)): len(path.read_text().splitlines()) for path in FILES}
    assert {name: lines for name, lines in long.items() if lines > 450} == {}
