"""Families whose features are independent given the class: the author writes one cell, this class all tables.

A cell x of class c and feature j has a statistic t(x) and a base measure h(x); the hyperparameters of its class and
feature follow from the sum of the statistics. All else, for all classes and columns, with missing cells, weights and
sparse rows, is derived here. A family overrides a derived method only for speed that was measured.
"""

import abc
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from .base import AbstractConjugate
from .core.arrays import Array, Float, Real, Sparse, Theta, is_sparse
from .core.special import namespace
from .statistics import Moments, Stats, Totals
from .sums.by_class import by_class, class_totals
from .sums.long_counts import where_long, with_long_cells
from .sums.marking import floored
from .sums.own_class import levels_of, look_up_of_own
from .sums.rows import (
    as_counts,
    contract,
    downdate,
    is_missing_free,
    leave_one_out_table,
    made_dense,
    map_cells,
    row_totals,
    sum_over_cells,
    sum_over_features,
)

__all__ = ["AbstractIndependent", "Cell", "downdate"]

_POWERS: dict[int, Callable[[Array], Array]] = {2: lambda x: x * x, 3: lambda x: x * x * x}


class Cell(NamedTuple):
    """Statistics of one cell x of weight w, with the names of the fields of `Totals` and of `Moments`.

    Fields
    ------
    n : w
    total : w t(x)
    mean : t(x)
    ss : 0
    """

    n: Array
    total: Array
    mean: Array
    ss: float = 0.0


