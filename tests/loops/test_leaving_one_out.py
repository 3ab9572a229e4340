"""Leave-one-out of many rows, whose sums are loops, against the formulas of the pages."""

import numpy as np
import pytest
from scipy import sparse

from bayesnb import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, loops

N, D = 300, 40


def rows(kind, rng):
    if kind == "real":
        return rng.normal(size=(N, D)) * 10.0 ** rng.integers(-3, 4, D)
    if kind == "gaps":
        x = rng.normal(size=(N, D))
        x[rng.random(x.shape) < 0.1] = np.nan
        x[:, 0] = 3.0
        return x
    if kind == "far":
        x = rng.normal(size=(N, D))
        x[0] += 1e9
        return x
    x = rng.integers(0, 4, (N, D))
    return sparse.csr_array(x.astype(float)) if kind == "sparse" else x


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        *(
            (GaussianNB(variance=one), kind)
            for one in ("class", "pooled")
            for kind in ("real", "gaps", "far", "levels")
        ),
        *((one, kind) for one in (BernoulliNB(binarize=1), CategoricalNB()) for kind in ("levels", "sparse")),
        *((MultinomialNB(alpha=alpha), kind) for alpha in (1.0, 1e-9) for kind in ("levels", "sparse")),
    ],
    ids=str,
)
def test_leaving_rows_out(estimator, kind, rng, monkeypatch):
    x, y = rows(kind, rng), rng.integers(3, size=N)
    y[0] = 3  # a class of one row
    found = {}
    for worth in (1, 1 << 60):
        monkeypatch.setattr(loops, "WORTH", worth)
        found[worth] = estimator.fit(x, y).loo(x, y).log_proba
    loop, formula = found.values()
    np.testing.assert_allclose(loop, formula, rtol=1e-9, atol=1e-9)


def test_weights_other_than_one_are_for_the_formula(rng, monkeypatch):
    monkeypatch.setattr(loops, "WORTH", 1)
    x, y, w = rng.normal(size=(N, 3)), rng.integers(3, size=N), rng.integers(1, 3, N)
    nb = GaussianNB().fit(x, y, w)
    twice = GaussianNB(prior=nb.prior_.blocks["x"]).fit(np.repeat(x, w, 0), np.repeat(y, w))
    np.testing.assert_allclose(nb.loo(x, y, w).log_proba[w == 1], twice.loo(x, y).log_proba[w == 1], rtol=1e-9)
