"""Several releases, added up wrongly."""

import math
from fractions import Fraction
from typing import Any

from deniable.audit.gallery.chances import Chances, binomial, event, geometric, independent
from deniable.audit.gallery.specimen import specimen
from deniable.privacy import ConcentratedLoss, GaussianDPLoss

TWOFOLD = "0.693148"
"""A little above ln 2: what one count with discrete Laplace noise of ratio 1/2 reveals."""


def lies(bit: int, count: int, truth: Fraction) -> Chances:
    """The law of the number of ones in randomised responses about one bit."""
    return binomial(count, truth if bit else 1 - truth)


@specimen("advanced composition by its first term", epsilon=0.5 * math.sqrt(400 * math.log(1e6)), delta="1e-6", data=0,
          neighbour=1, source="errata E29")  # fmt: skip
def first_term(bit: Any) -> Chances:
    """epsilon sqrt(2k ln(1/delta)) without its second term, for 200 responses of epsilon 0.498."""
    return lies(bit, 200, Fraction(622, 1000))


@specimen("advanced composition with the root of 8", epsilon=math.sqrt(8 * 400 * math.log(1e6)), delta="1e-6", data=0,
          neighbour=1, source="errata E30")  # fmt: skip
def root_of_eight(bit: Any) -> Chances:
    """epsilon sqrt(8k ln(1/delta)) needs a small epsilon, and these 400 responses have 0.9997."""
    return lies(bit, 400, Fraction(731, 1000))


@specimen("central limit theorem as a guarantee", claim=GaussianDPLoss(mu="1.02"), data=1, neighbour=0,
          source="errata E70")  # fmt: skip
def central_limit(bit: Any) -> Chances:
    """The limit of 200 sampled responses is 1.01-GDP; 200 is not the limit, and the tail is heavier."""
    return binomial(200, Fraction(2 + bit, 100))


@specimen(
    "group privacy with t delta", epsilon=2, delta="0.02", data=0, neighbour=2, truth=math.inf, source="errata E08"
)
def group(place: Any) -> Chances:
    """Each step of this chain of three tables is (1, 0.01)-DP; two steps are not (2, 0.02)-DP."""
    return event((Fraction("0.0371828"), Fraction("0.01"), Fraction(0))[place])


@specimen("exponential mechanisms under zCDP", claim=ConcentratedLoss(rho="50/32"), data=1, neighbour=0,
          source="OpenDP, issue 2911")  # fmt: skip
def quarter_of_rho(bit: Any) -> Chances:
    """Fifty choices whose losses are 1/2 up or down: rho is 1/8 each, and 1/32 was accounted."""
    return lies(bit, 50, Fraction(62246, 100_000))


@specimen("Renyi bound of a mechanism with delta", claim=ConcentratedLoss(rho="0.02"), data=1, neighbour=0,
          truth=math.inf, source="errata E41")  # fmt: skip
def name_and_shame(record: Any) -> Chances:
    """The record is published with probability 0.01, which no Renyi divergence allows."""
    return event(Fraction(record, 100))


@specimen("sampled step with epsilon/n", epsilon="0.1", data=1, neighbour=0, truth=math.log1p((math.e - 1) / 10),
          source="errata E36")  # fmt: skip
def divided_step(bit: Any) -> Chances:
    """One of ten records answers; amplification gives ln(1 + (e - 1)/10) = 0.158 and not 1/10."""
    truth = Fraction(731, 1000)
    return event(Fraction(9, 10) * (1 - truth) + Fraction(1, 10) * (truth if bit else 1 - truth))


@specimen("parallel composition under replace", epsilon=TWOFOLD, data=(1, 0), neighbour=(0, 1), truth=2 * math.log(2),
          source="errata E62")  # fmt: skip
def parallel_cells(counts: Any) -> Chances:
    """Noise of scale 1/epsilon in each cell of a histogram; a row that is replaced moves two cells."""
    return independent([geometric(count, -8, 9) for count in counts])


@specimen("one charge for two mechanisms", epsilon=TWOFOLD, data=(1, 1), neighbour=(0, 0), truth=2 * math.log(2),
          source="SmartNoise SDK, issue 202")  # fmt: skip
def average(sum_and_count: Any) -> Chances:
    """AVG draws noise for a sum and for a count, and charges once."""
    return independent([geometric(value, -8, 9) for value in sum_and_count])


@specimen("fresh noise on every read", epsilon=TWOFOLD, data=1, neighbour=0, truth=3 * math.log(2),
          source="lazy frames of Spark, as in PipelineDP and SmartNoise")  # fmt: skip
def read_again(count: Any) -> Chances:
    """A lazy result is computed anew by each of three actions, and charged once."""
    return independent([geometric(count, -4, 5)] * 3)


@specimen("run again until there is a result", epsilon=TWOFOLD, data=0, neighbour=1, truth=6 * math.log(2),
          source="Lomas, process_query_with_iter")  # fmt: skip
def run_again(count: Any) -> Chances:
    """A query whose noisy count is not positive is run up to 5 more times for the price of one."""
    once = geometric(count, 0, 9)
    empty = once.pop(0)
    again = sum((empty**k for k in range(6)), Fraction(0))
    return {"none": empty**6} | {value: mass * again for value, mass in once.items()}


@specimen("responses without memory", epsilon=1, data=0, neighbour=1, truth=10 * math.log(731 / 269),
          source="dBitFlipPM in multi-freq-ldpy")  # fmt: skip
def without_memory(bit: Any) -> Chances:
    """The same answer is randomised anew each day, and ten days are claimed to cost as much as one."""
    return lies(bit, 10, Fraction(731, 1000))


@specimen("two counts", epsilon="1.386296", data=(1, 1), neighbour=(0, 0), truth=2 * math.log(2), sound=True,
          source="basic composition")  # fmt: skip
def sound(counts: Any) -> Chances:
    """Nothing: two counts, and the price of two."""
    return average(counts)
