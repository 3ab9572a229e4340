"""Priors and hyperparameters over their whole range: a right number, or a ValueError that names field and range."""

import math
from functools import partial

import numpy as np
import numpyro.distributions as dist
import pytest
from sklearn.base import clone

from bayesnb import BernoulliNB, CategoricalNB, ComplementNB, GaussianDA, GaussianNB, MixedNB, MultinomialNB
from bayesnb import families as fam
from bayesnb.estimators import ExponentialNB, GeometricNB, KernelNB, PoissonNB

REALS = np.array([[0.2, 1.0], [1.4, -0.5], [0.9, 2.0], [-1.1, 0.3], [2.2, 0.1], [0.4, -1.7], [1.0, 0.8]])
COUNTS = np.array([[3.0, 0.0], [1.0, 2.0], [0.0, 5.0], [2.0, 2.0], [7.0, 1.0], [0.0, 0.0], [1.0, 4.0]])
LABELS = np.array([0, 1, 0, 1, 1, 0, 1])


def sound(nb, X):
    """What no garbage satisfies: finite and normalised, and the interval an interval."""
    log_p = nb.predict_log_proba(X)
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(np.exp(log_p).sum(1), 1, rtol=1e-12)
    low, high = np.moveaxis(nb.predict_interval(X, n_draws=64), -1, 0)
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    parts = nb.uncertainty(X, n_draws=64)
    assert all(np.isfinite(part).all() for part in (parts.total, parts.aleatoric, parts.epistemic))
    draws = nb.sample_proba(X, 20, seed=0)
    assert np.isfinite(draws).all()
    np.testing.assert_allclose(draws.sum(-1), 1, rtol=1e-12)


UNIT = fam.KnownVarianceNormal(0.0, 1.0, 1.0, np.inf)
WRONG = [
    (GaussianNB(prior=fam.NormalInverseGamma(np.nan, 1.0, 1.0, 1.0)), r"`prior\.m` is .*nan.* finite"),
    (GaussianNB(prior=fam.NormalInverseGamma(0.0, 1.0, 1.0, -1.0)), r"`prior\.b` is .*-1.* positive"),
    (GaussianNB(prior=fam.NormalInverseGamma(0.0, 1.0, -0.6, 1.0)), r"`prior\.a` is .*-0\.6.* from -0\.5 to 0"),
    (GaussianNB(prior=fam.NormalInverseGamma(0.0, np.ones(3), 1.0, 1.0)), r"`prior\.kappa` is shape \(3,\)"),
    (GaussianDA(covariance="identity", prior=UNIT), r"`prior\.log_c` is .*inf"),
    (MixedNB([("g", GaussianNB(prior=fam.NormalInverseGamma(0.0, 1.0, np.nan, 1.0)), [0, 1])]), r"`prior\.a` is .*nan"),
    (GaussianDA(prior=fam.NormalInverseWishart(0.0, 1.0, 4.0, np.array([[1.0, 0.9], [0.1, 1.0]]))), "symmetric and"),
    (GaussianNB(variance="pooled", known_variance=4.0), "`variance` is 'pooled' and `known_variance` is given"),
    (BernoulliNB(binarize=math.nan), "`binarize` is nan"),
    (BernoulliNB(binarize="a"), "`binarize` is 'a'"),
    (BernoulliNB(fit_prior="no"), "`fit_prior` is 'no'"),
    (MultinomialNB(force_alpha="no"), "`force_alpha` is 'no'"),
    (ComplementNB(norm="no"), "`norm` is 'no'"),
    (CategoricalNB(min_categories=999999999999999), "`min_categories` is 999999999999999.* from 0 to"),
    (CategoricalNB(min_categories=-1), "`min_categories` is -1"),
    (CategoricalNB(min_categories=2.5), "`min_categories` is 2.5"),
    (GaussianNB(var_smoothing=math.inf), "`var_smoothing` is inf.* from 0 to"),
    (GaussianNB(var_smoothing=-1), "`var_smoothing` is -1"),
    (GaussianNB(var_smoothing="a"), "`var_smoothing` is 'a'"),
    (
        GaussianNB(variance="pooled", prior={"m": 0, "kappa": 1, "a": -1.1, "b": 0}),
        r"`prior.a` is -1.1; .* from -1 to 0",
    ),
    (GaussianNB(estimate="median"), "`estimate` is 'median'"),
    (GaussianNB(variance="none"), "`variance` is 'none'"),
    (GaussianDA(covariance="full"), "`covariance` is 'full'"),
    (GaussianDA(covariance="shared", prior=fam.NormalInverseWishart(0.0, 1.0, 4.0, np.eye(2))), "needs a TiedNormalI"),
    (GaussianDA(prior=fam.NormalInverseWishart(0.0, 1.0, 1.0, np.eye(2))), r"`prior.nu` is 1.* above 1,"),
    (GaussianNB(known_variance=0), "`known_variance` is 0"),
    *((GaussianNB(priors=pi), "`priors` is .* 2 probabilities") for pi in ([1, 2], [0.2, 0.3, 0.5], [-1, 2], "x")),
    (BernoulliNB(alpha=0), "`alpha` is 0; it needs to be positive"),
    (BernoulliNB(alpha=[1, 2, 3]), r"`alpha` is shape \(3,\)"),
    (BernoulliNB(binarize=None), "`X` has .* in column"),
    (MultinomialNB(alpha=1e308), "`alpha` is 1e.308; it needs to be positive, from 1e-50 to 1e.50"),
    (PoissonNB(alpha=10**400), "`alpha` is 1000.*; it needs"),
    (PoissonNB(class_alpha=1e-320), "`class_alpha` is 1e-320; it needs to be positive, from 1e-50"),
    (ExponentialNB(beta=0), "`beta` is 0"),
    (GeometricNB(alpha=-1), "`alpha` is -1"),
    (ComplementNB(class_prior=[0.5, 0.6]), "`class_prior` is"),
    *((KernelNB(bandwidth=h), "`bandwidth` is") for h in (0, -1, 1e-141, math.nan, None, "x", [1, 2, 3], {})),
]


