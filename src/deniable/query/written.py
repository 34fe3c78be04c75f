"""Answers with more groups than one machine can hold: as files, which the engine's own machines write."""

import hashlib
import json
from typing import Any

from deniable.errors import UnsupportedQueryError
from deniable.numbers.rationals import Real
from deniable.query.frames import Ask
from deniable.query.plan import Name
from deniable.query.planning import Planning


class Written(Planning):
    """What a database answers with files."""

    def write(
        self,
        text: str | Ask,
        folder: str,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        intervals: bool = False,
        fresh: bool = False,
        dialect: str = "duckdb",
    ) -> Any:
        """Answer a SELECT of counts, sums and averages for up to 2^30 groups with Parquet files, on Spark.

        Args:
            text: as `sql` takes it, without ORDER BY and LIMIT; so are all others.
            folder: where Spark's executors can write; a folder with a new name is made in it.
            intervals: add the ends of intervals of 95%. Those of counts and sums are as wide in all groups as `explain`
                says; those of averages take half a millisecond each.

        Returns: a DataFrame that reads the files, with the columns of `Release.to_arrow`.
        Guarantee: as of `sql`. Noise is added by the executors, and what was written is never drawn again.
        Raises: as `sql`.
        """
        from deniable.query.engines.spark.executors import SparkEngine

        engine = self._engine
        if not isinstance(engine, SparkEngine):
            raise UnsupportedQueryError("only Spark writes answers to files. Ask with db.sql(...).")
        plan = self._plan(text, epsilon, delta, rho, dialect=dialect, pay=True, many=True)
        columns = [(each.name, each.expression.to_json()) for each in plan.query.outcome.outputs]
        name = f"{plan.key} in files {plan.names[0].order} {columns} {plan.query.outcome.having} {intervals}"
        entry = self._entry(plan, Name(hashlib.sha256(name.encode()).hexdigest(), ()))
        answer = None if fresh else self.ledger.recall(entry.question, safe=entry.safe)
        if answer is None:
            write = engine.prepare(plan, folder, intervals=intervals, bits=self._bits)
            secret = self.ledger.secret("groups of a unit")
            answer, _ = self.ledger.answer(entry, lambda: json.dumps({"files": write(secret)}), fresh=fresh)
        return engine.read(json.loads(answer)["files"])
