"""Rows are cut into slices here, and nowhere else: statistics of slices are added, tables are put side by side."""

import functools
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ..core.arrays import Array, Float, Sparse, is_sparse
from ..core.special import namespace
from ..core.threads import in_order, n_sibling_tasks
from .rows import csr_slice, slices

Rows: TypeAlias = Mapping[str, Any]
Sum = TypeVar("Sum")

_CELLS = 1 << 20  # cells of X worked on at a time: 8 MiB of float64; with fewer Python would take longer than NumPy
_HALF = 1 << 18  # cells that are worth a second core


def fold_rows(gather: Callable[[slice], Sum], parts: Sequence[slice]) -> Sum:
    """The sum of the statistics of slices of rows, pair by pair as in pairwise summation."""
    if len(parts) == 1:
        return gather(parts[0])
    sums: list[Any] = []
    count = 0
    for stats in in_order(gather, parts):
        sums.append(stats)
        del stats  # nor may `enumerate` keep what has been added up: text has tables of some MiB
        k = count = count + 1
        while k % 2 == 0:
            sums[-2:], k = [sums[-2] + sums[-1]], k // 2
    return functools.reduce(lambda right, left: left + right, reversed(sums))


def by_rows(table: Callable[[slice], Array], rows: Rows, least: int = 0, size: int = 0) -> Float[Array, "*s n c"]:
    """A table (…, n, c) made of the tables of slices of the rows, which their threads write where they belong."""
    parts = row_slices(rows, least, size)
    if len(parts) == 1:
        return table(parts[0])
    n = next(iter(rows.values())).shape[0]
    found: list[np.ndarray] = []
    lock = threading.Lock()

    def put(part: slice) -> None:
        piece = table(part)
        with lock:
            if not found:
                found.append(np.empty((*piece.shape[:-2], n, piece.shape[-1]), piece.dtype))
        found[0][..., part, :] = piece

    for _ in in_order(put, parts):
        pass
    return found[0]


def some_rows(x: Any, part: slice | np.ndarray) -> Any:
    """Some of the rows: a slice of them, without a copy where that is possible, or those at some positions."""
    if not isinstance(part, slice):
        return x[part]
    if part == slice(None):
        return x
    return csr_slice(x, part) if is_sparse(x) and x.format == "csr" else x[part]


def rows_at(rows: Rows, part: slice | np.ndarray) -> dict[str, Any]:
    """Some of the rows of all blocks."""
    return {name: some_rows(x, part) for name, x in rows.items()}


def some_cells(x: Any, part: slice, like: Array | Sparse, kept: frozenset[str] = frozenset()) -> Any:
    """Some of the rows, in the precision of their table: integers and float32 are never widened as a whole."""
    piece = some_rows(x, part)
    if not isinstance(x, np.ndarray) and not is_sparse(x):
        return piece
    dtype = like.dtype if piece.dtype == like.dtype else np.result_type(piece.dtype, like.dtype)
    return piece if stays(piece, dtype, kept) else piece.astype(dtype)


def stays(x: Any, dtype: Any, kept: frozenset[str]) -> bool:
    """Whether cells are not converted: they have the precision already, or are dense in a type that is kept."""
    return x.dtype == dtype or (x.dtype.name in kept and not is_sparse(x))


def row_slices(rows: Rows, least: int = 0, size: int = 0) -> list[slice]:
    """Slices of rows that keep every block's part within the working size, at least `least` or about `size` cells.

    JAX arrays stay whole. Where nothing else is done beside it, their number is even and they are of one length, which
    keeps two cores at work; there are two as soon as half of the rows is work enough for a core. Rows that are a slice
    already are not cut again.
    """
    if namespace(*rows.values()) is not np:
        return [slice(None)]
    n, width, alone = next(iter(rows.values())).shape[0], 0, n_sibling_tasks() == 1
    for x in rows.values():
        width = max(width, -(-x.nnz // max(n, 1)) if is_sparse(x) else x.shape[1])
    if n * width < 2 * max(_HALF if alone else _CELLS, least):
        return [slice(0, n)]
    parts = slices(n, width, max(_CELLS, least, size), 1024)
    if not alone:
        return parts
    pairs = max(math.ceil(n / parts[0].stop / 2 - 0.25), 1)  # a few more rows a slice rather than a slice of few rows
    step = 1024 * -(-n // (2048 * pairs))
    return [slice(at, at + step) for at in range(0, n, step)]
