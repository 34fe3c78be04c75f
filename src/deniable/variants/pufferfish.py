"""Pufferfish privacy on finite models: what is secret, what data may look like, and what a release tells."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, chain, combinations, permutations, product
from numbers import Integral
from typing import Any, TypeAlias

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.tested.distance import of_steps
from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import INFINITE, NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, exact_rational, positive_integer, shown
from deniable.privacy import Replace

Data: TypeAlias = Hashable
Secret: TypeAlias = Callable[[Data], bool]
Laws: TypeAlias = Callable[[Data], Mapping[Hashable, Real]]


@dataclass(frozen=True, kw_only=True)
class Pufferfish:
    """A scenario: pairs of secrets that nobody may tell apart, and models of how the data came about.

    Args:
        pairs: of secrets, which are functions from a data set to whether they hold.
        models: each maps every data set that can occur to its probability; exact, with the sum 1.

    Guarantee: a mechanism is private if P(w | s, model) <= e^epsilon P(w | s', model) in both orders, for every output
        and pair and every model in which both secrets are possible. That does not compose in general.
    Source: Kifer, Machanavajjhala (2014), "Pufferfish: a framework for mathematical privacy definitions".

    >>> from deniable.variants import Pufferfish
    >>> twins = {(0, 0): "1/2", (1, 1): "1/2"}  # two people who are always alike
    >>> scenario = Pufferfish(pairs=[(lambda d: d[0] == 0, lambda d: d[0] == 1)], models=[twins])
    >>> scenario.wasserstein(sum)
    2
    """

    pairs: Sequence[tuple[Secret, Secret]]
    models: Sequence[Mapping[Data, Real]]

    def __post_init__(self) -> None:
        pairs, models = tuple(self.pairs), tuple(map(_law, self.models))
        if not models or not pairs or any(len(pair) != 2 or not all(map(callable, pair)) for pair in pairs):
            raise InvalidParameterError(
                "a scenario needs models, and pairs of secrets, which are functions of the data"
            )
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "models", models)

    @classmethod
    def differential_privacy(cls, values: Sequence[Hashable], *, records: int) -> "Pufferfish":
        """Differential privacy: two values of a record, one of which may be "absent", and any independent records.

        Products with one uncertain record say everything: their data sets are the neighbours.
        """
        if len(set(values)) < 2:
            raise InvalidParameterError("a record needs at least two values")
        sure = [{value: Fraction(1)} for value in values]
        unsure = dict.fromkeys(values, Fraction(1, len(values)))
        models = [
            independent(*others[:i], unsure, *others[i:])
            for i in range(positive_integer("records", records))
            for others in product(sure, repeat=records - 1)
        ]
        return cls(pairs=record_pairs(values, records), models=models)

    def worst_ratio(self, mechanism: Laws) -> Fraction | None:
        """The greatest ratio of two conditional probabilities of an output of exact laws; None without a bound."""
        worst = Fraction(1)
        for pair in self._conditional(mechanism):
            for one, other in permutations(pair):
                if not one.keys() <= other.keys():
                    return None
                worst = max(worst, *(p / other[output] for output, p in one.items()))
        return worst

    def epsilon(self, mechanism: Laws) -> Interval:
        """The smallest epsilon for which a finite mechanism is private in this scenario, by enumeration."""
        worst = self.worst_ratio(mechanism)
        return INFINITE if worst is None else certified(lambda: ball(worst).log(), within=NONNEGATIVE)

    def wasserstein(self, query: Callable[..., int]) -> int:
        """How far the query's mass must move, at most, between the laws of two secrets: W-infinity, by quantiles."""
        laws = self._conditional(lambda data: {query(data): 1})
        if any(not isinstance(answer, Integral) for pair in laws for law in pair for answer in law):
            raise InvalidParameterError("query must give ints. Round or scale its answers to integers first.")
        return max((_farthest(*pair) for pair in laws), default=0)

    def noise(self, query: Callable[..., int], *, epsilon: Real) -> Laplace:
        """The Wasserstein mechanism: discrete Laplace noise of scale W / epsilon for the query, where W is at least 1.

        Guarantee: no mass moves further than W, which changes the probability of an integer by at most e^(W / scale).
        Source: Song, Wang, Chaudhuri (2017), arXiv:1603.03977.
        """
        return Laplace.calibrated(of_steps(max(1, self.wasserstein(query)), Replace), epsilon=epsilon)

    def _conditional(self, mechanism: Laws) -> list[tuple[Any, Any]]:
        """The laws of the output given each secret of a pair, for all pairs and models that allow both."""
        answers = {data: _law(mechanism(data)) for model in self.models for data in model}
        found: list[tuple[Any, Any]] = []
        for model, pair in product(self.models, self.pairs):
            laws = []
            for secret in pair:
                law: Counter[Hashable] = Counter()
                for data, p in model.items():
                    for output, chance in answers[data].items() if p and secret(data) else ():
                        law[output] += p * chance  # type: ignore[operator]
                mass = sum(law.values())
                laws.append({output: Fraction(p) / mass for output, p in law.items() if p})
            if laws[0] and laws[1]:
                found.append((laws[0], laws[1]))
        return found


def _law(law: object) -> dict[Hashable, Fraction]:
    """A law whose probabilities are exact and sum to 1."""
    found = {value: exact_rational("probability", p) for value, p in law.items()} if isinstance(law, Mapping) else {}
    if sum(found.values()) != 1 or min(found.values()) < 0:
        raise InvalidParameterError(
            f"a law must map each outcome to its probability, and these must sum to 1, got {shown(law)}. "
            "Write them as fractions, such as 1/3 in quotes."
        )
    return found


def record_pairs(values: Sequence[Hashable], records: int) -> list[tuple[Secret, Secret]]:
    """Secrets for `Pufferfish`: any two values of any one of these records.

    >>> from deniable.variants import record_pairs
    >>> len(record_pairs(["ill", "well", "absent"], 4))
    12
    """
    pairs = [(i, a, b) for i in range(records) for a, b in combinations(values, 2)]
    return [(lambda data, i=i, a=a: data[i] == a, lambda data, i=i, b=b: data[i] == b) for i, a, b in pairs]  # type: ignore[misc]


def independent(*marginals: Mapping[Hashable, Real]) -> dict[Data, Fraction]:
    """The model in which records are independent, each with a law of its own.

    >>> from deniable.variants import independent
    >>> independent({0: "1/4", 1: "3/4"}, {0: 1})
    {(0, 0): Fraction(1, 4), (1, 0): Fraction(3, 4)}
    """
    model: dict[Data, Fraction] = {(): Fraction(1)}
    for marginal in marginals:
        law = _law(marginal)
        model = {(*data, value): p * q for data, p in model.items() for value, q in law.items()}  # type: ignore[misc]
    return model


def _farthest(first: Mapping[int, Fraction], second: Mapping[int, Fraction]) -> int:
    """The largest distance between equal quantiles of two laws on the integers."""
    places = [sorted(law) for law in (first, second)]
    levels = [list(accumulate(law[place] for place in row)) for law, row in zip((first, second), places, strict=True)]
    return max(abs(places[0][bisect_left(levels[0], p)] - places[1][bisect_left(levels[1], p)]) for p in chain(*levels))