class AbstractIndependent(AbstractConjugate[Stats]):
    """Features that are independent given the class; each has its own parameters in each class.

    All array fields have the axes (class, feature). The functions of one cell take arrays that broadcast against each
    other: cells (n, d), and the fields in the order of `fields_`. Constants of all cells are static fields of the
    dataclass; read them from `self`.
    """

    separable: ClassVar[bool] = True
    marks_strangers: ClassVar[bool] = True

    monoid: ClassVar[type[Totals] | type[Moments]] = Totals
    """The statistics: `Totals`, sums of t(x) and log h(x), or `Moments`, weight, mean and squares of t(x)."""

    cell_likelihood: Callable[..., Array]
    """log p(x | θ) of a cell: `cell_likelihood(x, *theta)`, parameters in the order of `parameters`."""

    cell_moments: Callable[..., tuple[Array, Array]]
    """Mean and variance over θ of log p(x | θ) of a cell: `cell_moments(x, *fields)`."""

    long_predictive: ClassVar[Callable[..., Array] | None] = None
    """`cell_predictive` of cells with so many events that it would lose digits; None where it loses none."""

    long_cumulants: ClassVar[Callable[..., tuple[Array, Array, Array]] | None] = None
    """Mean, variance and third cumulant over θ of log p(x | θ) of such cells: `long_cumulants(x, *fields)`."""

    @abc.abstractmethod
    def updated(self, *args: Any, **kwargs: Any) -> tuple[Array, ...]:
        """The fields after data: `updated(stats, *fields)`.

        `stats` is the result of `suffstats`, or a `Cell` with weight −w, which leaves a cell out. A field in a
        denominator must not become 0 there: `downdate(kappa, -stats.n)` is κ + n, but never less than the rounding of
        κ. Other fields with positive support are kept positive afterwards.
        """

    @abc.abstractmethod
    def cell_predictive(self, *args: Any, **kwargs: Any) -> Array:
        """log p(x | data) of a cell with θ integrated out: `cell_predictive(x, *fields)`."""

    def statistic(self, x: Array) -> Array:
        """t(x), by default the cell itself; t(0) = 0 if rows may be sparse."""
        return x

    def log_base(self, x: Array) -> Array | None:
        """log h(x), which is 0 in an empty cell; None means 0 everywhere."""
        return None

    def cell_third(self, *args: Any, **kwargs: Any) -> Array | None:
        """Third cumulant over θ of log p(x | θ): `cell_third(x, *fields)`; None if intervals come from draws."""
        return None

    def cumulant(self, order: int, *fields: Any) -> tuple[Array | int, ...] | None:
        """Coefficients of 1, x, x² … in the mean, variance or third cumulant over θ of log p(x | θ) − log h(x).

        None if they are not polynomials; `cell_moments` and `cell_third` then give them for each cell.
        """
        return None

    # --- derived ----------------------------------------------------------------------------------------------------

    def _arrays(self) -> tuple[Array, ...]:
        return tuple(getattr(self, name) for name in self.fields_)

    def _filled(self, x: Array) -> Array:
        """Cells in which a missing one, which comes as 0 and is left out later, is a value that the formulas know."""
        return namespace(x).where(x > 0, x, 1) if self.cells_.kind == "positive" else x

    def _sum(self, f: Callable[..., Array], x: Array | Sparse, *fields: Array) -> Float[Array, "*s n c"]:
        return sum_over_features(lambda x, *own: f(self._filled(x), *own), x, *fields)

    def _predictive(self, x: Array, *fields: Array) -> Array:
        """`cell_predictive`, and `long_predictive` of cells with many events."""
        plain = self.cell_predictive(x, *fields)
        long = type(self).long_predictive
        return plain if long is None else where_long(plain, long, x, *fields)

    def _with_long_cells(
        self, plain: Callable[[Array | Sparse], Array], long: Callable[..., Array] | None, x: Array | Sparse
    ) -> Float[Array, "n c"]:
        """A table of sums over the cells of rows, cells with many events by a formula of their own."""
        if long is None:
            return plain(x)
        return with_long_cells(plain, lambda cells, j: long(cells, *(field[:, j] for field in self._arrays())), x)

    def _cumulant(self, order: int, x: Array | Sparse) -> Float[Array, "n c"] | None:
        """A cumulant over θ of log p(x_i | θ_c), where `cumulant` has it."""
        if (factors := self.cumulant(order, *self._arrays())) is None:
            return None
        level, slope, *more = factors
        long = type(self).long_cumulants

        def plain(x: Array | Sparse) -> Array:
            table = contract(x, slope, level)  # type: ignore[arg-type]  # only higher powers may be left out
            for k, factor in enumerate(more, 2):
                if not isinstance(factor, int):
                    table = table + contract(map_cells(x, _POWERS[k]), factor, 0 * factor)
            return table + self._base_of_rows(x)[:, None] if order == 1 and self._has_base else table

        return self._with_long_cells(plain, long and (lambda *cells: long(*cells)[order - 1]), x)

    @property
    def _has_base(self) -> bool:
        """Whether some log h(x) is not 0."""
        return self.log_base(np.ones(1)) is not None

    def _base_of_rows(self, x: Array | Sparse) -> Float[Array, " n"]:
        """Σ_j log h(x_ij) over the observed cells."""
        return row_totals(self._known(self._log_base, x))

    def _known(self, f: Callable[[Array], Array], x: Array | Sparse, complete: bool = False) -> Any:
        """f of every cell, 0 in a missing one; `complete` says that there is none."""
        if is_sparse(x):
            return map_cells(x, f)
        if complete:
            return f(x)
        xp = namespace(x)
        seen = ~xp.isnan(x)
        return xp.where(seen, f(self._filled(xp.where(seen, x, 0))), 0)

    def suffstats(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Stats:
        """n_cj = Σ_i r_ic, Σ_i r_ic t(x_ij) and Σ_i r_ic log h(x_ij) over the observed cells; or moments of t(x)."""
        monoid: Any = self.monoid
        if issubclass(monoid, Moments):
            return monoid.of(map_cells(x, self.statistic), r)
        complete, plain = is_missing_free(x), not self._has_base
        total = by_class(r, self._known(self.statistic, x, complete))
        log_h = 0 * total if plain else by_class(r, self._known(self._log_base, x, complete))
        if complete:
            return monoid(np.repeat(class_totals(r)[:, None], x.shape[1], axis=1), total, log_h)
        xp = namespace(x, r)
        return monoid(by_class(r, (~xp.isnan(x)).astype(x.dtype)), total, log_h)

    def _log_base(self, x: Array) -> Array:
        found = self.log_base(x)
        return 0 * x if found is None else found

    def update(self, stats: Stats) -> Self:
        """`updated`, for all classes and features."""
        fields = self.updated(stats, *self._arrays())
        return replace(self, **dict(zip(self.fields_, fields, strict=True)))

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """`cell_predictive`, summed over the observed cells."""
        return self._sum(self._predictive, x, *self._arrays())

    def log_cells(self, x: Float[Array, " d"]) -> Float[Array, "c d"]:
        """`cell_predictive` of each cell of one row, 0 if it is missing: the terms of `log_predictive`."""
        xp = namespace(x, *self._arrays())
        seen = ~xp.isnan(x)
        return xp.where(seen, self._predictive(self._filled(xp.where(seen, x, 0)), *self._arrays()), 0)

    def log_loo(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i: `updated` with weight −w in the classes in which the row has weight w."""
        if self.cells_.kind == "counts":
            return self._log_loo(as_counts(x), r)
        return self._log_loo_dense(x, r)

    @made_dense
    def _log_loo_dense(self, x: Array | Sparse, r: Array | Sparse) -> Float[Array, "n c"]:
        return self._log_loo(x, r)

    def _log_loo(self, x: Array | Sparse, r: Array | Sparse) -> Float[Array, "n c"]:
        def left_out(x: Array, w: Array, *fields: Array) -> Array:
            x = self._filled(x)
            return self._predictive(x, *self._without(x, w, *fields))

        def empty(w: Array, *fields: Array) -> Array:
            return left_out(np.zeros((1, 1), w.dtype), w, *fields)

        def units(x: Array | Sparse, y: np.ndarray) -> np.ndarray:
            tables = left_out(levels_of(x, fields[0].size), np.ones(1), *(field[..., None] for field in fields))
            return look_up_of_own(x, y, tables)

        own, fields = sum_over_cells(left_out, empty), self._arrays()
        by_level = units if self.cells_.kind in ("counts", "levels", "yes/no") else None
        return leave_one_out_table(self.log_predictive, own, x, r, *fields, units=by_level)

    def _without(self, x: Array, w: Array, *fields: Array) -> list[Array]:
        """The fields without a cell of weight w; a positive one stays at least the rounding of what it was."""
        t = self.statistic(x)
        left = self.updated(Cell(-w, -w * t, t), *fields)
        return [
            floored(new, old) if field.support.kind == "positive" else new
            for new, old, field in zip(left, fields, self.fields_.values(), strict=True)
        ]

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """`cell_likelihood`, summed over the observed cells."""
        return self._sum(self.cell_likelihood, x, *(theta[name] for name in self.parameters))

    def log_moments(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """`cumulant` or `cell_moments`, summed over the observed cells."""
        first, second = self._cumulant(1, x), self._cumulant(2, x)
        if first is not None and second is not None:
            return first, second
        mean, variance = (
            self._sum(lambda x, *own, k=k: self.cell_moments(x, *own)[k], x, *self._arrays()) for k in (0, 1)
        )
        return mean, variance

    def log_third_cumulant(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"] | None:
        """`cumulant` or `cell_third`, summed over the observed cells; None if the family defines neither."""
        if (third := self._cumulant(3, x)) is not None:
            return third
        fields = self._arrays()
        if self.cell_third(namespace(*fields).ones_like(fields[0]), *fields) is None:
            return None
        return self._sum(self.cell_third, x, *fields)  # type: ignore[arg-type]  # None is ruled out
