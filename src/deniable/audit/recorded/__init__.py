"""Audits that record every draw of a run, and repeat it on a neighbouring input."""

from deniable.audit.recorded.replay import replay
from deniable.audit.recorded.samplers import RecordedSampler, numpy_samplers

__all__ = ["RecordedSampler", "numpy_samplers", "replay"]
