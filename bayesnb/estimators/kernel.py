"""Kernel density naive Bayes for scikit-learn users."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..core.arrays import Float
from ..core.supports import LENGTH, check_choice
from ..families.kernel_density import KernelDensity
from ..statistics import Sample
from ._base import AbstractNB
from ._fitted import State
from ._input import BLOCK

# Limits of the bandwidth: see the Notes of KernelNB.
_LIMIT = 4.0  # natural logarithm of how far from its centre: a factor of 55
_MIN_CENTRE = 1e-280  # of a bandwidth, so that the limits around it are numbers
_ROUNDING = 1e-9  # gaps below this share of a feature's range are not counted as gaps


@dataclass(kw_only=True, eq=False, repr=False)
class KernelNB(AbstractNB):
    """Naive Bayes for real features of any shape: a Gaussian kernel density for every class and feature.

    Parameters
    ----------
    bandwidth : "posterior" (default), "nrd0", float, (d,) or (c, d)
        standard deviation h of the kernels, in the unit of the feature. "posterior" learns one for each class and
        feature from how well the other cells predict each cell. "nrd0" is the rule of thumb that R's `density` uses. A
        number or an array is a known bandwidth
    fit_prior : bool, default True
        whether the class probabilities are learnt; with False they are equal
    class_prior, priors : (c,), optional
        fixed class probabilities; both names mean the same
    class_alpha : float or (c,), default 1
        Dirichlet concentration of the class probabilities; it is used when they are learnt
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses. "predictive" averages the densities over the posterior of the bandwidth. "mean" and "map"
        plug in its mean and its mode. "mle" plugs in the bandwidth with the largest leave-one-out product

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the distinct cells and their weights, and `NaiveBayes` before and after the rows

    Notes
    -----
    The prior of the bandwidth is log h ~ Normal(log h⁰, 1), with h⁰ the rule of thumb of the class's own cells. The
    prior therefore scales with the feature. It is cut off at a factor of 55 (e⁴) below and above h⁰. It is also cut off
    below half the smallest gap between distinct values of the feature, because the leave-one-out product of rounded
    data grows without bound as h → 0. If half that gap is larger than h⁰, the prior is centred on half the gap. Gaps
    below 1e-9 of the range are treated as rounding. If a class has fewer than two distinct cells, the cells of all
    classes give h⁰.

    There is no `prior=`: a kernel density has no parameters of its own, only the bandwidth, and `bandwidth=` fixes it.

    A class without any cell in a feature gets the density of the cells of all classes. Under "posterior" a constant
    column adds no information. Under "nrd0" it may add some, because R's rule gives each class another bandwidth: |x|
    or 1 times N^(−1/5). NaN is a missing cell and is left out. There is no `log_evidence_`: the leave-one-out product
    is not a density of the data.

    *Leave-one-out.* `loo` removes a row from the kernels and from the posterior of every bandwidth. The prior of the
    bandwidths stays: h⁰ and the limits are those of all rows. `loo(…, prior="refit")` takes the row out of them too.

    *Weights and copies.* A weight of 2 means two equal rows. Under "posterior" equal rows predict each other, which
    pulls the bandwidth towards its lower limit. Copied rows do the same. Leave-one-out does not show it, because a row
    is then predicted by its copy, unless `groups` leaves both out. An example of 100 normal rows in two classes has a
    log loss of 0.33 on new rows. It is 6.7 if all weights are 2, or if each row occurs twice. Replace copies by one row
    with a weight, and divide weights by the largest, so that none is above 1. Or use bandwidth="nrd0". Both keep the
    log loss of the example below 0.34.

    *Far cells.* Far from all training cells the average over the bandwidth belongs to wide kernels, which the rows have
    ruled out nearly everywhere else. The class odds of such a cell say how each class's tail was smoothed, and are no
    evidence.

    References
    ----------
    Silverman (1986), Density Estimation for Statistics and Data Analysis, §3.4 (bandwidths).

    Examples
    --------
    A class with two peaks, which a normal density would miss:

    >>> import numpy as np
    >>> from bayesnb import GaussianNB, KernelNB
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["middle", "sides"], 100)
    >>> X = rng.normal(size=(200, 1)) + np.where(y == "sides", rng.choice([-4, 4], 200), 0)[:, None]
    >>> [round(nb.fit(X, y).loo(X, y).log_loss, 2) for nb in (KernelNB(), GaussianNB())]
    [0.06, 0.2]
    """

    bandwidth: Any = "posterior"
    prior: Any = field(default=None, init=False)  # see the Notes

    _family = KernelDensity
    variants: ClassVar = {"kernel": {}}
    _most_cells = 20_000

    def _default_blocks(self, state: State) -> dict[str, Any]:
        cells = Sample.none(*state.shape)
        if not isinstance(self.bandwidth, str):
            widths = state.numbers("bandwidth", self.bandwidth, LENGTH)
            return {BLOCK: KernelDensity(np.log(widths), cells)}
        check_choice("bandwidth", self.bandwidth, ("posterior", "nrd0"))
        training = cells if state.statistics is None else state.statistics.blocks[BLOCK]
        centre, half_gap = _rule_of_thumb(training, as_r=self.bandwidth == "nrd0")
        if self.bandwidth == "nrd0":
            return {BLOCK: KernelDensity(np.log(centre), cells)}
        log_h = np.log(np.maximum(np.maximum(centre, half_gap), _MIN_CENTRE))
        low = np.maximum(log_h - _LIMIT, np.log(np.maximum(half_gap, np.finfo(float).tiny)))
        return {BLOCK: KernelDensity(log_h, cells, low, log_h + _LIMIT)}

    @property
    def _default_follows_rows(self) -> bool:
        return isinstance(self.bandwidth, str)


def _rule_of_thumb(cells: Sample, as_r: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Bandwidths by nrd0, and half the smallest gap between distinct values of each feature, (c, d) both.

    Parameters
    ----------
    as_r : whether the rule applies to a class whose cells are all equal, as in R; else, as for a class with less than
        two cells, the cells of all classes step in
    """
    pooled = cells.pooled()
    width = np.ones(cells.log_h.shape)
    half_gap = np.zeros(cells.log_h.shape)
    for j in range(len(pooled.value[0])):
        value, weight = pooled.of_piece(0, j)
        if not len(value):
            continue
        half_gaps = np.diff(value) / 2
        half_gaps = half_gaps[half_gaps > _ROUNDING * (value[-1] - value[0]) / 2]
        if len(half_gaps):
            half_gap[:, j] = half_gaps.min()
        width[:, j] = nrd0(value, weight)
        for k in range(len(width)):
            class_value, class_weight = cells.of_piece(k, j)
            if class_weight.sum() > 1 and (len(class_value) > 1 or as_r):
                width[k, j] = nrd0(class_value, class_weight)
    return width, half_gap


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
    if value[-1] > value[0]:
        from_first = value - value[0]  # which keeps the digits of values far from zero
        centred = from_first - (weight @ from_first) / n
        s = np.sqrt(weight @ centred**2 / max(n - 1, n / 2))
        low, high = _quartiles(value, weight)
        width = min(s, (high - low) / 1.34) or s
    else:
        width = abs(value[0]) or 1.0
    return float(0.9 * width * max(n, 1) ** -0.2)


def _quartiles(value: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """First and third quartile of repeated values: R's type 7, linear between order statistics."""
    ends = np.cumsum(weight)
    n = ends[-1]
    place = max(n - 1, 0) * np.array([0.25, 0.75])
    below = np.floor(place + 1e-9)
    # the values at the places i = 0, 1, … of the repetitions; what rounding left of a weight does not count
    positions = np.searchsorted(ends, below + [[0], [1]] + 1e-9 * n, side="right")
    lower, upper = value[np.minimum(positions, len(value) - 1)]
    return lower + np.maximum(place - below, 0) * (upper - lower)
