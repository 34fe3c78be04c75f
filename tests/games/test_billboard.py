"""The billboard: functions see one row and a signal that they cannot write to; who cheats is found by replay."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.games import DigitalGoods, billboard
from deniable.mechanisms.base import Released
from deniable.noise.bits import DeterministicBits
from deniable.privacy import PureLoss

ROWS = [3, 9, 5]
BOARD = billboard(Released(np.array([4, 7]), True), loss=PureLoss(1))


def buys(value: int, prices: np.ndarray) -> int:
    return int((prices <= value).sum())


def test_outputs_depend_on_the_own_row_and_the_signal() -> None:
    assert BOARD.per_player(buys, ROWS) == (0, 2, 1)
    assert BOARD.replay(buys, ROWS, player=1, row=4) == (2, 1)
    assert (BOARD.cost, BOARD.safe) == (PureLoss(1), True)


def test_a_release_is_posted_with_its_own_loss() -> None:
    sale = DigitalGoods(prices=[2, 5], epsilon=1)
    release = sale.release(ROWS, bits=DeterministicBits(1))
    board = billboard(release)
    assert (board.cost, board.safe) == (release.cost, False)
    (price,) = board.signal["price"]
    assert board.per_player(lambda bid, seen: bid >= seen["price"][0], ROWS) == tuple(bid >= price for bid in ROWS)


def test_a_function_that_reads_another_row_is_found() -> None:
    rows = list(ROWS)
    seen: list[int] = []

    def remembers(value: int, prices: np.ndarray) -> int:
        seen.append(value)
        return sum(seen)

    with pytest.raises(UnprovedError, match="more than the own row"):
        BOARD.replay(remembers, rows, player=0, row=4)
    ordered: list[int] = []
    with pytest.raises(UnprovedError, match="order of the calls"):
        BOARD.replay(lambda value, prices: ordered.append(0) or len(ordered), rows, player=0, row=4)


def test_an_output_that_is_no_number_accuses_nobody() -> None:
    told = BOARD.replay(lambda value, prices: [float("nan"), value], list(ROWS), player=0, row=4)
    assert (told[0][1], told[1][1]) == (ROWS[0], 4)


@pytest.mark.parametrize("signal", [[1, [2]], {"a": [1, 2]}, np.array([[1, 2]], dtype=object)], ids=str)
def test_nobody_can_write_to_the_signal(signal: object) -> None:
    def writes(row: int, seen: object) -> str:
        seen[0] = row  # type: ignore[index]
        return "written"

    board = billboard(Released(signal, True), loss=PureLoss(1))
    assert board.per_player(writes, ROWS) == (None,) * len(ROWS)


def test_what_cannot_be_posted_is_refused() -> None:
    for given in (Released(1, True), 3):
        with pytest.raises(InvalidParameterError, match="loss="):
            billboard(given)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="signal"):
        billboard(Released({1, 2}, True), loss=PureLoss(1))
    with pytest.raises(InvalidParameterError, match="player"):
        BOARD.replay(buys, ROWS, player=3, row=4)


def test_a_billboard_prints_its_signal_in_short_and_what_it_cost() -> None:
    assert repr(BOARD) == "<Billboard: signal [4, 7]; cost epsilon=1>"
    signal = {"price": (Fraction(5, 2), np.zeros((40, 3)))}
    board = billboard(Released(signal, False), loss=PureLoss(1))
    assert repr(board) == "<Billboard: signal {price: (2.5, of shape (40, 3))}; cost epsilon=1, safe=False>"
