"""Keys, streams, shares and rings."""

from itertools import combinations

import numpy as np
import pytest
from flint import fmpz

from deniable.learning.federated import masks
from deniable.noise.bits import DeterministicBits


def plain(held: dict[int, bytes], threshold: int) -> bytes:
    return next(masks.secrets(held, threshold=threshold))


def test_any_threshold_of_shares_gives_the_secret_back_and_fewer_do_not() -> None:
    secret = masks.seed(DeterministicBits(1))
    held = masks.shares(secret, range(6), threshold=4, bits=DeterministicBits(2))
    for some in combinations(range(6), 4):
        assert plain({each: held[each] for each in some}, 4) == secret
    assert plain({each: held[each] for each in range(3)}, 3) != secret
    assert not list(masks.secrets({0: held[0]}, threshold=4))


@pytest.mark.parametrize(("count", "threshold", "most"), [(4, 3, 1), (5, 3, 2), (11, 6, 2), (40, 21, 9), (22, 21, 1)])
def test_wrong_shares_are_corrected_wherever_they_are(count: int, threshold: int, most: int) -> None:
    """Half of what there is to spare, and one in any case; with few holders even all that there is to spare."""
    drawn = np.random.default_rng(count)
    for secret in (bytes(32), b"\xff" * 32, drawn.bytes(32)):
        held = masks.shares(secret, range(count), threshold=threshold, bits=DeterministicBits(count))
        for wrong in range(most + 1):
            liars = drawn.choice(count, wrong, replace=False).tolist()
            assert secret in masks.secrets(held | {i: drawn.bytes(33) for i in liars}, threshold=threshold)
    lost = held | {i: drawn.bytes(33) for i in range(count - threshold + 1)}
    assert secret not in masks.secrets(lost, threshold=threshold)


def test_the_field_is_one() -> None:
    assert fmpz(masks.P).is_prime()
    assert masks.P < 2 ** (8 * masks.LENGTH)


def test_fewer_shares_fit_every_secret() -> None:
    """Two points of a parabola: for every constant there is one that goes through them."""
    held = masks.shares(bytes(32), [0, 1], threshold=3, bits=DeterministicBits(3))
    wanted = (7).to_bytes(32, "little")
    first, second = (int.from_bytes(held[each], "little") for each in (0, 1))
    third = (3 * second - 3 * first + 7) % masks.P  # f(3) = f(0) - 3 f(1) + 3 f(2) for every parabola
    assert plain(held | {2: third.to_bytes(33, "little")}, 3) == wanted


def test_two_clients_agree_on_one_stream_and_others_on_another() -> None:
    one, two, three = (masks.key_of(masks.seed(DeterministicBits(each))) for each in range(3))
    key = masks.agreed(one, masks.public(two), b"mask")
    assert key == masks.agreed(two, masks.public(one), b"mask")
    assert (
        len({key, masks.agreed(one, masks.public(two), b"post"), masks.agreed(one, masks.public(three), b"mask")}) == 3
    )
    assert masks.stream(key, 5, 4).tolist() == masks.stream(key, 9, 4)[:5].tolist()


@pytest.mark.parametrize("count", [5, 41, 60, 501])
def test_a_ring_is_symmetric_and_of_one_degree(count: int) -> None:
    near = masks.ring([3 * each for each in range(count)], 40, DeterministicBits(4))
    assert all(len(set(others)) == min(40, count - 1) and each not in others for each, others in near.items())
    assert all(each in near[other] for each, others in near.items() for other in others)
    assert np.array_equal(sorted(near), [3 * each for each in range(count)])
