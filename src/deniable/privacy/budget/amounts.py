"""Amounts of a budget, in one currency: the numbers, checked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Annotated, Self

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import Real, decimal_text, positive_rational, probability, quotient_text, read_json
from deniable.privacy.notions.conversion import checked_order
from deniable.privacy.warning import warning_about, with_warning


@dataclass(frozen=True, init=False)
class Amounts:
    """Numbers of a budget, in exactly one currency: see `Budget`."""

    epsilon: Annotated[Fraction | None, positive_rational]
    delta: Annotated[Fraction | None, probability]
    rho: Annotated[Fraction | None, positive_rational]
    mu: Annotated[Fraction | None, positive_rational]
    renyi: Annotated[Fraction | None, positive_rational]
    order: Fraction | None
    failure: Annotated[Fraction | None, probability]

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        mu: Real | None = None,
        renyi: Real | None = None,
        order: Real | None = None,
        failure: Real | None = None,
    ) -> None:
        sums = {"epsilon": epsilon, "rho": rho, "mu": mu, "renyi": renyi}
        given = [name for name, value in sums.items() if value is not None]
        if (
            len(given) != 1
            or (delta is not None and epsilon is None)
            or (renyi is not None and order is None)
            or (order is not None and renyi is None and delta is None)
            or (failure is not None and (mu is not None or (epsilon is not None and delta is None)))
        ):
            raise InvalidParameterError(
                "a budget needs exactly one of epsilon (with or without delta), rho, mu or renyi (with order), got "
                f"{given or 'none'}. Write Budget(epsilon=1), Budget(epsilon=1, delta=1e-6), Budget(rho=0.5), "
                "Budget(mu=1) or Budget(renyi=0.5, order=8); order= may stand beside epsilon and delta, and failure= "
                "beside these, rho and renyi."
            )
        read_fields(
            self,
            **sums,
            delta=0 if delta is None and epsilon is not None else delta,
            order=None if order is None else checked_order(order),
            failure=failure,
        )
        if self.failure is not None and not 0 < self.failure < (self.delta or 1):
            raise InvalidParameterError(f"failure must be above 0 and below delta={delta or 1}, got {failure}")
        self._refuse_useless()

    def _refuse_useless(self) -> None:
        """Refuse limits that promise nothing, which the rules of a `Budget` know."""

    def __str__(self) -> str:
        amounts = ", ".join(f"{name}={decimal_text(value)}" for name, value in vars(self).items() if value)
        return with_warning(amounts, self.warning)

    @property
    def warning(self) -> str:
        """Warning about unusual amounts, in a sentence; empty for ordinary ones."""
        return warning_about(**vars(self))

    def __repr__(self) -> str:
        return f"Budget({', '.join(f'{name}={value!r}' for name, value in vars(self).items() if value)})"

    @property
    def pair(self) -> tuple[Fraction, Fraction] | None:
        """Pair (epsilon, delta) where the first charge chooses the rule; None otherwise."""
        if self.epsilon is None or not self.delta or self.order is not None or self.failure is not None:
            return None
        return self.epsilon, self.delta

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON, rationals as text; only the currency that is used."""
        return {name: quotient_text(value) for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Return the amounts that `to_data` wrote."""
        names = {field.name for field in fields(cls)}
        if not isinstance(data, Mapping) or not set(data) <= names:
            raise InvalidParameterError(f"a budget has some of the fields {sorted(names)}, got {data!r}")
        return cls(**data)

    def to_json(self) -> str:
        """Return canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the amounts that `to_json` wrote."""
        return cls.from_data(read_json(text, "a budget"))
