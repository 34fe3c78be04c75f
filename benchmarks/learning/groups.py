"""Accuracy of logistic regression by sex and race on Adult at several epsilons, as Bagdasaryan et al. (2019) ask.

    python benchmarks/learning/groups.py --data DIRECTORY [--plot FILE]

DIRECTORY holds `adult.csv` and `adult-domain.json`. Rows to test on are public; the last table pays for private ones.
"""

import argparse
from pathlib import Path

import adult
import numpy as np
from sklearn.linear_model import LogisticRegression as Plain

from deniable.learning import LogisticRegression, accuracy_by_group

EPSILONS = ("0.05", "0.2", "1", "8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--plot", type=Path)
    asked = parser.parse_args()
    names = (asked.data / "adult.csv").read_text().split("\n", 1)[0].split(",")
    table = np.loadtxt(asked.data / "adult.csv", delimiter=",", skiprows=1, dtype=np.int64)
    rows, labels = adult.features(asked.data)
    groups = table[:, names.index("sex")] * 10 + table[:, names.index("race")]
    train, places, test, test_places = adult.split(rows, np.arange(len(rows)), 0)
    models = {
        epsilon: LogisticRegression(bounds=(0, 1), classes=[0, 1], expected_rows=len(train), epsilon=epsilon,
                                    delta="1e-5").fit(train, labels[places]) for epsilon in EPSILONS
    }  # fmt: skip
    kinds = np.unique(groups).tolist()  # codes of the domain, which is public
    given = (test, labels[test_places], groups[test_places])
    found = accuracy_by_group({**models, "none": Plain(max_iter=500).fit(train, labels[places])}, *given, values=kinds,
                              beside="none", public=True)  # fmt: skip
    print("Groups are 10 sex + race, as codes.\n", found, "", sep="\n")
    print(accuracy_by_group(models, *given, values=kinds, epsilon=1))
    if asked.plot is not None:
        found.plot("gap").figure.savefig(asked.plot)


if __name__ == "__main__":
    main()
