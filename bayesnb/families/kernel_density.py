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

from ..numerics.arrays import Array, Float, Int, Real, Table, Tables, Theta, Weights, is_sparse
from ..numerics.pytrees import leaves, map_leaves, pytree
from ..numerics.random import Key, uniform
from ..numerics.special import LOG_2PI, is_traced, logsumexp, namespace, ndtr
from ..numerics.supports import CELLS, REAL, Field, declare
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
from ..sums.statistics import Sample, one_hot
from .base import AbstractConjugate

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
        """The density of some columns; features are independent given the class.

        Parameters
        ----------
        columns : positions of the k features to keep
        """
        of_columns = {}  # the fields with an axis of features, cut
        for name in ("log_h", "low", "high"):
            value = getattr(self, name)  # (c, d); the limits are None where the bandwidth is known
            if value is not None:
                of_columns[name] = value[..., columns]
        return replace(self, cells=self.cells.select(columns), **of_columns)

    def log_predictive(self, x: Real[Array, "n d"]) -> Table:
        """Σ_j log ∫ f_cj(x_j; h) p(h | data) dh: the average over the bandwidth is of densities, not of logarithms."""
        if self._is_on_host(x):  # NumPy
            return self._host_average(x, None)
        return self._traced_average(x)  # JAX

    def log_loo(self, x: Real[Array, "n d"], r: Weights) -> Table:
        """log_predictive without row i: in a class in which it has weight w, that weight leaves the cells.

        It leaves the kernels, and the factors of the leave-one-out product that the bandwidth is learnt from. With a
        `rule` it leaves the prior of the bandwidth too. A class that the row leaves without a cell gets the cells of
        all classes, without the row.
        """
        dense = r.toarray() if is_sparse(r) else r  # (n, c)
        if self._is_on_host(x, dense):  # NumPy
            return self._host_average(x, dense)
        return self._traced_loo(x, dense)  # JAX

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"]) -> Tables:
        """Σ_j log f_cj(x_j; h_cj): the log density of each row under each class, at given bandwidths.

        f_cj is the kernel density of the training cells of class c in feature j, and h_cj its bandwidth.

        Parameters
        ----------
        theta : `log_bandwidth`, (…, c, d), leading axes are draws; empty where the bandwidth is known
        x : (n, d), rows; NaN = missing

        Returns
        -------
        (…, n, c), in nats
        """
        t = theta["log_bandwidth"] if theta else self.log_h  # log h, (…, c, d)
        n_draws = t.shape[:-2]  # the leading axes, () if there is a single bandwidth of each class and feature
        xp = namespace(x, t, *self.cells.value)  # numpy or jax.numpy
        t_of_draws = xp.asarray(t.reshape(-1, *self.log_h.shape))  # (s, c, d), all draws along one axis

        def log_f(u: Array, k: int, j: Any) -> Array:
            return self._densities(u, k, j, t_of_draws[:, k, j])  # (s, n), of cells u of feature j under class k

        # the sum over the features, of missing cells 0
        table = self._sum_over_features(x, len(t_of_draws), log_f, t_of_draws)  # (s, n, c)
        return table.reshape(*n_draws, *table.shape[1:])

    def _sum_over_features(
        self, x: Array, n_bandwidths: int, log_f: Callable[[Array, int, Any], Array], *others: Array
    ) -> Array:
        """The log density of rows under each class: the sum over the features of the log density of each cell.

        Parameters
        ----------
        x : (n, d), rows; a missing cell (NaN) adds 0
        n_bandwidths : at how many bandwidths `log_f` sums over the kernels; only used to judge the work
        log_f : (cells (n,) of feature j, class k, feature j) → log densities (…, n)
        others : arrays that `log_f` uses; with them it is decided whether this runs in NumPy or in JAX

        Returns
        -------
        (…, n, c), in nats
        """
        c, d = self.shape
        xp = namespace(x, self.log_h, *self.cells.value, *others)  # numpy or jax.numpy, as any of these arrays is
        x = xp.asarray(x)

        def log_f_of_observed(k: int, j: Any) -> Array:
            is_observed = ~xp.isnan(x[:, j])
            u = xp.where(is_observed, x[:, j], 0)  # any number will do where the cell is missing
            return xp.where(is_observed, log_f(u, k, j), 0)

        # the work, which decides whether NumPy starts threads: a kernel for each row, bandwidth and training cell
        n_kernels = x.shape[0] * n_bandwidths * sum(v.size for v in self.cells.value)

        # `by_piece` yields (k, log density of feature j under class k) for all k and j; the work None stands for JAX
        total: list[Any] = [0] * c  # of each class, (…, n)
        for k, log_density_of_feature in by_piece(log_f_of_observed, c, d, n_kernels if xp is np else None):
            total[k] = total[k] + log_density_of_feature
        return xp.stack(total, -1)

    def _densities(self, u: Array, k: int, j: Any, t: Float[Array, " g"]) -> Float[Array, "g n"]:
        """log f_kj(u; eᵗ), the kernel density of class k in feature j; that of all classes if k has no training cell.

        Parameters
        ----------
        u : (n,), where the density is taken, unit of the feature
        t : (g,), logarithms of bandwidths
        """
        xp = namespace(u, t, *self.cells.value)  # numpy or jax.numpy
        cells = self.cells if xp is np else map_leaves(xp.asarray, self.cells)  # as JAX's arrays
        no_weight_leaves = xp.zeros_like(u)  # no training row is left out of the density

        value, weight = cells.of_piece(k, j)  # distinct training cells and their weights, (m,) each
        of_class = log_density(u, value, weight, t, no_weight_leaves)  # (g, n)
        if xp is np and weight.sum() > 0:
            return of_class

        # In JAX whether the class has cells is not known before the program runs, so both densities are computed.
        # `pooled` are the cells of all classes, as of a single class 0.
        pooled_value, pooled_weight = cells.pooled().of_piece(0, j)
        of_all_classes = log_density(u, pooled_value, pooled_weight, t, no_weight_leaves)
        return xp.where(weight.sum() > 0, of_class, of_all_classes)

    # --- averages on the host, class by class and feature by feature: `sums.bandwidth` --------------------------------

    def _is_on_host(self, *arrays: Array) -> bool:
        """Whether this block and the arrays are NumPy's, not JAX's."""
        return namespace(self.log_h, *self.cells.value, *self.cells.weight, *arrays) is np

    def _host_average(self, x: np.ndarray, r: np.ndarray | None) -> np.ndarray:
        """The log density of each row under each class, averaged over the posterior of the bandwidths, in NumPy.

        It is the sum over the features of the log density of each cell, which `_host_average_of_feature` gives: (n, c).

        Parameters
        ----------
        x : (n, d), rows; NaN = missing
        r : (n, c), for leave-one-out: weights that the rows have in the training data, of which each row leaves before
            it is predicted. None for new rows, for which nothing leaves
        """
        c, d = self.shape
        cells_of_all = self.cells.pooled()  # of all classes together, as of a single class 0

        # the log densities (n,) of the cells of feature j under class k; a class that has no cell, or loses its only
        # one, takes the density of the cells of all classes
        def log_f_of(k: int, j: int) -> np.ndarray:
            pooled = Cells(*cells_of_all.of_piece(0, j))
            return self._host_average_of_feature(x[:, j], r, k, j, pooled)

        # `by_piece` yields (k, log_f_of(k, j)) for all k and j; threads are started if there are many kernels
        table = np.zeros((len(x), c))
        n_kernels = len(x) * WIDE_NODES * sum(v.size for v in self.cells.value)
        for k, log_f in by_piece(log_f_of, c, d, n_kernels):
            table[:, k] += log_f
        return table

    def _host_average_of_feature(
        self, x: np.ndarray, r: np.ndarray | None, k: int, j: int, pooled: Cells
    ) -> Float[np.ndarray, " n"]:
        """The log densities of cells of feature j under class k, averaged over the posterior of the bandwidth, (n,).

        Parameters
        ----------
        x : (n,), the cells; a missing cell (NaN) has 0
        r : (n, c), weights of their rows in the training data, which leave before a cell is predicted; None for new
            rows, with which nothing leaves
        pooled : the training cells of all classes in this feature
        """
        rows = np.flatnonzero(~np.isnan(x))
        weights = None if r is None else r[rows]

        # the cells to predict, each with the weights that leave class k, and all classes together, with its row
        departures = _departures_of(x[rows].astype(float), weights, k)

        # how the training cells scale the prior of the bandwidth; without a rule the prior stays when a row leaves
        rule = None if r is None else self.rule

        log_f = np.zeros(len(x))
        log_f[rows] = _log_averages(self._posterior_of(k, j), pooled, departures, rule)
        return log_f

    def _posterior_of(self, k: int, j: int) -> BandwidthPosterior | KnownBandwidth:
        """The posterior of log h of class k and feature j, h the bandwidth; made at the first call and kept.

        Its methods `log_average` and `log_loo` give kernel densities averaged over the posterior, without a row in
        leave-one-out. It stays valid, because the fields of this object never change.
        """
        posteriors = vars(self).setdefault("_posteriors", {})  # by (class, feature), in the dict of this object
        if (k, j) not in posteriors:
            posteriors[k, j] = self._make_posterior(k, j)
        return posteriors[k, j]

    def _make_posterior(self, k: int, j: int) -> BandwidthPosterior | KnownBandwidth:
        """The posterior of log h of class k and feature j, or the bandwidth that is given."""
        value, weight = self.cells.of_piece(k, j)  # distinct training cells and their weights, (m,) each
        cells = Cells(value.astype(float), weight.astype(float))
        if self.low is None or self.high is None:
            return KnownBandwidth(cells, float(self.log_h[k, j]))

        # log h ~ Normal(centre, 1) between two limits, times the leave-one-out product of the cells
        return BandwidthPosterior(
            cells,
            centre=float(self.log_h[k, j]),
            low=float(self.low[k, j]),
            high=float(self.high[k, j]),
            has_product=bool(_varies(self.cells)[j]),  # a constant feature says nothing of its bandwidth
        )

    # --- averages in JAX: the formulas as they are --------------------------------------------------------------------

    def _traced_average(self, x: Array) -> Array:
        """The log predictive density of rows in JAX, (n, c): the kernel density averaged over the bandwidth.

        For a cell x it is log ∫ f(x; eᵗ) p(t) dt over t = log h, computed as log Σ_g exp(log weight_g + log f(x; h_g))
        with the nodes log h_g of a quadrature over the posterior p, whose weights sum to one. A row has the sum over
        its features.
        """
        import jax.numpy as jnp

        nodes, weights = self._nodes  # of the quadrature over the posterior of log h
        t = jnp.asarray(nodes)  # (g, c, d)
        log_weight = jnp.asarray(weights)  # (g, c, d)

        def log_average(u: Array, k: int, j: Any) -> Array:
            log_f = self._densities(u, k, j, t[:, k, j])  # (g, n), of the cells u of feature j under class k
            return logsumexp(log_f + log_weight[:, k, j, None], 0)  # (n,), the average over g nodes

        # the sum over the features, (n, c); a missing cell adds 0
        return self._sum_over_features(x, len(t), log_average, t)

    def _traced_loo(self, x: Array, r: Array) -> Array:
        """The leave-one-out log density of each row under each class in JAX, (n, c).

        For each row the weight of its cells is taken from the training cells, and a new posterior of the bandwidths is
        made from what remains.

        Parameters
        ----------
        x, r : rows (n, d) that this posterior contains, and their weights (n, c)
        """
        import jax
        import jax.numpy as jnp

        # For each class k, `cells.value[k]` (d, m) holds the distinct training values of each feature, and
        # `cells.weight[k]` (d, m) their weights. A feature with the values 1, 4, 4 has the cells 1 and 4 with the
        # weights 1 and 2.
        cells = map_leaves(jnp.asarray, self.cells)

        def log_p_without(row: tuple[Array, Array]) -> Array:
            x_i, r_i = row  # (d,) and (c,)
            remaining = []  # the weights of the cells of each class without this row
            for k, (value, weight) in enumerate(zip(cells.value, cells.weight, strict=True)):  # (d, m) of class k
                is_cell_of_row = value == x_i[:, None]  # one cell in each feature, none where the row's is missing
                difference = weight - r_i[k] * is_cell_of_row

                # If no other row has this cell, its weight without the row is 0, but for rounding: `rounding` is the
                # relative size of what counts as 0. A cell of weight 0 is no cell.
                remaining.append(jnp.where(difference > rounding(weight) * weight, difference, 0))
            without_row = replace(self, cells=Sample(cells.value, tuple(remaining)))
            return without_row._traced_average(x_i[None])[0]  # the predictive density of the one row, (c,)

        # one row after the other, so that only the arrays of one row are in memory
        return jax.lax.map(log_p_without, (jnp.asarray(x), jnp.asarray(r)))

    # --- the posterior of the bandwidth, by quadrature: it knows the cells through their leave-one-out product alone --

    @property
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """`log_bandwidth`; none if the bandwidth is known."""
        return () if self.low is None else ("log_bandwidth",)

    def log_normalizer(self) -> Float[Array, "c d"]:
        """log ∫ exp(−½ (t − log h⁰)²) Π_i f_−i(v_i; eᵗ)^{w_i} dt; the log product if the bandwidth is known."""
        if self.low is None:
            return self._leave_one_out(self.log_h[None])[0]
        return self._grid.log_z

    def log_marginal(self, stats: Sample) -> Float[Array, "c d"]:
        """The pseudo-evidence: log of the leave-one-out product, averaged over the prior of the bandwidth."""
        return self.update(stats).log_normalizer() - self.log_normalizer()

    def log_prob(self, theta: Theta) -> Float[Array, "*s c d"]:
        """−½ (log h − log h⁰)² + Σ_i w_i log f_−i(v_i; h) − log h − log normaliser; −∞ beyond the limits.

        It is the log density of the bandwidth h of each class and feature: a normal prior of log h with the centre
        log h⁰, times the leave-one-out product of the cells. f_−i is the kernel density without cell v_i, which has
        weight w_i. The sum over the cells is exact, and only the normaliser is computed by quadrature.

        θ holds t = log h, but this is the density of h itself, as in NumPyro's site `bandwidth`. A density changes with
        its variable: p(h) = p(t) |dt/dh| = p(t)/h, so log p(h) = log p(t) − t.

        Parameters
        ----------
        theta : `log_bandwidth`, log h, (…, c, d), leading axes are draws; empty if the bandwidth is known
        """
        if self.low is None or self.high is None:  # the bandwidth is known: there are no parameters
            return 0 * self.log_h

        # log p(t), with all draws along one axis, (s, c, d), and back in the shape of t; then log p(h)
        t = theta["log_bandwidth"]  # (…, c, d)
        log_density_of_t = self._log_density(t.reshape(-1, *self.log_h.shape)).reshape(t.shape)
        log_density_of_h = log_density_of_t - t - self.log_normalizer()

        # −∞ beyond the limits. A draw at a limit, taken to h and back by exp and log, may differ from it in the last
        # digits, so 1e-6 is allowed.
        is_within_limits = (t > self.low - 1e-6) & (t < self.high + 1e-6)
        xp = namespace(log_density_of_t)  # numpy or jax.numpy
        return xp.where(is_within_limits, log_density_of_h, -xp.inf)

    def _log_density(self, t: Float[Array, "g c d"]) -> Float[Array, "g c d"]:
        """Log density of t = log h, without its normaliser: the prior Normal(log h⁰, 1) and the product."""
        return -0.5 * (t - self.log_h) ** 2 + self._leave_one_out(t)

    def _leave_one_out(self, t: Float[Array, "g c d"]) -> Float[Array, "g c d"]:
        """The log of the leave-one-out product, Σ_i w_i log f_−i(v_i; eᵗ), at logarithms t of the bandwidths.

        f_−i is the kernel density of a class and feature without cell v_i: one unit of its weight w_i leaves the
        kernels, or all of it where that is less. The sum is 0 in a feature that never varies, and a cell that is alone
        adds 0.

        Parameters
        ----------
        t : g logarithms of bandwidths for each class and feature
        """
        xp = namespace(t, *self.cells.value)  # numpy or jax.numpy
        cells = self.cells if xp is np else map_leaves(xp.asarray, self.cells)  # as JAX's arrays
        varies = _varies(cells)  # (d,), whether a feature has two distinct values

        def log_product(k: int, j: Any) -> Float[Array, " g"]:
            value, weight = cells.of_piece(k, j)  # (m,) each; in JAX with weight 0 behind the last cell
            v = xp.where(weight != 0, value, 0)  # a number, also where there is no cell
            leaving = xp.minimum(weight, 1)  # one unit of weight of the cell, at which the density is taken

            # the log kernel density at each cell v_i without `leaving` of its own weight; 0 where no cell is left
            terms = weight * log_density(v, value, weight, t[:, k, j], leaving)  # (g, m)
            return xp.where(varies[j], terms.sum(-1), 0)

        # the work, which decides whether NumPy starts threads: a kernel for each bandwidth and pair of cells of each
        # class and feature
        n_pairs_of_cells = sum(v.size * v.shape[-1] for v in self.cells.value)
        n_kernels = len(t) * n_pairs_of_cells

        # `by_piece` yields (k, log_product(k, j)), the features of the first class, then those of the next: with 2
        # classes and 2 features of (0, 0), (0, 1), (1, 0), (1, 1). None for the work stands for JAX.
        pieces = by_piece(log_product, *self.shape, n_kernels if xp is np else None)
        side_by_side = xp.stack([log_p for _, log_p in pieces], -1)  # (g, c·d)
        return side_by_side.reshape(t.shape)  # (g, c, d)

    @property
    def _informed(self) -> Array:
        """Whether the cells say something about each bandwidth, (c, d).

        They do in a feature that varies, if the class has two units of weight in it: one to leave out, and one that
        predicts it.
        """
        has_two_units = []  # of each class, (d,)
        for weight in self.cells.weight:  # (d, m) of the m cells of a class in each feature, 0 where there is no cell
            has_two_cells = (weight > 0).sum(-1) > 1
            has_repeated_cell = (weight > 1).any(-1)
            has_two_units.append(has_two_cells | has_repeated_cell)

        # `_varies` is whether a feature has two distinct values in all classes together, (d,)
        return _varies(self.cells) & namespace(*has_two_units).stack(has_two_units)

    @property
    def _grid(self) -> _Grid:
        """The posterior of log h as a quadrature.

        On the host it is computed once and kept: the block is frozen. Under a JAX trace it is a part of the traced
        program, and must not be kept.
        """
        if is_traced(*leaves(self)):  # JAX compiles a function of the fields, which have no values yet
            return self._integrate()
        if "_known" not in vars(self):  # the instance is frozen, but its dict can be written to
            vars(self)["_known"] = map_leaves(np.asarray, self)._integrate()
        return vars(self)["_known"]

    def _integrate(self) -> _Grid:
        """The posterior p of t = log h as a quadrature, ∫ g(t) p(t) dt ≈ Σ_k weight_k g(t_k), and its normaliser.

        1. Find the range that holds the mass of p: where it is less than 34 nats below its peak.
        2. Take the nodes t_k of a Gauss–Legendre quadrature over this range.
        3. A node has the mass: its weight in that quadrature times p(t_k), without the normaliser.
        4. The sum of these masses is the normaliser, and the masses over this sum are the weights.

        All of it is done for each class and feature, (g, c, d) for g nodes.
        """
        assert self.low is not None and self.high is not None
        low, high = search_range(self._log_density, self.low, self.high)  # (c, d) each
        rule = gauss_legendre(low, high, WIDE_NODES)
        log_mass = self._log_density(rule.t) + rule.log_weight  # (g, c, d)
        log_z = logsumexp(log_mass, 0)  # (c, d), of the normaliser
        log_weight = log_mass - log_z

        # Where the cells say nothing of a bandwidth (`_informed` is False), p is the prior, whose normaliser is exact:
        # ∫ exp(−½ (t − log h⁰)²) dt = √(2π) [Φ(high − log h⁰) − Φ(low − log h⁰)]; `ndtr` is Φ
        xp = namespace(self.log_h, *self.cells.value)  # numpy or jax.numpy
        prior_log_z = 0.5 * LOG_2PI + xp.log(ndtr(self.high - self.log_h) - ndtr(self.low - self.log_h))
        return _Grid(rule.t, log_weight, low, high, log_z=xp.where(self._informed, log_z, prior_log_z))

    @property
    def _nodes(self) -> tuple[Array, Array]:
        """Logarithms of bandwidths and of their weights, (g, c, d): those of the grid, or the one that is known."""
        if self.low is None:
            return self.log_h[None], 0 * self.log_h[None]
        return self._grid.t, self._grid.log_weight

    def _distribution(self) -> tuple[Float[Array, "f c d"], Float[Array, "f c d"]]:
        """The distribution function of t = log h on a fine mesh.

        The density is computed at `_NODES` even nodes. Between them it is the cubic spline through their values, and
        its integral is taken by the trapezoidal rule.

        Returns
        -------
        t : (f, c, d), nodes of the mesh in ascending order
        cdf : (f, c, d), P(log h ≤ t), from 0 to 1
        """
        nodes = even_nodes(self._grid.low, self._grid.high, _NODES)  # (nodes, c, d), where the posterior has its mass
        log_p = self._log_density(nodes)
        log_p_normalized = log_p - logsumexp(log_p, 0)  # so that exp does not overflow

        # The spline of log p is a matrix product: `_spline()` takes the values at the nodes to those on the mesh.
        xp = namespace(nodes)  # numpy or jax.numpy
        spline = xp.asarray(_spline(), nodes.dtype)  # (f, nodes)
        p = xp.exp(xp.tensordot(spline, log_p_normalized, 1))  # (f, c, d)

        # trapezoids (p₀ + p₁)/2, (p₁ + p₂)/2, … added up from 0 on; the width of a step cancels in the last line
        area = xp.concatenate([0 * p[:1], xp.cumsum((p[1:] + p[:-1]) / 2, axis=0)])

        # the mesh: even steps from the first node to the last
        shares = np.linspace(0, 1, len(p), dtype=nodes.dtype)[:, None, None]
        mesh = nodes[0] + (nodes[-1] - nodes[0]) * shares
        return mesh, area / area[-1]

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Draws of log h, by inverting its distribution function at uniform draws.

        Parameters
        ----------
        key : NumPy's generator, or a JAX key
        shape : of the draws, the leading axes of the result

        Returns
        -------
        `log_bandwidth`, (*shape, c, d); empty if the bandwidth is known
        """
        if self.low is None:
            return {}
        full_shape = (*shape, *self.shape)
        mesh, cdf = self._distribution()  # values of t = log h, and P(log h ≤ t) there, (f, c, d) each
        u = uniform(key, full_shape)

        # There are c·d bandwidths, one for each class and feature, and each has a curve of its own. So all arrays get a
        # line for each bandwidth: with 2 classes and 2 features the lines are (0, 0), (0, 1), (1, 0) and (1, 1)
        n_bandwidths = self.log_h.size
        t_of_mesh = mesh.reshape(-1, n_bandwidths).T  # (c·d, f)
        cdf_of_mesh = cdf.reshape(-1, n_bandwidths).T  # (c·d, f)
        u_of_draws = u.reshape(-1, n_bandwidths).T  # (c·d, s), all draws along one axis

        # `interp(u, cdf, t)` reads t where the distribution function is u. By the signature it is called for each line:
        # s arguments and a curve of f points give s values
        xp = namespace(u, mesh)  # numpy or jax.numpy
        interpolate: Any = xp.vectorize(xp.interp, signature="(s),(f),(f)->(s)")
        t = interpolate(u_of_draws, cdf_of_mesh, t_of_mesh)  # (c·d, s)

        # back to the shape of the draws, with classes and features last
        return {"log_bandwidth": t.T.reshape(full_shape).astype(t_of_mesh.dtype)}

    def mean(self) -> Theta:
        """log of the mean bandwidth, log ∫ eᵗ p(t) dt."""
        if self.low is None:
            return {}
        return {"log_bandwidth": logsumexp(self._grid.log_weight + self._grid.t, 0)}

    def mode(self) -> Theta:
        """The bandwidth with the largest density with respect to h: the best node, and Newton's steps from there.

        If rounded data push the bandwidth down, the mode is the lower limit.
        """
        if self.low is None:  # the bandwidth is known: there are no parameters
            return {}

        # the density of h is that of t = log h over h, so t is subtracted from its logarithm
        return {"log_bandwidth": _climb(lambda t: self._log_density(t) - t, self._grid.low, self._grid.high)}

    def mle(self, stats: Sample) -> Theta:
        """The bandwidth with the largest leave-one-out product within the limits; the mean if the product is flat."""
        if self.low is None or self.high is None:  # the bandwidth is known: there are no parameters
            return {}
        block = self.update(stats)  # with the cells of the data

        # `_leave_one_out` is Σ_i w_i log f_−i(v_i; eᵗ), a function of t = log h for each class and feature:
        # `search_range` narrows the limits to where it is large, and `_climb` finds its peak there
        low, high = search_range(block._leave_one_out, self.low, self.high)
        best = _climb(block._leave_one_out, low, high)  # (c, d)
        mean = self.mean()["log_bandwidth"]
        return {"log_bandwidth": namespace(best).where(block._informed, best, mean)}

    def marginals(self) -> dict[str, Any]:
        """The posterior of each bandwidth, as distributions on the mesh of its distribution function."""
        if self.low is None:
            return {}
        mesh, cdf = self._distribution()
        return {"bandwidth": GridMarginal(np.asarray(mesh), np.asarray(cdf))}

    # --- rows from the model, and the model in NumPyro ----------------------------------------------------------------

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **settings: Any) -> np.ndarray:
        """A stored cell, drawn by its weight, plus h z with h from its posterior; NaN in a feature without cells.

        A class without cells in a feature draws among the cells of all classes, as its density does.

        Parameters
        ----------
        rng : NumPy's generator
        y : (n,) class index of each new row

        Raises
        ------
        ValueError
            if no feature has a cell: a kernel density can only draw values near its training cells
        """
        pooled = self.cells.pooled()
        if not pooled.n.any():
            raise ValueError("a kernel density draws rows near its cells, and a prior has none; use source='posterior'")
        x = np.full((len(y), self.shape[1]), np.nan)

        # x = v + h z: v a cell of the class, z standard normal, h a draw of the bandwidth for each row. The i-th row of
        # every class takes the i-th draw
        n_draws = int(np.bincount(y).max(initial=0))
        known_log_h = self.log_h + np.zeros((n_draws, 1, 1))
        drawn = self.sample(rng, (n_draws,))  # empty where the bandwidth is known
        h = np.exp(drawn.get("log_bandwidth", known_log_h))  # (n_draws, c, d)

        for k, j in np.ndindex(self.shape):  # each class and feature
            rows = np.flatnonzero(y == k)
            value, weight = self.cells.of_piece(k, j)  # distinct training cells and their weights
            if not len(value):  # the class has no cell in the feature: those of all classes
                value, weight = pooled.of_piece(0, j)
            if len(value):  # otherwise no class has one, and the cells stay NaN
                # a cell for each row, drawn with probabilities that are proportional to the weights
                centre = value[rng.choice(len(value), len(rows), p=weight / weight.sum())]
                x[rows, j] = centre + h[: len(rows), k, j] * rng.standard_normal(len(rows))
        return x

    def sample_rows(
        self, rng: np.random.Generator, theta: Theta, y: Int[np.ndarray, " n"], **settings: Any
    ) -> Float[np.ndarray, "s n d"]:
        """New rows at given bandwidths h: a stored cell of the class, drawn by its weight, plus h z, z standard normal.

        Parameters
        ----------
        rng : NumPy's generator
        theta : `log_bandwidth`, (s, c, d), of s draws
        y : class index of each new row

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
        for k, j in np.ndindex(self.shape):  # each class and feature
            rows = np.flatnonzero(y == k)
            value, weight = self.cells.of_piece(k, j)  # distinct training cells and their weights, (m,) each
            if not weight.any():
                raise NotImplementedError("a kernel density draws rows near its cells, and a class has none")
            centre = value[rng.choice(len(value), (len(h), len(rows)), p=weight / weight.sum())]

            # (s, rows): one draw of the bandwidth for all rows of a line
            x[:, rows, j] = centre + h[:, k, j, None] * rng.standard_normal(centre.shape)
        return x

    def model(self, x: Real[Array, "*c n d"] | None, y: Array | None) -> None:
        """The same prior of the bandwidth in NumPyro, and the leave-one-out product of the rows as a factor.

        The leave-one-out product is Π_i f_−i(v_i; h)^{w_i}: each cell v_i under the kernel density of all other cells
        of its class. It stands in the place of the likelihood of the bandwidth h. A NumPyro factor is a term that is
        added to the log density of the model.

        If this density already has cells, it is no standard distribution, and the product of these is a factor too.

        Parameters
        ----------
        x : (n, d) rows; NaN = missing
        y : (n,) class index of each row

        Raises
        ------
        ValueError
            if x is None, because a kernel density without data cannot draw rows. Also if y is enumerated: rows of a
            class depend on each other, so labels cannot be summed out row by row
        """
        import numpyro

        if x is None:
            raise ValueError("`x` is None, but a kernel density without data cannot draw rows; give the rows")
        if y is None or y.ndim != 1:
            raise ValueError(
                "`y` is None, but labels of a kernel density cannot be summed out row by row; give the labels"
            )
        import jax.numpy as jnp

        posterior = self._with_rows(x, y)  # whose cells are those of this block and of the rows
        if self.low is None or self.high is None:  # the bandwidth is known: the product is a constant
            numpyro.factor("x", posterior.log_normalizer() - self.log_normalizer())
            return

        # h, drawn by NumPyro from its prior; then log h, and the log product of this block's cells and the rows
        t = jnp.log(self._sample_bandwidth())[None]  # (1, c, d)
        log_product = posterior._leave_one_out(t)[0]  # (c, d)
        if not self.cells.n.size:  # no cells before: the product is that of the rows alone
            numpyro.factor("x", log_product)
            return

        # There are cells already. Then the block's density of h is prior · product of these cells, normalised, and the
        # rows multiply it by the ratio of the two products.
        log_product_before = self._leave_one_out(t)[0]  # (c, d)
        numpyro.factor("seen", self._log_ratio_to_prior(log_product_before))
        numpyro.factor("x", log_product - log_product_before)

    def _log_ratio_to_prior(self, log_product: Array) -> Array:
        """The log ratio of the block's density of the bandwidth to its prior, from the log product of the cells.

        With φ = exp(−½ (log h − log h⁰)²) the prior is φ/Z⁰ and the block's density φ · product/Z, each with the
        integral over the limits as its normaliser. So the ratio is product · Z⁰/Z. All numbers are (c, d).
        """
        without_cells = replace(self, cells=self.cells.zero())  # the prior
        return log_product - self.log_normalizer() + without_cells.log_normalizer()

    def _with_rows(self, x: Array, y: Array) -> Self:
        """The block that has also the cells of rows x (n, d), with labels y (n,)."""
        import jax.nn
        import jax.numpy as jnp

        n_classes = self.shape[0]
        if is_traced(x, y):  # JAX compiles a function of the rows, which have no values yet
            traced_x = jnp.asarray(x, jnp.result_type(float))
            r = jax.nn.one_hot(y, n_classes, dtype=traced_x.dtype)  # (n, c)
            return self.update(Sample.of(traced_x, r))

        # Otherwise in NumPy, because only there equal values are merged into one cell. `Sample.of` makes the distinct
        # values of each class and feature and their weights, and `update` adds these cells.
        cells = Sample.of(np.asarray(x, float), one_hot(np.asarray(y), n_classes))
        return self.update(cells)

    def _sample_bandwidth(self) -> Float[Array, "c d"]:
        """The NumPyro site `bandwidth`: h = exp(t) with t = log h ~ Normal(log h⁰, 1) between the limits.

        h lies between exp(low) and exp(high). NumPyro's check that a value is within them (`validate_args`) is switched
        off: a bandwidth at a limit, taken to t and back, may end in the last digit beyond it, and would count as
        impossible.
        """
        import numpyro
        import numpyro.distributions as dist
        from numpyro.distributions import constraints, transforms

        # t, and the function that makes h of it
        log_prior = dist.TruncatedNormal(self.log_h, 1.0, low=self.low, high=self.high, validate_args=False)
        exp = transforms.ExpTransform(domain=constraints.interval(self.low, self.high))
        prior = dist.TransformedDistribution(log_prior, exp, validate_args=False)

        c, d = self.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            return numpyro.sample("bandwidth", prior)


