"""Alarm for rare events: the first step whose count is above a threshold."""

import json
from pathlib import Path

import numpy as np

from deniable.arguments import InWords
from deniable.errors import StreamError
from deniable.ledger.payment import Payer, Payment
from deniable.mechanisms import AboveThreshold, Laplace
from deniable.mechanisms.integers import integers
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_rational, quotient_text, whole_number
from deniable.privacy import AddRemove, PrivacyLoss, PrivacyUnit, Relation, of_count
from deniable.stream.state import StateFile


class Alarm(metaclass=InWords):
    """Say in every step whether a count is above a threshold, until one is.

    All steps without an alarm are free together: the whole stream costs epsilon, however long it is, and whatever the
    number of steps in which rows of one unit count.

    Args:
        path: of the file that keeps the alarm, as private as the rows; None for one that ends with this process.
        threshold: public; in events.
        epsilon: price of all steps together.
        window: number of steps whose events are added up.
        rows: the most events of one unit in one step; the caller keeps them.
        unit: who is protected: by default one event.
        relation: AddRemove or Replace.
        name: of the alarm, for the ledger.
        ledger: charged once, when the alarm is first opened; None charges nothing.
        bits: leave it out, except in tests.

    Guarantee: epsilon-DP: each question moves by at most rows * window events, and `AboveThreshold` gives one answer.
    Raises: StreamError for a file of another stream, and what the ledger raises.

    >>> import deniable as dn
    >>> alarm = dn.stream.Alarm(threshold=70, epsilon=1)
    >>> [alarm.check(cases) for cases in (12, 9, 500)]
    [False, False, True]
    """

    def __init__(
        self, path: Path | str | None = None, *, threshold: int, epsilon: Real, window: int = 1, rows: int = 1,
        unit: PrivacyUnit | None = None, relation: Relation = AddRemove, name: str = "alarm",
        ledger: Payer | None = None, bits: Bits = SECURE,
    ) -> None:  # fmt: skip
        self._window, self._bits = whole_number("window", window, lower=1), bits
        moved = whole_number("rows", rows, lower=1) * self._window
        self._sensitivity = of_count(rows=moved, groups=1, relation=Relation.checked(relation))
        self.mechanism = AboveThreshold.calibrated(
            self._sensitivity, epsilon=positive_rational("epsilon", epsilon), monotone=relation is AddRemove
        )
        level = whole_number("threshold", threshold)
        price = quotient_text(positive_rational("epsilon", epsilon))
        facts = {"alarm": name, "threshold": level, "epsilon": price, "window": window, "rows": rows}
        identity = json.dumps(facts | {"unit": repr(unit), "relation": str(relation)})
        text = f"alarm {name} above {level}; epsilon={price}; protects {unit or 'one event'} ({relation})"
        payment = Payment(ledger, text=text, name=identity, bits=bits, units=unit is not None)
        self._file = StateFile(path)
        with self._file.transaction() as connection:
            if self._file.create(connection, identity, bits.safe):
                noise = Laplace(scale=self.mechanism.threshold_scale)
                secret = {"level": int(noise.release([level], bits=bits).value[0]), "recent": []}
                connection.execute("INSERT INTO now VALUES (1, 0, 0, '', ?, '')", (json.dumps(secret),))
            if connection.execute("SELECT paid FROM facts").fetchone() == (0,) and ledger is not None:
                payment.charge(self.privacy_loss)
                connection.execute("UPDATE facts SET paid = 1")
        with self._file.reading() as connection:
            (self._file.changes,) = connection.execute("SELECT changes FROM now").fetchone()

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of all steps together."""
        return self.mechanism.privacy_loss(self._sensitivity)

    def check(self, count: int) -> bool:
        """Close a step, and return whether the noisy events are above the threshold.

        Events of the last `window` steps count.

        Args:
            count: secret; the events of the step.

        Raises: StreamError after the alarm, or if another process has gone on with it.
        """
        (exact,) = integers("count", np.asarray([count], dtype=object)).tolist()
        with self._file.transaction() as connection:
            step, text = connection.execute("SELECT step, secret FROM now").fetchone()
            if connection.execute("SELECT 1 FROM releases WHERE noisy = 'true'").fetchone():
                raise StreamError(f"this alarm rang in step {step}. Open another one, which is charged.")
            secret = json.loads(text)
            secret["recent"] = [*secret["recent"], exact][-self._window :]
            noise = Laplace(scale=self.mechanism.query_scale)
            above = bool(noise.release([sum(secret["recent"])], bits=self._bits).value[0] >= secret["level"])
            connection.execute("INSERT INTO releases VALUES (?, ?, x'')", (step + 1, json.dumps(above)))
            connection.execute("UPDATE now SET step = step + 1, secret = ?", (json.dumps(secret),))
        return above

    def history(self) -> list[bool]:
        """Return the answers so far, free."""
        with self._file.reading() as connection:
            rows = connection.execute("SELECT noisy FROM releases ORDER BY step").fetchall()
        return [row[0] == "true" for row in rows]
