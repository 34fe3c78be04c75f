"""How much epsilon does one run show, and how often does it show too much?

python benchmarks/audit/one_run.py [--runs 1000] [--output FILE.md]

Canaries told by Gaussian noise of mu 1, 2, 4, as in the tests of jax_privacy (10,000 in, 10,000 out on average, level
5%, delta 1e-6), beside the values that it publishes; then the share of false alarms of each method where scores say
nothing. jax_privacy's own threshold search was measured at 7% (1,000 canaries) and 9% (10,000).
"""

import argparse
from pathlib import Path

import numpy as np

from deniable.audit import audit_one_run
from deniable.audit.canaries.one_run import GuessingMethod
from deniable.privacy import GaussianDPLoss

PUBLISHED = {"count": (1.13, 2.31, 4.40), "gaussian": (2.16, 4.72, 9.13)}
METHODS: tuple[GuessingMethod, ...] = ("bets", "count", "gaussian")
CANARIES, DELTA = 20_000, "1e-6"


def told(mu: float, canaries: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    dice = np.random.default_rng(seed)
    coins = dice.random(canaries) < 0.5
    return dice.normal(size=canaries) + mu * coins, coins


def power() -> list[str]:
    lines = ["| method | mu = 1 | mu = 2 | mu = 4 | published |", "|---|---|---|---|---|"]
    for method in METHODS:
        found = [
            audit_one_run(*told(mu, CANARIES, 1), claim=GaussianDPLoss(mu), delta=DELTA, method=method).epsilon
            for mu in (1, 2, 4)
        ]
        beside = " / ".join(f"{value:.2f}" for value in PUBLISHED.get(method, ())) or "-"
        lines.append(f"| {method} | {' | '.join(f'{one:.2f}' for one in found)} | {beside} |")
    truths = " | ".join(f"{GaussianDPLoss(mu).epsilon(DELTA).lower:.2f}" for mu in (1, 2, 4))
    return [*lines, f"| truth | {truths} | |"]


def alarms(runs: int) -> list[str]:
    lines = [f"| method | canaries | false alarms at nominal 5%, {runs} runs |", "|---|---|---|"]
    for method in METHODS[:3]:
        for canaries in (1_000, 10_000):
            found = sum(
                audit_one_run(*told(0, canaries, seed), epsilon=0, method=method).violated for seed in range(runs)
            )
            lines.append(f"| {method} | {canaries:,} | {found / runs:.1%} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    text = "\n".join([*power(), "", *alarms(asked.runs)])
    print(text)
    if asked.output:
        asked.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
