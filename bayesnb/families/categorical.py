"""Dirichlet–categorical: features with K levels, coded 0 … K−1.

    θ_cj ~ Dirichlet(α_cj1 … α_cjK)       level probabilities of feature j in class c
    x_ij | y_i = c ~ Categorical(θ_cj)    independent given the class; NaN or another code = missing, left out

All features of one block have the same number of levels. Features with other numbers of levels form other blocks, and
the tables of all blocks are added. Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §3.4.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import n_rows, observed
from ..core.arrays import Array, Float, Real, Sparse, Theta, is_sparse
from ..core.pytrees import pytree
from ..core.random import categorical
from ..core.special import digamma, namespace, tetragamma, trigamma
from ..core.supports import COUNT, Cells, Field, declare
from ..dirichlet import AbstractDirichlet
from ..loops import contiguous, worth
from ..statistics import Counts
from ..sums.by_class import by_class, class_totals, levels_by_class, subtract_weight
from ..sums.own_class import look_up_of_own
from ..sums.rows import downdate, indicators, leave_one_out_table, made_dense, matmul


@pytree
@dataclass(frozen=True)
class DirichletCategorical(AbstractDirichlet):
    """Dirichlet density of each θ_cj, as a prior or a posterior.

    Fields
    ------
    alpha : (c, d, k)   pseudo-counts of the levels, positive
    """

    alpha: Float[Array, "c d k"]

    fields_ = declare(alpha=Field(COUNT, ("class", "feature", "level")))
    cells_ = Cells("levels", sparse=True)
    separable = True
    kept_types = frozenset({"int64"})

    def suffstats(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Counts:
        """n_cjk = Σ_i r_ic [x_ij = k]."""
        if (counts := levels_by_class(r, x, self.alpha.shape[-1])) is not None:
            return Counts(counts, 0 * counts[..., 0])
        n = by_class(r, indicators(x, self.alpha.shape[-1])).reshape(self.alpha.shape)
        if is_sparse(x):
            n[..., 0] = subtract_weight(class_totals(r)[:, None], -n[..., 0])
        return Counts(n, 0 * n[..., 0])

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j log α_jx / Σ_k α_jk: the posterior mean plugged in."""
        return self.log_likelihood(self.mean(), x)

    @made_dense
    def log_loo(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i: α_jx − w for α_jx and Σα − w for Σα in the classes where it has weight w."""

        def own(x: Array, w: Array, alpha: Array) -> Array:
            seen = (x >= 0) & (x < alpha.shape[-1])
            level = alpha[np.arange(x.shape[1]), xp.where(seen, x, 0).astype(int)]
            return xp.where(seen, xp.log(downdate(level, w)) - xp.log(downdate(alpha.sum(-1), w)), 0).sum(1)

        def units(x: Array, y: Array) -> Array:
            whole = downdate(self.alpha.sum(-1, keepdims=True), 1.0)
            return look_up_of_own(x, y, np.log(downdate(self.alpha, 1.0)) - np.log(whole), 0.0)

        xp = namespace(x, r, self.alpha)
        return leave_one_out_table(self.log_predictive, own, x, r, self.alpha, units=units)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """Σ_j log θ_jx over the observed cells."""
        return _look_up(x, theta["log_theta"])

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "dk c"], Float[Array, " c"]]:
        """Weights log θ and intercept 0 on the indicators [x_j = k], feature by feature."""
        c = self.alpha.shape[0]
        weights = theta["log_theta"].reshape(c, -1).T
        return weights, 0 * weights.sum(0)

    def log_moments(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Σ_j ψ(α_jx) − ψ(Σ_k α_jk) and Σ_j ψ₁(α_jx) − ψ₁(Σ_k α_jk)."""
        whole = self.alpha.sum(-1, keepdims=True)
        mean = digamma(self.alpha) - digamma(whole)
        return _look_up(x, mean), _look_up(x, trigamma(self.alpha) - trigamma(whole))

    def log_third_cumulant(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j ψ₂(α_jx) − ψ₂(Σ_k α_jk)."""
        third = tetragamma(self.alpha) - tetragamma(self.alpha.sum(-1, keepdims=True))
        return _look_up(x, third)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """x_ij = k with probability α_k / Σα."""
        return categorical(rng, self.mean()["log_theta"][y]).astype(float)

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro, with all plates."""
        import numpyro
        import numpyro.distributions as dist

        c, d, k = self.alpha.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            theta = numpyro.sample("theta", dist.Dirichlet(self.alpha))
        seen, x = observed(x)
        if x is not None:
            seen, x = seen & (x >= 0) & (x < k), x.clip(0, k - 1).astype(int)
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", dist.Categorical(theta[y]).mask(seen).to_event(1), obs=x)


def _look_up(x: Real[Array, "n d"] | Sparse, table: Float[Array, "*s c d k"]) -> Float[Array, "*s n c"]:
    """Σ_j table_cjx over the observed cells; an empty cell of sparse rows has level 0."""
    if namespace(x, table) is np and not is_sparse(x) and table.ndim == 3 and worth(x.size * len(table)):
        from ..loops.counts import look_up

        sums = np.empty((len(x), len(table)))
        levels = table.shape[-1]
        look_up(contiguous(x), contiguous(table.reshape(len(table), -1).T), levels, sums)
        return sums
    found = matmul(indicators(x, table.shape[-1]), table.reshape(*table.shape[:-2], -1))
    return found + table[..., 0].sum(-1)[..., None, :] if is_sparse(x) else found
