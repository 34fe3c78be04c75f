"""A secure sum: it is the plain sum of those who arrived, whoever drops out, and hostile bytes lose at most a round."""

from collections.abc import Callable

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning.federated import SecureClient, SecureServer, SecureSum
from deniable.learning.federated.masks import ring
from deniable.learning.federated.secure import pack, unpack
from deniable.noise.bits import DeterministicBits

VECTORS = np.random.default_rng(5).integers(-(2**20), 2**20, (12, 7))
Bent = Callable[[int, dict[int, bytes]], None]


def summed(
    agreed: SecureSum, gone: tuple[set[int], ...] = (set(),) * 4, bend: Bent | None = None, seed: int = 1
) -> tuple[np.ndarray, list[int], dict[int, SecureClient]]:
    """A round in which the clients of `gone[stage]` drop out in that stage, and `bend` changes replies."""
    clients = {i: SecureClient(agreed, i, row, bits=DeterministicBits(seed * 99 + i)) for i, row in enumerate(VECTORS)}
    server, here = SecureServer(agreed, 7, bits=DeterministicBits(seed)), set(clients)
    messages: dict[int, bytes] = dict.fromkeys(clients, b"")
    steps = (server.keys, server.shares, server.vectors, server.result)
    for stage, step in enumerate(steps):
        here -= gone[stage]
        replies = {}
        for i in sorted(here & set(messages)):
            client = clients[i]
            replies[i] = (
                client.advertise_keys()
                if not stage
                else (client.share_keys, client.mask, client.unmask)[stage - 1](messages[i])
            )
        if bend:
            bend(stage, replies)
        found = step(replies)
        if stage < 3:
            messages = found  # type: ignore[assignment]
    return found, server.survivors, clients  # type: ignore[return-value]


@pytest.mark.parametrize("neighbours", [10, 40])
@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize(
    "gone", [((), (), (), ()), ((0,), (1,), (2,), (3,)), ((), (), (4, 5), ()), ((), (), (), (6, 7))]
)
def test_the_sum_is_that_of_those_who_arrived(neighbours: int, width: int, gone: tuple[tuple[int, ...], ...]) -> None:
    found, arrived, _ = summed(SecureSum(survivors=5, neighbours=neighbours, width=width), tuple(map(set, gone)))
    assert arrived == [i for i in range(12) if i not in {*gone[0], *gone[1], *gone[2]}]
    assert found.tolist() == VECTORS[arrived].sum(axis=0).tolist()


def test_what_the_server_receives_looks_uniform_and_never_repeats() -> None:
    """Bytes of masked vectors of two rounds: 12 * 7 * 4 * 2 of them; a mean of 127.5 with deviation 74 / sqrt(672)."""
    seen: list[bytes] = []

    def look(stage: int, replies: dict[int, bytes]) -> None:
        seen.extend(replies.values() if stage == 2 else ())

    for seed in (1, 2):
        summed(SecureSum(survivors=5), bend=look, seed=seed)
    assert len(set(seen)) == len(seen) == 24
    assert abs(np.frombuffer(b"".join(seen), dtype=np.uint8).mean() - 127.5) < 6 * 74 / 672**0.5
    assert (np.frombuffer(seen[0], dtype="<u4")[:7] != VECTORS[0].astype(np.uint32)).all()


def test_too_few_survivors_give_the_round_up() -> None:
    with pytest.raises(InvalidParameterError, match="the noise needs 12"):
        summed(SecureSum(survivors=12), (set(), set(), {3}, set()))
    with pytest.raises(InvalidParameterError, match="masks stay"):  # 5 of 11 shares are fewer than the threshold
        summed(SecureSum(survivors=3), (set(), set(), set(), set(range(6))))


def test_masks_that_do_not_cancel_are_noticed() -> None:
    def other(stage: int, replies: dict[int, bytes]) -> None:
        if stage == 2:
            replies[4] = replies[4][::-1]

    with pytest.raises(InvalidParameterError, match="masks do not cancel"):
        summed(SecureSum(survivors=5), bend=other)


def test_a_client_may_send_any_bytes_in_any_stage() -> None:
    """Broken replies count as none: the sum is that of the others, or the round is lost with a sentence."""
    noise = np.random.default_rng(3)
    kept = 0
    for trial in range(24):
        stage, kind = trial % 4, trial // 4

        def broken(at: int, replies: dict[int, bytes], stage: int = stage, kind: int = kind) -> None:
            if at == stage:
                whole = replies[2]
                cut = whole[: int(noise.integers(len(whole)))]
                replies[2] = [b"", cut, whole + b"\0", noise.bytes(len(whole)), noise.bytes(9), whole[:-1]][kind]

        try:
            found, arrived, _ = summed(SecureSum(survivors=5), bend=broken)
        except InvalidParameterError:
            continue
        assert found.tolist() == VECTORS[arrived].sum(axis=0).tolist()
        kept += 1
    assert kept >= 18


