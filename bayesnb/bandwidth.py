"""The posterior of a kernel density's bandwidths, by quadrature; `families.kernel_density` has the model.

What is here knows the cells only through their leave-one-out product, a function of the bandwidth.

Ties. As h → 0 the product grows without bound where values are tied, as they are in rounded data: the best kernel
density of rounded data is a comb. `low` therefore has to be at least half the smallest gap between distinct values, at
which the kernels of neighbours just close into a smooth curve; the estimator sees to that. In a feature that never
varies there is no such gap, and the product is left out: the bandwidth then keeps its prior.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np
import scipy.special as sp

from .base import AbstractConjugate
from .core.arrays import Array, Float, Theta
from .core.random import Key
from .core.special import LOG_2PI, namespace
from .statistics import Sample, one_hot
from .sums.kernels import products
from .sums.quadrature import NODES, GridMarginal, climb, gregory, log_sum, peak, search, spline


class _Grid(NamedTuple):
    """The posterior of t = log h as quadrature, and its normaliser."""

    t: Any  # (g, c, d) nodes in ascending order
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
        """Σ_i w_i log f_−i(v_i; eᵗ); 0 in a feature that never varies, and for a cell that is alone."""
        return self._products(t)[0]

    def _slopes(self, t: Float[Array, "c d"]) -> tuple[Float[Array, "c d"], Float[Array, "c d"]]:
        """First and second derivative of the log product with respect to t."""
        _, first, second = self._products(t[None], order=2)
        return first[0], second[0]

    def _products(self, t: Float[Array, "g c d"], order: int = 0) -> Float[Array, "o g c d"]:
        """The log product and its derivatives; without the cells of a feature that never varies."""
        xp, pieces = namespace(self.cells.weight), (self.log_h.size, self.cells.value.shape[-1])
        weight = xp.where(self._varies[:, None], self.cells.weight, 0)
        found = products(self.cells.value.reshape(pieces), weight.reshape(pieces), t.reshape(len(t), -1), order)
        return found.reshape(1 + order, *t.shape)

    @property
    def _varies(self) -> Array:
        """Whether a feature has two distinct values in all classes together, (d,)."""
        xp = namespace(self.cells.value)
        seen, value = self.cells.weight != 0, self.cells.value
        top = xp.where(seen, value, -xp.inf).max((0, 2), initial=-xp.inf)
        return top > xp.where(seen, value, xp.inf).min((0, 2), initial=xp.inf)

    @property
    def _informed(self) -> Array:
        """Whether a class has two units of weight in a feature that varies: something to leave out, and some left."""
        weight = self.cells.weight
        return self._varies & (((weight > 0).sum(-1) > 1) | (weight > 1).any(-1))

    @property
    def _grid(self) -> _Grid:
        """The posterior of log h: of arrays at hand computed once, on the host; in a trace, in the trace."""
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(self)):
            return self._integrate()
        if "_known" not in vars(self):
            vars(self)["_known"] = jax.tree.map(np.asarray, self)._integrate()  # a cache: no other value is possible
        return vars(self)["_known"]

    def _integrate(self) -> _Grid:
        """Gregory's quadrature on an even grid over the range of the posterior; Simpson-like orders, ends included."""
        assert self.low is not None and self.high is not None
        xp = namespace(self.log_h, self.cells.value)
        t, density = search(self._log_density, self.low, self.high)
        spacing = (t[-1] - t[0]) / (NODES - 1)
        log_w = density + _log_gregory(t) + xp.log(spacing)
        log_z = log_sum(log_w)
        ndtr = sp.ndtr if xp is np else jsp.ndtr
        prior = 0.5 * LOG_2PI + xp.log(ndtr(self.high - self.log_h) - ndtr(self.low - self.log_h))
        return _Grid(t, log_w - log_z, xp.where(self._informed, log_z, prior))

    def _distribution(self) -> tuple[Float[Array, "f c d"], Float[Array, "f c d"]]:
        """Finer nodes of t, and the distribution function there, from 0 to 1."""
        t, log_w, _ = self._grid
        xp, density = namespace(t), log_w - _log_gregory(t)
        refined = xp.tensordot(xp.asarray(spline(), t.dtype), density - peak(density), 1)
        p = xp.exp(refined - peak(refined))
        area = xp.concatenate([0 * p[:1], xp.cumsum((p[1:] + p[:-1]) / 2, axis=0)])
        return t[0] + (t[-1] - t[0]) * np.linspace(0, 1, len(p), dtype=t.dtype)[:, None, None], area / area[-1]

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Draws of log h, by inverting its distribution function."""
        if self.low is None:
            return {}
        c, d = self.shape
        full = (*shape, c, d)
        u = key.random(full) if isinstance(key, np.random.Generator) else jax.random.uniform(key, full)
        flat = u.reshape(-1, c * d).T
        mesh, cdf = (leaf.reshape(-1, c * d).T for leaf in self._distribution())
        t: Array
        if namespace(u, cdf) is np:
            t = np.stack([np.interp(*piece) for piece in zip(flat, cdf, mesh, strict=True)]).astype(mesh.dtype)
        else:
            t = jax.vmap(jnp.interp)(flat, jnp.asarray(cdf), jnp.asarray(mesh))
        return {"log_bandwidth": t.T.reshape(full)}

    def mean(self) -> Theta:
        """log of the mean bandwidth."""
        return {} if self.low is None else {"log_bandwidth": log_sum(self._grid.log_weight + self._grid.t)}

    def mode(self) -> Theta:
        """The bandwidth with the largest density with respect to h: the best node, and Newton's steps from there.

        If rounded data push the bandwidth down, the mode is the lower limit.
        """
        if self.low is None:
            return {}
        grid = self._grid

        def slopes(t: Array) -> tuple[Array, Array]:
            first, second = self._slopes(t)
            return first - (t - self.log_h) - 1, second - 1

        return {"log_bandwidth": climb(slopes, grid.t, grid.log_weight - _log_gregory(grid.t) - grid.t)}

    def mle(self, stats: Sample) -> Theta:
        """The bandwidth with the largest leave-one-out product within the limits; the mean if the product is flat."""
        if self.low is None or self.high is None:
            return {}
        block = self.update(stats)
        t, product = search(block._leave_one_out, self.low, self.high)
        best, mean = climb(block._slopes, t, product), self.mean()["log_bandwidth"]
        return {"log_bandwidth": namespace(best, mean).where(block._informed, best, mean)}

    def on_boundary(self) -> bool:
        """False: the lower limit is a valid bandwidth, with a density everywhere."""
        return False

    def marginals(self) -> dict[str, Any]:
        """The grid posterior of each `bandwidth`."""
        if self.low is None:
            return {}
        leaves = *self._grid[:2], *self._distribution()
        return {"bandwidth": GridMarginal(*(np.asarray(leaf) for leaf in leaves))}


def _log_gregory(t: Array) -> Array:
    """Logarithms of the weights of nodes t (g, c, d)."""
    return np.log(gregory()).astype(t.dtype)[:, None, None]


def cells_of(x: Any, y: Any, c: int) -> Sample:
    """Cells of rows and labels, on the host where both are at hand: there equal values can be merged."""
    if isinstance(x, jax.core.Tracer) or isinstance(y, jax.core.Tracer):
        x = jnp.asarray(x, jnp.result_type(float))
        return Sample.of(x, jax.nn.one_hot(y, c, dtype=x.dtype))
    return Sample.of(np.asarray(x, float), one_hot(np.asarray(y), c))
