"""Fitted priors: the optimum of a grid, zero slope, and hyperparameters as parameters."""

import dataclasses

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from bayesnb.analysis import prior_fitting
from bayesnb.analysis.prior_fitting import fit_prior
from bayesnb.estimators import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    ExponentialNB,
    GaussianDA,
    GaussianNB,
    KernelNB,
    MixedNB,
    MultinomialNB,
    OneDependenceNB,
    PoissonNB,
)

from ..estimators_table import WHOLE, mostly_slow, these

ALPHA = [BernoulliNB(binarize=3), CategoricalNB(), MultinomialNB(), ComplementNB()]
PAIR = [PoissonNB(), PoissonNB(beta=0.5), ExponentialNB(), *WHOLE]
GAUSSIAN = [GaussianNB(), GaussianNB(variance="pooled"), GaussianNB(known_variance=0.3)]


@pytest.fixture(scope="module")
def table():
    """Forty rows of four whole numbers, three classes."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:40]
    return np.round(X[order]), np.array(list("abc"))[y[order]]


def cells(nb, X):
    """Whole numbers, or those with a little noise for densities: no class is a single value."""
    return X + np.random.default_rng(3).normal(0, 0.2, X.shape) if isinstance(nb, GaussianNB) else X


def with_values(fit, name, factor):
    """The estimator of a fit, one of its hyperparameters times a factor."""
    nb = clone(fit.estimator)
    if isinstance(nb, GaussianNB):
        return nb.set_params(prior=dataclasses.replace(nb.prior, **{name: factor * getattr(nb.prior, name)}))
    return nb.set_params(**{name: factor * getattr(nb, name)})


@pytest.mark.parametrize(
    "nb", mostly_slow([ALPHA[0], MultinomialNB(), PoissonNB(), GaussianNB()], these("MultinomialNB()")), ids=repr
)
def test_no_slope_is_left_inside_the_bounds(nb, table):
    """Central differences of the evidence by refits, of each hyperparameter alone, through the public parameters."""
    X, y = cells(nb, table[0]), table[1]
    fit = fit_prior(nb, X, y)
    assert not any(fit.at_bound.values())
    for name in fit.hyperparameters:
        up, down = (with_values(fit, name, np.exp(step)).fit(X, y).log_evidence_ for step in (1e-4, -1e-4))
        assert (up - down) / 2e-4 == pytest.approx(0, abs=2e-4)
        assert max(up, down) <= fit.log_evidence + 1e-9


@pytest.mark.parametrize(
    "nb", mostly_slow([*ALPHA, *PAIR, *GAUSSIAN], these("CategoricalNB()", "GaussianNB(variance='pooled')")), ids=repr
)
def test_the_fitted_estimator_has_the_reported_evidence_and_it_has_grown(nb, table):
    X, y = cells(nb, table[0]), table[1]
    fit = fit_prior(nb, X, y)
    assert fit.log_evidence_before == clone(nb).fit(X, y).log_evidence_
    assert fit.log_evidence >= fit.log_evidence_before
    assert fit.log_evidence == fit.estimator.log_evidence_
    again = clone(fit.estimator).fit(X, y)  # the hyperparameters are parameters
    assert again.log_evidence_ == pytest.approx(fit.log_evidence, rel=1e-12)
    np.testing.assert_array_equal(again.predict_proba(X), fit.estimator.predict_proba(X))


def test_a_weight_of_two_is_a_row_twice(table):
    nb, (X, y) = PoissonNB(), table
    w = np.random.default_rng(1).integers(1, 3, len(y))
    weighted = fit_prior(nb, X, y, sample_weight=w)
    repeated = fit_prior(nb, np.repeat(X, w, axis=0), np.repeat(y, w))
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, rel=1e-10)
    for name, value in weighted.hyperparameters.items():
        np.testing.assert_allclose(value, repeated.hyperparameters[name], rtol=1e-4)


def test_a_scale_is_fitted_in_the_unit_of_its_feature(table):
    nb, size = GaussianNB(), np.array([1.0, 10.0, 0.1, 3.0])
    X, y = cells(nb, table[0]), table[1]
    plain, scaled = (fit_prior(nb, rows, y).hyperparameters for rows in (X, X * size))
    np.testing.assert_allclose(scaled["b"], plain["b"] * size**2, rtol=1e-4)
    assert scaled["a"] == pytest.approx(plain["a"], rel=1e-4)


def test_the_bounds_hold_where_the_evidence_grows_beyond_them():
    X = np.tile([[0.0, 1.0], [1.0, 0.0]], (30, 1))
    y = np.repeat(["a", "b"], 30)
    up = fit_prior(BernoulliNB(), X, y)  # half of every class are ones
    assert up.hyperparameters["alpha"] == pytest.approx(1e4) and up.at_bound == {"alpha": 1}
    down = fit_prior(BernoulliNB(), X, np.tile(["a", "b"], 30))  # a class keeps to one value
    assert down.hyperparameters["alpha"] == pytest.approx(1e-4)
    assert down.at_bound["alpha"] == -1


@pytest.mark.parametrize("nb", mostly_slow([GaussianNB(), ExponentialNB()], these("ExponentialNB()")), ids=repr)
def test_a_column_that_never_varies_keeps_its_prior(nb, table):
    X, y = table
    wide = np.column_stack([X, np.zeros(len(X))])
    plain, fit = fit_prior(nb, X, y), fit_prior(nb, wide, y)
    np.testing.assert_allclose(fit.estimator.predict_proba(wide), plain.estimator.predict_proba(X), atol=1e-4)
    name = "kappa" if isinstance(nb, GaussianNB) else "alpha"
    np.testing.assert_allclose(fit.hyperparameters[name][:4], plain.hyperparameters[name], rtol=1e-3)
    assert fit.hyperparameters[name][4] > 1e6
    with pytest.raises(ValueError, match="only constant columns"):
        fit_prior(nb, wide[:, 4:], y)


def test_an_unfinished_search_warns(table, monkeypatch):
    X, y = table
    search = prior_fitting.minimize
    monkeypatch.setattr(
        prior_fitting, "minimize", lambda *args, **given: search(*args, **{**given, "options": {"maxiter": 1}})
    )
    with pytest.warns(ConvergenceWarning, match="still increasing"):
        fit_prior(GaussianNB(), X, y)


def test_what_cannot_be_fitted_is_refused(table):
    mixed = MixedNB([("g", GaussianNB(), [0, 1]), ("c", CategoricalNB(), [2, 3])])
    for nb, settings, message in [
        (KernelNB(), {}, r"no evidence.*leave-one-out"),
        (OneDependenceNB(), {}, r"`estimator` is OneDependenceNB.* a single model"),
        (GaussianDA(), {}, "whose prior cannot be fitted"),
        (mixed, {}, "whose prior cannot be fitted"),
    ]:
        with pytest.raises(ValueError, match=message):
            fit_prior(nb, *table, **settings)
