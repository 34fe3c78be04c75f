"""Constructors take what statements take, and say it in the words of their own name."""

import copy
import inspect
import pickle

import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import (
    AddRemove,
    DiscreteLaplaceLoss,
    FiniteLoss,
    GaussianLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    compose,
    constructors,
    of_count,
)
from deniable.privacy.constructors import LossConstructor
from deniable.privacy.losses.gaussian import GaussianStatement
from deniable.privacy.statement import Statement

MAKERS = {name: value for name, value in vars(constructors).items() if isinstance(value, LossConstructor)}


def test_wrong_calls_are_answered_in_words() -> None:
    with pytest.raises(InvalidParameterError, match=r"takes no nois\. Did you mean noise_multiplier"):
        GaussianLoss(nois=1)
    with pytest.raises(InvalidParameterError, match="PureLoss needs epsilon"):
        PureLoss()
    with pytest.raises(InvalidParameterError, match="losses must be a privacy loss or a list of them, got 3"):
        compose(3)


def test_every_constructor_is_called_as_its_losses_print() -> None:
    assert len(MAKERS) > 20
    for name, maker in MAKERS.items():
        assert (maker.__name__, repr(maker)) == (name, name)
        assert issubclass(maker.__wrapped__, Statement)
        taken = inspect.signature(maker).parameters
        stated = inspect.signature(maker.__wrapped__).parameters
        assert {word: each for word, each in taken.items() if word in stated} == dict(stated)
        assert set(taken) - set(stated) <= {"relation"}
        assert pickle.loads(pickle.dumps(maker)) is copy.deepcopy(maker) is maker
    assert GaussianLoss(noise_multiplier=2) == PrivacyLoss(GaussianStatement(2))
    assert repr(GaussianLoss(noise_multiplier=2)) == "GaussianLoss(noise_multiplier=2)"


def test_a_loss_is_stated_for_one_relation_in_its_constructor() -> None:
    assert PureLoss(1, relation=Replace) == PureLoss(epsilon=1, relation=Replace) == PureLoss(1).under(Replace)
    assert PureLoss(1, relation=Replace).relations == {Replace}
    assert PureLoss(1, relation=None) == PureLoss(1)
    with pytest.raises(InvalidParameterError, match="relation must be AddRemove or Replace, got 'replace'"):
        PureLoss(1, relation="replace")
    with pytest.raises(InvalidParameterError, match="DiscreteLaplaceLoss takes no relation"):
        DiscreteLaplaceLoss(1, of_count(rows=1, groups=1, relation=AddRemove), relation=AddRemove)


def test_other_constructors_of_a_statement_make_losses_too() -> None:
    rows = [["3/4", "1/4"], ["1/4", "3/4"]]
    loss = FiniteLoss.of_channel(rows)
    assert isinstance(loss, PrivacyLoss)
    with pytest.raises(InvalidParameterError, match="of_channel takes no relation"):
        FiniteLoss.of_channel(rows, relation=1)
    for name in ("laws", "to_json", "statement", "_set"):
        with pytest.raises(AttributeError, match="no constructor"):
            getattr(FiniteLoss, name)
