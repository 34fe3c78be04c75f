"""Pufferfish privacy on finite models: secrets, models of data, and releases."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, chain, combinations, permutations, product
from numbers import Integral
from typing import Any, TypeAlias

from deniable.arguments import read_fields
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
    """Scenario of Pufferfish privacy: pairs of secrets, and models of the data.

    Args:
        pairs: of secrets that nobody may distinguish; a secret is a function from a data set to whether it holds.
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
        pairs = tuple(self.pairs)
        models = tuple(map(_law, self.models))
        if not models or not pairs or any(len(pair) != 2 or not all(map(callable, pair)) for pair in pairs):
            raise InvalidParameterError(
                "a scenario needs at least one model, and at least one pair of secrets, which are functions of the data"
            )
        read_fields(self, pairs=pairs, models=models)

    @classmethod
    def differential_privacy(cls, values: Sequence[Hashable], *, records: int) -> "Pufferfish":
        """Return the scenario of differential privacy.

        Its secrets are two values of a record, its models all independent records. Products with one uncertain record
        suffice: their data sets are the neighbours.

        Args:
            values: of a record, at least two; one may be "absent".
            records: number of records.
        """
        if len(set(values)) < 2:
            raise InvalidParameterError(f"values must hold at least two different values, got {shown(values)}")
        sure = [{value: Fraction(1)} for value in values]
        unsure = dict.fromkeys(values, Fraction(1, len(values)))
        models = [
            independent(*others[:i], unsure, *others[i:])
            for i in range(positive_integer("records", records))
            for others in product(sure, repeat=records - 1)
        ]
        return cls(pairs=record_pairs(values, records), models=models)

    def worst_ratio(self, mechanism: Laws) -> Fraction | None:
        """Return the greatest likelihood ratio of an output; None if it has no bound.

        Args:
            mechanism: maps a data set to the exact probability of each output.
        """
        worst = Fraction(1)
        for pair in self._conditional(mechanism):
            for one, other in permutations(pair):
                if not one.keys() <= other.keys():
                    return None
                worst = max(worst, *(p / other[output] for output, p in one.items()))
        return worst

    def epsilon(self, mechanism: Laws) -> Interval:
        """Return the least epsilon of a finite mechanism in this scenario.

        Args:
            mechanism: maps a data set to the exact probability of each output.
        """
        worst = self.worst_ratio(mechanism)
        return INFINITE if worst is None else certified(lambda: ball(worst).log(), within=NONNEGATIVE)

    def wasserstein(self, query: Callable[..., int]) -> int:
        """Return the largest distance W-infinity between the answers under two secrets.

        Args:
            query: maps a data set to an int.
        """
        laws = self._conditional(lambda data: {query(data): 1})
        if any(not isinstance(answer, Integral) for pair in laws for law in pair for answer in law):
            raise InvalidParameterError("query must return ints. Round or scale its answers to integers first.")
        return max((_largest_distance(*pair) for pair in laws), default=0)

    def noise(self, query: Callable[..., int], *, epsilon: Real) -> Laplace:
        """Return the Wasserstein mechanism of a query: Laplace noise of scale W / epsilon.

        W is `wasserstein(query)`, but at least 1.

        Args:
            query: maps a data set to an int.
            epsilon: of the release.

        Guarantee: no mass moves further than W, which changes the probability of an integer by at most e^(W / scale).
        Source: Song, Wang, Chaudhuri (2017), arXiv:1603.03977.
        """
        return Laplace.calibrated(of_steps(max(1, self.wasserstein(query)), Replace), epsilon=epsilon)

    def _conditional(self, mechanism: Laws) -> list[tuple[Any, Any]]:
        """Return the distributions of the output given each secret of a pair.

        Pairs and models that do not allow both secrets are left out.
        """
        answers = {data: _law(mechanism(data)) for model in self.models for data in model}
        conditional: list[tuple[Any, Any]] = []
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
                conditional.append((laws[0], laws[1]))
        return conditional


def _law(law: object) -> dict[Hashable, Fraction]:
    """Return a distribution whose probabilities are exact and sum to 1."""
    masses: dict[Hashable, Fraction] = {}
    if isinstance(law, Mapping):
        masses = {value: exact_rational("probability", p) for value, p in law.items()}
    if sum(masses.values()) != 1 or min(masses.values()) < 0:
        raise InvalidParameterError(
            f"a law must map each outcome to its probability, and these must sum to 1, got {shown(law)}. "
            "Write them as fractions, such as 1/3 in quotes."
        )
    return masses


def record_pairs(values: Sequence[Hashable], records: int) -> list[tuple[Secret, Secret]]:
    """Return pairs of secrets for `Pufferfish`: any two values of any one record.

    Args:
        values: of a record.
        records: number of records; a data set is a tuple of them.

    >>> from deniable.variants import record_pairs
    >>> len(record_pairs(["ill", "well", "absent"], 4))
    12
    """
    pairs = [(i, a, b) for i in range(records) for a, b in combinations(values, 2)]
    return [(lambda data, i=i, a=a: data[i] == a, lambda data, i=i, b=b: data[i] == b) for i, a, b in pairs]  # type: ignore[misc]


def independent(*marginals: Mapping[Hashable, Real]) -> dict[Data, Fraction]:
    """Return the model in which records are independent.

    Args:
        marginals: one for each record: the exact probability of each value.

    Returns: data set -> probability; a data set is a tuple of values.

    >>> from deniable.variants import independent
    >>> {data: float(p) for data, p in independent({0: "1/4", 1: "3/4"}, {0: 1}).items()}
    {(0, 0): 0.25, (1, 0): 0.75}
    """
    model: dict[Data, Fraction] = {(): Fraction(1)}
    for marginal in marginals:
        law = _law(marginal)
        model = {(*data, value): p * q for data, p in model.items() for value, q in law.items()}  # type: ignore[misc]
    return model


def _largest_distance(first: Mapping[int, Fraction], second: Mapping[int, Fraction]) -> int:
    """Return the largest distance between equal quantiles of two distributions."""
    laws = (first, second)
    values = [sorted(law) for law in laws]
    levels = [list(accumulate(law[value] for value in row)) for law, row in zip(laws, values, strict=True)]

    def distance(level: Fraction) -> int:
        one, other = (row[bisect_left(sums, level)] for row, sums in zip(values, levels, strict=True))
        return abs(one - other)

    return max(distance(p) for p in chain(*levels))
