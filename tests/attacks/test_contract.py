"""Every public attack refuses bad numbers, seeds, names and kinds in a sentence, before it works."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from deniable.attacks import (
    anonymity,
    census,
    differencing,
    implementation,
    linkage,
    membership,
    reconstruction,
    synthetic,
    tracing,
)
from deniable.errors import DeniableError

BITS = [0, 1] * 20
TABLE = pa.table({"age": [30, 30, 40, 40] * 5, "ill": ["flu", "cold", "gout", "flu"] * 5})
PEOPLE = TABLE.append_column("id", pa.array(range(20)))
QUASI: dict[str, Any] = {"quasi": "age", "sensitive": "ill"}
THREE: dict[str, Any] = {"original": TABLE, "synthetic": TABLE, "control": TABLE}
BLOCK = census.read_block({"attributes": {"age": [0, 9]}, "statistics": [{"group": "total population", "count": 1}]})
RATINGS = linkage.make_ratings(users=9, items=9, density=0.4)
SHADOW: dict[str, Any] = {"target": [0.1, 0.2], "shadow": [[0.1, 0.2]] * 4, "inside": [[0, 0], [0, 0], [1, 1], [1, 1]]}
LOG: dict[str, Any] = {"log": [[0, 1, 2], [0, 1]], "rows": 9}
CODE = tracing.draw_code(users=4, coalition=1, length=20)
POOL: dict[str, Any] = {"members": np.eye(3), "strangers": np.ones((160, 3)), "reference": [0.5] * 3}


def exact(groups: Any) -> Any:
    return np.asarray(groups @ np.array(BITS), dtype=float)


CALLS: dict[str, dict[str, Any]] = {
    "attack_by_intersection": {"first": PEOPLE, "second": PEOPLE, "person": "id", **QUASI},
    "attack_homogeneity": {"release": TABLE, **QUASI},
    "attack_with_background": {"release": TABLE, **QUASI},
    "compare_anonymity": {"frame": TABLE, "k": 2, **QUASI},
    "delta_disclosure": {"frame": TABLE, **QUASI},
    "generalise": {"frame": TABLE, "quasi": "age", "k": 2},
    "k_anonymity": {"frame": TABLE, "quasi": "age"},
    "l_diversity": {"frame": TABLE, **QUASI},
    "measure_anonymity": {"frame": TABLE, **QUASI},
    "recursive_diversity": {"frame": TABLE, **QUASI},
    "suppress": {"frame": TABLE, "quasi": "age", "k": 2},
    "t_closeness": {"frame": TABLE, **QUASI},
    "tabulate": {"frame": TABLE, "by": "age"},
    "reconstruct_block": {"tables": BLOCK},
    "solve_block": {"tables": BLOCK},
    "tabulate_block": {"people": [{"age": 3}], "groups": [], "attributes": {}, "ages": (0, 9)},
    "find_determined_people": LOG,
    "find_differences": LOG,
    "subtract_counts": {"answer": exact, "secrets": BITS, "deviation": 1.0},
    "average_repeats": {"ask": lambda _: 1.0, "questions": [["a"]], "exact": [1]},
    "laplace_of_words": {"words": np.full((1, 2), 1 << 20, dtype=np.uint64), "scale": 1.0},
    "measure_work": {"release": lambda: 1.0, "clock": lambda: 0.0, "runs": 2},
    "overspend": {"ask": abs, "analysts": 2, "affordable": 1},
    "predict_words": {"outputs": np.zeros(624), "count": 1},
    "reachable": {"outputs": [1.0], "center": 0.0, "scale": 1.0},
    "addable": {"outputs": [1.0], "center": 0.0},
    "recover_state": {"answers": range(626), "known": range(624), "word": np.uint64, "noise": np.float64},
    "recover_seed": {"answers": [1.0] * 4, "noise": lambda words: words[:, ::2] / 7, "seeds": 2},
    "distinguish_by_failure": {"present": abs, "absent": abs, "questions": [1]},
    "distinguish_by_sum": {"answer": sum, "bounds": (0.0, 1.0), "epsilon": 1.0, "rows": 8, "runs": 4},
    "distinguish_by_support": {"first": [1.0], "second": [1.0], "centers": (0.0, 1.0), "scale": 1.0},
    "expected_unique_share": {"people": 9, "cells": 9.0},
    "learn_from_later_data": {"release": lambda bits: [sum(bits)], "secrets": BITS, "groups": [0] * 40, "epsilon": 1.0},
    "link_queries": {"users": [1], "texts": ["a"], "roll": ["a b", "c d"]},
    "link_ratings": {"released": RATINGS, "known": RATINGS, "truth": np.arange(9)},
    "link_tables": {"released": TABLE, "roll": TABLE, "columns": "age", "name": "ill"},
    "make_ratings": {"users": 9, "items": 9},
    "measure_uniqueness": {"frame": TABLE, "columns": "age", "cells": 9.0},
    "observe_ratings": {"ratings": RATINGS, "targets": [1], "count": 1},
    "infer_attribute": {"loss": lambda rows: rows[:, 0], "rows": np.eye(2), "strangers": np.eye(2), "column": 0},
    "score_lira": SHADOW,
    "score_rmia": {**SHADOW, "population_target": [0.5], "population_shadow": [[0.5]] * 4},
    "infer_membership": {"member_scores": [1, 2], "other_scores": range(300)},
    "threshold_at": {"other_scores": range(300), "false_positive_rate": 0.05},
    "answer_adversarially": {"secrets": BITS, "error": 1.0},
    "answer_rounded": {"secrets": BITS, "base": 2},
    "answer_unless_small": {"secrets": BITS, "below": 2},
    "answer_with_gaussian": {"secrets": BITS, "sigma": 1.0},
    "answer_with_laplace": {"secrets": BITS, "scale": 1.0},
    "answer_within": {"secrets": BITS, "error": 1.0},
    "anti_concentration": {"differing": 4},
    "attack_by_reconstruction": {"answerer": exact, "secrets": BITS},
    "bound_all_queries": {"people": 4, "error": 1.0},
    "bound_random_queries": {"people": 4, "queries": 99, "error": 1.0},
    "choose_subsets": {"people": 4},
    "estimate_by_least_squares": {"subsets": np.eye(2), "answers": [0, 1]},
    "estimate_by_linear_program": {"subsets": np.eye(2), "answers": [0, 1]},
    "hadamard_subsets": {"people": 4},
    "random_subsets": {"people": 4, "queries": 4},
    "sparse_subsets": {"people": 4, "queries": 4, "size": 2},
    "sweep_noise": {"people": (4,), "noises": (1.0,), "repeats": 1},
    "infer_from_synthetic": {**THREE, "secret": "ill"},
    "link_halves": {**THREE, "left": ["age"], "right": ["ill"]},
    "measure_synthetic_risk": THREE,
    "single_out": {key: pa.table({"age": range(9)}) for key in THREE},
    "wilson_rate": {"right": 1, "attempts": 2},
    "attributes_to_trace": {"people": 9},
    "code_length": {"users": 9, "coalition": 2},
    "collude": {"words": CODE.words, "strategy": "majority"},
    "draw_code": {"users": 4, "coalition": 2, "length": 9},
    "draw_pool": {"people": 3, "attributes": 3, "strangers": 3},
    "least_correlation": {"people": 3},
    "score_targets": {"targets": np.eye(3), "reference": [0.5] * 3, "published": [0.5] * 3},
    "trace": {**POOL, "published": [0.5] * 3},
    "trace_colluders": {"code": CODE, "copy": CODE.words[0], "colluders": [0]},
    "tracing_power": {"people": 3, "reference": [0.5] * 3},
}  # fmt: skip

BAD: dict[str, list[Any]] = {
    "int": [-1, 2.5, np.nan, "text", [], 10**400],
    "float": [np.nan, "text", [], 10**400],
    "names": [None, 7, [], [7]],
    "kind": ["no such kind", None, []],
}  # fmt: skip


NAMES = ("quasi", "sensitive", "columns", "by", "left", "right", "known", "secret", "name")


def kind_of(parameter: inspect.Parameter) -> str | None:
    words = str(parameter.annotation).replace("<class '", "").split("'>")[0].removesuffix(" | None")
    if words.startswith("typing.Literal"):
        return "kind"
    if (
        parameter.name in ("quasi", "sensitive", "columns", "by", "left", "right", "known", "secret", "name")
        and "str" in words
    ):
        return "names"
    return words if words in BAD else None


ROOMS = (anonymity, census, differencing, implementation, linkage, membership, reconstruction, synthetic, tracing)
ATTACKS: dict[str, Callable[..., Any]] = {
    name: getattr(part, name) for part in ROOMS for name in part.__all__ if inspect.isfunction(getattr(part, name))
}
READ = {
    name: {one.name: kind for one in inspect.signature(attack).parameters.values() if (kind := kind_of(one))}
    for name, attack in ATTACKS.items()
}


def test_the_table_names_every_attack_that_takes_a_number_a_name_or_a_kind() -> None:
    assert {name for name, kinds in READ.items() if kinds} <= set(CALLS) <= set(ATTACKS)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_bad_input_is_refused_in_a_sentence(name: str) -> None:
    call, may_be_empty = ATTACKS[name], ("known", "grounds") if name != "measure_anonymity" else ("sensitive",)
    call(**CALLS[name])
    for parameter, kind in READ[name].items():
        for value in BAD[kind]:
            if value is None and parameter in may_be_empty:
                continue
            with pytest.raises(DeniableError):
                call(**{**CALLS[name], parameter: value})
