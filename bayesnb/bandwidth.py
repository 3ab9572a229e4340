"""The posterior of a kernel density's bandwidths, by quadrature; `families.kernel_density` has the model.

What is here knows the cells only through their leave-one-out product, a function of the bandwidth.

Ties. As h → 0 the product grows without bound where values are tied, as they are in rounded data: the best kernel
density of rounded data is a comb. `low` therefore has to be at least half the smallest gap between distinct values, at
which the kernels of neighbours just close into a smooth curve; the estimator sees to that. In a feature that never
varies there is no such gap, and the product is left out: the bandwidth then keeps its prior.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .base import AbstractConjugate
from .core.arrays import Array, Float, Theta
from .core.pytrees import leaves, map_leaves
from .core.random import Key, uniform
from .core.special import LOG_2PI, is_traced, logsumexp, namespace, ndtr
from .statistics import Sample
from .sums.kernels import by_piece, log_density

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


class AbstractBandwidth(AbstractConjugate[Sample]):
    """A bandwidth for every class and feature, learnt from how well the cells predict each other, or given.

    A subclass has the fields of `KernelDensity`.
    """

    log_h: Float[Array, "c d"]
    cells: Sample
    low: Float[Array, "c d"] | None
    high: Float[Array, "c d"] | None

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
        return functools.partial(self._of_each, name)

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


@functools.cache
def _spline() -> np.ndarray:
    """The matrix that takes values at the nodes to those of the cubic spline through them on the mesh."""
    from scipy.interpolate import CubicSpline

    return CubicSpline(range(_NODES), np.eye(_NODES))(np.linspace(0, _NODES - 1, (_NODES - 1) * _MESH + 1))
