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
from functools import cache
from typing import Any, Self

import numpy as np

from ..bandwidth import AbstractBandwidth
from ..core.pytrees import map_leaves, pytree
from ..core.special import is_traced, logsumexp, namespace
from ..core.supports import CELLS, REAL, Field, declare
from ..statistics import Sample, one_hot
from ..sums.kernels import by_piece, log_density
from ..sums.rows import batches, rounding
from ._page import Array, Float, Int, Real, Sparse, Table, Tables, Theta, Weights, is_sparse

_CELLS = 1 << 18  # numbers of a table of values and bandwidths: 2 MiB


@pytree
@dataclass(frozen=True)
class KernelDensity(AbstractBandwidth):
    """Density of each log h_cj, as a prior or a posterior, with the cells at which the kernels are centred.

    Fields
    ------
    log_h : (c, d)      log h⁰, the centre of the bandwidth's prior, or the bandwidth itself where it is given
    cells : Sample      distinct training cells and their weights, (c, d, m); none in a prior
    low, high : (c, d)  logarithms of the limits of the bandwidth; None where the bandwidth is given

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

    fields_ = declare(
        log_h=Field(REAL),
        cells=Field(CELLS, ("class", "feature", "cell")),
        low=Field(REAL, optional=True),
        high=Field(REAL, optional=True),
    )

    no_evidence = (
        "the leave-one-out product of a kernel density is not a normalised density of the data, so there is no "
        "evidence to compare with that of other models; compare log probabilities of held-out rows instead"
    )

    def suffstats(self, x: Real[Array, "n d"], r: Weights) -> Sample:
        """The distinct observed cells and their weights."""
        return Sample.of(x, r)

    def update(self, stats: Sample) -> Self:
        """The block with the new cells."""
        return replace(self, cells=self.cells + stats)

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The block of some columns; features are independent given the class."""
        fields = {name: getattr(self, name) for name in ("log_h", "low", "high")}
        chosen = {name: leaf[..., columns] for name, leaf in fields.items() if leaf is not None}
        return replace(self, cells=self.cells.select(columns), **chosen)

    def log_predictive(self, x: Real[Array, "n d"]) -> Table:
        """Σ_j log ∫ f_cj(x_j; h) p(h | data) dh: the average over the bandwidth is of densities, not of logarithms."""
        return self._averaged(x, None)

    def log_loo(self, x: Real[Array, "n d"], r: Weights) -> Table:
        """log_predictive without the kernels of row i. The posterior of the bandwidth stays, as a prior would.

        In a class in which the row has weight w, the density at its cell is [Σ_k w_k K_h(x − v_k) − w K_h(0)] over
        [Σ_k w_k − w]. A class that the row leaves without a cell gets the cells of all classes, without the row.
        """
        return self._averaged(x, r)

    @property
    def with_known_bandwidth(self) -> Self:
        """The block of these cells under the mean of each bandwidth: leaving a row out of it undoes an update."""
        return replace(self, log_h=self.mean().get("log_bandwidth", self.log_h), low=None, high=None)

    def with_cells(self, cells: Sample) -> Self:
        """Other cells under this posterior of the bandwidth, on the host: what is left where rows leave in groups."""
        found = replace(self, cells=cells)
        if self.low is not None:
            vars(found)["_known"] = self._grid
        return found

    def _averaged(self, x: Array, r: Array | Sparse | None) -> Table:
        return self._table(x, *self._nodes, lambda table, log_w: logsumexp(table + log_w[:, None], 0)[None], r)[0]

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"]) -> Tables:
        """Σ_j log f_cj(x_j; h_cj)."""
        t = theta["log_bandwidth"] if theta else self.log_h
        flat = t.reshape(-1, *self.log_h.shape)
        table = self._table(x, flat, flat, lambda table, _: table)
        return table.reshape(*t.shape[:-2], *table.shape[1:])

    def log_moments(self, x: Real[Array, "n d"]) -> tuple[Table, Table]:
        """Mean and variance of log f_cj(x_j; h) over the grid, summed over j."""

        def moments(table: Array, log_w: Array) -> Array:
            xp = namespace(table, log_w)
            w = xp.exp(log_w)[:, None]
            mean = (w * table).sum(0)
            return xp.stack([mean, (w * (table - mean) ** 2).sum(0)])

        mean, variance = self._table(x, *self._nodes, moments)
        return mean, variance

    def _table(
        self, x: Array, t: Array, log_w: Array, reduce: Callable[[Array, Array], Array], r: Array | Sparse | None = None
    ) -> Array:
        """Σ_j over the observed cells of reduce(log f_cj(x_ij; eᵗ), log_w), (rows of reduce, n, c).

        Parameters
        ----------
        t, log_w : (g, c, d) logarithms of bandwidths, and weights that go with them
        reduce : (g, q) and (g,) → (rows, q)
        r : (n, c) weights with which the rows leave the cells; None: they stay
        """
        (c, d), n, xp, cells = self.shape, x.shape[0], namespace(x, t, self.log_h, *self.cells.value, r), self.cells
        w = xp.zeros((n, 1)) if r is None else r.toarray() if is_sparse(r) else r
        if xp is not np:
            x, t, log_w, w, cells = map_leaves(xp.asarray, (x, t, log_w, w, cells))
        leaving, everyone = w.sum(1).astype(x.dtype), cache(cells.pooled)
        if xp is not np:
            everyone()  # not in the trace of a piece

        def densities(u: Array, w: Array, own: tuple[Array, Array], k: int, j: Any) -> Array:
            """Of cells u, of which weights w leave; on the host once for all that are equal."""
            if xp is not np:
                return reduce(log_density(u, *own, t[:, k, j], w), log_w[:, k, j])
            _, rows, back = np.unique(u + 1j * w if w.any() else u, return_index=True, return_inverse=True)
            parts = [rows[some] for some in batches(len(rows), max(1, _CELLS // len(t)))] or [rows]
            found = [reduce(log_density(u[at], *own, t[:, k, j], w[at]), log_w[:, k, j]) for at in parts]
            return np.concatenate(found, -1)[:, back]

        def of_piece(k: int, j: Any) -> Array:
            seen, own, leaves = ~xp.isnan(x[:, j]), cells.of_piece(k, j), w[:, k if w.shape[1] > 1 else 0]
            u, mass = xp.where(seen, x[:, j], 0), own[1].sum()
            gone = mass - leaves <= rounding(leaves) * mass  # in these rows the class has no other cell
            if xp is not np:
                found = xp.where(
                    gone, densities(u, leaving, everyone().of_piece(0, j), k, j), densities(u, leaves, own, k, j)
                )
            else:
                found = densities(u, leaves, own, k, j)
                if gone.any():
                    found[:, gone] = densities(u[gone], leaving[gone], everyone().of_piece(0, j), k, j)
            return xp.where(seen, found, 0)

        total: list[Any] = [0] * c
        for k, found in by_piece(of_piece, c, d, n * len(t) * sum(v.size for v in cells.value) if xp is np else None):
            total[k] = total[k] + found
        return xp.stack(total, -1)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """A stored cell, drawn by its weight, plus h z with h from its posterior; NaN in a feature without cells.

        Raises
        ------
        ValueError
            if no feature has a cell: a kernel density can only draw values near its training cells
        """
        everyone, draws = self.cells.pooled(), int(np.bincount(y).max(initial=0))
        if not everyone.n.any():
            raise ValueError("a kernel density without data cannot draw rows; fit it first, or draw from the posterior")
        new = np.full((len(y), self.shape[1]), np.nan)
        h = np.exp(self.sample(rng, (draws,)).get("log_bandwidth", self.log_h + np.zeros((draws, 1, 1))))
        for k, j in np.ndindex(self.shape):
            rows, (value, weight) = np.flatnonzero(y == k), self.cells.of_piece(k, j)
            if not len(value):
                value, weight = everyone.of_piece(0, j)
            if len(value):
                centre = value[rng.choice(len(value), len(rows), p=weight / weight.sum())]
                new[rows, j] = centre + h[: len(rows), k, j] * rng.standard_normal(len(rows))
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
        import jax.nn
        import jax.numpy as jnp

        c, d = self.shape
        if is_traced(x, y):
            x = jnp.asarray(x, jnp.result_type(float))
            both = self.update(Sample.of(x, jax.nn.one_hot(y, c, dtype=x.dtype)))
        else:  # there equal values can be merged
            both = self.update(Sample.of(np.asarray(x, float), one_hot(np.asarray(y), c)))
        if self.low is None or self.high is None:
            numpyro.factor("x", both.log_normalizer() - self.log_normalizer())
            return
        # not validated: at a limit exp and log may end a last digit beyond it, and that is no density of zero
        log_prior = dist.TruncatedNormal(self.log_h, 1.0, low=self.low, high=self.high, validate_args=False)
        exp = transforms.ExpTransform(domain=constraints.interval(self.low, self.high))
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            h = numpyro.sample("bandwidth", dist.TransformedDistribution(log_prior, exp, validate_args=False))
        t = jnp.log(h)[None]
        if self.cells.n.size:
            before = self._leave_one_out(t)
            blank = replace(self, cells=self.cells.zero())
            numpyro.factor("seen", before[0] - self.log_normalizer() + blank.log_normalizer())
            numpyro.factor("x", (both._leave_one_out(t) - before)[0])
        else:
            numpyro.factor("x", both._leave_one_out(t)[0])
