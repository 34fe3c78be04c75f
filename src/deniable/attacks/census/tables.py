"""Published tables of a census block: counts, medians and means of age in groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import median
from typing import Any

from deniable.attacks.numbers import whole
from deniable.errors import InvalidParameterError

_MAX_AGE = 1_000
_MAX_PEOPLE = 10_000  # of a block


@dataclass(frozen=True, kw_only=True)
class Group:
    """Group of people, by attributes and ages.

    Args:
        where: attribute -> the value that all in the group have.
        min_age: smallest age, included.
        max_age: largest age, included; None: no upper end.

    >>> from deniable.attacks.census import Group
    >>> Group(where={"sex": "female"}, min_age=18).holds({"age": 18, "sex": "female"})
    True
    """

    where: Mapping[str, str] = field(default_factory=dict)
    min_age: int = 0
    max_age: int | None = None

    def holds(self, person: Mapping[str, int | str]) -> bool:
        """Whether a person is in the group.

        Args:
            person: attribute -> value, with "age" among them.
        """
        age = int(person["age"])
        fits = self.min_age <= age and (self.max_age is None or age <= self.max_age)
        return fits and all(person[name] == value for name, value in self.where.items())


@dataclass(frozen=True, kw_only=True)
class BlockStatistic:
    """Line of a table about a block.

    Args:
        group: of people.
        count: number of people in the group; None: withheld, because it is below `BlockTables.minimum_count`.
        median: middle age, or the mean of the two middle ages; None: not published.
        mean: mean age, rounded; None: not published.

    >>> from deniable.attacks.census import BlockStatistic, Group
    >>> BlockStatistic(group=Group(min_age=18), count=3, median=30).median
    30
    """

    group: Group
    count: int | None = None
    median: float | None = None
    mean: float | None = None


@dataclass(frozen=True, kw_only=True)
class BlockTables:
    """Published tables about the people of one block.

    Args:
        attributes: attribute -> its possible values.
        ages: smallest and largest possible age, whole years.
        statistics: lines of the tables; one of them counts everybody.
        impossible: groups that nobody is in, by law or nature.
        minimum_count: counts below this are withheld.
        mean_unit: means are rounded to a multiple of this, to either neighbour at a half.

    Raises: InvalidParameterError for attributes or values that are not declared, numbers outside their range, or no
        count of everybody.

    >>> from deniable.attacks.census import BlockStatistic, BlockTables, Group
    >>> everybody = BlockStatistic(group=Group(), count=2, mean=30)
    >>> BlockTables(attributes={"sex": ["female", "male"]}, ages=(0, 99), statistics=[everybody]).people
    2
    """

    attributes: Mapping[str, Sequence[str]]
    ages: tuple[int, int]
    statistics: Sequence[BlockStatistic]
    impossible: Sequence[Group] = ()
    minimum_count: int = 0
    mean_unit: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        if not 0 <= self.ages[0] <= self.ages[1] <= _MAX_AGE:
            raise InvalidParameterError(
                f"ages must be two ages, the first at most the second, in 0..{_MAX_AGE}, got {self.ages}"
            )
        if self.mean_unit <= 0:
            raise InvalidParameterError(f"mean_unit must be positive, got {self.mean_unit}")
        for group in (*self.impossible, *(one.group for one in self.statistics)):
            for name, value in group.where.items():
                if value not in self.attributes.get(name, ()):
                    raise InvalidParameterError(
                        f"attribute {name!r} with the value {value!r} is undeclared. Add it to attributes="
                    )
        for one in self.statistics:
            if one.count is None and (one.median is not None or one.mean is not None):
                raise InvalidParameterError("a median or a mean needs the count of its group")
            if one.count is not None and not 0 <= one.count <= _MAX_PEOPLE:
                raise InvalidParameterError(f"a count must be in 0..{_MAX_PEOPLE}, got {one.count}")
            if one.median is not None and (2 * one.median) % 1:
                raise InvalidParameterError(f"a median of whole ages must be a multiple of 1/2, got {one.median}")
        _ = self.people

    @property
    def people(self) -> int:
        """Number of people in the block."""
        youngest, oldest = self.ages
        for one in self.statistics:
            last = oldest if one.group.max_age is None else one.group.max_age
            has_all_ages = one.group.min_age <= youngest and last >= oldest
            if one.count is not None and not one.group.where and has_all_ages:
                return one.count
        raise InvalidParameterError("one statistic must count everybody: BlockStatistic(group=Group(), count=...)")


def tabulate_block(
    people: Sequence[Mapping[str, int | str]],
    groups: Sequence[Group],
    *,
    attributes: Mapping[str, Sequence[str]],
    ages: tuple[int, int],
    minimum_count: int = 0,
) -> BlockTables:
    """Tabulate exact counts, medians and means of age in groups of known people.

    Args:
        people: one record each, with "age" and every attribute.
        groups: one for each line; everybody comes first in any case.
        attributes: attribute -> its possible values.
        ages: smallest and largest possible age.
        minimum_count: lines about fewer people are withheld.

    Raises: InvalidParameterError as `BlockTables` does.

    >>> from deniable.attacks.census import Group, tabulate_block
    >>> tables = tabulate_block(
    ...     [{"age": 30, "sex": "male"}, {"age": 41, "sex": "female"}],
    ...     [Group(where={"sex": "male"})],
    ...     attributes={"sex": ["female", "male"]}, ages=(0, 99), minimum_count=2,
    ... )
    >>> [(one.count, one.median, one.mean) for one in tables.statistics]
    [(2, 35.5, 35.5), (None, None, None)]
    """
    whole("minimum_count", minimum_count, lower=0)
    lines = []
    for group in (Group(), *groups):
        members = sorted(int(one["age"]) for one in people if group.holds(one))
        if not members or len(members) < minimum_count:
            lines.append(BlockStatistic(group=group, count=None if len(members) < minimum_count else 0))
            continue
        mean = round(Fraction(sum(members), len(members)), 1)
        lines.append(BlockStatistic(group=group, count=len(members), median=float(median(members)), mean=float(mean)))
    return BlockTables(attributes=attributes, ages=ages, statistics=lines, minimum_count=minimum_count)


MARRIED_AT_15 = Group(where={"marital_status": "married"}, max_age=14)

GARFINKEL_GROUPS: Mapping[str, Group] = {
    "total population": Group(),
    "female": Group(where={"sex": "female"}),
    "male": Group(where={"sex": "male"}),
    "black or African American": Group(where={"race": "black or African American"}),
    "white": Group(where={"race": "white"}),
    "single adults": Group(where={"marital_status": "single"}, min_age=18),
    "married adults": Group(where={"marital_status": "married"}, min_age=18),
    "black or African American female": Group(where={"race": "black or African American", "sex": "female"}),
    "black or African American male": Group(where={"race": "black or African American", "sex": "male"}),
    "white male": Group(where={"race": "white", "sex": "male"}),
    "white female": Group(where={"race": "white", "sex": "female"}),
    "persons under 5 years": Group(max_age=4),
    "persons under 18 years": Group(max_age=17),
    "persons 64 years or over": Group(min_age=64),
}
"""Names of the groups in the example of Garfinkel, Abowd and Martindale (2018)."""


def read_block(data: Mapping[str, Any]) -> BlockTables:
    """Read the tables of a block from plain data, such as JSON.

    Args:
        data: "attributes" maps names to lists of values, and "age" to a text "integer, 1..125" or to [1, 125];
            "statistics" is a list of {"group": name, "count": ..., "median_age": ..., "mean_age": ...}, null where
            withheld; a "group" is {"where": {...}, "least": ..., "most": ...} or a name of `GARFINKEL_GROUPS`; "rules"
            may give "minimum_count". If there is a "marital_status", nobody is married below 15.

    Raises: InvalidParameterError for data of another form, or an unknown name.

    >>> tables = read_block({
    ...     "attributes": {"age": [0, 99], "sex": ["female", "male"]},
    ...     "statistics": [{"group": "total population", "count": 2, "mean_age": 30}],
    ... })
    >>> tables.people
    2
    """
    try:
        declared = dict(data["attributes"])
        ages = declared.pop("age")
        if isinstance(ages, str):
            ages = ages.rpartition(" ")[2].split("..")
        attributes = {str(name): tuple(map(str, values)) for name, values in declared.items()}
        return BlockTables(
            attributes=attributes,
            ages=(int(ages[0]), int(ages[1])),
            statistics=[_statistic(one) for one in data["statistics"]],
            impossible=[MARRIED_AT_15] if "marital_status" in attributes else [],
            minimum_count=int(data.get("rules", {}).get("minimum_count", 0)),
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, InvalidParameterError):
            raise
        raise InvalidParameterError(
            'a block needs "attributes" with an "age", and "statistics" with a "group" and a "count" each'
        ) from None


def _statistic(line: Mapping[str, Any]) -> BlockStatistic:
    """Read a line of a table from plain data."""
    named = line["group"]
    if isinstance(named, str) and named not in GARFINKEL_GROUPS:
        raise InvalidParameterError(f"the group {named!r} is not known: describe it by where, least and most")
    group = GARFINKEL_GROUPS[named] if isinstance(named, str) else _group(named)
    return BlockStatistic(group=group, count=line["count"], median=line.get("median_age"), mean=line.get("mean_age"))


_FIELDS_OF_GROUP = {"where": "where", "least": "min_age", "most": "max_age"}  # words of files to fields


def _group(data: Mapping[str, Any]) -> Group:
    """Return the group that plain data describes."""
    return Group(**{_FIELDS_OF_GROUP[word]: value for word, value in data.items()})
