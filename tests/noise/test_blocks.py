"""The covering: its inequalities, every bit string at small words, forced ambiguity, the tail, and overflow."""

from collections import Counter
from collections.abc import Hashable
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from deniable.noise import refine
from deniable.noise.bits import Bits, DeterministicBits
from deniable.noise.blocks import Blocks, Law, blocks_of
from tests.noise.goodness import ALARM, gaussian_cdf, gaussian_mass, laplace_cdf, laplace_mass, p_value
from tests.noise.streams import ScriptedBits, ThenBits, enumerate_law


def laplace(scale: Fraction | int) -> Law:
    return Law(1 / Fraction(scale), 1)


def gaussian(sigma_squared: Fraction | int) -> Law:
    return Law(1 / (2 * Fraction(sigma_squared)), 2)


class CoarseLaw(Law):
    """A law whose cells are as wide as its spread, so that small words suffice."""

    cell_bits = 0


def weight(law: Law, k: int) -> mp.mpf:
    energy = law.energy(k)
    return mp.exp(-mp.mpf(energy.numerator) / energy.denominator)


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


LAWS = [laplace(Fraction(1, 9)), laplace(1), laplace(Fraction(29, 3)), laplace(10**4), laplace(2**57),
        gaussian(Fraction(1, 100)), gaussian(1), gaussian(1000), gaussian(10**18), gaussian(2**114)]  # fmt: skip


