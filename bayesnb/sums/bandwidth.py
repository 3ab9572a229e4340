"""The posterior of the bandwidth of one class and feature on the host, and the averages over it.

    p(t | cells) ∝ exp F(t),    F(t) = −½ (t − log h⁰)² + Σ_k w_k log [(Σ_l w_l K_kl − u_k)/((W − u_k) h √(2π))],

t = log h between two limits, K_kl = exp(−½ (v_k − v_l)²/h²), u_k = min(w_k, 1), W = Σ w; see `families.kernel_density`.
Integrals over t are Gauss–Legendre quadratures over the range that holds the mass of their integrand.

*A row left out.* A row of weight ρ at cell i leaves the density at its cell and every factor of the product:

    F₋ᵢ(t) = F(t) − w_i log A_i + w_i′ log(S_i − ρ − u_i′) + ρ t + Σ_{k≠i} w_k log(1 − ρ K_ki/A_k) + constants,

with S_i = Σ_l w_l K_il, A_k = S_k − u_k, w_i′ = w_i − ρ and u_i′ = min(w_i′, 1). Factors have the normaliser 1/h, and
the product has ρ of them less: + ρ t. The masses W − ρ − u_k do not depend on t. So one pass over the nodes serves all
rows. A row is refitted where this posterior leaves the range of the nodes, or where another cell is left alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebval
from scipy.fft import dct

from ..core.arrays import Array
from ..core.special import logsumexp, namespace
from .kernels import Cells, change_of_other_factors, density_of_sums, log_sums, log_sums_of_each
from .rows import rounding

DEPTH = 34.0  # nats below its peak where a posterior ends: a mass of about 1e-15
_NODES = 49  # of a range of the posterior
WIDE_NODES = 97  # where the range is so wide that the factors of single cells show
_WIDE = 3.0  # of log h
_SEARCH = 17  # nodes of each search for a range
_ZOOMS = 5  # at most
_RESOLVED = 5  # nodes within the depth: the range needs no further search
_LEFT = 22.0  # nats: an integrand this little below its peak at an open end leaves the range
_OUTER_NODES = 33, 65, 129, 257, 513  # of F beyond the range, for interpolation: the first that are enough
_OUTER_ERROR = 1e-11  # nats
_FEW_CELLS = 4  # below, each row is refitted


class Rule(NamedTuple):
    """A quadrature over log h.

    Fields
    ------
    t : (g, …)           nodes in ascending order
    log_weight : (g, …)  logarithms of the weights of the quadrature
    low, high : (…)      ends of the range
    """

    t: Any
    log_weight: Any
    low: Any
    high: Any


def search_range(f: Callable[[Array], Array], low: Array, high: Array) -> tuple[Array, Array]:
    """The range of t in which f(t) is less than `DEPTH` below its peak, by zooms; of functions (g, …) at once."""
    xp = namespace(low, high)
    for zoom in range(_ZOOMS):
        t = even_nodes(low, high, _SEARCH)
        value = f(t)
        is_near = value > value.max(0) - DEPTH
        first = xp.maximum(is_near.argmax(0) - 1, 0)
        last = xp.minimum(_SEARCH - is_near[::-1].argmax(0), _SEARCH - 1)
        low = xp.take_along_axis(t, first[None], 0)[0]
        high = xp.take_along_axis(t, last[None], 0)[0]
        if xp is np and zoom and (is_near.sum(0) > _RESOLVED).all():
            break
    return low, high


def even_nodes(low: Array, high: Array, n: int) -> Array:
    """n nodes from low to high, (n, …)."""
    shares = np.linspace(0, 1, n, dtype=low.dtype).reshape(-1, *(1,) * np.ndim(low))
    return low + (high - low) * shares


def gauss_legendre(low: Array, high: Array, n: int) -> Rule:
    """Quadrature of n nodes over ranges (…)."""
    xp = namespace(low, high)
    place, weight = _legendre(n)
    place = place.astype(low.dtype).reshape(-1, *(1,) * np.ndim(low))
    log_weight = np.log(weight).astype(low.dtype).reshape(place.shape)
    half = (high - low) / 2
    return Rule(low + half + half * place, log_weight + xp.log(half), low, high)


@cache
def _legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss–Legendre quadrature on [−1, 1], which take longer to make than to use."""
    return np.polynomial.legendre.leggauss(n)


