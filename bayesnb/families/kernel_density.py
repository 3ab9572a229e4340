"""Kernel density: real features of any shape, with a bandwidth for each class and feature.

    log h_cj ~ Normal(log h⁰_cj, 1) between log low_cj and log high_cj
    x_ij | y_i = c has density f_cj(x; h_cj) = Σ_k w_k K_h(x − v_k) / Σ_k w_k,   K_h(u) = exp(−½ u²/h²) / (h √(2π))

with v_k, w_k the distinct training cells of class c in feature j and their weights; NaN = missing, left out cell by
cell. The cells themselves are not parameters; θ is only the bandwidth. It is learnt from how well the other cells
predict each cell,

    p(h | data) ∝ p(h) Π_i f_−i(v_i; h)^{w_i},
    f_−i(v_i; h) = [Σ_k w_k K_h(v_i − v_k) − u_i K_h(0)] / [Σ_k w_k − u_i],

where leaving out a cell removes one unit of weight, u_i = min(w_i, 1), so integer weights count as repetitions.
Repetitions predict each other: see `KernelNB`. Each class and feature has one bandwidth, so all integrals are over one
variable. They are computed by quadrature over log h, on a grid that covers the mass of the posterior. With a known
bandwidth (`low` and `high` are None) the model has no parameters.

The leave-one-out product is not a density of the data. Its average over p(h) normalises the posterior, and Bayes'
identity holds with it. But it is a *pseudo*-evidence, which cannot be compared with the evidence of another family.

A class without any cell in a feature has the kernel density of the cells of all classes, under its own bandwidth. A
feature without any cell has the log density 0.

This is an `AbstractConjugate`, although nothing here is conjugate. That class requires two things: prior and posterior
have the same type, and every integral comes without sampling. Both hold, the second to the accuracy of a
one-dimensional quadrature. Only `log_prob` is exact, up to the constant of the normaliser.

Silverman (1986), Density Estimation for Statistics and Data Analysis, §3.4.4 (the leave-one-out product), §3.4.3 (how
rounded data affect a cross-validated bandwidth). Habbema, Hermans & van den Broek (1974), Compstat (the product, in
discriminant analysis). Zhang, King & Hyndman (2006), Comput. Stat. Data Anal. 50 (as the likelihood of a bandwidth).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from scipy import sparse

from ..bandwidth import AbstractBandwidth, cells_of
from ..core.arrays import Array, Float, Int, Real, Sparse, Theta
from ..core.pytrees import pytree
from ..core.special import namespace, square
from ..core.supports import CELLS, REAL, Field, Support, declare
from ..core.threads import in_order
from ..statistics import Sample, one_hot
from ..sums.kernels import cells_left, log_density, log_density_without, products_without, reflected
from ..sums.quadrature import average_without, log_sum

_CELLS = 1 << 18  # numbers of a table of levels and bandwidths: 2 MiB
_BOUND = Support("real", -np.inf, np.inf)


@pytree
@dataclass(frozen=True)
class KernelDensity(AbstractBandwidth):
    """Density of each log h_cj, as a prior or a posterior, with the cells at which the kernels are centred.

    Fields
    ------
    log_h : (c, d)      log h⁰, the centre of the bandwidth's prior, or the bandwidth itself where it is given
    cells : Sample      distinct training cells and their weights, (c, d, m); none in a prior
    low, high : (c, d)  logarithms of the limits of the bandwidth; None where the bandwidth is given
    least, most : (d,)  bounds of the features, −∞ and ∞ where one is open; None where none has a bound. Between two of
        them the bandwidth is at most `WIDEST` = 2.7 times their distance

    `log_h`, `low` and `high` are logarithms of lengths in the unit of the feature.

    Notes
    -----
    For a class and feature with m distinct values the posterior costs 75 m² exponentials. A table of predictions costs
    41 m for each distinct value in it. Temporary tables on the host need a few MiB. Quantiles of log h are accurate to
    1e-3. `log_normalizer` has no gradient with respect to the cells.
    """

    log_h: Float[Array, "c d"]
    cells: Sample
    low: Float[Array, "c d"] | None = None
    high: Float[Array, "c d"] | None = None
    least: Float[Array, " d"] | None = None
    most: Float[Array, " d"] | None = None

    fields_ = declare(
        log_h=Field(REAL, ("class", "feature")),
        cells=Field(CELLS, ("class", "feature", "cell")),
        low=Field(REAL, ("class", "feature"), optional=True),
        high=Field(REAL, ("class", "feature"), optional=True),
        least=Field(_BOUND, ("feature",), optional=True),
        most=Field(_BOUND, ("feature",), optional=True),
    )

    no_evidence = (
        "the leave-one-out product of a kernel density is not a normalised density of the data, so there is no "
        "evidence to compare with that of other models; compare log probabilities of held-out rows instead"
    )

    several_modes = True  # of the leave-one-out product

    @property
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """`log_bandwidth`; none if the bandwidth is known."""
        return () if self.low is None else ("log_bandwidth",)

    def suffstats(self, x: Real[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Sample:
        """The distinct observed cells and their weights."""
        return Sample.of(x, r)

    def update(self, stats: Sample) -> Self:
        """The block with the new cells."""
        return replace(self, cells=self.cells + stats)

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The block of some columns; features are independent given the class."""
        fields = {name: getattr(self, name) for name in ("log_h", "low", "high", "least", "most")}
        chosen = {name: leaf[..., columns] for name, leaf in fields.items() if leaf is not None}
        return replace(self, cells=self.cells.select(columns), **chosen)

    def log_predictive(self, x: Real[Array, "n d"]) -> Float[Array, "n c"]:
        """Σ_j log ∫ f_cj(x_j; h) p(h | data) dh: the average over the bandwidth is of densities, not of logarithms."""
        return self._within(self._predictive(x), x)

    def _predictive(self, x: Array, without: Any = None) -> Array:
        if self.low is None:
            t = self.log_h[None]
            return self._table(x, t, t, lambda table, _: table, without)[0]
        return self._table(x, *self._grid[:2], lambda table, log_w: log_sum(table + log_w[:, None])[None], without)[0]

    def _within(self, table: Array, x: Array) -> Array:
        """A table (…, n, c) of log densities, −∞ for rows with a cell beyond the bounds."""
        if self.least is None or self.most is None:
            return table
        xp = namespace(table, x)
        beyond = ((x < self.least) | (x > self.most)).any(-1, keepdims=True)
        return xp.where(beyond, -xp.inf, table)

    def log_loo(self, x: Real[Array, "n d"], r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i: its kernels are left out, also in the posterior of the bandwidth.

        In each feature a row of weight w is removed in three places. Its cell does not count in the leave-one-out
        product. It predicts no other cell there. Its kernel is not in the density at which it is evaluated. Let T_l be
        the sum of kernels around cell l. The product without cell a is then that of all T_l − w K_la, so one table of
        kernels for each bandwidth gives the posteriors of all rows. The prior of the bandwidth does not change.

        Notes
        -----
        The nodes of the quadrature are those of the posterior without the row. The result therefore equals that of an
        `update`, to rounding.
        """
        if namespace(x, r, *jax.tree.leaves(self)) is not np:
            return self._log_loo_by_updates(x, r)
        r = sparse.csc_array(r)
        r.eliminate_zeros()
        table = np.array(self._predictive(x, r), float)

        def piece(at: tuple[int, int]) -> list[tuple[np.ndarray, int, np.ndarray]]:
            k, j = at
            rows, w = r.indices[r.indptr[k] : r.indptr[k + 1]], r.data[r.indptr[k] : r.indptr[k + 1]]
            seen = ~np.isnan(x[rows, j])
            return self._left_out(x[rows[seen], j], rows[seen], w[seen], k, j) if seen.any() else []

        for found in in_order(piece, list(np.ndindex(*self.shape))):
            for rows, c, values in found:
                table[rows, c] += values
        return table

    def _left_out(
        self, x: np.ndarray, rows: np.ndarray, w: np.ndarray, k: int, j: int
    ) -> list[tuple[np.ndarray, int, np.ndarray]]:
        """What feature j says of rows of class k that are left out: rows, class and terms of the table.

        Columns of other classes change where these look at the cells of class k: where they have none of their own.
        """
        everyone = self.cells.select(np.array([j])).pooled()
        there = np.asarray(everyone.weight[0, 0]) > 0
        pooled = np.asarray(everyone.value[0, 0])[there], np.asarray(everyone.weight[0, 0])[there]
        value, weight = self._kernels(k, j)
        alike, place = np.unique(x + 1j * w, return_inverse=True)
        of, w = alike.real, alike.imag
        at, common = np.searchsorted(value, of), np.searchsorted(pooled[0], of)
        gone = cells_left(pooled[1], common, w) == 0
        odd = (cells_left(weight, at, w) == 0) & (len(value) == 1) | gone & (len(pooled[0]) <= 2)
        found, terms = np.empty(len(of)), []
        if (~odd).any():
            found[~odd] = self._density_without(value, weight, at[~odd], w[~odd], k, j)
            usual = ~odd[place]
            at_row = (np.cumsum(~odd) - 1)[place[usual]]
            for c in np.flatnonzero(~np.asarray(self.cells.weight[:, j]).any(-1)).tolist():
                same = self._table_of(c, j, pooled, common[~odd], 0 * w[~odd])
                moved = self._table_of(c, j, pooled, common[~odd], w[~odd]) - same
                terms.append((rows[usual], c, moved[at_row]))
        if odd.any():  # the class has no other cell, or without this one the feature does not vary
            alone = self.select(np.array([j]))
            for q in np.flatnonzero(odd):
                one, mine = of[[q], None], rows[place == q]
                stats = self.suffstats(one, one_hot(np.array([k]), len(self.log_h), w[[q]])).select(np.array([0]))
                left = alone.update(stats.zero() - stats).log_predictive(one)[0]
                moved = left - alone.log_predictive(one)[0]
                terms += [(mine, c, np.full(len(mine), moved[c])) for c in range(len(left)) if c != k]
                found[q] = left[k]
        return [*terms, (rows, k, found[place])]

    def _table_of(
        self, c: int, j: int, cells: tuple[np.ndarray, np.ndarray], at: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        """log density of feature j in class c on given cells, weights w having left, under the bandwidth as it is."""
        log_h, bounds = self.log_h[c, j], self._bounds(j)
        if self.low is None:
            return log_density_without(*cells, log_h, self.log_h[[c], j], at, w, bounds)[0]
        t, log_w = self._grid.t[:, c, j], self._grid.log_weight[:, c, j]
        return log_sum(log_density_without(*cells, log_h, t, at, w, bounds) + log_w[:, None])

    def _density_without(
        self, value: np.ndarray, weight: np.ndarray, at: np.ndarray, w: np.ndarray, k: int, j: int
    ) -> np.ndarray:
        """log ∫ f(v_a; h) p(h) dh where weight w has left cell a, in density as in the posterior of h, (q,)."""
        log_h = self.log_h[k, j]
        if self.low is None or self.high is None or not self._varies[j]:
            return self._table_of(k, j, (value, weight), at, w)

        def product(t: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return products_without(value, weight, log_h, t, at[which], w[which], self._bounds(j))

        limits = self.low[k, j], self.high[k, j]
        return average_without(product, *limits, log_h, self._grid.t[:, k, j], len(at))

    def _log_loo_by_updates(self, x: Array, r: Array | Sparse) -> Array:
        """One update and one posterior of the bandwidth a row."""
        tables = []
        for i in range(x.shape[0]):
            stats = self.suffstats(x[[i]], r[[i]])
            tables.append(self.update(stats.zero() - stats).log_predictive(x[[i]]))
        return namespace(*tables).concatenate(tables)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"]) -> Float[Array, "*s n c"]:
        """Σ_j log f_cj(x_j; h_cj)."""
        t = theta["log_bandwidth"] if theta else self.log_h
        flat = t.reshape(-1, *self.log_h.shape)
        table = self._table(x, flat, flat, lambda table, _: table)
        return self._within(table.reshape(*t.shape[:-2], *table.shape[1:]), x)

    def log_moments(self, x: Real[Array, "n d"]) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Mean and variance of log f_cj(x_j; h) over the grid, summed over j."""
        if self.low is None:
            table = self.log_likelihood({}, x)
            return table, 0 * table

        def moments(table: Array, log_w: Array) -> Array:
            xp = namespace(table, log_w)
            w = xp.exp(log_w)[:, None]
            mean = (w * table).sum(0)
            return xp.stack([mean, (w * square(table - mean)).sum(0)])

        mean, variance = self._table(x, *self._grid[:2], moments)
        return mean, variance

    def _table(
        self, x: Array, t: Array, log_w: Array, reduce: Callable[[Array, Array], Array], without: Any = None
    ) -> Array:
        """Σ_j over the observed cells of reduce(log f_cj(x_ij; eᵗ), log_w), (rows of reduce, n, c).

        Parameters
        ----------
        t, log_w : (g, c, d) logarithms of bandwidths, and weights that go with them
        reduce : (g, q) and (g,) → (rows, q)
        without : on the host weights (n, c), sparse; 0 in the place of rows that have some in a class
        """
        if namespace(x, t, self.log_h, self.cells.value) is not np:
            return self._traced_table(x, t, log_w, reduce)
        columns = [np.unique(column, return_inverse=True) for column in x.T]  # NaN last, and once

        def piece(at: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
            j, k = at
            levels, place = columns[j]
            rows = place < len(levels) - np.isnan(levels[-1:]).sum()
            if without is not None:
                rows[without.indices[without.indptr[k] : without.indptr[k + 1]]] = False
            used = np.zeros(len(levels), bool)
            used[place[rows]] = True
            (value, weight), q = self._kernels(k, j), int(used.sum())
            step = max(1, _CELLS // len(t))  # levels at a time
            args = value, weight, self.log_h[k, j], t[:, k, j], self._bounds(j)
            log_f = (log_density(levels[used][i : i + step], *args) for i in range(0, max(q, 1), step))
            found = np.concatenate([reduce(table, log_w[:, k, j]) for table in log_f], -1)
            return rows, found[:, (np.cumsum(used) - 1)[place[rows]]] * (len(value) > 0)  # no cell says nothing

        total: Any = None
        pieces = [(j, k) for j in range(x.shape[1]) for k in range(len(self.log_h))]
        for (_, k), (rows, found) in zip(pieces, in_order(piece, pieces), strict=True):
            if total is None:
                total = np.zeros((len(found), len(x), len(self.log_h)), found.dtype)
            total[:, rows, k] += found
        return total

    def _kernels(self, k: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Cells under the kernels of a class and feature: its own, or those of all classes where it has none."""
        value, weight = self.cells.value[k, j], self.cells.weight[k, j]
        if not weight.any():
            everyone = self.cells.select(np.array([j])).pooled()
            value, weight = everyone.value[0, 0], everyone.weight[0, 0]
        return np.asarray(value[weight != 0]), np.asarray(weight[weight != 0])

    def _traced_table(self, x: Array, t: Array, log_w: Array, reduce: Callable[[Array, Array], Array]) -> Array:
        """`_table` in JAX, one class and feature at a time."""
        x, t, log_w, log_h, cells = jax.tree.map(jnp.asarray, (x, t, log_w, self.log_h, self.cells))
        empty = (cells.weight == 0).all(-1)

        def table(cells: Sample) -> Array:
            def feature(total: Array, at: tuple[Any, ...]) -> tuple[Array, None]:
                (column, bounds), rest = at
                seen = ~jnp.isnan(column)
                u = jnp.where(seen, column, 0)

                def of_class(piece: tuple[Array, ...]) -> Array:
                    v, w, scale, t, log_w = piece
                    return reduce(log_density(u, v, w, scale, t, bounds), log_w)

                found = jnp.moveaxis(jax.lax.map(of_class, tuple(rest)), 0, -1)  # (rows, n, c)
                return total + jnp.where(seen[:, None], found, 0), None

            by_feature = (cells.value.swapaxes(0, 1), cells.weight.swapaxes(0, 1), log_h.T)
            arrays = (*by_feature, jnp.moveaxis(t, 0, -1).swapaxes(0, 1), jnp.moveaxis(log_w, 0, -1).swapaxes(0, 1))
            rows = jax.eval_shape(reduce, jnp.zeros((len(t), len(x)), t.dtype), log_w[:, 0, 0]).shape[0]
            dtype = jnp.result_type(x, t, cells.value)
            over = (x.T, self._bounds()), arrays
            return jax.lax.scan(feature, jnp.zeros((rows, len(x), len(log_h)), dtype), over)[0]

        def with_stand_in() -> Array:
            everyone = cells.pooled()
            wider = ((0, 0), (0, 0), (0, everyone.value.shape[-1] - cells.value.shape[-1]))
            alone = empty[..., None]
            value = jnp.where(alone, everyone.value, jnp.pad(cells.value, wider, constant_values=jnp.nan))
            return table(Sample(value, jnp.where(alone, everyone.weight, jnp.pad(cells.weight, wider))))

        if not cells.value.shape[-1]:
            return table(Sample(jnp.full((*log_h.shape, 1), jnp.nan), jnp.zeros((*log_h.shape, 1))))
        return jax.lax.cond(empty.any(), with_stand_in, lambda: table(cells))

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """A stored cell, drawn by its weight, plus h z with h from its posterior; NaN in a feature without cells.

        Raises
        ------
        ValueError
            if no feature has a cell: a kernel density can only draw values near its training cells
        """
        if not self.cells.weight.any():
            raise ValueError("a kernel density without data cannot draw rows; fit it first, or draw from the posterior")
        new = np.full((len(y), self.shape[1]), np.nan)
        for k, j in np.ndindex(self.shape):
            rows = np.flatnonzero(y == k)
            value, weight = self._kernels(k, j)
            if len(value) and len(rows):
                t: Any = self.log_h[k, j]
                if self.low is not None:
                    t = np.interp(rng.random(len(rows)), self._grid.cdf[:, k, j], self._grid.mesh[:, k, j])
                centre = value[rng.choice(len(value), len(rows), p=weight / weight.sum())]
                new[rows, j] = reflected(centre + np.exp(t) * rng.standard_normal(len(rows)), self._bounds(j))
        return new

    def model(self, x: Real[Array, "*c n d"] | None, y: Array | None) -> None:
        """The same prior of the bandwidth in NumPyro, and the leave-one-out product of the rows as a factor.

        If the block already has data, it is not a standard distribution, and the product of its cells is a factor too.

        Raises
        ------
        ValueError
            if x is None, because a kernel density without data cannot draw rows. Also if y is enumerated: rows of a
            class depend on each other, so labels cannot be summed out row by row
        """
        import numpyro
        import numpyro.distributions as dist
        from numpyro.distributions import constraints, transforms

        if x is None:
            raise ValueError("`x` is None, but a kernel density without data cannot draw rows; give the rows")
        if y is None or y.ndim != 1:
            raise ValueError(
                "`y` is None, but labels of a kernel density cannot be summed out row by row; give the labels"
            )
        c, d = self.log_h.shape
        both = self.update(cells_of(x, y, c))
        if self.low is None or self.high is None:
            numpyro.factor("x", both.log_normalizer() - self.log_normalizer())
            return
        # not validated: at a limit exp and log may end a last digit beyond it, and that is no density of zero
        log_prior = dist.TruncatedNormal(self.log_h, 1.0, low=self.low, high=self.high, validate_args=False)
        exp = transforms.ExpTransform(domain=constraints.interval(self.low, self.high))
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            h = numpyro.sample("bandwidth", dist.TransformedDistribution(log_prior, exp, validate_args=False))
        t = jnp.log(h)[None]
        if self.cells.value.shape[-1]:
            before = self._leave_one_out(t)
            blank = replace(self, cells=self.cells.zero())
            numpyro.factor("seen", before[0] - self.log_normalizer() + blank.log_normalizer())
            numpyro.factor("x", (both._leave_one_out(t) - before)[0])
        else:
            numpyro.factor("x", both._leave_one_out(t)[0])
