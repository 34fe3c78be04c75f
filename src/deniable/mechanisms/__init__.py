"""One mechanism per file, all of them in `MECHANISMS`."""

from deniable.mechanisms.base import Mechanism, Noisy, WorstCase
from deniable.mechanisms.gaussian import Gaussian
from deniable.mechanisms.laplace import Laplace

MECHANISMS: dict[str, type[Mechanism]] = {mechanism.kind: mechanism for mechanism in (Gaussian, Laplace)}

__all__ = ["MECHANISMS", "Gaussian", "Laplace", "Mechanism", "Noisy", "WorstCase"]