@dataclass(frozen=True, eq=False)
class BandwidthPosterior:
    """The posterior of t = log h under the cells of one class and feature.

    Fields
    ------
    cells : those that the product is over
    centre, low, high : log h⁰, and the limits of t
    has_product : False in a feature that never varies, whose bandwidth keeps its prior
    """

    cells: Cells
    centre: float
    low: float
    high: float
    has_product: bool = True

    @property
    def prior(self) -> "BandwidthPosterior":
        """The same before any cell."""
        return BandwidthPosterior(Cells(np.empty(0), np.empty(0)), self.centre, self.low, self.high, False)

    def log_density(self, t: np.ndarray) -> np.ndarray:
        """F(t) up to a constant, (g,)."""
        log_prior = -0.5 * (t - self.centre) ** 2
        if not self.has_product or not len(self.cells.value):
            return log_prior
        log_a = self._log_a(t)
        factors = np.where(np.isneginf(log_a), 0, log_a - t[:, None])
        return log_prior + factors @ self.cells.weight

    def _log_a(self, t: np.ndarray) -> np.ndarray:
        """log A_k, (g, m): the sums in the factors of the product; −∞ for a cell that is alone."""
        return log_sums(self.cells.value, np.minimum(self.cells.weight, 1), self.cells, np.exp(t))

    @cached_property
    def rule(self) -> Rule:
        """The quadrature of this posterior."""
        limits = np.array([self.low]), np.array([self.high])
        (low,), (high,) = search_range(lambda t: self.log_density(t[:, 0])[:, None], *limits)
        return _rule_of_range(low, high, WIDE_NODES if high - low > _WIDE else _NODES)

    @cached_property
    def _at_nodes(self) -> np.ndarray:
        return self.log_density(self.rule.t)

    @cached_property
    def _log_z(self) -> float:
        return float(np.logaddexp.reduce(self._at_nodes + self.rule.log_weight))

    # --- the average density of new cells -----------------------------------------------------------------------------

    def log_average(self, u: np.ndarray, leaving: np.ndarray, cells: Cells) -> np.ndarray:
        """log ∫ f(u; eᵗ) p(t) dt under the kernels of some cells, (q,); 0 where no cell is left.

        Parameters
        ----------
        u : where the density is taken, in ascending order
        leaving : (q,) weights that leave the cells at u, but not this posterior
        cells : centres of the kernels, which may be those of all classes
        """
        t, log_weight, _, high = self.rule
        log_f = _log_density(u, leaving, cells, t)
        integrand = self._at_nodes[:, None] + log_f
        average = logsumexp(integrand + log_weight[:, None], 0) - self._log_z
        # far from all cells the integrand may peak beyond the range of the posterior
        is_open = high < self.high - 1e-9
        is_beyond = integrand[-1] > integrand.max(0) - _LEFT
        if is_open and is_beyond.any():
            far = np.flatnonzero(is_beyond)
            average[far] = self._log_average_beyond(u[far], leaving[far], cells)
        return average

    def _log_average_beyond(self, u: np.ndarray, leaving: np.ndarray, cells: Cells) -> np.ndarray:
        """`log_average` where the integrand is: within the range of the posterior, and above it."""
        inner = _rule_of_range(self.rule.low, self.rule.high, WIDE_NODES)
        log_f = _log_density(u, leaving, cells, inner.t)
        of_inner = logsumexp(self.log_density(inner.t)[:, None] + log_f + inner.log_weight[:, None], 0)

        def integrand(t: np.ndarray) -> np.ndarray:
            sums = log_sums_of_each(u, leaving, cells, np.exp(t))
            return self._outer(t) + density_of_sums(sums, cells.total - leaving, t)

        edges = np.full(len(u), self.rule.high), np.full(len(u), self.high)
        outer = gauss_legendre(*search_range(integrand, *edges), WIDE_NODES)
        of_outer = logsumexp(integrand(outer.t) + outer.log_weight, 0)
        return np.logaddexp(of_inner, of_outer) - self._log_z

    @cached_property
    def _outer(self) -> Callable[[np.ndarray], np.ndarray]:
        """F above the range of the posterior, by Chebyshev interpolation with as many nodes as it needs."""
        half = (self.high - self.rule.high) / 2
        middle = self.rule.high + half
        for n in _OUTER_NODES:
            place = np.cos(np.pi * (np.arange(n) + 0.5) / n)
            values = self.log_density(middle + half * place)
            coefficients = dct(values, type=2) / n
            coefficients[0] /= 2
            if abs(coefficients[-4:]).max() < _OUTER_ERROR * max(1.0, abs(values).max() * _OUTER_ERROR):
                break
        return lambda t: chebval((t - middle) / half, coefficients)

    # --- leave-one-out ------------------------------------------------------------------------------------------------

    def log_loo(self, cell: np.ndarray, leaving: np.ndarray) -> np.ndarray:
        """log density of rows at their cells without the row, in the kernels and in this posterior, (e,).

        Parameters
        ----------
        cell : positions of the cells of the rows, in ascending order
        leaving : (e,) positive weights of the rows, at most those of the cells
        """
        if not self.has_product:
            return self.log_average(self.cells.value[cell], leaving, self.cells)
        too_few = self.cells.total - 2 * max(leaving.max(), 1) <= 0
        if len(self.cells.value) < _FEW_CELLS or too_few:
            needs_refit = np.ones(len(cell), bool)
            log_f = np.zeros(len(cell))
        else:
            log_f, needs_refit = self._log_loo_at_nodes(cell, leaving)
        for e in np.flatnonzero(needs_refit):
            log_f[e] = self._log_loo_by_refit(int(cell[e]), leaving[e])
        return log_f

    def _log_loo_at_nodes(self, cell: np.ndarray, leaving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The formula of the module for all rows, (e,), and which rows it does not serve."""
        t, log_weight, low, high = self.rule
        with np.errstate(invalid="ignore"):
            log_posterior = self._at_nodes[:, None] + self._change(cell, leaving)  # F₋ᵢ at the nodes, (g, e)
            log_f = _log_density(self.cells.value[cell], leaving, self.cells, t)
            integrand = log_posterior + log_f
            log_z = logsumexp(log_posterior + log_weight[:, None], 0)
            average = logsumexp(integrand + log_weight[:, None], 0) - log_z
            needs_refit = ~np.isfinite(average)
            for table in (log_posterior, integrand):
                bound = table.max(0) - _LEFT
                if low > self.low + 1e-9:
                    needs_refit |= table[0] > bound
                if high < self.high - 1e-9:
                    needs_refit |= table[-1] > bound
        return average, needs_refit

    def _change(self, cell: np.ndarray, leaving: np.ndarray) -> np.ndarray:
        """F₋ᵢ − F at the nodes, (g, e), up to constants."""
        t = self.rule.t
        h = np.exp(t)
        weight = self.cells.weight[cell]
        log_a = self._log_a(t)
        change = change_of_other_factors(cell, leaving, self.cells, log_a, h)
        own_factor = np.where(np.isneginf(log_a[:, cell]), 0, weight * log_a[:, cell])
        change += leaving * t[:, None] - own_factor
        rest = weight - leaving
        rest = np.where(rest > rounding(weight) * weight, rest, 0)
        has_rest = np.flatnonzero(rest > 0)  # copies of the row stay at its cell, and have a factor without one unit
        if len(has_rest):
            gone = leaving[has_rest] + np.minimum(rest[has_rest], 1)
            log_sum = log_sums(self.cells.value[cell[has_rest]], gone, self.cells, h)
            change[:, has_rest] += rest[has_rest] * log_sum
        return change

    def _log_loo_by_refit(self, cell: int, leaving: float) -> float:
        remaining = self.cells.without(cell, leaving)
        posterior = BandwidthPosterior(remaining, self.centre, self.low, self.high, len(remaining.value) > 0)
        return float(posterior.log_average(self.cells.value[cell, None], np.zeros(1), remaining)[0])


@dataclass(frozen=True, eq=False)
class KnownBandwidth:
    """A bandwidth that is given, with the averages of `BandwidthPosterior`: there is nothing to average."""

    cells: Cells
    log_h: float

    @property
    def prior(self) -> "KnownBandwidth":
        """The same before any cell."""
        return self

    def log_average(self, u: np.ndarray, leaving: np.ndarray, cells: Cells) -> np.ndarray:
        """log f(u; h) under the kernels of some cells, (q,); 0 where no cell is left."""
        return _log_density(u, leaving, cells, np.array([self.log_h]))[0]

    def log_loo(self, cell: np.ndarray, leaving: np.ndarray) -> np.ndarray:
        """log density of rows at their cells without the kernels of the row, (e,)."""
        return self.log_average(self.cells.value[cell], leaving, self.cells)


def _rule_of_range(low: float, high: float, n: int) -> Rule:
    """Quadrature of n nodes over a single range, (n,)."""
    rule = gauss_legendre(np.array([low]), np.array([high]), n)
    return Rule(rule.t[:, 0], rule.log_weight[:, 0], low, high)


def _log_density(u: np.ndarray, leaving: np.ndarray, cells: Cells, t: np.ndarray) -> np.ndarray:
    """log f(u; eᵗ) in nats, (g, q); 0 where no cell is left."""
    return density_of_sums(log_sums(u, leaving, cells, np.exp(t)), cells.total - leaving, t[:, None])
