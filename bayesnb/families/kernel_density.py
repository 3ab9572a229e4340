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

Ties. As h → 0 the product grows without bound where values are tied, as they are in rounded data: the best kernel
density of rounded data is a comb. `low` therefore has to be at least half the smallest gap between distinct values, at
which the kernels of neighbours just close into a smooth curve; the estimator sees to that. In a feature that never
varies there is no such gap, and the product is left out: the bandwidth then keeps its prior.

Silverman (1986), Density Estimation for Statistics and Data Analysis, §3.4.4 (the leave-one-out product), §3.4.3 (how
rounded data affect a cross-validated bandwidth). Habbema, Hermans & van den Broek (1974), Compstat (the product, in
discriminant analysis). Zhang, King & Hyndman (2006), Comput. Stat. Data Anal. 50 (as the likelihood of a bandwidth).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple, Self

import numpy as np

from ..base import AbstractConjugate
from ..core.arrays import Array, Float, Int, Real, Sparse, Table, Tables, Theta, Weights, is_sparse
from ..core.pytrees import leaves, map_leaves, pytree
from ..core.random import Key, uniform
from ..core.special import LOG_2PI, is_traced, logsumexp, namespace, ndtr
from ..core.supports import CELLS, REAL, Field, declare
from ..statistics import Sample, one_hot
from ..sums.kernels import by_piece, log_density
from ..sums.rows import batches, rounding

_CELLS = 1 << 18  # numbers of a table of values and bandwidths: 2 MiB
_SEARCH = 17  # nodes of each search for the range of a posterior, and for its peak
_NODES = 41  # nodes of the grid itself
_MESH = 32  # steps from one node to the next, for distribution functions
_DEPTH = 24.0  # nats below its peak where a posterior ends: a mass of 4e-11
# Gregory's end corrections of an even grid, sixth order also where the integrand ends abruptly: Hildebrand (1974),
# Introduction to Numerical Analysis, §5.9; ½ − 1/12 − 1/24 − 19/720 − 3/160 = 95/288 at the end
_GREGORY = np.ones((_NODES, 1, 1))
_GREGORY[:5, 0, 0] = _GREGORY[:-6:-1, 0, 0] = 95 / 288, 317 / 240, 23 / 30, 793 / 720, 157 / 160


