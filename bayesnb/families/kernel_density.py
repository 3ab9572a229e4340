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
variable. They are Gauss–Legendre quadratures over log h, on the range that holds the mass of their integrand. Far from
all cells that range is not the range of the posterior: a wider kernel is improbable, but reaches further. With a known
bandwidth (`low` and `high` are None) the model has no parameters.

The leave-one-out product is not a density of the data. Its average over p(h) normalises the posterior, and Bayes'
identity holds with it. But it is a *pseudo*-evidence, which cannot be compared with the evidence of another family.

A class without any cell in a feature has the kernel density of the cells of all classes, under its own bandwidth. A
feature without any cell has the log density 0.

This is an `AbstractConjugate`, although nothing here is conjugate. That class requires two things: prior and posterior
have the same type, and every integral comes without sampling. Both hold, the second to the accuracy of a
one-dimensional quadrature. Only `log_prob` is exact, up to the constant of the normaliser.

Ties. As h → 0 the product grows without bound where values are tied, as they are in rounded data: the best kernel
density of rounded data is a comb. `low` therefore has to be at least half the smallest gap between distinct values, at
which the kernels of neighbours just close into a smooth curve; the estimator sees to that. In a feature that never
varies there is no such gap, and the product is left out: the bandwidth then keeps its prior.

Silverman (1986), Density Estimation for Statistics and Data Analysis, §3.4.4 (the leave-one-out product), §3.4.3 (how
rounded data affect a cross-validated bandwidth). Habbema, Hermans & van den Broek (1974), Compstat (the product, in
discriminant analysis). Zhang, King & Hyndman (2006), Comput. Stat. Data Anal. 50 (as the likelihood of a bandwidth).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, NamedTuple, Self

import numpy as np

from ..base import AbstractConjugate
from ..core.arrays import Array, Float, Int, Real, Table, Tables, Theta, Weights, is_sparse
from ..core.pytrees import leaves, map_leaves, pytree
from ..core.random import Key, uniform
from ..core.special import LOG_2PI, is_traced, logsumexp, namespace, ndtr
from ..core.supports import CELLS, REAL, Field, declare
from ..statistics import Sample, one_hot
from ..sums.bandwidth import (
    WIDE_NODES,
    BandwidthPosterior,
    KnownBandwidth,
    even_nodes,
    gauss_legendre,
    repeated,
    search_range,
)
from ..sums.kernels import Cells, by_piece, log_density
from ..sums.rows import rounding
from ..sums.rule_of_thumb import BandwidthPriors, RuleOfThumb

_NODES = 65  # even nodes of a posterior, for distribution functions and peaks
_SEARCH = 17  # nodes of each search for a peak
_ZOOMS_OF_PEAK = 3
_NEWTON_STEPS = 3
_MESH = 32  # steps from one even node to the next, for distribution functions


class _Grid(NamedTuple):
    """The posterior of t = log h as quadrature, and its normaliser."""

    t: Any  # (g, c, d) nodes in ascending order
    log_weight: Any  # (g, c, d) logarithms of weights that sum to one
    low: Any  # (c, d) ends of its range
    high: Any
    log_z: Any  # (c, d)


