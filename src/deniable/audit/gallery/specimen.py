"""The shape of a specimen: a mechanism with its claim, and a pair of neighbours on which it is tried."""

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
    """One mechanism, as somebody claimed it.

    Args:
        name: of the mechanism.
        flaw: what is wrong with it, in a sentence.
        claim: what was claimed of it.
        data: an input; neighbour: a neighbouring one, on which the flaw shows.
        source: who claimed it or found the flaw.
        chances: {output: probability} on an input, in rationals or balls. Where the output is continuous, outputs are
            merged into a few events: post-processing, which can only hide a flaw.
        truth: least epsilon that holds at the delta of the claim, for every pair of neighbours, where known.
        sound: whether the claim is true: a control.
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
        """The law of the output on an input, in rationals or certified intervals."""
        return certified_masses(lambda: self.chances(data))

    def audit(self) -> AuditResult:
        """The exact audit of this pair."""
        return measure_exactly(self.law, [(self.data, self.neighbour)], claim=self.claim)

    def outputs(self, data: Any, *, runs: int, seed: int = 0) -> list[Hashable]:
        """Outputs of independent runs on an input, for audits that see nothing else."""
        return draw_outputs(self.law(data), runs=runs, seed=seed)


GALLERY: dict[str, Specimen] = {}
"""Every specimen by its name, broken ones and controls."""


def hang(  # noqa: PLR0917
    name: str, flaw: str, source: str, chances: Callable[[Any], Chances], data: Any, neighbour: Any, *,
    epsilon: float | str = "1", delta: float | str = 0, claim: PrivacyLoss | None = None, truth: float | None = None,
) -> None:  # fmt: skip
    """Hang a mechanism in the gallery; a flaw that begins with "Nothing" makes a control."""
    assert name not in GALLERY
    if claim is None:
        claim = ApproximateLoss(epsilon=epsilon, delta=delta) if delta else PureLoss(epsilon=epsilon)
    GALLERY[name] = Specimen(name=name, flaw=flaw, claim=claim, data=data, neighbour=neighbour, source=source,
                             chances=chances, truth=truth, sound=flaw.startswith("Nothing"))  # fmt: skip
