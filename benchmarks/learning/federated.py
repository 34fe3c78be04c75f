"""How accurate federated training is at an epsilon, and what a secure sum costs beside a plain one.

    python benchmarks/learning/federated.py [digits | sum]

digits: 674 clients with two rows each, 30 rounds of all of them, on rows that no client has; the mean of two splits
where the noise is central, else one. sum: 1,000 clients, 100,000 numbers, a 40th drops out at each stage.
"""

import sys
import time
from fractions import Fraction

import numpy as np

from deniable.learning import Clip, TrainingPlan
from deniable.learning.federated import (
    Federated,
    LocalDescent,
    Participant,
    SecureClient,
    SecureServer,
    SecureSum,
    Simulation,
    Softmax,
    Top,
)
from deniable.privacy import Replace


def digits() -> None:
    from sklearn.datasets import load_digits

    rows, labels = load_digits(return_X_y=True)
    rows, model = rows / 16, Softmax(columns=64, classes=10)
    kinds = {
        "FedSGD, central": ({}, 1, 4, {}),
        "FedAvg, central": ({}, 5, 2, {}),
        "FedAvg, distributed": (
            {"trust": "distributed", "secure": SecureSum(survivors=600)},
            5,
            2,
            {"relation": Replace},
        ),
        "FedAvg, local": ({"trust": "local"}, 5, 2, {"relation": Replace}),
        "FedAvg, local, top 65": ({"trust": "local", "codec": Top(count=65)}, 5, 2, {"relation": Replace}),
    }
    for name, (facts, steps, rate, relation) in kinds.items():
        for epsilon in (1, 3, 8):
            plan = TrainingPlan.calibrate(
                epsilon=epsilon, delta="1e-5", steps=30, dimensions=model.dimensions, clip=Clip(norm=1), **relation
            )
            federated, found = Federated(plan=plan, step_size=rate, **facts), []
            for split in range(2 if steps == 1 or "central" in name else 1):
                order = np.random.default_rng(split).permutation(len(rows))
                parts, held = np.array_split(order[:1348], 674), order[1348:]
                clients = {
                    i: Participant(
                        federated,
                        i,
                        LocalDescent(
                            model=model, rows=rows[p], labels=labels[p], step_size=Fraction(1, 2), steps=steps
                        ),
                    )
                    for i, p in enumerate(parts)
                }
                carried = Simulation(clients)
                out = federated.fit(carried, clients=674, expected_clients=674)
                found.append(np.mean(model.predict(out.parameters, rows[held]) == labels[held]))
            up = carried.bytes_up / 674 / 30
            print(f"{name:22} epsilon {epsilon}: accuracy {np.mean(found):.3f}, {up:,.0f} bytes up a round", flush=True)


def secure_sum() -> None:
    columns = 100_000
    plan = TrainingPlan(noise_multiplier=4, steps=1, dimensions=columns, relation=Replace)
    vectors = np.random.default_rng(0).normal(size=(1000, columns)) / 1000
    for neighbours in (40, 100):
        secure = SecureSum(survivors=800, neighbours=neighbours)
        federated = Federated(plan=plan, trust="distributed", secure=secure)
        clients = {i: Participant(federated, i, lambda _, i=i: vectors[i]) for i in range(1000)}
        carried = Simulation(clients, drops_out=lambda turn, stage, i: i % 40 <= stage)
        begin = time.process_time()
        out = federated.fit(carried, clients=1000, expected_clients=1000)
        whole = time.process_time() - begin
        begin = time.process_time()
        bare = {i: SecureClient(secure, i, np.zeros(columns, dtype=np.int64)) for i in range(1000)}
        server = SecureServer(secure, columns)
        replies = {i: each.advertise_keys() for i, each in bare.items() if i % 40 > 0}
        for stage, step, answer in (
            (1, server.keys, "share_keys"),
            (2, server.shares, "mask"),
            (3, server.vectors, "unmask"),
        ):
            asked = step(replies)
            replies = {i: getattr(bare[i], answer)(asked[i]) for i in asked if i % 40 > stage}
        server.result(replies)
        alone = time.process_time() - begin
        integers = plan.clip.integers(vectors, 1.0)
        begin = time.process_time()
        integers.sum(axis=0)
        plain_sum = time.process_time() - begin
        begin = time.process_time()
        central = Federated(plan=plan)
        plain = Simulation({i: Participant(central, i, lambda _, i=i: vectors[i]) for i in range(1000)})
        central.fit(plain, clients=1000, expected_clients=1000)
        rest = time.process_time() - begin
        print(
            f"{neighbours} neighbours: {alone:.1f} s for the secure sum, {whole:.1f} s with clips and shares of noise, "
            f"{plain_sum:.2f} s for a plain sum, {rest:.1f} s for a central round; "
            f"{carried.bytes_up / 1000:,.0f} bytes up, {carried.bytes_down / 1000:,.0f} down a client, lost {out.lost}"
        )


if __name__ == "__main__":
    {"digits": digits, "sum": secure_sum}[sys.argv[1] if len(sys.argv) > 1 else "sum"]()
