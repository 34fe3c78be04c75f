"""Several releases, added up wrongly."""

import math
from fractions import Fraction
from math import inf
from typing import Any

from deniable.audit.gallery.chances import Chances, binomial, event, geometric
from deniable.audit.gallery.specimen import hang
from deniable.audit.laws import combine_laws
from deniable.privacy import ConcentratedLoss, GaussianDPLoss

TWOFOLD = "0.693148"
"""A little above ln 2: what one count with discrete Laplace noise of ratio 1/2 reveals."""


def lies(bit: int, count: int, truth: Fraction) -> Chances:
    """Return the distribution of the number of ones in responses about one bit."""
    return binomial(count, truth if bit else 1 - truth)


# fmt: off
hang("advanced composition by its first term",
     "epsilon sqrt(2k ln(1/delta)) without its second term, for 200 responses of epsilon 0.498.", "errata E29",
     lambda bit: lies(bit, 200, Fraction(622, 1000)), 0, 1, epsilon=0.5 * math.sqrt(400 * math.log(1e6)), delta="1e-6")
hang("advanced composition with the root of 8",
     "epsilon sqrt(8k ln(1/delta)) needs a small epsilon, and these 400 responses have 0.9997.", "errata E30",
     lambda bit: lies(bit, 400, Fraction(731, 1000)), 0, 1, epsilon=math.sqrt(8 * 400 * math.log(1e6)), delta="1e-6")
hang("central limit theorem as a guarantee",
     "The limit of 200 sampled responses is 1.01-GDP; 200 is not the limit, and the tail is heavier.", "errata E70",
     lambda bit: binomial(200, Fraction(2 + bit, 100)), 1, 0, claim=GaussianDPLoss(mu="1.02"))
hang("group privacy with t delta",
     "Each step of this chain of three tables is (1, 0.01)-DP; two steps are not (2, 0.02)-DP.", "errata E08",
     lambda table: event((Fraction("0.0371828"), Fraction("0.01"), Fraction(0))[table]), 0, 2, epsilon=2, delta="0.02",
     truth=inf)
hang("exponential mechanisms under zCDP",
     "Fifty choices whose losses are 1/2 up or down: rho is 1/8 each, and 1/32 was accounted.", "OpenDP, issue 2911",
     lambda bit: lies(bit, 50, Fraction(62246, 100_000)), 1, 0, claim=ConcentratedLoss(rho="50/32"))
hang("Renyi bound of a mechanism with delta",
     "The record is published with probability 0.01, which no Renyi divergence allows.", "errata E41",
     lambda record: event(Fraction(record, 100)), 1, 0, claim=ConcentratedLoss(rho="0.02"), truth=inf)
hang("sampled step with epsilon/n",
     "One of ten records answers; amplification gives ln(1 + (e - 1)/10) = 0.158 and not 1/10.", "errata E36",
     lambda bit: event(Fraction(9 * 269 + (731 if bit else 269), 10_000)), 1, 0, epsilon="0.1",
     truth=math.log1p((math.e - 1) / 10))
hang("parallel composition under replace",
     "Noise of scale 1/epsilon in each cell of a histogram; a row that is replaced moves two cells.", "errata E62",
     lambda counts: combine_laws([geometric(count, -8, 9) for count in counts]), (1, 0), (0, 1), epsilon=TWOFOLD,
     truth=2 * math.log(2))

def average(sum_and_count: Any) -> Chances:
    return combine_laws([geometric(value, -8, 9) for value in sum_and_count])

hang("one charge for two mechanisms", "AVG draws noise for a sum and for a count, and charges once.",
     "SmartNoise SDK, issue 202", average, (1, 1), (0, 0), epsilon=TWOFOLD, truth=2 * math.log(2))
hang("fresh noise on every read", "A lazy result is computed anew by each of three actions, and charged once.",
     "lazy frames of Spark, as in PipelineDP and SmartNoise", lambda count: combine_laws([geometric(count, -4, 5)] * 3),
     1, 0, epsilon=TWOFOLD, truth=3 * math.log(2))

def run_again(count: Any) -> Chances:
    once = geometric(count, 0, 9)
    empty = once.pop(0)
    again = sum((empty**k for k in range(6)), Fraction(0))
    return {"none": empty**6} | {value: mass * again for value, mass in once.items()}

hang("run again until there is a result",
     "A query whose noisy count is not positive is run up to 5 more times for the price of one.",
     "Lomas, process_query_with_iter", run_again, 0, 1, epsilon=TWOFOLD, truth=6 * math.log(2))
hang("responses without memory",
     "The same answer is randomised anew each day, and ten days are claimed to cost as much as one.",
     "dBitFlipPM in multi-freq-ldpy", lambda bit: lies(bit, 10, Fraction(731, 1000)), 0, 1,
     truth=10 * math.log(731 / 269))
hang("two counts", "Nothing: two counts, and the price of two.", "basic composition", average, (1, 1), (0, 0),
     epsilon="1.386296", truth=2 * math.log(2))
