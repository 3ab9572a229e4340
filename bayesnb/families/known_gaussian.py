"""Normal with known variance: real features with known noise, such as a measurement error.

    μ_cj ~ Normal(m_cj, σ²_cj / κ_cj)
    x_ij | y_i = c ~ Normal(μ_cj, σ²_cj)       σ² given; NaN = missing, left out cell by cell

This is the normal–inverse-gamma model with a fixed variance. See Murphy (2007), Conjugate Bayesian analysis of the
Gaussian distribution, §2, with κ = σ²/σ₀² for his prior variance σ₀² of the mean.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ._page import AMOUNT, COUNT, LOG_2PI, REAL, Array, Cells, Field, Float, Theta, declare, log1p, namespace, pytree
from .gaussian import NormalCells, growth
from .normals import linear_of_normals


@pytree
@dataclass(frozen=True)
class KnownVarianceNormal(NormalCells):
    """Normal density of each μ_cj, as a prior or a posterior.

    Fields
    ------
    m : (c, d)         centre of the mean, unit of the feature
    kappa : (c, d)     pseudo-rows behind the mean, positive
    variance : (c, d)  the known σ², unit of the feature squared, positive
    log_c : (c, d)     logarithm of the part of the likelihood of all data so far that does not depend on μ, in nats;
                       zero in a prior. It is what an unknown σ² would have learnt from.

    Formulas
    --------
    predictive : log Normal(x; m, σ²(1 + 1/κ)). Murphy (2007), (36)
    mean, mode : m
    mle : x̄
    """

    m: Float[Array, "c d"]
    kappa: Float[Array, "c d"]
    variance: Float[Array, "c d"]
    log_c: Float[Array, "c d"]

    fields_ = declare(
        m=Field(REAL),
        kappa=Field(COUNT, limit=0.0),
        variance=Field(AMOUNT, fitted=False),
        log_c=Field(REAL, fitted=False),
    )
    flat_ = declare(kappa=0.0)
    cells_ = Cells("real", sparse=True)
    parameters = ("mu",)
    student = False
    distribution_ = "Normal", MappingProxyType({"m": "loc", "kappa": "scale"})

    def size_of(self, field: str) -> Array:
        """Of the mean the standard deviation of the cells; of all other fields their own size."""
        return np.sqrt(self.variance) if field == "m" else super().size_of(field)

    def prior(self, sample: Any, dist: Any) -> None:
        """μ ~ Normal(m, σ²/κ)."""
        sample("mu", dist.Normal(self.m, (self.variance / self.kappa) ** 0.5))

    def likelihood(self, dist: Any, mu: Array) -> Any:
        """x ~ Normal(μ, σ²)."""
        return dist.Normal(mu, self.variance**0.5)

    def added(self, s: Any, m: Array, kappa: Array, variance: Array, log_c: Array) -> tuple[Any, ...]:
        """m + n(x̄ − m)/(κ + n), κ + n; σ² stays, and log_c learns what σ² would. Murphy (2007), (20), (24).

        Parameters
        ----------
        s : statistics of the data: weight `n`, mean x̄ `mean` and centred squares `ss`
        m, kappa, variance, log_c : fields of the density
        """
        # the evidence without the factor 1/√(1 + n/κ), which the normaliser of the normal density of μ has already
        fit = self.gain(s, m, kappa, variance, log_c) + 0.5 * log1p(s.n / kappa)
        return m + s.n / (kappa + s.n) * (s.mean - m), kappa + s.n, variance, log_c + fit

    def gain(self, s: Any, m: Array, kappa: Array, variance: Array, log_c: Array) -> Any:
        """−½ n log σ² − ½ [ss + κn(x̄−m)²/(κ+n)]/σ² − ½ log(1 + n/κ). Murphy (2007), (55)."""
        fit = s.n * (0.5 * namespace(variance).log(variance)) + growth(s, m, kappa) / variance
        return -fit - 0.5 * log1p(s.n / kappa)

    def mode_of_shifted_fields(self, mean: Theta, m: Array, *others: Array) -> Theta:
        """m."""
        return {"mu": m}

    def log_normalizer(self) -> Float[Array, "c d"]:
        """½ log(2πσ²/κ), and the part of the likelihood that does not depend on μ."""
        return super().log_normalizer() + self.log_c

    def _terms(self, n: float) -> tuple[Array, ...]:
        """Centre m, slope, weight and level of log p = level + weight n v of a normal cell, v = slope² (x − m)².

        For n = 1 it is the density of a new cell, for n = −1 that of a fitted cell that is left out.
        """
        # The predictive density of one more cell (n = 1) is Normal(m, σ²(1 + 1/κ)). With n = −1 it is that of a fitted
        # cell without it: κ is κ − 1 then.
        m, kappa, variance, _ = self._arrays()  # the fields, (c, d) each
        with np.errstate(invalid="ignore", divide="ignore"):  # for n = −1, in columns in which the rows have no cell
            slope = np.sqrt(0.5 * kappa / (kappa + n) / variance)
            level = -0.5 * n * log1p(n / kappa) - 0.5 * (np.log(variance) + LOG_2PI)
            return m, slope, np.full(m.shape, -n), level

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "d c"], Float[Array, " c"]] | None:
        """Weights μ/σ² and intercept −½ Σ_j μ²/σ²; None where σ² differs between classes: log p is then quadratic."""
        return linear_of_normals(theta["mu"], self.variance)

    def fields_from(self, prior: Any, place: Callable[[Any], Any] = np.asarray) -> dict[str, Any]:
        """m, and κ = σ²/s² of a Normal(m, s)."""
        fields = super().fields_from(prior, place)
        return fields | {"kappa": self.variance / fields["kappa"] ** 2}
