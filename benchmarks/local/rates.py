"""Reports a CPU second of every frequency protocol, on the client and on the server, and errors beside their formula.

    python benchmarks/local/rates.py [--people 200000] [--values 1000] [--epsilon 1] [--peers]

One core. With --peers, pure-LDP and multi-freq-ldpy run on the same values where installed, one report at a time,
as they do, for two seconds each.
"""

import argparse
import importlib.util
import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from deniable.local import LocalHashing, pack, unpack
from deniable.local.frequencies import PROTOCOLS
from deniable.local.protocol import FrequencyProtocol


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--values", type=int, default=1000)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--peers", action="store_true")
    given = parser.parse_args()
    values = np.minimum(
        (given.values * np.random.default_rng(7).random(given.people) ** 3).astype(int), given.values - 1
    )
    LocalHashing(values=given.values, epsilon=1).encode(values[:10])  # imports
    print(f"{'protocol':18}{'bytes':>6}{'encode/s':>14}{'count/s':>14}{'MSE / variance':>16}")
    for kind in PROTOCOLS:
        print(row(kind(values=given.values, epsilon=given.epsilon), values))  # type: ignore[abstract]
    if given.peers:
        peers(values, given.values, float(given.epsilon))


def row(protocol: FrequencyProtocol, values: np.ndarray) -> str:
    people = len(values)
    start = time.process_time()
    message = pack(protocol, protocol.encode(values))
    encoded = time.process_time()
    tally = protocol.supports(unpack(protocol, message))
    counted = time.process_time()
    true = np.bincount(values, minlength=protocol.size)
    found = (tally - people * float(protocol.q)) / float(protocol.p - protocol.q)
    expected = float(protocol.variance(true / people, people=people).mean()) * people**2
    return (
        f"{type(protocol).__name__:18}{protocol.width:6}{people / (encoded - start):14,.0f}"
        f"{people / (counted - encoded):14,.0f}{((found - true) ** 2).mean() / expected:16.3f}"
    )


def rate(do: Callable[[Any], Any], items: Iterable[Any]) -> tuple[float, list[Any]]:
    """Items a CPU second, for two seconds, and what came out."""
    found, start = [], time.process_time()
    for item in items:
        found.append(do(item))
        if len(found) % 64 == 0 and time.process_time() - start > 2:
            break
    return len(found) / (time.process_time() - start), found


def peers(values: np.ndarray, size: int, epsilon: float) -> None:
    if importlib.util.find_spec("pure_ldp"):
        from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
        from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
        from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

        same = {"index_mapper": int}
        hadamard = HadamardResponseServer(epsilon, size, **same)
        pairs = {
            "OUE": (UEClient(epsilon, size, use_oue=True, **same), UEServer(epsilon, size, use_oue=True, **same)),
            "OLH": (LHClient(epsilon, size, use_olh=True, **same), LHServer(epsilon, size, use_olh=True, **same)),
            "Hadamard": (HadamardResponseClient(epsilon, size, hadamard.get_hash_funcs(), **same), hadamard),
        }
        for name, (client, server) in pairs.items():
            encode, reports = rate(client.privatise, values.tolist())
            print(f"pure-LDP {name:12}{encode:17,.0f}{rate(server.aggregate, reports)[0]:14,.0f}")
    if importlib.util.find_spec("multi_freq_ldpy"):
        from multi_freq_ldpy.pure_frequency_oracles import LH, UE

        for name, client, server in (
            ("OUE", lambda x: UE.UE_Client(x, size, epsilon, True), lambda r: UE.UE_Aggregator_MI(r, epsilon, True)),
            (
                "OLH",
                lambda x: LH.LH_Client(x, size, epsilon, True),
                lambda r: LH.LH_Aggregator_MI(r, size, epsilon, True),
            ),
        ):
            client(1)
            encode, reports = rate(client, values.tolist())
            start = time.process_time()
            server(reports)
            spent = max(time.process_time() - start, math.ulp(1))
            print(f"multi-freq-ldpy {name:5}{encode:17,.0f}{len(reports) / spent:14,.0f}")


if __name__ == "__main__":
    main()