class _Grid(NamedTuple):
    """The posterior of t = log h as quadrature, and its normaliser."""

    t: Any  # (g, c, d) nodes in ascending order, evenly spaced
    density: Any  # (g, c, d) log density there, without its normaliser
    log_weight: Any  # (g, c, d) logarithms of weights that sum to one
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
        return self._table(x, *self._nodes, r)[0]

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"]) -> Tables:
        """Σ_j log f_cj(x_j; h_cj)."""
        t = theta["log_bandwidth"] if theta else self.log_h
        table = self._table(x, t.reshape(-1, *self.log_h.shape))
        return table.reshape(*t.shape[:-2], *table.shape[1:])

    def _table(self, x: Array, t: Array, log_w: Array | None = None, r: Array | Sparse | None = None) -> Array:
        """Σ_j over the observed cells of log f_cj(x_ij; eᵗ), (g, n, c), or of its average with weights, (1, n, c).

        Parameters
        ----------
        t, log_w : (g, c, d) logarithms of bandwidths, and of weights that go with them
        r : (n, c) weights with which the rows leave the cells; None: they stay
        """
        (c, d), n, xp, cells = self.shape, x.shape[0], namespace(x, t, self.log_h, *self.cells.value, r), self.cells
        w = xp.zeros((n, 1)) if r is None else r.toarray() if is_sparse(r) else r
        if xp is not np:
            x, t, w, cells = map_leaves(xp.asarray, (x, t, w, cells))
        leaving, everyone = w.sum(1).astype(x.dtype), cache(cells.pooled)
        if xp is not np:
            everyone()  # not in the trace of a piece

        def average(table: Array, k: int, j: Any) -> Array:
            return table if log_w is None else logsumexp(table + xp.asarray(log_w)[:, k, j, None], 0)[None]

        def densities(u: Array, w: Array, own: tuple[Array, Array], k: int, j: Any) -> Array:
            """Of cells u, of which weights w leave; on the host once for all that are equal."""
            if xp is not np:
                return average(log_density(u, *own, t[:, k, j], w), k, j)
            _, rows, back = np.unique(u + 1j * w if w.any() else u, return_index=True, return_inverse=True)
            parts = [rows[some] for some in batches(len(rows), max(1, _CELLS // len(t)))] or [rows]
            found = [average(log_density(u[at], *own, t[:, k, j], w[at]), k, j) for at in parts]
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
        """Gregory's quadrature on an even grid over the range of the posterior, ends included."""
        assert self.low is not None and self.high is not None
        xp = namespace(self.log_h, *self.cells.value)
        t, density = _search(self._log_density, self.low, self.high)
        log_w = density + np.log(_GREGORY).astype(t.dtype) + xp.log((t[-1] - t[0]) / (_NODES - 1))
        log_z = logsumexp(log_w, 0)
        prior = 0.5 * LOG_2PI + xp.log(ndtr(self.high - self.log_h) - ndtr(self.low - self.log_h))
        return _Grid(t, density, log_w - log_z, xp.where(self._informed, log_z, prior))

    @property
    def _nodes(self) -> tuple[Array, Array]:
        """Logarithms of bandwidths and of their weights, (g, c, d): those of the grid, or the one that is known."""
        return (self.log_h[None], 0 * self.log_h[None]) if self.low is None else (self._grid.t, self._grid.log_weight)

    def _distribution(self) -> tuple[Float[Array, "f c d"], Float[Array, "f c d"]]:
        """Finer nodes of t, and the distribution function there, from 0 to 1."""
        t, density, *_ = self._grid
        xp = namespace(t)
        p = xp.exp(xp.tensordot(xp.asarray(_spline(), t.dtype), density - logsumexp(density, 0), 1))
        area = xp.concatenate([0 * p[:1], xp.cumsum((p[1:] + p[:-1]) / 2, axis=0)])
        return t[0] + (t[-1] - t[0]) * np.linspace(0, 1, len(p), dtype=t.dtype)[:, None, None], area / area[-1]

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Draws of log h, by inverting its distribution function."""
        if self.low is None:
            return {}
        full, mesh = (*shape, *self.shape), self._distribution()
        u = uniform(key, full)
        xp = namespace(u, *mesh)
        interp: Any = xp.vectorize(xp.interp, signature="(s),(f),(f)->(s)")
        t, cdf, draws = (leaf.reshape(-1, self.log_h.size).T for leaf in (*mesh, u))
        return {"log_bandwidth": interp(draws, cdf, t).T.reshape(full).astype(t.dtype)}

    def mean(self) -> Theta:
        """log of the mean bandwidth."""
        return {} if self.low is None else {"log_bandwidth": logsumexp(self._grid.log_weight + self._grid.t, 0)}

    def mode(self) -> Theta:
        """The bandwidth with the largest density with respect to h: the best node, and Newton's steps from there.

        If rounded data push the bandwidth down, the mode is the lower limit.
        """
        if self.low is None:
            return {}
        grid = self._grid
        return {"log_bandwidth": _climb(lambda t: self._log_density(t) - t, grid.t, grid.density - grid.t)}

    def mle(self, stats: Sample) -> Theta:
        """The bandwidth with the largest leave-one-out product within the limits; the mean if the product is flat."""
        if self.low is None or self.high is None:
            return {}
        block = self.update(stats)
        best = _climb(block._leave_one_out, *_search(block._leave_one_out, self.low, self.high))
        return {"log_bandwidth": namespace(best).where(block._informed, best, self.mean()["log_bandwidth"])}

    def marginals(self) -> dict[str, Any]:
        """The grid posterior of each `bandwidth`."""
        return {} if self.low is None else {"bandwidth": GridMarginal(*map(np.asarray, self._distribution()))}

    # --- rows from the model, and the model in NumPyro ----------------------------------------------------------------

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """A stored cell, drawn by its weight, plus h z with h from its posterior; NaN in a feature without cells.

        Raises
        ------
        ValueError
            if no feature has a cell: a kernel density can only draw values near its training cells
        """
        everyone, draws = self.cells.pooled(), int(np.bincount(y).max(initial=0))
        if not everyone.n.any():
            raise ValueError("a kernel density draws rows near its cells, and a prior has none; use source='posterior'")
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
        wide = [np.broadcast_to(a, np.broadcast_shapes(np.shape(a), self._shape)) for a in args]
        flat = [a.reshape(*a.shape[: a.ndim - 2], -1) for a in wide]
        found = [getattr(law, name)(*(a[..., i] for a in flat)) for i, law in enumerate(self._laws)]
        return np.stack(found, -1).reshape(*np.shape(found[0]), *self._shape)


def _varies(cells: Sample) -> Array:
    """Whether a feature has two distinct values in all classes together, (d,)."""
    return (cells.pooled().weight[0] != 0).sum(-1) > 1


def _search(f: Callable[[Array], Array], low: Array, high: Array) -> tuple[Array, Array]:
    """Even nodes (g, c, d) over the range where f is less than `_DEPTH` below its peak, and f there: two zooms."""
    xp = namespace(low, high)
    for size in (_SEARCH, _SEARCH, _NODES):
        t = low + (high - low) * np.linspace(0, 1, size, dtype=low.dtype)[:, None, None]
        value = f(t)
        near = value > value.max(0) - _DEPTH
        first = xp.maximum(near.argmax(0) - 1, 0)
        last = xp.minimum(size - near[::-1].argmax(0), size - 1)
        low, high = (xp.take_along_axis(t, place[None], 0)[0] for place in (first, last))
    return t, value


def _climb(f: Callable[[Array], Array], t: Array, value: Array) -> Array:
    """Where f, with these values at nodes t (g, c, d), is largest: zooms on the best node, and Newton's steps there.

    The slope is a difference of sixth order: its step leaves as much truncation as rounding.
    """
    xp, ends = namespace(t, value), (t[0], t[-1])
    for _ in range(3):
        low, high = (xp.take_along_axis(t, xp.clip(value.argmax(0) + k, 0, len(t) - 1)[None], 0)[0] for k in (-1, 1))
        t = low + (high - low) * np.linspace(0, 1, _SEARCH, dtype=low.dtype)[:, None, None]
        value = f(t)
    at = xp.take_along_axis(t, value.argmax(0)[None], 0)[0]
    step = float(np.finfo(t.dtype).eps) ** (1 / 7)
    for _ in range(3):
        y = f(at + step * np.arange(-3, 4, dtype=t.dtype)[:, None, None])
        first = (y[6] - y[0] - 9 * (y[5] - y[1]) + 45 * (y[4] - y[2])) / (60 * step)
        second = (y[4] - 2 * y[3] + y[2]) / step**2
        at = xp.clip(at - first / xp.where(second < 0, second, -xp.inf), *ends)
    return at


@cache
def _spline() -> np.ndarray:
    """The matrix that takes values at the nodes to those of the cubic spline through them on the mesh."""
    from scipy.interpolate import CubicSpline

    return CubicSpline(range(_NODES), np.eye(_NODES))(np.linspace(0, _NODES - 1, (_NODES - 1) * _MESH + 1))
