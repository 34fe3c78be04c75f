"""The mechanism with the least expected error among those that keep the request and that the budget can pay."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log

from deniable.errors import UnprovedError
from deniable.mechanisms import AdditiveNoise, Gaussian, Laplace
from deniable.privacy import Budget, PrivacyLoss, compose
from deniable.privacy.around.stated import Stated
from deniable.privacy.calibration import gaussian_sigma_squared, laplace_scale
from deniable.privacy.currencies.concentrated import epsilon_within, largest_rho
from deniable.privacy.currencies.gaussian_dp import largest_mu_squared
from deniable.query.plan import Bounded, Request


@dataclass(frozen=True)
class Choice:
    """One mechanism per aggregate and the loss of all of them together."""

    mechanisms: tuple[AdditiveNoise, ...]
    losses: tuple[PrivacyLoss, ...]
    loss: PrivacyLoss

    def error(self) -> float:
        """The product of the 95% errors, as a logarithm: lower is better, whatever the units of the aggregates are."""
        return sum(log(mechanism.half_width(0.95) + 0.5) for mechanism in self.mechanisms)


def choose(parts: Sequence[Bounded], request: Request, budget: Budget | None) -> Choice:
    """Equal shares of the request for all parts, with Laplace or Gaussian noise for all of them.

    A request of epsilon alone promises pure differential privacy, which Laplace noise keeps. A request with delta, or
    of rho, may be met by either.

    Raises: UnprovedError if the budget's currency can pay for none of them.
    """
    affordable = [choice for choice in _candidates(parts, request) if budget is None or _payable(choice, budget)]
    if not affordable:
        raise UnprovedError(
            f"the budget ({budget}) cannot pay for the noise that was asked for. Ask with epsilon=... alone, or open "
            "the ledger with a budget of rho, or of epsilon and delta."
        )
    return min(affordable, key=Choice.error)


def _candidates(parts: Sequence[Bounded], request: Request) -> Iterator[Choice]:
    count = len(parts)
    if request.rho is not None:
        yield _laplace(parts, epsilon_within(request.rho / count))
        yield _gaussian(parts, rho=request.rho / count)
        return
    assert request.epsilon is not None
    yield _laplace(parts, request.epsilon / count)
    if request.delta:
        yield _stated_gaussian(parts, request.epsilon, request.delta)


def _laplace(parts: Sequence[Bounded], epsilon: Fraction) -> Choice:
    return _choice(parts, tuple(Laplace(scale=laplace_scale(part.sensitivity, epsilon)) for part in parts))


def _gaussian(parts: Sequence[Bounded], **target: Fraction) -> Choice:
    variances = [gaussian_sigma_squared(part.sensitivity, **target) for part in parts]
    return _choice(parts, tuple(Gaussian(sigma_squared=variance) for variance in variances))


def _stated_gaussian(parts: Sequence[Bounded], epsilon: Fraction, delta: Fraction) -> Choice:
    """One part: the certified curve of its own law. Several: equal shares of the largest rho or mu^2 for the pair."""
    count = len(parts)
    if count == 1:
        choice = _gaussian(parts, epsilon=epsilon, delta=delta)
    else:
        by_rho = _gaussian(parts, rho=largest_rho(epsilon, delta) / count)
        by_mu = _gaussian(parts, mu_squared=largest_mu_squared(epsilon, delta) / count)
        choice = min(by_rho, by_mu, key=Choice.error)
    return Choice(choice.mechanisms, choice.losses, Stated(choice.loss, epsilon, delta))


def _choice(parts: Sequence[Bounded], mechanisms: tuple[AdditiveNoise, ...]) -> Choice:
    losses = tuple(mechanism.privacy_loss(part.sensitivity) for mechanism, part in zip(mechanisms, parts, strict=True))
    return Choice(mechanisms, losses, compose(losses))


def _payable(choice: Choice, budget: Budget) -> bool:
    """Whether the budget's currency knows a price for the loss, whatever is left."""
    charge = budget.price(choice.loss)
    try:
        budget.admits(charge, charge)
    except UnprovedError:
        return False
    return True
