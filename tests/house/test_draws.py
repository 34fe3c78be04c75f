# ruff: noqa: E501 - a table
"""Who draws: noise comes from the collection of mechanisms, or a named test holds its law.

A scale that stands by itself beside a stated loss can be halved, and nothing but a test of the released law sees it. So
every function outside of `mechanisms` that draws, or that makes a mechanism from a scale in place of asking for a loss
(`calibrated`), stands here with a test that fails at half of its scale, range or chance.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import deniable
from deniable.mechanisms import MECHANISMS

SOURCE, TESTS = Path(deniable.__file__).parent, Path(__file__).parents[1]
DRAWING_NOTHING = {"bits", "lattice"}  # modules of `noise`
SCALES = {"scale", "sigma_squared", "rate"}
KINDS = {mechanism.__name__ for mechanism in MECHANISMS.values()}

# The noise of the loss in `learn` is asked for; what is drawn there by hand are the actions.
HELD = {
    "games/auction.py:DigitalGoods.mechanism": "games/test_auction.py::test_the_losses_of_all_neighbours_lie_in_an_interval_of_length_epsilon",
    "games/congestion.py:CongestionGame.learn": "games/test_congestion.py::test_actions_and_the_round_that_is_told_are_drawn_evenly",
    "games/congestion.py:_SwapRegret.draw": "games/test_congestion.py::test_actions_and_the_round_that_is_told_are_drawn_evenly",
    "games/imposing.py:Imposing.mechanism": "games/test_imposing.py::test_the_law_of_neighbours_is_epsilon_private_and_twice_the_rate_is_not",
    "games/imposing.py:Imposing.release": "games/test_imposing.py::test_a_release_draws_from_the_mixture",
    "learning/erm/perturbation.py:Objective.__init__": "learning/erm/test_perturbation.py::test_what_is_released_for_no_rows_has_the_noise_that_is_paid_for",
    "learning/erm/perturbation.py:Objective.draw": "learning/erm/test_perturbation.py::test_what_is_released_for_no_rows_has_the_noise_that_is_paid_for",
    "learning/federated/rounds.py:Federated._check_lattice": "learning/federated/test_rounds.py::test_skellam_shares_have_the_noise_of_the_plan_and_a_loss_without_a_lattice_term",
    "learning/federated/rounds.py:Federated.share": "learning/federated/test_rounds.py::test_the_sum_has_the_noise_of_the_plan_and_nothing_is_divided_by_who_answered",
    "learning/estimators/search.py:PrivateGridSearch._planned.train.run": "learning/estimators/test_search.py::test_the_best_setting_wins_and_the_whole_search_is_stated",
    "learning/pate/teachers.py:Teachers._votes": "learning/pate/test_teachers.py::test_parts_are_disjoint_and_hold_every_row_with_a_declared_label",
    "learning/pate/vote.py:Vote.lnmax": "learning/pate/test_vote.py::test_lnmax_costs_twice_gamma",
    "learning/pate/vote.py:_gaussian": "learning/pate/test_vote.py::test_choices_follow_the_exact_law",
    "learning/plan.py:TrainingPlan.mechanism": "learning/test_plan.py::test_the_noise_is_as_large_as_the_plan_says_whatever_the_batch",
    "learning/samplers.py:BallsInBins.allot": "learning/test_samplers.py::test_draws_have_the_law_of_the_definition",
    "learning/samplers.py:CyclicPoisson.allot": "learning/test_samplers.py::test_draws_have_the_law_of_the_definition",
    "learning/samplers.py:FixedSize.allot": "learning/test_samplers.py::test_draws_have_the_law_of_the_definition",
    "learning/samplers.py:Poisson.allot": "learning/test_samplers.py::test_draws_have_the_law_of_the_definition",
    "learning/samplers.py:TruncatedPoisson.allot": "learning/test_samplers.py::test_draws_have_the_law_of_the_definition",
    "local/codes.py:rows_of_coins": "local/test_protocol.py::test_reports_are_drawn_from_the_law",
    "local/deployed/microsoft.py:OneBitMean.settle": "local/deployed/test_microsoft.py::test_the_bit_of_a_number_has_the_law_of_the_paper",
    "local/deployed/sketches.py:GroupedReports.settle": "local/deployed/test_sketches.py::test_reports_are_drawn_from_the_law",
    "local/directions.py:PrivUnit._encode": "local/test_directions.py::test_codes_are_drawn_from_the_channel",
    "local/directions.py:PrivUnit._ranks": "local/test_directions.py::test_codes_are_drawn_from_the_channel",
    "local/frequencies/direct.py:DirectResponse._draw": "local/test_protocol.py::test_reports_are_drawn_from_the_law",
    "local/frequencies/hadamard.py:HadamardResponse._draw": "local/test_protocol.py::test_reports_are_drawn_from_the_law",
    "local/frequencies/hashing.py:LocalHashing._draw": "local/frequencies/test_hashing.py::test_a_lie_is_every_other_cell_as_often",
    "local/frequencies/subset.py:SubsetSelection._sets": "local/test_protocol.py::test_reports_are_drawn_from_the_law",
    "local/frequencies/unary.py:UnaryEncoding._draw": "local/test_protocol.py::test_reports_are_drawn_from_the_law",
    "local/means.py:MeanProtocol.draw": "local/test_means.py::test_reports_are_drawn_from_the_law",
    "local/means.py:MeanProtocol._encode": "local/test_means.py::test_estimates_variances_and_intervals",
    "local/prefixes.py:HeavyHitters._hashed": "local/test_prefixes.py::test_the_law_of_a_cell_keeps_epsilon_and_support_is_as_stated",
    "local/prefixes.py:HeavyHitters._encode": "local/test_prefixes.py::test_frequent_texts_are_found_and_others_are_not",
    "local/ranges.py:RangeProtocol._encode": "local/test_ranges.py::test_the_estimate_is_least_squares_and_its_variance_is_exact",
    "local/shuffled.py:Shuffler.release": "local/test_shuffled.py::test_every_order_is_as_likely",
    "local/sums.py:ShuffledSum._encode": "local/test_sums.py::test_the_noise_is_discrete_laplace_and_the_interval_that_of_its_law",
    "statistics/order/interquartile_range.py:InterquartileRange._draws": "statistics/order/test_interquartile_range.py::test_the_charge_is_the_price",
    "statistics/regression/matchings.py:matched": "statistics/regression/test_matchings.py::test_all_rings_are_equally_likely",
    "statistics/vectors/tail_bound.py:RadiusSearch.tail": "statistics/vectors/test_mean.py::test_the_search_draws_with_the_loss_that_is_charged",
    "stream/alarm.py:Alarm.__init__": "stream/test_alarm.py::test_alarms_ring_as_often_as_the_law_of_their_loss_says",
    "stream/alarm.py:Alarm.check": "stream/test_alarm.py::test_alarms_ring_as_often_as_the_law_of_their_loss_says",
    "synthesis/model.py:fitted": "synthesis/test_model.py::test_pairs_of_the_model_are_those_of_the_rows",
    "synthesis/rows.py:spread": "synthesis/test_rows.py::test_columns_are_drawn_as_often_as_their_shares_say",
    "synthesis/synthesis.py:Synthesis.rows": "synthesis/test_synthesis.py::test_rows_are_a_table_with_the_declared_types",
    "synthesis/rows.py:levels_of_rows": "synthesis/test_rows.py::test_columns_are_drawn_as_often_as_their_shares_say",
    "variants/journey.py:Journey._is_close": "variants/test_journey.py::test_a_noisy_test_has_the_law_that_its_price_assumes",
    "variants/kernel.py:Kernel.release": "variants/test_kernel.py::test_draws_have_the_law_of_the_weights",
    "variants/locations.py:PlanarLaplace.__post_init__": "variants/test_locations.py::test_reports_are_on_the_grid_in_the_region_and_as_far_as_stated",
    "variants/locations.py:PlanarLaplace.release": "variants/test_locations.py::test_reports_are_on_the_grid_in_the_region_and_as_far_as_stated",
}
# Contracts that hold these draws besides against the loss that is stated, on neighbours and whole histories.
MEASURED = {
    "games/": "test_measured.py::test_games_draw_what_proves_their_loss",
    "learning/erm/": "test_measured.py::test_objectives_draw_what_proves_their_loss",
    "learning/federated/": "test_measured.py::test_shares_draw_what_proves_their_loss",
    "learning/pate/": "test_measured.py::test_votes_draw_what_proves_their_loss",
    "learning/samplers.py": "test_measured.py::test_sampled_steps_draw_what_proves_their_loss",
    "local/deployed/microsoft.py": "local/test_histories.py::test_permanent_answers_reveal_what_is_stated",
    "local/directions.py": "local/test_histories.py::test_reports_that_are_drawn_anew_reveal_what_is_stated",
    "local/frequencies/": "local/test_histories.py::test_reports_that_are_drawn_anew_reveal_what_is_stated",
    "local/means.py": "local/test_histories.py::test_reports_that_are_drawn_anew_reveal_what_is_stated",
    "local/prefixes.py": "local/test_histories.py::test_reports_that_are_drawn_anew_reveal_what_is_stated",
    "local/ranges.py": "local/test_histories.py::test_reports_that_are_drawn_anew_reveal_what_is_stated",
    "local/shuffled.py": "local/test_histories.py::test_shuffled_reports_reveal_what_is_stated",
    "statistics/": "test_measured.py::test_statistics_draw_what_proves_their_loss",
}
# What is drawn where no row is read, or for released numbers alone.
HIDING_NOTHING = {
    "learning/descent/projected.py:descend_by_samples": "an optimiser without privacy",
    "learning/estimators/boosting.py:_leaves": "cuts of leaves, by released counts alone",
    "learning/estimators/kmeans.py:KMeans._planned.train": "public first centres",
    "learning/estimators/kmeans.py:_from_grid": "public directions of a grid",
    "learning/estimators/kmeans.py:_weighted": "restarts on released cells",
    "query/engines/spark/executors.py:copy_of_deniable": "noise of nothing, from a key that everybody knows",
    "synthesis/residuals.py:Spread.draws": "errors that released totals could have",
    "stream/bands.py:band_factor": "errors that a public matrix could have",
    "statistics/hypothesis/anova.py:Anova._simulated": "a p-value from released numbers",
    "statistics/hypothesis/base.py:multinomials": "a p-value from released numbers",
    "statistics/hypothesis/mann_whitney.py:MannWhitney._answer": "a p-value from released numbers",
    "statistics/hypothesis/t_tests.py:_simulated": "a p-value from released numbers",
    "statistics/models.py:Bernoulli.sample": "rows that are made up",
    "statistics/models.py:Exponential.sample": "rows that are made up",
    "statistics/models.py:Multinomial.sample": "rows that are made up",
    "statistics/models.py:Normal.sample": "rows that are made up",
    "statistics/models.py:NormalVectors.sample": "rows that are made up",
    "statistics/regression/theil_sen.py:TheilSen._median": "spreads equal heights; the mechanism hides without it",
}


def draws(path: Path) -> Iterator[str]:
    """The functions in a file that draw or that write a scale."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names, kinds = set[str](), set[str]()
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, ast.ImportFrom | ast.Import) else ():
            source = f"{getattr(node, 'module', None) or ''}.{alias.name}".strip(".")
            if source.startswith("deniable.noise") and not DRAWING_NOTHING & set(source.split(".")):
                names.add(alias.asname or alias.name)
            elif source.startswith("deniable.mechanisms") and alias.name in KINDS:
                kinds.add(alias.asname or alias.name)

    def walk(node: ast.AST, inside: tuple[str, ...]) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            name = (child.name,) if isinstance(child, ast.FunctionDef | ast.ClassDef) else ()
            written = isinstance(child, ast.Call) and SCALES & {keyword.arg for keyword in child.keywords}
            if isinstance(child, ast.Name) and child.id in names:
                yield ".".join(inside)
            if written and isinstance(child.func, ast.Name) and child.func.id in kinds:
                yield ".".join(inside)
            yield from walk(child, inside + name)

    yield from walk(tree, ())


