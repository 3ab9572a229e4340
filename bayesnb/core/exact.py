"""Exact sums of floating-point numbers: what is added can be subtracted again, and nothing of it is left.

A float is a whole number times a power of two. Cut all terms of a sum at fixed powers of two: the pieces of one level
are whole multiples of one unit, and they add up without rounding while their sum stays below 2⁵³ units. A sum is then
held as a few floats, one a level. Their total is the exact value.

References
----------
Ozaki, Ogita, Oishi & Rump (2012), Error-free transformations of matrix multiplication by using fast routines of matrix
multiplication and its applications, Numerical Algorithms 59, 95-118: the cut `(x + σ) − σ`, and the exact product of
matrices that are cut.
Dekker (1971), A floating-point technique for extending the available precision, Numerische Mathematik 18, 224-242: the
exact product of two floats.
"""

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy import sparse

from .arrays import Array, Float, Sparse, is_sparse
from .pytrees import pytree

EPS = float(np.finfo(float).eps)
_WIDTH = 40  # bits of a level of a sum: 2^12 pieces of a level add up without rounding
_TERMS = 1 << 10  # tables that are held before they are added up
_ROWS = 1 << 12  # rows whose products are added up in floats
_PAIR, _TRIPLE = 20, 13  # bits of a piece where two pieces are multiplied, and where three are
_LARGEST = 2.0**900  # of a cell
_CELLS = 1 << 12  # of which all pieces and their products are held at a time
_LOOKED_AT = 1 << 17  # cells whose temporaries stay in a core's cache
COUNTED = 1e12  # beyond, `statistics.remainder` takes a count of 1 for rounding
_CONSTANT = 1e-15  # spread of a constant column, relative to its mean
_LEAST = 1e-280  # of a variance, so that rounding it does no harm
_PIECES = 16  # whose products are worth their time: cells of one table up to 1e60 apart


