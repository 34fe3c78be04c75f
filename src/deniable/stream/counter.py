"""Counters and sums that go on step by step, under one price."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import InWords
from deniable.errors import InvalidParameterError, StreamError
from deniable.ledger.payment import Payer, Payment
from deniable.mechanisms.integers import integers
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import whole_number
from deniable.privacy import PrivacyLoss
from deniable.privacy.budget.rule import Remaining
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key
from deniable.rows import Container
from deniable.stream.bands import band_factor
from deniable.stream.contributions import Arrivals, totals_of
from deniable.stream.plan import PricedStrategy, StreamPlan
from deniable.stream.state import StateFile, packed, unpacked

_STEPS_PER_SAVE = 1000
_MAX_COUNT = 2**100
_UNREADABLE = 2**62  # no number of changes: what is in memory may be half of a step, so nothing goes on
_NOTE = "One charge, when the stream was opened, covers all of its steps."


class Counter(metaclass=InWords):
    """Totals so far, and sums over windows, that are released once in every step.

    Rows are added to the open step, and `release` closes it, whatever came: an empty step is a step. Steps close when
    the public clock says so; a step that closes when enough rows came would tell that they came.

    Args:
        path: of the file that keeps the stream, as private as the rows. The same path and facts go on where the stream
            stopped, without another charge. None for a stream that ends with this process.
        ledger: charged once, when the stream is first opened; None charges nothing.
        bits: leave it out, except in tests.
        plan: the declared facts; or give them here by name.
        facts: those of `StreamPlan`: steps, epsilon, delta, keys, bounds, windows, unit and so on.

    Guarantee: the loss of the plan, for all steps together, also where rows depend on what was released.
    Proof: docs/theory/stream/counters.md.
    Raises: StreamError for a file of another stream, and what the ledger raises.

    >>> import deniable as dn
    >>> counter = dn.stream.Counter(steps=365, epsilon=1, delta="1e-9")
    >>> counter.add(120)
    >>> today = counter.release()
    >>> today.columns, [float(round(error, 2)) for error in counter.standard_errors()]
    (('step', 'total'), [9.43])
    """

    def __init__(
        self, path: Path | str | None = None, *, ledger: Payer | None = None, bits: Bits = SECURE,
        plan: StreamPlan | None = None, **facts: Any,
    ) -> None:  # fmt: skip
        if plan is not None and facts:
            raise InvalidParameterError("give a plan, or facts by name, not both")
        self.plan = StreamPlan(**facts) if plan is None else plan
        self._bits = bits
        self._lock = threading.RLock()
        self._left: Remaining | None = None
        self._step = 0
        self._pending: NDArray[Any] = np.zeros(0)
        self._errors: dict[int | None, Floats] = {}
        identity = self.plan.identity
        text = f"stream {self.plan.name}; {self.plan.price}; protects {self.plan.protects}"
        payment = Payment(ledger, text=text, bits=bits, name=identity, units=self.plan.unit is not None)
        _check_unit(ledger, self.plan)
        self._file = StateFile(path)
        with self._file.transaction() as connection:
            if self._file.create(connection, identity, bits.safe):
                described = self.plan.chosen().to_json()
                blank = json.dumps([0] * self.plan.uses.dimensions)
                connection.execute("UPDATE facts SET strategy = ?", (described,))
                connection.execute("INSERT INTO now VALUES (1, 0, 0, ?, '', '')", (blank,))
            described, paid = connection.execute("SELECT strategy, paid FROM facts").fetchone()
            self.strategy = PricedStrategy.from_json(described, self.plan)
            if not paid and ledger is not None:  # charged before the file says so: a crash costs, and reveals nothing
                self._left = payment.charge(self.strategy.privacy_loss)
                connection.execute("UPDATE facts SET paid = 1")
        self._load()

    def add(
        self, count: int | Sequence[int] | NDArray[Any], *, step: int | None = None, batch: str | None = None,
        bounded: bool = False,
    ) -> None:  # fmt: skip
        """Add rows to the open step that were counted elsewhere.

        Args:
            count: secret; how many rows, or one number for each declared key.
            step: public; that of the rows. It must be the open one.
            batch: a public name; a batch that was added before counts once, also after a crash.
            bounded: the caller kept the rows of each unit within the plan. Needed where the unit owns several rows.

        Raises: InvalidParameterError for a stream of sums, or a step that is not open; StreamError.
        """
        (totals,) = self._counted([count], bounded)
        with self._changing(step, batch) as connection:
            if connection is not None:
                self._pend(connection, totals)

    def add_rows(
        self, values: Container | None = None, *, keys: Container | None = None, units: Container | None = None,
        step: int | None = None, batch: str | None = None,
    ) -> None:  # fmt: skip
        """Add rows to the open step, each clamped, and each unit kept within the plan.

        Args:
            values: secret numbers, one a row, for a stream of sums; a value that is no number does not count.
            keys: secret; the key of each row. Rows with keys that were not declared do not count.
            units: secret; the owner of each row.
            step: public; that of the rows. It must be the open one.
            batch: a public name; a batch that was added before counts once, also after a crash.

        Raises: InvalidParameterError if a column is missing, or a step is not open; StreamError.

        >>> import deniable as dn
        >>> spent = dn.stream.Counter(steps=12, bounds=(0, 50), keys=["food", "rent"], rho="1/2")
        >>> spent.add_rows([12.5, 80, 7], keys=["food", "rent", "food"])
        >>> spent.release().columns
        ('step', 'key', 'total')
        """
        with self._changing(step, batch) as connection:
            if connection is not None:
                self._pend(
                    connection,
                    totals_of(self.plan, Arrivals(values, keys, units), step=self.step + 1, connection=connection),
                )

    @property
    def step(self) -> int:
        """Number of steps that were released; the next one is open."""
        return self._step

    def release(self, step: int | None = None) -> Release:
        """Close the open step, and return its noisy totals.

        A step that was released is returned as it was.

        Args:
            step: public; 1 for the first. Later than the open one, all steps between are closed too, as empty ones.

        Returns: a release with the columns `step`, `key` if there are keys, `total`, and `last_K` for each window.
        Raises: StreamError beyond the horizon, and if another process has gone on with the stream.
        """
        with self._lock:
            asked = self.step + 1 if step is None else whole_number("step", step, lower=1)
            if asked > self.step:
                self._require(asked)
                while self._step < asked:
                    quiet = min(asked - self._step, _STEPS_PER_SAVE) - 1
                    self._advance([np.zeros(self.plan.uses.dimensions, dtype=object)] * quiet)
            return self._table(asked, asked)

    def extend(self, counts: Sequence[Any] | NDArray[Any], *, bounded: bool = False) -> Release:
        """Add and release many whole steps, saved a thousand at a time.

        Args:
            counts: secret; one entry a step, as `add` takes it. The first is added to what the open step holds.
            bounded: as for `add`.

        Returns: a release with one row for each of these steps and keys.
        """
        steps = self._counted(counts, bounded)
        with self._lock:
            first = self.step + 1
            self._require(self.step + len(steps))
            for start in range(0, len(steps), _STEPS_PER_SAVE):
                part = steps[start : start + _STEPS_PER_SAVE]
                self._pending = self._pending + part[0]
                self._advance(list(part[1:]))
            return self._table(first, self.step)

    def history(self, *, since: int = 1, rising: bool = False) -> Release:
        """Return steps that were released, again, free.

        Args:
            since: the first of them.
            rising: never let a total fall or be below 0: post-processing, which biases it.
        """
        if not 1 <= since <= self.step:
            raise InvalidParameterError(f"since must be one of {self.step} released steps, got {since}")
        return self._table(since, self.step, rising=rising)

    def standard_errors(self, *, window: int | None = None) -> Floats:
        """Return standard errors of the totals of all released steps; shape (steps,).

        Args:
            window: one of the plan; None for totals.
        """
        return self._standard_errors(window, self.step)

    def band(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends of a band around totals that holds for all steps at once.

        Without a horizon it holds for the steps so far.

        Args:
            level: probability that all totals of all keys are within.

        Returns: lower and upper ends, shape (steps, keys).
        """
        steps = self.plan.steps or self.step
        factor = band_factor(self.strategy, steps=steps, level=level, cells=self.plan.uses.dimensions)
        with self._file.reading() as connection:
            totals = self._totals(connection, 1, self.step)
        width = factor * self.standard_errors()[:, np.newaxis]
        return totals - width, totals + width

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of all steps together."""
        return self.strategy.privacy_loss

    def close(self) -> None:
        """Let go of the file; another process may go on with the stream."""
        self._file.close()

    def __enter__(self) -> "Counter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        of = "" if self.plan.steps is None else f" of {self.plan.steps}"
        return f"<stream {self.plan.name}: {self.step}{of} steps released, {self.strategy.name}, {self.plan.price}>"

    def _load(self) -> None:
        """Read where the stream is from its file."""
        correlation, uses = self.strategy.correlation, self.plan.uses
        with self._file.reading() as connection:
            row = connection.execute("SELECT changes, step, pending, secret, public FROM now").fetchone()
            changes, self._step, pending, secret, public = row
            self._pending = np.array(json.loads(pending), dtype=object)
            self._secret = unpacked(secret) if secret else correlation.blank(uses)
            self._public = unpacked(public) if public else correlation.blank_public(uses)
            self._total = np.zeros(uses.dimensions)
            if self._step:
                self._total = self._totals(connection, self._step, self._step)[0]
            if correlation.remembers_all:
                for step, exact in connection.execute("SELECT step, exact FROM history ORDER BY step").fetchall():
                    correlation.mixed(np.array(json.loads(exact), dtype=object), self._secret, step, uses)
                for step, noisy in connection.execute("SELECT step, noisy FROM releases ORDER BY step").fetchall():
                    correlation.unmixed(_floats(json.loads(noisy)), self._public, step, uses)
        self._file.changes = changes

    def _counted(self, counts: Sequence[Any] | NDArray[Any], bounded: bool) -> NDArray[Any]:
        """Return counts in grid steps, cut to what floats hold; shape (steps, keys)."""
        if self.plan.bounds is not None:
            raise InvalidParameterError("this stream adds up values: use add_rows, which clamps each of them")
        if self.plan.unit is not None and not bounded:
            raise InvalidParameterError(
                "this stream protects a unit with several rows: use add_rows with units=, which keeps each within the "
                "plan; or say bounded=True if the caller did"
            )
        given = np.asarray(counts, dtype=object)
        if given.ndim == 1 and self.plan.keys is None:
            given = given[:, np.newaxis]
        if given.shape[1:] != (self.plan.uses.dimensions,):
            raise InvalidParameterError(f"count must be {self.plan.uses.dimensions} numbers, one for each key")
        cut = np.clip(integers("count", given).astype(object), -_MAX_COUNT, _MAX_COUNT)  # no two get farther apart
        return np.asarray(cut * self.plan.size)

    @contextmanager
    def _changing(self, step: int | None, batch: str | None) -> Iterator[Any]:
        """Run one change of the open step; None where the batch was added before."""
        with self._lock:
            if step is not None and whole_number("step", step, lower=1) != self.step + 1:
                late = "is released, so its late rows are refused" if step <= self.step else "is not open yet"
                raise InvalidParameterError(
                    f"step {step} {late}: step {self.step + 1} is open. Leave out step= to count rows in it, at no "
                    "other price."
                )
            self._require(self.step + 1)
            with self._reloading(), self._file.transaction() as connection:
                known = batch is not None and connection.execute("SELECT 1 FROM batches WHERE name = ?", (batch,))
                if known and known.fetchone():
                    yield None
                    return
                if batch is not None:
                    connection.execute("INSERT INTO batches VALUES (?)", (batch,))
                yield connection

    def _pend(self, connection: Any, totals: NDArray[Any]) -> None:
        self._pending = self._pending + totals
        connection.execute("UPDATE now SET pending = ?", (json.dumps(self._pending.tolist()),))

    @contextmanager
    def _reloading(self) -> Iterator[None]:
        """Run a change of state; if it fails, read again what is on the disk."""
        try:
            yield
        except BaseException:
            changes, self._file.changes = self._file.changes, _UNREADABLE
            with suppress(StreamError):
                self._load()
                self._file.changes = changes  # if others went on, every later call is refused as this one
            raise

    def _require(self, step: int) -> None:
        if self.plan.steps is not None and step > self.plan.steps:
            raise StreamError(
                f"this stream has {self.plan.steps} steps, which were paid for, and step {step} is beyond them. Open "
                "another stream, which is charged; steps=None has no horizon."
            )

    def _advance(self, more: list[NDArray[Any]]) -> None:
        """Release the open step and those after it, in one transaction."""
        correlation, uses = self.strategy.correlation, self.plan.uses
        with self._reloading(), self._file.transaction() as connection:
            exact = [self._pending, *more]
            numbers = range(self._step + 1, self._step + 1 + len(exact))
            pairs = list(zip(numbers, exact, strict=True))
            mixed = [np.reshape(correlation.mixed(total, self._secret, step, uses), (-1, uses.dimensions))
                     for step, total in pairs]  # fmt: skip
            noisy = self.strategy.noise.release(np.concatenate(mixed), bits=self._bits).value
            parts = np.split(noisy, np.cumsum([len(each) for each in mixed])[:-1])
            rows = []
            for step, part in zip(numbers, parts, strict=True):
                released = part if correlation.releases_several else part[0]
                total = correlation.unmixed(_floats(released), self._public, step, uses)
                self._total = self._total + total * self.plan.grid
                rows.append((step, json.dumps(released.tolist()), self._total.tobytes()))
            connection.executemany("INSERT INTO releases VALUES (?, ?, ?)", rows)
            if correlation.remembers_all:
                kept = [(step, json.dumps(total.tolist())) for step, total in pairs]
                connection.executemany("INSERT INTO history VALUES (?, ?)", kept)
                secret = public = ""
            else:
                secret, public = packed(self._secret), packed(self._public)
            self._pending = np.zeros(uses.dimensions, dtype=object)
            self._step = numbers[-1]
            connection.execute(
                "UPDATE now SET step = ?, pending = ?, secret = ?, public = ?",
                (self._step, json.dumps(self._pending.tolist()), secret, public),
            )

    def _totals(self, connection: Any, first: int, last: int) -> Floats:
        """Return stored totals; shape (steps, keys)."""
        query = "SELECT totals FROM releases WHERE step BETWEEN ? AND ? ORDER BY step"
        totals = [np.frombuffer(row[0]) for row in connection.execute(query, (first, last))]
        return np.array(totals).reshape(-1, self.plan.uses.dimensions)

    def _standard_errors(self, window: int | None, steps: int) -> Floats:
        known = self._errors.get(window)
        if known is None or len(known) < steps:
            size = min(max(1024, 2 ** (steps - 1).bit_length()), self.plan.uses.steps)
            known = self._errors[window] = self.strategy.standard_errors(size, window=window)
        return known[:steps]

    def _table(self, first: int, last: int, *, rising: bool = False) -> Release:
        plan = self.plan
        size = plan.uses.dimensions
        longest = max(plan.windows, default=0)
        start = max(1, first - longest)
        with self._file.reading() as connection:
            totals = self._totals(connection, start, last)
        before = totals[: first - start]
        shown = totals[first - start :]
        steps = np.repeat(np.arange(first, last + 1), size)
        parts: list[Key | Estimate] = [Key(name="step", values=steps.tolist(), kind="int64")]
        if plan.keys is not None:
            parts.append(Key(name="key", values=list(plan.keys) * (last - first + 1)))
        note = "never falls, and is at least 0" if rising else ""
        values = np.maximum.accumulate(np.maximum(shown, 0)) if rising else shown
        parts.append(_estimate("total", values, self._standard_errors(None, last)[first - 1 :], note, shown))
        for window in plan.windows:
            padded = np.concatenate([np.zeros((max(0, window - len(before)), size)), before[-window:], shown])
            sums = padded[window:] - padded[:-window]
            parts.append(_estimate(f"last_{window}", sums, self._standard_errors(window, last)[first - 1 :], "", sums))
        return Release(
            parts=tuple(parts),
            cost=self.privacy_loss,
            budget_left=self._left,
            text=f"stream {plan.name}",
            safe=self._bits.safe,
            notes=(_NOTE,),
            protects=plan.protects,
        )


def _estimate(name: str, values: Floats, errors: Floats, note: str, centres: Floats) -> Estimate:
    """Return one column, with intervals around the unbiased values."""
    widths = np.repeat(errors, values.shape[1])
    return Estimate(name=name, estimates=values.ravel(), ends=partial(_ends, centres.ravel(), widths),
                    post_processing=note)  # fmt: skip


def _ends(centres: Floats, errors: Floats, level: float) -> Bounds:
    from scipy.special import ndtri

    half = float(ndtri((1 + level) / 2)) * errors
    return Bounds(centres - half, centres + half)


def _floats(noisy: Any) -> Floats:
    return np.asarray(noisy, dtype=object).astype(np.float64)


def _check_unit(ledger: object, plan: StreamPlan) -> None:
    """Refuse a ledger that protects another column than the stream."""
    column = getattr(getattr(ledger, "unit", None), "column", None)
    if column is not None and plan.unit is not None and plan.unit.column != column:
        raise InvalidParameterError(
            f"this ledger protects {column!r}, and the stream {plan.unit.column!r}. Give unit= of the ledger."
        )