class GridMarginal:
    """Distributions of bandwidths from a grid, each a `scipy.stats.rv_histogram`: its methods, of values (…, c, d).

    Parameters
    ----------
    mesh : (f, c, d), values of log h in ascending order
    cdf : (f, c, d), distribution function there, from 0 to 1
    """

    def __init__(self, mesh: np.ndarray, cdf: np.ndarray) -> None:
        from scipy.stats import rv_histogram

        # `rv_histogram` has a constant density on each interval between two edges: with f values there are f − 1
        # intervals, and the differences of the distribution function are their probabilities
        self._shape = mesh.shape[1:]  # (c, d)
        self._distributions = {}  # by (class, feature)
        for k, j in np.ndindex(self._shape):
            probabilities = np.diff(cdf[:, k, j])
            edges = np.exp(mesh[:, k, j])  # bandwidths h, not logarithms
            self._distributions[k, j] = rv_histogram((probabilities, edges), density=False)

    def __getattr__(self, name: str) -> Callable[..., np.ndarray]:
        # Python asks here for names that the object does not have. Every public one (`pdf`, `ppf`, `mean`, …) is taken
        # for a method of `scipy.stats`, and becomes a function that calls it of all distributions
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._of_each, name)

    def _of_each(self, name: str, *args: Any) -> np.ndarray:
        """Call a method of `scipy.stats` of all c × d distributions: the values, (…, c, d).

        There is one distribution for each class and feature, and each gets its own part of the arguments. `ppf` of the
        argument 0.5 gives the medians, (c, d). `ppf` of an array (2, 1, 1) gives two quantiles of each, (2, c, d).

        Parameters
        ----------
        name : of the method of `scipy.stats`, such as "ppf"
        args : its arguments, numbers or arrays that broadcast to (…, c, d)
        """
        # each argument in full size, (…, c, d)
        full_arguments = [np.broadcast_to(x, np.broadcast_shapes(np.shape(x), self._shape)) for x in args]

        # the distribution of class k and feature j gets the entries [..., k, j], and returns values of their shape (…)
        c, d = self._shape
        by_class = []  # (…, d) of each class
        for k in range(c):
            by_feature = []  # (…) of each feature
            for j in range(d):
                method = getattr(self._distributions[k, j], name)
                by_feature.append(method(*[argument[..., k, j] for argument in full_arguments]))
            by_class.append(np.stack(by_feature, -1))
        return np.stack(by_class, -2)


