"""Answers with more groups than one machine can hold: as files.

The engine's own machines write them.
"""

import hashlib
import json
from typing import Any

from deniable.errors import UnsupportedQueryError
from deniable.query.plan import Name, PricedPlan
from deniable.query.responder import Responder


def check_writes(responder: Responder) -> None:
    """Refuse engines that write no files.

    Raises: UnsupportedQueryError.
    """
    from deniable.query.engines.spark.executors import SparkEngine

    if not isinstance(responder.engine, SparkEngine):
        raise UnsupportedQueryError("only Spark writes answers to files. Ask with db.sql(...).")


def write(plan: PricedPlan, folder: str, responder: Responder, *, intervals: bool, fresh: bool) -> Any:
    """Return a DataFrame that reads the answer from files.

    Stored ones, or new ones that are charged.

    Args:
        plan: the question with its price.
        folder: where a folder with a new name is made for new files.
        responder: its engine writes, and its ledger is charged first.
        intervals: whether the files hold the ends of intervals.
        fresh: whether to charge again although files are there.

    Raises: BudgetExceededError before anything is charged; ExecutionError if the engine stops.
    """
    engine: Any = responder.engine
    ledger, bits = responder.ledger, responder.bits
    entry = responder.entry(plan, _name(plan, intervals=intervals))
    answer = None if fresh else ledger.recall(entry.question, safe=entry.safe)
    if answer is None:
        writer = engine.prepare(plan, folder, intervals=intervals, bits=bits)
        secret = responder.secret()
        answer, _ = ledger.answer(entry, lambda: json.dumps({"files": writer(secret)}), fresh=fresh)
    return engine.read(json.loads(answer)["files"])


def _name(plan: PricedPlan, *, intervals: bool) -> Name:
    """Return the name of files in the ledger.

    It names the question and the columns that the files hold.
    """
    columns = [(each.name, each.expression.to_json()) for each in plan.query.outcome.outputs]
    said = f"{plan.key} in files {plan.names[0].order} {columns} {plan.query.outcome.having} {intervals}"
    return Name(hashlib.sha256(said.encode()).hexdigest(), ())
