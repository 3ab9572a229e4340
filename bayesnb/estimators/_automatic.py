"""The parts of a table where nobody lists them: a family for each kind of column."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing
from sklearn.utils._indexing import _get_column_indices

from ..tables.columns import ColumnContract
from ..tables.describing import describe
from ..tables.names import listed
from ._base import AbstractNB
from .bernoulli import BernoulliNB
from .categorical import CategoricalNB
from .counts import PoissonNB
from .gaussian import GaussianNB


def positions(X: Any, columns: Any, name: str) -> np.ndarray:
    """Column positions of a part's `columns`."""
    if callable(columns):
        columns = columns(X)
    elif isinstance(columns, slice) and columns.start is None and columns.stop is None:
        columns = list(range(X.shape[1]))[columns]
    try:
        return np.asarray(_get_column_indices(X, columns), int)
    except (ValueError, IndexError, TypeError, KeyError) as error:
        raise ValueError(f"`parts` has columns {columns!r} in {name!r}, which are not in `X`: {error}") from error


def default_estimators() -> dict[str, AbstractNB]:
    """The estimator for columns of each role, which is that of the cells of its family, in the order of the parts."""
    chosen = BernoulliNB(binarize=None), GaussianNB(), PoissonNB(), CategoricalNB()
    return {one.cells.role: one for one in chosen}


def parts_of_roles(roles: Sequence[str]) -> list[tuple[str, Any, list[int]]]:
    """The parts for columns of these roles, in order; columns that are "dropped" are left out."""
    makers: dict[str, Any] = {**default_estimators(), "dropped": "drop"}
    places = {role: [j for j, own in enumerate(roles) if own == role] for role in makers}
    return [(role.replace("/", "_"), makers[role], at) for role, at in places.items() if at]


def automatic_contract(X: pd.DataFrame) -> ColumnContract | None:
    """What the columns are, with a warning if some are left out; None where two have one name."""
    if not X.columns.is_unique:
        return None
    contract = describe(X)
    if left := [column.name for column in contract.dropped if column.warning]:
        warnings.warn(f"parts='auto' leaves out {listed(left)}; `contract_.cautions` says why", stacklevel=2)
    return contract


def as_described(X: pd.DataFrame, contract: ColumnContract) -> pd.DataFrame:
    """A table with its cells as the contract reads them; the columns stay."""
    named = X.set_axis([str(name) for name in X.columns], axis=1)
    return contract.apply(named, used_only=False).set_axis(X.columns, axis=1)


def automatic_parts(X: Any, contract: ColumnContract | None) -> list[tuple[str, Any, list[int]]]:
    """The parts for a table: by the contract of its columns, or else by the types of their cells."""
    if contract is None:
        return parts_of_roles([role_of_type(X, j) for j in range(X.shape[1])])
    roles = [column.role for column in contract.columns]
    if set(roles) == {"dropped"}:
        why = "; ".join(f"{column.name}: {column.why}" for column in contract.columns[:4])
        raise ValueError(f"`X` has no column to learn from with parts='auto' ({why}); list the parts")
    return parts_of_roles(roles)


def role_of_type(X: Any, j: int) -> str:
    """The role of a column by the type of its cells."""
    column = X.iloc[:, j] if isinstance(X, pd.DataFrame) else pd.Series(np.asarray(_safe_indexing(X, j, axis=1)))
    column = column.infer_objects() if column.dtype == object else column
    if isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(column):
        return "levels"
    return "yes/no" if column.dropna().astype(float).isin([0, 1]).all() else "numbers"
