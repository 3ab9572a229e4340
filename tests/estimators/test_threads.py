"""Many threads, one model: the same numbers to the last bit; and what a seed reproduces."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from bayesnb import BernoulliNB, CategoricalNB, ComplementNB, GaussianDA, GaussianNB, KernelNB, MixedNB, MultinomialNB
from bayesnb.naive_bayes import NaiveBayes

EVERY = [
    BernoulliNB(binarize=3),
    CategoricalNB(),
    MultinomialNB(),
    ComplementNB(),
    GaussianNB(),
    GaussianNB(variance="pooled"),
    GaussianDA(),
    KernelNB(),
    MixedNB([("yes", BernoulliNB(binarize=3), [0]), ("reals", GaussianNB(), [1, 2, 3])]),
]
every = pytest.mark.parametrize("nb", EVERY, ids=lambda nb: "MixedNB" if isinstance(nb, MixedNB) else repr(nb))


@pytest.fixture(scope="module")
def table():
    X, y = load_iris(return_X_y=True)
    return np.round(X)[::2], np.array(["setosa", "versicolor", "virginica"])[y[::2]]


def answers(fitted, X):
    return [
        fitted.predict_log_proba(X),
        fitted.predict_proba(X[:1]),
        fitted.sample_proba(X[:3], 5, seed=1),
        fitted.predict_interval(X[:2], method="draws", n_draws=20, seed=2),
    ]


@every
def test_threads_share_a_model(nb, table):
    """Six threads ask one freshly unpickled model, while another fits: nothing is cached half, nothing is mixed up."""
    X, y = table
    expected = answers(clone(nb).fit(X, y), X)
    shared, stop, broken = clone(nb).fit(X, y), threading.Event(), []  # shared has answered nothing yet
    barrier = threading.Barrier(6)

    def fit_others():
        try:
            while not stop.is_set():
                clone(nb).fit(X[::-1] + 1, y).partial_fit(X[:20], y[:20])
        except BaseException as error:
            broken.append(error)

    def ask(i):
        barrier.wait()
        with jax.enable_x64(bool(i % 2)):  # the caller's precision is the caller's
            return answers(shared, X)

    fitter = threading.Thread(target=fit_others)
    fitter.start()
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(ask, range(6)))
    stop.set()
    fitter.join()
    assert not broken
    for got in found:
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@every
def test_the_callers_precision_changes_nothing(nb, table):
    X, y = table
    found = []
    for precise in (False, True):
        with jax.enable_x64(precise):
            fitted = clone(nb).fit(X, y)
            found.append(answers(fitted, X))
            assert all(leaf.dtype == np.float64 for leaf in found[-1])
            assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(fitted.posterior_))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not jax.config.jax_enable_x64


SEEDED = """
import hashlib, sys
import numpy as np
from sklearn.datasets import load_iris
from bayesnb import ComplementNB, GaussianNB, MultinomialNB

X, y = load_iris(return_X_y=True)
X, y = np.round(X)[::3], y[::3]
digest = hashlib.sha256()
for nb in (GaussianNB(), MultinomialNB()):
    nb.fit(X, y)
    rows, labels = nb.sample(20, seed=3)
    draws = [rows, labels.astype(float), nb.sample_proba(X, 7, seed=4), nb.predict_interval(X[:5], seed=5)]
    exact = nb.sample_posterior(11, seed=6, chains=2)["posterior"]
    draws += [exact[name].values for name in sorted(exact.data_vars)]
    if isinstance(nb, GaussianNB):
        nuts = nb.sample_posterior(9, seed=7, method="nuts", chains=1, warmup=20, progress_bar=False)["posterior"]
        draws += [nuts[name].values for name in sorted(nuts.data_vars)]
        draws.append(np.frombuffer(str(nb.check(X, y, seed=8)).encode(), np.uint8))
    for values in draws:
        digest.update(np.ascontiguousarray(values).tobytes())
print(digest.hexdigest())
"""


def digest(hash_seed: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SEEDED],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    ).stdout


@pytest.mark.slow
def test_seeds_reproduce_in_another_process():
    """Rows, probabilities, intervals, exact and NUTS draws, and the report of a check, to the last bit."""
    assert digest("0") == digest("1") != ""


@every
def test_seeds_reproduce(nb, table):
    X, y = table
    fitted = clone(nb).fit(X, y)
    if not isinstance(nb, ComplementNB):
        one, other, third = (fitted.sample(30, seed=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
        assert not np.array_equal(one[1], third[1])
    same, again = (fitted.sample_posterior(5, seed=3, chains=1)["posterior"] for _ in range(2))
    for name in same.data_vars:
        np.testing.assert_array_equal(same[name].values, again[name].values)


def test_interrupting_one_thread_leaves_the_others_alone(table, monkeypatch):
    X, y = table
    fitted = GaussianNB().fit(X, y)
    expected, me = fitted.predict_proba(X), threading.get_ident()
    real = NaiveBayes.log_scores

    def log_scores(self, *arguments):
        if threading.get_ident() == me:
            raise KeyboardInterrupt
        return real(self, *arguments)

    monkeypatch.setattr(NaiveBayes, "log_scores", log_scores)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(fitted.predict_proba, X) for _ in range(8)]
        with pytest.raises(KeyboardInterrupt):
            fitted.predict_proba(X)
        for one in asked:
            np.testing.assert_array_equal(one.result(), expected)
