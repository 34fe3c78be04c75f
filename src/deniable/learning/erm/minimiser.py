"""Private empirical risk minimisation by four mechanisms, and a comparison."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.arguments import check_kind
from deniable.errors import InvalidParameterError
from deniable.learning.clips import Clip
from deniable.learning.descent.noisy import NoisyDescent
from deniable.learning.descent.projected import started
from deniable.learning.erm.exact import minimise
from deniable.learning.erm.exponential import ExponentialMinimiser
from deniable.learning.erm.perturbation import Objective, Output
from deniable.learning.erm.problem import Problem
from deniable.learning.estimators.estimator import Estimator, Work, same_length
from deniable.learning.losses import Loss
from deniable.learning.plan import TrainingPlan
from deniable.learning.rates import noisy_descent_steps
from deniable.learning.sets import FeasibleSet
from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_integer, positive_rational, shown, whole_number
from deniable.privacy import AddRemove, Relation
from deniable.rows import Container, without_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHODS = ("exponential", "output", "objective", "gradient")
_MOST_STEPS = 400


@dataclass(kw_only=True, eq=False, repr=False)
class RiskMinimiser(Estimator):
    """Minimise a sum of losses of a linear model over private rows.

    | method | how | guarantee |
    |---|---|---|
    | `exponential` | chooses among `candidates` points of a grid, in few dimensions | pure or approximate |
    | `output` | adds noise to the minimiser with a penalty | pure (Laplace) or approximate (Gaussian) |
    | `objective` | adds a random linear term to the sum, and minimises | pure or approximate |
    | `gradient` | descends by `steps` noisy gradients of all rows | approximate |

    Rows are cut to the norm `row_norm`, labels to the range of the loss; a row that holds anything else counts as zero.

    Args:
        loss, feasible, method: what is minimised, where, and how.
        expected_rows: about how many rows there are, from public knowledge; sets strengths and bounds, not privacy.
        epsilon, delta, relation: what it may cost, under AddRemove or Replace.
        row_norm: the largest l2 norm of a row.
        regularisation: of `output` and `objective`: half of it times the squared distance to the start is added to the
            sum. By default that of the best bound; one that is too weak for epsilon is raised, see `regularisation_`.
        steps, candidates: of `gradient`, and at most of `exponential`.
        start: public parameters, such as a model of public rows; by default the middle of the set.

    `coef_` are the parameters, `excess_risk_` bounds the expected mean loss over the least, for `expected_rows` rows.

    Guarantee: `cost_`; it follows from integers and from certified minimisers, rounding included.
    Raises: UnprovedError in `fit`, with nothing released, if rounding kept it from certifying, beyond some 10^9 rows.
    Source: Chaudhuri, Monteleoni, Sarwate (2011); Iyengar et al. (2019); docs/theory/learning/erm.md.

    >>> from deniable.learning import RiskMinimiser
    >>> from deniable.learning.losses import Logistic
    >>> from deniable.learning.sets import L2Ball
    >>> rows, labels = [[0.6, 0.8], [0.6, -0.8]] * 500, [1, -1] * 500
    >>> public = {"loss": Logistic(), "feasible": L2Ball(radius=5, columns=2), "expected_rows": 1000}
    >>> bool(RiskMinimiser(**public, epsilon=1, delta="1e-6").fit(rows, labels).coef_[1] > 1)
    True
    """

    loss: Loss
    feasible: FeasibleSet
    expected_rows: int
    method: str = "objective"
    epsilon: Real | None = None
    delta: Real = 0
    relation: Relation = AddRemove
    row_norm: Real = 1
    regularisation: Real | None = None
    steps: int | None = None
    candidates: int = 4096
    start: ArrayLike | None = None

    def _planned(self, X: Container, y: Container | None) -> Work:
        problem = self._problem()
        method = self._method(problem)
        same_length(X, y)
        problem.read(without_rows(X), without_rows(y))
        bound = min(method.bound, problem.steep * problem.feasible.diameter)  # no point is further above the least
        known = {"excess_risk_": bound, "regularisation_": getattr(method, "regularisation", None)}

        def train(bits: Bits) -> Mapping[str, Any]:
            return known | {"coef_": method.draw(*problem.read(X, y), bits)}

        return Work(loss=method.loss, how=method.how, train=train, relation=problem.relation, delta=self.delta)

    def _problem(self) -> Problem:
        check_kind("loss", self.loss, Loss)
        check_kind("feasible", self.feasible, FeasibleSet)
        size, norm = positive_integer("expected_rows", self.expected_rows), positive_rational("row_norm", self.row_norm)
        return Problem(
            loss=self.loss, feasible=self.feasible, start=started(self.feasible, self.start)[0], size=size,
            row_norm=norm, price=Price.of(self.epsilon, self.delta, None), relation=Relation(self.relation),
        )  # fmt: skip

    def _method(self, problem: Problem) -> "ExponentialMinimiser | Output | Objective | _Gradient":
        """Return the planned method: its loss, bound, note, and how to draw."""
        if self.method not in METHODS:
            raise InvalidParameterError(f"method must be one of {', '.join(METHODS)}, got {shown(self.method)}")
        if self.method == "exponential":
            return ExponentialMinimiser(problem, whole_number("candidates", self.candidates, lower=2, upper=2**20))
        if self.method == "gradient":
            return _Gradient(problem, self.steps)
        given = self.regularisation
        strength = None if given is None else float(positive_rational("regularisation", given))
        return (Output if self.method == "output" else Objective)(problem, strength)


class _Gradient:
    """Noisy descent over all rows.

    Its steps are those at which the errors of noise and optimisation are equal, or fewer.
    """

    def __init__(self, problem: Problem, steps: int | None) -> None:
        price = problem.price
        columns = problem.columns
        clip = Clip(norm=Fraction(problem.steep))
        assert price.epsilon is not None
        if not price.delta:
            raise InvalidParameterError("method='gradient' needs delta > 0: its noise is Gaussian. Or use 'objective'.")
        goal = {"epsilon": price.epsilon, "delta": price.delta}
        best = min(noisy_descent_steps(columns=columns, size=problem.size, **goal), _MOST_STEPS)
        count = best if steps is None else positive_integer("steps", steps)
        curved = problem.loss.smoothness(row_radius=problem.row_norm)
        plan = TrainingPlan.calibrate(**goal, steps=count, dimensions=columns, clip=clip, relation=problem.relation)
        self._descent = NoisyDescent(
            loss=problem.loss, feasible=problem.feasible, plan=plan, size=problem.size,
            start=tuple(problem.start.tolist()), smoothness=Fraction(curved) if curved < math.inf else None,
        )  # fmt: skip
        self.loss = price.stated(self._descent.plan.privacy_loss)
        self.bound = self._descent.bound
        self.how = f"{count} steps of descent with noise on the sum of gradients."

    def draw(self, rows: Floats, labels: Floats, bits: Bits) -> Floats:
        return self._descent.release(rows, labels, bits=bits).value.average


@dataclass(frozen=True, kw_only=True)
class RiskComparison:
    """Mean losses on the rows of the fit, for each epsilon and method: secret.

    `floor` is about the least mean loss, without privacy. No number here is for publication.
    """

    epsilons: tuple[float, ...]
    risks: Mapping[str, Floats]
    floor: float

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw risk against epsilon, and the floor, on matplotlib axes."""
        from deniable.privacy.reports.plot import axes_for

        ax = axes_for(ax)
        for name, values in self.risks.items():
            ax.plot(self.epsilons, values, marker="o", label=name)
        ax.axhline(self.floor, linestyle="--", color="#223344", label="without privacy")
        ax.set(xscale="log", xlabel="epsilon", ylabel="mean loss on the rows of the fit")
        ax.set_xticks(self.epsilons, [f"{each:g}" for each in self.epsilons])
        ax.minorticks_off()
        ax.legend()
        return ax


