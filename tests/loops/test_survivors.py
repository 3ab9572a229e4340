"""What mutants of the loops showed to be untested: work that a loop declines, and rows that no other test has."""

import numpy as np
import pytest
from scipy import sparse, stats

from bayesnb import families, loops
from bayesnb.sums import gaussian as sums


def test_student_of_many_far_features(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of 24 factors: with cells 1e6 spreads away (1e12)^26 would be infinite."""
    x, df, one = np.full((200, 400), 1e6), np.ones((1, 400)), np.ones((1, 400))
    for worth in (1, 1 << 60):
        monkeypatch.setattr(loops, "WORTH", worth)
        found = sums.log_student_sum(x, df, 0 * one, one)
        np.testing.assert_allclose(found, 400 * stats.t(1).logpdf(1e6), rtol=1e-13)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_leaving_out_a_row_of_a_family(known: bool, gaps: bool, monkeypatch: pytest.MonkeyPatch, rng) -> None:
    """With gaps, each column misses one cell of each class, so the degrees of freedom are equal nevertheless."""
    n, d, one = 60, 20, np.ones((3, 20))
    x, y = rng.normal(size=(n, d)) * 3 + 1, np.arange(n) % 3
    if gaps:
        x[np.arange(n), np.arange(n) // 3] = np.nan
    r = sparse.csr_array(np.eye(3)[y])  # loops serve labels of weight 1, which come sparse
    prior = families.KnownVarianceNormal(m=0 * one, kappa=one, variance=4 * one, log_c=0 * one)
    if not known:
        prior = families.NormalInverseGamma(0 * one, one, one, 2 * one)
    posterior, found = prior.update(prior.suffstats(x, r)), []
    for worth in (1, 1 << 60):
        monkeypatch.setattr(loops, "WORTH", worth)
        found.append(posterior.log_loo(x, r))
    np.testing.assert_allclose(*found, rtol=1e-11)
    others = np.arange(n) != 7
    refitted = prior.update(prior.suffstats(x[others], r[others]))
    np.testing.assert_allclose(found[0][7], refitted.log_predictive(x[7:8])[0], rtol=1e-11)
