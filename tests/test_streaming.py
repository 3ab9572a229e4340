"""Batches read one by one reach the posterior of `fit` on all rows, in the memory of a batch."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.base import clone

from bayesnb import CategoricalNB, GaussianNB, KernelNB, MixedNB, MultinomialNB, fit_batches, predict_batches

from .estimators_table import assert_same_fit

CLASSES = np.array(["ant", "bee", "cow"])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    y = CLASSES[np.sort(rng.integers(0, 3, 200))]  # sorted: a batch has one class or two
    X = rng.poisson(1 + 2 * np.searchsorted(CLASSES, y)[:, None], (200, 4)).astype(float)
    return X, y, rng.random(200) + 0.1


@pytest.fixture(scope="module")
def frame(rows):
    X, y, w = rows
    rng = np.random.default_rng(6)
    words = np.where(rng.random(200) < 0.1, None, np.array(["red", "green", "blue"])[X[:, 0].astype(int) % 3])
    words[:60] = None  # nothing seen in the first batches
    sizes = pd.Categorical(np.array(["S", "M", "L"])[X[:, 1].astype(int) % 3], categories=["S", "M", "L", "XL"])
    number = np.where(rng.random(200) < 0.1, np.nan, X[:, 2] + rng.integers(-8, 8, 200) / 8)  # exact in float32
    return pd.DataFrame({"word": words, "size": sizes, "number": number, "kind": y, "weight": w})


def parts():
    levels = ("levels", CategoricalNB(), ["word", "size"])
    return MixedNB([levels, ("number", GaussianNB(), ["number"])])


def batches(rows, size=30):
    X, y, w = rows
    return [(X[i : i + size], y[i : i + size], w[i : i + size]) for i in range(0, len(y), size)]


def test_settings_for_each_class_need_the_classes(rows):
    X, y, w = rows
    each = [("x", dict.fromkeys(CLASSES.tolist(), GaussianNB()), [0, 1, 2, 3])]
    for nb in (GaussianNB(priors=[0.2, 0.3, 0.5]), MixedNB(each)):
        want = clone(nb).fit(X, y, w)
        assert_same_fit(fit_batches(clone(nb), lambda: iter(batches(rows))), want, X)  # read twice
        assert_same_fit(fit_batches(clone(nb), batches(rows)), want, X)
        assert_same_fit(fit_batches(clone(nb), iter(batches(rows)), classes=CLASSES[::-1]), want, X)
        with pytest.raises(ValueError, match="only once; give all labels as `classes`"):
            fit_batches(clone(nb), iter(batches(rows)))


def test_arrays_memory_maps_sparse_rows_and_data_frames(rows, frame, tmp_path):
    X, y, w = rows
    path = tmp_path / "x.npy"
    np.save(path, X.astype(np.float32))
    whole = MultinomialNB().fit(X, y, w)
    sources = [X, np.load(path, mmap_mode="r"), sparse.csr_array(X), sparse.csc_matrix(X), sparse.coo_array(X)]
    for source in sources:
        got = fit_batches(MultinomialNB(), source, y, w, batch_size=37)
        assert_same_fit(got, whole, X)
        assert_same_fit(fit_batches(MultinomialNB(), source, y.tolist(), batch_size=37), MultinomialNB().fit(X, y), X)
        table = list(predict_batches(got, source, batch_size=37))
        assert [len(part) for part in table] == [37] * 5 + [15]
        np.testing.assert_allclose(np.concatenate(table), whole.predict_proba(X), rtol=1e-10)
    features = frame[["word", "size", "number"]]
    want = parts().fit(features, y, w)
    assert_same_fit(fit_batches(parts(), frame, "kind", "weight", batch_size=30), want, features)
    assert_same_fit(fit_batches(parts(), features, y, w, batch_size=30), want, features)


@pytest.mark.parametrize("form", ["folder", "csv"])
def test_files(form, frame, tmp_path):
    features = frame[["word", "size", "number"]]
    path = tmp_path / {"csv": "t.csv.gz", "folder": "t.parquet"}[form]
    if form == "folder":
        path.mkdir()
        for i in range(4):
            types = {"word": object} | ({} if i else {"number": "float32"})
            part = frame.iloc[50 * i : 50 * (i + 1)].astype(types)
            schema = None if i else pa.schema([("word", pa.null()), *list(pa.Schema.from_pandas(part))[1:5]])
            pq.write_table(pa.Table.from_pandas(part, schema, preserve_index=False), path / f"{i}.parquet", 20)
    else:
        frame.to_csv(path, index=False, sep="\t")
    want = parts()
    if form == "csv":  # what was declared is not written down
        features = features.astype({"size": str})
    want.fit(features, frame["kind"], frame["weight"])
    got = fit_batches(parts(), str(path) if form == "csv" else path, "kind", "weight", batch_size=30)
    assert_same_fit(got, want, features)
    if form == "csv":  # the order of the columns is nothing
        frame[frame.columns[::-1]].to_csv(path, index=False)
    labels = np.concatenate(list(predict_batches(got, path, "predict", batch_size=30)))
    np.testing.assert_array_equal(labels, want.predict(features))
    found = np.concatenate(list(predict_batches(got, path, "predict_interval", batch_size=30, level=0.5)))
    np.testing.assert_allclose(found, want.predict_interval(features, level=0.5), atol=1e-9)


def test_a_failure_leaves_the_estimator_as_it_was(rows):
    X, y, w = rows
    nb = GaussianNB().fit(X, y)
    before = dict(vars(nb))

    def broken():
        yield X[:50], y[:50]
        raise RuntimeError("the line is cut")

    with pytest.raises(RuntimeError, match="cut"):
        fit_batches(nb, broken(), classes=CLASSES)
    assert vars(nb).keys() == before.keys() and all(vars(nb)[key] is value for key, value in before.items())
    named = pd.DataFrame(X).rename(columns=str)
    parameters = nb.get_params()
    assert fit_batches(nb.fit(named, y), [(X[:, :2], y, w)]) is nb  # what was learnt before is gone
    assert nb.n_features_in_ == 2 and not hasattr(nb, "feature_names_in_") and nb.get_params() == parameters


def test_empty_batches_are_no_batches(rows):
    X, y, w = rows
    nothing = (X[:0], y[:0], w[:0])
    got = fit_batches(GaussianNB(), [nothing, *batches(rows), nothing])
    assert_same_fit(got, GaussianNB().fit(X, y, w), X)
    assert [len(part) for part in predict_batches(got, iter([X[:0], X[:2], (X[:3], y[:3])]))] == [2, 3]


MIXED = MixedNB([("counts", MultinomialNB(), [0, 1]), ("levels", CategoricalNB(), [2, 3])])


@pytest.mark.parametrize("nb", [GaussianNB(), KernelNB(bandwidth=0.5), MIXED], ids=lambda nb: type(nb).__name__)
def test_a_batch_may_have_no_weight(nb, rows):
    """As rows that have faded to nothing; `fit` takes them, if others have weight."""
    X, y, w = rows
    w = np.where((np.arange(len(y)) < 100) | (np.arange(len(y)) >= 200), 0, w)
    assert_same_fit(fit_batches(clone(nb), X, y, w, batch_size=50), clone(nb).fit(X, y, w), X)
    fitted = clone(nb).fit(X, y)
    for learn in (fitted.fit, lambda *given: fit_batches(fitted, *given, batch_size=50)):
        with pytest.raises(ValueError, match="`sample_weight` is zero for all rows; give"):
            learn(X, y, 0 * w)
    np.testing.assert_array_equal(fitted.predict_proba(X), clone(nb).fit(X, y).predict_proba(X))


REFUSED = [
    (3, {}, "`source` is a int"),
    ([], {}, "no rows"),
    (iter([]), {"classes": [0, 1]}, "no rows"),
    ([(np.ones((2, 1)), [0, 1])], {"batch_size": 0}, "`batch_size` is 0"),
    (lambda: pytest.fail("read in vain"), {"decay": 2.0}, r"`decay` is 2\.0"),
    ([np.ones((2, 1))], {}, "no labels"),
    (iter([np.ones((2, 1))]), {"classes": [0, 1]}, "no labels"),
    (np.ones((2, 1)), {}, "no labels"),
    (np.ones((2, 1)), {"y": [0]}, r"`y` has shape \(1,\); the 2 rows"),
    (np.ones((2, 1)), {"y": [0, 1], "sample_weight": 1.0}, r"`sample_weight` has shape \(\)"),
    ([(np.ones((2, 1)), [0, 1])], {"y": [0, 1]}, "batches contain them"),
    ([(np.ones((2, 1)), [0, 1]), (np.ones((2, 1)), ["a", "b"])], {}, "both numbers and text as labels"),
    ([(np.ones((2, 1)), [0, 1]), (np.ones((2, 2)), [0, 1])], {}, "features"),
    ([(np.ones((2, 1)), [0, 1])], {"classes": [0, 2]}, "1"),
    (pd.DataFrame({"a": [1, 2], "k": [0, 1]}), {"y": "k", "sample_weight": "v"}, "no column 'v'.*a, k"),
    (pd.DataFrame({"a": [1, 2], "k": [0, 1]}), {"y": "v"}, "no column 'v'.*a, k"),
    (np.ones((2, 1)), {"y": "v"}, "no column 'v'"),
    (pd.DataFrame({"a": [1, 2], "k": [0, None]}, dtype=object), {"y": "k"}, "missing labels"),
]


def test_what_is_refused():
    for source, more, named in REFUSED:
        with pytest.raises(ValueError, match=named):
            fit_batches(GaussianNB(), source, **more)


def test_refused_files_and_methods(tmp_path, rows, monkeypatch):
    X, y, _ = rows
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": ["1", "2", "x", "3"], "k": [0, 1, 0, 1]}).to_csv(path, index=False)
    assert set(fit_batches(CategoricalNB(), path, "k", batch_size=2).categories_[0]) == {*"12x3"}
    nb = CategoricalNB().fit(pd.DataFrame({"a": [1, 2, 3]}), [0, 1, 0])
    surplus = tmp_path / "surplus.csv"
    surplus.write_text("a,k\n" + "1,0\n2,1\n" * 9 + "1,5,0\n")
    with monkeypatch.context() as few:
        few.setattr("bayesnb.tables.readers.HEAD", 8)  # the first lines end before the x
        with pytest.raises(ValueError, match="line 4: column 'a' holds 'x', where"):
            fit_batches(CategoricalNB(), path, "k", batch_size=2)
        for read in (lambda: fit_batches(nb, surplus, "k"), lambda: [*predict_batches(nb, surplus)]):
            with pytest.raises(ValueError, match=r"Expected 2 fields in line 20, saw 3.*; give each row as many cells"):
                read()
    fitted = GaussianNB().fit(X, y)
    for said, call in {
        "no column 'z'": lambda: fit_batches(CategoricalNB(), path, "z"),
        "no labels": lambda: fit_batches(CategoricalNB(), path),
        "no column 'w'": lambda: fit_batches(CategoricalNB(), path, "k", "w"),
        "there is no file": lambda: fit_batches(CategoricalNB(), tmp_path / "none.parquet", "k"),
        "not fitted": lambda: predict_batches(GaussianNB(), X),
        "`method` is 'guess'": lambda: predict_batches(fitted, X, "guess"),
        "`batch_size` is 0": lambda: predict_batches(fitted, X, batch_size=0),
    }.items():
        with pytest.raises(ValueError, match=said):
            call()
