"""Every kind of input that users have: each gives what the same numbers give as a plain NumPy array of float64."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

from bayesnb import BernoulliNB, CategoricalNB, GaussianNB, MixedNB

from ..estimators_table import ONE_OF_EACH, TAKES_MISSING, mostly_slow, these

PARTS = [("counts", BernoulliNB(binarize=1), [0, 1]), ("reals", GaussianNB(), slice(2, None))]
EVERY = [*ONE_OF_EACH, MixedNB(PARTS)]
MISSING = [nb for nb in EVERY if nb in TAKES_MISSING or isinstance(nb, MixedNB)]
SPARSE = [nb for nb in EVERY if nb.__sklearn_tags__().input_tags.sparse]
NAMES = ["id", "age", "word", "x 4"]


@dataclass(frozen=True)
class Table:
    """Whole numbers 0 … 4, exact in every type, with labels and weights; the first rows hold every class."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray


@pytest.fixture(scope="module")
def table() -> Table:
    rng = np.random.default_rng(0)
    y = np.array(["ant", "bee", "cow"])[np.arange(60) % 3]
    X = rng.binomial(4, np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.2, 0.5], [0.3, 0.6, 0.2, 0.1]])[np.arange(60) % 3])
    return Table(X.astype(float), y, rng.random(60) + 0.5)


# --- the forms: how the numbers are wrapped, and the numbers themselves where the form cannot hold all of them ------


def strided(X: np.ndarray) -> np.ndarray:
    wide = np.full((2 * len(X), 3 * X.shape[1]), -7.0)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def reversed_view(X: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


def read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def jax_float64(X: np.ndarray) -> jax.Array:
    with jax.enable_x64(True):
        return jnp.asarray(X)


def frame(dtype: Any, X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES).astype("int64").astype(dtype)


def mixed_types(X: np.ndarray) -> pd.DataFrame:
    types = dict(zip(NAMES, ["int8", "Float64", "float32", "uint16[pyarrow]"], strict=True))
    return pd.DataFrame(X, columns=NAMES).astype("int64").astype(types)


DENSE: dict[str, Callable[[np.ndarray], Any]] = {
    **{
        f"numpy {dtype}": partial(lambda dtype, X: X.astype(dtype), dtype)
        for dtype in (
            *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32"),
            *("float64", "longdouble", ">f8", ">i4", "object"),
        )
    },
    "numpy object of whole numbers": lambda X: X.astype(int).astype(object),
    "list of lists": lambda X: X.tolist(),
    "tuple of tuples": lambda X: tuple(map(tuple, X.astype(int).tolist())),
    "list of arrays": list,
    "Fortran order": np.asfortranarray,
    "strided view": strided,
    "reversed view": reversed_view,
    "read-only": read_only,
    "masked array, nothing masked": np.ma.MaskedArray,
    "jax float32": lambda X: jnp.asarray(X, jnp.float32),
    "jax int32": lambda X: jnp.asarray(X, jnp.int32),
    "jax float64": jax_float64,
    **{
        f"pandas {dtype}": partial(frame, dtype)
        for dtype in (
            *("int64", "uint8", "float32", "float64", "Int64", "Int8", "UInt16", "Float64", "Float32", "object"),
            *("int64[pyarrow]", "double[pyarrow]", "uint8[pyarrow]"),
        )
    },
    "pandas mixed types": mixed_types,
    "pandas, labels of rows shuffled": lambda X: pd.DataFrame(X, columns=NAMES, index=np.arange(len(X))[::-1]),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "polars mixed types": lambda X: pl.DataFrame(mixed_types(X).astype("float64")).with_columns(
        pl.col("age").cast(pl.Int8)
    ),
}

BOOLEAN: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy bool": lambda B: B,
    "list of bool": lambda B: B.tolist(),
    "numpy object of bool": lambda B: B.astype(object),
    "pandas bool": lambda B: pd.DataFrame(B, columns=NAMES),
    "pandas boolean": lambda B: pd.DataFrame(B, columns=NAMES).astype("boolean"),
    "pandas bool[pyarrow]": lambda B: pd.DataFrame(B, columns=NAMES).astype("bool[pyarrow]"),
    "polars bool": lambda B: pl.DataFrame(B, schema=NAMES),
    "jax bool": jnp.asarray,
    "csr_array bool": sparse.csr_array,
}

