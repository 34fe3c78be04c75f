"""How fast and how narrow is a certified epsilon beside the estimates of other accountants?

python benchmarks/privacy/compose.py [--dp-accounting PYTHON] [--prv PYTHON] [--opacus PYTHON]
                                     [--only TASK,...] [--rounds 3] [--limit 120] [--output FILE.md]

PYTHON is an interpreter that has the package. Every answer comes from a process of its own, which first answers a small
other question (where the library can), so that imports are not counted; tasks and accountants take turns, so that a
slow spell of the machine meets all of them. Seconds are medians over rounds; what took more than ten seconds is asked
once. Each library is called as its documentation shows. `bracket` is the pair of dp_accounting's pessimistic and
optimistic estimates at its fine grid, the only two-sided answer that it has.
"""

import argparse
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

DELTA = "1e-5"
TRAINING = {  # rate, noise multiplier, steps
    "0.01, 1, 10^3": ("0.01", "1", 1000),
    "0.01, 1, 10^4": ("0.01", "1", 10_000),
    "0.01, 1, 10^5": ("0.01", "1", 100_000),
    "256/60000, 1.1, 14063": ("256/60000", "1.1", 14_063),
    "0.001, 0.6, 10^6": ("0.001", "0.6", 1_000_000),
}
REPEATS = (10, 100, 1000)
GAUSSIANS = [5 + index / 2 for index in range(20)]
LAPLACES = [10.0 + index for index in range(15)]
SAMPLED = [(round(0.01 + 0.002 * index, 3), round(1 + 0.1 * index, 1)) for index in range(15)]
CURVE = [10 ** (-10 + 7 * index / 99) for index in range(100)]
TASKS = [
    *(f"train {name}" for name in TRAINING),
    *(f"Laplace x{count}" for count in REPEATS),
    "fifty different",
    "curve of 100 deltas",
    *(f"calibrate {name}" for name in TRAINING),
]

Answer = tuple[float | None, float | None]  # what is claimed from below and from above
Work = Callable[[], Answer]


def number(text: str) -> float:
    top, _, bottom = text.partition("/")
    return float(top) / float(bottom or 1)


def ours(task: str, width: float) -> Work:
    from deniable.privacy import GaussianLoss, LaplaceLoss, calibrate, compose

    def training(rate: str, noise: object, steps: int) -> object:
        return GaussianLoss(noise).poisson_sampled(rate=rate) * steps

    def epsilon(loss: object) -> Work:
        def work() -> Answer:
            found = loss.epsilon(DELTA, tolerance=width)
            return found.lower, found.upper

        return work

    kind, _, name = task.partition(" ")
    if kind == "train":
        return epsilon(training(*TRAINING[name]))
    if kind == "Laplace":
        return epsilon(LaplaceLoss(10) * int(name[1:]))
    if kind == "fifty":
        parts = [GaussianLoss(noise) for noise in GAUSSIANS] + [LaplaceLoss(noise) for noise in LAPLACES]
        parts += [GaussianLoss(noise).poisson_sampled(rate=rate) for rate, noise in SAMPLED]
        return epsilon(compose(parts))
    if kind == "curve":
        loss = training(*TRAINING["0.01, 1, 10^4"])

        def curve() -> Answer:
            found = [loss.epsilon(delta, tolerance=width) for delta in CURVE]
            return found[50].lower, found[50].upper

        return curve
    rate, _, steps = TRAINING[name]
    return lambda: (
        None,
        float(calibrate(lambda s: training(rate, s, steps), epsilon=1, delta="1e-6", tolerance=width)),
    )


