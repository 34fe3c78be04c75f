"""Comparison of syntactic and semantic protection, by attacks on one table."""

import html
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.attacks.anonymity.background import guess_with_background
from deniable.attacks.anonymity.generalise import generalise, suppress, tabulate
from deniable.attacks.anonymity.homogeneity import guess_by_class
from deniable.attacks.anonymity.intersection import guess_by_both
from deniable.attacks.anonymity.report import Anonymity, measure_anonymity
from deniable.attacks.anonymity.view import View, see
from deniable.attacks.frames import Names, as_frame, read_columns, read_names
from deniable.attacks.numbers import start_dice
from deniable.attacks.result import Comparison, legend_above, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ReleasedView = Callable[[Any], View]
_COLOURS = ("#b04a3a", "#d08a4a", "#6a7fa8")  # of the attacks


@dataclass(frozen=True, kw_only=True)
class AnonymityComparison:
    """Measures of several releases of one table, and attacks on them.

    Args:
        measures: release -> its measures; for those whose rows are people.
        attacks: attack -> its outcome on each release.
        from_others: share that is right for a guesser who knows every exact row but the target's own, and guesses by
            class.

    >>> import deniable as dn
    >>> from deniable.attacks import compare_anonymity
    >>> compared = compare_anonymity(dn.datasets.survey(), quasi=["department", "age"], sensitive="satisfaction")
    >>> list(compared.measures)
    ['exact', 'suppressed', 'k-anonymous']
    """

    measures: Mapping[str, Anonymity]
    attacks: Mapping[str, Comparison]
    from_others: float

    @property
    def sentence(self) -> str:
        """Outcomes of guessing by class, in words."""
        first = next(iter(self.attacks.values()))
        got = ", ".join(f"{name} {result.success.value:.1%}" for name, result in first.items())
        return (
            f"Guessing by class is right for: {got}. Without a release it is {first['exact'].baseline:.1%}; "
            f"from everybody else's exact rows, {self.from_others:.1%}."
        )

    def __repr__(self) -> str:
        return f"<AnonymityComparison: {self.sentence}>"

    def __str__(self) -> str:
        measured = [f"{name}: {one}" for name, one in self.measures.items()]
        attacked = [f"{name}\n{one}" for name, one in self.attacks.items()]
        return "\n\n".join([self.sentence, *measured, *attacked])

    def _repr_html_(self) -> str:
        parts: list[tuple[str, Anonymity | Comparison]] = [*self.measures.items(), *self.attacks.items()]
        shown = (f"<h4>{html.escape(name)}</h4>{one._repr_html_()}" for name, one in parts)
        return f"<p><b>{html.escape(self.sentence)}</b></p>{''.join(shown)}"

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON."""
        return {
            "sentence": self.sentence,
            "from_others": self.from_others,
            "measures": {name: one.to_data() for name, one in self.measures.items()},
            "attacks": {name: {key: one.to_data() for key, one in each.items()} for name, each in self.attacks.items()},
        }

    def to_json(self) -> str:
        """Return `to_data()` as canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw a group of bars for each release, one for each attack, with the guesses.

        Args:
            ax: matplotlib axes to draw on; None makes new ones.

        Raises: MissingExtraError if matplotlib is not installed.
        """
        ax = new_axes(ax)
        releases = list(next(iter(self.attacks.values())))
        width = 0.8 / len(self.attacks)
        for index, (name, outcomes) in enumerate(self.attacks.items()):
            results = [(at, outcomes[release]) for at, release in enumerate(releases) if release in outcomes]
            left = np.array([at for at, _ in results]) + (index - (len(self.attacks) - 1) / 2) * width
            ax.bar(left, [one.success.value for _, one in results], 0.9 * width, label=name, color=_COLOURS[index])
            ax.hlines([one.baseline for _, one in results], left - width / 2, left + width / 2, color="#223344",
                      linestyle="--", label="guess without the release" if not index else "_")  # fmt: skip
        ax.set_xticks(range(len(releases)), releases)
        ax.set_ylim(0, 1.05)
        ax.set_ylabel(f"share right: {next(iter(self.attacks.values()))['exact'].target}")
        legend_above(ax)
        return ax


def compare_anonymity(
    frame: Any,
    *,
    quasi: Names,
    sensitive: str,
    k: int = 5,
    private: Any = None,
    count: str = "count",
    seed: int = 0,
) -> AnonymityComparison:
    """Release one table in several ways, and attack each release.

    The releases are exact, suppressed, rounded, k-anonymous and private.

    The attacks are homogeneity; background knowledge (two neighbours and, where there are three secrets or more, one
    wrong secret ruled out); and intersection (two releases about two thirds of the people each, drawn at random).

    Args:
        frame: rows of pandas, Polars or Arrow, one for each person.
        quasi, sensitive: names of its columns.
        k: counts of (quasi, sensitive) below it are suppressed, all are rounded to its multiples, and Mondrian makes
            classes of it.
        private: a table of noisy counts with the columns `quasi`, `sensitive` and `count`; or a function that takes
            rows like those of `frame` and returns one; it is called three times. A table takes no part in the
            intersection.
        count: its column of counts.
        seed: of the attackers' draws.

    Returns: an `AnonymityComparison`.
    Raises: InvalidParameterError if a column is unknown, or there are fewer than 2 k rows.

    >>> import deniable as dn
    >>> compared = compare_anonymity(dn.datasets.survey(), quasi=["department", "age"], sensitive="satisfaction")
    >>> list(compared.attacks["homogeneity"])
    ['exact', 'suppressed', 'rounded', 'k-anonymous']
    """
    names = read_names(quasi, role="quasi")
    rng = start_dice(seed)
    wrapped = as_frame(frame)
    read_columns([*names, sensitive], wrapped, role="the comparison")  # refuses unknown columns before any work
    rows = wrapped.select(*names, sensitive)
    people = rows.to_native()
    named: dict[str, Any] = {"quasi": names, "sensitive": sensitive}
    coarse = generalise(people, quasi=names, k=k)
    releases = _releases(people, coarse, named, k=k, private=private, count=count)
    views = {name: release(people) for name, release in releases.items()}
    wrong = int(len(views["exact"].values) > 2)
    background = {
        name: guess_with_background(view, ruled_out=wrong, neighbours=2, seed=seed) for name, view in views.items()
    }
    attacks = {
        "homogeneity": Comparison({name: guess_by_class(view) for name, view in views.items()}),
        "background knowledge": Comparison(background),
    }
    parts = [np.sort(rng.permutation(len(rows))[: -(-2 * len(rows) // 3)]) for _ in range(2)]
    _, here, there = np.intersect1d(parts[0], parts[1], return_indices=True)
    twice = {name: one for name, one in releases.items() if name != "private" or callable(private)}
    one, other = (rows[part.tolist()].to_native() for part in parts)
    attacks["intersection"] = Comparison(
        {name: guess_by_both(release(one), release(other), here, there) for name, release in twice.items()}
    )
    hidden = suppress(people, quasi=[*names, sensitive], k=k)
    released = {"exact": people, "suppressed": hidden, "k-anonymous": coarse}
    measures = {name: measure_anonymity(table, **named) for name, table in released.items() if len(table)}
    return AnonymityComparison(measures=measures, attacks=attacks, from_others=views["exact"].from_others)


def _releases(
    people: Any, coarse: Any, named: dict[str, Any], *, k: int, private: Any, count: str
) -> dict[str, ReleasedView]:
    """Return each kind of release, as a function from rows to an attacker's view.

    `coarse` is `people`, k-anonymous.
    """
    names = named["quasi"]

    def counted(people: Any, **rule: int) -> View:
        table = tabulate(people, by=[*names, named["sensitive"]], count=count, **rule)
        return see(table, **named, people=people, count=count)

    releases: dict[str, ReleasedView] = {
        "exact": lambda people: see(people, **named),
        "suppressed": lambda people: counted(people, suppress_below=k),
        "rounded": lambda people: counted(people, round_to=k),
        "k-anonymous": lambda some: see(coarse if some is people else generalise(some, quasi=names, k=k), **named),
    }
    if private is not None:
        ask = private if callable(private) else lambda _: private
        releases["private"] = lambda people: see(ask(people), **named, people=people, count=count)
    return releases
