"""How fast and how narrow is a certified epsilon of shuffled reports beside the plain sum for its upper bound?

python benchmarks/privacy/shuffling.py [--rounds 3] [--output FILE.md]

The plain sum is the privacy blanket for k-ary response as it is usually coded: over the number of reports that matter
and the number of others, with the inner binomial in closed form, in floats without a certificate, and with bisection
over epsilon. Ours has both ends, rounding included. Seconds are medians over rounds, in one process, by turns.
"""

import argparse
import math
import platform
import statistics
import time
from importlib import metadata
from pathlib import Path

import numpy as np
from scipy.special import betainc, gammaln

from deniable.privacy import ShuffledLoss
from deniable.privacy.amplification.shuffling.randomizers import AnyRandomizer, KaryResponse

DELTA = "1e-6"
CASES = [(1.0, 2, 10**4), (1.0, 2, 10**6), (2.0, 4, 10**4), (4.0, 16, 10**4)]
OURS_ALONE = [(2.0, 4, 10**5), (2.0, 4, 10**6), (4.0, 16, 10**6), (2.0, 4, 10**8)]
REACH = 9  # standard deviations of the counts that the plain sum keeps


def tail(draws: np.ndarray, least: np.ndarray) -> np.ndarray:
    """P(Bin(draws, 1/2) >= least)."""
    inside = betainc(np.maximum(least, 1e-9), np.maximum(draws - least + 1, 1e-9), 0.5)
    return np.where(least <= 0, 1.0, np.where(least > draws, 0.0, inside))


def counts(users: int, chance: float) -> np.ndarray:
    spread = REACH * math.sqrt(users * chance * (1 - chance)) + 30
    return np.arange(max(0, int(users * chance - spread)), min(users, int(users * chance + spread)) + 1)


def plain_delta(local: float, categories: int, users: int, epsilon: float) -> float:
    odds, e = math.exp(local), math.exp(epsilon)
    share = categories / (odds + categories - 1)
    high, low, other = share * (odds - e), share * (1 - e * odds), share * (1 - e)
    pair, rest = 2 * share / categories, (categories - 2) * share / categories
    both = counts(users, pair)
    total = 0.0
    for others in counts(users, rest) if rest else np.array([0]):
        drawn = both[both + others <= users]
        logs = gammaln(users + 1) - gammaln(drawn + 1) - gammaln(others + 1) - gammaln(users - drawn - others + 1)
        logs += drawn * math.log(pair) + (users - drawn - others) * math.log(1 - pair - rest)
        logs += others * math.log(rest) if rest else 0.0
        offset = others * other
        least = np.maximum(0, np.floor((-offset - drawn * low) / (high - low)) + 1)
        inner = (high - low) * (drawn / 2) * tail(drawn - 1, least - 1) + (drawn * low + offset) * tail(drawn, least)
        total += float((np.exp(logs) * np.maximum(inner, 0)).sum())
    return total / (share * users)


def plain_epsilon(local: float, categories: int, users: int) -> float:
    low, high = 0.0, local
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if plain_delta(local, categories, users, middle) > float(DELTA) else (low, middle)
    return high


def timed(work: object) -> tuple[float, object]:
    begin = time.perf_counter()
    found = work()  # type: ignore[operator]
    return time.perf_counter() - begin, found


def report(rounds: int) -> str:
    versions = f"numpy {metadata.version('numpy')}, scipy {metadata.version('scipy')}"
    lines = [
        "# Shuffled reports: certified epsilon",
        "",
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {versions}; delta {DELTA}, "
        f"default tolerance, medians of {rounds} rounds in one process. The plain sum bounds from above only.",
        "",
        "| randomizer | users | ours, s | lower | upper | plain sum, s | its epsilon | times ours |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ShuffledLoss(KaryResponse(epsilon=1, categories=3), users=50).epsilon("0.01")  # imports
    for local, categories, users in [*CASES, *OURS_ALONE]:
        loss = ShuffledLoss(KaryResponse(epsilon=local, categories=categories), users=users)
        mine, theirs = [], []
        for _ in range(rounds):
            seconds, found = timed(lambda loss=loss: loss.epsilon(DELTA))
            mine.append(seconds)
            if (local, categories, users) in CASES and len(theirs) < (1 if theirs and theirs[0][0] > 5 else rounds):
                theirs.append(timed(lambda case=(local, categories, users): plain_epsilon(*case)))
        typical = statistics.median(mine)
        row = f"| {categories}-ary, {local:g} | 10^{round(math.log10(users))} | {typical:.3f} | {found.lower:.7f} | {found.upper:.7f} |"  # type: ignore[attr-defined]  # noqa: E501
        if theirs:
            peer = statistics.median(seconds for seconds, _ in theirs)
            row += f" {peer:.2f} | {theirs[0][1]:.7f} | {peer / typical:.0f} |"
        else:
            row += " | | |"
        lines.append(row)
    for local, users in [(4.0, 10**5), (2.0, 10**6)]:
        loss = ShuffledLoss(AnyRandomizer(epsilon=local), users=users)
        results = [timed(lambda loss=loss: loss.epsilon(DELTA)) for _ in range(rounds)]
        typical, found = statistics.median(seconds for seconds, _ in results), results[0][1]
        size = f"10^{round(math.log10(users))}"
        ends = f"{found.lower:.7f} | {found.upper:.7f}"  # type: ignore[attr-defined]
        lines.append(f"| any, {local:g} | {size} | {typical:.3f} | {ends} | | | |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    text = report(options.rounds)
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
