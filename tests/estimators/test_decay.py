"""Decay: the weight of earlier rows is multiplied before new ones are added, which is a fit with weights decay^age."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from bayesnb import FamilyNB, GaussianDA, GaussianNB, MixedNB, MultinomialNB, families, fit_batches
from bayesnb.estimators import KernelNB, OneDependenceNB
from bayesnb.numerics.pytrees import leaves

from ..estimators_table import ALL, mostly_slow

DECAY, BATCHES, SIZE = 0.9, 5, 12
MIXED = MixedNB([("one", GaussianNB(), [0, 1]), ("other", {0: GaussianNB(), 1: KernelNB()}, [2])])
EVERY = [*ALL, MIXED, OneDependenceNB(), FamilyNB(families.GammaExponential(1.0, 1.0))]
QUICK = [repr(nb) for nb in (GaussianNB(), GaussianDA(), MultinomialNB(), MIXED, OneDependenceNB())]
WEIGHTS = DECAY ** np.repeat(np.arange(BATCHES)[::-1], SIZE)  # of the rows, by how many calls ago they came


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.integers(1, 5, (BATCHES * SIZE, 3)).astype(float), rng.integers(0, 2, BATCHES * SIZE)


def streamed(nb: Any, X: Any, y: Any, **settings: Any) -> Any:
    for part in np.split(np.arange(len(y)), BATCHES):
        nb.partial_fit(X[part], y[part], classes=[0, 1], **settings)
    return nb


def assert_same_model(got: Any, want: Any, rtol: float = 1e-11) -> None:
    for a, b in zip(leaves(got.posterior_), leaves(want.posterior_), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("nb", mostly_slow(EVERY, lambda nb: repr(nb) in QUICK), ids=repr)
def test_decayed_batches_are_a_weighted_fit(nb: Any, rows: Any) -> None:
    X, y = rows
    nb = clone(nb)
    got = streamed(clone(nb), X, y, decay=DECAY)
    want = clone(nb).partial_fit(X, y, classes=[0, 1], sample_weight=WEIGHTS)
    assert_same_model(got, want)
    np.testing.assert_allclose(got.class_count_, np.bincount(y, WEIGHTS), rtol=1e-13)
    np.testing.assert_allclose(got.predict_log_proba(X), want.predict_log_proba(X), rtol=1e-9, atol=1e-10)
    # a row that came k calls ago leaves at the weight that is left of it
    first = slice(0, SIZE)
    got.forget(X[first], y[first], sample_weight=WEIGHTS[first])
    left = clone(nb).partial_fit(X[SIZE:], y[SIZE:], classes=[0, 1], sample_weight=WEIGHTS[SIZE:])
    assert_same_model(got, left, rtol=1e-9)


def test_bad_decay_changes_nothing(rows: Any) -> None:
    X, y = rows
    nb = GaussianNB().fit(X, y)
    before = vars(nb).copy()
    for decay in [0, -0.5, 1.01, float("nan"), "0.9", None, True, [0.9]]:
        with pytest.raises(ValueError, match=r"`decay` is .*above 0 and at most 1"):
            nb.partial_fit(X, y, decay=decay)
        with pytest.raises(ValueError, match="`decay` is"):
            GaussianNB().partial_fit(X, y, classes=[0, 1], decay=decay)
        with pytest.raises(ValueError, match="`decay` is"):
            fit_batches(GaussianNB(), X, y, decay=decay)
        with pytest.raises(ValueError, match="do not exist"):  # after the decay is checked, before it is applied
            nb.partial_fit(X, y + 5, decay=0.5)
        assert vars(nb) == before
