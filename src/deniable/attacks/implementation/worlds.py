"""The game of two worlds: each output came from one of two inputs, and the attacker says from which."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

Verdicts = tuple[NDArray[np.bool_], NDArray[np.bool_]]


def doubles(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Finite numbers as they were published, in float64.

    Raises: InvalidParameterError if there is none, or one is not a finite number.
    """
    try:
        read = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(f"{name} must hold numbers alone") from None
    if not read.size or not np.isfinite(read).all():
        raise InvalidParameterError(f"{name} must hold at least one number, and finite ones alone")
    return read


def judge_exclusions(attack: str, first: Verdicts, second: Verdicts, facts: Mapping[str, object]) -> AttackResult:
    """Score of an attacker who names the input that can give an output, where only one can.

    Where both can, or neither, she names the input that leaves more such outputs, which she can simulate. If nothing
    is ever excluded, she is as good as somebody who always names the world with more outputs: the baseline.

    Args:
        attack: name of the attack.
        first: outputs of the first world: whether the first input can give them, and whether the second can.
        second: outputs of the second world, likewise.
        facts: further numbers for the result.
    """
    tied = [int((a == b).sum()) for a, b in (first, second)]
    guessed = [np.where(a == b, int(tied[1] > tied[0]), b.astype(int)) for a, b in (first, second)]
    right = int((guessed[0] == 0).sum() + (guessed[1] == 1).sum())
    sizes = len(guessed[0]), len(guessed[1])
    shares = {
        "outputs of the first input that the second cannot give": f"{(first[0] & ~first[1]).mean():.1%}",
        "outputs of the second input that the first cannot give": f"{(second[1] & ~second[0]).mean():.1%}",
    }
    return AttackResult(
        attack=attack,
        target="which of two inputs was released",
        success=Share(right=right, attempts=sum(sizes)),
        baseline=max(sizes) / sum(sizes),
        guess="a guesser",
        learned=np.concatenate(guessed),
        facts={**shares, **facts},
    )
