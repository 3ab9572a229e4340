"""Forgetting equals refitting to nine digits, or is refused: it is never wrong.

Refitting means: the same classes, and the levels of a feature that are known.
"""

import re

import numpy as np
import pytest
from sklearn.base import clone

from bayesnb import BernoulliNB, CategoricalNB, GaussianNB, KernelNB, MixedNB, MultinomialNB, OneDependenceNB, load
from bayesnb.models.one_dependence import OneDependence
from bayesnb.numerics.pytrees import leaves

from ..estimators_table import ALL, mostly_slow

REFUSED = "fewer than nine digits"
MIXED = MixedNB([("one", GaussianNB(), [0]), ("other", KernelNB(bandwidth=1.0), [1])])
GAUSSIAN = [nb for nb in ALL if "Gaussian" in repr(nb)] + [MIXED]
AMOUNTS = [nb for nb in ALL if nb._cells.kind in ("amounts", "counts")]
LEVELS = [BernoulliNB(), CategoricalNB(min_categories=4), OneDependenceNB(min_categories=4)]
WHOLE = [nb for nb in AMOUNTS if nb._cells.kind == "counts" and nb._cells.measure == "probabilities"]


def column(rng, n, amounts):
    """A column as sensors and people make them: noise, few values, stuck, offset, one cell far out."""
    x = rng.gamma(1.0, size=n) if amounts else rng.normal(size=n)
    if rng.random() < 0.3:
        x = np.round(x, int(rng.integers(0, 3)))
    if rng.random() < 0.4:  # it got stuck
        at = int(rng.integers(0, n))
        x[at:] = x[at] if rng.random() < 0.5 else rng.choice([0.0, 0.1, 1 / 3])
    if rng.random() < 0.3:
        x += 10.0 ** rng.integers(0, 7)
    if rng.random() < 0.3:
        x[rng.integers(0, n)] += 10.0 ** rng.integers(1, 7)
    return x if amounts else x * 10.0 ** rng.integers(-8, 9)


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
    if not kept.any():
        kept[rng.integers(0, n)] = True
    return X, y, w, kept


def forgotten(nb, rng, X, y, w, kept):
    """Fitted on all rows in a few batches, of which those not kept are forgotten in a few more; None if refused."""
    nb = clone(nb)
    for part in np.array_split(np.arange(len(y)), int(rng.integers(1, 4))):
        if len(part):
            nb.partial_fit(X[part], y[part], [0, 1], None if w is None else w[part])
    for part in np.array_split(rng.permutation(np.flatnonzero(~kept)), int(rng.integers(1, 3))):
        if len(part):
            before = dict(vars(nb))
            try:
                nb.forget(X[part], y[part], None if w is None else w[part])
            except ValueError as error:
                assert re.search(REFUSED, str(error))
                assert all(vars(nb)[key] is value for key, value in before.items())
                return None
    return nb


def assert_same(nb, other, X, most):
    def same(a, b, what, scale=1.0):
        a, b = (np.nan_to_num(np.asarray(one, float)) for one in (a, b))  # the least number for log 0
        with np.errstate(over="ignore"):
            gap = abs(a - b) / np.maximum(scale, abs(b))
        assert (gap <= 1e-9).all(), (what, gap.max())

    def densities(model):
        """The blocks of naive Bayes; an average over one-dependence models is one density of all columns."""
        return [model] if isinstance(model, OneDependence) else model.blocks.values()

    for block, wanted in zip(densities(nb.posterior_), densities(other.posterior_), strict=True):
        for one, two in zip(leaves(block), leaves(wanted), strict=True):
            size = np.sqrt(two.diagonal(0, -2, -1)) if two is getattr(wanted, "S", None) else None
            scale = 1.0 if size is None else np.maximum(1.0, size[..., None] * size[..., None, :])
            same(one, two, "posterior", scale)
    if hasattr(nb, "log_evidence_"):
        same(nb.log_evidence_, other.log_evidence_, "evidence", max(1.0, abs(most.log_evidence_)))
    same(nb.predict_proba(X), other.predict_proba(X), "probabilities")