def _varies(cells: Sample) -> Array:
    """Whether a feature has two distinct values in all classes together, (d,)."""
    # only values with a weight count: in JAX arrays are filled up with values of weight 0
    return (cells.pooled().weight[0] != 0).sum(-1) > 1


def _climb(f: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Where each of c × d functions of one variable is largest, (c, d).

    A search on even nodes brackets the peak, zooms narrow the bracket around the best node, and Newton's steps finish.

    Parameters
    ----------
    f : values (g, c, d) at arguments (g, c, d), of each function its own g arguments
    low, high : (c, d), ends of the search
    """

    def zoom(bracket: _Bracket) -> _Bracket:
        """The same on a finer grid between the neighbours of the best node."""
        return _bracket_of(f, even_nodes(bracket.before, bracket.after, _SEARCH))

    # `even_nodes(low, high, n)` are n nodes from low to high, (n, c, d). `repeated(step, n, start)` is
    # step(step(… start)), n times; in JAX a compiled loop
    wide = _bracket_of(f, even_nodes(low, high, _NODES))
    narrow = repeated(zoom, _ZOOMS_OF_PEAK, wide)
    return repeated(lambda t: _newton_step(f, t, low, high), _NEWTON_STEPS, narrow.best)


class _Bracket(NamedTuple):
    """Where the peaks of c × d functions are: the best of some nodes, between its two neighbours."""

    before: Any  # (c, d) the node before the best one
    best: Any  # (c, d)
    after: Any  # (c, d) the node after it


def _bracket_of(f: Callable[[Array], Array], t: Float[Array, "g c d"]) -> _Bracket:
    """The node at which each of c × d functions is largest, with the nodes before and after it.

    Values 0 5 7 2 at the nodes 10 20 30 40 give 20, 30 and 40. At an end the best node is its own neighbour.

    Parameters
    ----------
    f : values (g, c, d) at arguments (g, c, d)
    t : nodes of each function, in ascending order
    """
    xp = namespace(t)  # numpy or jax.numpy
    last = len(t) - 1

    def node_at(position: Array) -> Array:
        """Of each function the node at its position (c, d) among the g nodes."""
        return xp.take_along_axis(t, position[None], 0)[0]

    best = f(t).argmax(0)  # positions, (c, d)
    return _Bracket(
        before=node_at(xp.clip(best - 1, 0, last)), best=node_at(best), after=node_at(xp.clip(best + 1, 0, last))
    )


def _newton_step(f: Callable[[Array], Array], t: Array, low: Array, high: Array) -> Array:
    """One step of Newton from t (c, d) towards the peaks of c × d functions f of one variable each.

    f maps arguments (g, c, d) to values (g, c, d). The result stays between low and high.

    Derivatives are central differences of seven points: the first of sixth order, for which a step of ε^(1/7) makes
    truncation and rounding equally large. The second only sets the length of the step, so order two is enough.
    """
    xp = namespace(t)  # numpy or jax.numpy
    h = float(np.finfo(t.dtype).eps) ** (1 / 7)

    # the values at t − 3h, t − 2h, … t + 3h, (c, d) each; f0 is f(t)
    steps = np.arange(-3, 4, dtype=t.dtype)[:, None, None]  # −3 … 3, (7, 1, 1)
    f_minus3, f_minus2, f_minus1, f0, f1, f2, f3 = f(t + h * steps)

    # the first and second derivative at t
    first = (f3 - f_minus3 - 9 * (f2 - f_minus2) + 45 * (f1 - f_minus1)) / (60 * h)
    second = (f1 - 2 * f0 + f_minus1) / h**2

    # where f is not concave there is no peak nearby, and t stays: a division by −∞ makes the step 0
    curvature = xp.where(second < 0, second, -xp.inf)
    return xp.clip(t - first / curvature, low, high)


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
        """The distinct departures, so that equal ones are computed once.

        Returns
        -------
        distinct : with cells in ascending order
        index : (q,), position among them of each departure: `distinct.select(index)` is this one again

        Notes
        -----
        The cells 5 2 5, with equal weights, have the order 1 0 2. In this order they are 2 5 5, and the numbers of the
        distinct ones are 0 1 1. By the old positions these numbers are 1 0 1, which is the index.
        """
        order = np.lexsort((self.of_all, self.of_class, self.u))  # by the cell first: `lexsort` has the first key last
        ordered = self.select(order)

        # equal departures are neighbours now: one is new if its cell or a weight differs from those of the one before
        differs = _changes(ordered.u) | _changes(ordered.of_class) | _changes(ordered.of_all)
        is_new = np.ones(len(order), bool)  # the first one is
        is_new[1:] = differs

        number = np.cumsum(is_new) - 1  # 0, 1, … of the distinct departure that each one is, in the order
        index = np.empty(len(order), int)
        index[order] = number  # by the old positions
        return ordered.select(is_new), index


def _changes(column: np.ndarray) -> np.ndarray:
    """Whether each entry but the first differs from the one before: of 2 5 5 yes, no."""
    return column[1:] != column[:-1]


def _departures_of(u: np.ndarray, r: np.ndarray | None, k: int) -> _Departures:
    """The cells u (q,) with the weights that leave class k and all classes, by the weights r (q, c); None: nothing."""
    if r is None:  # a prediction of new rows, which are not among the training cells
        return _Departures(u, np.zeros(len(u)), np.zeros(len(u)))
    return _Departures(u, r[:, k], r.sum(1))


def _log_averages(
    posterior: BandwidthPosterior | KnownBandwidth, pooled: Cells, departures: _Departures, rule: RuleOfThumb | None
) -> np.ndarray:
    """log densities of cells of one class and feature, averaged over the bandwidth, without the rows that leave.

    The density at a cell u is a kernel density of the training cells of the class, averaged over the posterior of its
    bandwidth. In leave-one-out the row of u leaves the training cells first. The posterior is the prior times the
    leave-one-out product of the training cells, in which each cell is predicted by the others.

    Parameters
    ----------
    posterior : of the bandwidth, with the cells of the class
    pooled : cells of all classes in this feature
    departures : the q cells to predict, and the weights that leave with their rows
    rule : makes the prior of the bandwidth without each row; None where the prior stays

    Returns
    -------
    (q,), in nats; 0 where no class has a cell left
    """
    if not len(departures.u):
        return np.zeros(0)

    # rows with the same cell and weights have the same result, which is computed once and copied by `index` at the end
    distinct, index = departures.distinct()

    # the prior of the bandwidth that the training cells give without each row
    priors = None
    if rule is not None:
        priors = rule.without(posterior.cells, pooled, distinct.u, distinct.of_class, distinct.of_all)
    log_f = _log_averages_of_distinct(posterior, pooled, distinct, priors)
    return log_f[index]


def _log_averages_of_distinct(
    posterior: BandwidthPosterior | KnownBandwidth,
    pooled: Cells,
    departures: _Departures,
    priors: BandwidthPriors | None,
) -> np.ndarray:
    """`_log_averages` of departures of which no two are equal, (q,): four cases, by what remains without the row.

    `log_average(u, leaving, cells, priors)` is the log of the kernel density of `cells` at u, without a weight
    `leaving` of the cell at u, averaged over a distribution of the bandwidth: the posterior, or its prior.

    Parameters
    ----------
    posterior, pooled, departures : as in `_log_averages`
    priors : of the bandwidth without each row; None where the prior stays
    """
    u, leaving_class, leaving_all = departures
    cells = posterior.cells  # distinct training cells of the class, in ascending order
    cases = _cases(cells, pooled, departures)  # four masks (q,)
    log_f = np.zeros(len(u))

    def priors_of(rows: np.ndarray) -> BandwidthPriors | None:
        return None if priors is None else priors.select(rows)

    # nothing leaves the class: its posterior as it is
    rows = cases.stays
    if rows.any():
        log_f[rows] = posterior.log_average(u[rows], np.zeros(rows.sum()), cells, priors_of(rows))

    # the row leaves the kernels and the posterior of the bandwidth
    rows = cases.leaves
    if rows.any():
        cell = np.searchsorted(cells.value, u[rows])  # positions of the cells u among those of the class
        log_f[rows] = posterior.log_loo(cell, leaving_class[rows], priors_of(rows))

    # the row leaves the kernels; the bandwidth has its prior
    rows = cases.keeps_prior
    if rows.any():
        log_f[rows] = posterior.prior.log_average(u[rows], leaving_class[rows], cells, priors_of(rows))

    # the kernels are those of the cells of all classes; the bandwidth has its prior
    rows = cases.borrows
    if rows.any():
        log_f[rows] = posterior.prior.log_average(u[rows], leaving_all[rows], pooled, priors_of(rows))
    return log_f


class _Cases(NamedTuple):
    """In which of four cases each of q departures is, (q,) booleans; in none of them no cell is left in any class.

    Fields
    ------
    stays : nothing leaves the class
    leaves : the row leaves the class, and other cells of the class remain
    keeps_prior : the same, but all cells that remain in the classes are equal. Then the leave-one-out product says
        nothing of the bandwidth
    borrows : the class has no cell left, but other classes have
    """

    stays: np.ndarray
    leaves: np.ndarray
    keeps_prior: np.ndarray
    borrows: np.ndarray


def _cases(cells: Cells, pooled: Cells, departures: _Departures) -> _Cases:
    """The case of each departure, by how many distinct cells remain without it.

    A row is often one of several with the same cell, and then all distinct cells remain.

    Parameters
    ----------
    cells, pooled : of the class, and of all classes
    departures : q cells, and the weights that leave with their rows
    """
    u, leaving_class, leaving_all = departures
    n_in_all = _n_remaining(pooled, u, leaving_all)  # (q,), distinct cells of all classes
    n_in_class = _n_remaining(cells, u, leaving_class)
    leaves_class = (leaving_class > 0) & np.isin(u, cells.value)

    class_is_empty = n_in_class == 0
    becomes_constant = (n_in_all == 1) & (len(pooled.value) == 2)  # the feature varies, but not without the row
    is_regular = ~class_is_empty & ~becomes_constant
    return _Cases(
        stays=is_regular & ~leaves_class,
        leaves=is_regular & leaves_class,
        keeps_prior=becomes_constant & ~class_is_empty,
        borrows=class_is_empty & (n_in_all > 0),
    )


def _n_remaining(cells: Cells, u: np.ndarray, leaving: np.ndarray) -> np.ndarray:
    """How many distinct cells remain after a weight leaves the cell with value u, (q,): one fewer if it vanishes.

    Parameters
    ----------
    cells : of one class and feature, or of all classes
    u, leaving : (q,), values, which need not be among the cells, and weights; each departure is considered alone
    """
    # the weight of the cell with each value, (q,); 0 where there is no such cell. `cells.value` is sorted
    is_cell = np.isin(u, cells.value)
    weight = np.zeros(len(u))
    weight[is_cell] = cells.weight[np.searchsorted(cells.value, u[is_cell])]

    # a difference of the size of rounding is 0: the row was the only one with this cell
    vanishes = is_cell & (weight - leaving <= rounding(weight) * weight)
    return len(cells.value) - vanishes


@cache
def _spline() -> np.ndarray:
    """The matrix that takes values at `_NODES` even nodes to a mesh `_MESH` times as fine, by cubic splines.

    A spline is linear in the values that it goes through, so its values for unit vectors are the columns, (f, nodes).
    """
    from scipy.interpolate import CubicSpline

    mesh = np.linspace(0, _NODES - 1, (_NODES - 1) * _MESH + 1)
    return CubicSpline(range(_NODES), np.eye(_NODES))(mesh)
