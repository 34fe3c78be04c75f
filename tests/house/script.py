"""A script of a user: `make types` fails where a wrong call here is not found, since its comment is then unused."""

import numpy as np

from deniable.privacy import GaussianLoss, Interval, PureLoss
from deniable.statistics import mean, quantiles
from deniable.statistics.histograms import Histogram
from deniable.statistics.order.quantile import Quantile
from deniable.statistics.vectors.mean import VectorMean

mean([31, 45, 28], bounds=(0, 100), epsilon=1)
mean(np.array([1.0, 2.0]), bounds=("1/2", 3), epsilon="0.1", units=["a", "b"])
found: Interval = GaussianLoss("1.1").poisson_sampled(rate="0.01").epsilon("1e-6")
ends = PureLoss(epsilon=1).delta(np.array([0.5, 1.0])).upper
mean(5, bounds=(0, 1), epsilon=1)  # type: ignore
mean([5], bounds=3, epsilon=1)  # type: ignore
mean([5], bounds=(0, 1), epsilon=[1])  # type: ignore
several: Interval = PureLoss(epsilon=1).epsilon(["1e-6"])  # type: ignore
GaussianLoss(noise_multiplier=None)  # type: ignore
PureLoss(epsilon=1).delta(found)  # type: ignore
float(found)  # type: ignore
quantiles([5, 7], ["0.1", 0.5], bounds=(0, 10), epsilon=1)
Histogram(bins=10, bounds=3, epsilon=1)  # type: ignore
Quantile(share=[0.5], bounds=(0, 1), epsilon=1)  # type: ignore
VectorMean(bounds=5, epsilon=1)  # type: ignore
