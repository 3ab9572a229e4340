"""Dirichlet–categorical: features with K levels, coded 0 … K−1.

    θ_cj ~ Dirichlet(α_cj1 … α_cjK)       level probabilities of feature j in class c
    x_ij | y_i = c ~ Categorical(θ_cj)    independent given the class; NaN or another code = missing, left out

All features of one block have the same number of levels. Features with other numbers of levels form other blocks, and
the tables of all blocks are added. Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §3.4.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.arrays import Array, Data, Float, Tables, Theta, Weights
from ..sums.rows import levels_by_class, remove_row
from ..sums.tables import look_up
from ._page import COUNT, Cells, CellStatistics, Conjugate, Counts, Field, declare, log_rising, namespace, pytree


@pytree
@dataclass(frozen=True)
class DirichletCategorical(Conjugate[Counts]):
    """Dirichlet density of each θ_cj, as a prior or a posterior.

    Fields
    ------
    alpha : (c, d, k)   pseudo-counts of the levels, positive

    Formulas
    --------
    predictive : log α_x / Σ_k α_k, the mean plugged in
    mean : α / Σ_k α_k, add-α smoothing
    mode : (α − 1)/Σ_k (α_k − 1); 0 where α_k ≤ 1; the mean where all are
    mle : n_k / Σ_k n_k
    """

    alpha: Float[Array, "c d k"]

    fields_ = declare(alpha=Field(COUNT, ("class", "feature", "level")))
    cells_ = Cells("levels", sparse=True)
    parameters = ("log_theta",)

    def prior(self, sample: Any, dist: Any) -> None:
        """θ ~ Dirichlet(α)."""
        sample("theta", dist.Dirichlet(self.alpha))

    def likelihood(self, dist: Any, theta: Array) -> Any:
        """x ~ Categorical(θ)."""
        return dist.Categorical(theta)

    def suffstats(self, x: Data, r: Weights) -> Counts:
        """n_cjk = Σ_i r_ic [x_ij = k], the weight of each level k by class and feature, (c, d, k)."""
        n = levels_by_class(r, x, self.alpha.shape[-1])
        return Counts(n, 0 * n[..., 0])  # the log base measure of levels is 0

    def sums(self, stats: Counts) -> CellStatistics:
        """n = Σ_k n_k and the counts of the levels."""
        return CellStatistics(stats.n.sum(-1), stats.n)

    def added(self, s: Any, alpha: Array) -> tuple[Any]:
        """α + n."""
        return (alpha + s.total,)

    def gain(self, s: Any, alpha: Array) -> Any:
        """log B(α + n) / B(α), written with rising factorials."""
        return log_rising(alpha, s.total).sum(-1) - log_rising(alpha.sum(-1), s.n)

    def _of_level(self, x: Array, alpha: Array) -> tuple[Array, Array]:
        """α_x and Σα of a cell of level x.

        Parameters
        ----------
        x : cells, of any shape that broadcasts with that of `alpha` without its last axis
        alpha : (…, k), pseudo-counts of the levels
        """
        xp = namespace(x, alpha)  # numpy or jax.numpy
        level = x.astype(int)[..., None]  # with an axis of length 1 for the levels of α

        # `take_along_axis` picks α at the level of each cell. It broadcasts the two arrays, but wants as many axes in
        # both: levels (n, 1, d, 1) and α (c, d, k) are given as (n, 1, d, 1) and (1, c, d, k), and the result is
        # (n, c, d, 1)
        n_axes = max(level.ndim, alpha.ndim)
        axes_before_level = (1,) * (n_axes - level.ndim)
        axes_before_alpha = (1,) * (n_axes - alpha.ndim)
        alpha_of_cell = xp.take_along_axis(
            alpha.reshape(axes_before_alpha + alpha.shape), level.reshape(axes_before_level + level.shape), -1
        )
        return alpha_of_cell[..., 0], alpha.sum(-1)

    def power(self, x: Array, w: Any, alpha: Array) -> Any:
        """The gain of a cell of level x: log α_x^(w) / (Σα)^(w), rising factorials; for w = 1 the posterior mean."""
        alpha_x, total = self._of_level(x, alpha)
        return log_rising(alpha_x, w) - log_rising(total, w)

    def log_loo_cell(self, x: Array, w: Any, *fields: Any) -> Any:
        """log (α_x − w) / (Σα − w): the predictive of a cell of level x, after its weight w has left the counts α."""
        xp = namespace(x, *fields)  # numpy or jax.numpy
        alpha_x, total = self._of_level(x, *fields)
        return xp.log(remove_row(alpha_x, w)) - xp.log(remove_row(total, w))

    def cells(self, x: Any) -> Any:
        """The cells with NaN in place of codes outside the levels 0 … K−1, which are missing cells."""
        return namespace(x).where((x >= 0) & (x < self.alpha.shape[-1]), x, np.nan)

    def levels(self, x: Any) -> int:
        """K, whatever the cells."""
        return self.alpha.shape[-1]

    def log_likelihood(self, theta: Theta, x: Data) -> Tables:
        """Log likelihood of rows under given level probabilities: Σ_j log θ_jx over the observed cells, (…, n, c).

        Parameters
        ----------
        theta : `log_theta`, (…, c, d, k), leading axes are draws
        x : (n, d) levels 0 … k − 1; any other cell is missing
        """
        log_theta = theta["log_theta"]  # (…, c, d, k)
        if namespace(x, log_theta) is np:  # NumPy
            return look_up(x, log_theta)  # the entry of the level of each cell, summed over the columns

        # JAX: Σ_j Σ_k [x_j = k] log θ_jk, with an indicator for each feature and level, which a missing cell has not.
        # With 2 features and 3 levels the cells (1, 0) have the indicators (0, 1, 0) and (1, 0, 0), or side by side
        # (0, 1, 0, 1, 0, 0)
        is_level = (x[..., None] == np.arange(self.alpha.shape[-1])).astype(log_theta.dtype)  # (n, d, k)
        indicators = is_level.reshape(len(x), -1)  # (n, d·k)
        log_theta_by_class = log_theta.reshape(*log_theta.shape[:-2], -1)  # (…, c, d·k), side by side too
        return indicators @ log_theta_by_class.swapaxes(-1, -2)  # (…, n, c)

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "dk c"], Float[Array, " c"]]:
        """Weights log θ and intercept 0 on the indicators [x_j = k], feature by feature."""
        weights = theta["log_theta"].reshape(len(self.alpha), -1).T
        return weights, 0 * weights.sum(0)

    def observed(self, x: Any) -> tuple[Any, Any]:
        """(mask, x) for a NumPyro site, whose levels are whole numbers."""
        mask, filled = super().observed(x)
        return mask, None if filled is None else filled.astype(int)
