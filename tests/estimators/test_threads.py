"""One model learns while many threads ask it: each answer, draws of a seed too, is that of one state."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from bayesnb import BernoulliNB, ComplementNB, GaussianNB, MixedNB, fit_batches, load
from bayesnb.estimators._base import AbstractNB

from ..estimators_table import ALL, mostly_slow, these


@pytest.fixture(scope="module")
def table():
    X, y = load_iris(return_X_y=True)
    return np.round(X)[::2], np.array(["setosa", "versicolor", "virginica"])[y[::2]]


LEARNERS = [*ALL, MixedNB([("yes", BernoulliNB(binarize=3), [0]), ("reals", GaussianNB(), [1, 2, 3])])]


def through_a_file(nb):
    with TemporaryDirectory() as folder:
        nb.save(Path(folder, "nb.safetensors"))
        return load(Path(folder, "nb.safetensors"))


def questions(nb, X):
    """What a reader may ask, by name; each answer is one array."""
    asked = {
        "probabilities": lambda one: one.predict_log_proba(X),
        "labels": lambda one: (one.predict(X)[:, None] == np.array(["ant", "bee", "cow", "dog"])).astype(float),
        "draws": lambda one: one.sample_proba(X[:3], 5, seed=1),
        "interval": lambda one: one.predict_interval(X[:2], method="draws", n_draws=20, seed=2),
        "uncertainty": lambda one: one.uncertainty(X[:2], method="draws", n_draws=20, seed=3).total,
        "novelty": lambda one: one.novelty_score(X),
        "pickle": lambda one: pickle.loads(pickle.dumps(one)).predict_log_proba(X),
        "file": lambda one: through_a_file(one).predict_log_proba(X),
        "leave one out": lambda one: one.loo(np.minimum(X[:6], 2), np.resize(["ant", "bee"], 6)).log_joint,
    }
    if hasattr(nb, "log_evidence_"):
        asked["evidence"] = lambda one: np.array([one.log_evidence_])
    if hasattr(nb, "coef_"):
        asked["weights"] = lambda one: np.append((held := copy(one)).coef_.ravel(), held.intercept_)
    if hasattr(nb, "means_"):
        asked["means"] = lambda one: one.means_
    if not isinstance(nb, ComplementNB):
        asked["rows"] = lambda one: one.sample(4, seed=4)[0].astype(float)
    return asked


def lessons(nb, X):
    """What the writer does, one after the other and again from the start: each from a state that does not vary."""
    y, low = np.resize(["ant", "bee", "cow"], len(X)), np.minimum(X, 2)
    two = np.resize(["ant", "bee"], len(X))
    other = clone(nb).partial_fit(X[:20] + 4, y[:20], classes=["ant", "bee", "cow"])
    steps = [
        lambda one: one.fit(low, two),
        lambda one: one.partial_fit(X[:30] + 1, two[:30]),  # with levels that were not there before
        lambda one: one.fit(low, np.append(two[:6], y[6:])),
        lambda one: one.partial_fit(X + 2, y),
        lambda one: one.partial_fit(X[:40] + 3, y[:40]),
        lambda one: one.forget(X[:40] + 3, y[:40]),
        lambda one: one.merge(other),
        lambda one: fit_batches(one, [(low[:9], two[:9]), (low[9:], y[9:])]),
    ]
    if "estimate" in nb.get_params():
        steps += [lambda one: one.set_params(estimate="mean"), lambda one: one.set_params(estimate=nb.estimate)]
    return steps


def is_one_of(answer, known):
    return any(
        answer.shape == one.shape and np.allclose(answer, one, rtol=1e-12, atol=1e-12, equal_nan=True) for one in known
    )


@pytest.fixture
def often():
    """Threads take turns a hundred times as often as they do."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


# levels that grow, means that are cached
@pytest.mark.parametrize("nb", mostly_slow(LEARNERS, these("CategoricalNB()", "GaussianDA()")), ids=repr)
def test_a_model_learns_while_eight_threads_ask_it(nb, table, often):
    """Each answer is that of one state the writer went through, to 1e-12, and never a mixture of two."""
    X = table[0][::5]
    steps, asked = lessons(nb, X), questions(clone(nb).fit(X, np.resize(["ant", "bee"], len(X))), X)
    alone = clone(nb)
    states = [copy(step(alone)) for step in steps]
    known = {name: [ask(state) for state in states] for name, ask in asked.items()}
    shared = steps[0](clone(nb))

    def read(first):
        names, met = [*asked], set()
        for name in names[first:] + names + names[:first]:
            answer = asked[name](shared)
            assert is_one_of(answer, known[name]), name
            met.add((name, answer.tobytes()))
        return met

    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read, first) for first in range(8)]
        while not all(reader.done() for reader in readers):
            for step in steps:
                step(shared)
    assert len(set().union(*(reader.result() for reader in readers))) > len(asked)  # more than one state was met


@pytest.mark.parametrize("ask", ["probabilities", "novelty", "means"])
def test_what_was_learnt_and_the_estimate_are_read_at_one_moment(ask, table, monkeypatch):
    """A writer who learns and then sets `estimate`, while a reader has read what was learnt before."""
    X, y = table
    nb = GaussianNB(variance="pooled").fit(X[::9], y[::9])
    asked, read = questions(nb, X)[ask], AbstractNB._fitted
    before = asked(nb)

    def slow(one):
        state = read(one)
        if lessons_left:
            lessons_left.pop()()
        return state

    lessons_left = [lambda: nb.fit(X + 5, y).set_params(estimate="mle")]
    monkeypatch.setattr(AbstractNB, "_fitted", slow)
    met = asked(nb)
    assert not lessons_left
    assert is_one_of(met, [before, asked(nb)])