def test_what_is_out_of_range_is_named():
    for nb, words in WRONG:
        for call in (nb.fit, partial(nb.partial_fit, classes=[0, 1])):
            with pytest.raises(ValueError, match=words):
                call(COUNTS.astype(int), LABELS)
            assert not hasattr(nb, "classes_")


@pytest.mark.parametrize("value", [1e-8, 1e8])
def test_evidence_at_the_ends_of_the_promise(value):
    """It is the product of sequential predictions, to nine digits."""
    gaussian = {"m": 0.5, "kappa": 1.0, "a": 2.0, "b": 1.5}
    for nb in (
        *(kind(alpha=value) for kind in (BernoulliNB, CategoricalNB, MultinomialNB, ComplementNB)),
        *(kind(alpha=value, beta=value) for kind in (PoissonNB, ExponentialNB, GeometricNB)),
        *(GaussianNB(prior=gaussian | {key: value}) for key in ("kappa", "a", "b")),
        *(GaussianNB(variance="pooled", prior=gaussian | {key: value}) for key in gaussian),
        GaussianNB(known_variance=value),
        GaussianDA(prior={"m": 0, "kappa": value, "nu": 4, "S": np.eye(2)}),
    ):
        fitted = nb.fit(COUNTS, LABELS)
        model, total = fitted.prior_, 0.0
        for i, y in enumerate(LABELS):
            rows = fitted.model_.encode(COUNTS[i : i + 1])
            if not isinstance(nb, ComplementNB):
                total += model.log_joint(rows)[0, y]
            else:
                total = fitted.log_evidence_  # composite: no product of predictions
            model = model.update(model.suffstats(rows, np.eye(2)[[y]]))
        assert fitted.log_evidence_ == pytest.approx(total, rel=1e-9), nb
        sound(fitted, COUNTS)


IMPROPER = [
    GaussianNB(prior=fam.NormalInverseGamma(0.0, 0.0, -0.5, 0.0)),
    GaussianNB(variance="pooled", prior=fam.PooledNormalInverseGamma(0.0, 0.0, -1.0, 0.0)),
    GaussianNB(known_variance=2.0, prior=fam.KnownVarianceNormal(0.0, 0.0, 2.0, 0.0)),
    MixedNB([("g", GaussianNB(prior=fam.NormalInverseGamma(0.0, 0.0, -0.5, 0.0)), [0, 1])]),
]


