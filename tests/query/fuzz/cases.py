"""Random cases: two neighbouring databases and some questions; what is found is made small, and can be asked again."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pyarrow as pa
import sqlglot
from sqlglot import exp

from deniable.privacy import PrivacyUnit
from tests.query.fuzz.engines import Engine
from tests.query.fuzz.grammar import Column, Grammar, Source
from tests.query.fuzz.oracle import Finding, Heard, Question, check
from tests.query.fuzz.worlds import World, world_of

PER_WORLD = 10  # questions


@dataclass
class Tally:
    """What was asked so far."""

    asked: int = 0
    refused: int = 0
    worst: tuple[float, str] = (0, "")  # planning
    used: Counter[str] = field(default_factory=Counter)  # templates, in questions that were answered
    known: Counter[str] = field(default_factory=Counter)  # in any
    refusals: Counter[str] = field(default_factory=Counter)

    def note(self, heard: Heard, question: Question, used: set[str]) -> None:
        self.asked += 1
        self.known.update(used)
        if heard.refused:
            self.refused += 1
            self.refusals[heard.public["refused"][:60]] += 1
        else:
            self.used.update(used)
        self.worst = max(self.worst, (heard.seconds, question.text))

    def __str__(self) -> str:
        unseen = sorted(self.known.keys() - self.used.keys())
        return (
            f"{self.asked} questions, {self.refused / max(1, self.asked):.0%} refused; "
            f"{len(self.used)} of {len(self.known)} parts of the grammar answered; worst planning {self.worst[0]:.3f} s"
            + (f"\nnever answered: {unseen}" if unseen else "")
        )


@dataclass(frozen=True)
class Case:
    """One question about one pair of neighbours."""

    world: World
    question: Question

    def finding(self, engine: Engine) -> Finding | None:
        try:
            with engine.pair(self.world) as (here, there):
                check(here, there, self.question, None if engine.same else self.world.relation)
        except Finding as found:
            return found
        return None

    def smaller(self, engine: Engine, kind: str) -> "Case":
        """The smallest case that still fails in this way: fewer rows, then a shorter question."""

        def fails(case: Case) -> bool:
            try:
                found = case.finding(engine)
            except Exception:
                return False
            return found is not None and found.kind == kind

        case = replace(self, world=self.world.smaller(lambda world: fails(replace(self, world=world))))
        if case.question.how != "sql":
            return case
        shorter = True
        while shorter:
            shorter = False
            for text in shortened(case.question.text):
                tried = replace(case, question=replace(case.question, text=text))
                if fails(tried):
                    case, shorter = tried, True
                    break
        return case

    def __str__(self) -> str:
        options = {name: value for name, value in self.world.options.items() if value not in ((), [], {})}
        said = [f"question: {self.question.text}", f"options: {dict(self.question.options)}", f"connect: {options}"]
        for name, schema in self.world.schemas.items():
            said.append(f"{name}: {', '.join(f'{each.name} {each.type}' for each in schema)}")
            for side in ("here", "there"):
                said += [f"  {side}: {[*row.values()]!r:.300}" for row in getattr(self.world, side)[name]]
        return "\n".join(said)


def shortened(text: str) -> Iterator[str]:
    """Shorter questions: a clause or an item less, or an expression in place of what it is in."""
    tree = sqlglot.parse_one(text, dialect="duckdb")
    size = len(text)
    for place, node in enumerate(tree.walk()):
        made = []
        for name, value in node.args.items():
            if name in ("where", "having", "order", "limit", "with_", "group", "joins") and value:
                made.append((name, None))
            if isinstance(value, list) and len(value) > 1 and name in ("expressions", "joins"):
                made += [(name, value[:n] + value[n + 1 :]) for n in range(len(value))]
        for name, value in made:
            copied = tree.copy()
            list(copied.walk())[place].set(name, value)
            yield copied.sql("duckdb")
        below = [each for each in node.iter_expressions() if isinstance(each, exp.Condition | exp.Query)]
        for child in below if isinstance(node, exp.Condition | exp.Query) and node is not tree else ():
            copied = tree.copy()
            list(copied.walk())[place].replace(child.copy())
            if len(said := copied.sql("duckdb")) < size:
                yield said


def kinds_of(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "I"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "R"
    return {"string": "T", "bool": "B", "date32[day]": "D", "timestamp[us]": "M"}[str(kind)]


def sources_of(world: World) -> dict[str, Source]:
    """The tables of a world, as the grammar knows them."""
    found = {}
    unit = world.options["unit"]
    names = (unit.column,) if isinstance(unit, PrivacyUnit) else tuple(unit)
    for name, schema in world.schemas.items():
        declared = world.options["columns"].get(name, {})
        columns = []
        for each in schema:
            facts, kind = declared.get(each.name), kinds_of(each.type)
            bounded = facts is not None and facts.lower is not None and kind in "IR"
            keyed = kind == "B" or (facts is not None and facts.keys is not None)
            columns.append(Column(each.name, kind, bounded=bounded, keyed=keyed))
        private = name not in world.public
        own = tuple(each for each in names if each is not None) if private and name not in world.paths else ()
        path = None
        if name in world.paths:
            key, parent = world.paths[name]
            path = (key, parent, key)
        found[name] = Source(name, tuple(columns), own, path, private)
    return found


def price_of(draw: Random, world: World) -> dict[str, Any]:
    """A price that the budget takes, and sometimes other options."""
    budget = world.options["budget"]
    amount = draw.choice([1, 1, "0.1", 20])
    if budget.rho is not None:
        price: dict[str, Any] = {"rho": amount}
    elif budget.delta and draw.random() < 0.7:
        price = {"epsilon": amount, "delta": draw.choice(["0.001", "1e-6"])}
    else:
        price = {"epsilon": amount}
    return price


def options_of(draw: Random, world: World) -> dict[str, Any]:
    limits = {name: world.options[name] for name in ("rows", "groups", "total_rows") if name in world.options}
    found: dict[str, Any] = {}
    if limits and draw.random() < 0.15:
        name = draw.choice([*limits])
        found[name] = draw.randint(1, limits[name])
    if draw.random() < 0.05:
        found["weights"] = {"a0": 3}
    return found


def questions_of(draw: Random, world: World, count: int) -> Iterator[tuple[Question, set[str]]]:
    """Random questions, and the parts of the grammar that each uses."""
    for _ in range(count):
        price = price_of(draw, world)
        grammar = Grammar(draw, sources_of(world), finds="delta" in price, ranked=_ranked(draw, world))
        chance = draw.random()
        if chance < 0.85:
            text = grammar.question()
            yield Question(text, "sql", price | options_of(draw, world)), grammar.used
        elif chance < 0.93:
            yield Question(grammar.frame(), "frame", price), grammar.used
        else:
            yield Question(grammar.statistic(), "statistic", price), grammar.used


def _ranked(draw: Random, world: World) -> bool:
    ids = getattr(world.options["unit"], "ids", 1)
    return draw.random() < 0.03 or ("total_rows" not in world.options and ids == 1)


def run(
    engine: Engine, seed: int, numbers: Sequence[int] | Iterator[int], tally: Tally, per_world: int = PER_WORLD
) -> Case | None:
    """Ask the questions of some worlds; the first case that fails, if there is one."""
    for number in numbers:
        draw = Random(f"{seed} {number}")
        world = world_of(draw)
        with engine.pair(world) as (here, there):
            for question, used in questions_of(draw, world, per_world):
                try:
                    relation = None if engine.same else world.relation
                    tally.note(check(here, there, question, relation), question, used)
                except Finding:
                    return Case(world, question)
    return None
