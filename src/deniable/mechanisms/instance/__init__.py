"""Noise that is fitted to the data at hand, with its guarantee for all data."""

from deniable.mechanisms.instance.base import Answer
from deniable.mechanisms.instance.central_mean import SmoothCentralMean
from deniable.mechanisms.instance.inverse_median import InverseMedian
from deniable.mechanisms.instance.inverse_quantile import InverseQuantile
from deniable.mechanisms.instance.inverse_sensitivity import InverseSensitivity
from deniable.mechanisms.instance.median import SmoothMedian
from deniable.mechanisms.instance.propose_test_release import ProposeTestRelease
from deniable.mechanisms.instance.quantile import SmoothQuantile
from deniable.mechanisms.instance.sample_and_aggregate import SampleAndAggregate
from deniable.mechanisms.instance.smooth import SmoothNoise, SmoothStatistic, smooth_bound
from deniable.mechanisms.instance.smooth_gaussian import SmoothGaussian
from deniable.mechanisms.instance.smooth_laplace import SmoothLaplace
from deniable.mechanisms.instance.smooth_log_normal import SmoothLogNormal
from deniable.mechanisms.instance.smooth_pareto import SmoothPareto
from deniable.mechanisms.instance.smooth_student import SmoothStudentT
from deniable.mechanisms.instance.stable_selection import StableSelection
from deniable.mechanisms.instance.triangles import SmoothTriangles
from deniable.mechanisms.instance.trimmed_mean import SmoothTrimmedMean

INSTANCE = (
    SmoothStudentT,
    SmoothPareto,
    SmoothLaplace,
    SmoothGaussian,
    SmoothLogNormal,
    SmoothMedian,
    SmoothQuantile,
    SmoothTrimmedMean,
    SmoothCentralMean,
    SmoothTriangles,
    InverseSensitivity,
    InverseMedian,
    InverseQuantile,
    ProposeTestRelease,
    StableSelection,
    SampleAndAggregate,
)

__all__ = [
    "INSTANCE",
    "Answer",
    "InverseMedian",
    "InverseQuantile",
    "InverseSensitivity",
    "ProposeTestRelease",
    "SampleAndAggregate",
    "SmoothCentralMean",
    "SmoothGaussian",
    "SmoothLaplace",
    "SmoothLogNormal",
    "SmoothMedian",
    "SmoothNoise",
    "SmoothPareto",
    "SmoothQuantile",
    "SmoothStatistic",
    "SmoothStudentT",
    "SmoothTriangles",
    "SmoothTrimmedMean",
    "StableSelection",
    "smooth_bound",
]