def dp_accounting(task: str, way: str) -> Work:
    import dp_accounting as da
    from dp_accounting import pld, rdp

    def training(rate: str, noise: object, steps: int) -> object:
        event = da.PoissonSampledDpEvent(number(rate), da.GaussianDpEvent(float(noise)))
        return da.SelfComposedDpEvent(event, steps)

    grid = 1e-5 if way == "bracket" else 1e-4
    make = rdp.RdpAccountant if way == "RDP" else lambda: pld.PLDAccountant(value_discretization_interval=grid)

    def epsilon(event: object, optimistic: Callable[[], object]) -> Work:
        def work() -> Answer:
            upper = make().compose(event).get_epsilon(float(DELTA))
            return optimistic().get_epsilon_for_delta(float(DELTA)) if way == "bracket" else None, upper

        return work

    kind, _, name = task.partition(" ")
    law = pld.privacy_loss_distribution
    if kind == "train":
        rate, noise, steps = TRAINING[name]
        return epsilon(
            training(rate, noise, steps),
            lambda: law.from_gaussian_mechanism(
                float(noise), pessimistic_estimate=False, value_discretization_interval=grid, sampling_prob=number(rate)
            ).self_compose(steps),
        )
    if kind == "Laplace":
        count = int(name[1:])
        return epsilon(
            da.SelfComposedDpEvent(da.LaplaceDpEvent(10.0), count),
            lambda: law.from_laplace_mechanism(
                10.0, pessimistic_estimate=False, value_discretization_interval=grid
            ).self_compose(count),
        )
    if way == "bracket":
        raise NotImplementedError
    if kind == "fifty":
        parts = [da.GaussianDpEvent(noise) for noise in GAUSSIANS] + [da.LaplaceDpEvent(noise) for noise in LAPLACES]
        parts += [da.PoissonSampledDpEvent(rate, da.GaussianDpEvent(noise)) for rate, noise in SAMPLED]
        return epsilon(da.ComposedDpEvent(parts), lambda: None)
    if kind == "curve":

        def curve() -> Answer:
            account = make().compose(training(*TRAINING["0.01, 1, 10^4"]))
            return None, [account.get_epsilon(delta) for delta in CURVE][50]

        return curve
    rate, _, steps = TRAINING[name]
    bounds = da.LowerEndpointAndGuess(0.3, 1.0)
    return lambda: (
        None,
        da.calibrate_dp_mechanism(make, lambda s: training(rate, s, steps), 1.0, 1e-6, bounds, tol=1e-3),
    )


def prv(task: str, width: float) -> Work:
    from prv_accountant import GaussianMechanism, LaplaceMechanism, PRVAccountant
    from prv_accountant import PoissonSubsampledGaussianMechanism as Subsampled
    from prv_accountant.dpsgd import find_noise_multiplier

    def epsilon(parts: list[object], counts: list[int]) -> Work:
        def work() -> Answer:
            account = PRVAccountant(
                prvs=parts, max_self_compositions=counts, eps_error=width, delta_error=float(DELTA) / 1000
            )
            lower, _, upper = account.compute_epsilon(float(DELTA), counts)
            return lower, upper

        return work

    kind, _, name = task.partition(" ")
    if kind == "train":
        rate, noise, steps = TRAINING[name]
        return epsilon([Subsampled(number(rate), float(noise))], [steps])
    if kind == "Laplace":
        return epsilon([LaplaceMechanism(0.1)], [int(name[1:])])
    if kind == "fifty":
        parts = [GaussianMechanism(noise) for noise in GAUSSIANS] + [LaplaceMechanism(1 / noise) for noise in LAPLACES]
        return epsilon(parts + [Subsampled(rate, noise) for rate, noise in SAMPLED], [1] * 50)
    if kind == "curve":
        raise NotImplementedError
    rate, _, steps = TRAINING[name]
    return lambda: (None, find_noise_multiplier(number(rate), steps, 1.0, 1e-6, eps_error=width))


def opacus(task: str, way: str) -> Work:
    from opacus.accountants import PRVAccountant, RDPAccountant
    from opacus.accountants.utils import get_noise_multiplier

    kind, _, name = task.partition(" ")
    if kind == "train":
        rate, noise, steps = TRAINING[name]

        def work() -> Answer:
            account = PRVAccountant() if way == "prv" else RDPAccountant()
            account.history = [(float(noise), number(rate), steps)]
            return None, account.get_epsilon(float(DELTA))

        return work
    if kind == "calibrate":
        rate, _, steps = TRAINING[name]
        target = {"target_epsilon": 1.0, "target_delta": 1e-6, "sample_rate": number(rate), "steps": steps}
        return lambda: (None, get_noise_multiplier(**target, accountant=way))
    raise NotImplementedError


WHO: dict[str, tuple[str, Callable[[str], Work]]] = {
    # name: (environment, work)
    "deniable, 1e-3": ("deniable", lambda task: ours(task, 1e-3)),
    "deniable, 1e-6": ("deniable", lambda task: ours(task, 1e-6)),
    "dp_accounting PLD": ("dp_accounting", lambda task: dp_accounting(task, "default")),
    "dp_accounting PLD, bracket": ("dp_accounting", lambda task: dp_accounting(task, "bracket")),
    "dp_accounting RDP": ("dp_accounting", lambda task: dp_accounting(task, "RDP")),
    "prv_accountant, 0.01": ("prv", lambda task: prv(task, 0.01)),
    "Opacus PRV": ("opacus", lambda task: opacus(task, "prv")),
    "Opacus RDP": ("opacus", lambda task: opacus(task, "rdp")),
}
PACKAGES = {"dp_accounting": "dp-accounting", "prv": "prv-accountant", "opacus": "opacus"}
LEFT_OUT = {"deniable, 1e-6": ("curve", "calibrate")}
UNAVAILABLE = 3


