"""How long do searches for lies, sales, matchings and equilibria take, and how near do measurements come to bounds?

    python benchmarks/games/speed.py

Seconds, each also as a ratio to sorting 10^6 random numbers on the same machine; and what was measured over its bound.
"""

import time
from collections.abc import Callable

import numpy as np

from deniable.games import CongestionGame, DigitalGoods, Imposing, PrivateMatching, largest_gain
from deniable.noise.bits import DeterministicBits

DRAWN = np.random.default_rng(1)
MANY = 10**5
PLAYERS = 10**4


def timed(function: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def row(name: str, function: Callable[[], object], unit: float, share: Callable[[object], float | None]) -> None:
    seconds, found = timed(function)
    near = share(found)
    print(f"| {name} | {seconds:.3f} | {seconds / unit:.2f} | {'' if near is None else f'{near:.3g}'} |")


def main() -> None:
    unit = min(timed(lambda: np.sort(DRAWN.random(10**6)))[0] for _ in range(3))
    sale = DigitalGoods(prices=range(1, 21), epsilon=1, count_epsilon="0.1")
    ten, worst = DRAWN.integers(0, 25, 10).tolist(), [20, *[1] * 9]
    many = DRAWN.integers(0, 25, MANY)
    print("| what | seconds | sorts of 10^6 | measured / bound |\n| --- | --- | --- | --- |")
    bound = sale.gain_bound()
    row("best lies, 10 bidders, 20 prices", lambda: sale.best_lie(ten), unit, lambda lie: lie.gain.upper / bound)
    pair = DigitalGoods(prices=[1, 20], epsilon=1)
    row("best lies, the worst sale of 2 prices", lambda: pair.best_lie(worst), unit,
        lambda lie: lie.gain.upper / pair.gain_bound())  # fmt: skip
    row("best lies, 10^5 bidders", lambda: sale.best_lie(many.tolist()), unit, lambda lie: lie.gain.upper / bound)
    row("a sale to 10^5 bidders", lambda: sale.release(many), unit, lambda _: None)
    row(
        "a sale to 10^5 bidders, bids as text", lambda: sale.release([f"{bid}.5" for bid in many]), unit, lambda _: None
    )
    goods = Imposing.pricing([1, 2, 3, 4], prices=["0.5", "1.5", "2.5", "3.5"], epsilon="0.5")
    lies = {"types": goods.types, "players": 4}
    row("all lies of 4 players, 4 types", lambda: largest_gain(goods.law, goods.worth, **lies), unit, lambda _: None)
    for epsilon in (2, 50):
        made = PrivateMatching(players=PLAYERS, goods=3, supply=3000, top=10, step=1, epsilon=epsilon, delta="1e-6")
        values = [DRAWN.integers(0, 11, PLAYERS) for _ in range(3)]

        def welfare(found: object, made: PrivateMatching = made, values: list[np.ndarray] = values) -> float:
            got, most = made.welfare(values, found)  # type: ignore[arg-type]
            return float(got / most)

        row(f"a matching of 10^4 players, epsilon={epsilon}", lambda made=made, values=values: made.release(values),
            unit, welfare)  # type: ignore[misc]  # fmt: skip
    loads = np.arange(PLAYERS + 1)
    game = CongestionGame(latencies=[loads, 2 * loads, 3 * loads, 2000 + loads], influence=3, top=3000)
    own, bits = DRAWN.integers(0, 3001, (PLAYERS, 4)), DeterministicBits(1)
    for name, play in (
        ("settling, 10^4 players", lambda: game.settle(own, rho=1, slack=200, bits=bits)),
        ("learning, 10^4 players, 100 rounds", lambda: game.learn(own, rho=1, rounds=100, bits=bits)),
    ):
        row(name, play, unit, lambda found: found.regret / found.bound)


if __name__ == "__main__":
    main()