def cut(x: np.ndarray, width: int) -> list[np.ndarray]:
    """Pieces whose sum is x exactly, from the largest to the smallest.

    Each is in all its cells a multiple of one unit, a power of 2^width, and at most 2^width units. Pieces that are 0 in
    all cells are left out.

    Raises
    ------
    OverflowError
        if a cell is beyond 2^900, where the cut would overflow
    """
    pieces: list[np.ndarray] = []
    most = abs(x).max(initial=0.0)
    if not most < _LARGEST:
        raise OverflowError(f"cells of size {most:g} are too large for exact sums")
    k = -(-int(np.frexp(most)[1]) // width) - 1
    while most:
        level = np.ldexp(1.5, 52 + k * width)
        piece = (x + level) - level
        x = x - piece
        if piece.any():
            pieces.append(piece)
            most = x.any()
        k -= 1
    return pieces


def product(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    """Terms whose sum is a · b exactly. Dekker (1971)."""

    def halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scaled = 134217729.0 * x  # 2^27 + 1: at most 26 bits are left in each half
        high = scaled - (scaled - x)
        return high, x - high

    (a_high, a_low), (b_high, b_low) = halves(a), halves(b)
    return [a_high * b_high, a_high * b_low, a_low * b_high, a_low * b_low]


@pytree
@dataclass(frozen=True)
class ExactSum:
    """A table of sums, each held as floats whose total is its exact value.

    Fields
    ------
    parts : (…, l)   largest level first; how many there are depends on how far apart the magnitudes lie
    """

    parts: Float[np.ndarray, "*shape l"]

    @classmethod
    def of(cls, terms: Iterable[np.ndarray], shape: tuple[int, ...]) -> Self:
        """The exact sum of tables of one shape."""
        held: list[np.ndarray] = []
        for term in terms:
            held.append(term)
            if len(held) == _TERMS:
                held = _levels(held)
        held = _levels(held) if held else held
        return cls(np.stack(held, -1) if held else np.zeros((*shape, 0)))

    @classmethod
    def exactly(cls, value: Float[np.ndarray, "*shape"]) -> Self:
        """A table of floats as it is."""
        return cls(value[..., None])

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the table."""
        return self.parts.shape[:-1]

    def _terms(self) -> list[np.ndarray]:
        return [self.parts[..., k] for k in range(self.parts.shape[-1])]

    def __add__(self, other: Self) -> Self:
        return self.of([*self._terms(), *other._terms()], self.shape)

    def __neg__(self) -> Self:
        return type(self)(-self.parts)

    def __sub__(self, other: Self) -> Self:
        return self + -other

    def times(self, factor: Float[np.ndarray, "..."]) -> Self:
        """The exact product with a table of floats, one being broadcast against the other."""
        shape = np.broadcast_shapes(self.shape, factor.shape)
        return self.of((term for part in self._terms() for term in product(part, factor)), shape)

    def scaled(self, factor: float) -> Self:
        """The product with a number, rounded to three floats a cell, 2⁻¹⁵⁹ of it: an exact one grows at every turn."""
        rest, found = self.times(np.full(self.shape, factor)), []
        for _ in range(3):
            found.append(rest.value())
            rest = rest - self.exactly(found[-1])
        return type(self)(np.stack(found, -1))

    def where(self, kept: np.ndarray) -> Self:
        """The same with 0 where `kept`, the first axes of the table, is False."""
        return type(self)(np.where(_over(kept, self.parts), self.parts, 0))

    def mapped(self, f: Callable[[np.ndarray], np.ndarray]) -> Self:
        """f of the sum, for f that adds up fewer than 2^12 of the cells."""
        terms = [f(piece) for part in self._terms() for piece in cut(part, _WIDTH)]
        return self.of(terms, f(np.zeros(self.shape)).shape)

    def value(self) -> Float[np.ndarray, "*shape"]:
        """The nearest floats. They depend on the exact values alone, not on the order in which terms came."""
        near = self._near()
        return near + (self - self.exactly(near))._near()

    def _near(self) -> np.ndarray:
        total = np.zeros(self.shape)
        for part in self._terms():  # from the largest level: what cancels does so without rounding
            total = total + part
        return total


def _over(first: np.ndarray, table: np.ndarray) -> np.ndarray:
    """An array of the first axes of a table, to be broadcast over its others."""
    return first.reshape(first.shape + (1,) * (table.ndim - first.ndim))


def _levels(terms: list[np.ndarray]) -> list[np.ndarray]:
    """Terms added up level by level."""
    return [piece.sum(0) for piece in cut(np.array(terms), _WIDTH)]


@pytree
@dataclass(frozen=True)
class Sums:
    """Raw sums of one block of columns, which can be subtracted without a loss of digits.

    Fields
    ------
    exact : sums by name, classes along the first axis of each; those that are not here are added as floats
    error : bounds by name on what rounding has done to rows that were too many to be summed exactly; none for others.
        `low` and `high` are the range of the means of such rows
    """

    exact: dict[str, ExactSum]
    error: dict[str, np.ndarray] = field(default_factory=dict)

    def also(self, name: str, bound: np.ndarray) -> Self:
        """The same with more rounding in one of the sums."""
        return type(self)(self.exact, {**self.error, name: self.error.get(name, 0) + bound})

    def scaled(self, factor: float) -> Self:
        """The sums of the same rows, their weights multiplied by a number."""
        error = {name: bound if name in ("low", "high") else factor * bound for name, bound in self.error.items()}
        return type(self)({name: one.scaled(factor) for name, one in self.exact.items()}, error)

    def where(self, kept: np.ndarray) -> Self:
        """The same with nothing left where `kept` is False, in all sums that have these axes."""
        none = {"low": np.inf, "high": -np.inf}
        exact = {k: one.where(kept) if one.shape[: kept.ndim] == kept.shape else one for k, one in self.exact.items()}
        error = {
            k: np.where(_over(kept, v), v, none.get(k, 0)) if v.shape[: kept.ndim] == kept.shape else v
            for k, v in self.error.items()
        }
        return type(self)(exact, error)

    def pooled(self) -> Self:
        """The sums of all classes together, along a first axis of length one."""
        merge: dict[str, Any] = {"low": np.min, "high": np.max}
        exact = {name: one.mapped(lambda part: part.sum(0, keepdims=True)) for name, one in self.exact.items()}
        return type(self)(exact, {k: merge.get(k, np.sum)(v, axis=0, keepdims=True) for k, v in self.error.items()})

    def _with(self, other: Self, combine: Callable[[ExactSum, ExactSum], ExactSum]) -> Self:
        merge: dict[str, Any] = {"low": np.minimum, "high": np.maximum}
        error = {**self.error, **other.error}
        for name in self.error.keys() & other.error.keys():
            error[name] = merge.get(name, np.add)(self.error[name], other.error[name])
        both = self.exact.keys() & other.exact.keys()
        return type(self)({name: combine(self.exact[name], other.exact[name]) for name in both}, error)

    def __add__(self, other: Self) -> Self:
        return self._with(other, operator.add)

    def __sub__(self, other: Self) -> Self:
        return self._with(other, operator.sub)


def _with_cells(table: Any, cells: np.ndarray) -> Any:
    """A table whose cells, of a sparse one those that are stored, are others."""
    if not is_sparse(table):
        return cells
    found = table.copy()
    found.data = cells
    return found


def is_whole(table: Any) -> bool:
    """Whether all cells that are there are whole numbers."""
    cells = np.ravel(table.data if is_sparse(table) else table)
    for at in range(0, len(cells), _LOOKED_AT):
        piece = cells[at : at + _LOOKED_AT]
        whole = piece == np.floor(piece)
        if not (whole.all() or (whole | (piece != piece)).all()):
            return False
    return True


def _weights(r: Array | Sparse, width: int, alone: int = 0) -> tuple[list[Any], int]:
    """Weights cut into pieces, and the width of pieces of cells beside them; as they are where all are 0 or 1.

    Parameters
    ----------
    alone : the width of pieces of cells beside weights that are not cut
    """
    cells = r.data if is_sparse(r) else r
    if ((cells == 1) | (cells == 0)).all():
        return [r], alone
    return [_with_cells(r, piece) for piece in cut(cells, width)], width


def holds_exactly(n: np.ndarray, r: Array | Sparse) -> bool:
    """Whether counts of rows under weights r are exact as floats: whole weights, and less than 10¹² of them."""
    return bool(is_whole(r) and n.max(initial=0) < COUNTED)


def add_up(r: Any, table: Any) -> Array:
    """rᵀ · table, dense."""
    total = r.T @ table
    return total.toarray() if is_sparse(total) else total


def least_variance(mean: Array) -> Array:
    """The variance up to which a column counts as constant: what rounding a mean makes of it."""
    return np.maximum((_CONSTANT * mean) ** 2, _LEAST)


def _chunks(n: int, d: int) -> list[slice]:
    """Few enough rows for sums in floats, and few enough cells for the memory of their pieces."""
    step = min(_ROWS, max(1, _CELLS // max(d, 1)))
    return [slice(at, at + step) for at in range(0, n, step)]


def _part(table: Any, rows: slice) -> Any:
    """Rows of a table; the table itself where these are all of them, which spares a sparse one a copy."""
    return table if rows.start == 0 and rows.stop >= table.shape[0] else table[rows]


def sums_of_weights(f: Callable[[Any], np.ndarray], r: Array | Sparse, shape: tuple[int, ...]) -> ExactSum:
    """Exact sums f(r) that are linear in the weights, each adding up weights alone."""
    if is_whole(r) and (n := f(r)).max(initial=0) < COUNTED:
        return ExactSum.exactly(n)
    return ExactSum.of((f(part) for part in _weights(r, _PAIR)[0]), shape)


def sums_of_cells(x: Any, r: Array | Sparse) -> ExactSum:
    """Exact rᵀ x, (c, d), for dense or sparse x without missing cells."""
    weights, width = _weights(r, _PAIR, _WIDTH)

    def terms() -> Iterator[np.ndarray]:
        for rows in _chunks(*x.shape):
            cells = _part(x, rows)
            for piece in cut(cells.data if is_sparse(x) else cells, width):
                for w in weights:
                    yield add_up(_part(w, rows), _with_cells(cells, piece))

    return ExactSum.of(terms(), (r.shape[1], x.shape[1]))


def _seen(x: Any, r: Array | Sparse) -> tuple[Any, ExactSum]:
    """x with 0 in its missing cells, and the exact weight (c, d) of the cells that are there."""
    shape = r.shape[1], x.shape[1]
    missing = None if is_sparse(x) else np.isnan(x)
    if missing is None or not missing.any():
        weight = sums_of_weights(lambda w: add_up(w, np.ones((x.shape[0], 1))), r, (shape[0], 1))
        return x, ExactSum(np.repeat(weight.parts, shape[1], axis=1))
    return np.where(missing, 0, x), sums_of_cells((~missing).astype(float), r)


def total_sums(x: Any, r: Array | Sparse) -> dict[str, ExactSum]:
    """Exact sums of weights and of cells (NaN = missing), (c, d) each."""
    x, n = _seen(x, r)
    return {"n": n, "total": sums_of_cells(x, r)}


def moment_sums(x: Any, r: Array | Sparse) -> dict[str, ExactSum]:
    """Exact sums of weights, of cells (NaN = missing) and of their squares; (c, d) each.

    None where cells lie too far apart.
    """
    x, n = _seen(x, r)
    weights, width = _weights(r, _TRIPLE, _PAIR)
    totals: list[np.ndarray] = []
    squares: list[np.ndarray] = []
    for rows in _chunks(*x.shape):
        cells = _part(x, rows)
        pieces = cut(cells.data if is_sparse(x) else cells, width)
        if len(pieces) > _PIECES:
            return {}
        pairs = [a * b if a is b else 2 * a * b for k, a in enumerate(pieces) for b in pieces[k:]]
        for w in weights:
            part = _part(w, rows)
            for tables, found in ((pieces, totals), (pairs, squares)):
                if is_sparse(x):
                    found += [add_up(part, _with_cells(cells, table)) for table in tables]
                elif tables:
                    found += np.split(add_up(part, np.concatenate(tables, 1)), len(tables), 1)
    shape = r.shape[1], x.shape[1]
    return {"n": n, "total": ExactSum.of(totals, shape), "square": ExactSum.of(squares, shape)}


def product_sums(x: np.ndarray, r: Array | Sparse) -> dict[str, ExactSum]:
    """Exact sums of weights (c,), of rows (c, d) and of their products x_i x_iᵀ (c, d, d), of complete rows.

    None where cells lie too far apart.
    """
    weights, width = _weights(r, _TRIPLE, _PAIR)
    (n, d), c = x.shape, r.shape[1]
    parts = [(rows, cut(x[rows], width)) for rows in _chunks(n, d)]
    if max((len(pieces) for _, pieces in parts), default=0) > _PIECES:
        return {}

    def terms() -> Iterator[np.ndarray]:
        for rows, pieces in parts:
            if not pieces:
                continue
            wide = np.concatenate(pieces, 1)
            for w in weights:
                part = sparse.csc_array(w[rows])
                found = np.empty((c, wide.shape[1], wide.shape[1]))
                for k in range(c):
                    here = slice(part.indptr[k], part.indptr[k + 1])
                    own = wide[part.indices[here]]
                    found[k] = own.T @ (part.data[here, None] * own)
                for i, j in np.ndindex(len(pieces), len(pieces)):
                    yield found[:, i * d : (i + 1) * d, j * d : (j + 1) * d]

    weight = sums_of_weights(lambda w: add_up(w, np.ones(n)), r, (c,))
    return {"n": weight, "total": sums_of_cells(x, r), "square": ExactSum.of(terms(), (c, d, d))}
