"""Chunks on any scheduler, and on a cluster that loses a worker, reach what one machine reaches."""

import gc
import os
import signal
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from bayesnb import (
    CalibratedClassifierLOO,
    CategoricalNB,
    DistributedNB,
    GaussianDA,
    GaussianNB,
    MixedNB,
    MultinomialNB,
)
from bayesnb.estimators import ComplementNB
from bayesnb.numerics.pytrees import leaves

from .estimators.test_merge import BY_CLASS
from .estimators_table import assert_same_fit

CLASSES = np.array(["ant", "bee", "cow"])
TABLES = ["predict_joint_log_proba", "predict_log_proba", "predict_proba", "predict_interval"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    y = CLASSES[np.sort(rng.integers(0, 3, 120))]  # sorted: most chunks lack a class
    X = rng.poisson(1 + 2 * np.searchsorted(CLASSES, y)[:, None], (120, 4)).astype(float)
    return X, y, rng.random(120) + 0.1


@pytest.fixture(autouse=True)
def scheduler():
    with dask.config.set(scheduler="sync"):
        yield


def spread(column, size=25):
    return da.from_array(column, chunks=(size, *column.shape[1:]))


def unknown(array):
    """The same chunks, their lengths forgotten."""
    shape = np.nan, *array.shape[1:]
    pieces = [da.from_delayed(piece, shape, array.dtype) for piece in array.to_delayed().ravel()]
    return da.concatenate(pieces, allow_unknown_chunksizes=True)


@pytest.mark.parametrize("nb", [CategoricalNB(), GaussianDA(), MixedNB(BY_CLASS)], ids=lambda nb: type(nb).__name__)
def test_chunks_reach_the_posterior_of_fit(nb, rows):
    X, y, w = rows
    y = np.array(list("abc"))[np.searchsorted(CLASSES, y)]  # the classes that some of the table speak of
    whole = clone(nb).fit(X, y, w)
    got = DistributedNB(nb).fit(spread(X), spread(y), spread(w))
    assert_same_fit(got.estimator_, whole, X)
    assert type(got.estimator_) is type(nb) and not hasattr(nb, "classes_")
    np.testing.assert_allclose(got.predict_proba(spread(X)).compute(), whole.predict_proba(X), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(("scheduler", "lengths"), [("sync", "known"), ("threads", "unknown")])
def test_everything_that_is_asked_of_rows(scheduler, lengths, rows):
    X, y, w = rows
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    given = [spread(X), spread(y), spread(w)]
    if lengths == "unknown":
        given = [unknown(column) for column in given]
    whole = GaussianNB().fit(X, y, w)
    with dask.config.set(scheduler=scheduler):
        nb = DistributedNB(GaussianNB()).fit(*given)
        assert_same_fit(nb.estimator_, whole, X)
        for method in TABLES:
            lazy, want = getattr(nb, method)(given[0]), getattr(whole, method)(X)
            assert isinstance(lazy, da.Array) and lazy.ndim == want.ndim and lazy.dtype == want.dtype
            assert lazy.shape == want.shape if lengths == "known" else np.isnan(lazy.shape[0])
            np.testing.assert_allclose(lazy.compute(), want, rtol=1e-11, atol=1e-12)
        labels = nb.predict(given[0])
        assert labels.dtype == y.dtype
        np.testing.assert_array_equal(labels.compute(), whole.predict(X))
        narrow = nb.predict_interval(given[0], level=0.5, method="draws", n_draws=50, seed=np.random.default_rng(1))
        seed = int(np.random.default_rng(1).integers(1 << 32))
        want = whole.predict_interval(X, level=0.5, method="draws", n_draws=50, seed=seed)
        np.testing.assert_allclose(narrow.compute(), want, rtol=1e-9)
        assert nb.score(given[0], given[1]) == pytest.approx(whole.score(X, y), rel=1e-12)
        assert nb.score(*given) == pytest.approx(whole.score(X, y, w), rel=1e-12)


def test_sparse_chunks(rows):
    (X, y, w), nb = rows, ComplementNB()
    chunks = spread(X).map_blocks(sparse.csr_array, dtype=float, meta=sparse.csr_array((0, 0)))
    got, whole = DistributedNB(nb).fit(chunks, spread(y), spread(w)), clone(nb).fit(sparse.csr_array(X), y, w)
    assert_same_fit(got.estimator_, whole, X)
    np.testing.assert_allclose(got.predict_proba(chunks).compute(), whole.predict_proba(X), rtol=1e-11)


def test_data_frames_with_levels_and_empty_partitions(rows):
    X, y, w = rows
    rng = np.random.default_rng(9)
    words, sizes = np.array(["red", "green", "blue"]), np.array(["S", "M", "L"])
    frame = pd.DataFrame({"word": np.where(rng.random(120) < 0.1, None, words[X[:, 0].astype(int) % 3])})
    frame["size"] = pd.Categorical(sizes[X[:, 1].astype(int) % 3], categories=["S", "M", "L", "XL"])
    frame["number"], names = X[:, 2] + rng.normal(size=120), ["word", "size", "number"]
    frame["kind"], frame["weight"] = y, w
    nb = MixedNB([("levels", CategoricalNB(), ["word", "size"]), ("number", GaussianNB(), ["number"])])
    table = dd.from_pandas(frame, npartitions=5)
    table = dd.concat([table, table[table.number > 1e9]])  # five more, without rows
    features = table[names]
    got = DistributedNB(nb).fit(features, table["kind"], table["weight"])
    whole = clone(nb).fit(frame[names], y, w)
    assert_same_fit(got.estimator_, whole, frame[names])
    assert got.estimator_.feature_names_in_.tolist() == names
    np.testing.assert_allclose(got.predict_proba(features).compute(), whole.predict_proba(frame[names]), rtol=1e-11)
    np.testing.assert_array_equal(got.predict(features).compute(), whole.predict(frame[names]))
    assert got.predict_interval(features).compute().shape == (120, 3, 2)
    assert got.score(features, table["kind"]) == pytest.approx(whole.score(frame[names], y), rel=1e-12)


def test_row_groups_of_a_file(tmp_path, rows):
    # Dask joins those of which few columns are read: labels come in one piece where the rows come in five
    X, y, _ = rows
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=y)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=24)
    table = dd.read_parquet(tmp_path / "rows.parquet", split_row_groups=True)
    assert len(table["kind"].to_delayed()) < table.npartitions == 5
    whole = GaussianNB().fit(frame[["a", "b"]], y)
    split = DistributedNB(GaussianNB()).fit(table[["a", "b"]], table["kind"])
    assert np.allclose(split.predict_proba(table[["a", "b"]]).compute(), whole.predict_proba(frame[["a", "b"]]))


