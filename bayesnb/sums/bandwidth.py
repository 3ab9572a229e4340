"""The posterior of the bandwidth of one class and feature on the host, and the averages over it.

    p(t | cells) ∝ exp F(t),    F(t) = −½ (t − log h⁰)² + Σ_k w_k log [(Σ_l w_l K_kl − u_k)/((W − u_k) h √(2π))],

t = log h between two limits, K_kl = exp(−½ (v_k − v_l)²/h²), u_k = min(w_k, 1), W = Σ w; see `families.kernel_density`.
Integrals over t are Gauss–Legendre quadratures over the range that holds the mass of their integrand.

*A row left out.* A row of weight ρ at cell i leaves the density at its cell and every factor of the product:

    F₋ᵢ(t) = F(t) − w_i log A_i + w_i′ log(S_i − ρ − u_i′) + ρ t + Σ_{k≠i} w_k log(1 − ρ K_ki/A_k) + constants,

with S_i = Σ_l w_l K_il, A_k = S_k − u_k, w_i′ = w_i − ρ and u_i′ = min(w_i′, 1). Factors have the normaliser 1/h, and
the product has ρ of them less: + ρ t. The masses W − ρ − u_k do not depend on t. So one pass over the nodes serves all
rows. A row is refitted where this posterior leaves the range of the nodes, or where another cell is left alone.

*A prior without the row.* Where the cells scale the prior, the row may leave its centre c and its limits too. The ratio
of the two priors, (c₋ᵢ − c) (t − ½(c₋ᵢ + c)) and constants, joins F₋ᵢ. A limit that cuts the posterior is another one
for each row. The nodes then end where the range of some row ends, and the piece from there to the limit of each row is
integrated apart: over so short a piece F₋ᵢ is interpolated to all digits.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.polynomial.chebyshev import chebval
from scipy.fft import dct

from ..numerics.arrays import Array
from ..numerics.pytrees import leaves
from ..numerics.special import logsumexp, namespace
from .kernels import Cells, change_of_other_factors, density_of_sums, log_sums, log_sums_of_each
from .rows import rounding
from .rule_of_thumb import BandwidthPriors

DEPTH = 34.0  # nats below its peak where a posterior ends: a mass of about 1e-15
_NODES = 49  # of a range of the posterior
WIDE_NODES = 97  # where the range is so wide that the factors of single cells show
_WIDE_RANGE = 3.0  # of log h
_SEARCH_NODES = 17  # nodes of each search for a range
_ZOOMS = 5  # at most
_RESOLVED_NODES = 5  # nodes within the depth: the range needs no further search
_OPEN_END_DEPTH = 22.0  # nats: an integrand this little below its peak at an open end leaves the range
_OUTER_NODES = 33, 65, 129, 257, 513  # of F beyond the range, for interpolation: the first that are enough
_OUTER_ERROR = 1e-11  # nats
_FEW_CELLS = 4  # below, each row is refitted
_WIDEST_EDGE = 0.1  # of log h, to either side of a limit; rows whose limits move farther are refitted
_EDGE_DEPTH = 75.0  # nats below a limit where the piece at it ends, if not before
_EDGE_NODES = 16  # of an interpolation there
_SAME_LOG_H = 1e-12  # of log h: limits and centres this close are the same


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
    """The range of t in which a log density f(t) is less than `DEPTH` nats below its peak, for several f at once.

    A grid over the range finds where f is large enough, and a finer grid over that part follows: a zoom.

    Parameters
    ----------
    f : nodes (g, …) → log densities (g, …)
    low, high : (…) the range to look in

    Returns
    -------
    Lower and upper ends, (…) each.
    """
    # `_zoomed` gives the ends of the part of the range in which f is large, and how many nodes of its grid lie there
    xp = namespace(low, high)  # numpy, or jax.numpy for JAX arrays
    if xp is not np:  # JAX needs a number of steps that does not depend on the values
        return repeated(lambda ends: _zoomed(f, *ends)[:2], _ZOOMS, (low, high))
    for zoom in range(_ZOOMS):
        low, high, n_near = _zoomed(f, low, high)
        if zoom and (n_near > _RESOLVED_NODES).all():  # the last grid was fine enough
            break
    return low, high


def _zoomed(f: Callable[[Array], Array], low: Array, high: Array) -> tuple[Array, Array, Array]:
    """One zoom: the part of a range in which a log density f is less than `DEPTH` nats below its peak.

    Parameters
    ----------
    f : nodes (g, …) → log densities (g, …)
    low, high : (…) the range

    Returns
    -------
    Ends of the part, (…) each, and how many nodes of the grid lie in it.
    """
    xp = namespace(low, high)  # numpy, or jax.numpy for JAX arrays
    t = even_nodes(low, high, _SEARCH_NODES)  # (g, …)
    value = f(t)
    is_near = value > value.max(0) - DEPTH  # near the peak

    # The part begins one node before the first near node and ends one node after the last, as f may reach that far.
    # `argmax` of truth values is the position of the first True; from behind it is the number of nodes after the last.
    # (F, F, T, T, F): the first True is at 2, from behind at 1; so the part goes from node 1 to node 5 − 1 = 4.
    nodes_after_last = is_near[::-1].argmax(0)
    first = xp.maximum(is_near.argmax(0) - 1, 0)
    last = xp.minimum(_SEARCH_NODES - nodes_after_last, _SEARCH_NODES - 1)
    inner_low = xp.take_along_axis(t, first[None], 0)[0]
    inner_high = xp.take_along_axis(t, last[None], 0)[0]
    return inner_low, inner_high, is_near.sum(0)


def repeated(step: Callable[[Any], Any], n: int, state: Any) -> Any:
    """The state after n steps, step(step(… state)); in JAX a loop, so that a step is compiled once.

    Parameters
    ----------
    step : state → next state, of the same structure
    state : a pytree of arrays
    """
    if namespace(*leaves(state)) is np:  # all arrays of the state are NumPy's: a plain loop
        for _ in range(n):
            state = step(state)
        return state

    # JAX hands the loop's body the number of the step too
    import jax

    return jax.lax.fori_loop(0, n, lambda _, before: step(before), state)


def even_nodes(low: Array, high: Array, n: int) -> Array:
    """n equally spaced nodes from low to high, (n, …) for ends (…)."""
    shares = np.linspace(0, 1, n, dtype=low.dtype).reshape(-1, *(1,) * np.ndim(low))  # (n, 1, …)
    return low + (high - low) * shares


def gauss_legendre(low: Array, high: Array, n: int) -> Rule:
    """Gauss–Legendre quadrature of n nodes over ranges (…): nodes and log weights (n, …).

    ∫ g(t) dt over a range is about Σ_k weight_k g(t_k).

    Parameters
    ----------
    low, high : (…) ends of each range
    n : number of nodes
    """
    # on [−1, 1]; nodes get the precision of the ends, and an axis for each of theirs
    xp = namespace(low, high)  # numpy, or jax.numpy for JAX arrays
    place, weight = _legendre(n)  # (n,) each
    place = place.astype(low.dtype).reshape(-1, *(1,) * np.ndim(low))  # (n, 1, …)
    log_weight = np.log(weight).astype(low.dtype).reshape(place.shape)

    # moved to [low, high], whose length is 2 half: weights are multiplied by half
    half = (high - low) / 2
    return Rule(low + half + half * place, log_weight + xp.log(half), low, high)


@cache
def _legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss–Legendre quadrature on [−1, 1], which take longer to make than to use."""
    return np.polynomial.legendre.leggauss(n)


