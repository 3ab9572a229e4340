"""Gaussian discriminant analysis for scikit-learn users."""

import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..families.full_gaussian import NormalInverseWishart
from ..families.known_gaussian import KnownVarianceNormal
from ..families.tied_gaussian import TiedNormalInverseWishart
from ..models.naive_bayes import Parameters
from ..numerics.supports import check_choice
from ._base import AbstractNB
from ._documented import documented
from ._fitted import State
from ._input import BLOCK, Unavailable
from .gaussian import column_scale

# The default prior, in pseudo-rows: see the Notes of GaussianDA.
_KAPPA, _DEGREES = 0.1, 1.0


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class GaussianDA(AbstractNB):
    """Gaussian discriminant analysis: x_i | y_i = c ~ Normal(μ_c, Σ_c); features may be correlated within a class.

    Parameters
    ----------
    covariance : "class" (default), "shared" or "identity"
        "class" has one covariance for each class, and the boundaries are quadratic. "shared" has one for all classes,
        and the boundaries are linear. "identity" has Σ = I; this is the nearest-mean rule if the classes are equally
        probable
    {class_parameters}
    prior : optional
        your own prior. It may be a mapping of the fields of the normal–inverse-Wishart density, such as `{"m": 0,
        "kappa": 1, "nu": 5, "S": np.eye(3)}`, or a family that fits `covariance`. With "identity" it may also be
        `dist.Normal(m, s)` of NumPyro. Fields are broadcast to their axes. The default prior is scaled by the data, see
        the Notes
    {estimate}
        The predictive is the multivariate Student t

    Attributes
    ----------
    {learnt}
    log_evidence_ : log p(X, y) in nats
    means_, covariance_ : (c, d), and (c, d, d) or (d, d), under the current `estimate`; the mean for "predictive"
    coef_, intercept_ : discriminant w·x + b, with "shared" and "identity"; two classes give one row
    quadratic_ : (c, d, d) with "class": the discriminant is xᵀAx + w·x + b

    Notes
    -----
    The default prior uses the weighted mean x̄_j and the variance s²_j of feature j over all rows: m = x̄, κ = 0.1, ν =
    d + 1, S = 2 diag(s²). Each feature then has the prior of `GaussianNB`: the spread of all rows, with the weight of
    two rows. The prior mean of every correlation is 0. Shifting or rescaling a feature changes no probability. The
    prior is proper, so the evidence exists.

    Only the covariance of "mle" can be singular. It is then refused, and the message gives the number of rows. Remove a
    constant feature: its variance is learnt too, and gets smaller with each row of a class. With Σ = I the unit of the
    features matters, so bring them to one scale first. Missing cells are refused; GaussianNB leaves them out.

    "mle" gives the linear and quadratic discriminants of scikit-learn 1.9, `LinearDiscriminantAnalysis(solver="lsqr")`
    and `QuadraticDiscriminantAnalysis`. So does "mean" with a prior that has no weight (κ, S → 0, ν = d + 1).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianDA
    >>> GaussianDA(covariance="shared").fit(X, y).score(X, y)
    0.98
    """

    covariance: str = "class"

    _family = NormalInverseWishart
    _variants: ClassVar = {"gaussian-da": {}, "shared-da": {"covariance": "shared"}}
    _most_columns = 60
    _default_follows_rows = True

    def _default_blocks(self, state: State) -> dict[str, Any]:
        """The default prior, on the scale of all rows: μ ~ Normal(x̄, Σ/0.1), Σ ~ InverseWishart(d + 1, 2 diag(s²)).

        x̄ and s² are means and variances of the columns over all rows. `covariance` chooses one of three families: Σ =
        I is known, shared by the classes, or learnt for each class.

        Parameters
        ----------
        state : with classes and columns; without statistics the prior only computes statistics, and any scale will do
        """
        check_choice("covariance", self.covariance, ("class", "shared", "identity"))
        is_identity = self.covariance == "identity"

        # mean and variance of each column over all rows, (d,)
        c, d = state.shape
        centre = np.zeros(d)
        spread = np.ones(d)
        if state.statistics is not None:
            # with a known Σ the statistics are weight, mean and sum of squares of each column. Otherwise they have
            # matrices of cross products (d, d), and `moments` takes their diagonals. `column_scale` adds up the classes
            stats = state.statistics.blocks[BLOCK]
            moments = stats if is_identity else stats.moments()
            centre, spread = column_scale(moments)

        # Σ = I: independent normal cells with variance 1, each mean with κ pseudo-rows
        m = np.tile(centre, (c, 1))  # (c, d), equal in all classes
        if is_identity:
            kappa_of_cells = np.full((c, d), _KAPPA)
            return {BLOCK: KnownVarianceNormal(m, kappa_of_cells, variance=np.ones((c, d)), log_c=np.zeros((c, d)))}

        # Σ is learnt: κ pseudo-rows behind the mean of each class, ν = d + 1 degrees of freedom, and a diagonal scale
        # 2 s², in which a constant column has variance 1. InverseWishart(ν, S) gives each variance the marginal
        # InverseGamma((ν − d + 1)/2, S_jj/2) = InverseGamma(1, s²), which is the prior of `GaussianNB`
        kappa = np.full(c, _KAPPA)
        nu = d + _DEGREES
        scale = 2 * np.where(spread > 0, spread, 1) * np.eye(d)  # (d, d)
        if self.covariance == "shared":
            return {BLOCK: TiedNormalInverseWishart(m, kappa, np.array([nu]), scale)}
        return {BLOCK: NormalInverseWishart(m, kappa, np.full(c, nu), np.tile(scale, (c, 1, 1)))}

    def _refined(self, state: State, theta: Parameters) -> Parameters:
        """The point estimate as it is; an error if one of its covariances is singular, so that it has no density.

        Parameters
        ----------
        state : the statistics give the number of rows for the message
        theta : by block the mapping from parameter to array; here "mu", and "covariance" unless it is known
        """
        if "covariance" not in theta[BLOCK]:
            return theta
        d = state.columns.n
        covariance = theta[BLOCK]["covariance"].reshape(-1, d, d)  # (c, d, d), or (1, d, d) if the classes share it

        # a covariance is singular if its correlations are. These are Σ_ij / (σ_i σ_j), so the units of the features do
        # not matter to the rank
        sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))  # (c, d)
        unit = np.where(sd > 0, sd, 1)
        correlation = covariance / unit[:, :, None] / unit[:, None, :]
        rank = np.linalg.matrix_rank(correlation, hermitian=True)  # (c,)
        if (rank < d).any():
            k = int(np.argmin(rank))  # the class with the lowest rank; if the classes share Σ, there is only one
            of_class = ""
            if len(covariance) > 1:
                of_class = f" of class {state.classes[k]} ({state.statistics.n[k]:g} rows)"
            raise Unavailable(
                f"the covariance{of_class} is singular under estimate={self.estimate!r}: rank {rank[k]} of {d}. "
                "Use estimate='predictive', or covariance='shared'."
            )
        return theta

    @property
    def means_(self) -> np.ndarray:
        """μ under the current estimate, (c, d)."""
        return self._parameter("mu")

    @property
    def covariance_(self) -> np.ndarray:
        """Σ under the current estimate: (c, d, d) with "class", (d, d) with "shared" and "identity"."""
        if self.covariance == "identity":
            return np.eye(self.n_features_in_)
        return self._parameter("covariance")

    @property
    def quadratic_(self) -> np.ndarray:
        """A = −½Σ⁻¹ of the discriminant xᵀAx + w·x + b, (c, d, d)."""
        nb = copy.copy(self)  # one state, whatever another thread fits meanwhile
        state = nb._fitted()
        if nb.covariance != "class":
            raise AttributeError(f"covariance={nb.covariance!r} has no quadratic term; use coef_")
        theta = nb._point_estimate(state) or state.posterior.mean()  # None, of "predictive", becomes the mean
        # log p(x | μ, Σ) = −½ (x − μ)ᵀΣ⁻¹(x − μ) + … as xᵀAx + w·x + b: here only A, (c, d, d)
        quadratic, _, _ = state.posterior.blocks[BLOCK].quadratic_form(theta[BLOCK])
        return quadratic

    def _block_labels(self, state: State, block: str) -> dict[str, np.ndarray]:
        """Coordinates of a block's dimensions by name, in the order of its axes after the class."""
        labels = super()._block_labels(state, block)
        if self.covariance == "identity":
            return labels
        return labels | {"feature_": labels["feature"]}

    def _block_dims(self, state: State, block: str, parameter: str, ndim: int) -> list[str]:
        """Names of the axes of a parameter: the class first, unless there is only one axis."""
        if self.covariance == "shared" and parameter == "covariance":
            return ["feature", "feature_"]
        return super()._block_dims(state, block, parameter, ndim)
