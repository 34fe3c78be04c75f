"""Noise in proportion to a smooth bound of the local sensitivity."""

from deniable.mechanisms.smooth.base import smooth_bound
from deniable.mechanisms.smooth.central_mean import SmoothCentralMean
from deniable.mechanisms.smooth.laplace import SmoothLaplace
from deniable.mechanisms.smooth.log_normal import SmoothLogNormal
from deniable.mechanisms.smooth.median import SmoothMedian
from deniable.mechanisms.smooth.pareto import SmoothPareto
from deniable.mechanisms.smooth.quantile import SmoothQuantile
from deniable.mechanisms.smooth.student_t import SmoothStudentT
from deniable.mechanisms.smooth.triangles import SmoothTriangles
from deniable.mechanisms.smooth.trimmed_mean import SmoothTrimmedMean

SMOOTH = (
    SmoothStudentT,
    SmoothPareto,
    SmoothLaplace,
    SmoothLogNormal,
    SmoothMedian,
    SmoothQuantile,
    SmoothTrimmedMean,
    SmoothCentralMean,
    SmoothTriangles,
)

__all__ = [
    "SmoothCentralMean",
    "SmoothLaplace",
    "SmoothLogNormal",
    "SmoothMedian",
    "SmoothPareto",
    "SmoothQuantile",
    "SmoothStudentT",
    "SmoothTriangles",
    "SmoothTrimmedMean",
    "smooth_bound",
]