@dataclass(frozen=True, eq=False)
class BandwidthPosterior:
    """The posterior of t = log h under the cells of one class and feature; F and all symbols are in the module's head.

    Fields
    ------
    cells : the m cells whose leave-one-out densities are the factors of the product
    centre, low, high : log h⁰, the centre of the prior, and its limits
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
        """F(t), the log posterior density of t = log h up to a constant, at nodes (g,)."""
        if not self.has_product or not len(self.cells.value):
            return -0.5 * (t - self.centre) ** 2  # the prior
        return self._log_density_of_sums(t, self._log_factor_sums(t))

    def _log_density_of_sums(self, t: np.ndarray, log_a: np.ndarray) -> np.ndarray:
        """F(t), the log posterior density of t = log h up to a constant, from the kernel sums of its factors.

        Parameters
        ----------
        t : (g,) nodes
        log_a : (g, m) log A_k, the sum of the kernels of all other cells at cell k, as of `_log_factor_sums`

        Returns
        -------
        (g,)
        """
        # The prior is Normal(log h⁰, 1), with log h⁰ the `centre`. Each cell has the factor (A_k/h)^w_k, whose
        # logarithm is w_k (log A_k − t); one that is alone has none.
        factors = np.where(np.isneginf(log_a), 0, log_a - t[:, None])
        return -0.5 * (t - self.centre) ** 2 + factors @ self.cells.weight

    def _log_factor_sums(self, t: np.ndarray) -> np.ndarray:
        """log A_k, (g, m): kernel sums at the m cells without one unit of the cell itself; −∞ for a cell that is alone.

        They are the sums in the factors of the leave-one-out product, at nodes t = log h, (g,).
        """
        return log_sums(self.cells.value, np.minimum(self.cells.weight, 1), self.cells, np.exp(t))

    @cached_property
    def rule(self) -> Rule:
        """The quadrature over the range of t = log h that holds the mass of this posterior, with nodes (g,)."""

        # `search_range` takes several functions at once; here there is one, along a second axis of length 1
        def log_density(t: np.ndarray) -> np.ndarray:
            return self.log_density(t[:, 0])[:, None]  # (g, 1)

        # between the limits of the prior, where the density is less than 34 nats below its peak
        (low,), (high,) = search_range(log_density, np.array([self.low]), np.array([self.high]))
        return _rule_of_range(low, high, WIDE_NODES if high - low > _WIDE_RANGE else _NODES)

    @property
    def _is_cut_below(self) -> bool:
        """Whether the range ends at the lower limit of the prior, and not where the posterior has no more mass."""
        return bool(self.rule.low <= self.low + 1e-9)

    @property
    def _is_cut_above(self) -> bool:
        """Whether the range ends at the upper limit of the prior, and not where the posterior has no more mass."""
        return bool(self.rule.high >= self.high - 1e-9)

    @cached_property
    def _log_density_at_nodes(self) -> np.ndarray:
        """F at the nodes of the quadrature, (g,)."""
        return self.log_density(self.rule.t)

    @cached_property
    def _log_normalizer(self) -> float:
        """log ∫ exp F(t) dt: the normaliser of the posterior."""
        return float(np.logaddexp.reduce(self._log_density_at_nodes + self.rule.log_weight))

    # --- the average density of new cells -----------------------------------------------------------------------------

    def log_average(
        self, u: np.ndarray, leaving: np.ndarray, cells: Cells, priors: BandwidthPriors | None = None
    ) -> np.ndarray:
        """The log kernel density at points, averaged over the posterior of the bandwidth: log ∫ f(u; eᵗ) p(t) dt.

        t = log h, and f(u; h) is the density at u under kernels of bandwidth h.

        Parameters
        ----------
        u : (q,) where the density is taken, in ascending order
        leaving : (q,) weight of the cell at each u that is left out of the kernels, but not of this posterior
        cells : centres of the kernels, which may be those of all classes
        priors : of each u, if they are not that of this posterior

        Returns
        -------
        (q,) in nats; 0 where no cell is left
        """
        if priors is None:
            return self._log_average(u, leaving, cells)

        # Only points whose prior differs need a posterior of their own. In leave-one-out a row may change the prior,
        # because the cells scale it.
        is_moved = self._is_moved(priors)  # (q,)
        average = np.empty(len(u))
        if not is_moved.all():
            average[~is_moved] = self._log_average(u[~is_moved], leaving[~is_moved], cells)
        if is_moved.any():
            moved_priors = priors.select(is_moved)
            average[is_moved] = self._log_average_of_each(u[is_moved], leaving[is_moved], cells, moved_priors)
        return average

    def _log_average(self, u: np.ndarray, leaving: np.ndarray, cells: Cells) -> np.ndarray:
        """The log kernel density at points, averaged over this posterior: log ∫ f(u; eᵗ) p(t) dt by quadrature, (q,).

        t = log h is the log bandwidth, p its posterior, and f the kernel density.

        Parameters
        ----------
        u : (q,) where the density is taken, in ascending order
        leaving : (q,) weight of the cell at each u that is left out, in leave-one-out; 0 for a new point
        cells : centres of the kernels
        """
        t, log_weight, _, _ = self.rule  # nodes and weights over the range that holds the mass of the posterior, (g,)
        log_f = _log_density(u, leaving, cells, t)  # (g, q), at g nodes of t = log h
        log_integrand = self._log_density_at_nodes[:, None] + log_f  # log (p f), but for the normaliser of p
        average = logsumexp(log_integrand + log_weight[:, None], 0) - self._log_normalizer

        # Far from all cells the integrand p f may peak beyond the range of the posterior p, because wide kernels reach
        # farther. It is then still large at the last node, less than 22 nats below its peak. If the prior ends there
        # anyway (`_is_cut_above`), there is nothing beyond.
        is_beyond = log_integrand[-1] > log_integrand.max(0) - _OPEN_END_DEPTH
        if is_beyond.any() and not self._is_cut_above:
            far = np.flatnonzero(is_beyond)
            average[far] = self._log_average_beyond(u[far], leaving[far], cells)
        return average

    def _log_average_of_each(
        self, u: np.ndarray, leaving: np.ndarray, cells: Cells, priors: BandwidthPriors
    ) -> np.ndarray:
        """The log kernel density at points, averaged over log h, where each point has its own prior of log h, (q,).

        All posteriors are taken at common nodes, as this posterior times the ratio of two priors. Points that these
        nodes do not serve are done prior by prior.

        Parameters
        ----------
        u : (q,) where the density is taken, in ascending order
        leaving : (q,) weight of the cell at each u that is left out, in leave-one-out; 0 for a new point
        cells : centres of the kernels
        priors : (q,) of each u
        """

        # at nodes t (g,): the log posterior of each point, and the same plus log f, (g, q) each
        def tables(t: np.ndarray) -> _Tables:
            log_posterior = self.log_density(t)[:, None] + self._change_of_prior(t, priors)  # (g, q)
            return _Tables(log_posterior, log_posterior + _log_density(u, leaving, cells, t))

        averages = self._averages_at_nodes(tables, priors)  # (q,) averages, and which of them need a posterior anew

        # The others, grouped by equal priors. `np.unique` gives the distinct priors, and for each point the number of
        # its prior among them: priors a, b, a have the numbers 0, 1, 0.
        unserved = np.flatnonzero(averages.needs_refit)
        fields = np.stack(priors.select(unserved))  # (3, points): centre, low and high
        distinct, number_of_point = np.unique(fields, axis=1, return_inverse=True)  # (3, p) of p distinct priors
        for number, prior in enumerate(distinct.T):
            rows = unserved[number_of_point.ravel() == number]
            averages.log_average[rows] = self._with_prior(*prior)._log_average(u[rows], leaving[rows], cells)
        return averages.log_average

    def _log_average_beyond(self, u: np.ndarray, leaving: np.ndarray, cells: Cells) -> np.ndarray:
        """The averaged log kernel density at points far from all cells, (q,).

        Only wide kernels reach there, so bandwidths count that the posterior has hardly any mass for.

        The integral over t = log h is the sum of one over the range of the posterior, and one from there to the upper
        limit, over the range that holds the mass of the integrand of each point.

        Parameters
        ----------
        u : (q,) where the density is taken, in ascending order
        leaving : (q,) weight of the cell at each u that is left out, in leave-one-out; 0 for a new point
        cells : centres of the kernels
        """
        # within the range, at nodes (g,) that all points share; F is the log posterior without its normaliser
        inner = _rule_of_range(self.rule.low, self.rule.high, WIDE_NODES)
        log_f = _log_density(u, leaving, cells, inner.t)  # (g, q)
        of_inner = logsumexp(self.log_density(inner.t)[:, None] + log_f + inner.log_weight[:, None], 0)  # (q,)

        # above it, at nodes (g, q) of each point
        mass = cells.total_without(u, leaving)  # (q,), the weight of all cells but what leaves

        # log [p(t) f(u; eᵗ)], (g, q), at nodes t (g, q): the kernels are summed, and divided by h √(2π) and the mass
        def log_integrand(t: np.ndarray) -> np.ndarray:
            sums = log_sums_of_each(u, leaving, cells, np.exp(t))
            return self._log_density_above(t) + density_of_sums(sums, mass, t)

        begin = np.full(len(u), self.rule.high)
        end = np.full(len(u), self.high)
        low, high = search_range(log_integrand, begin, end)  # (q,) each, where the mass of the integrand is
        outer = gauss_legendre(low, high, WIDE_NODES)
        of_outer = logsumexp(log_integrand(outer.t) + outer.log_weight, 0)  # (q,)
        return np.logaddexp(of_inner, of_outer) - self._log_normalizer  # log (inner + outer)/normaliser

    @cached_property
    def _log_density_above(self) -> Callable[[np.ndarray], np.ndarray]:
        """F, the log posterior density of t = log h up to a constant, above the range of the posterior: t → F(t).

        It is interpolated by Chebyshev polynomials, because it is needed at many t and each value costs sums over all
        cells. Coefficients of a smooth function decrease quickly, so the last ones show the error of the interpolation:
        the number of nodes is doubled until they are below a tolerance.
        """
        # t from the upper end of the range of the posterior to the upper limit of the prior is middle + half · place,
        # with the place on [−1, 1]
        half = (self.high - self.rule.high) / 2
        middle = self.rule.high + half
        for n in _OUTER_NODES:  # 33, 65, … 513
            # the coefficients are the cosine transform of the values at Chebyshev's nodes
            place = np.cos(np.pi * (np.arange(n) + 0.5) / n)  # on [−1, 1]
            values = self.log_density(middle + half * place)
            coefficients = dct(values, type=2) / n
            coefficients[0] /= 2  # T₀ = 1 has twice the norm of the other polynomials

            # The error that is allowed is 1e-11 nats, whatever the values are up to 1e11 nats. Only beyond is it more,
            # 1e-22 of the largest value.
            tolerance = _OUTER_ERROR * max(1.0, abs(values).max() * _OUTER_ERROR)
            if abs(coefficients[-4:]).max() < tolerance:
                break
        return lambda t: chebval((t - middle) / half, coefficients)

    # --- priors of single rows ----------------------------------------------------------------------------------------

    @property
    def _prior_of_all_rows(self) -> BandwidthPriors:
        """The prior of this posterior, as arrays (1,)."""
        return BandwidthPriors(*np.array([[self.centre], [self.low], [self.high]]))

    def _with_prior(self, centre: float, low: float, high: float) -> "BandwidthPosterior":
        """The posterior under another prior."""
        return replace(self, centre=float(centre), low=float(low), high=float(high))

    def _is_moved(self, priors: BandwidthPriors) -> np.ndarray:
        """(q,) Whether a prior differs from that of this posterior."""
        # of centre, lower and upper limit of log h, (q,) each; less than 1e-12 is rounding
        differences = [abs(field - own) for field, own in zip(priors, self._prior_of_all_rows, strict=True)]
        return np.max(differences, axis=0) > _SAME_LOG_H

    def _change_of_prior(self, t: np.ndarray, priors: BandwidthPriors) -> np.ndarray:
        """log of other priors over that of this posterior at nodes t (g,), up to constants: (g, q) for q priors.

        Both are normal densities of t with standard deviation 1 and centres c′ and c. The logarithm of their ratio is
        ½ (t − c)² − ½ (t − c′)² = (c′ − c) (t − ½ (c′ + c)), linear in t.
        """
        return (priors.centre - self.centre) * (t[:, None] - (priors.centre + self.centre) / 2)

    def _averages_at_nodes(self, tables: Callable[[np.ndarray], "_Tables"], priors: BandwidthPriors) -> "_Averages":
        """Log densities of rows, each averaged over a posterior of its own, and which rows the nodes do not serve.

        The average of a row is ∫ f(u; eᵗ) p(t) dt / ∫ p(t) dt, with t = log h, its posterior p and the kernel density f
        at its cell u. Both integrals are over the nodes that all rows share, and over the piece from there to the row's
        own limits: the rows may have different limits of t, and the shared nodes lie within those of all rows served.

        Parameters
        ----------
        tables : nodes of t = log h, (g,) → unnormalised log p and log f p of each row there, (g, q) each
        priors : (q,) of each row, whose limits are those of its integral
        """
        # the shared nodes: `edges` are the pieces at both ends of the range, between shared nodes and limits of rows
        edges = self._edges(priors)
        rule = self._rule_between(edges)  # nodes and weights between the two
        middle = tables(rule.t)  # two tables (g, q)
        log_z = [logsumexp(middle.log_posterior + rule.log_weight[:, None], 0)]  # log ∫ p, (q,) for each piece
        log_integral = [logsumexp(middle.integrand + rule.log_weight[:, None], 0)]  # log ∫ f p, likewise

        # the pieces at the lower and at the upper limits
        for edge in edges:
            if not edge.is_empty:
                at_edge = tables(edge.nodes)
                log_z.append(edge.log_integral(at_edge.log_posterior))
                log_integral.append(edge.log_integral(at_edge.integrand))

        # the pieces add up: log of the ratio of two sums
        log_average = np.logaddexp.reduce(log_integral) - np.logaddexp.reduce(log_z)

        # A row is not served where its limits are out of reach, or an integrand, p or f p, is still large where the
        # nodes end (less than 22 nats below its peak) and no limit cuts it off.
        needs_refit = ~np.isfinite(log_average) | edges.lower.is_far | edges.upper.is_far
        for table in middle:  # log p, then log f p
            bound = table.max(0) - _OPEN_END_DEPTH
            if not self._is_cut_below:
                needs_refit |= table[0] > bound
            if not self._is_cut_above:
                needs_refit |= table[-1] > bound
        return _Averages(log_average, needs_refit)

    def _edges(self, priors: BandwidthPriors) -> "_Edges":
        """The pieces of the range of t = log h between the nodes that all rows share and the limits of each row.

        Where the range ends because the posterior has no mass beyond, a row has no such piece.

        Parameters
        ----------
        priors : (q,) of each row, with its limits
        """
        # How far from a limit there is mass: the steeper the posterior is at an end, the less far. With a slope of s
        # nats per unit of t the density has fallen by 75 nats at the distance 75/s.
        t, _, low, high = self.rule
        slopes = np.diff(self._log_density_at_nodes) / np.diff(t)  # between nodes, nats per unit of t
        slope = abs(slopes[[0, -1]])  # at both ends
        depth = _EDGE_DEPTH / np.maximum(slope, 1)

        # No mass beyond the range: an empty piece, from the end of the range to itself for each row. The arguments of
        # `_Edge` are where the shared nodes end, the limits of the rows, and which rows have a limit that is elsewhere.
        lower = _Edge(low, np.full(len(priors.low), low), priors.low > low)
        upper = _Edge(high, np.full(len(priors.high), high), priors.high < high)

        # a limit of the prior ends the range: the limits of the rows lie around that of the posterior with all rows
        if self._is_cut_below:
            lower = _Edge.at_lower(priors.low, self.low, depth[0])
        if self._is_cut_above:
            upper = _Edge.at_upper(priors.high, self.high, depth[1])
        return _Edges(lower, upper)

    def _rule_between(self, edges: "_Edges") -> Rule:
        """The quadrature over t = log h between two edges: that of this posterior where none has moved.

        An end moves inside where the limits of some rows lie inside of the range. The limits of a prior move together
        with its centre, so the posteriors of these rows may be shifted in the same direction, by as much. So the other
        end moves outside, unless a limit of the prior is there.
        """
        low = edges.lower.inner  # where the nodes that all rows share begin, and where they end
        high = edges.upper.inner
        if low == self.rule.low and high == self.rule.high:
            return self.rule

        # low − rule.low and rule.high − high are how far the ends have moved inside
        if not self._is_cut_above:
            high = min(high + (low - self.rule.low), self.high)
        if not self._is_cut_below:
            low = max(low - (self.rule.high - high), self.low)
        return _rule_of_range(low, high, WIDE_NODES if high - low > _WIDE_RANGE else _NODES)

    # --- leave-one-out ------------------------------------------------------------------------------------------------

    def log_loo(self, cell: np.ndarray, leaving: np.ndarray, priors: BandwidthPriors | None = None) -> np.ndarray:
        """The leave-one-out log density of rows at their cells, averaged over the bandwidth, (e,).

        For a row at the value v it is log ∫ f(v; eᵗ) p(t) dt over t = log h. The row is in neither the kernels of f nor
        the posterior p of the bandwidth; so p is another function for each row. All of them are computed at common
        nodes t, in one pass, which serves nearly all rows; the others have a posterior fitted anew, one by one.

        Parameters
        ----------
        cell : (e,) positions of the cells of the rows, in ascending order
        leaving : (e,) positive weights of the rows, at most those of the cells
        priors : (e,) without each row, if the row leaves the prior too
        """
        if not self.has_product:  # the posterior is the prior, so a row leaves only the kernels
            return self.log_average(self.cells.value[cell], leaving, self.cells, priors)
        if priors is None:
            priors = self._prior_of_all_rows.select(np.zeros(len(cell), int))  # the same for each row

        # `_Averages` has two fields (e,): the log density of each row, and whether it still needs a refit, because the
        # common nodes do not serve it. They serve only if enough cells and weight remain without any row.
        too_few = self.cells.total - 2 * max(leaving.max(), 1) <= 0
        if len(self.cells.value) < _FEW_CELLS or too_few:
            averages = _Averages(np.zeros(len(cell)), np.ones(len(cell), bool))
        else:
            averages = self._log_loo_at_nodes(cell, leaving, priors)

        for e in np.flatnonzero(averages.needs_refit):
            averages.log_average[e] = self._log_loo_by_refit(int(cell[e]), leaving[e], priors.select(e))
        return averages.log_average

    def _log_loo_at_nodes(self, cell: np.ndarray, leaving: np.ndarray, priors: BandwidthPriors) -> "_Averages":
        """Leave-one-out log densities of rows at their cells, averaged over the bandwidth, at common nodes of log h.

        The posterior of log h without a row is that with it, plus what the departure of the row changes.

        Parameters
        ----------
        cell, leaving : (e,) positions of the cells of the rows, in ascending order, and the weights of the rows
        priors : (e,) without each row
        """

        # at nodes t (g,): the log posterior of each row without it, and the same plus its log density, (g, e) each
        def tables(t: np.ndarray) -> _Tables:
            log_a = self._log_factor_sums(t)  # (g, m) kernel sums in the factors of the product
            log_posterior = self._log_density_of_sums(t, log_a)[:, None] + self._change_of_prior(t, priors)  # (g, e)
            log_posterior += self._change_of_posterior(t, log_a, cell, leaving)
            return _Tables(log_posterior, log_posterior + self._log_density_without(t, log_a, cell, leaving))

        with np.errstate(invalid="ignore"):  # NaN where another cell is left alone: the row is refitted
            return self._averages_at_nodes(tables, priors)

    def _change_of_posterior(
        self, t: np.ndarray, log_a: np.ndarray, cell: np.ndarray, leaving: np.ndarray
    ) -> np.ndarray:
        """What the departure of each row changes in the log posterior density of t = log h, (g, e), up to constants.

        The log posterior is the log prior and Σ_k w_k log (A_k/h), the leave-one-out product: cell k, of weight w_k,
        under the kernels of all other cells, whose sum is A_k/h up to constants. A row of weight ρ leaves the kernel
        sums of all other cells, its own factor of the product, and with it ρ of the normalisers 1/h: + ρ t.

        Parameters
        ----------
        t : (g,) nodes
        log_a : (g, m) log A_k, A_k the kernel sums in the factors of the m cells; −∞ for a cell that is alone
        cell, leaving : (e,) positions of the cells of the rows, in ascending order, and the weights ρ of the rows
        """
        # the factors of all other cells, log(1 − ρ K_ki/A_k) each
        h = np.exp(t)
        weight = self.cells.weight[cell]
        change = change_of_other_factors(cell, leaving, self.cells, log_a, h)  # (g, e)

        # + ρ t, and less the factor of the row's own cell, w_i log A_i; a cell that is alone has none
        own_factor = np.where(np.isneginf(log_a[:, cell]), 0, weight * log_a[:, cell])
        change += leaving * t[:, None] - own_factor

        # Copies of the row may stay at its cell, with the weight w′ = w_i − ρ. Their factor is w′ log of the kernel sum
        # without the row and one unit of theirs, ρ + min(w′, 1).
        remaining = weight - leaving
        remaining = np.where(remaining > rounding(weight) * weight, remaining, 0)  # less is rounding
        copies = np.flatnonzero(remaining > 0)  # rows that have some
        if len(copies):
            without = leaving[copies] + np.minimum(remaining[copies], 1)
            log_sum = log_sums(self.cells.value[cell[copies]], without, self.cells, h)
            change[:, copies] += remaining[copies] * log_sum
        return change

    def _log_density_without(
        self, t: np.ndarray, log_a: np.ndarray, cell: np.ndarray, leaving: np.ndarray
    ) -> np.ndarray:
        """The log kernel density of each row at its cell without the kernels of the row, at nodes t = log h: (g, e).

        Parameters
        ----------
        t : (g,)
        log_a : (g, m) logarithms of the kernel sums at the m cells without min(w_k, 1) of their own weight
        cell, leaving : (e,) positions of the cells of the rows, and the weights of the rows
        """
        # If every row is just what those sums leave out, they need not be computed again. `density_of_sums` divides
        # them by the mass of the remaining cells and by h √(2π).
        if (leaving == np.minimum(self.cells.weight[cell], 1)).all():
            mass = self.cells.total_without(self.cells.value[cell], leaving)  # (e,)
            return density_of_sums(log_a[:, cell], mass, t[:, None])
        return _log_density(self.cells.value[cell], leaving, self.cells, t)

    def _log_loo_by_refit(self, cell: int, leaving: float, prior: BandwidthPriors) -> float:
        """The leave-one-out log density of one row at its cell, under a posterior of the bandwidth without the row.

        Parameters
        ----------
        cell, leaving : position of the cell of the row, and the weight of the row
        prior : of log h without the row, arrays of no axes
        """
        remaining = self.cells.without(cell, leaving)  # the cells, of which one has less weight or is no more

        # a posterior of these cells alone; without any cell it is the prior. Nothing leaves it any more: the weight 0
        posterior = BandwidthPosterior(
            remaining, float(prior.centre), float(prior.low), float(prior.high), len(remaining.value) > 0
        )
        return float(posterior.log_average(self.cells.value[cell, None], np.zeros(1), remaining)[0])


# --- rows with posteriors of their own --------------------------------------------------------------------------------


class _Tables(NamedTuple):
    """Logarithms at nodes of log h, up to constants of the row.

    Fields
    ------
    log_posterior : (g, q) the posterior of each row, F₋ᵢ
    integrand : (g, q) the same and log f of the row
    """

    log_posterior: np.ndarray
    integrand: np.ndarray


class _Averages(NamedTuple):
    """Densities of rows, and where they are still to be made.

    Fields
    ------
    log_average : (q,) log density of each row, averaged over its posterior
    needs_refit : (q,) whether the nodes do not serve this row
    """

    log_average: np.ndarray
    needs_refit: np.ndarray


@dataclass(frozen=True)
class _Edge:
    """The piece of the range of t = log h between the nodes that all rows share and the limit of each row.

    At lower limits it lies to the left of the shared nodes, at upper limits to the right:

        t:   outermost    limits of rows    inner | shared nodes | inner    limits of rows    outermost

    Each row is integrated from its own limit to `inner`.

    Fields
    ------
    inner : where the shared nodes end
    limit : (q,) the limit of each row, not farther inside than `inner`
    is_far : (q,) whether the limit of a row is elsewhere, too far away for this piece
    depth : of log h: how far from a limit there is mass
    """

    inner: float
    limit: np.ndarray
    is_far: np.ndarray
    depth: float = np.inf

    @classmethod
    def at_lower(cls, limit: np.ndarray, centre: float, depth: float) -> Self:
        """The piece that holds the lower limits of the rows within reach of a centre; `inner` is the largest of them.

        Parameters
        ----------
        limit : (q,) the lower limit of each row
        centre : the limit of the posterior with all rows
        depth : how far from a limit there is mass
        """
        # limits farther from the centre than 0.1 are moved to there, and their rows marked as far
        near = np.clip(limit, centre - _WIDEST_EDGE, centre + _WIDEST_EDGE)
        return cls(float(near.max()), near, near != limit, depth)

    @classmethod
    def at_upper(cls, limit: np.ndarray, centre: float, depth: float) -> Self:
        """The piece that holds the upper limits of the rows within reach of a centre; `inner` is the smallest of them.

        Parameters
        ----------
        limit : (q,) the upper limit of each row
        centre : the limit of the posterior with all rows
        depth : how far from a limit there is mass
        """
        # limits farther from the centre than 0.1 are moved to there, and their rows marked as far
        near = np.clip(limit, centre - _WIDEST_EDGE, centre + _WIDEST_EDGE)
        return cls(float(near.min()), near, near != limit, depth)

    @property
    def is_empty(self) -> bool:
        """Whether all rows have the same limit."""
        return bool((self.limit == self.inner).all())

    @cached_property
    def _outermost(self) -> float:
        """The limit that is farthest from the shared nodes: the smallest lower or the largest upper one."""
        return float(self.limit[abs(self.limit - self.inner).argmax()])

    @property
    def nodes(self) -> np.ndarray:
        """(k,) Chebyshev's nodes between the outermost limit, place −1, and the shared nodes, place 1."""
        middle = (self._outermost + self.inner) / 2
        return middle + (self.inner - middle) * np.cos(np.pi * (np.arange(_EDGE_NODES) + 0.5) / _EDGE_NODES)

    def log_integral(self, log_values: np.ndarray) -> np.ndarray:
        """log of the integral of each row's integrand over t, from the limit of the row to the shared nodes, (q,).

        Rows are integrated over t = log h. They share nodes up to `inner`; beyond, each row has a limit of its own:

            lower limits:   outermost … limit of the row … inner | shared nodes

        1. The logarithm of the integrand is known at the nodes of this piece, and interpolated between them by
           Chebyshev polynomials.
        2. Each row is integrated from its own limit on, by Gauss–Legendre quadrature of the interpolated values.

        Parameters
        ----------
        log_values : (k, q) logarithms of the integrands at `nodes`
        """
        # coefficients of the polynomials, by the cosine transform, (k, q)
        coefficients = dct(log_values, type=2, axis=0) / _EDGE_NODES
        coefficients[0] /= 2

        # The part of each row, (q,): from its limit towards `inner`, but only as far as there is mass (`depth`). The
        # signed distance is positive at lower limits and negative at upper ones, where the limit is the upper end.
        to_inner = np.clip(self.inner - self.limit, -self.depth, self.depth)
        end = self.limit + to_inner
        with np.errstate(divide="ignore"):  # a row whose limit is where the nodes begin has the integral 0
            rule = gauss_legendre(np.minimum(self.limit, end), np.maximum(self.limit, end), _NODES)  # nodes (g, q)

        # interpolated values there; places are −1 at the outermost limit and 1 at `inner`
        middle = (self._outermost + self.inner) / 2
        place = (rule.t - middle) / (self.inner - middle)
        log_integrand = chebval(place, coefficients, tensor=False)  # (g, q)
        return logsumexp(log_integrand + rule.log_weight, 0)


