"""Workloads: several questions that are priced together and charged as one.

They are made consistent on request.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, UnsupportedQueryError
from deniable.ledger import Entry
from deniable.mechanisms.price import Price
from deniable.query.answer import answer_text, build_release, noisy_of
from deniable.query.consistent import Consistent, QuestionFamily, measured
from deniable.query.effort import limited_time
from deniable.query.explanation import Explanation
from deniable.query.naming import named
from deniable.query.plan import PricedPlan
from deniable.query.planner import Planner
from deniable.query.responder import Responder
from deniable.query.rules import together
from deniable.query.rules.plan import Request
from deniable.release import Release
from deniable.release.display import price as price_text

NOTE = (
    "The answers of the workload are consistent: each is computed from one estimate of the finest groups, in which "
    "units were bounded once."
)


@dataclass(frozen=True)
class Workload:
    """Questions with one price, before they are charged.

    Args:
        plans: of the questions, at one price.
        entry: of the ledger, for all of them.
        family: of the questions, where their answers are made consistent.
        finest: the plan of the finest groups of the family, whose noise is not drawn.
        nonnegative: whether consistent counts are not below 0.
    """

    plans: tuple[PricedPlan, ...]
    entry: Entry
    family: QuestionFamily | None = None
    finest: PricedPlan | None = None
    nonnegative: bool = False

    def answer(self, responder: Responder, *, fresh: bool) -> list[Release]:
        """Return a release for each question.

        Stored together, or new and charged together.
        """
        ledger, safe = responder.ledger, responder.bits.safe
        answer, stored = ledger.answer(self.entry, lambda: self._exact(responder), fresh=fresh)
        noisy: list[Any] = [
            noisy_of(text, plan.names[0]) for text, plan in zip(json.loads(answer), self.plans, strict=True)
        ]
        totals_of: Sequence[list[Consistent] | None] = [None] * len(self.plans)
        if self.family is not None:
            totals_of = self.family.reconciled(self.plans, noisy, nonnegative=self.nonnegative)
        releases = []
        for plan, values, totals in zip(self.plans, noisy, totals_of, strict=True):
            question = (self.finest or plan).query.question
            notes = [f"One of {len(self.plans)} questions that were paid together."]
            notes += responder.notes(grouped=bool(question.keys), question=question)
            release = _release(plan, values, totals, notes, left=ledger.left(), safe=safe, stored=stored)
            releases.append(
                responder.with_provenance(release, self.entry.question, answer, question.table, stored=stored)
            )
        return releases

    def explanations(self, responder: Responder) -> list[Explanation]:
        """Return what each question would do and cost."""
        ledger = responder.ledger
        stored = ledger.recall(self.entry.question, safe=responder.bits.safe) is not None
        cost = price_text(self.entry.loss, every=True)
        further = f"{len(self.plans)} questions that are paid together: {cost}"
        left = ledger.left()
        return [Explanation(plan=plan, left=left, stored=stored, further=further) for plan in self.plans]

    def _exact(self, responder: Responder) -> str:
        """Return new answers as the ledger keeps them; called after the charge."""
        secret = responder.secret()
        engine = responder.engine
        exact: Sequence[Sequence[NDArray[Any]]]
        if self.family is None or self.finest is None:
            exact = [engine.exact(plan, secret=secret) for plan in self.plans]
        else:
            exact = self.family.summed(engine.exact(self.finest, secret=secret))
        texts = []
        for plan, values in zip(self.plans, exact, strict=True):
            noisy = [part.release(value, bits=responder.bits) for part, value in zip(plan.parts, values, strict=True)]
            texts.append(answer_text(noisy, plan.query.question, plan.names[0]))
        return json.dumps(texts)


def _release(plan: PricedPlan, values: Any, totals: list[Consistent] | None, notes: list[str], **known: Any) -> Release:
    """Return the release of one question.

    It is made from noisy numbers of its own, or from consistent totals.
    """
    if totals is None:
        return build_release(plan, values, notes=tuple(notes), **known)
    reals = [each.values for each in totals]
    return build_release(plan, reals, notes=(*notes, NOTE), measured=partial(measured, totals), **known)


@limited_time()
def plan_workload(
    requests: Sequence[Request], planner: Planner, responder: Responder, *, consistent: bool, nonnegative: bool
) -> Workload:
    """Return several questions at one price, which all of them state.

    Args:
        requests: the questions, at least one.
        planner: plans each of them.
        responder: of whose ledger and engine the workload is.
        consistent: whether the answers agree.
        nonnegative: whether consistent counts are not below 0.

    Raises: UnsupportedQueryError if groups or bounds are undeclared, or the questions cannot be consistent.
    """
    first = requests[0]
    budget = responder.ledger.budget
    safe = responder.bits.safe
    price = Price.of(first.epsilon, first.delta, first.rho)
    alone = [planner.plan(each, safe=safe) for each in requests]
    if any(plan.searches or plan.key_search is not None for plan in alone):
        raise UnsupportedQueryError(
            "a workload needs declared groups and bounds. Ask questions that need a search one by one."
        )
    queries = [plan.query for plan in alone]
    family = QuestionFamily.of(queries) if consistent else None
    if nonnegative and family is None:
        raise InvalidParameterError("nonnegative=True is for consistent=True.")
    bounded = None if family is None else family.bounded
    priced, loss = together(queries, price, budget, {}, parts=bounded)
    plans = tuple(named(replace(plan, public=each.public)) for plan, each in zip(priced, alone, strict=True))
    finest = None if family is None else family.plan(plans)
    for plan in plans if finest is None else [finest]:
        responder.engine.check(plan)
    described: Any = [part.entry() for plan in plans for part in plan.parts]
    entry = Entry(
        question=_question(plans, consistent=consistent),
        text=f"{len(plans)} questions: {'; '.join(query.text for query in queries)}",
        loss=loss,
        mechanisms=described,
        safe=safe,
    )
    return Workload(plans, entry, family, finest, nonnegative)


def _question(plans: Sequence[PricedPlan], *, consistent: bool) -> str:
    """Return the name of a workload in the ledger."""
    canonical = ["workload", [plan.key for plan in plans], consistent]
    return hashlib.sha256(json.dumps(canonical).encode()).hexdigest()
