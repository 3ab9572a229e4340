"""Kernel density naive Bayes for scikit-learn users."""

from typing import Any

import numpy as np

from ..core.arrays import Float
from ..core.supports import LENGTH, shortened
from ..families.kernel_density import KernelDensity
from ..naive_bayes import Rows, Statistics
from ..statistics import Sample
from ._base import AbstractNB
from ._input import numeric, positive
from ._state import BLOCK

# Limits of the bandwidth: see the Notes of KernelNB.
_REACH = 4.0  # natural logarithm of how far from its centre: a factor of 55
_LEAST = 1e-280  # of a bandwidth's centre, so that the limits around it are numbers
_ROUNDING = 1e-9  # gaps below this share of a feature's range are not counted as gaps


class KernelNB(AbstractNB):
    """Naive Bayes for real features of any shape: a Gaussian kernel density for every class and feature.

    Parameters
    ----------
    bandwidth : "posterior" (default), "nrd0", float, (d,) or (c, d)
        standard deviation h of the kernels, unit of the feature. "posterior" learns one for each class and feature from
        how well every cell is foretold by the others; "nrd0" is the rule of thumb that R's `density` uses; numbers are
        bandwidths that are given
    fit_prior : bool, default True
        learn the class probabilities; False makes them equal
    class_prior, priors : (c,), optional
        fixed class probabilities, under either name
    class_alpha : float or (c,), default 1
        Dirichlet concentration of the class probabilities, used while they are learnt
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses; "predictive" averages the densities over the posterior of the bandwidth, "mean" and "map"
        plug in its mean and mode, "mle" the bandwidth with the largest leave-one-out product

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the distinct cells and their weights, and `NaiveBayes` before and after them

    Notes
    -----
    Prior of the bandwidth: log h ~ Normal(log h⁰, 1), h⁰ the rule of thumb of the class's own cells, so that a
    feature on another scale has the same prior in its new unit. It is cut off a factor of 55 (e⁴) from h⁰ either way,
    and below half the smallest gap between distinct values of the feature (where that is larger than h⁰, it is the
    centre): the leave-one-out product of rounded data grows without bound as h → 0. Gaps below 1e-9 of the range are
    taken for rounding. With fewer than two distinct cells in the class the cells of all classes give h⁰.

    A class without any cell in a feature gets the density of the cells of all classes. A column that never varies says
    nothing under "posterior"; under "nrd0" it says as much as R's rule makes it say, |x| or 1 times N^(−1/5). NaN is a
    missing cell and left out. There is no `log_evidence_`: the leave-one-out product is not a density of the data.

    Time grows with the squared number of distinct values of a class and feature: a tenth of a second at 500, some ten
    seconds at 5,000. Rounding a feature first merges values, and the limit of the bandwidth follows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import KernelNB
    >>> KernelNB(bandwidth="nrd0").fit(X, y).predict_proba(X[70:71]).round(2)
    array([[0.  , 0.19, 0.81]])
    """

    def __init__(
        self,
        *,
        bandwidth: Any = "posterior",
        fit_prior: bool = True,
        class_prior: Any = None,
        priors: Any = None,
        class_alpha: Any = 1.0,
        estimate: str = "predictive",
    ) -> None:
        self.bandwidth = bandwidth
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.priors = priors
        self.class_alpha = class_alpha
        self.estimate = estimate

    def _validate(self, X: Any, **checks: Any) -> Any:
        return numeric(self, X, sparse_ok=False, **checks)

    def _rows(self, X: Any) -> Rows:
        return {BLOCK: X}

    def _blocks(self, stats: Statistics | None) -> dict[str, Any]:
        shape = len(self.classes_), self.n_features_in_
        given = self._given(shape)
        cells = Sample(np.zeros((*shape, 0)), np.zeros((*shape, 0)))
        if given is not None:
            return {BLOCK: KernelDensity(np.log(given), cells)}
        centre, least = (np.ones(shape), np.zeros(shape)) if stats is None else _rule_of_thumb(stats.blocks[BLOCK])
        if self.bandwidth == "nrd0":
            centre = centre if stats is None else _rule_of_thumb(stats.blocks[BLOCK], as_r=True)[0]
            return {BLOCK: KernelDensity(np.log(centre), cells)}
        log_h = np.log(np.maximum(np.maximum(centre, least), _LEAST))
        low = np.maximum(log_h - _REACH, np.log(np.maximum(least, np.finfo(float).tiny)))
        return {BLOCK: KernelDensity(log_h, cells, low, log_h + _REACH)}

    @property
    def _prior_follows_rows(self) -> bool:
        return isinstance(self.bandwidth, str)

    def _given(self, shape: tuple[int, int]) -> np.ndarray | None:
        """Bandwidths that are given, (c, d); None where they come from the data."""
        if isinstance(self.bandwidth, str):
            if self.bandwidth in ("posterior", "nrd0"):
                return None
            found = repr(self.bandwidth)
        else:
            try:
                return np.array(positive("bandwidth", self.bandwidth, shape, LENGTH))
            except ValueError:
                array = isinstance(self.bandwidth, list | tuple | np.ndarray)
                found = shortened(self.bandwidth) + (f" of shape {np.shape(self.bandwidth)}" if array else "")
        c, d = shape
        raise ValueError(
            f"`bandwidth` is {found}; choose 'posterior' or 'nrd0', or give numbers ({LENGTH.describe()}): one, one a "
            f"feature ({d},), or one a class and feature ({c}, {d})"
        )


