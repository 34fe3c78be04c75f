"""Fingerprinting codes: tracing leakers of a copy by a different word for each.

They also prove that a large number of accurate averages reveals people: take the words as rows of a table, and any
accurate answers to all column averages are a pirate copy.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.numbers import MAX_ROUNDS, Floats, check_probability, start_dice, whole
from deniable.attacks.result import AttackResult, Share, TheoremBound
from deniable.errors import InvalidParameterError

BitTable = NDArray[np.bool_]
Collusion = Literal["majority", "minority", "random", "interleaving"]


@dataclass(frozen=True, kw_only=True)
class FingerprintingCode:
    """Tardos's fingerprinting code, in which each position has a secret bias.

    Args:
        words: shape (users, length), booleans; each bit is drawn with the bias of its position.
        bias: shape (length,), in [cutoff, 1 - cutoff]; only the tracer knows it.
        cutoff: 1/(300 coalition).

    >>> from deniable.attacks.tracing import draw_code
    >>> code = draw_code(users=5, coalition=2, length=30)
    >>> int(code.scores(code.words[3]).argmax())
    3
    """

    words: BitTable
    bias: Floats
    cutoff: float

    def __repr__(self) -> str:
        users, length = self.words.shape
        return f"<FingerprintingCode: {users:,} words of {length:,} bits>"

    def scores(self, copy: ArrayLike) -> Floats:
        """Return symmetric scores of users, shape (users,).

        Each is the sum of (2 copy - 1)(word - bias)/sqrt(bias (1 - bias)). An innocent user's has mean 0 and variance
        `length` whatever the copy.

        Args:
            copy: shape (length,), bits.

        Source: Skoric, Katzenbeisser, Celik (2008), arXiv:cs/0601131, after Tardos (2003).
        """
        bits = np.asarray(copy)
        if bits.shape != self.bias.shape or not np.isin(bits, (0, 1)).all():
            raise InvalidParameterError(f"copy must be a vector of {len(self.bias)} bits")
        weights = (2.0 * bits - 1) / np.sqrt(self.bias * (1 - self.bias))
        return np.asarray(self.words @ weights - self.bias @ weights)

    def threshold(self, false_accusation: float = 0.01) -> float:
        """Return a score that innocent users exceed with at most a stated probability.

        Args:
            false_accusation: probability that any innocent user at all exceeds it, in (0, 1).

        Proof: given copy and bias an innocent's score is a sum of independent terms of mean 0 and variance 1, each at
        most b = sqrt((1 - cutoff)/cutoff); by Bernstein's inequality P(score > z) <= exp(-z^2/(2 (length + b z/3))),
        times the number of users.
        """
        users, length = self.words.shape
        check_probability("false_accusation", false_accusation)
        return _bernstein(length, math.sqrt(1 / self.cutoff - 1), math.log(users / false_accusation))


def _bernstein(variance: float, largest: float, logarithm: float) -> float:
    """Solve z^2/(2 (variance + largest z/3)) = logarithm for z."""
    return logarithm * largest / 3 + math.sqrt((logarithm * largest / 3) ** 2 + 2 * logarithm * variance)


def draw_code(*, users: int, coalition: int, length: int | None = None, seed: int = 0) -> FingerprintingCode:
    """Draw a code against coalitions up to a size.

    Biases are sin^2 of a uniform angle, with the cutoff at both ends.
    Source: Tardos, Optimal probabilistic fingerprint codes, Journal of the ACM 55 (2008).

    Args:
        users: number of words of the code, at least 2.
        coalition: largest number of users who make a copy together, at least 1.
        length: number of positions; None takes `code_length`.
        seed: of the draws.

    >>> from deniable.attacks.tracing import draw_code
    >>> draw_code(users=5, coalition=2, length=30).words.shape
    (5, 30)
    """
    if length is None:
        length = code_length(users=users, coalition=coalition)
    users = whole("users", users, lower=2)
    cutoff = 1 / (300 * whole("coalition", coalition))
    edge = math.asin(math.sqrt(cutoff))
    dice = start_dice(seed)
    bias = np.sin(dice.uniform(edge, math.pi / 2 - edge, whole("length", length))) ** 2
    return FingerprintingCode(words=dice.random((users, length)) < bias, bias=bias, cutoff=cutoff)


def code_length(*, users: int, coalition: int, false_accusation: float = 0.01, escape: float = 0.01) -> int:
    """Return the length of a code that accuses at least one colluder.

    It fails with probability `escape`. This holds for coalitions that choose each position of the copy by the bits that
    they see there, and coins.
    Proof: such a coalition's total score has mean at least length times `collective_score`, variance at most
    coalition times length, and terms within coalition sqrt((1 - cutoff)/cutoff); by Bernstein's inequality it exceeds
    coalition times the threshold. Tardos's own 100 coalition^2 ln(users/false_accusation) holds for all coalitions.

    Args:
        users: number of words of the code, at least 2.
        coalition: number of colluders, at least 1.
        false_accusation: probability that anybody innocent is accused.
        escape: probability that no colluder is accused.

    >>> from deniable.attacks.tracing import code_length
    >>> code_length(users=100, coalition=2)
    1044
    """
    whole("users", users, lower=2)
    check_probability("false_accusation", false_accusation)
    check_probability("escape", escape)
    mean = collective_score(coalition)
    largest = math.sqrt(300 * coalition - 1)

    def caught(length: int) -> bool:
        threshold = _bernstein(length, largest, math.log(users / false_accusation))
        slack = _bernstein(coalition * length, coalition * largest, math.log(1 / escape))
        return length * mean >= coalition * threshold + slack

    upper = 1
    while not caught(upper):
        upper *= 2
    return bisect_left(range(upper), True, key=caught)


def collective_score(coalition: int) -> float:
    """Return the smallest mean of a coalition's total score at one position.

    It is close to 2/pi.

    With z ones among c colluders the total is (z - cp)/sqrt(p (1-p)); its integral over the biases is p^z (1-p)^(c-z)
    between the cutoffs, over pi - 4 asin(sqrt(cutoff)). A coalition may choose the sign for 0 < z < c alone; the worst
    is the minority's bit. Source: Skoric, Katzenbeisser, Celik (2008), for the limit without cutoff.
    """
    cutoff = 1 / (300 * whole("coalition", coalition, upper=1_000))
    ones = np.arange(coalition + 1)
    counts = np.array([math.comb(coalition, z) for z in range(coalition + 1)], dtype=np.float64)
    mean = np.exp(ones * math.log1p(-cutoff) + (coalition - ones) * math.log(cutoff))
    size = counts * np.abs(mean - mean[::-1])
    return float(size[0] + size[-1] - size[1:-1].sum()) / (math.pi - 4 * math.asin(math.sqrt(cutoff)))


def collude(words: ArrayLike, strategy: Collusion, *, seed: int = 0) -> BitTable:
    """Make a pirate copy of words.

    Where all words agree the copy has that bit, elsewhere the strategy decides.

    Args:
        words: shape (colluders, length), bits.
        strategy: "majority" or "minority" (ties: 1), "random" coins, or "interleaving", a colluder drawn at each
            position.
        seed: of the coins and draws.

    Returns: shape (length,), booleans.

    >>> from deniable.attacks.tracing import collude
    >>> collude([[1, 0, 1], [1, 1, 0], [1, 0, 0]], "majority").astype(int)
    array([1, 0, 0])
    """
    seen = np.asarray(words)
    if seen.ndim != 2 or not seen.size or not np.isin(seen, (0, 1)).all():
        raise InvalidParameterError("words must be a table of bits, one row for each colluder")
    if strategy not in get_args(Collusion):
        raise InvalidParameterError(f"strategy must be one of {', '.join(get_args(Collusion))}, got {strategy!r}")
    seen = seen.astype(bool)
    dice = start_dice(seed)
    colluders, length = seen.shape
    count = seen.sum(axis=0)
    free = {
        "majority": 2 * count >= colluders,
        "minority": 2 * count <= colluders,
        "random": dice.random(length) < 0.5,
        "interleaving": seen[dice.integers(colluders, size=length), np.arange(length)],
    }[strategy]
    return np.asarray((count == colluders) | ((count > 0) & free))


def trace_colluders(
    code: FingerprintingCode, copy: ArrayLike, *, colluders: ArrayLike, false_accusation: float = 0.01
) -> AttackResult:
    """Trace a copy back to the users who made it.

    Args:
        code: as distributed to the users.
        copy: shape (length,), bits of the pirate copy.
        colluders: rows of the code's words from which the copy was made, to judge the accusations.
        false_accusation: probability that anybody innocent is accused, in (0, 1).

    Returns: `learned` holds the rows of the accused users.

    >>> from deniable.attacks.tracing import collude, draw_code
    >>> code = draw_code(users=20, coalition=3)
    >>> copy = collude(code.words[:3], "majority")
    >>> trace_colluders(code, copy, colluders=[0, 1, 2]).learned
    array([0, 1, 2])
    """
    users, length = code.words.shape
    guilty = np.unique(np.asarray(colluders, dtype=np.intp))
    if not len(guilty) or guilty[0] < 0 or guilty[-1] >= users:
        raise InvalidParameterError(f"colluders must be rows in 0..{users - 1}")
    accused = np.flatnonzero(code.scores(copy) > code.threshold(false_accusation))
    caught = np.isin(accused, guilty)
    needed = code_length(users=users, coalition=len(guilty), false_accusation=false_accusation)
    promised = length >= needed and math.isclose(code.cutoff, 1 / (300 * len(guilty)))
    theorem = (
        f"{needed:,} positions accuse at least one of {len(guilty)} colluders with probability 0.99 if they choose "
        "each position by the bits they see there (Bernstein's inequality; Tardos 2008)"
    )
    return AttackResult(
        attack="Tracing by a fingerprinting code",
        target="colluder accused",
        success=Share(right=int(caught.sum()), attempts=len(guilty)),
        baseline=false_accusation,
        guess="accusing users at random at the rate allowed for innocent ones",
        bound=TheoremBound(share=1 / len(guilty), theorem=theorem) if promised else None,
        learned=accused,
        facts={"users": users, "positions": length, "innocent users accused": int(np.sum(~caught))},
    )


def least_correlation(people: int) -> Fraction:
    """Return the exact minimum of the fingerprinting lemma, which is 2/3.

    It is over all f of E[f(x) sum_i (x_i - P) + 2 |f(x) - mean(x)|], with P uniform on [-1, 1]. x has `people` signs of
    mean P, and f(x) is in [-1, 1]. So the answer f to an average must either miss it or correlate with the rows; the
    printed lemma states 1/3. Proof: the number k of ones is uniform on 0..n, and E[P | k] = (2k - n)/(n + 2), so with a
    = (2k - n)/n the mean over x is f 2na/(n + 2) + 2 |f - a|. The slope in f is below 2, so f = a is best, and leaves
    E[2n a^2/(n + 2)] = 2n/(n + 2) (n + 2)/(3n) = 2/3.
    Source: Dwork, Smith, Steinke, Ullman, Vadhan (2015), Robust traceability from trace amounts, for the lemma.

    Args:
        people: number of signs, at least 1.

    >>> from deniable.attacks.tracing import least_correlation
    >>> least_correlation(7).as_integer_ratio()
    (2, 3)
    """
    total = Fraction(0)
    for ones in range(whole("people", people, upper=MAX_ROUNDS) + 1):
        mean = Fraction(2 * ones - people, people)
        slope = Fraction(2 * people, people + 2) * mean
        total += min(f * slope + 2 * abs(f - mean) for f in (Fraction(-1), mean, Fraction(1)))
    return total / (people + 1)