@pytest.mark.parametrize("nb", IMPROPER, ids=repr)
def test_improper_limits_predict_and_have_no_evidence(nb):
    """The reference prior 1/σ² is the limit of proper priors, and so is what it predicts; its evidence is not there."""
    nb = nb.fit(REALS, LABELS)
    assert not hasattr(nb, "log_evidence_")
    with pytest.raises(AttributeError, match=r"no log_evidence_: its prior is improper \((kappa|a) is "):
        _ = nb.log_evidence_
    sound(nb, REALS)
    given = (nb.parts[0][1] if isinstance(nb, MixedNB) else nb).get_params()
    block = nb.posterior_.blocks["x" if not isinstance(nb, MixedNB) else "g"]
    if given["known_variance"] is None:
        n = np.bincount(LABELS)
        if given["variance"] == "class":  # t with n − 1 degrees of freedom, the textbook's
            x = REALS[LABELS == 1]
            assert (2 * block.a[1] == n[1] - 1).all()
            np.testing.assert_allclose(block.b[1] / block.a[1], x.var(0, ddof=1), rtol=1e-12)
        else:
            assert (2 * block.a == n.sum() - 2).all()
    for refused in (lambda: nb.sample(3, source="prior"), lambda: nb.check(REALS, LABELS)):
        with pytest.raises(ValueError, match="`prior` is improper"):
            refused()
    left = nb.loo(REALS, LABELS).log_joint
    for i in (0, 1):
        rest = np.delete(np.arange(len(REALS)), i)
        refit = type(nb)(**nb.get_params(deep=False)).fit(REALS[rest], LABELS[rest])
        np.testing.assert_allclose(left[i], refit.predict_joint_log_proba(REALS[[i]])[0], rtol=1e-12)


def test_too_few_rows_for_an_improper_prior():
    nb = IMPROPER[0]
    few = GaussianNB(prior=nb.prior)
    with pytest.raises(ValueError, match=r"`prior` is improper, .* not a density: a is 0 \(class 1"):
        few.fit(REALS[:3], LABELS[:3])
    few.partial_fit(REALS[:3], LABELS[:3], classes=[0, 1])  # more may come
    with pytest.raises(ValueError, match="`prior` is improper"):
        few.predict(REALS)
    few.partial_fit(REALS[3:], LABELS[3:])
    np.testing.assert_allclose(
        few.predict_log_proba(REALS), GaussianNB(prior=nb.prior).fit(REALS, LABELS).predict_log_proba(REALS)
    )
    stuck = np.c_[REALS[:, 0], np.full(7, 0.1)]  # a column that never varies
    with pytest.raises(ValueError, match=r"`prior` is improper, .* b is .* feature 1"):
        GaussianNB(prior=nb.prior).fit(stuck, LABELS)
    pair = GaussianNB(prior=nb.prior).fit(REALS[:4], LABELS[:4])
    with pytest.raises(ValueError, match=r"without row 0 of `X` the posterior is not a density"):
        pair.loo(REALS[:4], LABELS[:4])


# --- messages ---------------------------------------------------------------------------------------------------------


def test_numbers_of_draws_and_rows():
    nb = GaussianNB().fit(REALS, LABELS)
    for name, call in {"n_draws": lambda: nb.sample_proba(REALS, 0), "n_samples": lambda: nb.sample(-1)}.items():
        with pytest.raises(ValueError, match=f"`{name}` is .* whole number"):
            call()


def test_a_distribution_is_no_hyperparameter():
    X, y = np.array([[0, 1], [1, 0], [1, 1], [0, 0]]), [0, 1, 0, 1]
    for nb in (BernoulliNB(), CategoricalNB(), MultinomialNB(), ComplementNB(), PoissonNB(), GeometricNB()):
        for name in {"alpha", "beta", "class_alpha"} & nb.get_params().keys():
            with pytest.raises(ValueError, match=rf"`{name}` is a distribution, Gamma; .*`bayesnb.fit_prior`.*NumPyro"):
                clone(nb).set_params(**{name: dist.Gamma(2.0, 1.0)}).fit(X, y)
