"""Slow path that decides, with any precision, what the first words left open.

A uniform real number v of [0, 1) is known by its leading bits. Where they do not decide, further words are appended to
the same number, never a fresh one drawn, and the other side is enclosed in a narrower ball (python-flint `arb`).
Guarantee: the event has exactly its probability, because the decision is that of the real number v.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable.noise.bits import Bits

if TYPE_CHECKING:
    from flint import arb

GUARD_BITS = 64


@dataclass(frozen=True)
class Prefix:
    """The first `length` bits of a uniform number.

    It lies in [value, value + 1) 2^-length.
    """

    value: int
    length: int

    def extended(self, bits: Bits, width: int = 64) -> "Prefix":
        """Return the same number with `width` more bits known."""
        word = int(bits.words(1)[0])
        return Prefix((self.value << width) | word, self.length + width)


def below(prefix: Prefix, bound: Callable[[], "arb"], bits: Bits, width: int = 64) -> bool:
    """Whether the uniform number is below the real number that `bound` encloses.

    Args:
        prefix: what is known of the number so far.
        bound: computes an enclosure at the working precision of python-flint; called again as that grows.
        bits: where further bits come from.
        width: bits a word of `bits` holds.

    Guarantee: true with probability exactly bound, over the unknown bits, if 0 <= bound <= 1.
    """
    from flint import arb, ctx, fmpz

    while True:
        with ctx.workprec(prefix.length + GUARD_BITS):
            scaled = bound() * arb(2) ** prefix.length
            if arb(fmpz(prefix.value + 1)) <= scaled:
                return True
            if arb(fmpz(prefix.value)) >= scaled:
                return False
        prefix = prefix.extended(bits, width)
