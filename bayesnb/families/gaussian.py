"""Normal–inverse-gamma: real features, with a mean and a variance for each class and feature.

    σ²_cj ~ InverseGamma(a_cj, scale b_cj)
    μ_cj | σ²_cj ~ Normal(m_cj, σ²_cj / κ_cj)
    x_ij | y_i = c ~ Normal(μ_cj, σ²_cj)       independent given the class; NaN = missing, left out cell by cell

With both parameters integrated out one value is Student t. See Murphy (2007), Conjugate Bayesian analysis of the
Gaussian distribution, §3 (with α, β for a, b); Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., §3.3.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..numerics.arrays import Array, Data, Float, Sparse, Table, Tables, Theta, is_sparse
from ..numerics.special import LOG_2PI, gammaln, log1p, log_rising, namespace, polygamma
from ..sums.tables import log_normal_sum, sum_of_logs, sum_of_own
from ._page import AMOUNT, COUNT, REAL, Cells, Field, Moments, declare, pytree
from .conjugate import Conjugate
from .normals import cumulant_of_cells, student_marginals


def growth(s: Any, m: Array, kappa: Array) -> Any:
    """½ ss + ½ κ n (x̄ − m)²/(κ + n): what data add to the scale b of the variance. Murphy (2007), (89).

    Parameters
    ----------
    s : statistics of the data: weight `n`, mean x̄ `mean`, centred sum of squares `ss`
    m, kappa : centre of the prior mean, and pseudo-rows behind it
    """
    return (s.n / (kappa + s.n) * (kappa * (s.mean - m) ** 2) + s.ss) * 0.5


class NormalCells(Conjugate[Moments]):
    """Normal cells t(x) with a conjugate mean, whose sums over many rows on the host take few operations a cell."""

    student: ClassVar[bool] = True
    """Whether the variance is learnt, so that a cell is Student t and not normal."""

    monoid = Moments

    m: Float[Array, "c d"]
    kappa: Float[Array, "c d"]

    def _terms(self, n: float) -> tuple[Array, ...]:
        """What log p of a single cell is computed from, for the sums over columns in `sums.tables`.

        Parameters
        ----------
        n : 1 for the predictive of a new cell, −1 for that of a fitted cell that is left out

        Returns
        -------
        centre, slope, weight, level : (c, d) each. With v = slope² (x − centre)², a Student cell has
            log p = level + weight log(1 + n v), and a normal one log p = level + weight n v. The level is log p at the
            centre
        """
        raise NotImplementedError

    @cached_property
    def _predictive_terms(self) -> tuple[Array, ...]:
        return self._terms(1.0)

    def _change(self, x: Any) -> Any:
        """Σ_j log |dt/dx| over the observed cells, (n, 1)."""
        return 0.0

    def log_h(self, x: Array) -> Array:
        """−½ log 2π."""
        return 0 * x - 0.5 * LOG_2PI

    def log_predictive(self, x: Data) -> Table:
        """Σ_j log t(x_j; 2a, m, b(κ+1)/(aκ)), Murphy (2007), (100); with known variance normal, (36)."""
        if namespace(x, self.m) is not np:  # JAX: the general formula, a gain for each cell
            return super().log_predictive(x)

        # Σ_j level + weight log(1 + slope² (t(x) − m)²), which is the Student density, and the change of variables
        return sum_of_logs(self._of_cells(x), *self._predictive_terms, student=self.student) + self._change(x)

    def log_loo_of_label(self, x: Array | Sparse, at: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Σ_j log p of rows that are left out, each in one class, (m,): in one pass for dense rows of weight 1.

        Parameters
        ----------
        at, y, w : (m,) which rows of x, in which class, and their weights in it
        """
        # Only for dense rows of weight 1 there is such a pass: `_terms(-1)` are centre, slope, weight and level (c, d)
        # of the log density of a cell that is taken out, level + weight log(1 − slope² (x − centre)²).
        if is_sparse(x) or (w != 1).any():
            return super().log_loo_of_label(x, at, y, w)
        change = np.broadcast_to(self._change(x), (len(x), 1))[at, 0]  # (m,), log |dt/dx| where a cell is t(x) = log x
        return sum_of_own(self._of_cells(x), at, y, self._terms(-1.0), self.student) + change

    def log_likelihood(self, theta: Theta, x: Data) -> Tables:
        """−½ Σ_j log 2πσ² + (t(x) − μ)²/σ², and the change of variables."""
        variance = theta["variance"] if self.student else self._arrays()[2]  # the third field is the known σ²
        return log_normal_sum(self._of_cells(x), theta["mu"], variance**0.5) + self._change(x)


