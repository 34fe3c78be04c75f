"""Docstrings as Markdown: our headings become paragraphs, examples become code, names of proofs become links."""

import re
from typing import Any

import griffe

WORDS = ("Guarantee", "Args", "Returns", "Raises", "Errors?", "Error rates", "Proofs?", "Sources?", "Columns")
HEADING = re.compile(rf"^((?:{'|'.join(WORDS)})(?:(?:,| and) \w+)?): (?=\S)")


class Docstrings(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each object that it has read."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """The docstring with bold headings, fenced examples and linked proofs.

    >>> print(as_markdown("One.\\n\\nGuarantee: a\\n    b.\\nProof: c."))
    One.
    <BLANKLINE>
    **Guarantee.** a
    b.
    <BLANKLINE>
    **Proof.** c.
    """
    lines: list[str] = []
    inside = fenced = False
    for line in text.splitlines():
        example = line.lstrip().startswith((">>>", "..."))
        if example and not fenced:
            lines += ["", "```pycon"]
            fenced = True
        elif fenced and not line.strip():
            lines.append("```")
            fenced = False
        found = HEADING.match(line)
        if found and not fenced:
            lines += ["", f"**{found[1]}.** {line[found.end() :]}"]
            inside = True
            continue
        inside = inside and line.startswith("    ")
        lines.append(line.strip() if inside and not fenced else line)
    if fenced:
        lines.append("```")
    joined = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return re.sub(r"docs/theory/(\w+)/(\w+)\.md", r"[\2](../../theory/\1/\2.md)", joined)