HOLES: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy NaN": lambda X: X,
    "numpy float32 NaN": lambda X: X.astype(np.float32),
    "numpy object None": lambda X: np.where(np.isnan(X), None, X.astype(object)),
    "list None": lambda X: np.where(np.isnan(X), None, X.astype(object)).tolist(),
    "masked array": lambda X: np.ma.MaskedArray(np.nan_to_num(X, nan=3), mask=np.isnan(X)),
    "pandas NaN": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas Int64 NA": lambda X: pd.DataFrame(X, columns=NAMES).astype("Int64"),
    "pandas Float64 NA": lambda X: pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "pandas int64[pyarrow] NA": lambda X: pd.DataFrame(X, columns=NAMES).astype("Int64").astype("int64[pyarrow]"),
    "pandas object NA": lambda X: pd.DataFrame(X, columns=NAMES).astype("Int64").astype(object),
    "polars null": lambda X: pl.DataFrame(X, schema=NAMES).fill_nan(None),
    "polars NaN": lambda X: pl.DataFrame(X, schema=NAMES),
    "jax NaN": jnp.asarray,
}


def unsorted(X: np.ndarray) -> Any:
    thin = sparse.csr_array(X)
    for start, end in zip(thin.indptr[:-1], thin.indptr[1:], strict=True):
        thin.indices[start:end], thin.data[start:end] = thin.indices[start:end][::-1], thin.data[start:end][::-1]
    return sparse.csr_array((thin.data, thin.indices, thin.indptr), shape=X.shape)


def duplicated(X: np.ndarray) -> Any:
    """Every cell in two parts, 1.5 more and 1.5 less: some parts are negative, and a cell that is 1.5 is 0 no more."""
    thin = sparse.coo_array(X)
    data = np.concatenate([thin.data + 1.5, np.full(thin.nnz, -1.5)])
    rows, columns = (np.concatenate([axis, axis]) for axis in thin.coords)
    order = np.argsort(rows, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))])
    return sparse.csr_array((data[order], columns[order], ends), shape=X.shape)


def explicit_zeros(X: np.ndarray) -> Any:
    full = np.ones_like(X)
    thin = sparse.csr_array(full)
    thin.data = X.ravel().copy()
    return thin


def duplicated_coo(X: np.ndarray) -> Any:
    thin = sparse.coo_array(X)
    data = np.concatenate([thin.data - 1, np.ones(thin.nnz)])
    return sparse.coo_array((data, tuple(np.concatenate([axis, axis]) for axis in thin.coords)), shape=X.shape)


def wide_indices(X: np.ndarray) -> Any:
    thin = sparse.csr_array(X)
    thin.indices, thin.indptr = thin.indices.astype(np.int64), thin.indptr.astype(np.int64)
    return thin


