"""Specimens: mechanisms with a claim, and a pair of neighbours to test it."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.audit.exact import measure_exactly
from deniable.audit.gallery.chances import Chances
from deniable.audit.laws import draw_outputs
from deniable.audit.result import AuditResult
from deniable.numbers.balls import certified_masses
from deniable.numbers.interval import Interval
from deniable.privacy import ApproximateLoss, PrivacyLoss, PureLoss


@dataclass(frozen=True, kw_only=True)
class Specimen:
    """Mechanism with a published claim, and a pair of neighbours to test it.

    Args:
        name: of the mechanism.
        flaw: its error, in a sentence.
        claim: loss that was claimed.
        data: an input.
        neighbour: a neighbouring input, on which the flaw shows.
        source: of the claim, or of the flaw.
        chances: {output: probability} on an input, in rationals or balls. Where the output is continuous, outputs are
            merged into a few events: post-processing, which can only hide a flaw.
        truth: least epsilon that holds at the delta of the claim, for every pair of neighbours, where known.
        sound: whether the claim is true: a control.

    >>> from deniable.audit import GALLERY
    >>> print(GALLERY["two counts"].audit().violated)
    False
    """

    name: str
    flaw: str
    claim: PrivacyLoss
    data: Any
    neighbour: Any
    source: str
    chances: Callable[[Any], Chances]
    truth: float | None = None
    sound: bool = False

    def law(self, data: Any) -> dict[Hashable, Fraction | Interval]:
        """Return the distribution of the output on an input, exact or certified.

        Args:
            data: an input.
        """
        return certified_masses(lambda: self.chances(data))

    def audit(self) -> AuditResult:
        """Return the exact audit of this pair."""
        return measure_exactly(self.law, [(self.data, self.neighbour)], claim=self.claim)

    def outputs(self, data: Any, *, runs: int, seed: int = 0) -> list[Hashable]:
        """Draw outputs of independent runs on an input, for audits of black boxes.

        Args:
            data: an input.
            runs: number of outputs.
            seed: of the draws.
        """
        return draw_outputs(self.law(data), runs=runs, seed=seed)


GALLERY: dict[str, Specimen] = {}
"""Every specimen by its name, broken ones and controls."""


def hang(  # noqa: PLR0917
    name: str, flaw: str, source: str, chances: Callable[[Any], Chances], data: Any, neighbour: Any, *,
    epsilon: float | str = "1", delta: float | str = 0, claim: PrivacyLoss | None = None, truth: float | None = None,
) -> None:  # fmt: skip
    """Add a mechanism to the gallery; a flaw that begins with "Nothing" is a control."""
    assert name not in GALLERY
    if claim is None:
        claim = ApproximateLoss(epsilon=epsilon, delta=delta) if delta else PureLoss(epsilon=epsilon)
    GALLERY[name] = Specimen(name=name, flaw=flaw, claim=claim, data=data, neighbour=neighbour, source=source,
                             chances=chances, truth=truth, sound=flaw.startswith("Nothing"))  # fmt: skip
