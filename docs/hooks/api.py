"""The pages docs/reference/api/*.md: a line `<!-- every name of MODULE -->` becomes one entry for each public name."""

import importlib
import re
from collections import defaultdict
from types import ModuleType

PLACE = re.compile(r"^<!-- every name of ([\w.]+) -->$", re.MULTILINE)
PAGES = ("privacy", "statistics", "release", "ledger", "mechanisms")  # what `deniable` takes from these is shown there


def on_page_markdown(markdown: str, **_: object) -> str:
    """The page with its entries; called by mkdocs. A module whose extra is not installed has none."""
    return PLACE.sub(lambda found: entries(importlib.import_module(found[1])) if installed(found[1]) else "", markdown)


def installed(module: str) -> bool:
    """Whether a module can be imported."""
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def entries(module: ModuleType) -> str:
    """An entry of each public name of a module, under a heading for each folder or file that they come from."""
    groups: dict[str, list[str]] = defaultdict(list)
    for public in public_names(module):
        groups[place(module, public)].append(public)
    return "\n".join(
        (heading(module, group) if len(groups) > 1 else "") + "".join(entry(module, public) for public in groups[group])
        for group in sorted(groups)
    )


def public_names(module: ModuleType) -> list[str]:
    """`__all__` without modules, which have pages of their own; without one, what the module itself defines."""
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__
    ]
    return sorted(name for name in names if name[0] != "_" and not isinstance(getattr(module, name), ModuleType))


def place(module: ModuleType, public: str) -> str:
    """The folder or file below a module in which a public name is defined; nothing if that is elsewhere."""
    home = str(getattr(getattr(module, public), "__module__", None))
    below = f"{module.__name__}."
    return home.removeprefix(below).partition(".")[0] if home.startswith(below) else ""


def heading(module: ModuleType, group: str) -> str:
    """The name of a folder or file in plain letters, and what its docstring says first."""
    if not group:
        return ""
    about = (importlib.import_module(f"{module.__name__}.{group}").__doc__ or "").partition("\n")[0]
    return f"## {group.replace('_', ' ').capitalize()}\n\n{about}\n\n"


def entry(module: ModuleType, public: str) -> str:
    """A directive of mkdocstrings, or a link where the thing has an entry elsewhere or under another name."""
    value = getattr(module, public)
    room = module.__name__.rpartition(".")[0]
    if room not in ("", "deniable") and getattr(importlib.import_module(room), public, None) is value:
        return f"### `{public}`\n\nSee [`{room}.{public}`][{value.__module__}.{public}].\n\n"
    first, home = getattr(value, "__name__", public), getattr(value, "__module__", None)
    path = f"{module.__name__}.{public}" if home is None or first != public else f"{home}.{public}"
    if first != public and getattr(module, first, None) is value:
        return f"### `{public}`\n\nAnother name of [`{first}`][{home}.{first}].\n\n"
    made = getattr(value, "__wrapped__", None)
    if isinstance(made, type):  # a constructor of losses, told by its statement
        return (
            f"### `{public}`\n\nMakes a `PrivacyLoss` with this statement.\n\n::: {made.__module__}.{made.__name__}\n\n"
        )
    if module.__name__ == "deniable" and place(module, public) in PAGES:
        return f"### `{public}`\n\nSee [`deniable.{place(module, public)}.{public}`][{path}].\n\n"
    return f"::: {path}\n\n"
