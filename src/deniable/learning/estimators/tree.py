"""Decision tree with private splits, and noisy counts in its leaves.

Splits are chosen by permute-and-flip.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.learning.estimators.bins import Bins, Categories, Columns
from deniable.learning.estimators.estimator import Classifier, Work, same_length
from deniable.learning.estimators.reading import Labels
from deniable.mechanisms import Laplace, PermuteAndFlip
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_rational, whole_number
from deniable.privacy import AddRemove, Relation, compose, of_count, parallel
from deniable.rows import Container, silence

Codes: TypeAlias = NDArray[np.int64]

_STEPS_PER_ROW = 16  # steps of impurity to one row
_LARGEST = 2**25  # counts are taken to be at most this, so that squares are 64 bits
_LEAVES = Fraction(3, 10)  # of epsilon; chosen on training rows of Adult


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionTreeClassifier(Classifier):
    """Predict one of several declared classes by a tree of fixed depth.

    Every node of a level chooses, among all edges of all bins and all categories of public lists, one question with
    a small Gini impurity of the two sides, by permute-and-flip. Nothing stops early: nodes without rows choose as well.
    A value that is missing or not in its list has a bin of its own, below all others. A row whose label is not among
    the classes counts nowhere.

    Args:
        bounds: a pair (lower, upper) for all features, or a list with one for each, None for those that are categories.
        classes: all labels that may occur.
        epsilon: what the fit costs; seven tenths of it buy questions, in equal parts by level.
        categories: all values of each feature whose bounds are None, by its place.
        depth, bins: how many questions are asked of a row, at most 12; bins of equal width for each number.
        relation: AddRemove, or Replace, which costs twice the noise.

    Guarantee: pure epsilon. Under add/remove one row is in one node of each level, where it moves the impurity
        of one side by less than 2 and never down (see `impurity`); and it moves one count of one leaf by 1. A replaced
        row is one that is removed and one that is added.
    Source: Friedman, Schuster (2010), "Data mining with differential privacy", for choosing questions privately.

    >>> from deniable.learning import DecisionTreeClassifier
    >>> rows, labels = [["a", 1], ["a", 9], ["b", 1], ["b", 9]] * 500, ["low", "low", "low", "high"] * 500
    >>> model = DecisionTreeClassifier(bounds=[None, (0, 10)], categories={0: ["a", "b"]}, classes=["low", "high"],
    ...                                epsilon=1, depth=2)
    >>> model.fit(rows, labels).predict([["b", 9], ["a", 9]]).tolist()
    ['high', 'low']
    """

    bounds: Columns
    classes: Sequence[object]
    epsilon: Real
    categories: Categories | None = None
    depth: int = 4
    bins: int = 16
    relation: Relation = AddRemove
    feature_: tuple[Codes, ...] = field(init=False)
    code_: tuple[Codes, ...] = field(init=False)
    value_: Floats = field(init=False)
    bins_: Bins = field(init=False)

    def predict_proba(self, X: Container) -> Floats:
        """Return the share of each class in the leaf of each row.

        By noisy counts; shape (rows, classes).
        """
        self._check_fitted(X)
        with silence():
            codes = self.bins_.codes(X)
            node = np.zeros(len(codes), dtype=np.int64)
            for question in zip(self.feature_, self.code_, strict=True):
                node = _below(self.bins_, codes, node, question)
        return np.asarray(self.value_[node])

    def _planned(self, X: Container, y: Container | None) -> Work:
        same_length(X, y)
        epsilon = positive_rational("epsilon", self.epsilon)
        relation = Relation.checked(self.relation)
        depth = whole_number("depth", self.depth, lower=1, upper=12)
        bins, labels = Bins.of(self.bounds, self.categories, self.bins, X), Labels.of(self.classes, y)
        once = epsilon if relation is AddRemove else epsilon / 2
        classes = len(labels.classes)
        questions = int((bins.sizes - bins.ordered).sum())
        sensitivity = of_count(rows=1, groups=questions, relation=AddRemove) * (2 * _STEPS_PER_ROW)
        choice = PermuteAndFlip.calibrated(sensitivity, epsilon=once * (1 - _LEAVES) / depth, monotone=True)
        counts = of_count(rows=1, groups=1, cells=2**depth * classes, relation=relation)
        noise = Laplace.calibrated(counts, epsilon=epsilon * _LEAVES)
        levels = [parallel([choice.privacy_loss(sensitivity)] * 2**level, relation=relation) for level in range(depth)]

        def train(bits: Bits) -> dict[str, Any]:
            indices = labels.indices(y)
            codes = bins.codes(X)[indices < classes]
            indices = indices[indices < classes]
            node, asked = _grown(bins, codes, indices, depth=depth, classes=classes, choice=choice, bits=bits)
            leaves = np.bincount(node * classes + indices, minlength=2**depth * classes).reshape(-1, classes)
            noisy = np.maximum(noise.release(leaves, bits=bits).value.astype(np.float64), 0.0) + 1.0
            feature, code = zip(*asked, strict=True)
            return {"classes_": np.array(labels.classes), "n_features_in_": len(bins.edges), "bins_": bins,
                    "feature_": feature, "code_": code, "value_": noisy / noisy.sum(axis=1, keepdims=True)}  # fmt: skip

        how = f"{depth} levels of questions chosen among {questions}, then noisy counts in {2**depth} leaves."
        loss = compose([*levels, noise.privacy_loss(counts)])
        return Work(loss=loss, how=how, train=train, relation=relation)


def _grown(
    bins: Bins, codes: Codes, indices: Codes, *, depth: int, classes: int, choice: PermuteAndFlip, bits: Bits
) -> tuple[Codes, list[tuple[Codes, Codes]]]:
    """Return the leaf of each row, and the questions chosen at all nodes.

    Questions are listed level by level.

    Args:
        bins: of the features.
        codes: of the rows, shape (rows, features).
        indices: of their classes.
        depth: number of levels.
        classes: number of classes.
        choice: mechanism that chooses a question.
        bits: randomness.
    """
    node = np.zeros(len(codes), dtype=np.int64)
    asked = []
    for level in range(depth):
        exact = scores(bins, codes, node * classes + indices, (2**level, classes))
        asked.append(_chosen(exact, choice, bits))
        node = _below(bins, codes, node, asked[-1])
    return node, asked


def _below(bins: Bins, codes: Codes, node: Codes, question: tuple[Codes, Codes]) -> Codes:
    """Return the node of each row on the next level.

    Numbers above the code go right, as do other categories.
    """
    feature, code = (part[node] for part in question)
    own = codes[np.arange(len(codes)), feature]
    return np.asarray(2 * node + np.where(bins.ordered[feature], own > code, own != code))


def impurity(counts: Codes) -> Codes:
    """Return the Gini impurity of counts, in steps of 1/16 row, rounded up.

    It is n - sum(n_c^2) / n for counts of shape (..., classes).

    Guarantee: one more row of class c adds n (1 - 2 p_c + sum p^2) / (n + 1) with p = n_c / n. The bracket lies between
        (1 - p_c)^2 and 2, so the sum is at least 0 and below 2, and at most 32 steps after the rounding.
    """
    limited = np.minimum(counts, _LARGEST)
    rows = limited.sum(axis=-1)
    return np.asarray(_STEPS_PER_ROW * rows - _STEPS_PER_ROW * (limited**2).sum(axis=-1) // np.maximum(rows, 1))


def scores(bins: Bins, codes: Codes, cell_of_row: Codes, shape: tuple[int, int]) -> list[Codes]:
    """Return the exact score of every question of each feature.

    Shape (nodes, questions), at a shape of (nodes, classes).

    A row has codes, of shape (rows, features), and is at the place node * classes + class.
    """
    scores_by_feature = []
    for size, ordered, column in zip(bins.sizes, bins.ordered, codes.T, strict=True):
        cells = np.bincount(column * (shape[0] * shape[1]) + cell_of_row, minlength=size * shape[0] * shape[1])
        counts = np.moveaxis(cells.reshape(size, *shape), 0, 1)  # (nodes, codes, classes)
        left = np.cumsum(counts, axis=1)[:, :-1] if ordered else counts
        scores_by_feature.append(-impurity(left) - impurity(counts.sum(axis=1, keepdims=True) - left))
    return scores_by_feature


def _chosen(exact: list[Codes], choice: PermuteAndFlip, bits: Bits) -> tuple[Codes, Codes]:
    """A feature and a code for every node of a level."""
    feature = np.repeat(np.arange(len(exact)), [part.shape[1] for part in exact])
    code = np.concatenate([np.arange(part.shape[1]) for part in exact])
    best = np.array([choice.release(line, bits=bits).value for line in np.concatenate(exact, axis=1)])
    return feature[best], code[best]
