"""Every kind of input that users have: each gives what the same numbers give as a plain NumPy array of float64."""

from collections import namedtuple
from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from bayesnb import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MixedNB, MultinomialNB, OneDependenceNB

from ..estimators_table import ALL, ONE_OF_EACH, TAKES_MISSING, mostly_slow, these

PARTS = [("counts", BernoulliNB(binarize=1), [0, 1]), ("reals", GaussianNB(), slice(2, None))]
EVERY = [*ONE_OF_EACH, MixedNB(PARTS)]
NAMES = ["id", "age", "word", "x 4"]


Table = namedtuple("Table", "X y w")  # whole numbers 0 … 4, exact in every type; the first rows hold every class


@pytest.fixture(scope="module")
def table() -> Table:
    rng = np.random.default_rng(0)
    y = np.array(["ant", "bee", "cow"])[np.arange(60) % 3]
    X = rng.binomial(4, np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.2, 0.5], [0.3, 0.6, 0.2, 0.1]])[np.arange(60) % 3])
    return Table(X.astype(float), y, rng.random(60) + 0.5)


# --- the forms: how the numbers are wrapped, and the numbers themselves where the form cannot hold all of them ------


def read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def frame(dtype: Any, X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES).astype("int64").astype(dtype)


TYPES = "int8 int64 uint8 uint64 float16 float32 float64 longdouble >f8 >i4 object".split()
FRAMES = "int64 float32 Int64 UInt16 Float64 object int64[pyarrow] double[pyarrow]".split()
MIXED_TYPES = dict(zip(NAMES, ["int8", "Float64", "float32", "uint16[pyarrow]"], strict=True))
DENSE: dict[str, Callable[[np.ndarray], Any]] = {
    **{f"numpy {dtype}": partial(lambda dtype, X: X.astype(dtype), dtype) for dtype in TYPES},
    "list of lists": lambda X: X.tolist(),
    "list of arrays": list,
    "Fortran order": np.asfortranarray,
    "strided view": lambda X: X.repeat(2, 0).repeat(3, 1)[::2, ::3],
    "masked array, nothing masked": np.ma.MaskedArray,
    "jax float32": lambda X: jnp.asarray(X, jnp.float32),
    **{f"pandas {dtype}": partial(frame, dtype) for dtype in FRAMES},
    "pandas mixed types": partial(frame, MIXED_TYPES),
    "pandas, labels of rows shuffled": lambda X: pd.DataFrame(X, columns=NAMES, index=np.arange(len(X))[::-1]),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES).with_columns(pl.col("age").cast(pl.Int8)),
    "Arrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}

HOLES: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy float32 NaN": lambda X: X.astype(np.float32),
    "numpy object None": lambda X: np.where(np.isnan(X), None, X.astype(object)),
    "list None": lambda X: np.where(np.isnan(X), None, X.astype(object)).tolist(),
    "masked array": lambda X: np.ma.MaskedArray(np.nan_to_num(X, nan=3), mask=np.isnan(X)),
    "pandas NaN": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas Int64 NA": lambda X: pd.DataFrame(X, columns=NAMES).astype("Int64"),
    "pandas int64[pyarrow] NA": lambda X: pd.DataFrame(X, columns=NAMES).astype("Int64").astype("int64[pyarrow]"),
    "pandas object NA": lambda X: pd.DataFrame(X, columns=NAMES).astype("Int64").astype(object),
    "polars null": lambda X: pl.DataFrame(X, schema=NAMES).fill_nan(None),
    "Arrow null": lambda X: pa.table(dict(zip(NAMES, map(pa.array, np.ma.masked_invalid(X).T.tolist()), strict=True))),
}


def duplicated(X: np.ndarray) -> Any:
    """Every cell in two parts, 1.5 more and 1.5 less: some parts are negative, and a cell that is 1.5 is 0 no more."""
    thin = sparse.csr_array(X)
    data = np.stack([thin.data + 1.5, np.full(thin.nnz, -1.5)], 1).ravel()
    return sparse.csr_array((data, np.repeat(thin.indices, 2), 2 * thin.indptr), shape=X.shape)


