"""The demonstration as one page that loads nothing: text, tables and plots."""

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from deniable.app.story import FIX, LESSON, PAIR, TARGET, USEFUL, Asked

if TYPE_CHECKING:
    from deniable.release import Release

STYLE = """<style>
body { max-width: 46em; line-height: 1.5; }
h2 { margin-top: 2em; border-bottom: 1px solid rgba(128,128,128,.35); }
code { font-size: 85%; opacity: .8; }
.exposed { background: rgba(220,40,40,.12); border-left: 4px solid #d22; padding: 0.6em 1em; }
.answer { margin: 1em 0 1.6em; }
img { max-width: 100%; background: white; }
</style>"""


def report_page(exact: Sequence[int], answers: "Sequence[Asked]", refusal: str, budget: str) -> str:
    """Return the whole page; every text in it is escaped."""
    counts = "".join(
        f"<div><code>{escape(question)}</code><br><b>{count}</b></div>"
        for question, count in zip(PAIR, exact, strict=True)
    )
    difference = f"{exact[0]} - {exact[1]} = <b>{exact[0] - exact[1]}</b>"
    pair = answers[: len(PAIR)]
    statistics = answers[len(PAIR) :]
    body = [
        STYLE,
        "<h1>What two counts give away</h1>",
        "<p>A survey of employees, made up for this page: it describes nobody, so the exact counts can be shown. "
        "A private table would never give them.</p>",
        "<h2>Two harmless numbers, one secret</h2>",
        f'<p>{escape(TARGET)}</p><div class="exposed">{counts}<p>{difference}</p></div><p>{escape(LESSON)}</p>',
        f"<h2>The same questions, privately</h2><p>{escape(FIX)}</p>",
        *map(_answer, pair),
        f"<h2>What the survey may tell</h2><p>{escape(USEFUL)}</p>",
        *map(_answer, statistics),
        f"<h2>What is left</h2><p>{escape(budget)}</p><p>A question that costs more is refused: "
        f"<i>{escape(refusal)}</i></p>",
    ]
    from deniable.release.display import PAGE

    return PAGE.format(title="deniable: what two counts give away", body="".join(body))


def _answer(asked: "Asked") -> str:
    question = asked.question
    plot = "" if question.plot is None else _picture(asked.release, question.plot)
    return f'<div class="answer"><b>{escape(question.title)}</b>{asked.release._repr_html_()}{plot}</div>'


def _picture(release: "Release", measure: str) -> str:
    """Return a plot as an image inside the page; nothing without matplotlib.

    Base64, so nothing in it can break out.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return ""

    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    release.plot(measure, ax=figure.subplots())
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    image = base64.b64encode(buffer.getvalue()).decode()
    return f'<p><img alt="{escape(measure)} with 95% intervals" src="data:image/svg+xml;base64,{image}"></p>'