def all_draws() -> set[str]:
    files = (path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in ("noise", "mechanisms"))
    return {f"{path.relative_to(SOURCE).as_posix()}:{name}" for path in files for name in draws(path)}


def test_every_draw_is_of_a_mechanism_or_held_by_a_test() -> None:
    assert all_draws() == HELD.keys() | HIDING_NOTHING.keys()
    assert not HELD.keys() & HIDING_NOTHING.keys()
    assert all(any(name.startswith(place) for name in HELD) for place in MEASURED)


def test_the_tests_that_hold_draws_exist() -> None:
    for name in {*HELD.values(), *MEASURED.values()}:
        file, test = name.split("::")
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name


def test_new_draws_are_found(tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    path.write_text(
        "from functools import partial\nfrom deniable.noise import gaussian as g, laplace\n"
        "from deniable.noise.bits import SECURE\nfrom deniable.noise.uniform import below\n"
        "from deniable.mechanisms import Laplace\n"
        "def one(): return g.sample(sigma_squared=1, bits=SECURE)\n"
        "class Two:\n  def three(self): return partial(below, 3)\n"
        "def four(): return Laplace(scale=2)\ndef five(): return Laplace.calibrated(1, epsilon=1), SECURE\n"
    )
    assert set(draws(path)) == {"one", "Two.three", "four"}