THIN: dict[str, Callable[[np.ndarray], Any]] = {
    **{name: getattr(sparse, name) for name in ("csr_matrix", "csc_array", "coo_matrix", "lil_array")},
    **{f"csr_array {t}": partial(lambda t, X: sparse.csr_array(X, dtype=t), t) for t in ("int8", "uint64", "float32")},
    "csr duplicated": duplicated,
    "pandas Sparse": lambda X: pd.DataFrame(X, columns=NAMES).astype(pd.SparseDtype(float, 0)),
    "csc duplicated": lambda X: sparse.csc_array(duplicated(X)),
}


def log_proba(nb: Any, X: Any, table: Table) -> np.ndarray:
    return clone(nb).fit(X, table.y, sample_weight=table.w).predict_log_proba(X)


def compare(nb: Any, forms: dict[str, Callable[..., Any]], X: np.ndarray, table: Table, atol: float = 0) -> None:
    """Each form gives what the plain array of float64 gives, and is left as it was."""
    expected = log_proba(nb, X.astype(float), table)
    assert np.isfinite(expected).all()
    for name, form in forms.items():
        try:
            wrapped = form(X)
            before = wrapped.copy() if sparse.issparse(wrapped) else None
            got = log_proba(nb, wrapped, table)
        except Exception as error:
            error.add_note(f"the form: {name}")
            raise
        np.testing.assert_allclose(got, expected, rtol=0, atol=atol, err_msg=name)
        if before is not None:  # what is dense is handed over read-only in another test
            assert wrapped.nnz == before.nnz and abs(wrapped - before).sum() == 0, name


# one that reads numbers and one that reads levels
@pytest.mark.parametrize("nb", mostly_slow(EVERY, these("GaussianNB()", "CategoricalNB()")), ids=repr)
def test_numbers_in_any_form(nb, table):
    """Whole, with missing cells, and sparse: sums of some hundred terms of size 10 in another order."""
    compare(nb, DENSE, table.X, table)
    if nb in TAKES_MISSING or isinstance(nb, MixedNB):
        compare(nb, HOLES, np.where(np.random.default_rng(1).random(table.X.shape) < 0.2, np.nan, table.X), table)
    if nb.__sklearn_tags__().input_tags.sparse:
        compare(nb, THIN, table.X, table, atol=1e-11)


def test_sparse_cells_that_are_no_numbers_are_refused(table):
    for bad in (-1.0, np.nan, np.inf):
        thin = sparse.csr_array(np.where(np.arange(table.X.size).reshape(table.X.shape) == 9, bad, table.X))
        for nb in (MultinomialNB(), ComplementNB(), BernoulliNB(binarize=None)):
            with pytest.raises(ValueError, match=r"[iI]nput X"):
                nb.fit(thin, table.y)


@pytest.mark.parametrize("worth", [1, 1 << 60])
def test_cells_that_are_no_numbers_are_refused(worth, table, monkeypatch):
    """By loops and by formulas, dense and sparse, in rows that are fitted, predicted or left out."""
    monkeypatch.setattr("bayesnb.sums.rows.WORTH", worth)
    for nb in (nb for nb in ALL if not isinstance(nb, CategoricalNB)):
        for bad in (np.inf, np.nan):
            odd = np.where(np.arange(table.X.size).reshape(table.X.shape) == 9, bad, table.X)
            forms = [] if bad is np.nan and nb in TAKES_MISSING else [odd]
            fitted = clone(nb).fit(table.X, table.y)
            for X in [*forms, sparse.csr_array(odd)] if nb._cells.sparse else forms:
                asks = [fitted.predict, fitted.predict_joint_log_proba, fitted.predict_interval]
                for ask in [
                    *(partial(ask, X) for ask in asks),
                    *(partial(ask, X, table.y) for ask in (nb.fit, fitted.loo)),
                ]:
                    with pytest.raises(ValueError, match=r"[iI]nput X.*(NaN|inf)"):
                        ask()


def test_input_is_never_written_to(table):
    for nb in EVERY:
        X, y, w = read_only(table.X), read_only(table.y), read_only(table.w)
        fitted = clone(nb).fit(X, y, w)
        fitted.partial_fit(X[:9], y[:9], sample_weight=w[:9]).forget(X[:9], y[:9], w[:9])
        fitted.predict_proba(X)


# --- levels ---------------------------------------------------------------------------------------------------------


LEVELS = ["nil", "one", "two", "three", "four"]


def words(X: np.ndarray) -> np.ndarray:
    return np.array(LEVELS)[X.astype(int)]