THIN: dict[str, Callable[[np.ndarray], Any]] = {
    **{
        f"{form}_{kind}": getattr(sparse, f"{form}_{kind}")
        for form in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
        for kind in ("array", "matrix")
    },
    **{f"csr_array {t}": partial(lambda t, X: sparse.csr_array(X, dtype=t), t) for t in ("int8", "uint64", "float32")},
    "csr unsorted": unsorted,
    "csr duplicated": duplicated,
    "csr explicit zeros": explicit_zeros,
    "csr 64-bit indices": wide_indices,
    "coo duplicated": duplicated_coo,
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


every = pytest.mark.parametrize("nb", EVERY, ids=repr)


# one that reads numbers and one that reads levels
FEW = "GaussianNB()", "CategoricalNB()"
few = pytest.mark.parametrize("nb", mostly_slow(EVERY, these(*FEW)), ids=repr)


@few
def test_numbers_in_any_form(nb, table):
    compare(nb, DENSE, table.X, table)


@few
def test_booleans_are_zeros_and_ones(nb, table):
    if isinstance(nb, BernoulliNB):
        nb = clone(nb).set_params(binarize=None)
    thin = nb.__sklearn_tags__().input_tags.sparse
    # sparse rows are summed in another order
    compare(nb, {k: form for k, form in BOOLEAN.items() if thin or "csr" not in k}, table.X > 1, table, atol=1e-12)


@pytest.mark.parametrize("nb", mostly_slow(MISSING, these(*FEW)), ids=repr)
def test_missing_cells_in_any_form(nb, table):
    compare(nb, HOLES, np.where(np.random.default_rng(1).random(table.X.shape) < 0.2, np.nan, table.X), table)


@pytest.mark.parametrize("nb", mostly_slow(SPARSE, these(*FEW)), ids=repr)
def test_sparse_rows_in_any_form(nb, table):
    compare(nb, THIN, table.X, table, atol=1e-11)  # sums of some hundred terms of size 10 in another order


def test_sparse_rows_are_taken_where_they_are_promised(table):
    promised = {type(nb).__name__ for nb in SPARSE}
    discrete = {type(nb).__name__ for nb in EVERY[:-1] if nb.cells.kind in ("yes/no", "levels", "counts")}
    assert promised == discrete | {"GaussianNB", "MixedNB"}
    for nb in EVERY:
        if nb not in SPARSE:
            with pytest.raises(TypeError, match=r"Sparse data was passed for X, but dense data is required"):
                clone(nb).fit(sparse.csr_array(table.X), table.y)


@every
def test_memory_mapped(nb, table, tmp_path):
    np.save(tmp_path / "X.npy", table.X)
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(log_proba(nb, X, table), log_proba(nb, table.X, table))


@every
def test_input_is_never_written_to(nb, table):
    X, y, w = read_only(table.X), read_only(table.y), read_only(table.w)
    fitted = clone(nb).fit(X, y, w)
    fitted.partial_fit(X[:9], y[:9], sample_weight=w[:9]).forget(X[:9], y[:9], w[:9])
    fitted.predict_proba(X)


# --- levels ---------------------------------------------------------------------------------------------------------


def words(X: np.ndarray) -> np.ndarray:
    return np.array(["nil", "one", "two", "three", "four"])[X.astype(int)]


def declared(X: np.ndarray) -> pd.DataFrame:
    kind = pd.CategoricalDtype(["nil", "one", "two", "three", "four"])
    return pd.DataFrame(words(X), columns=NAMES).astype(kind)


WORDS: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy str": words,
    "numpy object": lambda X: words(X).astype(object),
    "numpy StringDType": lambda X: words(X).astype(np.dtypes.StringDType()),
    "list": lambda X: words(X).tolist(),
    "pandas str": lambda X: pd.DataFrame(words(X), columns=NAMES),
    "pandas object": lambda X: pd.DataFrame(words(X), columns=NAMES, dtype=object),
    "pandas string": lambda X: pd.DataFrame(words(X), columns=NAMES).astype("string"),
    "pandas string[pyarrow]": lambda X: pd.DataFrame(words(X), columns=NAMES).astype("string[pyarrow]"),
    "pandas ArrowDtype": lambda X: pd.DataFrame(words(X), columns=NAMES).astype(pd.ArrowDtype(pa.string())),
    "pandas category of what is seen": lambda X: pd.DataFrame(words(X), columns=NAMES).astype("category"),
    "pandas category, declared": declared,
    "pandas dictionary[pyarrow]": lambda X: pd.DataFrame(words(X), columns=NAMES).astype(
        pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    ),
    "pandas int codes": lambda X: pd.DataFrame(X, columns=NAMES).astype(int),
    "pandas category of ints": lambda X: pd.DataFrame(X, columns=NAMES).astype(int).astype("category"),
    "pandas bytes": lambda X: pd.DataFrame(words(X).astype(bytes).astype(object), columns=NAMES),
    "polars String": lambda X: pl.DataFrame(words(X), schema=NAMES),
    "polars Categorical": lambda X: pl.DataFrame(words(X), schema=NAMES).with_columns(pl.all().cast(pl.Categorical)),
    "polars Enum": lambda X: pl.DataFrame(words(X), schema=NAMES).with_columns(
        pl.all().cast(pl.Enum(["nil", "one", "two", "three", "four"]))
    ),
}


