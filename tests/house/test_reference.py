"""The reference is complete: every public name, every command and option, every key of a policy."""

import importlib
import inspect
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import fields
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

import deniable
from deniable import statistics
from deniable.app.cli import app
from deniable.files.declaration import Csv
from deniable.mechanisms import MECHANISMS
from deniable.query.policy import COLUMN_FIELDS, NUMBER, SECTIONS, read_policy
from deniable.statistics.regression.method import METHODS
from deniable.statistics.statistic import Statistic

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
POLICY = (REFERENCE / "policy.md").read_text(encoding="utf-8")
KEYS = {**SECTIONS, "columns": COLUMN_FIELDS}
TYPES = {str: "text", int: "whole number", bool: "true or false", list: "list", dict: "section", NUMBER: "number"}
TYPES[(*NUMBER, date)] = "number or date"
TYPES |= {(list, str): "list, or text", (str, int): "whole number, or text"}


HOOKS = ROOT / "docs" / "hooks"


def hook(name: str) -> ModuleType:
    """A module of docs/hooks, which is no package."""
    if str(HOOKS) not in sys.path:
        sys.path.append(str(HOOKS))
    return importlib.import_module(name)


API = hook("api")
WRITTEN = "".join(page.read_text(encoding="utf-8") for page in (REFERENCE / "api").glob("*.md"))
LISTED = API.on_page_markdown(WRITTEN)


def public_modules() -> list[ModuleType]:
    """What a user imports: the package, the modules that it offers, and the rooms with a list of public names."""
    rooms = [path.parent.name for path in Path(deniable.__file__).parent.glob("*/__init__.py")]
    modules = [importlib.import_module(f"deniable.{room}") for room in rooms]
    inside = [value for name in deniable.__all__ if inspect.ismodule(value := getattr(deniable, name))]
    public = [module for module in modules if hasattr(module, "__all__") and module.__name__ != "deniable.rows"]
    found = {module.__name__: module for module in [deniable, *public, *inside]}
    for module in list(found.values()):
        offered = [getattr(module, name) for name in getattr(module, "__all__", [])]
        found |= {value.__name__: value for value in offered if inspect.ismodule(value)}
    return list(found.values())


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: str(module.__name__))
def test_every_public_name_has_an_entry(module: ModuleType) -> None:
    assert f"<!-- every name of {module.__name__} -->" in WRITTEN
    names = API.public_names(module)
    assert names
    for name in names:
        assert re.search(rf"^(::: \S+\.|### `){name}`?$", LISTED, re.MULTILINE), name


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: str(module.__name__))
def test_every_public_function_shows_an_example(module: ModuleType) -> None:
    functions = [value for name in API.public_names(module) if inspect.isfunction(value := getattr(module, name))]
    assert [function.__name__ for function in functions if ">>>" not in (function.__doc__ or "")] == []


def test_every_entry_is_something_that_can_be_imported() -> None:
    entries = re.findall(r"^::: (\S+)$", LISTED, re.MULTILINE)
    assert len(entries) == len(set(entries)) > 100
    for path in entries:
        home, _, name = path.rpartition(".")
        assert getattr(importlib.import_module(home), name) is not None


def test_a_second_name_links_to_the_first() -> None:
    module = ModuleType("deniable.made_up")
    exec("def first(): ...\nsecond = first\nclass Thing: ...\nRATE = 1", vars(module))
    module.first.__module__ = module.Thing.__module__ = "deniable.made_up"
    module.__all__ = ["first", "second", "Thing", "RATE"]
    assert API.entries(module) == (
        "::: deniable.made_up.RATE\n\n::: deniable.made_up.Thing\n\n::: deniable.made_up.first\n\n"
        "### `second`\n\nAnother name of [`first`][deniable.made_up.first].\n\n"
    )


def test_docstrings_become_markdown() -> None:
    pytest.importorskip("griffe", reason="griffe is in the extra docs")
    as_markdown = hook("docstrings").as_markdown
    text = "One.\n\n>>> f(1)\n2\n\nGuarantee: a\n    b.\nProof: docs/theory/noise/race.md."
    assert as_markdown(text) == (
        "One.\n\n```pycon\n>>> f(1)\n2\n```\n\n**Guarantee.** a\nb.\n\n**Proof.** [race](../../theory/noise/race.md)."
    )


@pytest.mark.parametrize("name", hook("make").PAGES)
def test_pages_that_are_made_from_the_code_are_up_to_date(name: str) -> None:
    written = (REFERENCE / name).read_text(encoding="utf-8")
    assert written == hook("make").PAGES[name](), "run make pages, which is python docs/hooks/make.py"


def test_every_mechanism_has_a_guarantee_and_an_audited_pair() -> None:
    page = hook("mechanism_table").page()
    for mechanism in MECHANISMS.values():
        assert page.count(f"\n| `{mechanism.__name__}` |") == 2


STATISTICS = [kind for members in hook("statistic_table").FAMILIES.values() for kind in members]


