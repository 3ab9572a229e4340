"""Rows with up to 1e15 events keep twelve digits, in the value and in the log odds of the classes."""

import mpmath as mp
import numpy as np
import pytest
from scipy import sparse

from bayesnb import ComplementNB, MultinomialNB
from bayesnb.families import DirichletComplement, DirichletMultinomial
from bayesnb.sums.events import log_rising_lengths, log_rising_sum


def reference(x, alpha):
    """log p(x | α) with 80 digits."""
    with mp.workdps(80):
        x, alpha = ([mp.mpf(float(v)) for v in values] for values in (x, alpha))
        length, whole = mp.fsum(x), mp.fsum(alpha)
        cells = mp.fsum(mp.loggamma(u + v) - mp.loggamma(v) - mp.loggamma(u + 1) for u, v in zip(x, alpha, strict=True))
        return mp.loggamma(length + 1) - mp.loggamma(whole + length) + mp.loggamma(whole) + cells


def off(found, expected):
    """Largest relative error."""
    return max(float(abs((mp.mpf(float(f)) - e) / e)) for f, e in zip(np.ravel(found), np.ravel(expected), strict=True))


def rows_and_priors(events, weight, rng, d=5, c=3):
    share = rng.dirichlet(np.ones(d))
    mixed = [0.9 * share + 0.1 * rng.dirichlet(np.ones(d)) for _ in range(c)]
    alpha = np.array(mixed) * weight + rng.uniform(0.1, 1, (c, d))
    x = np.array([share * events, rng.dirichlet(np.ones(d)) * events, [events / 3, 0, 0, events / 7, 1]])
    return np.round(x), alpha


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e6, 1e12, 1e15])
@pytest.mark.parametrize("events", [1e3, 1e6, 1e9, 1e12, 1e15])
def test_the_predictive_keeps_twelve_digits(events, weight, rng):
    x, alpha = rows_and_priors(events, weight, rng)
    block = DirichletMultinomial(alpha)
    expected = np.array([[reference(row, a) for a in alpha] for row in x])
    assert off(block.log_predictive(x), expected) < 1e-12
    assert off(block.log_predictive(sparse.csr_array(x)), expected) < 1e-12
    score = block.log_score(x)
    odds, found = expected[:, 1:] - expected[:, :1], score[:, 1:] - score[:, :1]
    kept = np.abs(odds) > 1e-2 * np.abs(expected[:, 1:])  # of odds much smaller than the values digits must go
    assert kept.any()
    assert off(found[kept], odds[kept]) < 1e-12


def test_the_plain_sum_does_not(rng):
    """What these tests are for: they would fail with it."""
    x, alpha = rows_and_priors(1e15, 1.0, rng)
    score = log_rising_sum(x, alpha) - log_rising_lengths(alpha.sum(-1), x.sum(1))
    expected = np.array([[reference(row, a) for a in alpha] for row in x])
    odds, found = expected[:, 1:] - expected[:, :1], score[:, 1:] - score[:, :1]
    assert off(found, odds) > 1e-3


@pytest.mark.parametrize("fraction", [0.25, 0.1])
def test_fractional_counts(fraction, rng):
    x, alpha = rows_and_priors(1e12, 1e9, rng)
    x = x + fraction * (x > 0)
    expected = np.array([[reference(row, a) for a in alpha] for row in x])
    assert off(DirichletMultinomial(alpha).log_predictive(x), expected) < 1e-12


def test_long_and_short_rows_in_one_table(rng):
    long, alpha = rows_and_priors(1e12, 10.0, rng)
    short = rng.poisson(3, (4, 5)).astype(float)
    x = np.concatenate([short[:2], long, short[2:], np.zeros((1, 5))])
    for block in (DirichletMultinomial(alpha), DirichletComplement(alpha)):
        for rows in (x, sparse.csr_array(x)):
            one_by_one = np.concatenate([block.log_predictive(rows[[i]]) for i in range(len(x))])
            np.testing.assert_allclose(block.log_predictive(rows), one_by_one, rtol=1e-13, atol=1e-13)


def test_the_complement_keeps_them_too(rng):
    x, alpha = rows_and_priors(1e15, 1.0, rng)
    own = np.array([[reference(row, a) for a in alpha] for row in x])
    expected = own.sum(1, keepdims=True) - own
    assert off(DirichletComplement(alpha).log_predictive(x), expected) < 1e-12


@pytest.mark.parametrize("nb", [MultinomialNB(), ComplementNB()], ids=repr)
def test_leaving_out_a_long_row_is_a_refit_without_it(nb, rng):
    x, _ = rows_and_priors(1e12, 1.0, rng)
    X = np.concatenate([x, rng.poisson(3, (4, 5)), x + 7]).astype(float)
    y = np.arange(len(X)) % 3
    found = nb.fit(X, y).loo(X, y).log_joint
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        refit = type(nb)().partial_fit(X[rest], y[rest], classes=[0, 1, 2])
        np.testing.assert_allclose(found[i], refit.predict_joint_log_proba(X[[i]])[0], rtol=1e-11)


def test_odds_of_a_long_row_through_the_estimator(rng):
    """7 nats of them were rounding at 1e15 events, and the first digit of the log odds was wrong."""
    X = rng.poisson([[3, 1, 5], [1, 4, 2]] * 10).astype(float)
    nb = MultinomialNB().fit(X, np.arange(20) % 2)
    alpha = nb.posterior_.blocks["x"].alpha
    row = np.array([3e14, 3e14, 4e14])
    exact = reference(row, alpha[1]) - reference(row, alpha[0])  # equally probable classes
    assert off(nb.decision_function([row]), [exact]) < 1e-12