@pytest.mark.parametrize("form", mostly_slow(WORDS, these("polars String", "pandas bytes", "pandas int codes")))
def test_levels_in_any_form(form, table):
    """Levels are names: what they are called changes nothing, as long as all of them occur in each column."""
    X = np.vstack([table.X, np.repeat(np.arange(5.0), 4).reshape(5, 4)])
    full = Table(X, np.append(table.y, table.y[:5]), np.append(table.w, table.w[:5]))
    expected = log_proba(CategoricalNB(), X, full)
    for nb in (CategoricalNB(), MixedNB([("all", CategoricalNB(), slice(None))])):
        np.testing.assert_allclose(log_proba(nb, WORDS[form](X), full), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "form",
    [
        lambda X: np.where(np.isnan(X), None, words(np.nan_to_num(X)).astype(object)),
        lambda X: np.where(np.isnan(X), np.nan, words(np.nan_to_num(X)).astype(object)),
        lambda X: np.ma.MaskedArray(words(np.nan_to_num(X)), mask=np.isnan(X)),
        lambda X: declared(np.nan_to_num(X)).mask(np.isnan(X)),
        lambda X: pd.DataFrame(words(np.nan_to_num(X)), columns=NAMES).astype("string").mask(np.isnan(X)),
        lambda X: pl.DataFrame(np.where(np.isnan(X), None, words(np.nan_to_num(X)).astype(object)), schema=NAMES),
    ],
    ids=["None", "NaN", "masked", "category", "string NA", "polars null"],
)
def test_levels_with_holes(form, table):
    X = np.vstack([table.X, np.repeat(np.arange(5.0), 4).reshape(5, 4)])
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    X[-5:] = np.arange(5.0)[:, None]
    full = Table(X, np.append(table.y, table.y[:5]), np.append(table.w, table.w[:5]))
    got, expected = log_proba(CategoricalNB(), form(X), full), log_proba(CategoricalNB(), X, full)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


def test_numbers_that_a_category_declares_are_names():
    """Categories 1, 2, 3 are no codes: the same numbers in another type find the same levels."""
    X = pd.DataFrame({"size": pd.Categorical([1, 2, 3, 3], categories=[1, 2, 3])})
    nb = CategoricalNB().fit(X, [0, 0, 1, 1])
    expected = nb.predict_proba(X)
    np.testing.assert_array_equal(nb.predict_proba(X.astype(int)), expected)
    np.testing.assert_array_equal(nb.predict_proba(X.astype(float)), expected)
    np.testing.assert_array_equal(nb.predict_proba(X.astype(object)), expected)


def test_levels_that_were_named_are_not_looked_up_by_code(table):
    nb = CategoricalNB().fit(words(table.X), table.y)
    with pytest.raises(ValueError, match=r"`X` is sparse, but column 0 has levels that are not codes"):
        nb.predict(sparse.csr_array(table.X))


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

LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "str": lambda k: np.array(["ant", "bee", "cow"])[k],
    "object of str": lambda k: np.array(["ant", "bee", "cow"], object)[k],
    "list of str": lambda k: [["ant", "bee", "cow"][i] for i in k],
    "int": lambda k: k * 7 - 3,
    "uint8": lambda k: k.astype(np.uint8),
    "list of int": lambda k: k.tolist(),
    "whole floats": lambda k: k * 2.0,
    "float32": lambda k: k.astype(np.float32),
    "bool": lambda k: k > 0,
    "list of bool": lambda k: (k > 0).tolist(),
    "read-only": read_only,
    "strided": lambda k: np.repeat(k, 2)[::2],
    "jax": jnp.asarray,
    "pandas category": lambda k: pd.Series(np.array(["ant", "bee", "cow"])[k], dtype="category"),
    "pandas category, one unseen": lambda k: pd.Series(pd.Categorical.from_codes(k, ["ant", "bee", "cow", "dog"])),
    "pandas Categorical": lambda k: pd.Categorical.from_codes(k, ["ant", "bee", "cow"]),
    "pandas string": lambda k: pd.Series(np.array(["ant", "bee", "cow"])[k], dtype="string"),
    "pandas str": lambda k: pd.Series(np.array(["ant", "bee", "cow"])[k]),
    "pandas string[pyarrow]": lambda k: pd.Series(np.array(["ant", "bee", "cow"])[k], dtype="string[pyarrow]"),
    "pandas Int64": lambda k: pd.Series(k, dtype="Int64"),
    "pandas boolean": lambda k: pd.Series(k > 0, dtype="boolean"),
    "pandas int64[pyarrow]": lambda k: pd.Series(k, dtype="int64[pyarrow]"),
    "pandas, labels of rows shuffled": lambda k: pd.Series(k, index=np.arange(len(k))[::-1]),
    "polars str": lambda k: pl.Series(np.array(["ant", "bee", "cow"])[k]),
    "polars int": lambda k: pl.Series(k),
    "polars Categorical": lambda k: pl.Series(np.array(["ant", "bee", "cow"])[k], dtype=pl.Categorical),
    "polars Boolean": lambda k: pl.Series(k > 0),
}


@pytest.mark.parametrize("form", mostly_slow(LABELS, these("list of str", "bool", "pandas Int64", "polars str")))
@pytest.mark.parametrize("nb", mostly_slow([GaussianNB(), CategoricalNB(), EVERY[-1]], these("GaussianNB()")), ids=repr)
def test_labels_in_any_form(nb, form, table):
    k = np.unique(table.y, return_inverse=True)[1]
    y, codes = LABELS[form](k), np.minimum(k, 1) if "bool" in form.lower() else k
    for X in (table.X, pd.DataFrame(table.X, columns=NAMES)):
        plain, fitted = clone(nb).fit(X, codes), clone(nb).fit(X, y)
        np.testing.assert_array_equal(fitted.predict_proba(X), plain.predict_proba(X))
        np.testing.assert_array_equal(fitted.predict(X), np.asarray(fitted.classes_)[plain.predict(X)])
        assert fitted.score(X, y) == plain.score(X, codes)
        again = clone(nb).partial_fit(X[:30], y[:30], classes=fitted.classes_).partial_fit(X[30:], y[30:])
        np.testing.assert_allclose(again.predict_proba(X), plain.predict_proba(X), atol=1e-12)
        again.forget(X[30:], y[30:])


@every
def test_a_column_of_labels_is_taken_with_a_warning(nb, table):
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        fitted = clone(nb).fit(table.X, table.y[:, None])
    np.testing.assert_array_equal(fitted.predict(table.X), clone(nb).fit(table.X, table.y).predict(table.X))


