"""What `accuracy.py` measures, and how far a release is off: for our Python and for those of the peers alike.

A task is a dictionary: "statistic", "relation", "epsilon", "delta", "lower", "upper", "cells", and the "path" of an
.npy file with the rows.
"""

import time

import numpy as np

SHARES = {"median": (0.5,), "quantile_90": (0.9,), "minimum": (0.0,), "maximum": (1.0,)}
SHARES |= {"interquartile_range": (0.25, 0.75), "deciles": tuple(tenth / 10 for tenth in range(1, 10))}
OF_CODES = {"histogram", "cumulative_distribution", "key_counts", "top_k", "mode"}
CHOSEN = {"top_k": 5, "mode": 1}  # how many keys are asked for
POINTS = 1001  # candidates of those who choose among declared ones


class TooSlow(Exception):
    """So many releases would take too long."""


def truth(task, values):
    """The exact statistic: what the error is measured from. For chosen keys, the counts of all keys."""
    name = task["statistic"]
    if name in SHARES:
        found = np.quantile(values, SHARES[name])
        return found[1] - found[0] if name == "interquartile_range" else found
    if name in OF_CODES:
        counts = np.bincount(values, minlength=task["cells"])
        return np.cumsum(counts) / len(values) if name == "cumulative_distribution" else counts
    measures = {"count": len, "sum": np.sum, "mean": np.mean, "variance": np.var, "standard_deviation": np.std}
    return measures[name](values)


def squared_error(task, release, exact):
    """The mean over the numbers of one answer; for chosen keys, of the rows by which their counts fall short."""
    if task["statistic"] in CHOSEN:
        best = np.sort(exact)[len(exact) - CHOSEN[task["statistic"]] :].sum()
        return float(best - exact[np.asarray(release, dtype=np.int64)].sum()) ** 2
    return float(np.mean((np.asarray(release, dtype=np.float64) - exact) ** 2))


def dense(keys, counts, cells):
    """Published counts of keys; 0 for each key that was not published."""
    found = np.zeros(cells)
    found[np.asarray(keys, dtype=np.int64)] = counts
    return found


def measure(task, release, exact, *, seconds, least, most, patience):
    """Mean and spread of the squared errors of so many releases as the processor time allows, `least` in any case.

    Raises: TooSlow if `least` of them would take longer than `patience`.
    """
    release()  # the first one loads parts of the library, and does not count
    errors, start = [], time.process_time()
    while len(errors) < most:
        errors.append(squared_error(task, release(), exact))
        spent = time.process_time() - start
        if len(errors) >= least and spent > seconds:
            break
        if len(errors) in (3, 20) and spent / len(errors) * least > patience:
            raise TooSlow
    squares = np.array(errors)
    fourth = float(np.mean(squares**2))
    return {
        "runs": len(squares),
        "square": float(squares.mean()),
        "spread": float(squares.std() / np.sqrt(len(squares))),
        "wrong": int(np.count_nonzero(squares)),
        "effective": float(len(squares) * squares.mean() ** 2 / fourth) if fourth else 0.0,
    }
