"""Prices of answers, and the noise with the least error that they buy."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Gaussian, Laplace
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.numbers.rationals import Real, positive_rational, probability
from deniable.privacy import ApproximateLoss, ConcentratedLoss, PrivacyLoss, PureLoss, Sensitivity
from deniable.privacy.deadline import with_checkpoints
from deniable.privacy.notions.concentrated import epsilon_within, largest_rho
from deniable.privacy.notions.gaussian_dp import largest_mu_squared


@dataclass(frozen=True)
class Price:
    """Price of one answer, or one part of it: epsilon, epsilon with delta, or rho.

    Prices of one kind add up (basic composition), so the parts of a statistic may cost what `split` gives them.
    """

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    @classmethod
    def of(cls, epsilon: Real | None, delta: Real | None, rho: Real | None) -> "Price":
        """Return the price that a caller names.

        Raises: InvalidParameterError unless it is epsilon > 0, with or without delta in [0, 1), or rho > 0.
        """
        failed = probability("delta", delta or 0)
        if (epsilon is None) == (rho is None):
            raise InvalidParameterError(
                "specify the price of the answer: epsilon=0.1, or epsilon=0.1 with delta=1e-6, or rho=0.01; "
                "on the command line --epsilon 0.1."
            )
        if rho is not None:
            if failed:
                raise InvalidParameterError("rho takes no delta. Give rho alone, or epsilon and delta.")
            return cls(rho=positive_rational("rho", rho))
        return cls(epsilon=positive_rational("epsilon", epsilon), delta=failed)

    @property
    def words(self) -> dict[str, Fraction]:
        """The price as arguments of a call."""
        return {name: value for name, value in vars(self).items() if value}

    def split(self, *weights: int | Fraction) -> tuple["Price", ...]:
        """Return parts in these proportions, which cost the whole together."""
        whole = Fraction(sum(weights))
        return tuple(self._times(weight / whole) for weight in weights)

    def concentrated(self) -> "Price":
        """Return the price as a rho: the most that epsilon and delta buy.

        It is for parts that are all charged in rho.
        """
        if self.epsilon is not None and self.delta:
            return Price(rho=largest_rho(self.epsilon, self.delta))
        return self

    def noise(self, sensitivity: Sensitivity) -> AdditiveNoise:
        """Return the noise of this price with the least standard deviation.

        For an aggregate of integers.
        """
        return self.noises([sensitivity])[0]

    def noises(
        self, sensitivities: Sequence[Sensitivity], weights: Sequence[int | Fraction] | None = None
    ) -> tuple[AdditiveNoise, ...]:
        """Return the noises of several aggregates that cost this much together.

        Args:
            weights: shares of the price; equal by default.

        Raises: InvalidParameterError if no noise for this price can be drawn.
        """
        return self.choices(sensitivities, weights)[0]

    def choices(
        self, sensitivities: Sequence[Sensitivity], weights: Sequence[int | Fraction] | None = None
    ) -> list[tuple[AdditiveNoise, ...]]:
        """Return all noises of this price, the ones with the least error first.

        Each choice has one per sensitivity.

        Epsilon alone promises pure differential privacy, which Laplace noise keeps. Epsilon with delta, or rho, buys
        Laplace or Gaussian noise: of several aggregates the same kind for all. The error is the product of the standard
        deviations, so that the units of the aggregates do not matter.
        """
        affordable, refused = [], []
        for calibrated in self._noises(sensitivities, weights or [1] * len(sensitivities)):
            try:
                affordable.append(calibrated())
            except InvalidParameterError as error:
                refused.append(error)
        if not affordable:
            raise InvalidParameterError(
                f"{self} buys no noise that can be drawn for this answer, or this part of it: {refused[0]} One unit "
                f"moves a sum by up to {max(float(each.linf) for each in sensitivities):.3g} steps. Noise beyond the "
                "limits would hide tens of millions of rows, or nothing."
            )
        return sorted(affordable, key=_error)

    def selection(self) -> Fraction:
        """Return the epsilon of one exponential mechanism of this price.

        Its rho is epsilon^2 / 8.
        """
        if self.rho is not None:
            return epsilon_within(self.rho, per=8)
        assert self.epsilon is not None
        return self.epsilon

    def bound(self) -> PrivacyLoss:
        """Return the loss of any mechanism of this price.

        It is for noise that is chosen by earlier answers.
        """
        if self.rho is not None:
            return ConcentratedLoss(self.rho)
        assert self.epsilon is not None
        return ApproximateLoss(self.epsilon, self.delta) if self.delta else PureLoss(self.epsilon)

    def stated(self, loss: PrivacyLoss) -> PrivacyLoss:
        """Return the loss of the whole answer, stated at the price that was named.

        A pure loss within epsilon needs no delta.

        Raises: InvalidParameterError if the loss does not prove the price: a defect of the caller.
        """
        if self.epsilon is None or not self.delta or _within(loss.pure_epsilon, self.epsilon):
            return loss
        return loss.stated(epsilon=self.epsilon, delta=self.delta)

    def __str__(self) -> str:
        if self.rho is not None:
            return f"rho={float(self.rho):g}"
        assert self.epsilon is not None
        return f"epsilon={float(self.epsilon):g}" + (f", delta={float(self.delta):g}" if self.delta else "")

    def _times(self, share: Fraction) -> "Price":
        if self.rho is not None:
            return Price(rho=self.rho * share)
        assert self.epsilon is not None
        return Price(epsilon=self.epsilon * share, delta=self.delta * share)

    def _noises(
        self, sensitivities: Sequence[Sensitivity], weights: Sequence[int | Fraction]
    ) -> Iterator[Callable[[], tuple[AdditiveNoise, ...]]]:
        """Return a function for each kind of noise that calibrates it; it may refuse."""
        shares = [Fraction(weight) / Fraction(sum(weights)) for weight in weights]
        parts = list(zip(sensitivities, shares, strict=True))

        def laplace(epsilons: Callable[[Fraction], Fraction]) -> tuple[AdditiveNoise, ...]:
            steps = with_checkpoints(parts)
            return tuple(Laplace.calibrated(sensitivity, epsilon=epsilons(share)) for sensitivity, share in steps)

        def gaussian(**whole: Fraction) -> tuple[AdditiveNoise, ...]:
            ((name, value),) = whole.items()
            steps = with_checkpoints(parts)
            return tuple(Gaussian.calibrated(sensitivity, **{name: value * share}) for sensitivity, share in steps)

        if self.rho is not None:
            rho = self.rho
            yield lambda: gaussian(rho=rho)
            yield lambda: laplace(lambda share: epsilon_within(rho * share))
            return
        assert self.epsilon is not None
        epsilon, delta = self.epsilon, self.delta
        yield lambda: laplace(lambda share: epsilon * share)
        if delta and len(parts) == 1:
            yield lambda: (Gaussian.calibrated(sensitivities[0], epsilon=epsilon, delta=delta),)
        elif delta:
            yield lambda: gaussian(rho=largest_rho(epsilon, delta))
            yield lambda: gaussian(mu_squared=largest_mu_squared(epsilon, delta))


def _within(pure: Fraction | None, epsilon: Fraction) -> bool:
    return pure is not None and pure <= epsilon


def _error(noises: Sequence[AdditiveNoise]) -> float:
    """The product of the standard deviations, as a logarithm."""
    return sum(log(noise.standard_deviation() + 1e-9) for noise in noises)
