"""Names of questions in the ledger: equal where the same is asked.

Certainly the same, whatever their texts look like.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

from deniable.ledger import Ledger
from deniable.query.canonical import canonical_question
from deniable.query.plan import Name, PricedPlan


def named(plan: PricedPlan) -> PricedPlan:
    """Return a plan with its names in the ledger.

    They follow from its question, noise and public tables.

    The first name is that of this version; the second, where it differs, that of the first versions, which knew less
    of what is equal. No earlier version read public tables.
    """
    said, order = canonical_question(plan.query.question, plan.public)
    now = _name(plan, said, order)
    former = _name(plan, plan.query.question.to_json(), tuple(range(len(plan.parts))))
    return replace(plan, names=(now,) if plan.public or now == former else (now, former))


def stored_name(plan: PricedPlan, ledger: Ledger, *, safe: bool) -> Name | None:
    """Return the name under which the ledger has an answer to a plan's question.

    None if it has none.
    """
    return next((name for name in plan.names if ledger.recall(name.key, safe=safe) is not None), None)


def _name(plan: PricedPlan, question: Mapping[str, object], order: tuple[int, ...]) -> Name:
    parts = [plan.parts[index] for index in order]
    canonical: dict[str, object] = {
        "question": question,
        "relation": str(plan.query.question.table.relation),
        "mechanisms": [part.entry()["mechanism"] for part in parts],
        "grids": [part.to_json() for part in parts],
    }
    if plan.key_search is not None:
        canonical["search"] = plan.key_search.to_json()
    return Name(hashlib.sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest(), order)
