"""`deniable account`: the cost of a composition of mechanisms, certified."""

import json
import math
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.app.options import AsJson
from deniable.app.pictures import check_picture, write_picture
from deniable.app.terminal import say, show_pairs, waiting
from deniable.errors import InvalidParameterError, SourceError, redacted
from deniable.numbers.rationals import Real

if TYPE_CHECKING:
    from deniable.privacy import Interval, PrivacyLoss


class Sought(Enum):
    """Parameter that --calibrate may search for."""

    NOISE = "noise"
    TRAINING_STEPS = "steps"
    RATE = "rate"


def account(
    composition: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="JSON of a loss, as to_json() writes it.", show_default=False),
    ] = None,
    *,
    noise_multiplier: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Standard deviation of the noise over the sensitivity (the clipping norm, under add/remove).",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Probability that an example is in a batch, such as 256/60000."),
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of steps; 1 if left out.")] = None,
    epochs: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="Number of epochs: with --batch-size and --examples, in place of --rate and --steps."
        ),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Expected number of examples in a batch.")
    ] = None,
    examples: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of examples in the training set.")
    ] = None,
    opacus: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The state of an Opacus accountant, as JSON or from torch.save.")
    ] = None,
    delta: Annotated[str | None, typer.Option(metavar="NUMBER", help="Print epsilon at this delta.")] = None,
    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="Print delta at this epsilon.")] = None,
    calibrate: Annotated[
        Sought | None, typer.Option(help="Find the least noise, most steps or largest rate for --epsilon and --delta.")
    ] = None,
    tolerance: Annotated[float, typer.Option(metavar="WIDTH", help="Largest width of the answer.")] = 1e-3,
    report: Annotated[bool, typer.Option("--report", help="Explain the result in words, at --delta.")] = False,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw delta against epsilon: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Say what training or any composition reveals: a certified epsilon or delta.

    Reads no data.

    deniable account --noise-multiplier 1.1 --rate 256/60000 --steps 14000 --delta 1e-5

    deniable account --noise-multiplier 1.1 --epochs 60 --batch-size 256 --examples 60000 --delta 1e-5
    """
    if epsilon is None and delta is None:
        raise InvalidParameterError("give --delta to learn epsilon, or --epsilon to learn delta.")
    check_picture(plot)
    if report and delta is None:
        raise InvalidParameterError("--report needs --delta.")
    if (epochs, batch_size, examples) != (None, None, None):
        if rate is not None or steps is not None:
            raise InvalidParameterError("give --epochs, --batch-size and --examples, or --rate and --steps, not both.")
        rate, steps = in_epochs(epochs, batch_size, examples)
    training = Training(noise_multiplier, rate, steps)
    _check_one_source(composition, opacus, training != Training() or calibrate is not None)
    with waiting("counting..."):
        if calibrate is not None:
            training = training.calibrated(calibrate, epsilon=epsilon, delta=delta, tolerance=tolerance)
        loss, counted = _counted(training, composition, opacus)
        about = loss.report(delta, population=examples, tolerance=tolerance) if report and delta else None
        said = None if about is None else replace(about, counted=counted)
        answer = Counted(
            loss,
            counted or repr(loss),
            epsilon=None if delta is None else loss.epsilon(delta, tolerance=tolerance),
            at_delta=delta,
            delta=None if epsilon is None or calibrate else loss.delta(epsilon, tolerance=tolerance),
            at_epsilon=epsilon,
            calibrated=None if calibrate is None else (calibrate.value, training.text(calibrate)),
            examples=examples,
        )
        if plot is not None:
            read = composition or opacus
            write_picture(loss.plot(), plot, never=() if read is None else (read,))
    if said is None:
        answer.check()
    if as_json:
        typer.echo(json.dumps(answer.data() if said is None else said.to_data(), indent=2))
    elif said is not None:
        say(str(said))
    else:
        show_pairs(answer.rows())


def _check_one_source(composition: Path | None, opacus: Path | None, by_options: bool) -> None:
    """Refuse a loss that is given in two ways.

    Raises: InvalidParameterError.
    """
    if sum([composition is not None, opacus is not None, by_options]) > 1:
        raise InvalidParameterError(
            "give a file, --opacus, or --noise-multiplier with --rate, --steps and --calibrate, not two of them."
        )


def _counted(training: "Training", composition: Path | None, opacus: Path | None) -> tuple["PrivacyLoss", str]:
    """Return the loss of the options or file, and words of its own if it has some."""
    if opacus is not None:
        from deniable.app.opacus import read_history
        from deniable.privacy.reports.imports import of_opacus

        return of_opacus(read_history(opacus)), ""
    return (_read(composition), "") if composition is not None else (training.loss(), training.said())


@dataclass(frozen=True)
class Training:
    """Training with Gaussian noise, perhaps on Poisson samples, some steps.

    None stands for what was not given.
    """

    noise: Real | None = None
    rate: Real | None = None
    steps: int | None = None

    def loss(self) -> "PrivacyLoss":
        """Return the loss of the training.

        Raises: InvalidParameterError if the noise is not known.
        """
        from deniable.privacy import GaussianLoss

        if self.noise is None:
            raise InvalidParameterError("say what to count: --noise-multiplier, or a file with a loss.")
        step: PrivacyLoss = GaussianLoss(self.noise)
        if self.rate is not None:
            step = step.poisson_sampled(rate=self.rate)
        return step * (1 if self.steps is None else self.steps)

    def text(self, part: Sought) -> str:
        """Return one part as it was given, or as a decimal if it was searched."""
        value = getattr(self, part.value)
        return str(value) if isinstance(value, str | int) else f"{float(value):.12g}"

    def said(self) -> str:
        """Return the training in words, with the numbers as they were given."""
        parts = [f"Gaussian noise {self.text(Sought.NOISE)}"]
        if self.rate is not None:
            parts.append(f"Poisson samples of rate {self.text(Sought.RATE)}")
        steps = 1 if self.steps is None else self.steps
        return ", ".join([*parts, f"{steps} step{'s' * (steps != 1)}"])

    def calibrated(self, sought: Sought, *, epsilon: Real | None, delta: Real | None, tolerance: float) -> "Training":
        """Return the training with the best `sought` parameter for the target.

        Raises: InvalidParameterError if something is missing, or was given although it is sought.
        """
        from deniable.privacy import calibrate
        from deniable.privacy.calibration.target import Target

        if epsilon is None or delta is None:
            raise InvalidParameterError("--calibrate needs --epsilon and --delta.")
        if getattr(self, sought.value) is not None:
            raise InvalidParameterError(f"--calibrate {sought.value} looks for what was given: leave that option out.")
        target: Target = {"epsilon": epsilon, "delta": delta}
        if sought is Sought.TRAINING_STEPS:
            max_steps = calibrate(
                lambda steps: replace(self, steps=steps).loss(), integer=True, tolerance=tolerance, **target
            )
            return replace(self, steps=max_steps)
        if sought is Sought.RATE:
            max_rate = calibrate(
                lambda rate: replace(self, rate=rate).loss(), over=(0, 1), tolerance=tolerance, **target
            )
            return replace(self, rate=max_rate)
        min_noise = calibrate(lambda noise: replace(self, noise=noise).loss(), tolerance=tolerance, **target)
        return replace(self, noise=min_noise)


def in_epochs(epochs: str | None, batch_size: int | None, examples: int | None) -> tuple[str, int]:
    """Return the sampling rate and the number of steps.

    A last batch that would be smaller counts as a whole step.

    Raises: InvalidParameterError unless all three are given and a batch fits.
    """
    from deniable.numbers.rationals import positive_rational

    if epochs is None or batch_size is None or examples is None:
        raise InvalidParameterError("--epochs, --batch-size and --examples go together: give all three.")
    if batch_size > examples:
        raise InvalidParameterError(f"--batch-size must be at most --examples, got {batch_size} of {examples}.")
    return f"{batch_size}/{examples}", math.ceil(positive_rational("epochs", epochs) * examples / batch_size)


def _read(file: Path) -> "PrivacyLoss":
    from deniable.privacy import PrivacyLoss

    try:
        return PrivacyLoss.from_json(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{redacted(file)!r} cannot be read as text ({type(error).__name__}).") from None


@dataclass(frozen=True)
class Counted:
    """Answer of `deniable account`: what was composed, and at which numbers."""

    loss: "PrivacyLoss"
    counted: str
    epsilon: "Interval | None"
    at_delta: str | None
    delta: "Interval | None"
    at_epsilon: str | None
    calibrated: tuple[str, str] | None
    examples: int | None = None

    def check(self) -> None:
        """Refuse an answer that says nothing.

        Raises: InvalidParameterError if no epsilon is proved at the delta, and no delta was asked for.
        """
        if self.delta is None and self.epsilon is not None and math.isinf(self.epsilon.upper):
            raise InvalidParameterError(
                f"no epsilon is proved at delta = {self.at_delta}: give a larger --delta, such as 1e-6, or --epsilon "
                "to learn delta."
            )

    def rows(self) -> list[tuple[str, str]]:
        """Return pairs of a subject and its text."""
        rows = [] if self.calibrated is None else [self.calibrated]
        rows += [("counted", self.counted), ("neighbours", " and ".join(self._relations()))]
        if self.epsilon is not None:
            rows.append(("epsilon", _said(self.epsilon, f"delta = {self.at_delta}")))
        if self.delta is not None:
            rows.append(("delta", _said(self.delta, f"epsilon = {self.at_epsilon}")))
        return [*rows, ("caution", self.warning)] if self.warning else rows

    @property
    def warning(self) -> str:
        """Warning about a delta that is not small against 1/examples; empty for others."""
        from deniable.numbers.rationals import probability
        from deniable.privacy.warning import warning_about

        if self.at_delta is None or self.examples is None:
            return ""
        return warning_about(delta=probability("delta", self.at_delta), population=self.examples)

    def data(self) -> dict[str, object]:
        """Return the answer as plain data for JSON."""
        from deniable.privacy.reports.report import as_data

        data: dict[str, object] = {}
        if self.calibrated is not None:
            data["calibrated"] = dict([self.calibrated])
        if self.epsilon is not None:
            data["epsilon"] = {**as_data(self.epsilon), "delta": self.at_delta}
        if self.delta is not None:
            data["delta"] = {**as_data(self.delta), "epsilon": self.at_epsilon}
        return {**data, "counted": self.counted, "relations": self._relations(), "loss": self.loss.to_data()}

    def _relations(self) -> list[str]:
        return sorted(map(str, self.loss.relations))


def _said(interval: "Interval", at: str) -> str:
    from deniable.privacy.reports.report import certified

    if math.isinf(interval.upper):
        return f"none is proved at {at}. Take a larger delta."
    return f"{certified(interval.upper)} at {at}; the smallest true one lies in {interval}"
