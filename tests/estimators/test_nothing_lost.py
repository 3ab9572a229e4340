"""A method that fails, wherever it fails, leaves the model as it was; rows never fitted cannot be forgotten."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bayesnb import BernoulliNB, CategoricalNB, GaussianNB, MixedNB, MultinomialNB, OneDependenceNB, PoissonNB

from ..estimators_table import ONE_OF_EACH

EACH = {"ant": GaussianNB(), "bee": BernoulliNB(binarize=1), "cow": GaussianNB()}
MIXED = MixedNB([("counts", PoissonNB(), [0]), ("levels", CategoricalNB(), [1]), ("classes", EACH, [2, 3])])
EVERY = [*ONE_OF_EACH, MIXED]


method = pytest.mark.parametrize("method", ["fit", "partial_fit", "forget"])


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 5, (24, 4)).astype(float), np.array(["ant", "bee", "cow"])[np.arange(24) % 3]


@method
@pytest.mark.parametrize("step", ["_validate", "_learn_encoding", "_compute_statistics", "_prior"])
def test_a_fault_in_any_step_leaves_the_model_as_it_was(method, step, monkeypatch):
    """What is learnt is assigned once, as the last step; Ctrl-C and errors come before."""
    X, y = table()
    for nb in EVERY:
        fitted, fresh = clone(nb).fit(X, y), clone(nb)
        before, held = dict(vars(fitted)), pickle.dumps(fitted)
        expected = fitted.predict_log_proba(X)
        real = getattr(type(nb), step)

        def struck(*args, real=real):
            real(*args)
            raise KeyboardInterrupt

        # more levels than there were: what is learnt about the encoding has to be lost too
        rows = np.where(X[:9] > 2, 6, X[:9]) if method == "partial_fit" else X[:9]
        with monkeypatch.context() as patch:
            patch.setattr(type(nb), step, struck)
            with pytest.raises(KeyboardInterrupt):
                getattr(fitted, method)(rows, y[:9])
            with pytest.raises((KeyboardInterrupt, NotFittedError)):
                getattr(fresh, method)(X, y, *([np.unique(y)] if method == "partial_fit" else []))
        assert vars(fresh).keys() == vars(nb).keys()
        assert vars(fitted).keys() == before.keys() and all(vars(fitted)[key] is before[key] for key in before)
        np.testing.assert_array_equal(fitted.predict_log_proba(X), expected)  # and nothing was changed in place
        np.testing.assert_array_equal(pickle.loads(held).predict_log_proba(X), expected)
        getattr(fitted, method)(rows, y[:9])  # it still learns
        assert not np.array_equal(fitted.predict_log_proba(X), expected)


@method
def test_bad_input_leaves_the_model_as_it_was(method):
    for nb in EVERY:
        X, y = table()
        fitted = clone(nb).fit(X, y)
        before, expected = dict(vars(fitted)), fitted.predict_log_proba(X)
        bad: list[tuple[Any, ...]] = [
            (X[:9], y[:8]),
            (X[:0], y[:0]),
            (X[0], y[:1]),
            (X[:9], y[:9], -np.ones(9)),
            (X[:9], y[:9], np.full(9, np.nan)),
            (X[:9], y[:9], np.ones(8)),
            (np.full((9, 4), np.inf), y[:9]),
            (np.full((9, 4), 1 + 1j), y[:9]),
            (X[:9], np.full(9, None)),
            ([[[1, 2]] * 4], ["ant"]),
        ]
        if method != "fit":
            bad += [(X[:9, :3], y[:9]), (X[:9], np.full(9, "dog")), (pd.DataFrame(X[:9, :2]), y[:9])]
        if method == "forget":
            bad += [(X, y, np.full(24, 2.0))]
        for arguments in bad:
            with pytest.raises((ValueError, TypeError)):
                getattr(fitted, method)(*arguments)
            assert vars(fitted).keys() == before.keys()
            assert all(vars(fitted)[key] is before[key] for key in before)
        np.testing.assert_array_equal(fitted.predict_log_proba(X), expected)


# --- forgetting what was never there --------------------------------------------------------------------------------


def test_more_rows_of_a_class_than_there_are():
    """Or squares that would turn negative: no row further out than all of its class can have been there."""
    for nb in EVERY:
        X, y = table()
        fitted = clone(nb).fit(X, y)
        far = np.where(np.arange(4) < 2, X[:2], 1e4) if nb is MIXED else X[:2] + 1e4
        gone = [(np.vstack([X, X[:1]]), np.append(y, y[0])), (X, y, np.full(len(y), 1 + 1e-6))]
        for rows in [*gone, (far, y[:2])] if "Gaussian" in repr(nb) else gone:
            with pytest.raises(ValueError, match="never fitted"):
                fitted.forget(*rows)
        fitted.forget(X[:12], y[:12])  # what was there can go
        assert np.isfinite(fitted.predict_log_proba(X)).all()


def test_more_events_than_were_counted():
    """Two rows of a class of many, but with events that this class never had."""
    X, y = table()
    X[y == "ant"] = np.minimum(X[y == "ant"], 1)
    X[y == "ant", 0] = 0
    new = np.full((2, 4), 3.0)
    for nb in (MultinomialNB(), PoissonNB(), CategoricalNB(), BernoulliNB(), OneDependenceNB(), MIXED):
        fitted = clone(nb).fit(X, y)
        for rows in (new, sparse.csr_array(new)) if fitted.__sklearn_tags__().input_tags.sparse else (new,):
            with pytest.raises(ValueError, match="never fitted"):
                fitted.forget(rows, ["ant", "ant"])