@pytree
@dataclass(frozen=True)
class NormalInverseGamma(NormalCells):
    """Normal–inverse-gamma density of each (μ_cj, σ²_cj), as a prior or a posterior.

    Fields
    ------
    m : (c, d)       centre of the mean, unit of the feature
    kappa : (c, d)   pseudo-rows behind the mean, positive
    a : (c, d)       shape of the variance: half the pseudo-rows behind it, positive
    b : (c, d)       scale of the variance, unit of the feature squared, positive

    Formulas
    --------
    predictive : log t(x; 2a, m, b(κ+1)/(aκ)). Murphy (2007), (100)
    mean : m and b/(a − 1); the variance has a mean only for a > 1, otherwise this is its mode b/(a + 1)
    mode : m and b/(a + 3/2), the joint mode
    mle : x̄ and ss/n
    """

    m: Float[Array, "c d"]
    kappa: Float[Array, "c d"]
    a: Float[Array, "c d"]
    b: Float[Array, "c d"]

    fields_ = declare(
        m=Field(REAL),
        kappa=Field(COUNT, limit=0.0),
        a=Field(COUNT, limit=-0.5),
        b=Field(AMOUNT, limit=0.0, per="a"),
    )
    cells_ = Cells("real", sparse=True)
    flat_ = declare(kappa=0.0, a=-1.5, b=0.0)
    parameters = ("mu", "variance")

    def size_of(self, field: str) -> Array:
        """Of the mean about the standard deviation √(b/a) of the cells; of all other fields their own size."""
        return np.sqrt(self.b / self.a) if field == "m" else super().size_of(field)

    def prior(self, sample: Any, dist: Any) -> None:
        """σ² ~ InverseGamma(a, scale b), μ ~ Normal(m, σ²/κ)."""
        variance = sample("variance", dist.InverseGamma(self.a, self.b))
        sample("mu", dist.Normal(self.m, variance**0.5 / self.kappa**0.5))

    def likelihood(self, dist: Any, mu: Array, variance: Array) -> Any:
        """x ~ Normal(μ, σ²)."""
        return dist.Normal(mu, variance**0.5)

    def added(self, s: Any, m: Array, kappa: Array, a: Array, b: Array) -> tuple[Any, ...]:
        """m + n(x̄ − m)/(κ + n), κ + n, a + n/2, b + ½ ss + ½ κ n (x̄ − m)²/(κ + n). Murphy (2007), (85)–(89)."""
        return m + s.n / (kappa + s.n) * (s.mean - m), kappa + s.n, a + s.n / 2, b + growth(s, m, kappa)

    def gain(self, s: Any, m: Array, kappa: Array, a: Array, b: Array) -> Any:
        """log Γ(a+n/2)/Γ(a) − (a+n/2) log(bₙ/b) − ½ n log b − ½ log(1 + n/κ). Murphy (2007), (95).

        It is by how much data raise the log normaliser of the normal–inverse-gamma density; bₙ is b after the data. Of
        one cell, with −½ log 2π, it is log t(x; 2a, m, b(κ+1)/(aκ)), (100).

        Parameters
        ----------
        s : statistics of the data: weight `n`, mean x̄ `mean` and centred squares `ss`
        m, kappa, a, b : fields of the density
        """
        # bₙ/b = 1 + growth/b, with growth = ½ ss + ½ κ n (x̄ − m)²/(κ + n)
        spread = log1p(growth(s, m, kappa) / b) * (a + s.n * 0.5) + s.n * (0.5 * namespace(b).log(b))
        return log_rising(a, s.n * 0.5) - spread - 0.5 * log1p(s.n / kappa)

    def _terms(self, n: float) -> tuple[Array, ...]:
        """Centre m, slope, weight and level of log p = level + weight log(1 + n v) of a cell, v = slope² (x − m)².

        It is a Student density: for n = 1 that of a new cell, for n = −1 that of a fitted cell that is left out.
        """
        # The Student density of one more cell (n = 1) is the gain of its statistics: a rises by ½ and b by
        # ½ κ (x − m)²/(κ + 1). With n = −1 it is the inverse: minus the gain of removing the cell.
        m, kappa, a, b = self._arrays()  # the fields, (c, d) each
        with np.errstate(invalid="ignore", divide="ignore"):  # for n = −1, in columns in which the rows have no cell
            slope = np.sqrt(0.5 * kappa / (kappa + n)) / np.sqrt(b)
            level = n * (log_rising(a, 0.5 * n) - 0.5 * log1p(n / kappa)) - 0.5 * (np.log(b) + LOG_2PI)
            return m, slope, -n * (a + 0.5 * n), level

    def _cumulant(self, order: int, x: Any) -> Array:
        """Cumulants over θ of log p(x | θ), (n, c): mean, variance and third for order 1, 2 and 3.

        log p(x | θ) = ½ log λ − ½ log 2π − ½ λ (x − μ)². With λ = 1/σ² ~ Gamma(a, rate b) the cumulants need those of
        log λ, which are polygamma functions, E λ = a/b and Cov(log λ, λ) = 1/b.

        Parameters
        ----------
        order : 1, 2 or 3
        x : (n, d), rows, dense or sparse
        """
        m, kappa, a, b = self._arrays()  # the fields, (c, d) each
        log_2pi_b = LOG_2PI + namespace(b).log(b) if order == 1 else 0  # only the mean depends on the unit
        psi = polygamma(order - 1, a) - log_2pi_b
        mean_of_precision = a / b  # E λ
        cells = self._of_cells(x)  # x itself, or log x of a log-normal
        table = cumulant_of_cells(order, psi, mean_of_precision, 0.5 / b, kappa, cells, m)  # summed over the columns

        # the density of x is that of log x times a factor without θ, which only the mean has
        return table + self._change(x) if order == 1 else table

    def mean(self) -> Theta:
        """m and b/(a − 1); the variance has a mean only for a > 1, otherwise this is its mode b/(a + 1)."""
        divisor = namespace(self.a).where(self.a > 1, self.a - 1, self.a + 1)
        return {"mu": self.m, "variance": self.b / divisor}

    def mode_of_shifted_fields(self, mean: Theta, m: Array, kappa: Array, a: Array, b: Array) -> Theta:
        """m and b/(a + 3/2), the joint mode; the flat density has a = −3/2.

        Parameters
        ----------
        mean : not used: there is always a mode inside
        m, kappa, a, b : the fields less those of the flat density, so that a is a + 3/2 of the density
        """
        xp = namespace(b)  # numpy or jax.numpy; a variance of 0 is raised to the smallest number
        return {"mu": m, "variance": xp.maximum(b / a, xp.finfo(b.dtype).tiny)}

    def log_normalizer(self) -> Float[Array, "c d"]:
        """log Γ(a) − a log b + ½ log(2π/κ)."""
        xp = namespace(self.a)
        return gammaln(self.a) - self.a * xp.log(self.b) + 0.5 * (LOG_2PI - xp.log(self.kappa))

    def marginals(self) -> dict[str, Any]:
        """Student t(2a, m, b/(aκ)) for `mu`, InverseGamma(a, b) for `variance`."""
        return student_marginals(self.m, self.kappa, self.a, self.b)
