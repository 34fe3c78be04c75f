"""Synthetic tables: singling out, linkage and inference, each against a control."""

from deniable.attacks.synthetic.neighbours import infer_from_synthetic, link_halves, measure_synthetic_risk
from deniable.attacks.synthetic.risk import Rate, residual_risk, wilson_rate
from deniable.attacks.synthetic.singling_out import single_out

__all__ = [
    "Rate",
    "infer_from_synthetic",
    "link_halves",
    "measure_synthetic_risk",
    "residual_risk",
    "single_out",
    "wilson_rate",
]
