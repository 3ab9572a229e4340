"""Gaussian naive Bayes for scikit-learn users."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from ..families.gaussian import NormalInverseGamma
from ..families.known_gaussian import KnownVarianceNormal
from ..families.pooled_gaussian import PooledNormalInverseGamma
from ..models.naive_bayes import Parameters
from ..numerics.supports import AMOUNT, check_choice
from ..sums.statistics import Moments
from ._base import AbstractNB
from ._documented import documented
from ._fitted import State
from ._input import BLOCK

# The default prior, in pseudo-rows: see the Notes of GaussianNB.
_KAPPA = 0.1  # of the mean
_SHAPE = 1.0  # twice as many for the variance
_CONSTANT_PSEUDO_ROWS = 1e5  # of a column that never varies, for every row fitted
_MAX_SMOOTHING = 1e6
_MIN_SQUARE = 1e-280  # of a constant, which scales its prior; below, the column counts as one of zeros


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(AbstractNB):
    """Naive Bayes for real features: x_ij | y_i = c ~ Normal(μ_cj, σ²_cj), normal–inverse-gamma prior.

    Parameters
    ----------
    {class_parameters}
    var_smoothing : float, default 1e-9
        this portion of the largest variance of all features is added to every variance of a plug-in estimate ("mean",
        "map", "mle"), as in scikit-learn. The predictive does not need it, because the prior keeps variances away from
        zero
    variance : "class" (default) or "pooled"
        "class" has one variance for each class and feature. "pooled" has one for each feature, which all classes share;
        the classifier is then linear
    known_variance : float, (d,) or (c, d), optional
        known variances, which are then not learnt, in the unit of the feature squared
    prior : optional
        your own prior. It may be a mapping of the fields of the normal–inverse-gamma density, such as `{"m": 0,
        "kappa": 1, "a": 2, "b": 2}`, or a family that fits `variance`; a family brings known variances of its own. With
        `known_variance` it may also be `dist.Normal(m, s)` of NumPyro. A mapping from column (name or position) to one
        of these sets the prior of single columns. The other columns keep the default. Fields are broadcast to (c, d).
        See the guide "Which prior?". Useful improper limits are allowed: κ = 0, b = 0 and −½ ≤ a ≤ 0 (−½ for each class
        if the variance is pooled). Then there is no `log_evidence_`, and the posterior must be proper given the rows.
        The default prior is scaled by the data, see the Notes
    {estimate}
        The predictive is Student's t

    Attributes
    ----------
    {learnt}
    log_evidence_ : log p(X, y) in nats
    coef_, intercept_ : linear discriminant, with pooled variance only

    Notes
    -----
    The default prior uses the weighted mean x̄_j and the variance s²_j of feature j over all rows: m = x̄_j, κ = 0.1,
    a = 1, b = s²_j. A class without rows therefore has the spread of all rows. The prior has the weight of two rows for
    the variance and of a tenth of a row for the mean. The prior is proper, so the evidence exists. It moves and scales
    with the data, so shifting or rescaling a feature changes no probability. A constant column has no information about
    the class. The width of its prior is the size of the constant, or 1 if the constant is 0. It has 100,000 pseudo-rows
    for every row. The classes then differ by at most 2.5e-6 nats at that value. NaN is a missing cell and is left out.
    An empty cell of sparse rows is a 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianNB
    >>> nb = GaussianNB().fit(X, y)
    >>> nb.predict_proba(X[70:71]).round(3)
    array([[0.   , 0.295, 0.705]])
    >>> nb.predict_interval(X[70:71], level=0.9).round(2)[0, 1]
    array([0.13, 0.5 ])
    >>> round(float(nb.log_evidence_), 1)  # log p(X, y), nats
    -484.1
    """

    var_smoothing: float = 1e-9
    variance: str = "class"
    known_variance: Any = None

    _family = NormalInverseGamma
    _variants: ClassVar = {"gaussian": {}, "pooled": {"variance": "pooled"}}
    _default_follows_rows = True
    _infinite_shows = True

    def _default_blocks(self, state: State) -> dict[str, Any]:
        """The default prior, on the scale of all rows: μ ~ Normal(x̄, σ²/0.1), σ² ~ InverseGamma(1, scale s²).

        x̄ and s² are mean and variance of a column over all rows. A column that never varies (s² = 0) has no scale of
        its own. Its prior is centred on the constant, and has so many pseudo-rows that the classes hardly differ in it.

        The settings choose one of three families: σ² is known, shared by the classes, or learnt for each class.

        Parameters
        ----------
        state : with classes and columns; without statistics the prior only computes statistics, and any scale will do
        """
        self._check_variance_settings()
        c, d = state.shape

        # mean and variance of each column over all rows, (d,): `column_scale` adds up the moments of all classes, and
        # gives a column that never varies the variance 0. Such a column has 100,000 pseudo-rows for each row
        centre = np.zeros(d)
        spread = np.ones(d)
        constant_rows = _CONSTANT_PSEUDO_ROWS
        if state.statistics is not None:
            centre, spread = column_scale(state.statistics.blocks[BLOCK])
            constant_rows *= 1 + state.statistics.n.sum()
        varies = spread > 0

        # the mean μ: its centre m, and the pseudo-rows κ behind it, equal in all classes
        zeros = np.zeros((c, d))
        m = zeros + centre  # (c, d)
        kappa = zeros + np.where(varies, _KAPPA, constant_rows)  # (c, d)
        if self.known_variance is not None:
            variance = state.numbers("known_variance", self.known_variance, AMOUNT)
            return {BLOCK: KnownVarianceNormal(m, kappa, variance, log_c=zeros)}

        # the variance σ²: shape a (half its pseudo-rows) and scale b. If the column never varies, b/a is the square of
        # the constant, so that it has the unit of a variance, or 1 if the constant is 0
        square = np.where(centre * centre > _MIN_SQUARE, centre * centre, 1)
        a = np.where(varies, _SHAPE, constant_rows)  # (d,)
        b = np.where(varies, _SHAPE * spread, constant_rows * square)  # (d,)
        if self.variance == "pooled":
            return {BLOCK: PooledNormalInverseGamma(m, kappa, a, b)}
        return {BLOCK: NormalInverseGamma(m, kappa, zeros + a, zeros + b)}

    def _check_variance_settings(self) -> None:
        """Raise a ValueError if a setting of the variance is out of range, or if two exclude each other.

        `var_smoothing` is a number from 0 to a million. A variance that is known is not learnt, so that it cannot be
        pooled over the classes.
        """
        check_choice("variance", self.variance, ("class", "pooled"))
        if not isinstance(self.var_smoothing, Real) or not 0 <= self.var_smoothing <= _MAX_SMOOTHING:
            raise ValueError(f"`var_smoothing` is {self.var_smoothing!r}; it needs to be from 0 to {_MAX_SMOOTHING:g}")
        if self.variance == "pooled" and self.known_variance is not None:
            raise ValueError("`variance` is 'pooled' and `known_variance` is given too. Leave out one of the two")

    def _refined(self, state: State, theta: Parameters) -> Parameters:
        """The point estimate with `var_smoothing` times the largest variance of all columns added to each variance.

        scikit-learn does the same, so that no variance is 0.

        Parameters
        ----------
        state : with the statistics of the rows
        theta : by block the mapping from parameter to array; here "mu" and "variance"
        """
        parameters = theta[BLOCK]  # "mu" (c, d), and "variance" (c, d), or (d,) if the classes share it
        if "variance" not in parameters:  # it is known
            return theta
        _, spread = column_scale(state.statistics.blocks[BLOCK])  # variance of each column over all rows, (d,)
        smoothed = parameters["variance"] + self.var_smoothing * spread.max()
        return theta | {BLOCK: parameters | {"variance": smoothed}}

    @property
    def means_(self) -> np.ndarray:
        """μ under the current estimate, (c, d); the posterior mean for "predictive"."""
        return self._parameter("mu")

    @property
    def variances_(self) -> np.ndarray:
        """σ² under the current estimate, (c, d), or (d,) if the classes share it; or the known variances."""
        if self.known_variance is not None:
            return self._fitted().posterior.blocks[BLOCK].variance
        return self._parameter("variance")


def column_scale(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every feature over all classes, (d,) each; the variance is 0 where a feature never varies.

    Parameters
    ----------
    moments : weight `n`, `mean` and centred sum of squares `ss` of each class and feature
    """
    pooled = moments.pooled()  # of all rows together: the same as (1, d), as if there were one class
    n = pooled.n[0]  # (d,), weight of the cells that are not missing
    mean = pooled.mean[0]
    variance = pooled.ss[0] / np.where(n > 0, n, 1)  # a column may have no cell

    # rounding of the mean may give a constant column a spread of about 1e-16 of the constant: that counts as none
    variance_of_rounding = np.maximum((1e-15 * mean) ** 2, 1e-280)
    return mean, np.where(variance > variance_of_rounding, variance, 0)
