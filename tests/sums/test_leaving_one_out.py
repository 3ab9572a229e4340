"""Leave-one-out of many rows, whose sums are loops, against the formulas of the pages."""

import numpy as np
import pytest
from scipy import sparse

from bayesnb import BernoulliNB, CategoricalNB, ComplementNB, GaussianDA, GaussianNB, MultinomialNB, PoissonNB
from bayesnb.sums import rows as loops
from bayesnb.sums.statistics import one_hot

N, D = 300, 40


def rows(kind, rng):
    if kind in ("gaps", "far"):
        x = rng.normal(size=(N, D))
        if kind == "far":
            x[0] += 1e4
            return x
        x[rng.random(x.shape) < 0.1] = np.nan
        x[:, 0] = 3.0
        return x
    x = rng.integers(0, 4, (N, D))
    if kind == "large":
        x[:5, 1:4] = 40
    if kind == "counts with gaps":
        x = np.where(rng.random(x.shape) < 0.1, np.nan, x)
    return sparse.csr_array(x.astype(float)) if kind == "sparse" else x


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        *((GaussianNB(variance=one), kind) for one in ("class", "pooled") for kind in ("gaps", "far")),
        (GaussianNB(known_variance=2.0), "gaps"),
        *((one, kind) for one in (BernoulliNB(binarize=1), CategoricalNB()) for kind in ("levels", "sparse")),
        *((PoissonNB(), kind) for kind in ("levels", "sparse", "large", "counts with gaps")),
        *((GaussianDA(covariance=one), "levels") for one in ("class", "shared")),
        *((MultinomialNB(), kind) for kind in ("levels", "sparse")),
        *(pytest.param(MultinomialNB(alpha=1e-8), kind, marks=pytest.mark.slow) for kind in ("levels", "sparse")),
        (ComplementNB(alpha=0.3), "sparse"),
    ],
    ids=str,
)
def test_leaving_rows_out(estimator, kind, rng, monkeypatch):
    x, y = rows(kind, rng), rng.integers(3, size=N)
    y[0] = 3  # a class of one row
    for w in (np.ones(N), rng.choice([0.5, 1.0, 2.0], N)):
        found, r = [], one_hot(y, 4, w)
        for worth in (1, 1 << 60):
            monkeypatch.setattr(loops, "WORTH", worth)
            nb = estimator.fit(x, y, w)
            found.append((nb.loo(x, y, w).log_proba, nb.posterior_.log_loo(nb.model_.encode(x), r)))
        (loop, many), (few, some) = found
        np.testing.assert_allclose(loop, few, rtol=1e-9, atol=1e-9)
        formula = nb.posterior_.log_loo(nb.model_.encode(x), r.toarray())  # of rows of any weight
        np.testing.assert_allclose(many, formula, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(some, formula, rtol=1e-9, atol=1e-9)
        ends = [np.flatnonzero((y == k) & (w == v))[[0, -1]] for k in range(3) for v in np.unique(w)]
        for i in np.concatenate(ends):  # without it, as an update
            row = {name: cells[[i]] for name, cells in nb.model_.encode(x).items()}
            left = nb.prior_.update(nb.model_.remaining(nb.prior_.suffstats(row, r[[i]])).estimate)
            np.testing.assert_allclose(many[i], left.log_joint(row)[0], rtol=1e-8)


COUNTS = [MultinomialNB(), ComplementNB(), PoissonNB(), CategoricalNB(), BernoulliNB()]


@pytest.mark.parametrize("worth", [1, 1 << 60], ids=["loops", "formulas"])
@pytest.mark.parametrize("nb", [*COUNTS, GaussianNB(), GaussianNB(variance="pooled"), GaussianDA()], ids=repr)
def test_a_row_that_was_never_there(nb, worth, rng, monkeypatch):
    """Events that were never counted where the row would have left them, or squares beyond those of its class."""
    monkeypatch.setattr(loops, "WORTH", worth)
    x, y = rng.integers(0, 3, (N, 8)).astype(float), np.arange(N) % 3
    x[:, 0] = y == 1  # nobody of class 0 has the first event, and none of the others' complements lacks it
    x[:, 1] = 0 if nb in COUNTS else x[:, 1]
    x[5, 1] = 2
    nb = nb.fit(x, y)
    whole = nb.loo(x, y).log_joint
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(nb.loo(x[100:], y[100:]).log_joint, whole[100:])
    stranger = x[[0, 3]]
    stranger[1, 1] = 2 if nb in COUNTS else 1e4
    with pytest.raises(ValueError, match="never fitted"):
        nb.loo(stranger, y[[0, 3]])
    with pytest.raises(ValueError, match="never fitted: leaving them out would give negative counts"):
        nb.loo(np.vstack([x, x[:1]]), np.append(y, y[0]))


def test_a_level_that_every_row_of_a_class_has(rng, monkeypatch):
    """Rows of which a class leaves nothing behind but the prior are no strangers."""
    monkeypatch.setattr(loops, "WORTH", 1)
    x, y = rng.integers(0, 2, (N, 6)), np.arange(N) % 2
    x[:, 0], x[:, 1], x[4, 2:] = y, 1, 0
    for nb in (BernoulliNB(), CategoricalNB(), BernoulliNB(alpha=1e-6)):
        for form in (np.asarray, sparse.csr_array):
            given = form(x)
            found = nb.fit(given, y).loo(given, y)
            without = type(nb)(**nb.get_params()).fit(given[1:], y[1:])
            np.testing.assert_allclose(found.log_joint[0], without.predict_joint_log_proba(given[:1])[0], rtol=1e-9)
