"""How Dask collections are cut into chunks of rows, and how results of chunks are added."""

from collections.abc import Callable
from typing import Any

import numpy as np

_ARITY = 8  # parts added at a time


def add_in_tree(add: Callable[[list[Any]], Any], parts: list[Any]) -> Any:
    """All parts added, some at a time, where they are; the order, and so the last bit, is always the same."""
    import dask

    while len(parts) > 1:
        parts = [dask.delayed(add)(parts[at : at + _ARITY]) for at in range(0, len(parts), _ARITY)]
    return dask.compute(parts[0])[0]


def chunk_sizes(X: Any) -> tuple[int | float, ...]:
    """Number of rows of each chunk, NaN where it is not known."""
    return X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * X.npartitions


def lazy_rows(X: Any, tables: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """Delayed tables (n, *shape) of the chunks of X, one below the other, as a lazy Dask array."""
    import dask.array as da

    parts = [da.from_delayed(table, (n, *shape), dtype) for n, table in zip(chunk_sizes(X), tables, strict=True)]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def delayed_chunks(collection: Any) -> list[Any]:
    """The chunks of an array or data frame, delayed."""
    chunks = collection.to_delayed()
    chunks = list(getattr(chunks, "flat", chunks))
    if len(chunks) != collection.npartitions:  # Dask joins small pieces of a file of which few columns are read
        chunks = list(collection.to_delayed(optimize_graph=False))
    return chunks


def aligned_chunks(X: Any, **beside: Any) -> list[list[Any]]:
    """The chunks of X, each with all its columns, and those of what goes beside it, one by one; None for None."""
    import dask
    import dask.array as da

    if not dask.is_dask_collection(X) or not hasattr(X, "to_delayed"):
        raise ValueError(f"`X` is a {type(X).__name__}; give a Dask array or data frame, or use the estimator itself")
    sizes = chunk_sizes(X)
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"`X` has {X.ndim} dimensions; it needs 2, rows and columns")
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    found = [delayed_chunks(X)]
    for name, column in beside.items():
        if column is None:
            found.append([None] * len(sizes))
            continue
        if not dask.is_dask_collection(column):
            column = da.from_array(np.asarray(column), chunks=-1)
        if (
            isinstance(column, da.Array)
            and column.chunks[0] != sizes
            and not np.isnan([*sizes, *column.chunks[0]]).any()
        ):
            if column.shape[0] != sum(sizes):
                raise ValueError(
                    f"`{name}` has {column.shape[0]} rows and `X` has {sum(sizes)}; give one value for each row"
                )
            column = column.rechunk({0: sizes})
        pieces = delayed_chunks(column)
        if len(pieces) != len(sizes):
            raise ValueError(
                f"`{name}` has {len(pieces)} chunks and `X` has {len(sizes)}, and some lengths are unknown; give both "
                "the same chunks, or call `compute_chunk_sizes()`"
            )
        found.append(pieces)
    return found
