"""Rows that occur more than once, found by a 64-bit key of each row.

Equal rows have equal keys. Two of n different rows share a key with a probability near n² / 2⁶⁵: 3e-8 for a million.

References
----------
Steele, Lea & Flood (2014), Fast splittable pseudorandom number generators, OOPSLA, for the mixing of the bits.
"""

from typing import Any

import numpy as np
from scipy import sparse

from ..core.arrays import is_sparse

_ODD, _LARGE = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x9E3779B97F4A7C15)


def copies(X: Any, y: Any) -> np.ndarray:
    """Group labels of rows that are the same, label included: `groups` under which copies leave together.

    A row that occurs more than once is predicted by its own copies, which makes leave-one-out too good. So are rows
    that a sampler repeated.

    Parameters
    ----------
    X : (n, d) array, sparse matrix or data frame; missing cells are equal to each other
    y : (n,) labels

    Returns
    -------
    (n,) integers 0 … g−1 in the order of first occurrence, equal where row and label are; g = n if no row has a copy

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb.inference.loo import copies
    >>> copies(np.array([[1.0, np.nan], [2.0, 3.0], [1.0, np.nan], [1.0, np.nan]]), ["a", "a", "a", "b"])
    array([0, 1, 0, 2])
    """
    import pandas as pd

    label, keys = _codes(y if hasattr(y, "dtype") else np.asarray(y, dtype=object)), _row_keys(X)
    if len(label) != len(keys):
        raise ValueError(f"`y` has {len(label)} labels, and `X` {len(keys)} rows; give each row its label")
    return pd.factorize(keys + _mixed(label + 1.0) * _LARGE)[0]


def _row_keys(X: Any) -> np.ndarray:
    """A 64-bit key for each row: Σ_j a_j h(x_ij) modulo 2⁶⁴, a_j odd, h(0) = 0; of rows by block, of all blocks."""
    if isinstance(X, dict):
        return np.sum([np.uint64(2 * k + 1) * _row_keys(x) for k, x in enumerate(X.values())], axis=0)
    if is_sparse(X):
        rows = sparse.csr_array(X)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        mixed = sparse.csr_array((_mixed(rows.data), rows.indices, rows.indptr), rows.shape)
        return mixed @ _factors(rows.shape[1])
    if hasattr(X, "dtypes") and all(isinstance(t, np.dtype) and t.kind in "bf" for t in X.dtypes):
        X = X.to_numpy(float)
    if hasattr(X, "columns"):
        cells = [X.iloc[:, j] if hasattr(X, "iloc") else X[name] for j, name in enumerate(X.columns)]
        columns = [_codes(column) for column in cells]
        return _mixed(np.stack(columns, 1)) @ _factors(len(columns))
    table = np.asarray(X)
    if table.dtype.kind not in "bf":
        table = np.stack([_codes(column) for column in table.T], 1)
    return _mixed(table) @ _factors(table.shape[1])


def _factors(d: int) -> np.ndarray:
    """Odd numbers, (d,)."""
    return np.random.default_rng(0).integers(1 << 64, size=d, dtype=np.uint64) | np.uint64(1)


def _codes(column: Any) -> np.ndarray:
    """Numbers that are equal where the cells are: floats as they are, else the place of their first occurrence."""
    import pandas as pd

    kind = getattr(column.dtype, "kind", "O")
    if kind in "bf" and isinstance(column.dtype, np.dtype):
        return np.asarray(column, float)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return np.asarray(column.cat.codes, float)
    return pd.factorize(column if hasattr(column, "iloc") else np.asarray(column))[0].astype(float)


def _mixed(values: np.ndarray) -> np.ndarray:
    """The bits of floats, mixed; 0 and −0 give 0, and NaN has one form."""
    values = np.ascontiguousarray(values, float) + 0.0
    np.copyto(values, np.nan, where=np.isnan(values))
    z = values.view(np.uint64)
    z = (z ^ (z >> np.uint64(32))) * _ODD
    return z ^ (z >> np.uint64(29))