def compare_minimisers(
    rows: Container, labels: Container, *, epsilons: Sequence[Real], methods: Sequence[str] = METHODS, runs: int = 5,
    bits: Bits = SECURE, **public: Any,
) -> RiskComparison:  # fmt: skip
    """Compare the mean losses of each method at each epsilon.

    For public or made-up rows, to choose a method.

    Args:
        rows, labels, public: the comparison is not private; all else as in `RiskMinimiser`.
        runs: fits of each method at each epsilon, of which the mean is taken.
        bits: leave it out, except in tests.

    >>> from deniable.learning import compare_minimisers
    >>> from deniable.learning.losses import Logistic
    >>> from deniable.learning.sets import L2Ball
    >>> rows, public = [[0.6, 0.8], [0.6, -0.8]] * 50, {"loss": Logistic(), "feasible": L2Ball(radius=5, columns=2)}
    >>> found = compare_minimisers(rows, [1, -1] * 50, epsilons=[4], methods=["output"], expected_rows=100, **public)
    >>> bool(found.floor < found.risks["output"][0])
    True
    """
    problem = RiskMinimiser(**public, epsilon=1)._problem()
    read, known = problem.read(rows, labels)
    weak = 1e-4 * len(read) * min(problem.curved, 1.0)
    best = minimise(problem, read, known, weak, np.zeros(problem.columns))

    def risk(method: str, epsilon: Real) -> float:
        model = RiskMinimiser(**public, method=method, epsilon=epsilon)
        planned = model._method(model._problem())
        draws = [planned.draw(read, known, bits) for _ in range(positive_integer("runs", runs))]
        return float(np.mean([problem.loss.mean(parameters, read, known) for parameters in draws]))

    shown_at = tuple(float(positive_rational("epsilons", each)) for each in epsilons)
    risks = {method: np.array([risk(method, each) for each in epsilons]) for method in methods}
    return RiskComparison(epsilons=shown_at, risks=risks, floor=problem.loss.mean(best, read, known))