WORDS: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy str": words,
    "pandas ArrowDtype": lambda X: pd.DataFrame(words(X), columns=NAMES).astype(pd.ArrowDtype(pa.string())),
    "pandas category of what is seen": lambda X: pd.DataFrame(words(X), columns=NAMES).astype("category"),
    "pandas category, declared": lambda X: pd.DataFrame(words(X), columns=NAMES).astype(pd.CategoricalDtype(LEVELS)),
    "pandas bytes": lambda X: pd.DataFrame(words(X).astype(bytes).astype(object), columns=NAMES),
    "polars String": lambda X: pl.DataFrame(words(X), schema=NAMES),
    "polars Categorical": lambda X: pl.DataFrame(words(X), schema=NAMES).with_columns(pl.all().cast(pl.Categorical)),
    "Arrow": lambda X: pa.table(dict(zip(NAMES, words(X).T, strict=True))),
    "Arrow dictionary": lambda X: pa.table([pa.array(x).dictionary_encode() for x in words(X).T], names=NAMES),
    "polars Enum": lambda X: pl.DataFrame(words(X), schema=NAMES).cast(pl.Enum(LEVELS)),
}


def test_levels_in_any_form(table):
    """Levels are names: what they are called changes nothing, as long as all of them occur in each column."""
    X = np.vstack([table.X, np.repeat(np.arange(5.0), 4).reshape(5, 4)])
    full = Table(X, np.append(table.y, table.y[:5]), np.append(table.w, table.w[:5]))
    for nb in (CategoricalNB(), MixedNB([("all", CategoricalNB(), slice(None))]), OneDependenceNB()):
        expected = log_proba(CategoricalNB() if isinstance(nb, MixedNB) else nb, X, full)
        for form in WORDS.values():
            np.testing.assert_allclose(log_proba(nb, form(X), full), expected, rtol=0, atol=1e-12)


def test_an_empty_cell_is_level_zero_and_nan_is_missing():
    X = np.array([[0.0, 2.0], [1.0, 0.0], [np.nan, 1.0], [2.0, 0.0], [0.0, 0.0]])
    y, w = [0, 1, 0, 1, 0], [0.1, 0.2, 0.3, 0.4, 0.7]
    fresh = np.array([[9.0, 0.0], [0.5, np.nan], [-1.0, 2.0]])  # never seen, no code at all: missing cells
    for estimate in ("predictive", "mle"):
        dense = CategoricalNB(estimate=estimate).fit(X, y, w)
        thin = CategoricalNB(estimate=estimate).fit(sparse.csc_array(X), y, w)
        np.testing.assert_allclose(thin.predict_log_proba(sparse.csr_array(X)), dense.predict_log_proba(X), atol=1e-12)
        got = thin.predict_log_proba(sparse.coo_array(fresh))
        np.testing.assert_allclose(got, dense.predict_log_proba(fresh), atol=1e-12)


# --- labels ---------------------------------------------------------------------------------------------------------

ANIMALS = np.array(["ant", "bee", "cow"])
LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "list of str": lambda k: ANIMALS[k].tolist(),
    "uint8": lambda k: k.astype(np.uint8),
    "bool": lambda k: k > 0,
    "pandas category": lambda k: pd.Series(ANIMALS[k], dtype="category"),
    "pandas Int64": lambda k: pd.Series(k, dtype="Int64", index=np.arange(len(k))[::-1]),
    "pandas boolean": lambda k: pd.Series(k > 0, dtype="boolean"),
    "polars Categorical": lambda k: pl.Series(ANIMALS[k], dtype=pl.Categorical),
}


@pytest.mark.parametrize("nb", [GaussianNB(), CategoricalNB(), EVERY[-1]], ids=repr)
def test_labels_in_any_form(nb, table):
    X, k = pd.DataFrame(table.X, columns=NAMES), np.unique(table.y, return_inverse=True)[1]
    for form, wrapped in LABELS.items():
        y, codes = wrapped(k), np.minimum(k, 1) if "bool" in form.lower() else k
        plain, fitted = clone(nb).fit(X, codes), clone(nb).fit(X, y)
        np.testing.assert_array_equal(fitted.predict_proba(X), plain.predict_proba(X))
        np.testing.assert_array_equal(fitted.predict(X), np.asarray(fitted.classes_)[plain.predict(X)])
        assert fitted.score(X, y) == plain.score(X, codes)
        again = clone(nb).partial_fit(X[:30], y[:30], classes=fitted.classes_).partial_fit(X[30:], y[30:])
        np.testing.assert_allclose(again.predict_proba(X), plain.predict_proba(X), atol=1e-12)
        again.forget(X[30:], y[30:])


