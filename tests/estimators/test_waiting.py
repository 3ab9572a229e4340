"""Batches of sparse rows wait until somebody asks for their statistics; nobody may see a difference."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from bayesnb import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB, load
from bayesnb.estimators import _state

from ..estimators_table import mostly_slow

N, D = 120, 4000
CLASSES = np.array(["ant", "bee", "cow"])

every = pytest.mark.parametrize(
    "nb", [MultinomialNB(), BernoulliNB(), ComplementNB()], ids=lambda nb: type(nb).__name__
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = sparse.random_array(
        (N, D), density=0.01, format="csr", rng=rng, data_sampler=lambda size: rng.integers(1, 4, size)
    )
    return X.astype(float), CLASSES[np.arange(N) % 3], rng.integers(1, 3, N).astype(float)


def taught(nb, rows, step=10, until=N):
    X, y, w = rows
    nb = clone(nb)
    for at in range(0, until, step):
        nb.partial_fit(X[at : at + step], y[at : at + step], CLASSES, w[at : at + step])
    return nb


def waiting(nb):
    return len(nb._conditioned.waiting)


@every
def test_batches_reach_what_fit_reaches(nb, rows):
    X, y, w = rows
    whole, parts = clone(nb).fit(X, y, w), taught(nb, rows)
    assert waiting(parts) == 12 and waiting(whole) == 0
    np.testing.assert_array_equal(parts.class_count_, whole.class_count_)
    for name, held in whole.statistics_.blocks.items():
        np.testing.assert_array_equal(parts.statistics_.blocks[name].n, held.n)
        np.testing.assert_allclose(parts.statistics_.blocks[name].log_h, held.log_h, rtol=1e-13)
    np.testing.assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-12, atol=1e-13)
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-13)
    half = taught(nb, rows, until=60)
    half.statistics_  # noqa: B018 - somebody looks on the way
    for at in range(60, N, 10):
        half.partial_fit(X[at : at + 10], y[at : at + 10], sample_weight=w[at : at + 10])
    assert waiting(half) == 6
    np.testing.assert_array_equal(half.statistics_.blocks["x"].n, whole.statistics_.blocks["x"].n)


@every
def test_all_that_is_asked_of_a_model_counts_what_waits(nb, rows, tmp_path):
    X, y, w = rows
    whole = clone(nb).fit(X, y, w)
    expected = whole.predict_log_proba(X)

    def same(other):
        np.testing.assert_allclose(other.predict_log_proba(X), expected, rtol=1e-12, atol=1e-13)

    same(copy(taught(nb, rows)))
    same(pickle.loads(pickle.dumps(taught(nb, rows))))
    taught(nb, rows).save(tmp_path / "nb.safetensors")
    same(load(tmp_path / "nb.safetensors"))
    same(taught(nb, rows).partial_fit(X[:7], y[:7]).forget(X[:7], y[:7]))
    same(taught(nb, rows, until=60).merge(clone(nb).partial_fit(X[60:], y[60:], CLASSES, w[60:])))
    shared = taught(nb, rows)
    with ThreadPoolExecutor(4) as pool:
        for table in pool.map(lambda _: shared.predict_log_proba(X), range(8)):
            np.testing.assert_allclose(table, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.slow
def test_what_waits_is_bounded(rows, monkeypatch):
    """To fewer cells than the statistics have, and to a number of batches."""
    X, y, _ = rows
    nb = MultinomialNB()
    most = 0
    for _ in range(30):
        nb.partial_fit(X, y, CLASSES)
        held = sum(batch.nnz for batch, _ in nb._conditioned.waiting)
        assert held < 3 * D
        most = max(most, held)
    assert most > 3 * D - 2 * X.nnz
    assert nb.class_count_.sum() == 30 * N
    monkeypatch.setattr(_state, "_MOST_WAITING", 50)
    one = MultinomialNB()
    cell = sparse.csr_array(([1.0], ([0], [3])), (1, D))
    for _ in range(60):
        one.partial_fit(cell, y[:1], CLASSES)
    assert waiting(one) == 10
    assert one.class_count_.tolist() == [60, 0, 0]


@every
def test_the_rows_may_change_after_the_call(nb, rows):
    X, y, w = rows
    mine = X.copy()
    nb = clone(nb).partial_fit(mine, y, CLASSES, w)
    assert waiting(nb) == 1
    mine.data[:] = 0
    np.testing.assert_array_equal(nb.statistics_.blocks["x"].n, clone(nb).fit(X, y, w).statistics_.blocks["x"].n)


def test_a_batch_that_fails_leaves_what_waits(rows):
    X, y, _ = rows
    nb = MultinomialNB().partial_fit(X, y, CLASSES)
    before = nb._conditioned
    with pytest.raises(ValueError, match="Negative values"):
        nb.partial_fit(-X, y)
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        nb.partial_fit(X, np.full(N, "dog"))
    with pytest.raises(ValueError, match="`alpha`"):
        nb.set_params(alpha=-1).partial_fit(X, y)
    with pytest.raises(ValueError, match="sums overflow"):  # which can only be known when they are added up
        nb.set_params(alpha=1).partial_fit(X * 1e299, y, sample_weight=np.full(N, 1e6))
    assert nb._conditioned is before and waiting(nb) == 1


def test_dense_rows_and_long_batches_do_not_wait(rows):
    X, y, _ = rows
    assert waiting(MultinomialNB().partial_fit(X.toarray(), y, CLASSES)) == 0
    few = X[:, :200]
    assert few.nnz < 3 * 200 and waiting(MultinomialNB().partial_fit(few, y, CLASSES)) == 1
    assert waiting(MultinomialNB().partial_fit(X[:, :10] + sparse.csr_array(np.ones((N, 10))), y, CLASSES)) == 0


def test_a_pickle_holds_no_dense_rows(rng):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    nb = GaussianNB().fit(X, y)
    held = pickle.dumps(nb)
    again = pickle.loads(held)
    assert waiting(nb) == 1 and waiting(again) == 0
    assert X.tobytes() not in held and X[:1].tobytes() not in held
    np.testing.assert_array_equal(again.predict_proba(X), nb.predict_proba(X))
    np.testing.assert_array_equal(again.forget(X[:9], y[:9]).predict_proba(X), nb.forget(X[:9], y[:9]).predict_proba(X))


@pytest.mark.parametrize("nb", [GaussianNB(), GaussianNB(variance="pooled")], ids=str)
@pytest.mark.parametrize("offset", mostly_slow([0, 1e4], lambda offset: offset == 0))
def test_rows_learnt_one_at_a_time(nb, offset, rng, monkeypatch):
    """Their exact sums are made later: statistics are those of a fit, and what is forgotten leaves nothing."""
    monkeypatch.setattr(_state, "_MOST_WAITING", 64)
    y = np.arange(100) % 3
    X = rng.normal(size=(100, 4)) + y[:, None] + offset
    X[rng.random(X.shape) < 0.1] = np.nan
    whole, few = clone(nb).fit(X, y), clone(nb).fit(X[:30], y[:30])
    streamed = clone(nb).fit(X[:30], y[:30])
    for i in range(30, 100):
        streamed.partial_fit(X[[i]], y[[i]])
    waiting = len(streamed._conditioned.waiting)
    assert waiting == (1 + 70 - 64 if offset == 0 else 0)  # far out the floats are not good enough
    p = streamed.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(streamed)).predict_proba(X), p)
    np.testing.assert_allclose(p, whole.predict_proba(X), rtol=1e-11)
    for name, exact in whole.statistics_.blocks["x"].sums.exact.items():
        np.testing.assert_array_equal(streamed.statistics_.blocks["x"].sums.exact[name].value(), exact.value())
    np.testing.assert_array_equal(streamed.predict_proba(X), p)
    streamed.forget(X[30:], y[30:])
    np.testing.assert_allclose(streamed.predict_proba(X), few.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("nb", [BernoulliNB(), BernoulliNB(alpha="clop"), MultinomialNB()], ids=str)
@pytest.mark.parametrize("unit", [1, 0.3])
def test_counts_learnt_one_at_a_time(nb, unit, rng, monkeypatch):
    """To the last bit what a fit learns; amounts that are no whole numbers do not wait."""
    monkeypatch.setattr(_state, "_MOST_WAITING", 64)
    y = np.arange(100) % 3
    X = unit * rng.poisson(2 + y[:, None], size=(100, 4))
    whole, streamed = clone(nb).fit(X, y), clone(nb).fit(X[:30], y[:30])
    for i in range(30, 100):
        streamed.partial_fit(X[[i]], y[[i]])
    assert waiting(streamed) == (7 if unit == 1 or isinstance(nb, BernoulliNB) else 0)
    p = streamed.predict_proba(X)
    held, again = pickle.dumps(streamed), pickle.loads(pickle.dumps(streamed))
    assert X[99:].astype(float).tobytes() not in held
    for one in (whole, again):
        np.testing.assert_allclose(one.predict_proba(X), p, rtol=0 if unit == 1 else 1e-12)
        got, want = streamed.statistics_.blocks["x"], one.statistics_.blocks["x"]
        np.testing.assert_array_equal(got.sums.exact["n"].value(), want.sums.exact["n"].value())
        np.testing.assert_allclose(got.log_h, want.log_h, rtol=1e-13)
    np.testing.assert_array_equal(streamed.predict_proba(X), p)
    left, few = streamed.forget(X[30:], y[30:]), clone(nb).fit(X[:30], y[:30])
    np.testing.assert_allclose(left.predict_proba(X), few.predict_proba(X), rtol=0 if unit == 1 else 1e-12)


@every
@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf])
def test_a_later_batch_is_looked_through(nb, rows, cell):
    """What a first batch is refused for, a later one is: also where nothing has to be converted."""
    X, y, _ = rows
    nb = clone(nb).partial_fit(X[:10], y[:10], CLASSES)
    odd = X[10:20].copy()
    odd.data[0] = cell
    for call in (lambda: nb.partial_fit(odd, y[10:20]), lambda: nb.predict_proba(odd)):
        with pytest.raises(ValueError, match=r"NaN|infin"):
            call()
    with pytest.raises(ValueError, match="features"):
        nb.partial_fit(X[10:20, :-1], y[10:20])
    with pytest.raises(ValueError, match="inconsistent"):
        nb.partial_fit(X[10:20], y[10:19])
    with pytest.raises(ValueError, match="classes"):
        nb.partial_fit(X[10:20], y[10:20], classes=["ant", "bee", "dog"])
    assert waiting(nb) == 1


def test_a_later_batch_may_store_a_cell_in_pieces(rows):
    X, y, _ = rows
    nb = MultinomialNB().partial_fit(X[:10], y[:10], CLASSES)
    pieces = sparse.csr_array((np.ones(3), np.array([5, 5, 2]), np.array([0, 3])), shape=(1, D))
    whole = sparse.csr_array((np.array([1.0, 2.0]), np.array([2, 5]), np.array([0, 2])), shape=(1, D))
    np.testing.assert_allclose(nb.predict_log_proba(pieces), nb.predict_log_proba(whole), rtol=1e-13)
    one, other = clone(nb).partial_fit(X[:10], y[:10], CLASSES), clone(nb).partial_fit(X[:10], y[:10], CLASSES)
    held = [a.partial_fit(b, y[:1]).statistics_.blocks["x"] for a, b in ((one, pieces), (other, whole))]
    np.testing.assert_array_equal(held[0].n, held[1].n)
    assert held[0].log_h.sum() == pytest.approx(held[1].log_h.sum(), rel=1e-13)
