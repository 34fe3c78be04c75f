from itertools import product

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import ExponentialMechanism
from deniable.mechanisms.selection.voting import approvals, of_approvals, of_pluralities, pluralities
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace


def test_one_voter_moves_every_approval_by_at_most_one() -> None:
    """All pairs of ballots on three candidates, added or exchanged."""
    ballots = [list(ballot) for ballot in product((0, 1), repeat=3)]
    added = [approvals([[1, 0, 1], ballot], 3) - approvals([[1, 0, 1]], 3) for ballot in ballots]
    reach = of_approvals(3, relation=AddRemove)
    assert max(move.max() for move in added) == reach.linf == 1
    assert max(move.sum() for move in added) == reach.l1 == 3
    assert min(move.min() for move in added) == 0  # monotone
    exchanged = [approvals([a], 3) - approvals([b], 3) for a in ballots for b in ballots]
    other = of_approvals(3, relation=Replace)
    assert max(np.abs(move).max() for move in exchanged) == other.linf == 1
    assert max((move**2).sum() for move in exchanged) == other.l2_squared == 3


def test_one_vote_moves_one_candidate_or_two() -> None:
    assert of_pluralities(relation=AddRemove).l1 == 1
    other = of_pluralities(relation=Replace)
    moves = [pluralities([a], 3) - pluralities([b], 3) for a in range(3) for b in range(3)]
    assert max(np.abs(move).sum() for move in moves) == other.l1 == 2
    assert max(np.abs(move).max() for move in moves) == other.linf == 1


def test_votes_are_counted() -> None:
    assert pluralities([0, 2, 2, -1, 3, 99], 3).tolist() == [1, 0, 2]
    assert pluralities([], 2).tolist() == [0, 0]
    assert approvals(np.array([[True, False], [True, True]]), 2).tolist() == [2, 1]
    assert approvals(np.zeros((0, 3), dtype=int), 3).tolist() == [0, 0, 0]


def test_an_election_is_won_by_a_clear_lead() -> None:
    scores = pluralities(np.repeat([0, 1, 2], [500, 430, 70]), 3)
    mechanism = ExponentialMechanism.calibrated(of_pluralities(relation=AddRemove), epsilon=1, monotone=True)
    assert (mechanism.outcomes(tuple(scores.tolist()), 1000, bits=DeterministicBits(1)) == 0).all()


@pytest.mark.parametrize("ballots", [np.array([1, 0]), np.zeros((1, 3)), np.array([["a", "b"]])])
def test_wrong_ballots_are_refused(ballots: object) -> None:
    with pytest.raises(InvalidParameterError, match="ballots must"):
        approvals(ballots, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("votes", [3, np.array([[1]]), np.array(["a"])])
def test_wrong_votes_are_refused(votes: object) -> None:
    with pytest.raises(InvalidParameterError, match="votes must"):
        pluralities(votes, 3)  # type: ignore[arg-type]


def test_spoilt_ballots_do_not_count() -> None:
    """An error would tell of them, and the nearer number would be a vote that nobody cast."""
    assert approvals([[1, 0], [0, 2]], 2).tolist() == [1, 0]
    assert approvals([[2, -7], [1, 2**90], [1, 1]], 2).tolist() == [1, 1]
    assert approvals([[2**63, -1], [1, 1]], 2).tolist() == [1, 1]  # which numpy would make floats of
    assert pluralities([0, 2**90, -(2**90), 1], 2).tolist() == [1, 1]


def test_a_spoilt_ballot_moves_no_more_than_another() -> None:
    """All pairs of one voter's ballots, spoilt ones included, against the sensitivities."""
    ballots = list(product((-1, 0, 1, 2), repeat=2))
    moves = [approvals([a], 2) - approvals([b], 2) for a in ballots for b in ballots]
    assert max(np.abs(move).sum() for move in moves) == of_approvals(2, relation=Replace).l1


@pytest.mark.parametrize("candidates", [0, 10**12, 2.5, None])
def test_there_are_some_candidates_and_not_more_than_can_be_counted(candidates: object) -> None:
    """10^12 ran out of memory without a word."""
    with pytest.raises(InvalidParameterError, match="candidates must be"):
        pluralities([0, 1], candidates)  # type: ignore[arg-type]
