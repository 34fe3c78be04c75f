"""Published uses of differential privacy, from a list of data.

Each says what its epsilon is per, and whom it protects.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from deniable.privacy.constructors import ConcentratedLoss, PureLoss
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.relation import Relation

RATIONALS = ("epsilon", "rho", "delta")


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """Published use of differential privacy, as its source states it.

    Args:
        organisation: that published.
        use: what was collected or released.
        model: local, where every client adds noise, or central.
        unit: what the guarantee is per.
        relation: between neighbours.
        source: of the figures.
        epsilon: as stated, of pure differential privacy; None where it is stated in rho, or not at all.
        rho: of zero-concentrated differential privacy.
        delta: at which the published epsilon is stated.

    >>> from deniable.privacy import Replace
    >>> use = Deployment(organisation="Lake County", use="visits", model="central", unit="visitor", relation=Replace,
    ...                  source="its annual report", epsilon=Fraction(1, 2))
    >>> print(use)
    Lake County, visits (central): epsilon 0.5 per visitor
    """

    organisation: str
    use: str
    model: str
    unit: str
    relation: Relation
    source: str
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction = Fraction(0)

    @property
    def loss(self) -> PrivacyLoss | None:
        """Privacy loss of one unit; None where no figure was confirmed."""
        if self.rho is not None:
            return ConcentratedLoss(self.rho)
        return None if self.epsilon is None else PureLoss(self.epsilon)

    def __str__(self) -> str:
        """The use, its unit, and epsilon at the published delta."""
        loss = self.loss
        said = "epsilon not confirmed" if loss is None else f"epsilon {loss.epsilon(self.delta).upper:.4g}"
        at = f" at delta {float(self.delta):g}" if self.delta else ""
        return f"{self.organisation}, {self.use} ({self.model}): {said}{at} per {self.unit}"


@cache
def deployments() -> tuple[Deployment, ...]:
    """Return published uses of differential privacy with their figures.

    >>> from deniable.privacy import deployments
    >>> print(deployments()[-1])
    U.S. Census Bureau, redistricting 2020, persons (central): epsilon 17.14 at delta 1e-10 per person
    """
    import tomllib
    from importlib.resources import files

    text = files(__package__).joinpath("deployments.toml").read_text(encoding="utf-8")
    made = []
    for stated in tomllib.loads(text)["deployment"]:
        numbers = {name: Fraction(stated[name]) for name in RATIONALS if name in stated}
        words = {name: value for name, value in stated.items() if name not in RATIONALS}
        made.append(Deployment(**{**words, **numbers, "relation": Relation(words["relation"])}))
    return tuple(made)
