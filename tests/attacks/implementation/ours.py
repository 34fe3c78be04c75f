"""Our own public API as a target: the noisy answers of many groups, each of which holds the same secret."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import deniable as dn
from deniable.noise.bits import DeterministicBits

GROUPS = [f"g{number:03}" for number in range(300)]


def database(secret: float, *, epsilon: float = 1_000) -> dn.Database:
    """One person a group, whose secret is a number from 0 to 1."""
    people = pa.table({"person": range(len(GROUPS)), "group": GROUPS, "secret": [float(secret)] * len(GROUPS)})
    return dn.connect(
        people,
        name="people",
        unit="person",
        budget=dn.Budget(epsilon=epsilon),
        columns={"group": dn.Keys(GROUPS), "secret": dn.Number(lower=0, upper=1)},
    )


def group_sums(secret: float, *, delta: float | None = None) -> NDArray[np.float64]:
    """Noisy sum of the secrets of every group: Laplace noise, or Gaussian noise with a delta."""
    text = 'SELECT "group", SUM(secret) AS total FROM people GROUP BY "group"'
    db = database(secret)
    db._bits = DeterministicBits(int(secret))  # a gate that cannot fail by chance
    return np.asarray(db.sql(text, epsilon=0.05, delta=delta)["total"], dtype=np.float64)
