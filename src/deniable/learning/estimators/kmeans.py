"""k-means: Lloyd's algorithm with noise in the l1 or the l2 ball, from a start that a noisy grid finds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.estimator import Priced, Work, same_length
from deniable.learning.estimators.reading import Bounds, Features
from deniable.learning.losses import products
from deniable.learning.sets import L1Ball, L2Ball
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.mechanisms.vectors.clipping import clipped, squared_norms
from deniable.noise import simulation
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.rationals import Real, positive_rational, shown, whole_number
from deniable.privacy import Relation, compose, of_count
from deniable.privacy.sensitivity.vectors import of_ball_sum, of_l1_ball_sum
from deniable.rows import Container, silence, table

_STEPS = 2**20  # of the lattice, to the radius
_BINS = {1: 64, 2: 32, 3: 16, 4: 8}  # of the grid, for each number of axes
_STRONG = Fraction(1, 10)  # rho from which, as from epsilon 2 on, one more round is better: 2,000 to 20,000 rows
_RESTARTS, _ITERATIONS = 10, 30  # of k-means on the grid, which costs no privacy
_GRID, _COUNTS, _SUMS = 5, 1, 4  # shares of the price, chosen on blobs of seeds that no benchmark uses


@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(Priced):
    """Find `n_clusters` centres such that rows are near to one of them; only the centres are released.

    "lloyd" is the algorithm of Lloyd with noise: in each round every row belongs to the nearest centre (of equally near
    ones to the first), and each centre moves to a noisy sum over a noisy count, cut to the bounds and the ball; it
    stays where the noisy count is below 1. A cluster without rows is handled like any other. It starts at points drawn
    uniformly within the bounds, or at `start`. "grid" spends half the price on noisy counts of a grid (of more than 4
    features, of 4 random directions), finds the start by ordinary k-means on its cells, and goes on as "lloyd". Epsilon
    alone buys Laplace noise on rows in the l1 ball; epsilon with delta, or rho, Gaussian noise in the l2 ball.

    Args:
        bounds: a pair (lower, upper) for all features, or a list with one pair for each; features are not scaled.
        n_clusters: how many centres.
        epsilon, delta, rho, relation: what the fit may cost, as in `StandardScaler`.
        method: "grid" or "lloyd".
        rounds: of Lloyd; by default 5. After a grid 1; on more than 4 features, of which the grid sees 4 directions,
            one more for Gaussian noise, and one more from epsilon 2 or rho 1/10 on.
        radius: rows are cut to the ball of this radius around the middle of the bounds; by default one that holds all.
        start: public centres to start "lloyd" at.

    Guarantee: `cost_`, the composition of all noises. One row is in one cell and in one cluster, so it moves
        counts by 1 and sums by the radius, and under replace twice as far in l1; assignments read released centres.
        Half of the price of a round of "lloyd" buys counts, as in the lectures: epsilon' = epsilon / (2 rounds).
    Source: Blum, Dwork, McSherry, Nissim (2005); McSherry (2009); Su, Cao, Li, Bertino, Jin (2016), arXiv:1504.05998,
        who also start from a grid; Balcan, Dick, Liang, Mou, Zhang (2017) for projections.

    >>> from deniable.learning import KMeans
    >>> model = KMeans(n_clusters=2, bounds=[(0, 10)], epsilon=1).fit([[2.0], [8.0]] * 2000)
    >>> sorted(model.cluster_centers_.round().ravel().tolist())
    [2.0, 8.0]
    """

    n_clusters: int
    bounds: Bounds
    method: Literal["grid", "lloyd"] = "grid"
    rounds: int | None = None
    radius: Real | None = None
    start: Sequence[Sequence[float]] | Floats | None = None
    cluster_centers_: Floats = field(init=False)
    _features: Features = field(init=False)

    def predict(self, X: Container) -> Integers:
        """The place of the nearest centre of each row: private on private rows."""
        self._check_fitted(X)
        with silence():
            return nearest(self._features.cut(X), self.cluster_centers_)

    def _planned(self, X: Container, y: Container | None) -> Work:
        price, relation = Price.of(self.epsilon, self.delta, self.rho), Relation.checked(self.relation)
        if self.method not in ("grid", "lloyd"):
            raise InvalidParameterError(f'method must be "grid" or "lloyd", got {shown(self.method)}')
        same_length(X, X)
        features, clusters = Features.of(self.bounds, X), whole_number("n_clusters", self.n_clusters, lower=1)
        grid, axes = self.method == "grid", min(features.count, 4)
        pure = price.rho is None and not price.delta
        strong = (price.epsilon or 0) >= 2 or (price.rho or 0) >= _STRONG
        usual = 5 if not grid else 1 if features.count == axes else 1 + (not pure) + strong
        rounds = usual if self.rounds is None else whole_number("rounds", self.rounds, lower=1)
        start = None if self.start is None else self._started(clusters, features)
        half: Floats = features.upper / 2 - features.lower / 2
        if half.min() < 1e-100 or np.abs([features.lower, features.upper]).max() > 1e100:
            raise InvalidParameterError("bounds must be 1e-100 apart and at most 1e100 in size. Use another unit.")
        holds = half.sum() if pure else np.sqrt((half**2).sum())
        radius = float(holds if self.radius is None else positive_rational("radius", self.radius))
        sum_of = of_l1_ball_sum if pure else of_ball_sum
        counting = of_count(rows=1, groups=1, cells=clusters, relation=relation)
        reach = [counting, sum_of(radius=_STEPS, dimensions=clusters * half.size, rows=1, relation=relation)] * rounds
        weights = [1, 1] * rounds
        if grid:
            weights = [_GRID * rounds, *[_COUNTS, _SUMS] * rounds]
            reach = [of_count(rows=1, groups=1, cells=_BINS[axes] ** axes, relation=relation), *reach]
        noises = price.noises(reach, weights)
        loss = compose(noise.privacy_loss(each) for noise, each in zip(noises, reach, strict=True))
        ball = (L1Ball if pure else L2Ball)(radius=radius, columns=len(half))  # type: ignore[arg-type]
        middle, unit = features.lower + half, radius / _STEPS

        def feasible(centres: Floats) -> Floats:
            return np.array([ball.project(np.clip(centre, -half, half)) for centre in centres])

        def train(bits: Bits) -> dict[str, Any]:
            whole = clipped(features.cut(X) - middle, radius=radius, steps=_STEPS, l1=pure)
            points, left = np.asarray(whole * unit, dtype=np.float64), list(noises)
            if grid:
                centres = _from_grid(points, half, clusters, left.pop(0), bits)
            elif start is None:
                centres = (2 * simulation.uniforms((clusters, len(half)), bits=bits) - 1) * half
            else:
                centres = start - middle
            path = [centres]
            for of_counts, of_sums in zip(left[::2], left[1::2], strict=True):
                exact = totals(whole, nearest(points, path[-1]), clusters)
                counts = of_counts.release(exact[0], bits=bits).value.astype(np.float64)[:, np.newaxis]
                sums = of_sums.release(exact[1], bits=bits).value.astype(np.float64)
                path.append(np.where(counts >= 1, feasible(sums * unit / np.maximum(counts, 1.0)), path[-1]))
            centres = np.array([feasible(each) for each in path]) + middle
            return {"cluster_centers_": centres[-1], "path_": centres, "n_features_in_": len(half),
                    "_features": features}  # fmt: skip

        began = "noisy counts of a grid, then " if grid else ""
        how = f"{began}Lloyd (rounds: {rounds}), {type(noises[-1]).__name__} noise on sums and counts of {clusters}."
        return self._work(how, price.stated(loss), train)

    def _started(self, clusters: int, features: Features) -> Floats:
        found, _ = table(self.start, "start", columns=features.count)
        if found.shape != (clusters, features.count) or not np.isfinite(found).all() or self.method == "grid":
            raise InvalidParameterError(f"start must be {clusters} points of finite numbers, for method='lloyd' alone")
        return found


def nearest(points: Floats, centres: Floats) -> Integers:
    """The place of the nearest centre of each point, of equally near ones the first; each point by itself."""
    return np.asarray(np.argmin([squared_norms(points - centre) for centre in centres], axis=0))


def totals(whole: Integers, places: Integers, clusters: int) -> tuple[Integers, Integers]:
    """How many rows each cluster has, and their sum, of shape (clusters, columns): exact, secret."""
    sums = np.array([whole[places == cluster].sum(axis=0) for cluster in range(clusters)])
    return np.bincount(places, minlength=clusters), sums


def _from_grid(points: Floats, half: Floats, clusters: int, noise: AdditiveNoise, bits: Bits) -> Floats:
    """Centres of the noisy counts of cells along up to four axes: those of the features, or random directions.

    Directions are orthonormal, so a point is nearest to the same centre in all dimensions as along the axes.
    """
    axes = min(half.size, 4)
    bins, reach, turned = _BINS[axes], half, np.eye(axes)
    if half.size > axes:  # nearly all points stay within twice their spread
        reach = np.full(axes, 2 * np.sqrt((half**2).mean()))
        turned = np.linalg.qr(simulation.normals((half.size, axes), bits=bits))[0].T
    cell = np.floor((products(points, turned) / reach + 1) * (bins / 2))
    codes = np.clip(cell, 0, bins - 1).astype(np.int64) @ bins ** np.arange(axes)
    noisy = noise.release(np.bincount(codes, minlength=bins**axes), bits=bits).value.astype(np.float64)
    least = float(noise.half_width(1 - 1 / bins**axes))  # above it, a cell without rows is rare
    kept = np.argsort(-noisy, kind="stable")[: max(clusters, int((noisy > least).sum()))]
    middles = ((kept[:, np.newaxis] // bins ** np.arange(axes)) % bins + 0.5) * (2 / bins) - 1
    return products(_weighted(middles * reach, np.maximum(noisy[kept], 1.0), clusters, bits), turned.T)


def _weighted(points: Floats, weights: Floats, clusters: int, bits: Bits) -> Floats:
    """The best of several runs of k-means++ on public points with weights."""
    best, least = points[:0], np.inf
    for draws in simulation.uniforms((_RESTARTS, clusters), bits=bits):
        chosen: list[int] = []
        far = np.ones(len(points))
        for draw in draws:
            odds = np.cumsum(far * weights if (far * weights).any() else weights)
            chosen.append(int(np.searchsorted(odds, draw * odds[-1])))
            away = squared_norms(points - points[chosen[-1]])
            far = away if len(chosen) == 1 else np.minimum(far, away)
        centres = points[chosen]
        for _ in range(_ITERATIONS):
            places = nearest(points, centres)
            mass = np.bincount(places, weights=weights, minlength=clusters)
            sums = np.array([np.bincount(places, weights=weights * line, minlength=clusters) for line in points.T]).T
            centres = np.where(mass[:, np.newaxis] > 0, sums / np.maximum(mass, 1.0)[:, np.newaxis], centres)
        cost = float((weights * np.min([squared_norms(points - centre) for centre in centres], axis=0)).sum())
        if cost < least:
            best, least = centres, cost
    return best
