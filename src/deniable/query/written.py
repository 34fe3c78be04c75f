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
        fresh: bool = False,
        dialect: str = "duckdb",
    ) -> Any:
        """Answer a SELECT of counts, sums and averages for up to 2^30 groups with Parquet files, on Spark.

        Args:
            text: as `sql` takes it, without ORDER BY and LIMIT; so are all others.
            folder: where Spark's executors can write; a folder with a new name is made in it.

        Returns: a DataFrame that reads the files: columns as in `Release.to_arrow`, with intervals of 95%.
        Guarantee: as of `sql`. Noise is added by the executors, and what was written is never drawn again.
        Raises: as `sql`.
        """
        if not self._engine.writes:
            raise UnsupportedQueryError("only Spark writes answers to files. Ask with db.sql(...).")
        plan = self._plan(text, epsilon, delta, rho, dialect=dialect, pay=True, many=True)
        said = plan.query.outcome  # files hold columns, not what these were computed from
        name = f"{plan.key} in files {[(each.name, each.expression.to_json()) for each in said.outputs]} {said.having}"
        entry = self._entry(plan, Name(hashlib.sha256(name.encode()).hexdigest(), ()))
        answer = None if fresh else self.ledger.recall(entry.question, safe=entry.safe)
        if answer is None:
            place = self._engine.prepare(plan, folder, bits=self._bits)

            def compute() -> str:
                self._engine.write(plan, place, secret=self.ledger.secret("groups of a unit"), bits=self._bits)
                return json.dumps({"files": place})

            answer, _ = self.ledger.answer(entry, compute, fresh=fresh)
        return self._engine.read(json.loads(answer)["files"])