@pytree
@dataclass(frozen=True)
class KernelDensity(AbstractConjugate[Sample]):
    """Density of each log h_cj, as a prior or a posterior, with the cells at which the kernels are centred.

    Fields
    ------
    log_h : (c, d)      log h⁰, the centre of the bandwidth's prior, or the bandwidth itself where it is given
    cells : Sample      distinct training cells and their weights, (c, d, m); none in a prior
    low, high : (c, d)  logarithms of the limits of the bandwidth; None where the bandwidth is given
    rule                how the cells gave `log_h`, `low` and `high`, if `log_loo` shall make them without the row; by
                        default they stay

    `log_h`, `low` and `high` are logarithms of lengths in the unit of the feature.

    Notes
    -----
    On the host the time of a posterior, of predictions and of leave-one-out is linear in the number of cells. In JAX it
    is quadratic, and leave-one-out is one refit a row. Quantiles of log h are accurate to 1e-3. `log_normalizer` has no
    gradient with respect to the cells.
    """

    log_h: Float[Array, "c d"]
    cells: Sample
    low: Float[Array, "c d"] | None = None
    high: Float[Array, "c d"] | None = None
    rule: RuleOfThumb | None = field(default=None, metadata={"static": True})

    fields_ = declare(
        log_h=Field(REAL),
        cells=Field(CELLS, ("class", "feature", "cell")),
        low=Field(REAL, optional=True),
        high=Field(REAL, optional=True),
    )

    evidence_error = (
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
        if self._is_on_host(x):
            return self._on_host(x, None)
        return self._traced_average(x)

    def log_loo(self, x: Real[Array, "n d"], r: Weights) -> Table:
        """log_predictive without row i: in a class in which it has weight w, that weight leaves the cells.

        It leaves the kernels, and the factors of the leave-one-out product that the bandwidth is learnt from. With a
        `rule` it leaves the prior of the bandwidth too. A class that the row leaves without a cell gets the cells of
        all classes, without the row.
        """
        dense = r.toarray() if is_sparse(r) else r
        if self._is_on_host(x, dense):
            return self._on_host(x, dense)
        return self._traced_loo(x, dense)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"]) -> Tables:
        """Σ_j log f_cj(x_j; h_cj)."""
        t = theta["log_bandwidth"] if theta else self.log_h
        flat = namespace(x, t, *self.cells.value).asarray(t.reshape(-1, *self.log_h.shape))
        table = self._sum_over_features(x, len(flat), lambda u, k, j: self._densities(u, k, j, flat[:, k, j]), flat)
        return table.reshape(*t.shape[:-2], *table.shape[1:])

    def _sum_over_features(
        self, x: Array, n_bandwidths: int, of_piece: Callable[[Array, int, Any], Array], *others: Array
    ) -> Array:
        """Σ_j over the observed cells of a log density (…, n) of class k and feature j: (…, n, c)."""
        c, d = self.shape
        xp = namespace(x, self.log_h, *self.cells.value, *others)
        x = xp.asarray(x)

        def observed(k: int, j: Any) -> Array:
            is_observed = ~xp.isnan(x[:, j])
            return xp.where(is_observed, of_piece(xp.where(is_observed, x[:, j], 0), k, j), 0)

        cost = x.shape[0] * n_bandwidths * sum(v.size for v in self.cells.value)
        total: list[Any] = [0] * c
        for k, log_f in by_piece(observed, c, d, cost if xp is np else None):
            total[k] = total[k] + log_f
        return xp.stack(total, -1)

    def _densities(self, u: Array, k: int, j: Any, t: Float[Array, " g"]) -> Float[Array, "g n"]:
        """log f_kj(u; eᵗ); under the cells of all classes where class k has none."""
        xp = namespace(u, t, *self.cells.value)
        cells = self.cells if xp is np else map_leaves(xp.asarray, self.cells)
        nothing = xp.zeros_like(u)
        value, weight = cells.of_piece(k, j)
        of_class = log_density(u, value, weight, t, nothing)
        if xp is np and weight.sum() > 0:
            return of_class
        pooled_value, pooled_weight = cells.pooled().of_piece(0, j)
        of_all = log_density(u, pooled_value, pooled_weight, t, nothing)
        return xp.where(weight.sum() > 0, of_class, of_all)

    # --- averages on the host, class by class and feature by feature: `sums.bandwidth` --------------------------------

    def _is_on_host(self, *arrays: Array) -> bool:
        return namespace(self.log_h, *self.cells.value, *self.cells.weight, *arrays) is np

    def _on_host(self, x: np.ndarray, r: np.ndarray | None) -> np.ndarray:
        """`log_predictive`, or `log_loo` where weights r (n, c) leave with the rows."""
        c, d = self.shape
        n_rows = len(x)
        leaving = np.zeros((n_rows, c)) if r is None else r
        pooled = self.cells.pooled()

        def of_piece(k: int, j: int) -> np.ndarray:
            posterior = self._posterior_of(k, j)
            rows = np.flatnonzero(~np.isnan(x[:, j]))
            if r is None:
                departures = _Departures(x[rows, j].astype(float), np.zeros(len(rows)), np.zeros(len(rows)))
            else:
                departures = _Departures(x[rows, j].astype(float), leaving[rows, k], leaving[rows].sum(1))
            log_f = np.zeros(n_rows)
            rule = None if r is None else self.rule
            log_f[rows] = _log_averages(posterior, Cells(*pooled.of_piece(0, j)), departures, rule)
            return log_f

        table = np.zeros((n_rows, c))
        cost = n_rows * WIDE_NODES * sum(v.size for v in self.cells.value)
        for k, log_f in by_piece(of_piece, c, d, cost):
            table[:, k] += log_f
        return table

    def _posterior_of(self, k: int, j: int) -> BandwidthPosterior | KnownBandwidth:
        """The posterior of one bandwidth, which is computed once."""
        posteriors = vars(self).setdefault("_posteriors", {})
        if (k, j) not in posteriors:
            cells = Cells(*(part.astype(float) for part in self.cells.of_piece(k, j)))
            if self.low is None or self.high is None:
                posteriors[k, j] = KnownBandwidth(cells, float(self.log_h[k, j]))
            else:
                centre, low, high = (float(field[k, j]) for field in (self.log_h, self.low, self.high))
                posteriors[k, j] = BandwidthPosterior(cells, centre, low, high, bool(_varies(self.cells)[j]))
        return posteriors[k, j]

    # --- averages in JAX: the formulas as they are --------------------------------------------------------------------

    def _traced_average(self, x: Array) -> Array:
        """`log_predictive`, with the average over the nodes of the quadrature."""
        import jax.numpy as jnp

        t, log_weight = map(jnp.asarray, self._nodes)

        def average(u: Array, k: int, j: Any) -> Array:
            return logsumexp(self._densities(u, k, j, t[:, k, j]) + log_weight[:, k, j, None], 0)

        return self._sum_over_features(x, len(t), average, t)

    def _traced_loo(self, x: Array, r: Array) -> Array:
        """`log_loo`, row by row, with the posterior of all cells but its own."""
        import jax
        import jax.numpy as jnp

        cells = map_leaves(jnp.asarray, self.cells)

        def of_row(row: tuple[Array, Array]) -> Array:
            x_i, r_i = row
            remaining = []
            for k, (value, weight) in enumerate(zip(cells.value, cells.weight, strict=True)):
                rest = weight - r_i[k] * (value == x_i[:, None])
                remaining.append(jnp.where(rest > rounding(weight) * weight, rest, 0))
            without = replace(self, cells=Sample(cells.value, tuple(remaining)))
            return without._traced_average(x_i[None])[0]

        return jax.lax.map(of_row, (jnp.asarray(x), jnp.asarray(r)))

    # --- the posterior of the bandwidth, by quadrature: it knows the cells through their leave-one-out product alone --

    @property
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """`log_bandwidth`; none if the bandwidth is known."""
        return () if self.low is None else ("log_bandwidth",)

    def log_normalizer(self) -> Float[Array, "c d"]:
        """log ∫ exp(−½ (t − log h⁰)²) Π_i f_−i(v_i; eᵗ)^{w_i} dt; the log product if the bandwidth is known."""
        return self._leave_one_out(self.log_h[None])[0] if self.low is None else self._grid.log_z

    def log_marginal(self, stats: Sample) -> Float[Array, "c d"]:
        """The pseudo-evidence: log of the leave-one-out product, averaged over the prior of the bandwidth."""
        return self.update(stats).log_normalizer() - self.log_normalizer()

    def log_prob(self, theta: Theta) -> Float[Array, "*s c d"]:
        """−½ (log h − log h⁰)² + Σ_i w_i log f_−i(v_i; h) − log h − log normaliser; −∞ beyond the limits.

        The sum over the cells is exact and does not use the grid.
        """
        if self.low is None or self.high is None:
            return 0 * self.log_h
        t = theta["log_bandwidth"]
        density = self._log_density(t.reshape(-1, *self.log_h.shape)).reshape(t.shape)
        inside = (t > self.low - 1e-6) & (t < self.high + 1e-6)  # exp and log of the limits differ in the last digits
        xp = namespace(density)
        return xp.where(inside, density - t - self.log_normalizer(), -xp.inf)

    def _log_density(self, t: Float[Array, "g c d"]) -> Float[Array, "g c d"]:
        """Log density of t = log h, without its normaliser."""
        return -0.5 * (t - self.log_h) ** 2 + self._leave_one_out(t)

    def _leave_one_out(self, t: Float[Array, "g c d"]) -> Float[Array, "g c d"]:
        """Σ_i w_i log f_−i(v_i; eᵗ); 0 in a feature that never varies, and for a cell that is alone.

        One unit of weight leaves each cell, or all of it where that is less.
        """
        xp, size = namespace(t, *self.cells.value), sum(v.size * v.shape[-1] for v in self.cells.value)
        cells = self.cells if xp is np else map_leaves(xp.asarray, self.cells)
        varies = _varies(cells)

        def product(k: int, j: Any) -> Float[Array, " g"]:
            value, weight = cells.of_piece(k, j)
            u = xp.where(weight != 0, value, 0)
            terms = weight * log_density(u, value, weight, t[:, k, j], xp.minimum(weight, 1))
            return xp.where(varies[j], terms.sum(-1), 0)

        found = by_piece(product, *self.shape, len(t) * size if xp is np else None)
        return xp.stack([terms for _, terms in found], -1).reshape(t.shape)

    @property
    def _informed(self) -> Array:
        """Whether a class has two units of weight in a feature that varies: something to leave out, and some left."""
        two = [((w > 0).sum(-1) > 1) | (w > 1).any(-1) for w in self.cells.weight]
        return _varies(self.cells) & namespace(*two).stack(two)

    @property
    def _grid(self) -> _Grid:
        """The posterior of log h: of arrays at hand computed once, on the host; in a trace, in the trace."""
        if is_traced(*leaves(self)):
            return self._integrate()
        if "_known" not in vars(self):
            vars(self)["_known"] = map_leaves(np.asarray, self)._integrate()  # a cache: no other value is possible
        return vars(self)["_known"]

    def _integrate(self) -> _Grid:
        """Gauss–Legendre quadrature over the range of the posterior."""
        assert self.low is not None and self.high is not None
        xp = namespace(self.log_h, *self.cells.value)
        low, high = search_range(self._log_density, self.low, self.high)
        rule = gauss_legendre(low, high, WIDE_NODES)
        log_mass = self._log_density(rule.t) + rule.log_weight
        log_z = logsumexp(log_mass, 0)
        prior = 0.5 * LOG_2PI + xp.log(ndtr(self.high - self.log_h) - ndtr(self.low - self.log_h))
        return _Grid(rule.t, log_mass - log_z, low, high, xp.where(self._informed, log_z, prior))

    @property
    def _nodes(self) -> tuple[Array, Array]:
        """Logarithms of bandwidths and of their weights, (g, c, d): those of the grid, or the one that is known."""
        if self.low is None:
            return self.log_h[None], 0 * self.log_h[None]
        return self._grid.t, self._grid.log_weight

    def _distribution(self) -> tuple[Float[Array, "f c d"], Float[Array, "f c d"]]:
        """Finer nodes of t, and the distribution function there, from 0 to 1."""
        t = even_nodes(self._grid.low, self._grid.high, _NODES)
        density = self._log_density(t)
        xp = namespace(t)
        p = xp.exp(xp.tensordot(xp.asarray(_spline(), t.dtype), density - logsumexp(density, 0), 1))
        area = xp.concatenate([0 * p[:1], xp.cumsum((p[1:] + p[:-1]) / 2, axis=0)])
        return t[0] + (t[-1] - t[0]) * np.linspace(0, 1, len(p), dtype=t.dtype)[:, None, None], area / area[-1]

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Draws of log h, by inverting its distribution function."""
        if self.low is None:
            return {}
        full_shape = (*shape, *self.shape)
        mesh, cdf = self._distribution()
        u = uniform(key, full_shape)
        xp = namespace(u, mesh)
        interpolate: Any = xp.vectorize(xp.interp, signature="(s),(f),(f)->(s)")
        t, p, draws = (leaf.reshape(-1, self.log_h.size).T for leaf in (mesh, cdf, u))
        return {"log_bandwidth": interpolate(draws, p, t).T.reshape(full_shape).astype(t.dtype)}

    def mean(self) -> Theta:
        """log of the mean bandwidth."""
        return {} if self.low is None else {"log_bandwidth": logsumexp(self._grid.log_weight + self._grid.t, 0)}

    def mode(self) -> Theta:
        """The bandwidth with the largest density with respect to h: the best node, and Newton's steps from there.

        If rounded data push the bandwidth down, the mode is the lower limit.
        """
        if self.low is None:
            return {}
        return {"log_bandwidth": _climb(lambda t: self._log_density(t) - t, self._grid.low, self._grid.high)}

    def mle(self, stats: Sample) -> Theta:
        """The bandwidth with the largest leave-one-out product within the limits; the mean if the product is flat."""
        if self.low is None or self.high is None:
            return {}
        block = self.update(stats)
        best = _climb(block._leave_one_out, *search_range(block._leave_one_out, self.low, self.high))
        return {"log_bandwidth": namespace(best).where(block._informed, best, self.mean()["log_bandwidth"])}

    def marginals(self) -> dict[str, Any]:
        """The grid posterior of each `bandwidth`."""
        return {} if self.low is None else {"bandwidth": GridMarginal(*map(np.asarray, self._distribution()))}

    # --- rows from the model, and the model in NumPyro ----------------------------------------------------------------

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **settings: Any) -> np.ndarray:
        """A stored cell, drawn by its weight, plus h z with h from its posterior; NaN in a feature without cells.

        Raises
        ------
        ValueError
            if no feature has a cell: a kernel density can only draw values near its training cells
        """
        pooled = self.cells.pooled()
        if not pooled.n.any():
            raise ValueError("a kernel density draws rows near its cells, and a prior has none; use source='posterior'")
        x = np.full((len(y), self.shape[1]), np.nan)
        n_draws = int(np.bincount(y).max(initial=0))
        h = np.exp(self.sample(rng, (n_draws,)).get("log_bandwidth", self.log_h + np.zeros((n_draws, 1, 1))))
        for k, j in np.ndindex(self.shape):
            rows = np.flatnonzero(y == k)
            value, weight = self.cells.of_piece(k, j)
            if not len(value):
                value, weight = pooled.of_piece(0, j)
            if len(value):
                centre = value[rng.choice(len(value), len(rows), p=weight / weight.sum())]
                x[rows, j] = centre + h[: len(rows), k, j] * rng.standard_normal(len(rows))
        return x

    def sample_rows(
        self, rng: np.random.Generator, theta: Theta, y: Int[np.ndarray, " n"], **settings: Any
    ) -> Float[np.ndarray, "s n d"]:
        """New rows at given bandwidths: a stored cell of the class, drawn by its weight, plus h z.

        Raises
        ------
        NotImplementedError
            if a class has no cell of a feature: a kernel density can only draw values near its training cells. Also if
            the bandwidth is given, so that no parameter is drawn
        """
        if not theta:
            raise NotImplementedError("a kernel density whose bandwidth is given has no parameters to draw rows at")
        h = np.exp(theta["log_bandwidth"])
        x = np.empty((len(h), len(y), self.shape[1]))
        for k, j in np.ndindex(self.shape):
            rows = np.flatnonzero(y == k)
            value, weight = self.cells.of_piece(k, j)
            if not weight.any():
                raise NotImplementedError("a kernel density draws rows near its cells, and a class has none")
            centre = value[rng.choice(len(value), (len(h), len(rows)), p=weight / weight.sum())]
            x[:, rows, j] = centre + h[:, k, j, None] * rng.standard_normal(centre.shape)
        return x

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


class GridMarginal:
    """Distributions of bandwidths from a grid, each a `scipy.stats.rv_histogram`: its methods, of values (…, c, d)."""

    def __init__(self, mesh: np.ndarray, cdf: np.ndarray) -> None:
        from scipy.stats import rv_histogram

        self._shape = mesh.shape[1:]
        pieces = [(np.diff(cdf[:, k, j]), np.exp(mesh[:, k, j])) for k, j in np.ndindex(self._shape)]
        self._laws = [rv_histogram(piece, density=False) for piece in pieces]

    def __getattr__(self, name: str) -> Callable[..., np.ndarray]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._of_each, name)

    def _of_each(self, name: str, *args: Any) -> np.ndarray:
        wide = [np.broadcast_to(array, np.broadcast_shapes(np.shape(array), self._shape)) for array in args]
        flat = [array.reshape(*array.shape[: array.ndim - 2], -1) for array in wide]
        values = [getattr(law, name)(*(array[..., i] for array in flat)) for i, law in enumerate(self._laws)]
        return np.stack(values, -1).reshape(*np.shape(values[0]), *self._shape)


def _varies(cells: Sample) -> Array:
    """Whether a feature has two distinct values in all classes together, (d,)."""
    return (cells.pooled().weight[0] != 0).sum(-1) > 1


def _climb(f: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Where f is largest between low and high, (c, d): zooms on the best node, and Newton's steps there.

    The slope is a difference of sixth order: its step leaves as much truncation as rounding.
    """
    xp = namespace(low, high)

    def around_best(t: Array) -> tuple[Array, Array, Array]:
        best = f(t).argmax(0)
        before = xp.take_along_axis(t, xp.clip(best - 1, 0, len(t) - 1)[None], 0)[0]
        after = xp.take_along_axis(t, xp.clip(best + 1, 0, len(t) - 1)[None], 0)[0]
        return before, after, xp.take_along_axis(t, best[None], 0)[0]

    nodes = around_best(even_nodes(low, high, _NODES))
    nodes = repeated(lambda nodes: around_best(even_nodes(nodes[0], nodes[1], _SEARCH)), _ZOOMS_OF_PEAK, nodes)
    return repeated(lambda peak: _newton_step(f, peak, low, high), _NEWTON_STEPS, nodes[2])


def _newton_step(f: Callable[[Array], Array], t: Array, low: Array, high: Array) -> Array:
    """One step towards the peak of f between low and high."""
    xp = namespace(t)
    step = float(np.finfo(t.dtype).eps) ** (1 / 7)
    y = f(t + step * np.arange(-3, 4, dtype=t.dtype)[:, None, None])
    first = (y[6] - y[0] - 9 * (y[5] - y[1]) + 45 * (y[4] - y[2])) / (60 * step)
    second = (y[4] - 2 * y[3] + y[2]) / step**2
    return xp.clip(t - first / xp.where(second < 0, second, -xp.inf), low, high)


class _Departures(NamedTuple):
    """Cells of a feature, and the weights that leave with their rows: none in a prediction.

    Fields
    ------
    u : (q,)            the cells
    of_class : (q,)     weights that leave a class
    of_all : (q,)       weights that leave all classes together
    """

    u: np.ndarray
    of_class: np.ndarray
    of_all: np.ndarray

    def select(self, rows: Any) -> "_Departures":
        """Those of some rows."""
        return _Departures(self.u[rows], self.of_class[rows], self.of_all[rows])

    def distinct(self) -> "tuple[_Departures, np.ndarray]":
        """The distinct ones with cells in ascending order, and which of them each row is."""
        order = np.lexsort((self.of_all, self.of_class, self.u))
        in_order = self.select(order)
        is_first = np.ones(len(order), bool)
        is_first[1:] = False
        for column in in_order:
            is_first[1:] |= column[1:] != column[:-1]
        index = np.empty(len(order), int)
        index[order] = np.cumsum(is_first) - 1
        return in_order.select(is_first), index


def _log_averages(
    posterior: BandwidthPosterior | KnownBandwidth, pooled: Cells, departures: _Departures, rule: RuleOfThumb | None
) -> np.ndarray:
    """log densities of cells (q,) of a class and feature, averaged over the bandwidth, without the rows that leave.

    Parameters
    ----------
    rule : makes the prior of the bandwidth without each row; None where the prior stays
    """
    if not len(departures.u):
        return np.zeros(0)
    distinct, index = departures.distinct()
    own = posterior.cells
    is_empty = _n_remaining(own, distinct.u, distinct.of_class) == 0  # the class has no other cell
    n_in_all = _n_remaining(pooled, distinct.u, distinct.of_all)
    has_cells = n_in_all > 0
    is_flat = (n_in_all == 1) & (len(pooled.value) == 2)  # the feature varies, but not without the row
    is_loo = ~is_empty & ~is_flat & (distinct.of_class > 0) & np.isin(distinct.u, own.value)
    is_kept = ~is_empty & ~is_flat & ~is_loo
    priors = None if rule is None else rule.without(own, pooled, *distinct)

    def priors_of(rows: np.ndarray) -> BandwidthPriors | None:
        return None if priors is None else priors.select(rows)

    log_f = np.zeros(len(distinct.u))
    if is_kept.any():
        stays = np.zeros(is_kept.sum())
        log_f[is_kept] = posterior.log_average(distinct.u[is_kept], stays, own, priors_of(is_kept))
    if is_loo.any():
        cell = np.searchsorted(own.value, distinct.u[is_loo])
        log_f[is_loo] = posterior.log_loo(cell, distinct.of_class[is_loo], priors_of(is_loo))
    # without the row the product says nothing of the bandwidth, which keeps its prior
    flat = is_flat & ~is_empty
    if flat.any():
        log_f[flat] = posterior.prior.log_average(distinct.u[flat], distinct.of_class[flat], own, priors_of(flat))
    of_all = is_empty & has_cells
    if of_all.any():
        leaving = distinct.of_all[of_all]
        log_f[of_all] = posterior.prior.log_average(distinct.u[of_all], leaving, pooled, priors_of(of_all))
    return log_f[index]


def _n_remaining(cells: Cells, u: np.ndarray, leaving: np.ndarray) -> np.ndarray:
    """(q,) How many distinct cells remain when a weight leaves the one at u."""
    weight = np.zeros(len(u))
    is_cell = np.isin(u, cells.value)
    weight[is_cell] = cells.weight[np.searchsorted(cells.value, u[is_cell])]
    vanishes = is_cell & (weight - leaving <= rounding(weight) * weight)
    return len(cells.value) - vanishes


@cache
def _spline() -> np.ndarray:
    """The matrix that takes values at the nodes to those of the cubic spline through them on the mesh."""
    from scipy.interpolate import CubicSpline

    return CubicSpline(range(_NODES), np.eye(_NODES))(np.linspace(0, _NODES - 1, (_NODES - 1) * _MESH + 1))
