"""Students of noisy votes and private prediction, beside private models, at the same epsilon.

    python benchmarks/learning/pate.py [--data DIRECTORY]

Digits ship with scikit-learn; with DIRECTORY, which holds `adult.csv` and `adult-domain.json`, Adult follows. Nothing
is tuned: a teacher has about 20 rows of digits, and 250 teach Adult, as in Papernot et al. (2018).
"""

import argparse
import warnings
from fractions import Fraction
from pathlib import Path

import adult
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression as Plain

from deniable.learning import LogisticRegression, Teachers, Vote
from deniable.privacy import calibrate

DELTA = "1e-5"
RUNS = 5


def least_noise(queries: int, epsilon: str) -> Vote:
    """GNMax whose answers to so many queries cost epsilon."""
    sigma = calibrate(
        lambda s: Vote.gnmax(sigma=s).privacy_loss(queries),
        over=(1, 10**5),
        epsilon=epsilon,
        delta=DELTA,
        tolerance=1e-3,
    )
    return Vote.gnmax(sigma=Fraction(sigma))


def digits(queries: int = 300) -> None:
    """Students of digits: of 1797 rows 300 are public and 397 for the test."""
    rows, labels = load_digits(return_X_y=True)
    print(f"Digits, {queries} public queries, 55 teachers, mean of {RUNS} splits\n")
    print("| epsilon | sigma | labels right | student | private model | certified / notes |\n|---|---|---|---|---|---|")
    for epsilon in ("2", "4", "8", "16"):
        vote, found = least_noise(queries, epsilon), []
        for run in range(RUNS):
            private, public, test = np.split(np.random.default_rng(run).permutation(len(rows)), [1100, 1400])
            answers = Teachers(
                rows[private], labels[private], teacher=Plain(C=0.01), count=55, classes=range(10)
            ).label(rows[public][:queries], vote)
            model = LogisticRegression(bounds=(0, 16), classes=list(range(10)), expected_rows=1100, epsilon=epsilon,
                                       delta=DELTA).fit(rows[private], labels[private])  # fmt: skip
            student = answers.teach(Plain(C=0.01)).score(rows[test], labels[test])
            right = np.mean(answers.labels == labels[public][:queries])
            found.append((right, student, model.score(rows[test], labels[test])))
        sums = vote.compared(queries, delta=DELTA)
        right, student, model_right = np.mean(found, axis=0)
        noise = float(vote.choice.sigma_squared) ** 0.5
        print(f"| {epsilon} | {noise:.1f} | {right:.3f} | {student:.3f} | {model_right:.3f} "
              f"| {sums['certified']:.2f} / {sums['notes']:.1f} |", flush=True)  # fmt: skip


def predictions(folder: Path, epsilon: str = "1") -> None:
    """Private prediction on Adult by how many answers share epsilon, beside a model that answers any number."""
    rows, labels, test_rows, test_labels = adult.split(*adult.features(folder), 0)
    model = LogisticRegression(bounds=(0, 1), classes=[0, 1], expected_rows=len(rows), epsilon=epsilon, delta=DELTA)
    whole = np.mean([model.fit(rows, labels).score(test_rows, test_labels) for _ in range(3)])
    teachers = Teachers(rows, labels, teacher=Plain(), count=250, classes=[0, 1])
    print(f"\nAdult, {epsilon=}, delta={DELTA}: any number of predictions of a private model: {whole:.4f}\n")
    print("| answers that share epsilon | sigma | accuracy of the answers |\n|---|---|---|")
    for queries in (1, 10, 100, 1000, 10_000):
        vote = least_noise(queries, epsilon)
        right = teachers.label(test_rows, vote).labels == test_labels  # all test rows, to see the accuracy well
        print(f"| {queries} | {float(vote.choice.sigma_squared) ** 0.5:.1f} | {right.mean():.4f} |", flush=True)


def students(folder: Path) -> None:
    """Students of Adult: 500 public queries, a check before each, and what the votes themselves say afterwards."""
    rows, labels, test_rows, test_labels = adult.split(*adult.features(folder), 0)
    public, test = test_rows[:500], test_rows[500:]
    print("\nAdult, 500 public queries, 250 teachers; the data-dependent epsilon is secret, its bound is released")
    print(
        "\n| vote | answered | certified | secret | released | labels right | student |\n|---|---|---|---|---|---|---|"
    )
    for name, vote in {
        "gnmax, sigma 40": Vote.gnmax(sigma=40),
        "confident, sigma 40, check 100 at 200": Vote.confident_gnmax(
            sigma=40, check_sigma=100, threshold=200, max_answers=300
        ),
    }.items():
        teachers = Teachers(rows, labels, teacher=Plain(), count=250, classes=[0, 1])
        answers = teachers.label(public, vote)
        told = teachers.account.sanitise(epsilon="1/2", delta=DELTA)["epsilon"][0]
        score = answers.teach(Plain()).score(test, test_labels[500:])
        right = np.mean(answers.labels == test_labels[:500][answers.answered])
        certified, secret = answers.privacy_loss.epsilon(DELTA).upper, teachers.account.epsilon(DELTA)
        cells = f"{certified:.2f} | {secret:.2f} | {told:.2f} | {right:.3f} | {score:.4f}"
        print(f"| {name} | {answers.answered.sum()} | {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    folder = parser.parse_args().data
    warnings.simplefilter("ignore")  # students of scikit-learn that want more steps
    digits()
    if folder is not None:
        students(folder)
        predictions(folder)


if __name__ == "__main__":
    main()