@pytest.mark.parametrize(
    "y",
    [
        np.array([0.0, np.nan, 1.0]),
        np.array([0.5, 1.5, 2.5]),
        np.array(["a", None, "b"], object),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series([1, None, 2], dtype="Int64"),
        pl.Series(["a", None, "b"]),
        np.array([0, 1, 1], object),
        np.array([True, "a", 2], object),
        np.array([[0, 1], [1, 0], [1, 1]]),
        None,
    ],
    ids=[
        "NaN",
        "fractions",
        "None",
        "pandas str",
        "category",
        "Int64",
        "polars",
        "objects",
        "several types",
        "two columns",
        "no labels",
    ],
)
@pytest.mark.parametrize("nb", [GaussianNB(), CategoricalNB(), MixedNB()], ids=repr)
def test_labels_that_are_none(nb, y):
    X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 0.0]])
    for rows in (X, pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"])):
        with pytest.raises((ValueError, TypeError), match=r"\by\b|label type"):
            clone(nb).fit(rows, y)


TIMES = pd.Series(pd.to_timedelta([1, 2, None, 30, 40, 50], unit="h"))
DATES = pd.Timestamp("2020-01-01") + TIMES
NO_NUMBERS: dict[str, tuple[Any, str]] = {
    "timedelta64 frame": (pd.DataFrame({"n": range(6), "waited": TIMES}), "durations in column 'waited'"),
    "datetime64 frame": (pd.DataFrame({"n": range(6), "day": DATES}), "dates or times in column 'day'"),
    "one date": (pd.DataFrame({"day": DATES}), "dates or times in column 'day'"),
    "time zone": (pd.DataFrame({"day": DATES.dt.tz_localize("UTC")}), "dates or times in column 'day'"),
    "category": (pd.DataFrame({"day": DATES.astype("category")}), "dates or times in column 'day'"),
    "Arrow type": (pd.DataFrame({"w": TIMES.astype("duration[ns][pyarrow]")}), "durations in column 'w'"),
    "timedelta64 array": (TIMES.to_numpy()[:, None], "durations in column 0"),
    "datetime64 array": (DATES.to_numpy()[:, None], "dates or times in column 0"),
    "objects": (np.array([[1, day] for day in DATES], object), "dates or times in column 1"),
    "polars": (pl.DataFrame({"waited": pl.from_pandas(TIMES)}), "durations in column 'waited'"),
    "Arrow": (pa.table({"day": pa.array(DATES)}), "dates or times in column 'day'"),
    "text": (pd.DataFrame({"n": range(6), "island": list("abcabc")}), "text in column 'island': .* float: 'a'. Leave"),
    "text array": (np.array([[1, "2"], [3, "oops"]] * 3, object), "text in column 1: .* float: 'oops'"),
    "text lists": ([["1"], ["b"]] * 3, "text in column 0: .* float: 'b'"),
    "text in polars": (pl.DataFrame({"n": range(6), "island": list("abcabc")}), "text in column 'island'"),
}


@pytest.mark.parametrize("form", NO_NUMBERS)
def test_dates_durations_and_text_are_refused_by_name(form):
    """A missing date was −9.2e18, and a missing duration too: NaT is no NaN."""
    X, message = NO_NUMBERS[form]
    for nb in (GaussianNB(), BernoulliNB(), MixedNB([("all", GaussianNB(), slice(None))])):
        if isinstance(nb, MixedNB) and not isinstance(X, pd.DataFrame | np.ndarray):
            continue
        with pytest.raises(ValueError, match=f"`X` has {message}"):
            nb.fit(X, [0, 0, 0, 1, 1, 1])
    if "text" not in form and hasattr(X, "shape"):
        with pytest.raises(ValueError, match=f"`X` has {message}"):
            GaussianNB().fit(np.arange(6.0 * X.shape[1]).reshape(6, -1), [0, 0, 0, 1, 1, 1]).predict(X)


def test_dates_are_levels_where_levels_are_asked_for():
    nb = CategoricalNB().fit(pd.DataFrame({"day": DATES}), [0, 0, 0, 1, 1, 1])
    assert len(nb.categories_[0]) == 5


# --- among scikit-learn's tools -------------------------------------------------------------------------------------


@every
def test_feature_names_are_kept_and_checked(nb, table):
    frame = pd.DataFrame(table.X, columns=NAMES)
    for X in (frame, pl.DataFrame(table.X, schema=NAMES)):
        fitted = clone(nb).fit(X, table.y)
        assert fitted.feature_names_in_.tolist() == NAMES
        with pytest.raises(ValueError, match="feature names"):
            fitted.predict(frame[NAMES[::-1]])
        with pytest.raises(ValueError, match="feature names"):
            fitted.partial_fit(frame.rename(columns={"age": "years"}), table.y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(table.X)
    plain = clone(nb).fit(table.X, table.y)
    assert not hasattr(plain, "feature_names_in_") and plain.n_features_in_ == 4
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        plain.predict(table.X[:, :3])


@few
def test_pipelines_search_and_calibration(nb, table):
    frame = pd.DataFrame(table.X, columns=NAMES)
    columns = ColumnTransformer([("some", "passthrough", ["age", "id"]), ("all", "passthrough", NAMES[2:])])
    pipe = Pipeline([("columns", columns), ("nb", clone(nb))]).set_output(transform="pandas")
    pipe.fit(frame, table.y, nb__sample_weight=table.w)
    assert pipe[-1].feature_names_in_.tolist() == ["some__age", "some__id", "all__word", "all__x 4"]
    order = frame[["age", "id", "word", "x 4"]].to_numpy()
    np.testing.assert_array_equal(pipe.predict_log_proba(frame), log_proba(nb, order, Table(order, table.y, table.w)))

    grid = {"estimate": ["predictive", "mean"], "class_alpha": [0.5, 1.0]}
    if hasattr(nb, "alpha"):
        grid["alpha"] = [0.1, 1.0]
    search = GridSearchCV(clone(nb), {k: v for k, v in grid.items() if hasattr(nb, k)}, cv=2, scoring="neg_log_loss")
    search.fit(table.X, table.y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()

    calibrated = CalibratedClassifierCV(clone(nb), method="sigmoid", cv=2).fit(table.X, table.y, table.w)
    np.testing.assert_allclose(calibrated.predict_proba(table.X).sum(1), 1)


@every
def test_sample_weights_are_routed(nb, table):
    """Through a search and a pipeline to the estimator: as if the weights had been handed to it."""
    with config_context(enable_metadata_routing=True):
        asking = clone(nb).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipe = make_pipeline(FunctionTransformer(), asking)
        search = GridSearchCV(pipe, {f"{pipe.steps[-1][0]}__estimate": ["mean"]}, cv=2)
        search.fit(table.X, table.y, sample_weight=table.w)
        direct = clone(nb).set_params(estimate="mean").fit(table.X, table.y, table.w)
        np.testing.assert_array_equal(search.predict_log_proba(table.X), direct.predict_log_proba(table.X))
        unasked = clone(nb).set_fit_request(sample_weight=False)
        with pytest.raises(TypeError, match="sample_weight"):
            make_pipeline(FunctionTransformer(), unasked).fit(table.X, table.y, sample_weight=table.w)


@every
def test_clones_and_pickles(nb, table):
    fitted = clone(nb).fit(table.X, table.y)
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), copy.copy(fitted)):
        np.testing.assert_array_equal(other.predict_log_proba(table.X), fitted.predict_log_proba(table.X))
    fresh = clone(fitted)
    assert repr(fresh) == repr(nb) and not hasattr(fresh, "classes_")


def test_levels_go_through_an_encoder(table):
    frame = declared(table.X)
    pipe = make_pipeline(OrdinalEncoder(categories=[["nil", "one", "two", "three", "four"]] * 4), CategoricalNB())
    pipe.set_output(transform="pandas").fit(frame, table.y)
    np.testing.assert_allclose(
        pipe.predict_log_proba(frame), CategoricalNB(min_categories=5).fit(frame, table.y).predict_log_proba(frame)
    )


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(backend, table):
    """Fitting and predicting in other processes and threads gives the same numbers to the last bit."""
    fitted = [clone(nb).fit(table.X, table.y, table.w) for nb in EVERY]
    with joblib.parallel_config(backend, n_jobs=2):
        got = joblib.Parallel()(joblib.delayed(type(nb).predict_log_proba)(nb, table.X) for nb in fitted)
        again = joblib.Parallel()(joblib.delayed(type(nb).fit)(clone(nb), table.X, table.y, table.w) for nb in EVERY)
        score = cross_val_score(GaussianNB(), table.X, table.y, cv=3)
    for nb, there, other in zip(fitted, got, again, strict=True):
        np.testing.assert_array_equal(there, nb.predict_log_proba(table.X))
        np.testing.assert_array_equal(other.predict_log_proba(table.X), nb.predict_log_proba(table.X))
    np.testing.assert_array_equal(score, cross_val_score(GaussianNB(), table.X, table.y, cv=3))


# --- sparse rows stay sparse ----------------------------------------------------------------------------------------


def far_from_zero(rng: np.random.Generator) -> sparse.csr_array:
    """Columns where an empty cell is next to impossible in some class, and others; every kind of spread."""
    X = rng.normal(size=(80, 6)) * [1, 1e-6, 1e6, 1, 1, 1e-3] + [0, 1, 1e9, 1e5, 0, 0]
    X[rng.random(X.shape) < [0.9, 0.0, 0.0, 0.0, 1.0, 0.5]] = 0
    X[:20, 3] = 0  # one class has only zeros where the others have none
    return sparse.csr_array(X)


@pytest.mark.parametrize("estimate", mostly_slow(["predictive", "mean", "map", "mle"], these("predictive")))
@pytest.mark.parametrize("settings", [{}, {"variance": "pooled"}, {"known_variance": 1e10}], ids=str)
def test_no_digit_is_lost_in_sparse_rows(settings, estimate, rng):
    thin, y, w = far_from_zero(rng), np.repeat(np.arange(4), 20), rng.random(80)
    X = thin.toarray()
    dense, got = (GaussianNB(estimate=estimate, **settings).fit(rows, y, w) for rows in (X, thin))
    for leaf in ("n", "mean", "ss"):
        one, other = (getattr(nb.statistics_.blocks["x"], leaf) for nb in (got, dense))
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-300)  # ss of a spread of 1e6 about 1e9 has 10 digits
    # a normal of known variance, 1e4 spreads from 0: its terms of 5e7 nats cancel, and nine digits remain
    size = abs(dense.predict_joint_log_proba(X)).max(1, keepdims=True)
    assert (abs(got.predict_joint_log_proba(thin) - dense.predict_joint_log_proba(X)) <= 1e-9 * size + 1e-9).all()
    np.testing.assert_allclose(got.log_evidence_, dense.log_evidence_, rtol=1e-9)


