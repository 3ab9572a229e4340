"""Forgetting equals refitting: the rows that are left, fitted alone, give the same posterior, evidence and prediction.

Refitting means: the same classes, and the levels of a feature that are known.
"""

import numpy as np
import pytest
from sklearn.base import clone

from bayesnb import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    ExponentialNB,
    GaussianDA,
    GaussianNB,
    GeometricNB,
    KernelNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
    drop_in,
)
from bayesnb._pytree import leaves

GAUSSIAN = {
    "class": GaussianNB(),
    "pooled": GaussianNB(variance="pooled"),
    "known": GaussianNB(known_variance=2.0),
    "drop-in": drop_in.GaussianNB(),
    "full": GaussianDA(),
    "shared": GaussianDA(covariance="shared"),
    "identity": GaussianDA(covariance="identity"),
    "mixed": MixedNB([("one", GaussianNB(), [0]), ("other", KernelNB(bandwidth=1.0), [1])]),
}
AMOUNTS = {
    "exponential": ExponentialNB(),
    "poisson": PoissonNB(),
    "geometric": GeometricNB(),
    "multinomial": MultinomialNB(),
    "complement": ComplementNB(),
    "drop-in": drop_in.MultinomialNB(),
    "drop-in complement": drop_in.ComplementNB(),
}
LEVELS = {"bernoulli": BernoulliNB(), "categorical": CategoricalNB(min_categories=4)}
WHOLE = ("poisson", "geometric")


def column(rng, n, amounts):
    """A column as sensors and people make them: noise, few values, stuck, offset, one cell far out."""
    x = rng.gamma(1.0, size=n) if amounts else rng.normal(size=n)
    if rng.random() < 0.3:
        x = np.round(x, int(rng.integers(0, 3)))
    if rng.random() < 0.4:  # it got stuck
        at = int(rng.integers(0, n))
        x[at:] = x[at] if rng.random() < 0.5 else rng.choice([0.0, 0.1, 1 / 3])
    if rng.random() < 0.3:
        x += 10.0 ** rng.integers(0, 10)
    if rng.random() < 0.3:
        x[rng.integers(0, n)] += 10.0 ** rng.integers(1, 13)
    return x


def window(rng, kind):
    """Rows, labels, weights, and which rows are left."""
    n = int(rng.integers(2, 40))
    X = np.stack([column(rng, n, kind != "gaussian") for _ in range(2)], 1)
    if kind == "levels":
        X = rng.integers(0, 2, (n, 2)).astype(float)
    if kind == "whole":
        X = np.floor(X)
    y = rng.integers(0, 2, n)
    if rng.random() < 0.2:
        y.sort()  # the window leaves one class behind
    w = None if rng.random() < 0.6 else rng.choice([0.1, 0.3, 1.0, 2.0], n)
    kept = np.zeros(n, bool)
    kept[int(rng.integers(1, n)) :] = True
    if rng.random() < 0.3:
        kept = rng.random(n) < 0.5
    if rng.random() < 0.1:
        kept[:] = False
        kept[rng.integers(0, n)] = True
    return X, y, w, kept


def forgotten(nb, rng, X, y, w, kept):
    """Fitted on all rows in a few batches, of which those not kept are forgotten in a few more."""
    nb = clone(nb)
    for part in np.array_split(np.arange(len(y)), int(rng.integers(1, 4))):
        if len(part):
            nb.partial_fit(X[part], y[part], [0, 1], None if w is None else w[part])
    for part in np.array_split(rng.permutation(np.flatnonzero(~kept)), int(rng.integers(1, 3))):
        if len(part):
            nb.forget(X[part], y[part], None if w is None else w[part])
    return nb


def assert_same(nb, other, X):
    def same(a, b, what):
        a, b = (np.nan_to_num(np.asarray(one, float)) for one in (a, b))  # the least number for log 0
        np.testing.assert_allclose(
            np.asarray(a, float) / np.maximum(1, abs(np.asarray(b, float))),
            np.asarray(b, float) / np.maximum(1, abs(np.asarray(b, float))),
            rtol=0,
            atol=1e-9,
            err_msg=what,
        )

    for one, two in zip(leaves(nb.posterior_), leaves(other.posterior_), strict=True):
        same(one, two, "posterior")
    if not any(block.no_evidence for block in nb.posterior_.blocks.values()):
        same(nb.log_evidence_, other.log_evidence_, "evidence")
    same(nb.predict_proba(X), other.predict_proba(X), "probabilities")
    same(nb.predict_log_proba(X), other.predict_log_proba(X), "log probabilities")


def check_windows(nb, kind, windows, seed):
    rng = np.random.default_rng(seed)
    for _ in range(windows):
        X, y, w, kept = window(rng, kind)
        if not kept.any():
            continue
        after = forgotten(nb, rng, X, y, w, kept)
        refit = clone(nb).partial_fit(X[kept], y[kept], [0, 1], None if w is None else w[kept])
        assert_same(after, refit, X)
        assert after.digits_lost_ == 0


CASES = [
    *((nb, "gaussian") for nb in GAUSSIAN.values()),
    *((nb, "whole" if name in WHOLE else "amounts") for name, nb in AMOUNTS.items()),
    *((nb, "levels") for nb in LEVELS.values()),
]


@pytest.mark.parametrize(("nb", "kind"), CASES, ids=lambda one: repr(one) if not isinstance(one, str) else one)
def test_forgetting_is_refitting(nb, kind):
    check_windows(nb, kind, 8, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize(("nb", "kind"), CASES, ids=lambda one: repr(one) if not isinstance(one, str) else one)
def test_forgetting_is_refitting_at_length(nb, kind):
    check_windows(nb, kind, 100, seed=1)
