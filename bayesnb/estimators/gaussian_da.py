"""Gaussian discriminant analysis for scikit-learn users."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.supports import check_choice
from ..families.full_gaussian import NormalInverseWishart
from ..families.known_gaussian import KnownVarianceNormal
from ..families.tied_gaussian import TiedNormalInverseWishart
from ..naive_bayes import Parameters, Statistics
from ._base import AbstractNB
from ._state import BLOCK
from .gaussian import column_scale, refuse_far_centres, refuse_overflow

# The default prior, in pseudo-rows: see the Notes of GaussianDA.
_KAPPA, _DEGREES = 0.1, 1.0
_FAR = 1e4  # standard deviations of a prior mean from the rows: its square keeps eight digits of the rest


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianDA(AbstractNB):
    """Gaussian discriminant analysis: x_i | y_i = c ~ Normal(μ_c, Σ_c); features may be correlated within a class.

    Parameters
    ----------
    covariance : "class" (default), "shared" or "identity"
        "class" has one covariance for each class, and the boundaries are quadratic. "shared" has one for all classes,
        and the boundaries are linear. "identity" has Σ = I; this is the nearest-mean rule if the classes are equally
        probable
    priors, class_prior : (c,), optional
        fixed class probabilities; both names mean the same
    fit_prior : bool, default True
        whether the class probabilities are learnt; with False they are equal
    prior : optional
        your own prior. It may be a mapping of the fields of the normal–inverse-Wishart density, such as `{"m": 0,
        "kappa": 1, "nu": 5, "S": np.eye(3)}`, or a family that fits `covariance`. With "identity" it may also be
        `dist.Normal(m, s)` of NumPyro. Fields are broadcast to their axes. The default prior is scaled by the data, see
        the Notes
    class_alpha : float or (c,), default 1
        Dirichlet concentration of the class probabilities; it is used when they are learnt
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses. "predictive" integrates the parameters out and is the multivariate Student t

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the sufficient statistics, and the `NaiveBayes` model before and after the rows
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
    priors: Any = None
    class_prior: Any = None
    fit_prior: bool = True
    prior: Any = None
    class_alpha: Any = 1.0
    estimate: str = "predictive"

    _family = NormalInverseWishart
    variants: ClassVar = {"gaussian-da": {}, "shared-da": {"covariance": "shared"}}
    _most_columns = 60
    _default_follows_rows = True

    def _default_blocks(self, stats: Statistics | None) -> dict[str, Any]:
        check_choice("covariance", self.covariance, ("class", "shared", "identity"))
        centre, spread = self._scale(stats)
        return {BLOCK: self._scaled(centre[None], spread[None], shared=self.covariance == "shared")}

    def _blocks(self, stats: Statistics | None) -> dict[str, Any]:
        blocks = super()._blocks(stats)
        if self.prior is not None and self.covariance == "identity":
            refuse_far_centres(blocks[BLOCK])
        elif self.prior is not None and stats is not None:
            self._refuse_far_centres(blocks[BLOCK], stats.blocks[BLOCK])
        return blocks

    def _scaled(self, centre: np.ndarray, spread: np.ndarray, *, shared: bool = False) -> Any:
        """The default prior from mean and variance of every feature, (g, d), the classes of g groups in turn.

        Unless the covariance is to be `shared` by the classes of one group, every class has it to itself.
        """
        c, (g, d) = len(self.classes_), centre.shape
        m, kappa = np.repeat(centre, c, 0), np.full(g * c, _KAPPA)
        if self.covariance == "identity":
            return KnownVarianceNormal(m, np.full(m.shape, _KAPPA), np.ones(m.shape), np.zeros(m.shape))
        scale = 2 * spread[:, :, None] * np.eye(d)
        if shared:
            return TiedNormalInverseWishart(m, kappa, np.array([d + _DEGREES]), scale[0])
        return NormalInverseWishart(m, kappa, np.full(g * c, d + _DEGREES), np.repeat(scale, c, 0))

    def _prior_cells(self) -> int:
        return self.n_features_in_ * (1 if self.covariance == "identity" else self.n_features_in_)

    def _refuse_far_centres(self, prior: Any, stats: Any) -> None:
        """Raise a ValueError on a prior mean so far from the rows that S would lose all digits but its direction."""
        spread = np.diagonal(prior.S, axis1=-2, axis2=-1) + np.diagonal(stats.ss, axis1=-2, axis2=-1)
        far = (abs(stats.mean - prior.m) > _FAR * np.sqrt(spread)) & (stats.n > 0)[:, None]
        if far.any():
            k, j = np.argwhere(far)[0]
            raise ValueError(
                f"`prior.m` has {prior.m[k, j]:g} (class {k}, feature {j}), but the rows of that class have the mean "
                f"{stats.mean[k, j]:g}, more than {_FAR:g} standard deviations away, so the covariance would lose its "
                "digits. Give the prior the unit and location of the rows"
            )

    def _scale(self, stats: Statistics | None) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of every feature over all rows, (d,); the variance is 1 where a feature never varies."""
        if stats is None:
            return np.zeros(self.n_features_in_), np.ones(self.n_features_in_)
        block = stats.blocks[BLOCK]
        moments = block if self.covariance == "identity" else block.moments()
        refuse_overflow(self, moments)
        mean, spread = column_scale(moments)
        return mean, np.where(spread > 0, spread, 1)

    def _refined(self, theta: Parameters) -> Parameters:
        if "covariance" in theta[BLOCK]:
            covariance = theta[BLOCK]["covariance"].reshape(-1, self.n_features_in_, self.n_features_in_)
            sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
            unit = np.where(sd > 0, sd, 1)  # the rank of correlations: the units of the features do not matter
            rank = np.linalg.matrix_rank(covariance / unit[:, :, None] / unit[:, None, :], hermitian=True)
            if (rank < self.n_features_in_).any():
                k = int(np.argmin(rank))
                of = f" of class {self.classes_[k]}" if len(covariance) > 1 else ""
                raise ValueError(
                    f"the covariance{of} is singular under estimate={self.estimate!r}: rank {rank[k]} for "
                    f"{self.n_features_in_} features, {self._conditioned.statistics.n[k]:g} rows. Use "
                    "estimate='predictive', or covariance='shared'."
                )
        return theta

    def decision_function(self, X: Any) -> np.ndarray:
        """The discriminant: the log odds of the second of two classes, (n,), or one value for each class, (n, c).

        A plug-in estimate gives the linear form w·x + b ("shared", "identity") or the quadratic form xᵀAx + w·x + b
        ("class"), as in `LinearDiscriminantAnalysis` and `QuadraticDiscriminantAnalysis`. This is log p(x, y = c | θ)
        without the terms that are equal in all classes. "predictive" gives log p(y = c | x).
        """
        theta = self._theta()
        if theta is None or len(self.classes_) == 2:
            return super().decision_function(X)
        x = self._encode(X)[BLOCK]
        if self.covariance == "class":
            block: Any = self._fitted_state().posterior.blocks[BLOCK]
            a, weights, intercept = block.quadratic_form(theta[BLOCK])
            bend = np.stack([((x @ square) * x).sum(1) for square in a], 1)
            return bend + x @ weights + intercept + theta["class"]["log_pi"]
        weights, intercept = self.linear_form(theta)
        return x @ weights + intercept

    @property
    def means_(self) -> np.ndarray:
        """μ under the current estimate, (c, d)."""
        return self._parameter("mu")

    @property
    def covariance_(self) -> np.ndarray:
        """Σ under the current estimate: (c, d, d) with "class", (d, d) with "shared" and "identity"."""
        return np.eye(self.n_features_in_) if self.covariance == "identity" else self._parameter("covariance")

    @property
    def quadratic_(self) -> np.ndarray:
        """A = −½Σ⁻¹ of the discriminant xᵀAx + w·x + b, (c, d, d)."""
        block: Any = self._fitted_state().posterior.blocks[BLOCK]
        if self.covariance != "class":
            raise AttributeError(f"covariance={self.covariance!r} has no quadratic term; use coef_")
        return block.quadratic_form((self._theta() or self._fitted_state().posterior.mean())[BLOCK])[0]

    def _feature_labels(self, block: str) -> dict[str, np.ndarray]:
        names = super()._feature_labels(block)["feature"]
        return {"feature": names} if self.covariance == "identity" else {"feature": names, "feature_": names}

    def _dims(self, block: str, parameter: str, ndim: int) -> list[str]:
        shared = self.covariance == "shared" and parameter == "covariance"
        return ["feature", "feature_"] if shared else super()._dims(block, parameter, ndim)
