"""Constructors of losses: `GaussianLoss(...)` is a loss with that statement.

A file that defines statements with a `kind` is read from JSON once it is imported here.

A file that defines statements with a `kind` is read from JSON once it is imported here.
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Generic, ParamSpec, overload

from deniable.arguments import CallSignature, is_of_the_call
from deniable.numbers.rationals import Real
from deniable.privacy.amplification.shuffling.shuffled import ShuffledStatement
from deniable.privacy.amplification.training.correlated import CorrelatedStatement
from deniable.privacy.amplification.training.iteration import LastIterateStatement
from deniable.privacy.amplification.training.objective import ObjectivePerturbationStatement
from deniable.privacy.composition.mixture import mixed
from deniable.privacy.composition.parallel import ParallelStatement
from deniable.privacy.composition.tuning import BestOfPoissonStatement, BestOfStatement
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses.approximate import ApproximateStatement
from deniable.privacy.losses.bounded_laplace import BoundedLaplaceStatement
from deniable.privacy.losses.concentrated import ConcentratedStatement
from deniable.privacy.losses.discrete_gaussian import DiscreteGaussianStatement
from deniable.privacy.losses.discrete_laplace import DiscreteLaplaceStatement
from deniable.privacy.losses.dominated import DominatedStatement
from deniable.privacy.losses.exponential import ExponentialMechanismStatement, PermuteAndFlipStatement
from deniable.privacy.losses.finite import FiniteStatement
from deniable.privacy.losses.gaussian import GaussianStatement
from deniable.privacy.losses.gaussian_dp import GaussianDPStatement
from deniable.privacy.losses.gaussian_mixture import GaussianMixtureStatement
from deniable.privacy.losses.laplace import LaplaceStatement
from deniable.privacy.losses.pure import PureStatement
from deniable.privacy.losses.randomized_response import RandomizedResponseStatement
from deniable.privacy.losses.renyi import RenyiStatement
from deniable.privacy.losses.sparse_vector import SparseVectorStatement
from deniable.privacy.losses.staircase import StaircaseStatement
from deniable.privacy.losses.teaching import TeachingStatement
from deniable.privacy.losses.truncated_laplace import DiscreteTruncatedLaplaceStatement, TruncatedLaplaceStatement
from deniable.privacy.relation import Relation
from deniable.privacy.statement import Statement, name_of_loss

P = ParamSpec("P")

_RELATION = inspect.Parameter("relation", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Relation | None)
_ABOUT_RELATION = "    relation: the one relation for which the loss is stated, as by `loss.under`; both when None."


class LossConstructor(Generic[P]):
    """Constructor of losses from one class of statements.

    It takes what the class takes, and has its constructors. Where the statement holds for either relation, `relation`
    states the loss for one alone, as `under` does.
    """

    def __init__(self, statement: Callable[P, Statement]) -> None:
        assert isinstance(statement, type)
        self.__wrapped__ = statement
        self.__name__ = self.__qualname__ = name_of_loss(statement)
        self.__doc__ = statement.__doc__
        self.__module__ = __name__
        signature = inspect.signature(statement)
        self._has_relation = not {"relation", "sensitivity"} & set(signature.parameters)
        if self._has_relation:
            signature = signature.replace(parameters=[*signature.parameters.values(), _RELATION])
            self.__doc__ = _with_relation(self.__doc__)
        self.__signature__ = signature
        self._call = CallSignature(self.__name__, signature)

    @overload
    def __call__(self, *args: P.args, **given: P.kwargs) -> PrivacyLoss: ...

    @overload
    def __call__(self, *args: Any, relation: Relation, **given: Any) -> PrivacyLoss: ...

    def __call__(self, *args: Any, **given: Any) -> PrivacyLoss:
        relation = given.pop("relation", None) if self._has_relation else None
        try:
            loss = PrivacyLoss(self.__wrapped__(*args, **given))
        except TypeError as error:
            if is_of_the_call(error):
                self._call.check(args, given)
            raise
        return loss if relation is None else loss.under(relation)

    def __getattr__(self, name: str) -> Callable[..., PrivacyLoss]:
        """Return another constructor of the class, such as `FiniteLoss.of_channel`."""
        other = None if name.startswith("_") else inspect.getattr_static(self.__wrapped__, name, None)
        if not isinstance(other, classmethod):
            raise AttributeError(f"{self.__name__} has no constructor {name}")
        made = getattr(self.__wrapped__, name)
        call = CallSignature(f"{self.__name__}.{name}", inspect.signature(made))

        def construct(*args: object, **given: object) -> PrivacyLoss:
            call.check(args, given)
            return PrivacyLoss(made(*args, **given))

        construct.__name__, construct.__doc__ = name, made.__doc__
        return construct

    def __repr__(self) -> str:
        return self.__name__

    def __reduce__(self) -> str:
        """Return its name in this file; a copy or pickle is the constructor itself."""
        return self.__name__


def _with_relation(text: str | None) -> str | None:
    """Return a docstring whose last argument is `relation`; None without arguments."""
    if text is None or "Args:\n" not in text:
        return text
    before, heading, after = inspect.cleandoc(text).partition("Args:\n")
    arguments, *rest = after.split("\n\n", 1)
    return before + heading + "\n\n".join([arguments.rstrip("\n") + "\n" + _ABOUT_RELATION, *rest])


ApproximateLoss = LossConstructor(ApproximateStatement)
BestOfLoss = LossConstructor(BestOfStatement)
BestOfPoissonLoss = LossConstructor(BestOfPoissonStatement)
BoundedLaplaceLoss = LossConstructor(BoundedLaplaceStatement)
ConcentratedLoss = LossConstructor(ConcentratedStatement)
CorrelatedLoss = LossConstructor(CorrelatedStatement)
DiscreteGaussianLoss = LossConstructor(DiscreteGaussianStatement)
DiscreteLaplaceLoss = LossConstructor(DiscreteLaplaceStatement)
DiscreteTruncatedLaplaceLoss = LossConstructor(DiscreteTruncatedLaplaceStatement)
DominatedLoss = LossConstructor(DominatedStatement)
ExponentialMechanismLoss = LossConstructor(ExponentialMechanismStatement)
FiniteLoss = LossConstructor(FiniteStatement)
GaussianDPLoss = LossConstructor(GaussianDPStatement)
GaussianLoss = LossConstructor(GaussianStatement)
GaussianMixtureLoss = LossConstructor(GaussianMixtureStatement)
LaplaceLoss = LossConstructor(LaplaceStatement)
LastIterateLoss = LossConstructor(LastIterateStatement)
ObjectivePerturbationLoss = LossConstructor(ObjectivePerturbationStatement)
PermuteAndFlipLoss = LossConstructor(PermuteAndFlipStatement)
PureLoss = LossConstructor(PureStatement)
RandomizedResponseLoss = LossConstructor(RandomizedResponseStatement)
RenyiLoss = LossConstructor(RenyiStatement)
ShuffledLoss = LossConstructor(ShuffledStatement)
SparseVectorLoss = LossConstructor(SparseVectorStatement)
StaircaseLoss = LossConstructor(StaircaseStatement)
TeachingLoss = LossConstructor(TeachingStatement)
TruncatedLaplaceLoss = LossConstructor(TruncatedLaplaceStatement)


def mixture(parts: Iterable[tuple[Real, PrivacyLoss]]) -> PrivacyLoss:
    """Return the loss of a mechanism that is drawn with public weights.

    A single one is returned as itself.

    Args:
        parts: pairs (weight, loss); the weights are public numbers with sum 1.

    >>> from deniable.privacy import PureLoss
    >>> print(mixture([("0.9", PureLoss("0.1")), ("0.1", PureLoss(1))]).epsilon(0).upper)
    1.0
    """
    return PrivacyLoss(mixed(parts))


def parallel(
    losses: Iterable[PrivacyLoss],
    *,
    relation: Relation,
    inside: Iterable[PrivacyLoss] | None = None,
    fixed: bool = False,
) -> PrivacyLoss:
    """Return the loss of mechanisms on disjoint parts of the data.

    All data of a unit lie in one part.

    Args:
        losses: those of the mechanisms, one for each part, in any order.
        relation: AddRemove: one part gains or loses a unit. Replace: a unit may leave one part and enter another, and
            then both parts reveal it.
        inside: under Replace, what a unit that is exchanged inside its part loses there, part by part; by default what
            the losses say if they are proved for Replace, else twice their pure epsilon.
        fixed: under Replace, every unit's part is public and the same in all tables, so that no unit can move.

    >>> from deniable.privacy import AddRemove, LaplaceLoss
    >>> print(parallel([LaplaceLoss(1)] * 20, relation=AddRemove).epsilon(0).upper)
    1.0
    """
    return PrivacyLoss(ParallelStatement(losses, relation=relation, inside=inside, fixed=fixed))