def test_all_that_a_posterior_tells_of_sparse_rows(table):
    thin = sparse.csr_array(table.X)
    for nb in (GaussianNB(), GaussianNB(variance="pooled"), GaussianNB(known_variance=1.0), CategoricalNB()):
        fitted = clone(nb).fit(thin, table.y)
        for ask in (
            lambda X, nb=fitted: nb.predict_interval(X),
            lambda X, nb=fitted: nb.uncertainty(X).total,
            lambda X, nb=fitted: nb.sample_proba(X, 5, seed=0),
            lambda X, nb=fitted: nb.loo(X, table.y).log_joint,
            lambda X, nb=fitted: nb.novelty_score(X),
            lambda X, nb=fitted: nb.decision_function(X),
            lambda X, nb=fitted: clone(nb).fit(table.X, table.y).forget(X[:9], table.y[:9]).predict_log_proba(X),
        ):
            np.testing.assert_allclose(ask(thin), ask(table.X), rtol=1e-9, atol=1e-9)


MEMORY = """
import resource, sys
import numpy as np
from scipy import sparse
from bayesnb import CategoricalNB, GaussianNB

n, d, stored = 200_000, 5_000, 1_000_000
rng = np.random.default_rng(0)
at = rng.integers(0, n, stored), rng.integers(0, d, stored)
X = sparse.csr_array(sparse.coo_array((rng.integers(1, 4, stored).astype(float), at), shape=(n, d)))
X.data = np.minimum(X.data, 3)
y = rng.integers(0, 3, n)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for nb in (GaussianNB(), GaussianNB(variance="pooled"), CategoricalNB()):
    p = nb.fit(X, y).predict_proba(X)
    assert np.isfinite(p).all()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
def test_a_large_sparse_table_is_never_made_dense():
    """200,000 × 5,000 cells with 0.1 % of them stored: dense they would be 8 GB; the growth allowed is 400 MB."""
    found = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 400