def serve(task: str, who: str) -> None:
    """Answer; print seconds, peak megabytes and the answer."""
    warnings.simplefilter("ignore")
    environment, make = WHO[who]
    try:
        if environment != "opacus":
            make("Laplace x100" if task == "Laplace x10" else "Laplace x10")()
        work = make(task)
    except NotImplementedError:
        sys.exit(UNAVAILABLE)
    began = time.perf_counter()
    lower, upper = work()
    seconds = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([seconds, memory, lower if lower is None else float(lower), float(upper)]))


def measure(
    pythons: dict[str, str], tasks: list[str], rounds: int, limit: float
) -> dict[tuple[str, str], list[list[float]]]:
    """The rows that each (task, who) printed; an empty list where there was no answer within the limit."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    for turn in range(rounds):
        for task in tasks:
            for who, (environment, _) in WHO.items():
                rows = found.get((task, who))
                slow = rows is not None and (not rows or rows[0][0] > 10)
                if (
                    environment not in pythons
                    or (turn and (rows is None or slow))
                    or task.startswith(LEFT_OUT.get(who, ("-",)))
                ):
                    continue
                command = [pythons[environment], "-W", "ignore", __file__, "--serve", task, who]
                try:
                    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
                except subprocess.TimeoutExpired:
                    found[task, who] = []
                    continue
                if done.returncode == 0:
                    found.setdefault((task, who), []).append(json.loads(done.stdout.splitlines()[-1]))
                elif done.returncode != UNAVAILABLE:
                    print(task, who, *done.stderr.splitlines()[-1:], file=sys.stderr)
                    found.setdefault((task, who), [])
    return found


def report(found: dict[tuple[str, str], list[list[float]]], versions: str, limit: float) -> str:
    lines = [
        "# Composition: speed and width",
        "",
        "Poisson-sampled Gaussian training (rate, noise multiplier, steps), Laplace noise of epsilon 0.1 repeated, "
        f"fifty different mechanisms: epsilon at delta {DELTA}. Calibration: noise for (1, 1e-6). {os.cpu_count()} "
        f"cores, Python {platform.python_version()}, {versions}. Median seconds of one run; the ratio is to deniable "
        "at width 1e-3 on the same task. One number is a claim from above, two a claim from both sides; only deniable "
        "proves its claims with rounding included.",
        "",
        "| task | who | answer | width | seconds | ratio | peak MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for (task, who), rows in found.items():
        if not rows:
            lines.append(f"| {task} | {who} | none within {limit:g} s, or an error | | | | |")
            continue
        seconds = statistics.median(row[0] for row in rows)
        own = found.get((task, "deniable, 1e-3"))
        ratio = f"{seconds / statistics.median(row[0] for row in own):.1f}" if own else ""
        _, _, lower, upper = rows[0]
        answer = f"{upper:.6g}" if lower is None else f"[{lower:.7g}, {upper:.7g}]"
        width = "" if lower is None or math.isinf(upper) else f"{upper - lower:.1e}"
        memory = max(row[1] for row in rows)
        lines.append(f"| {task} | {who} | {answer} | {width} | {seconds:.3f} | {ratio} | {memory:.0f} |")
    return "\n".join(lines) + "\n"


def version_of(python: str, package: str) -> str:
    code = f"from importlib import metadata; print(metadata.version({package!r}))"
    done = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return f"{package} {done.stdout.strip()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for environment in PACKAGES:
        parser.add_argument(f"--{environment.replace('_', '-')}", metavar="PYTHON", dest=environment)
    parser.add_argument("--only", help="tasks, by the start of their names, with commas between")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120, help="seconds for one answer")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
        return
    pythons = {"deniable": sys.executable}
    pythons |= {name: getattr(options, name) for name in PACKAGES if getattr(options, name)}
    starts = tuple(options.only.split(",")) if options.only else ("",)
    tasks = [task for task in TASKS if task.startswith(starts)]
    versions = [f"numpy {metadata.version('numpy')}", f"scipy {metadata.version('scipy')}"]
    versions += [version_of(pythons[name], PACKAGES[name]) for name in PACKAGES if name in pythons]
    text = report(measure(pythons, tasks, options.rounds, options.limit), ", ".join(versions), options.limit)
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
