"""The page docs/course/index.md, made from docs/course/items.toml and the headings of the course."""

import re
import tomllib
from pathlib import Path
from typing import Any

COURSE = Path(__file__).parents[1] / "course"
HEADING = re.compile(r"^(#{2,}) (.+?) \{#(item-\d+|e\d\d)\}$", re.MULTILINE)
BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)

HEADER = """# The course

<!-- Made by `make pages`. Do not edit. -->

Five sets of lecture notes on differential privacy, read with a computer at hand. Every definition, theorem, algorithm,
attack and critique in them, {items} items, has a section; {run} have lines of code that run, the others say why there
are none. Where the notes err, in {errata} places, the right statement stands beside what they say, in {refuted} of them
with code.

"The notes" are:

- *Lecture Notes: Differential Privacy*, without an author: reconstruction, randomized response, mechanisms,
  composition, empirical risk, DP-SGD, teachers, federated learning;
- *Differential Privacy Theory*, a tutorial on the web with three programs in C++;
- Anderson Lee (2025): *Note on Differential Privacy*, after the monograph of Dwork and Roth;
- *CS6290 Privacy-enhancing Technologies, Tutorial 9: Differential Privacy*, with lectures 3 to 5 of Gautam Kamath's
  course CS 860 at the University of Waterloo;
- *Differential Privacy*, an overview of research without an author.

A heading that begins with "The notes:" repeats what they say, and the text below it says why that is wrong.

Read the parts in order, or look something up below. The code is run by the tests of the library on every change; most
items are also checked by a test of their own, on a second route, which is named in grey. `docs/course/items.toml` has
their names.
"""
GAPS = "What is not on a page yet is set in italics.\n"


def page() -> str:
    """The page as Markdown text."""
    found = sections()
    parts = course()["parts"]
    whole = all(part["finished"] for part in parts)
    runs_in = {mark: runs(text) for mark, (_, text) in found.items()}
    items = [runs_in.get(f"item-{number}", False) for part in parts for number in part["items"]]
    refuted = [runs_in.get(number.lower(), False) for part in parts for number in part["errata"]]
    counts = {"items": len(items), "run": sum(items), "errata": len(refuted), "refuted": sum(refuted)}
    text = HEADER.format(**counts) + ("" if whole else "\n" + GAPS) + _pages()
    for part in parts:
        text += f"\n\n## Items: {part['title'][0].lower() + part['title'][1:]}\n"
        text += "".join(_line(number, entry, found.get(f"item-{number}")) for number, entry in part["items"].items())
    text += "\n\n## Errata\n\nWhat the notes say, in short; the section says why it is wrong, and what is right.\n"
    errata = {key: entry for part in parts for key, entry in part["errata"].items()}
    text += "".join(_line(key, errata[key], found.get(key.lower())) for key in sorted(errata))
    return text + "\n"


def _pages() -> str:
    """The pages in the order of the menu."""
    lines = (COURSE.parents[1] / "mkdocs.yml").read_text(encoding="utf-8").partition("\n  - Course:\n")[2]
    menu = lines.partition("\n  - ")[0]
    text = ""
    for group, page, name in re.findall(r"^ {6}(?:- (.+):|    - (.+): course/(\S+))$", menu, re.MULTILINE):
        text += f"\n\n## {group}\n" if group else f"\n- [{page}]({name})"
    return text.removeprefix("\n")


def course() -> dict[str, Any]:
    """The committed list of parts, items and errata."""
    with (COURSE / "items.toml").open("rb") as file:
        return tomllib.load(file)


def sections() -> dict[str, tuple[str, str]]:
    """The page and the text of every marked section, by its mark."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(COURSE.glob("*.md")):
        for mark, text in marked(path.read_text(encoding="utf-8")).items():
            if mark in found:
                message = f"{mark} is marked on {found[mark][0]} and on {path.name}"
                raise ValueError(message)
            found[mark] = (path.name, text)
    return found


def marked(text: str) -> dict[str, str]:
    """The marked sections of one page, each up to the next heading of its own level or above."""
    plain = BLOCK.sub(lambda block: re.sub(r"^#", "%", block[0], flags=re.MULTILINE), text)  # comments are no headings
    found: dict[str, str] = {}
    for heading in HEADING.finditer(plain):
        level, mark = len(heading[1]), heading[3]
        end = re.compile(rf"^#{{1,{level}}} ", re.MULTILINE).search(plain, heading.end())
        if mark in found:
            message = f"{mark} is marked twice on one page"
            raise ValueError(message)
        found[mark] = text[heading.end() : end.start() if end else len(text)]
    return found


def runs(section: str) -> bool:
    """Whether a section holds code that is run."""
    return bool(re.search(r"^```(?:python|console)$", section, re.MULTILINE))


def _line(key: str, entry: list[str], found: tuple[str, str] | None) -> str:
    title, *rest = entry
    mark = f"item-{key}" if key.isdecimal() else key.lower()
    link = f"[{title}]({found[0]}#{mark})" if found else f"*{title}*"
    test = rest[0].partition("::")[0].removeprefix("tests/") if rest else ""
    tested = f" `{test}`" if test else ""
    why = f" ({rest[1]})" if len(rest) > 1 else ""
    return f"\n- **{key}** {link}{why}{tested}"
