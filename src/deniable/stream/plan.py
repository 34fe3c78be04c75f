"""Plan of a stream: its declared facts, strategy, noise and loss."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np

from deniable.arguments import made_of
from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Gaussian
from deniable.mechanisms.correlated import NoiseCorrelation, Tree, Triangular, Uses, WholeBuffered
from deniable.mechanisms.correlated.whole import LASTING_STEPS
from deniable.mechanisms.parts import Part
from deniable.mechanisms.price import Price
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, quotient_text, root_above, shown, whole_number
from deniable.privacy import AddRemove, PrivacyLoss, PrivacyUnit, Relation
from deniable.privacy.notions.gaussian_dp import largest_mu_squared
from deniable.privacy.sensitivity.vectors import of_ball_sum
from deniable.rows import distinct

STRATEGIES = ("auto", "buffered", "tree", "square root", "dense")
STEPS_OF_A_VALUE = 2**16  # grid steps to the largest size of one value of a sum
STEPS_OF_A_ROW = 2**10  # grid steps of one row that is counted, so that discrete noise is as good as real noise
MAX_KEYS = 10**5
_DENSE_STEPS = 512  # up to which the tree and the optimum are tried unasked
_BUFFERS = 6
_MIN_BOUND, _MAX_BOUND = 1e-100, 1e100  # so that sums of squares are floats
_SLACK = 1 + Fraction(1, 10**9)  # more variance, so that roundings of mu stay within the price
_KINDS: dict[str, type[NoiseCorrelation]] = {"WholeBuffered": WholeBuffered, "Tree": Tree, "Triangular": Triangular}
_whole = partial(whole_number, lower=1)


def _read_keys(_: str, keys: object) -> tuple[Any, ...]:
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        raise InvalidParameterError(f'keys must be a list of values, such as ["a", "b"], got {shown(keys)}')
    declared = distinct(tuple(keys))
    if not 1 <= len(declared) <= MAX_KEYS:
        raise InvalidParameterError(f"keys must be 1 to {MAX_KEYS} values, got {len(declared)}")
    return declared


def _read_windows(name: str, windows: object) -> tuple[int, ...]:
    if isinstance(windows, str) or not isinstance(windows, Iterable):
        raise InvalidParameterError(f"windows must be a list of numbers, such as [7, 30], got {shown(windows)}")
    return tuple(sorted({whole_number(name, each, lower=1) for each in windows}))


def _read_unit(_: str, unit: object) -> PrivacyUnit:
    if not isinstance(unit, PrivacyUnit) or unit.column is None:
        raise InvalidParameterError(
            f'unit must own rows: dn.PrivacyUnit(column="person", noun="person"), got {shown(unit)}. Leave it out if '
            "each row is protected by itself."
        )
    return unit


def _read_bounds(_: str, bounds: object) -> tuple[float, float]:
    """Return public bounds as two floats."""
    try:
        lower, upper = map(float, bounds)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        lower = upper = math.nan
    if not (lower < upper and _MIN_BOUND < max(-lower, upper) < _MAX_BOUND):
        raise InvalidParameterError(f"bounds must be finite numbers (lower, upper), lower < upper, got {shown(bounds)}")
    return lower, upper


@dataclass(frozen=True, kw_only=True)
class StreamPlan(Part):
    """Declared facts of a stream, which fix its noise and its errors.

    Nothing is paid and no row is read.

    Args:
        name: of the stream, for the ledger.
        steps: the number of steps; None for a stream without a horizon.
        epsilon, delta, rho: price of all steps together: epsilon with delta, or rho.
        keys: of parallel counters, declared once; None for one counter. Rows with other keys do not count.
        bounds: public (lower, upper) to which values are clamped that are added up; None counts rows.
        windows: numbers of steps whose sums are released at each step, beside the total so far.
        unit: who is protected: by default one row, which is one event.
        rows: the most rows of one unit that count in one step, the first ones.
        steps_per_unit: the most steps in which rows of one unit count, the first ones.
        separation: the least distance of two such steps: 7 if a unit counts once in a week.
        relation: AddRemove or Replace.
        strategy: how noise cancels: "auto" for the least expected error, "buffered", "tree", "square root" or "dense".

    >>> plan = StreamPlan(steps=365, epsilon=1, delta="1e-9")
    >>> plan.strategies[0].name
    'buffered'
    """

    name: str = "stream"
    steps: Annotated[int | None, partial(whole_number, lower=1, upper=LASTING_STEPS)]
    epsilon: Real | None = None
    delta: Real | None = None
    rho: Real | None = None
    keys: Annotated[tuple[Any, ...] | None, _read_keys] = None
    bounds: Annotated[tuple[float, float] | None, _read_bounds] = None
    windows: Annotated[tuple[int, ...], _read_windows] = ()
    unit: Annotated[PrivacyUnit | None, _read_unit] = None
    rows: Annotated[int, _whole] = 1
    steps_per_unit: Annotated[int, _whole] = 1
    separation: Annotated[int, _whole] = 1
    relation: Annotated[Relation, lambda _, value: Relation.checked(value)] = AddRemove
    strategy: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is not None and max(self.windows, default=0) > self.steps:
            raise InvalidParameterError(f"no window may be longer than all {self.steps} steps, got {self.windows}")
        if self.strategy not in STRATEGIES:
            raise InvalidParameterError(f"strategy must be one of {', '.join(STRATEGIES)}, got {shown(self.strategy)}")
        if self.unit is None and (self.rows, self.steps_per_unit) != (1, 1):
            raise InvalidParameterError(
                "rows and steps_per_unit are of a unit that owns several rows: give unit=dn.PrivacyUnit(column=...)"
            )
        if self.price.rho is None and not self.price.delta:
            raise InvalidParameterError(
                "noise that cancels over time is Gaussian: give epsilon with a delta such as 1e-9, or rho"
            )

    @cached_property
    def price(self) -> Price:
        """Price of all steps together."""
        return Price.of(self.epsilon, self.delta, self.rho)

    @cached_property
    def uses(self) -> Uses:
        """How one unit takes part in the steps."""
        steps = LASTING_STEPS if self.steps is None else self.steps
        return Uses(
            steps=steps,
            dimensions=1 if self.keys is None else len(self.keys),
            times=min(self.steps_per_unit, steps),
            separation=min(self.separation, steps),
            lattice=self.rows * self.size,
        )

    @property
    def size(self) -> int:
        """Grid steps of one row that is counted, or of the largest value that is added up."""
        return STEPS_OF_A_ROW if self.bounds is None else STEPS_OF_A_VALUE

    @property
    def grid(self) -> float:
        """Value of one grid step."""
        return (1.0 if self.bounds is None else max(map(abs, self.bounds))) / self.size

    @property
    def protects(self) -> str:
        """Whose data the loss is about, for people."""
        if self.unit is None:
            return f"one event in one step ({self.relation})"
        often = f"up to {self.rows} rows in each of up to {self.steps_per_unit} steps"
        apart = f", {self.separation} steps apart" if self.separation > 1 else ""
        return f"{self.unit}, {often}{apart} ({self.relation})"

    @property
    def identity(self) -> str:
        """The declared facts as text: equal plans have equal text."""
        data = self.to_data() | dict.fromkeys(("epsilon", "delta", "rho"))
        data |= {name: quotient_text(value) for name, value in self.price.words.items()}
        return json.dumps(data, sort_keys=True, default=repr)

    @cached_property
    def strategies(self) -> "tuple[PricedStrategy, ...]":
        """All strategies, the one with the least expected error first."""
        priced = [PricedStrategy.of(name, each, self) for name, each in self._candidates()]
        return tuple(sorted(priced, key=self._error) if len(priced) > 1 else priced)

    def _error(self, strategy: "PricedStrategy") -> float:
        """Return what strategies are compared by: greatest error, or that of windows."""
        return strategy.expected_error if self.windows else strategy.correlation.errors(self.uses)[0]

    def chosen(self) -> "PricedStrategy":
        """Return the strategy that a stream of this plan uses."""
        return self.strategies[0]

    def explain(self) -> str:
        """Return price, protection and expected errors of all strategies, as text."""
        what = "rows" if self.bounds is None else f"values in [{self.bounds[0]:g}, {self.bounds[1]:g}]"
        horizon = "any number of steps" if self.steps is None else f"{self.steps} steps"
        lines = [f"{horizon} of {what}, {self.price} in all; protects {self.protects}"]
        lines += [str(each) for each in self.strategies]
        return "\n".join(lines)

    def _candidates(self) -> "list[tuple[str, NoiseCorrelation]]":
        asked = self.strategy
        uses = self.uses
        if self.steps is None:
            if asked not in ("auto", "buffered"):
                raise InvalidParameterError(f"a stream without a horizon is buffered, not {asked}")
            return [("buffered", WholeBuffered.lasting(buffers=_BUFFERS))]
        made: list[tuple[str, NoiseCorrelation]] = []
        if asked in ("auto", "buffered"):
            made.append(("buffered", WholeBuffered.best(uses, buffers=_BUFFERS)))
        if asked == "tree" or (asked == "auto" and self.steps <= _DENSE_STEPS):
            made.append(("tree", Tree()))
        if asked == "square root":
            made.append(("square root", Triangular.square_root(uses)))
        if asked == "dense" or (asked == "auto" and self.windows and self.steps <= _DENSE_STEPS):
            made.append(("dense", Triangular.best(uses, windows=self.windows, totals=True)))
        return made


@dataclass(frozen=True, kw_only=True)
class PricedStrategy:
    """A correlation with the noise that the price of a plan buys.

    Args:
        name: of the kind, as plans have it.
        plan: that it serves.
        correlation: of the noise.
        noise_multiplier: standard deviation of the noise over the greatest part of one unit in one step.
    """

    name: str
    plan: StreamPlan
    correlation: NoiseCorrelation
    noise_multiplier: Fraction

    @classmethod
    def of(cls, name: str, correlation: NoiseCorrelation, plan: StreamPlan) -> "PricedStrategy":
        """Return the strategy with the least noise for the price of the plan."""
        uses, price = plan.uses, plan.price
        moved = of_ball_sum(radius=correlation.sensitivity(uses), dimensions=1, rows=1, relation=plan.relation)
        if price.rho is not None:
            mu_squared = 2 * price.rho
        else:
            assert price.epsilon is not None
            mu_squared = largest_mu_squared(price.epsilon, price.delta)
        sigma_squared = Gaussian.calibrated(moved, mu_squared=mu_squared).sigma_squared * _SLACK
        multiplier = root_above(sigma_squared, 9) / (uses.lattice * correlation.fine(uses))
        return cls(name=name, plan=plan, correlation=correlation, noise_multiplier=multiplier)

    @classmethod
    def from_json(cls, text: str, plan: StreamPlan) -> "PricedStrategy":
        """Return the strategy of a text from `to_json`, checked again."""
        data = json.loads(text)
        multiplier = Fraction(data["noise_multiplier"])
        return cls(
            name=data["name"],
            plan=plan,
            correlation=made_of("kind", data["correlation"], _KINDS),
            noise_multiplier=multiplier,
        )

    def to_json(self) -> str:
        """Return the matrix and its noise as JSON text."""
        noise = quotient_text(self.noise_multiplier)
        return json.dumps({"name": self.name, "correlation": self.correlation.to_data(), "noise_multiplier": noise})

    @cached_property
    def noise(self) -> Gaussian:
        """Noise of every released integer."""
        return self.correlation.noise(self.noise_multiplier, self.plan.uses)

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of all steps together, stated at the price."""
        loss = self.correlation.privacy_loss(self.noise_multiplier, self.plan.uses, self.plan.relation)
        return self.plan.price.stated(loss)

    def standard_errors(self, steps: int, *, window: int | None = None) -> Floats:
        """Return standard errors of totals, or of a window, shape (steps,).

        Args:
            steps: how many.
            window: number of steps that are added up; None for all so far.
        """
        uses = Uses(steps=steps, dimensions=1, times=1, separation=1, lattice=self.plan.uses.lattice)
        fine = self.correlation.fine(self.plan.uses)
        sigma = self.noise.standard_deviation() * self.plan.grid / fine
        return self.correlation.spreads(uses, window=window) * sigma

    @cached_property
    def expected_error(self) -> float:
        """Greatest standard error of a total.

        Where windows are declared, it is the root mean square of all sums. Without a horizon: of a million steps.
        """
        steps = min(self.plan.uses.steps, 10**6)
        totals = self.standard_errors(steps)
        if not self.plan.windows:
            return float(totals.max())
        every = [totals, *(self.standard_errors(steps, window=window) for window in self.plan.windows)]
        return math.sqrt(float(np.mean([(each**2).mean() for each in every])))

    def __str__(self) -> str:
        """The kind, and standard errors of what is released."""
        steps = min(self.plan.uses.steps, 10**6)
        totals = self.standard_errors(steps)
        parts = [f"total +-{totals[-1]:.4g} at the end, +-{totals.max():.4g} at most"]
        for window in self.plan.windows:
            error = self.standard_errors(steps, window=window)
            parts.append(f"last {window} +-{math.sqrt(float((error**2).mean())):.4g}")
        return f"{self.name}: " + ", ".join(parts)
