"""Documentation that a test keeps true: examples run, commands and pages are listed, links lead somewhere."""

import doctest
import importlib
import importlib.util
import pkgutil
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import markdown
import pytest
import yaml
from typer.testing import CliRunner

import deniable
from deniable.app.cli import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OTHERS = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder: a page makes the files that it speaks of, modules among them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    forget(tmp_path)


def forget(place: Path) -> None:
    """Let the modules of a folder be imported anew, as by a new process."""
    for file in place.glob("*.py"):
        sys.modules.pop(file.stem, None)


def run_python(code: str, names: dict[str, object], page: Path) -> None:
    """A doctest where there are prompts, a program otherwise."""
    if ">>>" not in code:
        exec(compile(code, name_of(page), "exec"), names)
        return
    example = doctest.DocTestParser().get_doctest(code, names, name_of(page), None, None)
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(example, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)
    names.update(example.globs)


def run_console(text: str, place: Path) -> None:
    """Every `$ deniable` line, in order; it succeeds, or says the refusal that the page shows below it.

    An audit may also end with the code of a claim that is false.
    """
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        words = shlex.split(line)
        audit = line.startswith("deniable audit")
        target = words[words.index(">") + 1] if ">" in words else None
        result = CliRunner().invoke(app, words[1 : words.index(">") if target else None])
        forget(place)
        if shown.startswith("deniable: "):
            assert result.stderr == shown, line
            continue
        assert result.exit_code in ({0, 4} if audit else {0}), f"{line}: {result.output}"
        if line.startswith("deniable explain") and shown:
            assert result.stdout == shown, line
        if audit:
            assert verdict(result.stdout) == verdict(shown), line
        if target:
            (place / target).write_text(result.stdout, encoding="utf-8")


def verdict(text: str) -> str:
    """The first line of an audit without its bound, which moves when a search is improved."""
    return re.sub(r"at least [\d.]+", "at least", text.partition("\n")[0])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_run(page: Path, place: Path) -> None:
    names: dict[str, object] = {"__name__": "docs"}
    text = page.read_text(encoding="utf-8")
    if "import statsmodels" in text:
        pytest.importorskip("statsmodels", reason="its tables are the data of the page")
    if "import torch" in text:
        pytest.importorskip("torch", reason="the page is about the extra torch")
        pytest.importorskip("sklearn", reason="its digits are the data of the page")
    for language, body in BLOCK.findall(text):
        heading = re.match(r"# (\w+\.(?:py|toml))\n", body)
        if heading:
            (place / heading[1]).write_text(body, encoding="utf-8")
        elif language == "python":
            run_python(body, names, page)
        elif language == "console":
            run_console(body, place)
        else:
            assert language != "toml", f"{page}: a TOML block begins with the name of its file"


def test_examples_of_docstrings_run(place: Path) -> None:
    modules = [info.name for info in pkgutil.walk_packages(deniable.__path__, "deniable.")]
    for extra, module in {"torch": "deniable.learning.torch", "flwr": "deniable.learning.federated.flower"}.items():
        if importlib.util.find_spec(extra) is None:
            modules.remove(module)
    loaded = [importlib.import_module(name) for name in ["deniable", *modules]]
    shown = [module for module in loaded if ">>>" in Path(str(module.__file__)).read_text(encoding="utf-8")]
    run = [doctest.testmod(module) for module in shown]  # to look into all others takes as long again
    assert sum(found.attempted for found in run) > 40
    assert not sum(found.failed for found in run)


def test_an_example_that_is_wrong_is_noticed(place: Path) -> None:
    with pytest.raises(AssertionError, match="Expected"):
        run_python(">>> 1 + 1\n3\n", {}, DOCS / "index.md")
    with pytest.raises(NameError):
        run_python("undefined", {}, DOCS / "index.md")
    with pytest.raises(AssertionError, match=r"deniable explain lost\.toml"):
        run_console("$ deniable explain lost.toml SQL --epsilon 1\nprotects\n", place)
    with pytest.raises(AssertionError):
        run_console("$ deniable explain lost.toml SQL --epsilon 1\ndeniable: another sentence\n", place)
    (place / "told.py").write_text("def law(rows): return {len(rows): 1}", encoding="utf-8")
    run_console(
        "$ deniable audit exact told:law --epsilon 1\nThe claim of epsilon=1 is false: epsilon is infinite, certainly.",
        place,
    )
    with pytest.raises(AssertionError, match="audit exact"):
        run_console("$ deniable audit exact told:law --epsilon 1\nNo violation found\n", place)