def test_what_goes_beside_the_rows_is_cut_like_them(rows):
    X, y, w = rows
    whole = GaussianNB().fit(X, y, w)
    for rows_of, labels, weights in (
        (spread(X), y, w),
        (spread(X), y.tolist(), spread(w, 60)),
        (da.from_array(X, chunks=(33, 2)), spread(y, 120), w),
        (unknown(spread(X)), unknown(spread(y)), spread(w)),
        (spread(X, 120), y, w),
    ):
        nb = DistributedNB(GaussianNB()).fit(rows_of, labels, weights)
        assert_same_fit(nb.estimator_, whole, X)
        np.testing.assert_allclose(nb.predict_proba(rows_of).compute(), whole.predict_proba(X), rtol=1e-11)


def test_partial_fit_and_classes(rows):
    X, y, w = rows
    whole = GaussianNB().fit(X, y, w)
    nb = DistributedNB(GaussianNB())
    assert nb.partial_fit(spread(X[:70]), y[:70], CLASSES[::-1], w[:70]) is nb
    first = nb.estimator_
    held = first.statistics_
    nb.partial_fit(spread(X[70:]), y[70:], sample_weight=w[70:])
    assert first.statistics_ is held and nb.estimator_ is not first
    assert_same_fit(nb.estimator_, whole, X)
    with pytest.raises(ValueError, match="`classes`"):
        nb.partial_fit(spread(X), y, classes=["ant", "bee"])
    with pytest.raises(ValueError, match="`sample_weight` is zero for all rows; give"):
        nb.fit(spread(X), y, 0 * w)
    five = DistributedNB(GaussianNB()).fit(spread(X), y, classes=[*CLASSES, "dog", "eel"])
    assert five.classes_.tolist() == ["ant", "bee", "cow", "dog", "eel"]
    assert five.predict_proba(spread(X)).compute().shape == (120, 5)


