"""Normal–inverse-gamma: what the Gaussian and the log-normal page share, for t(x) = x and t(x) = log x.

    σ²_j ~ InverseGamma(a_j, scale b_j)
    μ_j | σ²_j ~ Normal(m_j, σ²_j / κ_j)     mean and variance of t(x_j)

Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, §6 (with α, β for a, b).
"""

from typing import Any

import numpy as np

from .conjugate import Conjugate, Sums
from .core.arrays import Array, Float, Real, Sparse, Theta
from .core.special import LOG_2PI, digamma, gammaln, namespace, tetragamma, trigamma
from .core.supports import declare
from .statistics import Moments
from .sums.gaussian import sum_of_logs
from .sums.rows import sum_over_cells_of


class ConjugateNormal(Conjugate[Moments]):
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
        return self._sum(x, 1.0) if namespace(x, self.m) is np else super().log_predictive(x)

    def log_left_out(self, x: Real[Array, "n d"] | Sparse, w: Any) -> Float[Array, "n c"]:
        """The same without cells of weight w."""
        host = namespace(x, self.m) is np and np.ndim(w) == 0 and w == 1
        return self._sum(x, -1.0) if host else super().log_left_out(x, w)

    def _sum(self, x: Any, n: float) -> Array:
        """Σ_j n power(n), n = 1 or −1: what it is at x = m, and −n(a + n/2) log(1 + ½ n κ (x − m)²/((κ + n) b))."""
        m, kappa, a, b = self._arrays()
        with np.errstate(invalid="ignore", divide="ignore"):  # of columns in which the rows have no cell
            level = n * self.gain(Sums(n, 0.0, m), m, kappa, a, b) - 0.5 * LOG_2PI
            slope = np.sqrt(0.5 * kappa / (kappa + n)) / np.sqrt(b)
        return sum_of_logs(x, m, slope, -n * (a + 0.5 * n), level, n)

    def _cumulant(self, order: int, x: Any) -> Array:
        """The Taylor coefficients of `power`, written out: polynomials in u = (x − m)²/b.

        ½(ψ(a) − log b − 1/κ − au), ¼(ψ₁(a) + 2/κ² − 2u + 4au/κ + au²) and
        ⅛ψ₂(a) − 1/κ³ + 3u/(2κ) − 3au/κ² + ⅜u² − 3au²/(2κ) − ¼au³, of which the first has log h(x) besides.
        """
        m, k, a, b = self._arrays()
        zero = 0 * a
        factors = {
            1: (digamma(a) / 2 - namespace(b).log(b) / 2 - 0.5 / k, -a / 2, zero, zero),
            2: (trigamma(a) / 4 + 0.5 / k**2, a / k - 0.5, a / 4, zero),
            3: (tetragamma(a) / 8 - 1 / k**3, 1.5 / k - 3 * a / k**2, 0.375 - 1.5 * a / k, -a / 4),
        }[order]

        def cell(x: Array, _: Any, m: Array, b: Array, *f: Array) -> Array:
            u = (self.statistic(x) - m) ** 2 / b
            found = f[0] + u * (f[1] + u * (f[2] + u * f[3]))
            return found + self.log_h(x) if order == 1 else found

        return sum_over_cells_of(cell, x, 1.0, (m, b, *factors))

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


def growth(s: Any, m: Array, kappa: Array) -> Any:
    """½ ss + ½ κ n (x̄ − m)²/(κ + n), what data add to b."""
    return (s.n / (kappa + s.n) * (kappa * (s.mean - m) ** 2) + s.ss) * 0.5