def test_wrong_shares_of_any_holders_do_no_harm_and_six_are_refused() -> None:
    """Of 11 neighbours 6 are needed: two liars are corrected wherever they are, and one beside four who dropped out."""

    def lying(*liars: int) -> Bent:
        def lie(stage: int, replies: dict[int, bytes]) -> None:
            for i in liars if stage == 3 else ():
                replies[i] = pack({each: bytes(32) + b"\1" for each in unpack(replies[i])})

        return lie

    total = VECTORS.sum(axis=0).tolist()
    for i in range(12):
        assert summed(SecureSum(survivors=5), bend=lying(i))[0].tolist() == total
    for liars in ((0, 11), (5, 6), (3, 8)):
        assert summed(SecureSum(survivors=5), bend=lying(*liars))[0].tolist() == total
    for liar in (0, 5, 7):
        gone: tuple[set[int], ...] = (set(), set(), set(), {8, 9, 10, 11})
        assert summed(SecureSum(survivors=5), gone, bend=lying(liar))[0].tolist() == total
    with pytest.raises(InvalidParameterError, match="too few valid shares"):
        summed(SecureSum(survivors=5), bend=lying(*range(6)))


def test_shares_that_were_changed_on_the_way_are_not_given_out() -> None:
    def changed(stage: int, replies: dict[int, bytes]) -> None:
        if stage == 1:
            parts = unpack(replies[0])
            replies[0] = pack(parts | {1: bytes(82)})

    assert summed(SecureSum(survivors=5), bend=changed)[0].tolist() == VECTORS.sum(axis=0).tolist()


def test_a_client_reveals_one_secret_of_a_neighbour_and_answers_once() -> None:
    _, _, clients = summed(SecureSum(survivors=5))
    with pytest.raises(InvalidParameterError, match="answered once"):
        clients[0].unmask(pack(dict.fromkeys(range(1, 12), b"\0")))
    with pytest.raises(InvalidParameterError, match="came twice"):
        unpack(pack({1: b"\0"}) + pack({1: b"\1"}))


def test_a_server_that_says_that_nobody_arrived_gets_no_shares() -> None:
    def lie(clients: dict[int, SecureClient], server: SecureServer) -> None:
        messages = server.keys({i: each.advertise_keys() for i, each in clients.items()})
        messages = server.shares({i: clients[i].share_keys(messages[i]) for i in clients})
        server.vectors({i: clients[i].mask(messages[i]) for i in clients})
        clients[0].unmask(pack(dict.fromkeys(range(1, 12), b"\0")))

    agreed = SecureSum(survivors=5)
    with pytest.raises(InvalidParameterError, match="too few vectors arrived"):
        lie({i: SecureClient(agreed, i, row) for i, row in enumerate(VECTORS)}, SecureServer(agreed, 7))


def test_keys_of_strangers_and_copies_are_refused() -> None:
    client, other = (SecureClient(SecureSum(survivors=5), i, VECTORS[i]) for i in range(2))
    keys, own = other.advertise_keys(), client.advertise_keys()
    for book in ({0: keys, 1: keys}, {1: keys, 2: keys}, {1: own, 2: keys}):
        twin = SecureClient(SecureSum(survivors=5), 0, VECTORS[0], bits=DeterministicBits(1))
        mine = twin.advertise_keys()
        with pytest.raises(InvalidParameterError, match="at least two neighbours"):
            twin.share_keys(pack({each: mine if key == own else key for each, key in book.items()}))
    with pytest.raises(InvalidParameterError, match="not a valid X25519 public key"):
        client.share_keys(pack({1: bytes(64), 2: keys}))


def test_a_ring_fails_as_rarely_as_the_guide_says() -> None:
    """1,000 clients of whom 100 drop out, 50 collude, 40 neighbours, 21 shares: docs/theory/learning/federated.md."""
    revealed, aborted = SecureSum(survivors=900, colluding=50).risks(1000, dropouts=100)
    assert revealed < 2e-13
    assert 1e-9 < aborted < 1e-7
    assert SecureSum(survivors=3).risks(10, dropouts=4) == (0, 0)  # all others are neighbours: 6 of 10 are enough
    assert SecureSum(survivors=7, colluding=5).risks(10)[0] == 1  # who know 5 of 9 shares
    assert SecureSum(survivors=3).risks(10, dropouts=5)[1] == 1


def test_risks_are_above_what_random_rings_show() -> None:
    """4,000 rings of 30 clients with 6 neighbours, 5 of whom collude, 3 drop out; a quarter of each is too little."""
    agreed, drawn, found = SecureSum(survivors=8, colluding=5, neighbours=6), np.random.default_rng(3), np.zeros(2)
    for trial in range(4000):
        near = ring(range(30), 6, DeterministicBits(trial))
        bad, gone = np.split(drawn.permutation(30)[:8], [5])
        found[0] += any(len({*near[i]} & {*bad}) >= 4 for i in range(30) if i not in bad)
        found[1] += any(len({*near[i]} & {*gone}) > 2 for i in range(30))
    bounds = np.array([agreed.risks(30)[0], agreed.risks(30, dropouts=3)[1]])
    assert (found / 4000 <= bounds).all()
    assert (found / 4000 > bounds / 4).all()
