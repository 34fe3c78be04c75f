"""`deniable audit function`: measure any function against its claim, by runs."""

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.app.commands.audit.shown import Delta, Epsilon, Plot, show_audit
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture
from deniable.app.terminal import waiting
from deniable.errors import InvalidParameterError, SourceError, redacted


def function(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FUNCTION",
            help="A function of one input that returns its noisy output; modules of this folder are found.",
            show_default=False,
        ),
    ],
    *,
    epsilon: Epsilon = None,
    delta: Delta = "0",
    neighbours: Annotated[
        str,
        typer.Option(
            metavar="KIND|FILE",
            help="Pairs of inputs to try. For lists of numbers: add-remove (one has a number more), replace (one "
            "number differs) or answers (all may differ). Or a JSON file: [[data, neighbour], ...].",
        ),
    ] = "add-remove",
    length: Annotated[int, typer.Option(min=1, metavar="N", help="Length of those lists.")] = 5,
    lower: Annotated[float, typer.Option(metavar="NUMBER", help="Least value in them.")] = 0.0,
    upper: Annotated[float, typer.Option(metavar="NUMBER", help="Greatest value in them.")] = 1.0,
    runs: Annotated[int, typer.Option(min=16, metavar="N", help="Runs on each input that is measured.")] = 50_000,
    confidence: Annotated[
        str, typer.Option(metavar="NUMBER", help="Probability with which the result holds.")
    ] = "0.99",
    seconds: Annotated[float, typer.Option(metavar="NUMBER", help="Time limit for all runs.")] = 60.0,
    batched: Annotated[
        bool, typer.Option("--batched", help="Call function(data, runs) for an array with one entry a run.")
    ] = False,
    ignore_low_bits: Annotated[
        bool, typer.Option("--ignore-low-bits", help="Do not look at the low bits of floating-point outputs.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the audit's own choices.")] = 0,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Test on neighbouring inputs if a function can be as private as it claims.

    It is run many times, as its answers are noisy.

    The exit code is 4 if the claim is false, and 5 if no such run could show that. An audit never shows that a claim
    is true. The function's code runs here.

    deniable audit mymodule:noisy_sum --epsilon 1

    deniable audit mymodule:noisy_mean --epsilon 0.5 --delta 1e-6 --neighbours pairs.json --json
    """
    from deniable.audit import list_pairs, search_pairs
    from deniable.audit.search import KINDS

    check_picture(plot)
    pairs = (
        list_pairs(neighbours, length=length, bounds=(lower, upper))
        if neighbours in KINDS
        else read_pairs(Path(neighbours))
    )
    mechanism = find_function(name)
    with waiting("running...") as progress:
        result = search_pairs(
            mechanism,
            pairs,
            epsilon=epsilon,
            delta=delta,
            confidence=confidence,  # type: ignore[arg-type]  # text is read exactly
            runs=runs,
            batched=batched,
            low_bits=not ignore_low_bits,
            seconds=seconds,
            seed=seed,
            progress=progress,
        )
    show_audit(result, plot=plot, as_json=as_json)


def find_function(name: str) -> Callable[..., Any]:
    """Return the function that `module:function` names.

    The current folder is among those that are searched.

    Raises: InvalidParameterError if it is not such a name; SourceError if it cannot be imported or called.
    """
    module, _, inside = name.partition(":")
    if not module or not inside:
        raise InvalidParameterError(f"name what to audit as MODULE:FUNCTION, such as mymodule:noisy_sum, got {name!r}.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        value: Any = importlib.import_module(module.removesuffix(".py"))
        for part in inside.split("."):
            value = getattr(value, part)
    except (Exception, SystemExit) as error:
        raise SourceError(f"{name} cannot be imported ({type(error).__name__}: {error}).") from None
    if not callable(value):
        raise SourceError(f"{name} cannot be called.")
    return value  # type: ignore[no-any-return]


def read_pairs(file: Path) -> dict[str, tuple[Any, Any]]:
    """Return pairs of inputs from JSON: a list of pairs, or an object of named ones.

    Raises: SourceError if the file is not that.
    """
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"{redacted(file)!r} cannot be read as JSON ({type(error).__name__}).") from None
    named = {f"pair {number}": pair for number, pair in enumerate(read, 1)} if isinstance(read, list) else read
    if not isinstance(named, dict) or not all(isinstance(pair, list) and len(pair) == 2 for pair in named.values()):
        raise SourceError(f"{redacted(file)!r} must hold [[data, neighbour], ...], or an object of such pairs by name.")
    return {name: (pair[0], pair[1]) for name, pair in named.items()}
