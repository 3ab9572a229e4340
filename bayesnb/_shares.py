"""Beta–Bernoulli for shares: cells from 0 to 1, of which scikit-learn's BernoulliNB takes x as x of a one.

    θ_cj ~ Beta(a_cj, b_cj)             probability of feature j in class c
    p(x_ij | θ_cj) ∝ θˣ (1−θ)¹⁻ˣ        x of a one and 1 − x of a zero; NaN = missing, left out cell by cell

Statistics, update and evidence are those of `BetaBernoulli`. Rows of 0 and 1 have its predictive and moments too;
between 0 and 1 these are not linear in x.
"""

from dataclasses import dataclass

import numpy as np

from .base import n_rows, observed
from .core.arrays import Array, Float, Real, Sparse, is_sparse
from .core.pytrees import pytree
from .core.special import log_rising, namespace, tetragamma, trigamma
from .families.bernoulli import BetaBernoulli
from .sums.by_class import whole_cells
from .sums.rows import contract, downdate, leave_one_out_table, map_cells, sum_over_cells, sum_over_features


@pytree
@dataclass(frozen=True)
class BetaShares(BetaBernoulli):
    """Beta density of each θ_cj, given cells from 0 to 1; the fields are those of `BetaBernoulli`."""

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """log B(a+x, b+1−x) / B(a, b), summed over j: the ratio of evidences."""
        return super().log_predictive(x) if _is_yes_no(x) else sum_over_features(_log_share, x, self.a, self.b)

    def log_cells(self, x: Float[Array, " d"]) -> Float[Array, "c d"]:
        """log B(a+x, b+1−x) / B(a, b) of each cell of one row, 0 if it is missing."""
        xp = namespace(x, self.a)
        seen = ~xp.isnan(x)
        return xp.where(seen, _log_share(xp.where(seen, x, 0), self.a, self.b), 0)

    def log_loo(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log_predictive without row i: a − wx for a and b − w(1−x) for b in the classes where the row has weight w."""
        if _is_yes_no(x):
            return super().log_loo(x, r)

        def cell(x: Array, w: Array, a: Array, b: Array) -> Array:
            return _log_share(x, downdate(a, w * x), downdate(b, w * (1 - x)))

        own = sum_over_cells(cell, lambda w, a, b: cell(0 * w, w, a, b))
        return leave_one_out_table(self.log_predictive, own, x, r, self.a, self.b)

    # Cumulants are derivatives at t = 0 of log B(a+tx, b+t(1−x)). Beside what is linear in x they have terms with the
    # factor x(1−x), which is 0 at 0 and 1.

    def log_moments(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Σ_j xψ(a) + (1−x)ψ(b) − ψ(a+b) and Σ_j x²ψ₁(a) + (1−x)²ψ₁(b) − ψ₁(a+b)."""
        mean, variance = super().log_moments(x)
        if _is_yes_no(x):
            return mean, variance
        both = trigamma(self.a) + trigamma(self.b)  # x² = x − x(1−x), and (1−x)² = 1−x − x(1−x)
        return mean, variance - contract(map_cells(x, lambda x: x * (1 - x)), both, 0 * both)

    def log_third_cumulant(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j x³ψ₂(a) + (1−x)³ψ₂(b) − ψ₂(a+b)."""
        third = super().log_third_cumulant(x)
        if _is_yes_no(x):
            return third
        p, q = tetragamma(self.a), tetragamma(self.b)  # x³ = x − x(1−x)(1+x), and (1−x)³ = 1−x − x(1−x)(2−x)
        constant = contract(map_cells(x, lambda x: x * (1 - x)), p + 2 * q, 0 * q)
        return third - constant - contract(map_cells(x, lambda x: x * x * (1 - x)), p - q, 0 * q)

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The model of `BetaBernoulli`, whose cells NumPyro does not check: its Bernoulli knows only 0 and 1."""
        import numpyro
        import numpyro.distributions as dist

        c, d = self.a.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            theta = numpyro.sample("theta", dist.Beta(self.a, self.b))
        seen, x = observed(x)
        cells = dist.Bernoulli(theta[y], validate_args=False)
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", cells.mask(seen).to_event(1), obs=x)


def _is_yes_no(x: Array | Sparse) -> bool:
    """Whether rows on the host are known to have no cell between 0 and 1."""
    return namespace(x) is np and whole_cells(x.data if is_sparse(x) else x)


def _log_share(x: Array, a: Array, b: Array) -> Array:
    """log B(a+x, b+1−x) / B(a, b)."""
    return log_rising(a, x) + log_rising(b, 1 - x) - namespace(a).log(a + b)
