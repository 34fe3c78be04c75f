"""Many reports in bounded memory: encoded, put on the wire and counted in parts; rates, peak memory and errors.

    python benchmarks/local/many.py [--people 100000000] [--values 64] [--epsilon 1] [--part 1000000]

Clients and the server share one core and one process; each protocol runs in a process of its own, for its peak memory.
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from deniable.local import Collector, Protocol, pack
from deniable.local.deployed import CountMeanSketch, HadamardSketch
from deniable.local.frequencies import PROTOCOLS

KINDS = {each.__name__: each for each in (*PROTOCOLS, CountMeanSketch, HadamardSketch)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=100_000_000)
    parser.add_argument("--values", type=int, default=64)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--part", type=int, default=1_000_000)
    parser.add_argument("--only", choices=KINDS)
    given = parser.parse_args()
    if given.only:
        sketch = {"hashes": 256, "cells": 256} if "Sketch" in given.only else {"values": given.values}
        print(row(KINDS[given.only](epsilon=given.epsilon, **sketch), given.people, given.values, given.part))
        return
    print(f"{'protocol':18}{'bytes':>6}{'encode/s':>14}{'count/s':>14}{'peak MB':>9}{'z^2':>7}")
    for name in KINDS:
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--only", name], check=True)


def row(protocol: Protocol, people: int, size: int, part: int) -> str:
    values = np.minimum((size * np.random.default_rng(7).random(part) ** 3).astype(int), size - 1)
    collector, parts, encoded, counted = Collector(protocol), people // part, 0.0, 0.0
    for _ in range(parts):
        start = time.process_time()
        message = pack(protocol, protocol.encode(values))
        middle = time.process_time()
        collector.add(message)
        encoded, counted = encoded + middle - start, counted + time.process_time() - middle
    asked = {} if hasattr(protocol, "values") else {"candidates": list(range(size))}
    answer = collector.estimate(**asked)
    ends, true = answer.intervals(0.6827)["count"], parts * np.bincount(values, minlength=size)  # about one deviation
    score = float((((answer["count"] - true) / ((ends.upper - ends.lower) / 2)) ** 2).mean())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rates = f"{collector.people / encoded:14,.0f}{collector.people / counted:14,.0f}"
    return f"{type(protocol).__name__:18}{protocol.width:6}{rates}{peak:9,.0f}{score:7.2f}"


if __name__ == "__main__":
    main()