class _Edges(NamedTuple):
    """Both ends of a range.

    Fields
    ------
    lower, upper : the pieces at the lower and at the upper limits
    """

    lower: _Edge
    upper: _Edge


@dataclass(frozen=True, eq=False)
class KnownBandwidth:
    """A bandwidth that is given, with the averages of `BandwidthPosterior`: there is nothing to average."""

    cells: Cells
    log_h: float

    @property
    def prior(self) -> "KnownBandwidth":
        """The same before any cell."""
        return self

    def log_average(
        self, u: np.ndarray, leaving: np.ndarray, cells: Cells, priors: BandwidthPriors | None = None
    ) -> np.ndarray:
        """The log kernel density log f(u; h) at points, (q,) in nats; 0 where no cell is left.

        Parameters
        ----------
        u : (q,) where the density is taken, in ascending order
        leaving : (q,) weight of the cell at each u that is left out, in leave-one-out; 0 for a new point
        cells : centres of the kernels
        priors : of each u, whose centres are the known log h, if they are not that of this class and feature
        """
        if priors is None:  # the same bandwidth at all points
            return _log_density(u, leaving, cells, np.array([self.log_h]))[0]
        t = priors.centre[None]  # (1, q): one bandwidth of each point
        sums = log_sums_of_each(u, leaving, cells, np.exp(t))  # of kernels without their normaliser, (1, q)
        return density_of_sums(sums, cells.total_without(u, leaving), t)[0]

    def log_loo(self, cell: np.ndarray, leaving: np.ndarray, priors: BandwidthPriors | None = None) -> np.ndarray:
        """log density of rows at their cells without the kernels of the row, (e,).

        Parameters
        ----------
        cell, leaving : (e,) positions of the cells of the rows, in ascending order, and the weights of the rows
        priors : (e,) without each row, whose centres are the known log h, if the row changes it
        """
        return self.log_average(self.cells.value[cell], leaving, self.cells, priors)


def _rule_of_range(low: float, high: float, n: int) -> Rule:
    """Gauss–Legendre quadrature of n nodes over a single range: nodes and log weights (n,)."""
    rule = gauss_legendre(np.array([low]), np.array([high]), n)
    return Rule(rule.t[:, 0], rule.log_weight[:, 0], low, high)


def _log_density(u: np.ndarray, leaving: np.ndarray, cells: Cells, t: np.ndarray) -> np.ndarray:
    """The log kernel density log f(u; eᵗ) in nats, (g, q) of bandwidths (g,) and points (q,); 0 where no cell is left.

    Parameters
    ----------
    u, leaving : (q,) where the density is taken, and the weight of the cell there that is left out
    cells : centres of the kernels
    t : (g,) logarithms of bandwidths
    """
    mass = cells.total_without(u, leaving)  # (q,)
    return density_of_sums(log_sums(u, leaving, cells, np.exp(t)), mass, t[:, None])
