"""`nb.model_`: what analyses may ask of a fitted estimator, in one frozen object."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bayesnb import BernoulliNB, CategoricalNB, GaussianNB, MixedNB
from bayesnb.estimators._view import learn_columns

X = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [1, 0]])
Y = np.array(["a", "a", "b", "b", "a"])


def test_a_view_keeps_what_was_known_when_it_was_taken():
    nb = BernoulliNB().fit(X, Y)
    model = nb.model_
    before = model.posterior
    nb.partial_fit(X, Y).set_params(estimate="mean")
    assert model.posterior is before and model.point_estimate() is None
    assert nb.model_.posterior is not before and nb.model_.point_estimate() is not None
    with pytest.raises(FrozenInstanceError):
        model.state = nb.model_.state


def test_a_model_that_knows_only_its_columns_answers_what_needs_no_rows():
    nb = CategoricalNB()
    model = learn_columns(nb, [["u", "s"], ["v", "s"]], np.array(["a", "b"]))
    assert model.levels_of(0).tolist() == ["u", "v"] and model.encode([["v", "s"]])["levels_2"].tolist() == [[1]]
    assert not hasattr(nb, "model_")  # the estimator itself has learnt nothing
    for question in ("posterior", "prior", "statistics", "tie_prior"):
        with pytest.raises(NotFittedError):
            getattr(model, question)


def test_each_part_of_a_mixed_model_has_a_view_of_its_own():
    likelihoods = {"a": BernoulliNB(), "b": BernoulliNB(alpha=2)}
    nb = MixedNB([("number", GaussianNB(), [0]), ("flag", likelihoods, [1])]).fit(X, Y)
    parts = nb.model_.parts
    assert [(part.name, part.only_class) for part in parts] == [("number", None), ("flag", 0), ("flag", 1)]
    assert nb.model_.blocks_of_parts == {"number": ["number"], "flag": ["flag.a", "flag.b"]}
    assert nb.model_.block_columns["number"].tolist() == [0]
    assert parts[0].model.statistics.n.tolist() == [3, 2] and parts[2].model.statistics.n.tolist() == [2]
    assert [part.model.prior_follows_rows for part in parts] == [True, False, False]


def test_a_user_sees_what_is_for_users():
    """scikit-learn's estimator has 24 public names; what only analyses ask is in the view."""
    names = {name for name in dir(BernoulliNB().fit(X, Y)) if name[0] != "_"}
    assert len(names) <= 52
    assert not names & {"class_index", "encode", "levels_of", "linear_form", "part_estimators", "with_statistics"}
