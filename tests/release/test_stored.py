"""What a ledger keeps of a release comes back as it was."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest

from deniable.privacy import PureLoss
from deniable.release import Release, stored
from deniable.release.columns import Bounds, Estimate, Key

KEYS = [None, True, 3, 0.5, "é\n", date(2025, 1, 2), datetime(2025, 1, 2, 3, 4, 5, 6), Decimal("1.10"), b"\x00\xff"]


def ends(level: float) -> Bounds:
    return Bounds(np.full(len(KEYS), -level), np.append(np.full(len(KEYS) - 1, level), np.inf))


def kept(estimates: list[float] | list[int]) -> Release:
    columns = (
        Key(name="k", values=KEYS),
        Estimate(name="x", estimates=np.array(estimates), ends=ends, post_processing="clamped", digits=2),
        Estimate(name="bare", estimates=np.zeros(len(KEYS))),
    )
    release = Release(parts=columns, cost=PureLoss(1), notes=("told",))
    parts, notes = stored.from_text(stored.as_text(release))
    return Release(parts=parts, cost=PureLoss(1), notes=notes)


@pytest.mark.parametrize("values", [list(range(len(KEYS))), [0.1, float("nan"), float("-inf"), *[1e300] * 6]], ids=str)
def test_keys_values_and_intervals_come_back(values: list[float]) -> None:
    back = kept(values)
    assert list(back["k"]) == KEYS
    assert [type(key) for key in back["k"]] == [type(key) for key in KEYS]
    np.testing.assert_array_equal(back["x"], values)
    assert back["x"].dtype == np.array(values).dtype
    assert back.notes == ("told",)
    assert (back.measures[0].post_processing, back.measures[0].digits) == ("clamped", 2)
    assert np.isnan(back.intervals(0.95)["bare"].lower).all()


def test_between_two_levels_the_wider_interval_is_given_and_above_all_none() -> None:
    back = kept(list(range(len(KEYS))))
    for asked, known in ((0.3, 0.5), (0.95, 0.95), (0.951, 0.98), (0.9999, np.inf)):
        assert back.intervals(asked)["x"].upper[0] == known