def test_every_public_statistic_has_one_row() -> None:
    public = {one for name in statistics.__all__ if hasattr(one := getattr(statistics, name), "statistic")}
    assert len(STATISTICS) == len(set(STATISTICS))
    assert set(STATISTICS) == public - {statistics.linear_regression} | set(METHODS.values())


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda kind: str(kind.__name__))
def test_every_statistic_states_its_guarantee_and_where_it_is_proved(statistic: Callable[..., object]) -> None:
    section = hook("statistic_table").section
    assert section(statistic, "Guarantee")
    assert (ROOT / section(statistic, "Proof").split()[0].rstrip(".,;")).is_file()


def test_a_section_ends_at_the_next_one_and_is_inherited() -> None:
    section = hook("statistic_table").section

    class Kind(Statistic):
        """First line.

        Guarantee: one
            two.
        Proof: here.
        """

    class Child(Kind):
        """First line.

        Proof: there.
        """

    assert section(Kind, "Guarantee") == section(Child, "Guarantee") == "one two"
    assert section(Child, "Proof") == "there"
    assert section(Kind, "Nonsense") == ""


def test_the_page_of_commands_has_what_help_has() -> None:
    page = (REFERENCE / "commands.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    commands = re.findall(r"^│ (\w+)\s", CliRunner().invoke(app, ["--help"]).stdout, re.MULTILINE)
    assert set(sections) == set(commands)
    for command in commands:
        helped = CliRunner().invoke(app, [command, "--help"]).stdout
        options = set(re.findall(r"^│ {1,5}(--[\w-]+)", helped, re.MULTILINE)) - {"--help"}
        assert options <= set(re.findall(r"(?:\| `|, )(-[\w-]+)", sections[command])), command


@pytest.mark.parametrize("family", [str(group.name) for group in app.registered_groups])
def test_the_page_of_commands_has_those_of_two_words(family: str) -> None:
    page = (REFERENCE / "commands.md").read_text(encoding="utf-8")
    sections = dict(re.findall(rf"^### {family} ([\w-]+)\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE))
    commands = re.findall(r"^│ ([\w-]+)\s", CliRunner().invoke(app, [family, "--help"]).stdout, re.MULTILINE)
    assert set(sections) == set(commands) - {"--help"}
    for command, section in sections.items():
        helped = CliRunner().invoke(app, [family, command, "--help"]).stdout
        options = set(re.findall(r"^│ [ *]? {0,5}(--[\w-]+)", helped, re.MULTILINE)) - {"--help"}
        assert options, command
        assert options <= set(re.findall(r"(?:\| `|, )(-[\w-]+)", section)), command


def table(section: str) -> dict[str, tuple[str, str]]:
    """Type and default of each key in the table of a section of the policy page."""
    heading = f"## `[{section}.NAME]`" if section in ("columns", "tables") else f"## `[{section}]`"
    body = POLICY.split(heading)[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", body, re.MULTILINE)
    return {key: (kind, default) for key, kind, default in rows}


@pytest.mark.parametrize("section", KEYS)
def test_every_key_of_a_policy_stands_on_its_page_with_its_type(section: str) -> None:
    assert {key: kind for key, (kind, _) in table(section).items()} == {
        key: TYPES[kind] for key, kind in KEYS[section].items()
    }


def test_the_defaults_of_the_policy_page_are_those_of_the_code(tmp_path: Path) -> None:
    defaults = {field.name: field.default for field in fields(Csv)}
    for key, (_, shown) in table("csv").items():
        if shown.startswith("`"):
            value = tomllib.loads(f"value = {shown.strip('`')}")["value"]
            assert (tuple(value) if isinstance(value, list) else value) == defaults[key], key
    least = tmp_path / "least.toml"
    least.write_text('[data]\nsource = "t.parquet"\n[privacy]\nunit = "x"\n[budget]\nepsilon = 1\n', encoding="utf-8")
    policy = read_policy(least)
    shown_defaults = {key: shown.strip("`") for key, (_, shown) in table("privacy").items()}
    assert shown_defaults["relation"] == f'"{policy.relation}"'
    assert shown_defaults["ids"] == str(policy.unit.ids)
    assert (shown_defaults["rows"], shown_defaults["groups"]) == (str(policy.rows), str(policy.groups))
    assert table("data")["partitions"][1] == f"`{str(policy.partitions).lower()}`"
    assert table("budget")["delta"][1] == f"`{policy.budget.delta}`"
    assert policy.ledger.name == "least.ledger"


def test_the_examples_of_the_policy_page_are_read_and_use_every_key(tmp_path: Path) -> None:
    used: set[tuple[str, str]] = set()
    for body in re.findall(r"^```toml\n(.*?)^```$", POLICY, re.DOTALL | re.MULTILINE):
        file = tmp_path / body.split()[1]
        file.write_text(body, encoding="utf-8")
        read_policy(file)
        for section, content in tomllib.loads(body).items():
            inner = content.values() if section in ("columns", "tables") else [content]
            used |= {(section, key) for one in inner for key in one}
    assert used == {(section, key) for section, known in KEYS.items() for key in known}
