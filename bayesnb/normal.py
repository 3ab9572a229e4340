"""Normal–inverse-gamma: what the Gaussian and the log-normal page share, for t(x) = x and t(x) = log x.

    σ²_j ~ InverseGamma(a_j, scale b_j)
    μ_j | σ²_j ~ Normal(m_j, σ²_j / κ_j)     mean and variance of t(x_j)

Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, §6 (with α, β for a, b).
"""

from typing import Any, ClassVar

import numpy as np

from .conjugate import Conjugate, Sums
from .core.arrays import Array, Float, Real, Sparse, Theta, is_sparse
from .core.special import LOG_2PI, digamma, gammaln, namespace, tetragamma, trigamma
from .core.supports import declare
from .normals import cumulant_of_cells
from .statistics import Moments
from .sums.gaussian import sum_of_logs, sum_of_own
from .sums.rows import map_cells, sum_over_cells_of


class NormalCells(Conjugate[Moments]):
    """Normal cells t(x) with a conjugate mean, whose sums over many rows on the host take few operations a cell."""

    student: ClassVar[bool] = True
    """Whether the variance is learnt, so that a cell is Student t and not normal."""

    m: Float[Array, "c d"]

    def _terms(self, n: float) -> tuple[Array, ...]:
        """Centre, slope, weight and level of n power(n), n = ±1, for the sums of `sums.gaussian`."""
        raise NotImplementedError

    def own_left_out(self, x: Array | Sparse, at: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Σ_j left_out: in one pass for rows of weight 1."""
        if is_sparse(x) or (w != 1).any():
            return super().own_left_out(x, at, y, w)
        return sum_of_own(x, at, y, self._terms(-1.0), self.student)


class ConjugateNormal(NormalCells):
    """Normal–inverse-gamma density of means and variances: estimates, and sums over many cells.

    Fields
    ------
    m : (c, d)       centre of the mean, unit of the feature
    kappa : (c, d)   pseudo-rows behind the mean, positive
    a : (c, d)       shape of the variance: half the pseudo-rows behind it, positive
    b : (c, d)       scale of the variance, unit of the feature squared, positive
    """

    m: Float[Array, "c d"]
    kappa: Float[Array, "c d"]
    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    flat_ = declare(kappa=0.0, a=-1.5, b=0.0)
    parameters = ("mu", "variance")

    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """Σ_j log t(x_j; 2a, m, b(κ+1)/(aκ)). Murphy (2007), (100)."""
        return sum_of_logs(x, *self._terms(1.0)) if namespace(x, self.m) is np else super().log_predictive(x)

    def _terms(self, n: float) -> tuple[Array, ...]:
        """n power(n) for n = ±1: what it is at x = m, and −n(a + n/2) log(1 + ½ n κ (x − m)²/((κ + n) b))."""
        m, kappa, a, b = self._arrays()
        with np.errstate(invalid="ignore", divide="ignore"):  # of columns in which the rows have no cell
            level = n * self.gain(Sums(n, 0.0, m), m, kappa, a, b) - 0.5 * LOG_2PI
            slope = np.sqrt(0.5 * kappa / (kappa + n)) / np.sqrt(b)
        return m, slope, -n * (a + 0.5 * n), level

    def _cumulant(self, order: int, x: Any) -> Array:
        """Those of Student's t in closed form: for λ = 1/σ² the cumulants of log λ, E λ = a/b, Cov(log λ, λ) = 1/b."""
        m, kappa, a, b = self._arrays()
        psi = (digamma, trigamma, tetragamma)[order - 1](a) - (namespace(b).log(b) if order == 1 else 0)
        t = map_cells(x, self.statistic)
        table = cumulant_of_cells(order, psi, a / b, 0.5 / b, kappa, t, m)
        return table + sum_over_cells_of(lambda x, _, m: self.log_h(x) + 0 * m, x, 1.0, (m,)) if order == 1 else table

    def mean(self) -> Theta:
        """m and b/(a − 1); the variance has a mean only for a > 1, otherwise this is its mode b/(a + 1)."""
        return {"mu": self.m, "variance": self.b / namespace(self.a).where(self.a > 1, self.a - 1, self.a + 1)}

    def peak(self, mean: Theta, m: Array, kappa: Array, a: Array, b: Array) -> Theta:
        """m and b/(a + 3/2), the joint mode; the flat density has a = −3/2."""
        xp = namespace(b)
        return {"mu": m, "variance": xp.maximum(b / a, xp.finfo(b.dtype).tiny)}

    def log_normalizer(self) -> Float[Array, "c d"]:
        """log Γ(a) − a log b + ½ log(2π/κ)."""
        xp = namespace(self.a)
        return gammaln(self.a) - self.a * xp.log(self.b) + 0.5 * (LOG_2PI - xp.log(self.kappa))

    def marginals(self) -> dict[str, Any]:
        """Student t(2a, m, b/(aκ)) for `mu`, InverseGamma(a, b) for `variance`."""
        from scipy import stats

        scale = np.sqrt(self.b / (self.a * self.kappa))
        return {"mu": stats.t(2 * self.a, self.m, scale), "variance": stats.invgamma(self.a, scale=self.b)}
