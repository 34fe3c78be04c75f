"""What must hold of a question on neighbours: secret numbers move by no more than is stated, all else is equal.

The second database hears the answers of the first, so whatever differs there, beyond the moves, one unit has changed.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.errors import DeniableError, ExecutionError
from deniable.ledger import Ledger
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, PrivacyLoss, Relation
from deniable.query.aggregates.aggregate import PricedAggregate
from deniable.query.aggregates.aggregate import Tally as Tallied
from deniable.query.aggregates.mode import PricedMode
from deniable.query.aggregates.order import PricedOrder
from deniable.query.database import Database
from deniable.query.keys import KeySearch
from tests.mechanisms.drawn import loss_of_move, recorded, sensitivity_of

SECRET = bytes(range(32))
DRAWN = ("median", "quantile", "min", "max", "mode", "iqr", "key_counts", "top_k")  # statistics whose draws differ


class Finding(AssertionError):
    """Something that must not be, in words; `kind` says of which sort it is."""

    def __init__(self, kind: str, said: str) -> None:
        super().__init__(f"{kind}: {said}")
        self.kind = kind


@dataclass(frozen=True)
class Question:
    """A question in SQL, or in Python over `db` and `dn`, with the options of `Database.sql`."""

    text: str
    how: str = "sql"
    options: Mapping[str, Any] = field(default_factory=dict)

    def explained(self, db: Database) -> Any:
        if self.how == "statistic":
            return None
        return db.explain(self._asked(db), **self.options)

    def answered(self, db: Database) -> Any:
        if self.how == "statistic":
            price = "".join(f", {name}={value!r}" for name, value in self.options.items())
            return _evaluate(f"{self.text}{price})", db)
        return db.sql(self._asked(db), **self.options)

    @property
    def whole(self) -> bool:
        """Whether all that people see is compared, which takes longer than the question itself."""
        return len(self.text) % 4 == 0

    def _asked(self, db: Database) -> Any:
        return self.text if self.how == "sql" else _evaluate(self.text, db)


def _evaluate(text: str, db: Database) -> Any:
    return eval(text, {"dn": dn, "db": db})


@dataclass
class Heard:
    """Everything that one database said, and what was secret.

    Args:
        public: by what it is, in the order in which it was said.
        moves: the parts of the plan, with their exact numbers and their answers. SECRET
        drawn: mechanisms that drew for each part, and their exact inputs. SECRET
    """

    public: dict[str, Any] = field(default_factory=dict)
    parts: list[tuple[Any, Any, Any]] = field(default_factory=list)
    drawn: list[list[tuple[Any, Any, Any]]] = field(default_factory=list)
    plan: Any = None
    seconds: float = 0

    @property
    def refused(self) -> bool:
        return "refused" in self.public


def heard(db: Database, question: Question, *, before: Heard | None = None) -> Heard:
    """Ask a question; with the answers of another database, if there are any."""
    found = Heard()
    with warnings.catch_warnings(record=True) as warned, _recording(found, before):
        warnings.simplefilter("always")
        start = time.process_time()
        try:
            explained = question.explained(db)
            found.seconds = time.process_time() - start
            if explained is not None:
                found.plan = explained.plan
                names = [name.key for name in found.plan.names]
                found.public |= {"plan": repr(found.plan.parts), "price": repr(found.plan.total), "names": names}
                found.public |= {"keys": repr(found.plan.query.question.key_values)}
                if question.whole:
                    found.public |= {"words": str(explained), "data": json.dumps(explained.to_dict(), default=str)}
            answer = _answered(db, question, found, before)
            entries = len(db.ledger.entries())
            found.public |= said(answer, question) | {"left": str(db.ledger.left())}
            again = question.answered(db)
            if len(db.ledger.entries()) != entries or _rows(again) != _rows(answer):
                raise Finding("stored", "the same question again is paid, or answered otherwise")
        except ExecutionError:
            raise Finding("failed", "the engine stopped after the payment") from None
        except DeniableError as error:
            found.public["refused"] = f"{type(error).__name__}: {error}"
            found.seconds = found.seconds or time.process_time() - start
        except (Finding, KeyboardInterrupt):
            raise
        except Exception as error:
            raise Finding("raw", f"{type(error).__name__}: {error}") from error
    found.public["warned"] = [f"{each.category.__name__}: {each.message}" for each in warned]
    return found


def _answered(db: Database, question: Question, found: Heard, before: Heard | None) -> Any:
    """The answer; of a statistic, what its mechanisms drew is noted."""
    if question.how != "statistic":
        return question.answered(db)
    given = None
    if before is not None and before.drawn and not any(f".{name}(" in question.text for name in DRAWN):
        given = [answer for *_, answer in before.drawn[0]]
    answers: list[Any] = []
    found.drawn.append(recorded(lambda: answers.append(question.answered(db)), given))
    return answers[0]


def said(answer: Any, question: Question) -> dict[str, Any]:
    """What is published with an answer."""
    if question.how == "statistic" and any(f".{name}(" in question.text for name in DRAWN):
        return {"columns": answer.columns, "cost": str(answer.cost), "notes": answer.notes, "text": answer.text}
    found = {"rows": _rows(answer), "schema": str(answer.to_arrow().schema), "notes": answer.notes}
    return found | (
        {"all": answer.to_json(), "shown": str(answer), "html": answer._repr_html_()} if question.whole else {}
    )


def _rows(answer: Any) -> str:
    return repr(answer.to_dicts(intervals=False))


@contextmanager
def _recording(found: Heard, before: Heard | None) -> Iterator[None]:
    """Note what parts of plans release; draw what is known from before."""

    def release(real: Callable[..., Any], self: Any, *exact: Any, bits: Any) -> Any:
        answers: list[Any] = []
        if before is None:
            drawn = recorded(lambda: answers.append(real(self, *exact, bits=bits)))
        elif len(found.parts) >= len(before.parts):
            raise Finding("parts", "more is drawn for one than for the other")
        else:
            drawn, answers = [], [before.parts[len(found.parts)][2]]
        found.parts.append((self, exact[0] if len(exact) == 1 else exact, answers[0]))
        found.drawn.append(drawn)
        return answers[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "secret", lambda self, name: SECRET)
        for kind in (PricedAggregate, PricedOrder, PricedMode, KeySearch):
            real = vars(kind)["release"]
            patch.setattr(kind, "release", lambda self, *exact, bits, real=real: release(real, self, *exact, bits=bits))
        yield


def compare(one: Heard, other: Heard, relation: Relation) -> None:
    """Hold what was heard of two neighbours against what the first one stated.

    Raises: Finding.
    """
    for name in {**one.public, **other.public}:
        if one.public.get(name) != other.public.get(name):
            raise Finding(
                "public", f"{name} differs: {one.public.get(name)!r:.600} and {other.public.get(name)!r:.600}"
            )
    if len(one.parts) != len(other.parts):
        raise Finding("parts", f"{len(one.parts)} parts are drawn for one, {len(other.parts)} for the other")
    losses: list[PrivacyLoss] = []
    for (part, here, _), (_, there, _), drawn in zip(one.parts, other.parts, one.drawn, strict=False):
        match part:
            case PricedAggregate():
                losses += _total(part, here, there, drawn, relation)
            case PricedOrder():
                losses += _tallies(part, here, there, relation)
            case KeySearch():
                _keys(part, here, there, relation)
    if one.plan is not None:
        _joint(losses, one.plan.loss)


def _total(part: PricedAggregate, here: Any, there: Any, drawn: Any, relation: Relation) -> list[PrivacyLoss]:
    """A total moves by no more than its sensitivity, under the noise that its plan names."""
    moved = here.astype(object) - there.astype(object)
    measured, stated = sensitivity_of(moved, relation), part.sensitivity
    for norm in ("l1", "l2_squared", "linf"):
        if getattr(measured, norm) > getattr(stated, norm):
            raise Finding(
                "moved", f"{part.aggregate} moves by {norm}={getattr(measured, norm)}, stated {getattr(stated, norm)}"
            )
    if [(noise, exact.tolist()) for noise, exact, _ in drawn] != [(part.mechanism, here.tolist())]:
        raise Finding("drawn", f"{part.aggregate} is drawn by other noise, or of other numbers, than its plan says")
    ((noise, *_),) = drawn
    return [loss_of_move(noise, moved, relation)] if moved.any() else []


def _tallies(part: PricedOrder, here: Any, there: Any, relation: Relation) -> list[PrivacyLoss]:
    """Few tallies change, each by few records."""
    sides = [
        dict(zip(zip(t.cells.tolist(), t.codes.tolist(), strict=True), t.counts.tolist(), strict=True))
        for t in (here, there)
    ]
    changes: dict[int, list[int]] = {}
    for key in sides[0].keys() | sides[1].keys():
        change = sides[0].get(key, 0) - sides[1].get(key, 0)
        if change:
            changes.setdefault(key[0], []).append(change)
    bounded = part.bounded
    if len(changes) > bounded.times:
        raise Finding("moved", f"{part.aggregate} sees a unit in {len(changes)} groups, stated {bounded.times}")
    for each in changes.values():
        most = max(sum(n for n in each if n > 0), -sum(n for n in each if n < 0))
        mixed = relation is AddRemove and min(each) < 0 < max(each)
        if most > bounded.rows or mixed:
            raise Finding("moved", f"{part.aggregate} sees {most} rows of a unit, stated {bounded.rows}")
    one = part.mechanism.privacy_loss(part.sensitivity) if isinstance(part, PricedMode) else part.statistic.privacy_loss
    return [one] * len(changes)


def _keys(part: KeySearch, here: Any, there: Any, relation: Relation) -> None:
    """The weights of all keys, present or not, move by no more than the search states."""
    sides = [dict(zip(map(repr, keys.to_pylist()), weights.tolist(), strict=True)) for keys, weights in (here, there)]
    moved = np.array(
        [sides[0].get(key, 0) - sides[1].get(key, 0) for key in sides[0].keys() | sides[1].keys()], dtype=object
    )
    if not moved.any():
        return
    measured, stated = sensitivity_of(moved, relation), part.sensitivity
    for norm in ("l1", "l2_squared", "linf"):
        if getattr(measured, norm) > getattr(stated, norm):
            raise Finding("moved", f"keys move by {norm}={getattr(measured, norm)}, stated {getattr(stated, norm)}")


def _joint(losses: list[PrivacyLoss], stated: PrivacyLoss) -> None:
    """What was spent on the measured moves is within the loss of the plan."""
    for kind in ("pure_epsilon", "rho"):
        most = getattr(stated, kind)
        spent = [getattr(loss, kind) for loss in losses]
        if most is not None and None not in spent and sum(spent) > most:
            raise Finding("joint", f"the moves spend {kind}={float(sum(spent))}, stated {float(most)}")


def equal(one: Heard, other: Heard) -> None:
    """Hold the secret numbers of two engines against each other, where neither refuses.

    Raises: Finding.
    """
    if one.refused or other.refused:
        return
    for (part, here, _), (_, there, _) in zip(one.parts, other.parts, strict=True):
        if _plain(here) != _plain(there):
            raise Finding(
                "engines", f"{getattr(part, 'aggregate', 'keys')} is {_plain(here)} and {_plain(there)}"[:900]
            )


def _plain(exact: Any) -> Any:
    if isinstance(exact, Tallied):
        return [exact.cells.tolist(), exact.codes.tolist(), exact.counts.tolist()]
    if isinstance(exact, tuple):
        return sorted(zip(map(repr, exact[0].to_pylist()), exact[1].tolist(), strict=True))
    return exact.tolist()


def check(here: Database, there: Database, question: Question, relation: Relation | None) -> Heard:
    """Ask both, compare, and return what the first one said.

    Args:
        relation: of the two; None if they are of the same rows, on two engines.

    Raises: Finding.
    """
    for db in (here, there):
        db._bits = DeterministicBits(1)
    one = heard(here, question)
    if relation is not None:
        compare(one, heard(there, question, before=one), relation)
    elif not one.refused and question.how != "statistic":
        equal(one, heard(there, question, before=one))
    return one