def test_the_guide_shows_both_roads_to_an_answer() -> None:
    languages = [language for language, _ in BLOCK.findall((DOCS / "guide/query.md").read_text(encoding="utf-8"))]
    assert {"console", "toml", "python"} <= set(languages)


def test_every_command_and_option_is_documented() -> None:
    text = "".join(
        (DOCS / "guide" / page).read_text(encoding="utf-8")
        for page in ("start.md", "query.md", "files.md", "marginals.md", "streams.md", "synthesis.md", "hierarchies.md")
    )
    listed = CliRunner().invoke(app, ["--help"]).stdout
    commands = re.findall(r"^│ (\w+)\s", listed, re.MULTILINE)
    assert set(commands) == {
        "init", "import", "explain", "query", "budget", "account", "audit", "doctor", "demo", "attack", "shell",
        "marginals", "stream", "synthesize", "hierarchy",
    }  # fmt: skip
    for command in commands:
        assert f"`deniable {command}" in text or f"$ deniable {command}" in text


def test_the_page_on_attacks_lists_functions_and_commands_that_exist() -> None:
    from deniable.attacks import implementation

    text = (DOCS / "guide/attacks.md").read_text(encoding="utf-8").partition("## All attacks")[2]
    rows = [[cell.strip() for cell in line.split("|")[2:4]] for line in text.splitlines() if line.startswith("| ")][1:]
    named = [name for functions, _ in rows for name in re.findall(r"`(?:implementation\.)?(\w+)`", functions)]
    assert len(named) > 30
    assert not [
        name for name in named if not callable(getattr(deniable.attacks, name, getattr(implementation, name, 0)))
    ]
    commands = re.findall(r"^│ (\w+)\s", CliRunner().invoke(app, ["attack", "--help"]).stdout, re.MULTILINE)
    assert {command.split()[0].strip("`") for _, command in rows if command} == set(commands)


@pytest.mark.parametrize("page", [*PAGES, *(ROOT / name for name in OTHERS)], ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in LINK.findall(text):
        if link.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)} links to {link}"
        assert not anchor or anchor in anchors(target), f"{name_of(page)} links to {link}"


def test_every_proof_that_the_code_names_is_a_page() -> None:
    named = {
        (file, page)
        for folder in ("src", "tests", "docs")
        for file in (ROOT / folder).rglob("*.*")
        if file.suffix in (".py", ".md")
        for page in re.findall(r"docs/theory/[\w/]*\.md", file.read_text(encoding="utf-8"))
    }
    assert len(named) > 100
    assert not [(name_of(file), page) for file, page in named if not (ROOT / page).is_file()]


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    headings = re.findall(r"^#+ (.+?)(?: \{#([\w-]+)\})?$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        mark or re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-")
        for heading, mark in headings
    }


def test_every_page_is_in_the_menu_and_every_entry_is_a_page() -> None:
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def loose_dollars(text: str) -> list[str]:
    """The lines of the rendered page, outside of formulas and code, that still hold a dollar sign."""
    extensions: dict[str, dict[str, object]] = {}
    for entry in yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["markdown_extensions"]:
        extensions.update(entry if isinstance(entry, dict) else {entry: {}})
    page = markdown.markdown(text, extensions=list(extensions), extension_configs=extensions)
    page = re.sub(r'<(span|div) class="arithmatex">.*?</\1>|<(code|pre).*?</\2>', "", page, flags=re.DOTALL)
    return [line for line in page.splitlines() if "$" in line]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_formula_is_rendered(page: Path) -> None:
    assert not loose_dollars(page.read_text(encoding="utf-8"))


def test_a_formula_that_is_not_rendered_is_noticed() -> None:
    assert not loose_dollars("The loss $\\epsilon$.\n\n$$a\n= b,$$\n\nand `$PATH`.")
    assert loose_dollars("it is\n$$a\n= b,$$\nso")
    assert loose_dollars("$5 and more")


def test_the_site_builds(tmp_path: Path) -> None:
    config = pytest.importorskip("mkdocs.config", reason="mkdocs is in the extra docs")
    pytest.importorskip("material", reason="the theme is in the extra docs")
    loaded = config.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path / "site"))
    from mkdocs.commands.build import build

    build(loaded)
    assert (tmp_path / "site" / "guide" / "query" / "index.html").exists()
