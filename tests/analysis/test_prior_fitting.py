"""Fitted priors: the optimum of a grid, zero slope, and hyperparameters as parameters."""

import itertools

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


def with_values(fit, name, factor, at=...):
    """The estimator of a fit, one of its hyperparameters times a factor (m: plus it), fitted to its statistics."""

    def moved(value):
        value = np.array(value, float)
        value[at] = value[at] + factor if name == "m" else value[at] * factor
        return value

    nb = clone(fit.estimator)
    if isinstance(nb, GaussianNB):
        fields = {f: getattr(nb.prior, f) for f in nb.prior.__dataclass_fields__}
        nb.set_params(prior=type(nb.prior)(**{**fields, name: moved(fields[name])}))
    else:
        nb.set_params(**{name: moved(getattr(nb, name))})
    return nb


@pytest.mark.parametrize(
    ("nb", "over"),
    mostly_slow(
        itertools.product([ALPHA[0], MultinomialNB(), PoissonNB(), GaussianNB()], ["scalar", "feature", "class"]),
        these("(MultinomialNB(), 'feature')", "(PoissonNB(), 'class')"),
    ),
    ids=repr,
)
def test_no_slope_is_left_inside_the_bounds(nb, over, table):
    """Central differences of the evidence by refits, of each hyperparameter alone, through the public parameters."""
    X, y = cells(nb, table[0]), table[1]
    fit = fit_prior(nb, X, y, over=over)
    places = {"scalar": [...], "feature": [(..., j) for j in range(4)], "class": [(c, ...) for c in range(3)]}[over]
    inside = ~np.any([side.ravel() != 0 for side in fit.at_bound.values()], axis=0)
    assert inside.any()
    for name in fit.hyperparameters:
        for at in (place for place, free in zip(places, inside, strict=True) if free):
            up, down = (with_values(fit, name, f, at).fit(X, y).log_evidence_ for f in moves(name))
            assert (up - down) / 2e-4 == pytest.approx(0, abs=2e-4)
            assert max(up, down) <= fit.log_evidence + 1e-9


def moves(name):
    return (1e-4, -1e-4) if name == "m" else (np.exp(1e-4), np.exp(-1e-4))


@pytest.mark.parametrize(
    ("nb", "over"),
    mostly_slow(
        [
            *((nb, "scalar") for nb in [*ALPHA, *PAIR, *GAUSSIAN]),
            *((nb, "feature") for nb in [CategoricalNB(), GaussianNB(), GAUSSIAN[1]]),
            *((nb, "class") for nb in [ComplementNB(), ExponentialNB(), GaussianNB(), GAUSSIAN[1]]),
        ],
        these("(MultinomialNB(), 'scalar')", "(ComplementNB(), 'class')", "(GaussianNB(), 'feature')"),
    ),
    ids=repr,
)
def test_the_fitted_estimator_has_the_reported_evidence_and_it_has_grown(nb, over, table):
    X, y = cells(nb, table[0]), table[1]
    fit = fit_prior(nb, X, y, over=over)
    assert fit.log_evidence_before == clone(nb).fit(X, y).log_evidence_
    assert fit.log_evidence >= fit.log_evidence_before
    assert fit.log_evidence == fit.estimator.log_evidence_
    again = clone(fit.estimator).fit(X, y)  # the hyperparameters are parameters
    assert again.log_evidence_ == pytest.approx(fit.log_evidence, rel=1e-12)
    np.testing.assert_array_equal(again.predict_proba(X), fit.estimator.predict_proba(X))
    text = str(fit)
    assert f"{type(nb).__name__}: prior of maximum evidence" in text and all(k in text for k in fit.hyperparameters)
    assert ("bound" in text) == any(side.any() for side in fit.at_bound.values())


@pytest.mark.parametrize("nb", [PoissonNB()], ids=repr)
def test_a_weight_of_two_is_a_row_twice(nb, table):
    X, y = table
    w = np.random.default_rng(1).integers(1, 3, len(y))
    weighted = fit_prior(nb, X, y, sample_weight=w)
    repeated = fit_prior(nb, np.repeat(X, w, axis=0), np.repeat(y, w))
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, rel=1e-10)
    for name, value in weighted.hyperparameters.items():
        np.testing.assert_allclose(value, repeated.hyperparameters[name], rtol=1e-4)


def test_the_bounds_hold_where_the_evidence_grows_beyond_them():
    X = np.tile([[0.0, 1.0], [1.0, 0.0]], (30, 1))
    y = np.repeat(["a", "b"], 30)
    up = fit_prior(BernoulliNB(), X, y, over="feature", bounds=(0.01, 100))  # half of every class are ones
    np.testing.assert_allclose(up.hyperparameters["alpha"], 100)
    np.testing.assert_array_equal(up.at_bound["alpha"], [1, 1])
    assert "2 of 2 at the upper bound" in str(up)
    down = fit_prior(BernoulliNB(), X, np.tile(["a", "b"], 30), bounds=(0.01, 100))  # a class keeps to one value
    assert down.hyperparameters["alpha"] == pytest.approx(0.01)
    assert down.at_bound["alpha"] == -1
    assert "at the lower bound" in str(down)


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
        (GaussianNB(), {"over": "column"}, "`over` is 'column'"),
        (CategoricalNB(), {"over": "class"}, "CategoricalNB has the same alpha"),
        (GaussianNB(), {"parameters": ["m"]}, "with over='scalar' GaussianNB can fit kappa, a, b"),
        (GAUSSIAN[1], {"over": "class", "parameters": "a"}, "with over='class' GaussianNB can fit kappa"),
        (PoissonNB(), {"parameters": []}, "`parameters` is"),
        *((PoissonNB(), {"bounds": bad}, "`bounds` is") for bad in ((1, 1), (0, 1), (2.0, 1.0), (1.0, np.inf))),
    ]:
        with pytest.raises(ValueError, match=message):
            fit_prior(nb, *table, **settings)