def check_windows(nb, kind, windows, seed):
    """The share of windows that are refused; the others agree with a refit."""
    rng, refused = np.random.default_rng(seed), 0
    for _ in range(windows):
        X, y, w, kept = window(rng, kind)
        after = forgotten(nb, rng, X, y, w, kept)
        refused += after is None
        if after is not None:
            refit = clone(nb).partial_fit(X[kept], y[kept], [0, 1], None if w is None else w[kept])
            assert_same(after, refit, X[kept], clone(nb).partial_fit(X, y, [0, 1], w))
    return refused / windows


CASES = [
    *((nb, "gaussian") for nb in GAUSSIAN),
    *((nb, "whole" if nb in WHOLE else "amounts") for nb in AMOUNTS),
    *((nb, "levels") for nb in LEVELS),
]


@pytest.mark.parametrize(
    ("nb", "kind"),
    mostly_slow(CASES, lambda case: repr(case[0]) in ("GaussianNB()", "PoissonNB()", repr(LEVELS[1]))),
    ids=lambda one: repr(one) if not isinstance(one, str) else one,
)
def test_forgetting_is_refitting_or_refused(nb, kind):
    given = getattr(nb, "known_variance", None) or getattr(nb, "covariance", "") == "identity"
    most = 0.0 if kind in ("levels", "whole") else 0.75 if given else 0.35
    assert check_windows(nb, kind, 12, seed=0) <= most


def test_what_is_small_beside_what_was_there_is_refused():
    """A weight or an amount within the rounding of another; an outlier of a million spreads that came often.

    And a column that got stuck: what is left of its squares is rounding.
    """
    X, y = np.array([[0.1, 0.8], [0.1, 1e9 / 3], [4.0, 0.8]]), np.array([1, 1, 0])
    thin = np.random.default_rng(0).normal(size=(100, 2)), np.arange(100) % 2
    far = GaussianNB().fit(*thin)
    for _ in range(200):
        far.partial_fit([[1e6, -1e6]], [0])
    w = np.array([1e-8, 1e8 / 3, 1.0])
    stuck = np.append(thin[0][:, :1], np.full((100, 1), 0.1), 0)
    for nb, *gone in (
        (BernoulliNB(binarize=2).fit(X, y, w), X[1:2], y[1:2], w[1:2]),
        (MultinomialNB(alpha=1e-8).fit(X, y), X[1:2], y[1:2]),
        (far, np.tile([[1e6, -1e6]], (200, 1)), np.zeros(200, int)),
        (GaussianNB().fit(stuck, np.arange(200) % 2), stuck[:100], thin[1]),
    ):
        with pytest.raises(ValueError, match=REFUSED) as error:
            nb.forget(*gone)
    assert "of the statistics in column 0" in str(error.value)


def test_a_weight_written_in_two_ways_is_forgotten():
    nb = GaussianNB().fit([[1.0], [2.0], [5.0]], [0, 1, 0], sample_weight=[0.1, 1.0, 0.2])
    nb.partial_fit([[1.0]], [0], sample_weight=[0.2]).forget([[1.0], [5.0]], [0, 0], sample_weight=[0.3, 0.2])
    assert nb.class_count_[0] == 0 and (nb.statistics_.blocks["x"].ss[0] == 0).all()


def test_a_file_keeps_the_rounding(tmp_path):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(50, 2)) + 1e3, np.arange(50) % 2
    nb = GaussianNB().fit(X, y).partial_fit([[1e7, 1e7]], [0], sample_weight=[0.3])
    for known in ([], ["n", "mean", "cross", "ss"]):  # before rows were forgotten, and after that
        nb.save(tmp_path / "model")
        again = load(tmp_path / "model")
        for one, two in zip(leaves(nb.statistics_), leaves(again.statistics_), strict=True):
            np.testing.assert_array_equal(one, two)
        assert [*(again.statistics_.blocks["x"].error or {})] == known
        assert (again._state.longest, again._state.pieces) == (50, 2)
        with pytest.raises(ValueError, match=REFUSED):
            again.forget([[1e7, 1e7]], [0], [0.3])
        nb.forget(X[:1], y[:1])
