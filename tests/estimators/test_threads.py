"""One model learns while many threads ask it: each answer, draws of a seed too, is that of one state."""

import pickle
import sys
import threading
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


def states(nb, steps, asked):
    """Answers to every question in every state that the writer goes through."""
    one, found = clone(nb), {name: [] for name in asked}
    for step in steps:
        after = copy(step(one))
        for name, ask in asked.items():
            found[name].append(ask(after))
    return found


def is_one_of(answer, known):
    return any(
        answer.shape == one.shape and np.allclose(answer, one, rtol=1e-12, atol=1e-12, equal_nan=True) for one in known
    )


def teach_while_others_ask(nb, steps, asked, answers, readers=8):
    """How many states the readers have met in so many answers or more; errors and mixed answers are a failure."""
    known = states(nb, steps, asked)
    shared, done, broken, counts = steps[0](clone(nb)), threading.Event(), [], [0] * readers
    met = {name: set() for name in asked}

    def read(i):
        name = ""
        try:
            while not done.is_set() and not broken:
                name = list(asked)[(i + counts[i]) % len(asked)]
                answer = asked[name](shared)
                if not is_one_of(answer, known[name]):
                    broken.append(f"{name}: an answer that belongs to no state")
                met[name].add(answer.tobytes())
                counts[i] += 1
        except BaseException as error:
            broken.append(f"{name}: {error!r}")

    threads = [threading.Thread(target=read, args=(i,)) for i in range(readers)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        while not broken and (sum(counts) < answers or max(map(len, met.values())) < 2):
            for step in steps:
                step(shared)
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not broken, broken
    assert sum(counts) >= answers and min(counts) > 0
    return max(map(len, met.values()))


# levels that grow, means that are cached
@pytest.mark.parametrize("nb", mostly_slow(LEARNERS, these("CategoricalNB()", "GaussianDA()")), ids=repr)
def test_a_model_learns_while_eight_threads_ask_it(nb, table):
    """Each answer is that of one state the writer went through, to 1e-12, and never a mixture of two."""
    X = table[0][::5]
    asked = questions(clone(nb).fit(X, np.resize(["ant", "bee"], len(X))), X)
    assert teach_while_others_ask(nb, lessons(nb, X), asked, 100) > 1


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