@pytest.mark.parametrize("law", [laplace(3), gaussian(9)], ids=str)
def test_draws_in_many_groups_of_many_blocks_follow_the_law(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few blocks, so that many draws are refused or fall into the tail; groups of a size that divides nothing."""
    for name, size in (("_GROUP", 700), ("_CACHED_WORDS", 64), ("_STEADY", 100)):
        monkeypatch.setattr(f"deniable.noise.blocks.{name}", size)
    draws = Blocks(law, index_bits=7).draw(30_011, DeterministicBits(4))
    cdf = laplace_cdf if law.power == 1 else gaussian_cdf
    assert p_value(draws, lambda k: cdf(3.0, k), 12) > ALARM
    for size in (1, 99, 101, 701):
        assert Blocks(law, index_bits=7).draw(size, DeterministicBits(size)).shape == (size,)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_blocks_cover_the_curve_and_whole_ones_lie_under_it(law: Law) -> None:
    """Re-derived in 60 digits: what the float table claims about every cell and about the tail."""
    blocks = Blocks(law)
    starts, floors, width = blocks._starts, blocks._floors, 1 << blocks.low_bits
    table = slice(0, starts.size - blocks.tail_blocks)
    whole = Counter(starts[: blocks.whole_blocks].tolist())
    spare = floors[table] == starts.size
    cut: dict[int, list[int]] = {}
    for start, floor in zip(starts[table][~spare].tolist(), floors[table][~spare].tolist(), strict=True):
        if floor >= 0:
            cut.setdefault(start, []).append(floor)
    height = mp.mpf(blocks.height)
    for start in range(-blocks.edge, blocks.edge, width):
        ends = [weight(law, start) * height, weight(law, start + width - 1) * height]
        floors_here = cut.get(start, [])
        assert whole[start] <= min(ends)
        assert floors_here == list(range(whole[start], whole[start] + len(floors_here)))
        assert whole[start] + len(floors_here) >= max(ends)
    cover = law.beyond(blocks.edge)
    ratio = weight(cover, 1)
    area = height * weight(law, blocks.edge) * (1 + ratio) / (1 - ratio) / width
    assert area <= blocks.tail_blocks
    share = area / blocks.tail_blocks
    assert blocks._tail_threshold == int(mp.floor(share * 2**64))
    for step in (0, 1, 5):  # the cover lies above the curve
        k = blocks.edge + step
        assert weight(law, blocks.edge) * weight(cover, step) >= weight(law, k) * (1 - mp.mpf(10) ** -50)


SMALL = [CoarseLaw(Fraction(2, 5), 1), CoarseLaw(Fraction(1, 9), 2), laplace(Fraction(2, 3)), gaussian(Fraction(3, 4))]


def one_round(blocks: Blocks, bits: Bits) -> Hashable:
    """The result of one proposal: an integer, or that it fell in the tail, or that it is refused."""
    out = np.empty(1, dtype=np.int64)
    refused, tail = blocks._pass(out, bits)
    return "tail" if tail.size else "refused" if refused.size else int(out[0])


def accepted_counts(law: Law) -> tuple[Counter[Hashable], Blocks, dict[int, mp.mpf], dict[int, int]]:
    """Strings of three 6-bit words that end at each k; the exact number; and the doubtful strings there may be."""
    blocks = Blocks(law, width=6, index_bits=5)
    found, _ = enumerate_law(lambda bits: one_round(blocks, bits), width=6, depth=4)
    unit = mp.mpf(2) ** (4 * 6 - 5 - blocks.low_bits)
    exact = {k: weight(law, k) * mp.mpf(blocks.height) * unit for k in range(-blocks.edge, blocks.edge)}
    cut = (blocks._floors[: 32 - blocks.tail_blocks] >= 0) & (blocks._floors[: 32 - blocks.tail_blocks] < 32)
    cuts = Counter((blocks._starts[: 32 - blocks.tail_blocks][cut] >> blocks.low_bits).tolist())
    copies = 2 ** (6 - 5 - blocks.low_bits)  # words that differ in a bit that nobody reads
    doubtful = {k: cuts[k >> blocks.low_bits] * copies for k in exact}
    return found, blocks, exact, doubtful


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_every_string_of_small_words_gives_the_law_to_the_last_bit(law: Law) -> None:
    found, blocks, exact, doubtful = accepted_counts(law)
    assert any(doubtful.values())
    for k, count in exact.items():  # each doubtful string is one that four words have not settled
        assert found[k] <= count <= found[k] + doubtful[k], k
    assert found["tail"] == blocks.tail_blocks * 2 ** (24 - 5)


@pytest.mark.parametrize("mistake", ["fresh number", "wrong law"])
def test_the_enumeration_sees_a_broken_sampler(monkeypatch: pytest.MonkeyPatch, mistake: str) -> None:
    if mistake == "fresh number":
        fresh = lambda self, bits, width: refine.Prefix(int(bits.words(1)[0]), width)  # noqa: E731
        monkeypatch.setattr(refine.Prefix, "extended", fresh)
    else:  # the float of the energy is off by a hundredth
        right = Law.energies
        monkeypatch.setattr(CoarseLaw, "energies", lambda self, k: 1.01 * right(self, k))
    found, _, exact, doubtful = accepted_counts(SMALL[0])
    assert not all(found[k] <= count <= found[k] + doubtful[k] for k, count in exact.items())


@pytest.mark.parametrize("law", SMALL[:2], ids=str)
def test_whole_draws_by_all_strings_enclose_the_law(law: Law) -> None:
    """Rounds, refusals and tail together: no k gets more than its probability, and only open strings miss."""
    blocks = Blocks(law, width=5, index_bits=4)
    found, still_open = enumerate_law(lambda bits: int(blocks.draw(1, bits)[0]), width=5, depth=3)
    total = 2**15
    mass = laplace_mass if law.power == 1 else gaussian_mass
    parameter = 1 / law.rate if law.power == 1 else 1 / (2 * law.rate)
    assert sum(found.values()) + still_open == total
    for k in range(-12, 13):
        assert found[k] <= mass(parameter, k) * total <= found[k] + still_open


def test_the_tail_share_by_all_strings() -> None:
    blocks = Blocks(SMALL[0], width=6, index_bits=5)
    found, still_open = enumerate_law(lambda bits: bool(blocks._tail_stands(bits.words(1), bits)[0]), width=6, depth=3)
    ratio = weight(blocks.law, 1)
    share = mp.mpf(blocks.height) * ratio**blocks.edge * (1 + ratio) / (1 - ratio) / 2**blocks.low_bits
    assert found[True] == int(mp.floor(share / blocks.tail_blocks * 2**18))
    assert still_open == 1


@pytest.mark.parametrize("law", [laplace(10**9), gaussian(10**18), gaussian(1)], ids=str)
def test_forced_ambiguity_is_settled_by_appended_words(law: Law) -> None:
    blocks = Blocks(law)
    entry = blocks.whole_blocks + 1
    first = (entry << 48) | 12345
    k = int(blocks._starts[entry]) | (12345 if blocks.low_bits else 0)
    share = weight(law, k) * mp.mpf(blocks.height) - int(blocks._floors[entry])
    assert 0 < share < 1
    digits = int(mp.floor(share * mp.mpf(2) ** 128))
    second, third = divmod(digits, 2**64)
    accepted = ScriptedBits([first, second, third - 1])
    assert int(blocks.draw(1, accepted)[0]) == k
    assert accepted.used == 3
    refused = ThenBits([first, second, third + 1], DeterministicBits(1))
    blocks.draw(1, refused)
    assert refused.used == 3
    one_round_only = ScriptedBits([first, second, third + 1])
    assert one_round(blocks, one_round_only) == "refused"


def test_one_draw_reads_two_words_wherever_it_falls() -> None:
    blocks = blocks_of(gaussian(100))
    for entry in (0, blocks.whole_blocks // 2, blocks.whole_blocks - 1, blocks.whole_blocks):
        bits = ScriptedBits([entry << 48, 0])  # v = 0 stands wherever the curve cuts
        blocks.draw(1, bits)
        assert bits.used == 2


LAST = 0xFFFF << 48  # a word of the last block, which belongs to the tail


@pytest.mark.parametrize("law", [laplace(3), laplace(10**9), gaussian(9), gaussian(10**18)], ids=str)
def test_the_tail_lies_beyond_the_edge(law: Law) -> None:
    blocks = blocks_of(law)
    for sign_word in (0, (blocks._beyond.whole_blocks - 1) << 48):  # the first and the last whole block of the cover
        bits = ThenBits([LAST, 0, sign_word, 0, 0, 0], DeterministicBits(2))
        k = int(blocks.draw(1, bits)[0])
        assert abs(k) >= blocks.edge
        assert (k < 0) == (sign_word == 0)


def tail_draws(law: Law, count: int) -> tuple[np.ndarray, int]:
    """Draws that all begin in a tail block, whether the first proposal stands or not."""
    blocks = blocks_of(law)
    out, refused = blocks._place_tail(np.zeros(count, dtype=np.int64), np.arange(count), DeterministicBits(4))
    return np.delete(out, refused), blocks.edge


def test_the_tail_follows_the_law_beyond_the_edge() -> None:
    """By memorylessness, |k| - edge is Laplace again; for the Gaussian, compared with the summed law."""
    draws, edge = tail_draws(laplace(3), 200_000)
    assert p_value(np.where(draws < 0, draws + edge, draws - edge), lambda k: laplace_cdf(3, k), 30) > ALARM
    draws, edge = tail_draws(gaussian(900), 400_000)
    k = np.arange(edge, edge + 120)
    mass = np.exp(-(k.astype(float) ** 2 - edge**2) / 1800)
    for scale, passes in ((1.0, True), (1.1, False)):
        wanted = mass**scale
        wanted = np.concatenate([wanted[:0:-1], wanted])  # k = -edge is no tail draw: -edge is a cell
        at = np.concatenate([-k[:0:-1], k])
        cdf = np.cumsum(wanted) / wanted.sum()
        table = dict(zip(at.tolist(), cdf.tolist(), strict=True))
        edges = at[::7]
        counts = np.diff(np.searchsorted(np.sort(draws), edges, side="right"))
        expected = np.diff([table[int(e)] for e in edges]) * draws.size
        large = expected > 10
        statistic = float(((counts - expected)[large] ** 2 / expected[large]).sum())
        assert (statistic < large.sum() + 6 * np.sqrt(2 * large.sum())) is np.bool_(passes)


def test_draws_beyond_int64_become_python_integers() -> None:
    blocks = blocks_of(laplace(2**57))
    levels = 2**63 // blocks.edge + 2
    script = [LAST, 0] * levels + [0, 0] + [0] * levels  # tail of the tail of the tail ..; then all of them stand
    k = blocks.draw(1, ThenBits(script, DeterministicBits(1)))
    assert k.dtype == object
    assert int(k[0]) == int(blocks._starts[0]) - levels * blocks.edge  # word 0 is a negative cell
    assert int(k[0]) < -(2**63)


@pytest.mark.parametrize("size", [3, 4096])
def test_small_requests_follow_the_law_too(size: int) -> None:
    """Small requests judge every draw, large ones only the doubtful: two routes, one law."""
    bits = DeterministicBits(9)
    for law, cdf, reach in (
        (laplace(5), lambda k: laplace_cdf(5, k), 50),
        (gaussian(25), lambda k: gaussian_cdf(5, k), 25),
    ):
        draws = np.concatenate(
            [blocks_of(law).draw(size, bits) for _ in range(200_000 // size // (30 if size < 9 else 1))]
        )
        assert p_value(draws, cdf, reach, cells=60) > ALARM


def test_tables_are_kept() -> None:
    assert blocks_of(laplace(77)) is blocks_of(laplace(77))