def test_what_is_refused_leaves_no_fit(rows):
    X, y, _ = rows
    part = np.where(np.arange(120)[:, None] < 50, X > 2, X)  # yes/no in the first chunks alone
    for nb, given, labels, named in (
        (CalibratedClassifierLOO(GaussianNB()), spread(X), y, "CalibratedClassifierLOO, which needs"),
        (GaussianNB(), X, y, "`X` is a ndarray; give a Dask array or data frame"),
        (GaussianNB(), spread(X[:, 0]), y, "`X` has 1 dimensions"),
        (GaussianNB(), spread(X), None, "`y` is None"),
        (GaussianNB(), spread(X), y[:7], "`y` has 7 rows and `X` has 120"),
        (GaussianNB(), unknown(spread(X)), y, "`y` has 1 chunks and `X` has 5, and some lengths"),
        (GaussianNB(), unknown(spread(X)), unknown(spread(y[:-1])), "inconsistent numbers of samples"),
        (GaussianNB(), spread(X[:0]), y[:0], "no rows"),
        (GaussianNB(), unknown(spread(X[:0])), unknown(spread(y[:0])), "no"),
        (MultinomialNB(), spread(-X), y, "Negative values in data passed to MultinomialNB"),
        (GaussianNB(), spread(X), np.where(y == "bee", None, y), "missing labels"),
        (MixedNB(), spread(part), y, "list the same parts"),
    ):
        model = DistributedNB(nb)
        with pytest.raises(ValueError, match=named):
            model.fit(given, labels)
        with pytest.raises(ValueError, match="not fitted"):
            model.predict(spread(X))


# --- a cluster of processes -----------------------------------------------------------------------------------------


def chunk(i: int, lethal: str = "") -> np.ndarray:
    """Rows of a chunk with their label in front; the first worker to make the fifth dies of it, once."""
    if lethal and i == 5 and not os.path.exists(lethal):
        Path(lethal).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    rng = np.random.default_rng(i)
    y = rng.integers(0, 3, (500, 1))
    return np.concatenate([y, rng.normal(y, 1, (500, 6))], 1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:unclosed .socket:ResourceWarning")  # Dask's line to the worker that is dead
@pytest.mark.filterwarnings("ignore:Creating scratch directories is taking a surprisingly long time:UserWarning")
def test_a_cluster_that_loses_a_worker(tmp_path):
    from dask.distributed import Client, LocalCluster

    def table(lethal: str = "") -> da.Array:
        parts = [dask.delayed(chunk)(i, lethal) for i in range(12)]
        return da.concatenate([da.from_delayed(part, (500, 7), float) for part in parts])

    local = np.concatenate([chunk(i) for i in range(12)])
    whole = GaussianNB().fit(local[:, 1:], local[:, 0])
    settings = {"dashboard_address": ":0", "memory_limit": 0, "local_directory": str(tmp_path)}
    with (
        dask.config.set(scheduler=None),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **settings) as cluster,
        Client(cluster) as client,
    ):
        pids = set(client.run(os.getpid).values())
        assert len(pids) == 2 and os.getpid() not in pids
        found = []
        for rows in (table(), table(str(tmp_path / "died"))):
            nb = DistributedNB(GaussianNB()).fit(rows[:, 1:], rows[:, 0], classes=[0.0, 1.0, 2.0])
            assert_same_fit(nb.estimator_, whole, local[:, 1:])
            found.append(nb.estimator_.statistics_)
        assert (tmp_path / "died").exists() and set(client.run(os.getpid).values()) != pids
        for one, other in zip(*map(leaves, found), strict=True):
            np.testing.assert_array_equal(one, other)
    gc.collect()  # what is left of those lines is dropped here, and not in a later test
