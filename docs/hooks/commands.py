"""The page docs/reference/commands.md, made from the commands themselves."""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
from typer.models import TyperInfo

from deniable.app.cli import app

HEADER = """# Commands

<!-- Made by `make pages`. Do not edit. -->

`deniable COMMAND --help` prints the same, and `deniable --version` the version. Prices are text, such as `0.1` or
`1/10`, and are read exactly. The exit code is 0 for an answer, 4 if an audit shows that a claim is false and
5 if it could not have shown that, 3 if the budget does not suffice, 2 for any other refusal, and 1 for a defect of
`deniable`; what went wrong is one sentence on the standard error stream. [Query](../guide/query.md) and
[Files](../guide/files.md) show the commands at work.

| command | purpose |
|---|---|
"""


def page() -> str:
    """The page as Markdown text."""
    rows = "".join(
        f"| [`deniable {name}`](#{name}) | {paragraphs(command)[0]} |\n" for name, command in commands().items()
    )
    rows += "".join(f"| [`deniable {one.name}`](#{one.name}) | {said(one)} |\n" for one in app.registered_groups)
    parts = "".join(section(name, command) for name, command in commands().items())
    return HEADER + rows + parts + "".join(map(family, app.registered_groups))


def commands(of: typer.Typer = app) -> dict[str, Callable[..., None]]:
    """The function of each command, by the name of the command, in the order of `deniable --help`."""
    return {str(one.name): one.callback for one in of.registered_commands if one.callback is not None}


def family(group: TyperInfo) -> str:
    """A heading for commands of two words, and a section for each."""
    assert group.typer_instance is not None
    members = commands(group.typer_instance)
    parts = "".join(section(f"{group.name} {name}", command, "###") for name, command in members.items())
    return f"\n## {group.name}\n\n`deniable {group.name} COMMAND`\n\n{said(group)}\n{parts}"


def said(group: TyperInfo) -> str:
    """What a family of commands says about itself."""
    return "" if group.typer_instance is None else str(group.typer_instance.info.help)


def paragraphs(command: Callable[..., None]) -> list[str]:
    """What a command says about itself."""
    return [" ".join(part.split()) for part in inspect.cleandoc(command.__doc__ or "").split("\n\n")]


def section(name: str, command: Callable[..., None], level: str = "##") -> str:
    """A heading, what the command does, and a table of its arguments and options."""
    said = paragraphs(command)
    prose = [part for part in said if not part.startswith("deniable ")]
    examples = [part for part in said if part.startswith("deniable ")]
    taken = list(parameters(command))
    words = [f"deniable {name}", *(one.names for one in taken if not one.names.startswith("-")), "[OPTIONS]"]
    text = f"\n{level} {name}\n\n`{' '.join(words)}`\n\n" + "\n\n".join(prose) + "\n"
    if examples:
        text += "\n```text\n" + "\n".join(examples) + "\n```\n"
    return text + "\n| argument or option | meaning |\n|---|---|\n" + "".join(one.row() for one in taken)


@dataclass(frozen=True)
class Parameter:
    """One argument, or one option with what stands for its value."""

    names: str
    meaning: str
    default: object

    def row(self) -> str:
        """A row of the table."""
        given = self.default.value if isinstance(self.default, Enum) else self.default
        default = "" if any(given is one for one in (None, False, inspect.Parameter.empty)) else f" Default: `{given}`."
        names = re.sub(r"(?<!\\)\|", r"\\|", self.names)
        return f"| `{names}` | {self.meaning}{default} |\n"


def parameters(command: Callable[..., None]) -> Iterator[Parameter]:
    """What a command takes, in its order."""
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        annotation, info = get_args(hints[name])
        kinds = get_args(annotation) or (annotation,)
        if type(info).__name__ == "ArgumentInfo":
            names = info.metavar or name.upper()
        else:
            words = sorted(
                [info.default, *info.param_decls] if info.default is not ... else [f"--{name.replace('_', '-')}"]
            )
            names = ", ".join(f"{word} {value(info, kinds[0])}".strip() for word in words)
        yield Parameter(names, info.help, parameter.default)


def value(info: Any, kind: Any) -> str:
    """What stands for the value of an option; nothing for a switch."""
    if kind is bool:
        return ""
    if isinstance(kind, type) and issubclass(kind, Enum):  # a list of numbers is not a class
        return "\\|".join(str(choice.value) for choice in kind)
    return str(info.metavar or {Path: "FILE", str: "NAME", int: "N"}[kind])