def test_labels_that_are_none():
    X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 0.0]])
    gone = [np.array([0.0, np.nan, 1.0]), np.array(["a", None, "b"], object), pd.Series(["a", None, "b"])]
    gone += [pd.Series(["a", None, "b"], dtype="category"), pd.Series([1, None, 2], dtype="Int64"), ["a", None, "b"]]
    gone += [pl.Series(["a", None, "b"])]
    other = [np.array([0.5, 1.5, 2.5]), np.array([0, 1, 1], object), np.array([True, "a", 2], object), None]
    for nb in (GaussianNB(), CategoricalNB(), MixedNB()):
        for y in gone:
            with pytest.raises(ValueError, match=r"`y` has missing labels .* in 1 rows, counted from 0: 1; leave out"):
                clone(nb).fit(X, y)
        for y in [*other, np.array([[0, 1], [1, 0], [1, 1]])]:
            with pytest.raises((ValueError, TypeError), match=r"\by\b|label type"):
                clone(nb).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(ValueError, match=r"in 12 rows, counted from 0: 0, 1, 2, 3, 4, 5, 6, 7, …; leave"):
        GaussianNB().fit(np.ones((12, 1)), [None] * 12)


TIMES = pd.Series(pd.to_timedelta([1, 2, None, 30, 40, 50], unit="h"))
DATES = pd.Timestamp("2020-01-01") + TIMES
NO_NUMBERS: dict[str, tuple[Any, str]] = {
    "timedelta64 frame": (pd.DataFrame({"n": range(6), "waited": TIMES}), "times or durations in column 'waited'"),
    "datetime64 frame": (pd.DataFrame({"n": range(6), "day": DATES}), "times or durations in column 'day'"),
    "time zone": (pd.DataFrame({"day": DATES.dt.tz_localize("UTC")}), "times or durations in column 'day'"),
    "category": (pd.DataFrame({"day": DATES.astype("category")}), "times or durations in column 'day'"),
    "Arrow type": (pd.DataFrame({"w": TIMES.astype("duration[ns][pyarrow]")}), "times or durations in column 'w'"),
    "timedelta64 array": (TIMES.to_numpy()[:, None], "times or durations in column 0"),
    "objects": (np.array([[1, day] for day in DATES], object), "times or durations in column 1"),
    "polars": (pl.DataFrame({"waited": pl.from_pandas(TIMES)}), "times or durations in column 'waited'"),
    "Arrow": (pa.table({"day": pa.array(DATES)}), "times or durations in column 'day'"),
    "text": (pd.DataFrame({"n": range(6), "island": list("abcabc")}), "text in column 'island', such as 'a'. Leave"),
    "text array": (np.array([[1, "2"], [3, "oops"]] * 3, object), "text in column 1, such as 'oops'"),
    "text lists": ([["1"], ["b"]] * 3, "text in column 0, such as 'b'"),
}


def test_dates_durations_and_text_are_refused_by_name():
    """A missing date was −9.2e18, and a missing duration too: NaT is no NaN."""
    for form, (X, message) in NO_NUMBERS.items():
        for nb in (GaussianNB(), BernoulliNB(), MixedNB([("all", GaussianNB(), slice(None))])):
            with pytest.raises(ValueError, match=f"`X` has (dates, )?{message}"):
                nb.fit(X, [0, 0, 0, 1, 1, 1])
        if "text" not in form and hasattr(X, "shape"):
            with pytest.raises(ValueError, match=f"`X` has (dates, )?{message}"):
                GaussianNB().fit(np.arange(6.0 * X.shape[1]).reshape(6, -1), [0, 0, 0, 1, 1, 1]).predict(X)


# --- among scikit-learn's tools -------------------------------------------------------------------------------------


def test_feature_names_are_kept_and_checked(table):
    """Also those of polars; scikit-learn's own checks try pandas."""
    for nb in EVERY:
        fitted = clone(nb).fit(pl.DataFrame(table.X, schema=NAMES), table.y)
        assert fitted.feature_names_in_.tolist() == NAMES
        for call in (fitted.predict, lambda X, nb=fitted: nb.partial_fit(X, table.y)):
            with pytest.raises(ValueError, match="feature names"):
                call(pd.DataFrame(table.X, columns=NAMES[::-1]))