def _rule_of_thumb(cells: Sample, as_r: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Bandwidths by nrd0, and half the smallest gap between distinct values of each feature, (c, d) both.

    Parameters
    ----------
    as_r : whether the rule applies to a class whose cells are all equal, as in R; else, as for a class with less than
        two cells, the cells of all classes step in
    """
    everyone = cells.pooled()
    width, gap = np.ones(cells.value.shape[:2]), np.zeros(cells.value.shape[:2])
    for j, (value, weight) in enumerate(zip(everyone.value[0], everyone.weight[0], strict=True)):
        value, weight = value[weight > 0], weight[weight > 0]
        if not len(value):
            continue
        gaps = np.diff(value / 2)  # halves, which is also what is asked for
        gaps = gaps[gaps > _ROUNDING * (value[-1] / 2 - value[0] / 2)]
        gap[:, j] = gaps.min(initial=np.inf) if len(gaps) else 0
        width[:, j] = nrd0(value, weight)
        for k, (own, w) in enumerate(zip(cells.value[:, j], cells.weight[:, j], strict=True)):
            own, w = own[w > 0], w[w > 0]
            if w.sum() > 1 and (len(own) > 1 or as_r):
                width[k, j] = nrd0(own, w)
    return width, gap


def nrd0(value: Float[np.ndarray, " m"], weight: Float[np.ndarray, " m"]) -> float:
    """Silverman's rule of thumb as R's `bw.nrd0` has it: 0.9 · min(s, IQR/1.34) · N^(−1/5).

    s is the standard deviation with N − 1, the quartiles are R's type 7. Where IQR is 0, s stands in; where that is 0
    too, |x₁|, and 1 where that is 0.

    Parameters
    ----------
    value : distinct values in ascending order, at least one; unit of the feature
    weight : their weights, positive: numbers of repetitions. N is their sum; fractions are allowed

    References
    ----------
    Silverman (1986), Density Estimation, (3.31). For N < 2, where s does not exist, ½N is taken for N − 1.
    """
    n = weight.sum()
    scale = value[-1] / 2 - value[0] / 2  # halves: the difference itself may be too large for the type
    if scale > 0:
        z = (value / 2 - value[0] / 2) / scale
        rest = z - (weight @ z) / n
        s = 2 * scale * np.sqrt(weight @ rest**2 / max(n - 1, n / 2))
        low, high = _quartiles(value, weight)
        width = min(s, (high - low) / 1.34) or s
    else:
        width = abs(value[0]) or 1.0
    return float(0.9 * width * max(n, 1) ** -0.2)


def _quartiles(value: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """First and third quartile of repeated values: R's type 7, linear between order statistics."""
    ends = np.cumsum(weight)
    n = ends[-1]

    def order_statistic(i: float) -> float:
        """The value at place i = 0, 1, … of the repetitions; what rounding left of a weight does not count."""
        return float(value[min(np.searchsorted(ends, i + 1e-9 * n, side="right"), len(value) - 1)])

    found = []
    for p in (0.25, 0.75):
        place = max(n - 1, 0) * p
        below = float(np.floor(place + 1e-9))
        share = max(place - below, 0.0)
        left = order_statistic(below)
        found.append(left + share * (order_statistic(below + 1) - left) if share else left)
    return found[0], found[1]
